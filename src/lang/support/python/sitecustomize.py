# SPDX-License-Identifier: MIT
"""Runs at the start of every Python in a sandbox, because its folder stands first in PYTHONPATH.

It only waits: when the program itself imports a library that can show something, the module of
llm_sandbox_support that belongs to it is told. Nothing is imported here that Python has not
imported already, and what it costs a program that shows nothing is two lookups an import.

PYTHONPATH keeps the folder, so that child processes have the hook too; sys.path does not.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "llm_sandbox_support"

# The module that is waited for, and which of ours is told.
HOOKS = {
    "matplotlib": "figures",
    "matplotlib.axes._axes": "charts_matplotlib",
    "matplotlib.figure": "figures",
    "matplotlib.backend_bases": "figures",
    "matplotlib.pyplot": "figures",
    "matplotlib.animation": "figures",
    "matplotlib.backends.backend_pdf": "figures",
    "plotly.io._renderers": "plotly_pages",
    "plotly.io._html": "plotly_pages",
    "plotly.io._kaleido": "plotly_pages",
    "PIL.ImageShow": "pictures",
    "bokeh.io.showing": "bokeh_pages",
    "bokeh.io.saving": "bokeh_pages",
}


class Finder:
    """Finds our own package, and modules of HOOKS as everybody else would find them."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in HOOKS:
            return cls.find_watched(name, path, target)
        if name == PACKAGE:
            from importlib.machinery import PathFinder
            return PathFinder.find_spec(name, [HERE])
        return None

    @classmethod
    def find_watched(cls, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not cls else None
            if spec is not None:
                watch(spec.loader, name)
                return spec
        return None


def watch(loader, name):
    """Have our module told when this loader has run the module. It is the module's alone."""
    if getattr(loader, "name", None) != name or not hasattr(loader, "exec_module"):
        return
    run = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        run(module)
        tell(name, module)
    loader.exec_module = exec_module


def tell(name, module):
    # Whatever goes wrong here, the program is to run as it would without us.
    try:
        ours = PACKAGE + "." + HOOKS[name]
        __import__(ours)
        sys.modules[ours].imported(name, module)
    except Exception:
        pass


def run_next():
    """Run the sitecustomize that this one stands before, if there is one."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


sys.path[:] = [folder for folder in sys.path if folder != HERE]
if os.environ.get("LLM_SANDBOX_ARTIFACTS"):
    sys.meta_path.insert(0, Finder)
run_next()
