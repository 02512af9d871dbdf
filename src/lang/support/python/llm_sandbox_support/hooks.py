# SPDX-License-Identifier: MIT
"""Finds a module as everybody else would, and has one of ours told when it has been run."""
import importlib
import sys


def find_spec(ourselves, name, ours, path, target):
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find and finder is not ourselves else None
        if spec is not None:
            watch(spec.loader, name, ours)
            return spec
    return None


def watch(loader, name, ours):
    # Only a loader that is this module's alone may be changed.
    if getattr(loader, "name", None) != name or not hasattr(loader, "exec_module"):
        return
    run = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        run(module)
        tell(ours, name, module)
    loader.exec_module = exec_module


def tell(ours, name, module):
    # Whatever goes wrong here, the program is to run as it would without us.
    try:
        importlib.import_module("llm_sandbox_support." + ours).imported(name, module)
    except Exception:
        pass
