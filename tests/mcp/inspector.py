#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line of the official Inspector, over both transports, in both eras.

Usage: inspector.py SERVER [ARGUMENT...]: as clients.mjs; the fixture or the server of sandboxes.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import driver

SANDBOXES = [
    ("the schemas are fit for every client", ["--method", "tools/list", "--strict"], 0, ""),
    ("a program runs", ["--method", "tools/call", "--tool-name", "execute_code", "--tool-args-json",
                        json.dumps({"language": "python", "code": "print(6 * 7)"})], 0, "42"),
    ("bad arguments are an error", ["--method", "tools/call", "--tool-name", "execute_code",
                                    "--tool-args-json", '{"code": 5}'], 5, ""),
]
FIXTURE = [
    ("a tool answers", ["--method", "tools/call", "--tool-name", "test_echo", "--tool-args-json",
                        '{"text": "hi", "count": 4}'], 0, '"count":4'),
    ("a tool fails", ["--method", "tools/call", "--tool-name", "test_error_handling"], 5, ""),
    ("resources are listed", ["--method", "resources/list"], 0, "test://static-text"),
    ("templates are listed", ["--method", "resources/templates/list"], 0, "test://template/{id}"),
    ("a resource is read", ["--method", "resources/read", "--uri", "test://static-binary"], 0,
     "iVBOR"),
    ("prompts are listed", ["--method", "prompts/list"], 0, "test_simple_prompt"),
    ("a prompt is read", ["--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments",
                          "--prompt-args", "arg1=x", "arg2=y"], 0, "arg2='y'"),
]


def write_config(path, command, url):
    servers = {}
    for era in ("legacy", "modern"):
        servers[f"stdio-{era}"] = {"command": command[0], "args": command[1:], "protocolEra": era}
        servers[f"http-{era}"] = {"type": "streamable-http", "url": url, "protocolEra": era}
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return list(servers)


class Inspector:
    def __init__(self, home):
        tools, node = driver.find_node_tools()
        self.command = [node, tools / "node_modules/.bin/mcp-inspector", "--cli", "--format", "json"]
        self.env = {**os.environ, "HOME": str(home),
                    "PATH": f"{node.parent}:{os.environ['PATH']}"}

    def run(self, config, server, *args):
        return subprocess.run([*self.command, "--config", config, "--server", server, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=self.env, timeout=driver.DEADLINE_S)


def trouble(done, status, wanted):
    if done.returncode == status and wanted in done.stdout:
        return None
    return f"exit status {done.returncode}\n{done.stdout[:600]}\n{done.stderr[:600]}"


def main():
    command = sys.argv[1:]
    tap = driver.Tap()
    with tempfile.TemporaryDirectory() as home, driver.HttpServer(command) as http:
        inspector = Inspector(home)
        config = pathlib.Path(home) / "config.json"
        for server in write_config(config, command, http.url):
            listed = inspector.run(config, server, "--method", "tools/list")
            tap.result(f"{server}: the tools are listed", trouble(listed, 0, '"inputSchema"'))
            cases = SANDBOXES if "execute_code" in listed.stdout else FIXTURE
            for name, args, status, wanted in cases:
                tap.result(f"{server}: {name}",
                           trouble(inspector.run(config, server, *args), status, wanted))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
