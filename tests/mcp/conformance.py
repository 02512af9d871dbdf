#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The official conformance suite: everything that it has for a server.

Usage: conformance.py FIXTURE | conformance.py --any SERVER [ARGUMENT...]

Against the fixture both requirement sets, with the scenarios that are never scored, and what is
in neither; against any other server the scenarios that need none of the fixture's tools. One
process serves all runs. No failure is expected anywhere, and no warning.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import driver

REVISIONS = ["2026-07-28", "2025-11-25"]
# Run at another revision than the sets do, or in no set at all.
ALONE = [
    ("2025-06-18", ["--spec-version", "2025-06-18", "--suite", "all"]),
    ("json-schema-2020-12", ["--scenario", "json-schema-2020-12"]),
    ("server-session-lifecycle", ["--scenario", "server-session-lifecycle"]),
]
# What needs no tools, resources or prompts of certain names.
ANY = [
    "server-initialize", "ping", "logging-set-level", "tools-list", "resources-list",
    "prompts-list", "server-sse-multiple-streams", "dns-rebinding-protection",
    "server-session-lifecycle", "sep-2164-resource-not-found", "caching", "http-header-validation",
    "input-required-result-unsupported-methods",
]


def run_suite(node, tools, url, args, folder):
    suite = tools / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    return subprocess.run([node, suite, "server", "--url", url, *args, "-o", folder],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600)


def scenario_of(folder):
    """The folder of a scenario's results is named server-SCENARIO-TIME."""
    return folder.name.split("-20")[0].removeprefix("server-")


def report(tap, name, checks):
    bad = [c for c in checks if c["status"] in ("FAILURE", "WARNING")]
    tap.result(name, "\n".join(f"{c['status']} {c['id']}: {c.get('errorMessage', '')[:600]}"
                               for c in bad))
    return [c["status"] for c in checks]


def run_set(tap, title, node, tools, url, args):
    with tempfile.TemporaryDirectory() as folder:
        done = run_suite(node, tools, url, args, folder)
        results = sorted(pathlib.Path(folder).rglob("checks.json"))
        statuses = []
        for path in results:
            statuses += report(tap, f"{title}: {scenario_of(path.parent)}",
                               json.loads(path.read_text(encoding="utf-8")))
        tap.result(f"{title}: the suite is content",
                   None if done.returncode == 0 and results else done.stdout[-3000:])
    print(f"# {title}: {len(results)} scenarios, " + ", ".join(
        f"{statuses.count(s)} {s.lower()}" for s in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")))
    for line in done.stdout.splitlines():
        if line.startswith("Total:"):
            print(f"# {title}: {line}")


def all_sets(command):
    """What is run with this command line: the server, and titles with arguments of the suite."""
    if command[0] == "--any":
        return command[1:], [(name, ["--scenario", name]) for name in ANY]
    return command, [*((r, ["--requirements", r]) for r in REVISIONS), *ALONE]


def main():
    tools, node = driver.find_node_tools()
    command, sets = all_sets(sys.argv[1:])
    tap = driver.Tap()
    with driver.HttpServer(command) as server:
        for title, args in sets:
            run_set(tap, title, node, tools, server.url, args)
    tap.result("the server ends without an error at SIGTERM",
               None if server.status == 0 else f"it ended with {server.status}")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
