# SPDX-License-Identifier: MIT
"""Engines that a test starts for itself, with images that it makes, and ends again.

    with started.Docker() as engine: ...     or Podman(); its variables, its socket, its own client
"""

import fcntl
import io
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import peer
from unix_http import CONTAINERS_CONF, UnixConnection

# On a hybrid cgroup layout some runtimes refuse to work while the empty cgroup2 mount is visible.
VIEW = "! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified; exec \"$@\""
WAIT = 60

# What programs of images without a shell are made of.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char folder[4096];
	printf("hello from %s, uid %d, in %s, X=%s\\n", argc > 1 ? argv[1] : "nobody", (int)getuid(),
	       getcwd(folder, sizeof(folder)), getenv("X") ? getenv("X") : "");
	return 0;
}
"""


def stand_alone():
    """
    Go on in a network of the test's own, where its servers have all ports to themselves, and dockerd a
    bridge that is not the one of another dockerd of the machine.
    """
    if os.geteuid() == 0 and shutil.which("unshare") and "SBX_TEST_ALONE" not in os.environ:
        os.environ["SBX_TEST_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
    if os.geteuid() == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            flags = struct.pack("16sh22x", b"lo", 0x41)  # IFF_UP | IFF_RUNNING
            fcntl.ioctl(sock, 0x8914, flags)  # SIOCSIFFLAGS


def main():
    stand_alone()
    peer.main("__main__", programs=2)


def need(*programs):
    """Skip where one of these is not installed: (program, Debian's package)."""
    for program, package in programs:
        if shutil.which(program, path="/usr/sbin:/sbin:" + os.environ["PATH"]) is None:
            raise unittest.SkipTest("%s is not installed (Debian's %s)" % (program, package))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def compile(compiler="gcc", static=True, source=PROGRAM):
    with tempfile.TemporaryDirectory(prefix="sbx-compile-") as folder:
        with open(folder + "/x.c", "w") as f:
            f.write(source)
        subprocess.run([compiler, *(["-static"] if static else []), "-O1", "-o", folder + "/x", folder + "/x.c"],
                       check=True, timeout=WAIT)
        with open(folder + "/x", "rb") as f:
            return f.read()


def pack(files):
    """A tar of name -> bytes, None for a folder, or a text for a link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if data is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
            else:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data) if isinstance(data, bytes) else None)
    return out.getvalue()


class Started:
    """words: more arguments of its server."""

    def __init__(self, *words, **variables):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can start an engine")
        need((self.server, self.package), ("unshare", "util-linux"))
        self.folder = tempfile.mkdtemp(prefix="sbx-started-")
        self.path = self.folder + "/socket"
        self.variables = {self.variable: "unix://" + self.path}
        self.prepare()
        self.log = open(self.folder + "/log", "w+")
        self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", VIEW, "sh", *self.command(), *words],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={**os.environ, **self.settings(), **variables})
        self.wait_until_it_answers()

    def prepare(self):
        pass

    def settings(self):
        return {}

    def wait_until_it_answers(self):
        while self.process.poll() is None:
            try:
                if self.http("GET", "/_ping")[0] == 200:
                    return
            except OSError:
                pass
            self.pause()
        self.log.seek(0)
        said = self.log.read().strip().split("\n")[-1]
        self.close()
        raise unittest.SkipTest("%s does not start here: %s" % (self.server, said))

    def pause(self):
        """Its end, or a little time: nothing tells when it listens, or has removed something."""
        try:
            self.process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            pass

    def http(self, method, path, body=None, kind="application/json", headers=()):
        conn = UnixConnection(self.path, WAIT)
        try:
            conn.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body),
                         {"Content-Type": kind, **dict(headers)})
            answer = conn.getresponse()
            return answer.status, answer.read()
        finally:
            conn.close()

    def json(self, method, path, body=None):
        return json.loads(self.http(method, path, body)[1])

    def make_image(self, files, name, *changes, platform=None):
        """By the engine's own client. changes: lines of a Dockerfile."""
        words = [word for change in changes for word in ("--change", change)]
        if platform:
            words += self.platform(platform)
        self.client("import", *words, "-", name, input=pack(files))

    def client(self, *words, check=True, input=None, **variables):
        done = subprocess.run([*self.own_client(), *words], input=input, capture_output=True, timeout=WAIT,
                              env={**os.environ, **self.settings(), **variables})
        if check and done.returncode != 0:
            raise AssertionError("%s: %s" % (words, done.stderr.decode()))
        return done

    def run(self, *words, command="exec", HOME="/nonexistent", wait=WAIT, **variables):
        """llm-sandbox on it, and what it said as text."""
        return subprocess.run([peer.PROGRAM, command, *words], capture_output=True, text=True, timeout=wait,
                              stdin=subprocess.DEVNULL,
                              env=peer.environment(HOME=HOME, **{**self.variables, **variables}))

    def containers(self):
        return self.json("GET", "/containers/json?all=1")

    def wait_until_empty(self):
        """Sandboxes are removed behind the backs of those who close them."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            if not self.containers():
                return
            self.pause()
        raise AssertionError("there are still containers: %s" % self.containers())

    def close(self):
        if self.process.poll() is None:
            try:
                self.wait_until_empty()
            except (AssertionError, OSError):
                pass
        end(self.process)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Docker(Started):
    flavor, variable, server, package = "docker", "DOCKER_HOST", "dockerd", "docker.io"
    as_docker = []

    def command(self):
        return ["dockerd", "--data-root", self.folder + "/data", "--exec-root", self.folder + "/exec", "--pidfile",
                self.folder + "/pid", "--iptables=false", "--ip-forward=false", "--log-level",
                "warn", "-H", "unix://" + self.path]

    def own_client(self):
        return ["docker", "-H", "unix://" + self.path]

    def platform(self, name):
        return ["--platform", name]


class Podman(Started):
    flavor, variable, server, package = "podman", "CONTAINER_HOST", "podman", "podman"
    as_docker = ["--format", "docker"]

    def prepare(self):
        with open(self.folder + "/containers.conf", "w") as f:
            f.write(CONTAINERS_CONF)
        # A registry of a test has no TLS.
        with open(self.folder + "/registries.conf", "w") as f:
            f.write('[[registry]]\nlocation = "127.0.0.1"\nprefix = "127.0.0.1"\ninsecure = true\n')
        with open(self.folder + "/auth.json", "w") as f:
            f.write("{}")

    def insecure(self, host):
        with open(self.folder + "/registries.conf", "w") as f:
            f.write('[[registry]]\nlocation = "%s"\ninsecure = true\n' % host)

    def settings(self):
        return {"CONTAINERS_CONF": self.folder + "/containers.conf",
                "CONTAINERS_REGISTRIES_CONF": self.folder + "/registries.conf",
                "REGISTRY_AUTH_FILE": self.folder + "/auth.json"}

    def places(self):
        return ["--root", self.folder + "/data", "--runroot", self.folder + "/run", "--tmpdir", self.folder + "/tmp"]

    def command(self):
        return ["podman", *self.places(), "system", "service", "--time=0", "unix://" + self.path]

    def own_client(self):
        # What it mounts is not for this machine to keep.
        return ["unshare", "-m", "podman", *self.places()]

    def platform(self, name):
        system, processors = name.split("/")[:2]
        return ["--os", system, "--arch", processors]
