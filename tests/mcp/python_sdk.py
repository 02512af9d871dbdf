#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run sdk/python_client.py with the official Python SDK. Usage: python_sdk.py SERVER [ARGUMENT...]

The SDK is in SBX_NODE_TOOLS/python, where tests/mcp/install-tools puts it, or is installed into
a temporary folder for this run.
"""
import pathlib
import subprocess
import sys
import tempfile

import driver

SDK = "mcp==2.3.0"
HERE = pathlib.Path(__file__).resolve().parent


def install(folder):
    """An environment with the SDK, or the end of this test."""
    python = folder / "bin/python"
    commands = [[sys.executable, "-m", "venv", folder],
                [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", SDK]]
    for command in commands:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or ["no reason given"])[-1]
            driver.skip(f"the Python SDK of MCP cannot be installed: {last[:200]}")
    return python


def main():
    python = driver.tools_folder() / "python/bin/python"
    with tempfile.TemporaryDirectory() as folder:
        if not python.exists():
            python = install(pathlib.Path(folder))
        client = HERE / "sdk/python_client.py"
        return subprocess.run([python, client, *sys.argv[1:]], stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
