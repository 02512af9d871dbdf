# SPDX-License-Identifier: MIT
"""What the tests of the Python part share: programs with the hook, and a host for kernels."""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

DEADLINE_S = 120
SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "src/lang/support/python"
# That of the distribution, because it is what sandboxes have; any other can be tried.
PYTHON = os.environ.get("SBX_TEST_PYTHON", "/usr/bin/python3")
STRICT = os.environ.get("SBX_TEST_STRICT") == "1"


def has(*modules):
    asked = "; ".join("import " + module for module in modules)
    return subprocess.run([PYTHON, "-c", asked], capture_output=True).returncode == 0


def needs(*modules):
    """Skips a test or class without these; where tests are strict it fails instead."""
    return unittest.skipUnless(has(*modules) or STRICT,
                               "needs %s for %s" % (", ".join(modules), PYTHON))


class Artifact:
    def __init__(self, path):
        self.number = int(path.name[:6])
        self.extension = path.name[7:]
        self.data = path.read_bytes()
        lines = path.with_name(path.name[:6] + ".meta").read_text("utf-8").splitlines()
        assert len(lines) == 1, "a .meta of %d lines" % len(lines)
        self.meta = json.loads(lines[0], parse_constant=refuse)

    def series(self, axes=0):
        return self.meta["chart"]["axes"][axes]["series"]


def refuse(constant):
    raise AssertionError("%s is not JSON" % constant)


class Ran:
    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr


class Case(unittest.TestCase):
    """A folder for artifacts and one to work in, for each test."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sbx-inside-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.work = self.folder / "work"
        self.shown = self.folder / "shown"
        self.work.mkdir()
        self.shown.mkdir()

    def environment(self, **more):
        """As the rows of the language and the agent make it."""
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.work), "LANG": "C.UTF-8",
               "PYTHONPATH": str(SUPPORT), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1",
               "PYTHONDONTWRITEBYTECODE": "1", "LLM_SANDBOX_ARTIFACTS": str(self.shown),
               "MPLCONFIGDIR": CACHE.name, **more}
        return {name: value for name, value in env.items() if value is not None}

    def program(self, code, **environment):
        """Start a file of this code."""
        path = self.work / "main.py"
        path.write_text(code)
        return subprocess.Popen([PYTHON, str(path)], cwd=self.work, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(**environment))

    def run_code(self, code, status=0, **environment):
        """Run a file of this code; it is to end like that."""
        process = self.program(code, **environment)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, status, stderr)
        return Ran(process.returncode, stdout, stderr)

    def artifacts(self):
        """What was shown, in order; nothing unfinished lies beside it."""
        names = sorted(entry.name for entry in self.shown.iterdir())
        for name in names:
            self.assertRegex(name, r"^\d{6}\.[a-z0-9]+$")
        files = [name for name in names if not name.endswith(".meta")]
        self.assertEqual([name for name in names if name.endswith(".meta")],
                         [name[:6] + ".meta" for name in files])
        return [Artifact(self.shown / name) for name in files]

    def extensions(self):
        return [artifact.extension for artifact in self.artifacts()]


# matplotlib makes a list of fonts once, which takes seconds.
CACHE = tempfile.TemporaryDirectory(prefix="sbx-inside-cache-")


class Cell:
    """What came of a cell."""

    def __init__(self):
        self.stdout = self.stderr = ""
        self.result = self.error = self.done = None
        self.displays = []

    @property
    def status(self):
        return self.done["status"], self.done["exit_code"]


class Kernel:
    """The host's end: starts a kernel with a socket as its descriptor 3."""

    def __init__(self, cwd, env):
        self.socket, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out_write, 1),
                   (os.POSIX_SPAWN_DUP2, err_write, 2),
                   (os.POSIX_SPAWN_DUP2, theirs.fileno(), 3)]
        argv = ["env", "-C", str(cwd), PYTHON, str(SUPPORT / "kernel.py")]
        self.pid = os.posix_spawnp("env", argv, env, file_actions=actions)
        for fd in (null, out_write, err_write):
            os.close(fd)
        theirs.close()
        self.pipes = {out_read: bytearray(), err_read: bytearray()}
        self.inbox = bytearray()
        self.next_id = 0
        self.ended = None
        self.ready = self.receive()

    def send(self, **message):
        body = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<I", len(body)) + body)

    def receive(self):
        """The next message; output is read meanwhile."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            if len(self.inbox) >= 4:
                length, = struct.unpack("<I", self.inbox[:4])
                assert length <= 4 * 1024 * 1024
                if len(self.inbox) >= 4 + length:
                    body = bytes(self.inbox[4:4 + length])
                    del self.inbox[:4 + length]
                    return json.loads(body)
            self.read(deadline)

    def read(self, deadline):
        fds, _, _ = select.select([self.socket, *self.pipes], [], [],
                                  max(0, deadline - time.monotonic()))
        assert fds, "nothing came in time"
        for fd in fds:
            if fd is self.socket:
                data = self.socket.recv(65536)
                assert data, "the kernel has gone: %s" % bytes(list(self.pipes.values())[1])
                self.inbox += data
            else:
                self.read_pipe(fd)

    def read_pipe(self, fd):
        data = os.read(fd, 65536)
        self.pipes[fd] += data
        return data

    def wait_for_output(self, text):
        """Until this stands on stdout."""
        deadline = time.monotonic() + DEADLINE_S
        while text.encode() not in next(iter(self.pipes.values())):
            self.read(deadline)

    def start(self, code, **more):
        self.next_id += 1
        self.send(op="run", id=self.next_id, code=code,
                  **{"name": "cell-%d" % self.next_id, "silent": False, **more})
        return self.next_id

    def finish(self, number):
        cell = Cell()
        while cell.done is None:
            message = self.receive()
            assert message.pop("id") == number, message
            op = message.pop("op")
            if op == "display":
                cell.displays.append(message["number"])
            else:
                assert getattr(cell, op) is None, "two of " + op
                setattr(cell, op, message if op != "result" else message["text"])
        cell.stdout, cell.stderr = self.take_output()
        return cell

    def take_output(self):
        """What is in the pipes now: a cell's output is there before its end is told."""
        texts = []
        for fd, data in self.pipes.items():
            while select.select([fd], [], [], 0)[0] and self.read_pipe(fd):
                pass
            texts.append(data.decode())
            data.clear()
        return texts

    def run(self, code, **more):
        return self.finish(self.start(code, **more))

    def reset(self):
        self.next_id += 1
        self.send(op="reset", id=self.next_id)
        return self.finish(self.next_id)

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def wait(self):
        """Its exit status, once it has ended by itself."""
        if self.ended is None:
            pidfd = os.pidfd_open(self.pid)
            ended = select.select([pidfd], [], [], DEADLINE_S)[0]
            os.close(pidfd)
            assert ended, "the kernel does not end"
            self.ended = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.ended

    def close(self):
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self.socket.close()
        for fd in self.pipes:
            os.close(fd)
        self.pipes = {}


class KernelCase(Case):
    kind = "plain"

    def kernel(self, **environment):
        kernel = Kernel(self.work, self.environment(LLM_SANDBOX_KERNEL=self.kind, **environment))
        self.addCleanup(kernel.close)
        return kernel
