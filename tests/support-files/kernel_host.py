# SPDX-License-Identifier: MIT
"""A host of kernels for tests: it starts one as a sandbox would and speaks with it on descriptor 3."""
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import time

SUPPORT = os.path.join(os.environ["SBX_SOURCE"], "src/lang/support")
DEADLINE = 60.0  # seconds that any answer may take on a slow machine
MAX_MESSAGE = 4 << 20

COMMANDS = {
    "python": ["python3", SUPPORT + "/python/kernel.py"],
    "javascript": ["node", "--no-force-async-hooks-checks", SUPPORT + "/javascript/kernel.js"],
    "ruby": ["ruby", SUPPORT + "/ruby/kernel.rb"],
    "r": ["sh", SUPPORT + "/r/kernel.sh"],
    "java": ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
             "--add-opens=java.base/java.io=ALL-UNNAMED", SUPPORT + "/java/Kernel.java"],
}


class Cell:
    """What came of a cell: its messages by their op, and what was written meanwhile."""

    def __init__(self):
        self.status = self.exit_code = self.text = None
        self.error = {}
        self.displays = []
        self.out = self.err = ""

    def __repr__(self):
        return repr(vars(self))


class Kernel:
    def __init__(self, language, folder, env=None):
        ours, theirs = socket.socketpair()
        self.socket = ours
        environment = dict(os.environ, LC_ALL="C.UTF-8", PYTHONUNBUFFERED="1", **(env or {}))
        fd = theirs.fileno()

        def place():
            os.dup2(fd, 3)  # which makes it inheritable, unless it is 3 already
            os.set_inheritable(3, True)

        self.process = subprocess.Popen(
            COMMANDS[language], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=place, pass_fds=[3],
            start_new_session=True)
        theirs.close()
        self.streams = {"out": self.process.stdout, "err": self.process.stderr}
        self.written = {"out": b"", "err": b""}
        self.received = b""
        self.ended = False
        self.selector = selectors.DefaultSelector()
        self.selector.register(ours, selectors.EVENT_READ, None)
        for name, stream in self.streams.items():
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, name)
        self.next_id = 1
        self.ready = self.receive()
        assert self.ready["op"] == "ready", self.ready

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def send(self, message):
        data = json.dumps(message).encode()
        self.socket.setblocking(True)
        self.socket.sendall(struct.pack("<I", len(data)) + data)

    def message(self):
        if len(self.received) < 4:
            return None
        size = struct.unpack("<I", self.received[:4])[0]
        assert size <= MAX_MESSAGE, size
        if len(self.received) < 4 + size:
            return None
        data, self.received = self.received[4:4 + size], self.received[4 + size:]
        return json.loads(data.decode())

    def read_stream(self, name):
        try:
            data = os.read(self.streams[name].fileno(), 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.selector.unregister(self.streams[name])
            return False
        self.written[name] += data
        return True

    def turn(self, deadline):
        left = deadline - time.monotonic()
        assert left > 0, f"no answer in time; written: {self.written}"
        for key, _ in self.selector.select(left):
            if key.data is not None:
                self.read_stream(key.data)
                continue
            data = self.socket.recv(1 << 16)
            self.ended = not data
            self.received += data
            if self.ended:
                self.selector.unregister(self.socket)

    def receive(self, deadline=None):
        deadline = deadline or time.monotonic() + DEADLINE
        while True:
            message = self.message()
            if message is not None:
                return message
            assert not self.ended, f"the kernel ended; written: {self.written}"
            self.turn(deadline)

    def take_output(self):
        """Everything that was written before now."""
        for name in self.streams:
            while not self.streams[name].closed and self.read_stream(name):
                pass
        taken = {name: data.decode("utf-8", "replace") for name, data in self.written.items()}
        self.written = {"out": b"", "err": b""}
        return taken

    def start(self, code, **more):
        id = self.next_id
        self.next_id += 1
        self.send({"op": "run", "id": id, "code": code, "name": f"cell-{id}", **more})
        return id

    def finish(self, id):
        cell = Cell()
        while cell.status is None:
            message = self.receive()
            assert message["id"] == id, message
            if message["op"] == "done":
                cell.status, cell.exit_code = message["status"], message.get("exit_code")
            elif message["op"] == "result":
                cell.text = message["text"]
            elif message["op"] == "error":
                cell.error = message
            else:
                assert message["op"] == "display", message
                cell.displays.append(message["number"])
        taken = self.take_output()
        cell.out, cell.err = taken["out"], taken["err"]
        return cell

    def run(self, code, **more):
        return self.finish(self.start(code, **more))

    def wait_output(self, text, name="out"):
        deadline = time.monotonic() + DEADLINE
        while text.encode() not in self.written[name]:
            self.turn(deadline)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def run_interrupted(self, code):
        """Run a cell that says "begun" and does not end by itself."""
        id = self.start(code)
        self.wait_output("begun")
        self.interrupt()
        return self.finish(id)

    def reset(self):
        id = self.next_id
        self.next_id += 1
        self.send({"op": "reset", "id": id})
        return self.finish(id)

    def end(self):
        """Close descriptor 3; the kernel ends by itself, and says with what status."""
        self.socket.close()
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        for stream in self.streams.values():
            stream.close()
        return status
