# SPDX-License-Identifier: MIT
"""An engine of a test's own, which may be killed, stopped, filled up and thrown away.

A dockerd or a Podman with its data, sockets and processes in a private folder and in namespaces of their
own (a dockerd without a bridge takes away the one that another has on the same network): when the
first process there is killed, the kernel ends the engine with its shims and containers,
and the mounts are gone with them. Nobody else is on it.
"""

import ctypes
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
import time

from unix_http import CONTAINERS_CONF, UnixConnection

DEADLINE = 60
BUSYBOX = shutil.which("busybox")
PROGRAMS = ("sh", "cat", "sleep", "true", "ls", "dd", "rm", "echo", "head", "touch", "mkdir", "df")

# Docker's runtimes do not mind it, and crun does: a cgroup2 mount beside controllers of version 1.
INIT = """
! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified
[ -z "$SIZE" ] || mount -t tmpfs -o "size=$SIZE" tmpfs "$DATA"
busybox ip link set lo up
echo ready
sleep infinity &
wait
"""


def why_not(flavor):
    """The reason why there can be none, or None."""
    program = "dockerd" if flavor == "docker" else "podman"
    if os.geteuid() != 0:
        return "only root can start an engine"
    for name in (program, "busybox", "unshare", "nsenter"):
        if shutil.which(name) is None:
            return name + " is not installed"
    with open(BUSYBOX, "rb") as f:
        if b"ld-linux" in f.read(4096):
            return "busybox is not static, and an image is made of it alone"
    return None


