# SPDX-License-Identifier: MIT
"""A server of the usual kind, for the bench: the official Python SDK, one tool, no isolation at all."""
import json
import subprocess
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("peer")


@server.tool()
def execute_code(code: str) -> str:
    """Run Python code."""
    done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True)
    return json.dumps({"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr})


if __name__ == "__main__":
    sys.exit(server.run())
