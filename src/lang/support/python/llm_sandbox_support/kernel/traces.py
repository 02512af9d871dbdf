# SPDX-License-Identifier: MIT
"""Tracebacks of cells as Python writes those of files: from the cell's own first line on."""
import linecache
import os
import sys
import traceback

# The file names under which cells are compiled.
_cells = set()
_HERE = os.path.dirname(os.path.abspath(__file__))


def remember(name, code):
    """Let tracebacks, warnings and inspect find the lines of a cell."""
    _cells.add(name)
    # No time of change: linecache is never to look for such a file.
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)


def write(error, trace=None):
    """Write the traceback of an error to stderr, without the kernel's own frames."""
    trace = from_cell(error.__traceback__ if trace is None else trace)
    # For pdb.pm(); which of them it looks at depends on its version.
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.last_exc = error
    try:
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, trace)
            return
    except Exception:
        pass
    try:
        lines = traceback.format_exception(type(error), error, trace, limit=_depth(trace))
    except Exception:
        lines = ["%s\n" % type(error).__name__]
    sys.stderr.write("".join(lines))
    sys.stderr.flush()


def from_cell(trace):
    while trace is not None and trace.tb_frame.f_code.co_filename not in _cells:
        trace = trace.tb_next
    return trace


def _depth(trace):
    """How many frames to show: those behind, where an interrupt is raised, are the kernel's own."""
    depth = shown = 0
    while trace is not None:
        depth += 1
        if os.path.dirname(trace.tb_frame.f_code.co_filename) != _HERE:
            shown = depth
        trace = trace.tb_next
    return shown or None
