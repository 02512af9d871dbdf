# SPDX-License-Identifier: MIT
"""Messages with the host: u32 little-endian length, then that many bytes of JSON.

The socket comes as descriptor 3 and moves away from there at once, closed on exec. A message is
never torn by an interrupt; one that comes meanwhile is raised behind it. In a child of the kernel
there is no channel: send() does nothing.
"""
import fcntl
import json
import os
import threading

DESCRIPTOR = 3
# Ours stand where a program that closes or reuses small numbers does not meet them.
PRIVATE = 20
MAX_MESSAGE = 4 * 1024 * 1024


class Closed(Exception):
    """The host has gone, or says what no host says."""


class Channel:
    def __init__(self):
        self.fd = fcntl.fcntl(DESCRIPTOR, fcntl.F_DUPFD_CLOEXEC, PRIVATE)
        os.close(DESCRIPTOR)
        self.lock = threading.Lock()
        self.sender = None
        self.interrupted = False
        os.register_at_fork(after_in_child=self.close)

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def receive(self):
        length = int.from_bytes(self._read(4), "little")
        if length > MAX_MESSAGE:
            raise Closed
        try:
            message = json.loads(self._read(length))
        except ValueError:
            raise Closed from None
        if not isinstance(message, dict):
            raise Closed
        return message

    def send(self, **message):
        if self.fd is None:
            return
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        with self.lock:
            self.sender = threading.get_ident()
            try:
                self._write(len(body).to_bytes(4, "little") + body)
            finally:
                self.sender = None
        self._raise_interrupt()

    def defers_interrupt(self):
        """Called by the handler of SIGINT, in the main thread: whether send() is to raise it."""
        if self.sender != threading.main_thread().ident:
            return False
        self.interrupted = True
        return True

    def _raise_interrupt(self):
        if self.interrupted and threading.current_thread() is threading.main_thread():
            self.interrupted = False
            raise KeyboardInterrupt

    def _read(self, length):
        data = bytearray()
        while len(data) < length:
            piece = self._call(os.read, length - len(data))
            if not piece:
                raise Closed
            data += piece
        return bytes(data)

    def _write(self, data):
        view = memoryview(data)
        while view:
            view = view[self._call(os.write, view):]

    def _call(self, function, argument):
        try:
            return function(self.fd, argument)
        except OSError:
            raise Closed from None
