#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a test with a client against a server whose sandboxes are containers.

Usage: on_engine.py TEST SERVER, from tests/support/engines. The official clients give a server of theirs
none of their variables, so that these are a part of its command.
"""
import os
import sys

BACKEND = os.environ["SBX_TEST_BACKEND"]
VARIABLE = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}[BACKEND]


def main():
    test, server = sys.argv[1:]
    variables = {"BACKEND": BACKEND, "SANDBOX_IMAGE": os.environ["SBX_TEST_IMAGE"],
                 "SANDBOX_PULL": "never", VARIABLE: os.environ[VARIABLE]}
    os.execv(test, [test, "/usr/bin/env", *(f"{k}={v}" for k, v in variables.items()), server])


if __name__ == "__main__":
    main()