def archive():
    """An image of busybox and nothing else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("bin", "tmp", "etc", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        with open(BUSYBOX, "rb") as f:
            entry = tar.gettarinfo(arcname="bin/busybox", fileobj=f)
            entry.mode = 0o755
            tar.addfile(entry, f)
        for name in PROGRAMS:
            entry = tarfile.TarInfo("bin/" + name)
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    return out.getvalue()


class Engine:
    def __init__(self, flavor, size=""):
        self.flavor = flavor
        self.folder = tempfile.mkdtemp(prefix="sbx-private-")
        self.data = self.folder + "/data"
        self.path = self.folder + "/socket"
        self.cgroup = "sbx-private-" + os.path.basename(self.folder)[-8:]
        self.image = "box:tiny" if flavor == "docker" else "localhost/box:tiny"
        self.process = None
        os.mkdir(self.data)
        os.mkdir(self.folder + "/run")
        self.log = open(self.folder + "/log", "w")
        self.init = subprocess.Popen(["unshare", "-m", "-p", "-n", "-f", "--kill-child", "--mount-proc", "sh", "-c", INIT],
                                     stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, text=True,
                                     env={**os.environ, "SIZE": size, "DATA": self.data})
        try:
            if self.init.stdout.readline() != "ready\n":
                raise RuntimeError("no namespaces for an engine: " + self.words())
            self.start()
            self.load()
        except BaseException:
            self.close()
            raise

    def words(self):
        with open(self.folder + "/log") as f:
            return f.read()[-2000:]

    def child(self, process):
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as f:
            return int((f.read().split() or [0])[0])

    def command(self):
        if self.flavor == "docker":
            return ["dockerd", "--data-root", self.data, "--exec-root", self.folder + "/run", "--pidfile",
                    self.folder + "/pid", "--bridge", "none", "--iptables=false", "--ip-forward=false", "--log-level",
                    "warn", "--cgroup-parent", "/" + self.cgroup, "-H", "unix://" + self.path]
        return ["podman", "--root", self.data, "--runroot", self.folder + "/run", "--tmpdir", self.folder + "/run/tmp",
                "system", "service", "--time=0", "unix://" + self.path]

    def start(self):
        """Or start again, where the last one's data and containers are."""
        conf = self.folder + "/containers.conf"
        with open(conf, "w") as f:
            f.write(CONTAINERS_CONF)
        if os.path.exists(self.path):
            os.unlink(self.path)
        if os.path.exists(self.folder + "/pid"):
            os.unlink(self.folder + "/pid")
        self.process = subprocess.Popen(["nsenter", "-t", str(self.child(self.init)), "-m", "-p", "-n", *self.command()],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={**os.environ, "CONTAINERS_CONF": conf, "TMPDIR": self.folder})
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.http("GET", "/_ping", timeout=5)[0] == 200:
                    return
            except OSError:
                pass
            select_a_moment()
        raise RuntimeError("%s does not start: %s" % (self.flavor, self.words()))

    def pid(self):
        return self.child(self.process)

    def listen(self):
        """A listener at the loopback that the engine sees."""
        made = []

        def enter_and_listen():
            # Of a thread alone: a socket stays in the network that it was made in.
            libc = ctypes.CDLL(None, use_errno=True)
            with open("/proc/%d/ns/net" % self.child(self.init)) as f:
                if libc.setns(f.fileno(), 0x40000000) == 0:
                    made.append(socket.create_server(("127.0.0.1", 0)))

        thread = threading.Thread(target=enter_and_listen)
        thread.start()
        thread.join()
        return made[0]

    def kill(self):
        """As a crash does: what it has started lives on."""
        os.kill(self.pid(), signal.SIGKILL)
        self.process.wait()

    def stop(self):
        os.kill(self.pid(), signal.SIGSTOP)

    def go_on(self):
        # nsenter stops itself when its child is stopped.
        os.kill(self.process.pid, signal.SIGCONT)
        os.kill(self.pid(), signal.SIGCONT)

    def inside(self, *command, **options):
        """A command where the engine's mounts are to be seen."""
        return subprocess.run(["nsenter", "-t", str(self.child(self.init)), "-m", "-p", *command], timeout=DEADLINE,
                              check=True, **options)

    def http(self, method, path, body=None, raw=None, timeout=DEADLINE):
        conn = UnixConnection(self.path, timeout)
        try:
            kind = "application/x-tar" if raw is not None else "application/json"
            conn.request(method, path, raw if raw is not None else body and json.dumps(body), {"Content-Type": kind})
            answer = conn.getresponse()
            data = answer.read()
        finally:
            conn.close()
        return answer.status, json.loads(data) if data[:1] in (b"{", b"[") and data[-2:] != b"\r\n" else data

    def load(self):
        status, said = self.http("POST", "/v1.41/images/create?fromSrc=-&repo=%s&tag=tiny" % self.image.split(":")[0], raw=archive())
        if self.http("GET", "/v1.41/images/%s/json" % self.image)[0] != 200:
            # Podman does not heed the tag of an import.
            self.http("POST", "/v1.41/images/localhost/box:latest/tag?repo=localhost/box&tag=tiny")
            self.http("DELETE", "/v1.41/images/localhost/box:latest")
        if self.http("GET", "/v1.41/images/%s/json" % self.image)[0] != 200:
            raise RuntimeError("%s does not take an image: %d %s" % (self.flavor, status, said))

    def variables(self):
        return {"DOCKER_HOST" if self.flavor == "docker" else "CONTAINER_HOST": "unix://" + self.path}

    def containers(self):
        """Every one that there is; Podman's list fails where one vanishes in its midst."""
        for _ in range(20):
            status, listed = self.http("GET", "/v1.41/containers/json?all=1")
            if status == 200:
                return listed
        raise RuntimeError("no list of containers: %d %s" % (status, listed))

    def volumes(self):
        return [v["Name"] for v in self.http("GET", "/v1.41/volumes")[1]["Volumes"] or []]

    def images(self):
        return sorted(tag for i in self.http("GET", "/v1.41/images/json?all=1")[1] for tag in i["RepoTags"] or ["<none>"])

    def wait_until(self, what, happens, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while not happens():
            if time.monotonic() > end:
                raise AssertionError("%s, not within %d s: %s\n%s" % (what, seconds, self.containers(), self.words()))
            select_a_moment()

    def wait_until_empty(self, seconds=DEADLINE):
        self.wait_until("no container is left", lambda: not self.containers(), seconds)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        self.init.kill()
        self.init.wait()
        self.init.stdout.close()
        if self.process is not None:
            self.process.wait()
        self.log.close()
        remove_cgroups(self.cgroup, self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)


def select_a_moment():
    time.sleep(0.05)  # between two questions: an engine has no event for what is asked


def remove_cgroups(cgroup, folder):
    """Processes that were killed leave their groups."""
    ids = []
    for name in ("overlay-containers", "vfs-containers"):
        if os.path.isdir(folder + "/data/" + name):
            ids += os.listdir(folder + "/data/" + name)
    root = "/sys/fs/cgroup"
    for controller in [root] + [root + "/" + name for name in os.listdir(root)]:
        tops = [controller + "/" + cgroup] + [controller + "/libpod_parent/libpod-" + i for i in ids] + \
            [controller + "/libpod_parent/libpod-conmon-" + i for i in ids]
        for top in tops:
            for path, folders, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    pass
