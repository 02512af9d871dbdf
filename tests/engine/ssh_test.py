#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real engines at the other end of a real sshd. Usage: ssh_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]"""

import getpass
import os
import shutil
import subprocess
import tempfile
import unittest

import peer
import started


class Server:
    """An sshd of the test's own, which lets in one key, and ssh programs that know its host key, or do not."""

    def __init__(self):
        started.need(("sshd", "openssh-server"), ("ssh", "openssh-client"), ("ssh-keygen", "openssh-client"))
        self.folder = tempfile.mkdtemp(prefix="sbx-sshd-")
        # A folder that is not there is a reason for it to refuse to start.
        self.made = not os.path.isdir("/run/sshd")
        os.makedirs("/run/sshd", 0o755, exist_ok=True)
        for name in ("host", "mine", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder + "/" + name], check=True)
        shutil.copy(self.folder + "/mine.pub", self.folder + "/authorized")
        self.port = started.free_port()
        with open(self.folder + "/config", "w") as f:
            f.write("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nPidFile none\nUsePAM no\nStrictModes no\n"
                    "AuthorizedKeysFile %s/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                    "PermitRootLogin yes\nMaxStartups 100\n" % (self.port, self.folder, self.folder))
        self.log = open(self.folder + "/log", "w")
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", self.folder + "/config"],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.know("host.pub")
        self.use("mine")

    def know(self, key):
        with open(self.folder + "/" + key) as f, open(self.folder + "/known", "w") as known:
            known.write("[127.0.0.1]:%d %s" % (self.port, f.read()))

    def use(self, key, *more):
        """What our program calls ssh, with no word of the user's own settings."""
        os.makedirs(self.folder + "/bin", exist_ok=True)
        with open(self.folder + "/bin/ssh", "w") as f:
            f.write('#!/bin/sh\nexec /usr/bin/ssh -F none -i "%s/%s" -o IdentitiesOnly=yes -o UserKnownHostsFile=%s/known '
                    '-o GlobalKnownHostsFile=none "$@"\n' % (self.folder, key, self.folder))
        os.chmod(self.folder + "/bin/ssh", 0o755)

    def host(self, path=""):
        return "ssh://%s@127.0.0.1:%d%s" % (getpass.getuser(), self.port, path)

    def close(self):
        started.end(self.process)
        self.log.close()
        shutil.rmtree(self.folder)
        if self.made:
            os.rmdir("/run/sshd")


class Ssh:
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.engine = cls.kind()
        cls.addClassCleanup(cls.engine.close)
        cls.engine.make_image({"hello": started.compile()}, "localhost/hello:1")

    def setUp(self):
        self.server.know("host.pub")
        self.server.use("mine")

    def run_there(self, host=None, **more):
        # The path ends with nobody to be asked: a prompt would hang, and the deadline would tell.
        return self.engine.run("--backend", self.engine.flavor, "--image", "localhost/hello:1", "/hello", "ssh",
                               **{self.engine.variable: host or self.server.host(self.engine.path),
                                  "PATH": self.server.folder + "/bin:" + os.environ["PATH"], **more})

    def fails(self, *words, **how):
        done = self.run_there(**how)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(self.server.host()[:20], done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_sandbox_over_ssh(self):
        done = self.run_there()
        self.assertEqual((done.returncode, done.stdout[:14]), (0, "hello from ssh"), done.stderr)
        self.engine.wait_until_empty()

    def test_a_host_key_that_nobody_knows_is_not_asked_about(self):
        os.truncate(self.server.folder + "/known", 0)
        self.fails("Host key verification failed")

    def test_a_host_key_that_has_changed_is_told(self):
        self.server.know("stranger.pub")
        self.fails("Host key verification failed")

    def test_a_key_that_is_not_let_in_is_told(self):
        self.server.use("stranger")
        self.fails("Permission denied")

    def test_no_server_there_is_told(self):
        self.fails("refused", host="ssh://%s@127.0.0.1:%d" % (getpass.getuser(), started.free_port()))

    def test_no_engine_at_that_socket_is_told(self):
        self.fails("no-such.sock", host=self.server.host("/run/no-such.sock"))

    def test_no_program_at_the_other_end_is_told(self):
        # A shell of its own there, which finds no such program.
        with open(self.server.folder + "/authorized") as f:
            before = f.read()
        with open(self.server.folder + "/authorized", "w") as f:
            f.write('command="PATH=/nowhere; eval $SSH_ORIGINAL_COMMAND" ' + before)
        try:
            self.fails(self.engine.flavor, "not found")
        finally:
            with open(self.server.folder + "/authorized", "w") as f:
                f.write(before)


class Docker(Ssh, unittest.TestCase):
    kind = started.Docker

    @classmethod
    def setUpClass(cls):
        started.need(("docker", "docker.io"))
        super().setUpClass()


class Podman(Ssh, unittest.TestCase):
    kind = started.Podman


if __name__ == "__main__":
    started.main()
