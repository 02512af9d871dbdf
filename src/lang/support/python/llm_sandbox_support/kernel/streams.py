# SPDX-License-Identifier: MIT
"""The standard streams, put back after whatever a cell did to them."""
import fcntl
import io
import os
import sys

from .channel import PRIVATE

NAMES = ("stdin", "stdout", "stderr")


class Streams:
    def __init__(self):
        self.copies = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE) for fd in range(3)]
        self.objects = [getattr(sys, name) for name in NAMES]
        # How to make them anew, asked while they are whole.
        self.text = [(file.encoding, file.errors, file.line_buffering, file.write_through)
                     for file in self.objects]

    def restore(self):
        self.flush()
        for fd, copy in enumerate(self.copies):
            try:
                os.dup2(copy, fd)
            except OSError:
                pass
        for fd, name in enumerate(NAMES):
            if is_closed(self.objects[fd]):
                self.objects[fd] = self._open(fd)
            setattr(sys, name, self.objects[fd])
            setattr(sys, "__%s__" % name, self.objects[fd])

    def flush(self):
        """Everything that was printed leaves the process."""
        for file in [getattr(sys, name, None) for name in NAMES[1:]] + self.objects[1:]:
            try:
                file.flush()
            except Exception:
                pass
        if "ctypes" in sys.modules:
            flush_c()

    def _open(self, fd):
        encoding, errors, line_buffering, write_through = self.text[fd]
        file = io.FileIO(fd, "w" if fd else "r", closefd=False)
        if not fd:
            file = io.BufferedReader(file)
        elif not write_through:
            file = io.BufferedWriter(file)
        return io.TextIOWrapper(file, encoding, errors, line_buffering=line_buffering,
                                write_through=write_through)


def is_closed(file):
    try:
        return file.closed
    except ValueError:
        # Detached from its buffer, which is as good as closed.
        return True


def flush_c():
    """What C code printed, which a program has ctypes for."""
    try:
        sys.modules["ctypes"].CDLL(None).fflush(None)
    except Exception:
        pass
