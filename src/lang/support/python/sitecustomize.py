# SPDX-License-Identifier: MIT
"""Runs at the start of every Python in a sandbox, because its folder stands first in PYTHONPATH.

It only waits: when the program itself imports a library that can show something, the module of
llm_sandbox_support that belongs to it is told. Nothing is imported here that Python has not
imported already, and what it costs a program that shows nothing is a lookup an import. This file
is read at each start, so it is short; what it does in the end is in llm_sandbox_support/hooks.py.

PYTHONPATH keeps the folder, so that child processes have the hook too; sys.path does not.
"""
import os
import sys

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

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in HOOKS:
            from llm_sandbox_support import hooks
            return hooks.find_spec(Finder, name, HOOKS[name], path, target)
        if name == "llm_sandbox_support":
            from importlib.machinery import PathFinder
            return PathFinder.find_spec(name, [HERE])


HERE = __file__.rpartition("/")[0]
sys.path[:] = [folder for folder in sys.path if folder != HERE]
if os.environ.get("LLM_SANDBOX_ARTIFACTS"):
    sys.meta_path.insert(0, Finder)

# Now the sitecustomize of the system, if there is one. Python takes no notice of an ImportError
# that says there is none, as long as this module can still be found under its name.
ours = sys.modules.pop(__name__)
try:
    import sitecustomize  # noqa: F401
finally:
    sys.modules.setdefault(__name__, ours)
