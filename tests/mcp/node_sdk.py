#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run sdk/clients.mjs with the node of tests/mcp/install-tools. Usage: node_sdk.py SERVER [ARGUMENT...]"""
import os
import pathlib
import sys

import driver


def main():
    tools, node = driver.find_node_tools()
    clients = pathlib.Path(__file__).resolve().parent / "sdk/clients.mjs"
    os.environ["SBX_NODE_TOOLS"] = str(tools)
    os.execv(node, [str(node), str(clients), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
