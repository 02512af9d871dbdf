# SPDX-License-Identifier: MIT
"""How a cell ended."""
import sys

INTERRUPTED = 130


class Outcome:
    def __init__(self, status="ok", exit_code=0, error=None):
        self.status = status
        self.exit_code = exit_code
        self.error = error


def of_error(error):
    """The outcome of a cell that this ended; None is a good end."""
    if error is None:
        return Outcome()
    if isinstance(error, SystemExit):
        return Outcome("exit", exit_code_of(error))
    if isinstance(error, KeyboardInterrupt):
        return Outcome("interrupted", INTERRUPTED, error)
    return Outcome("error", 1, error)


def exit_code_of(error):
    """As the interpreter would at its end: what is no number is a message."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def message_of(error):
    try:
        return str(error)
    except Exception:
        return "<its text cannot be had>"
