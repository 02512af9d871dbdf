#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The client with the engines that are on this machine.

Usage: real_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]

An engine is one that answers at SBX_TEST_DOCKER or SBX_TEST_PODMAN (a path of a socket), or at the
usual place; SBX_TEST_IMAGE names an image that it has (box:py).
"""

import json
import os
import random
import shutil
import subprocess
import time
import unittest

import peer
from unix_http import UnixConnection

IMAGE = os.environ.get("SBX_TEST_IMAGE", "box:py")


class Real:
    flavor = variable = standard = ""

    def setUp(self):
        self.path = os.environ.get("SBX_TEST_" + self.flavor.upper(), self.standard)
        try:
            status, _ = self.http("GET", "/_ping")
        except OSError as e:
            self.skipTest("no %s answers at %s: %s" % (self.flavor, self.path, e))
        self.assertEqual(status, 200)

    def http(self, method, path, body=None):
        conn = UnixConnection(self.path, peer.DEADLINE)
        try:
            conn.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
            answer = conn.getresponse()
            data = answer.read()
        finally:
            conn.close()
        return answer.status, json.loads(data) if data[:1] in (b"{", b"[") else None

    def need_image(self):
        name = IMAGE if self.flavor == "docker" else "localhost/" + IMAGE
        status, _ = self.http("GET", "/v1.41/images/%s/json" % name)
        if status != 200:
            self.skipTest("%s has no image %s" % (self.flavor, name))
        return name

    def variables(self):
        return {self.variable: "unix://" + self.path}

    def containers(self, session):
        _, listed = self.http("GET", "/v1.41/containers/json?all=1&filters=%7B%22label%22%3A%5B%22llm-sandbox.owner%22%5D%7D")
        return [c for c in listed if ("/%d/" % session) in c["Labels"]["llm-sandbox.owner"]]

    def ask(self, *args, **options):
        return peer.ask(*args, **self.variables(), **options)

    def test_it_is_what_it_says(self):
        result = self.ask("calls", self.flavor, "10000", "GET", "/version")
        name, answer = result.lines[0].split(" ", 1)
        self.assertEqual(name, self.flavor)
        self.assertIn("ApiVersion", json.loads(answer))

    def test_behind_the_other_variable_too(self):
        other = "podman" if self.flavor == "docker" else "docker"
        name = "CONTAINER_HOST" if self.flavor == "docker" else "DOCKER_HOST"
        result = peer.ask("calls", other, "10000", "GET", "/version", **{name: "unix://" + self.path})
        self.assertTrue(result.lines[0].startswith(self.flavor + " "), result.out)

    def test_what_it_refuses_has_its_words(self):
        result = self.ask("stream", self.flavor, "/containers/llm-sandbox-no-such/attach?stream=1&stdout=1")
        self.assertTrue(result.lines[0].startswith("error not-found: "), result.out)
        self.assertIn("no such container", result.lines[0].lower())

    def test_what_a_dead_owner_left_is_removed_and_what_lives_is_not(self):
        image = self.need_image()
        owner = subprocess.Popen([peer.PEER, "owner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        label = owner.stdout.readline().strip()
        status, made = self.http("POST", "/v1.41/containers/create", {
            "Image": image, "Entrypoint": ["/.llm-sandbox/agent"], "Cmd": ["--stdio"],
            "Labels": {"llm-sandbox": "session", "llm-sandbox.owner": label, "llm-sandbox.started": "2020-01-01T00:00:00Z"}})
        self.assertEqual(status, 201)
        try:
            self.ask("sweep", self.flavor)
            self.assertEqual(self.http("GET", "/v1.41/containers/%s/json" % made["Id"])[0], 200)
            owner.communicate(timeout=peer.DEADLINE)
            said = self.ask("sweep", self.flavor)
            self.assertNotIn("error", said.out)
            # Another sweep, of whoever else has this engine, may be the one that removes it, and then it is
            # at it while ours has nothing more to do.
            end = time.monotonic() + peer.DEADLINE
            while self.http("GET", "/v1.41/containers/%s/json" % made["Id"])[0] != 404:
                self.assertLess(time.monotonic(), end, said.out)
        finally:
            self.http("DELETE", "/v1.41/containers/%s?force=1" % made["Id"])

    def test_of_many_that_give_it_the_agent_at_once_one_does(self):
        image, version = self.need_image(), "%016x" % random.getrandbits(64)
        many = [subprocess.Popen([peer.PEER, "fill", self.flavor, image, version], stdout=subprocess.PIPE, text=True,
                                 env=peer.environment(**self.variables())) for _ in range(6)]
        said = [one.communicate(timeout=120)[0].splitlines() for one in many]
        volumes = {lines[0] for lines in said}
        self.assertEqual([one.returncode for one in many], [0] * 6, volumes)
        for name in volumes:
            for volume in (name, name + "-whole"):
                self.addCleanup(self.http, "DELETE", "/v1.41/volumes/" + volume)
        self.assertEqual(len(volumes), 1, volumes)
        self.assertEqual(self.http("GET", "/v1.41/volumes/%s-whole" % volumes.pop())[0], 200)

    def program(self, *args, **options):
        return subprocess.Popen([peer.PROGRAM, "exec", "--backend", self.flavor, "--image", self.need_image(), *args],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=peer.environment(HOME=os.environ.get("HOME", "/"), **self.variables()), **options)

    def wait_until_running(self, process):
        """Its labels."""
        while process.poll() is None:
            for container in self.containers(process.pid):
                if container["State"] == "running":
                    return container["Labels"]
        self.fail("it ended before there was a container: %s" % process.stderr.read())

    def wait_until_gone(self, pid):
        """As long as the engine needs: each look is a question to it, and takes its time."""
        for _ in range(2000):
            if not self.containers(pid):
                return
        self.fail("a container of %d is still there: %s" % (pid, self.containers(pid)))

    def test_nothing_is_left_when_the_program_ends(self):
        process = self.program("sh", "-c", "echo hello")
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, "hello\n"), err)
        self.wait_until_gone(process.pid)

    def test_nothing_is_left_when_the_program_is_killed(self):
        process = self.program("sleep", "600")
        self.addCleanup(process.communicate)
        labels = self.wait_until_running(process)
        self.assertEqual(labels["llm-sandbox"], "session")
        self.assertEqual(len(labels["llm-sandbox.session"]), 32)
        process.kill()
        self.wait_until_gone(process.pid)


class Docker(Real, unittest.TestCase):
    flavor, variable, standard = "docker", "DOCKER_HOST", "/run/docker.sock"

    def test_over_ssh_by_its_own_program(self):
        if shutil.which("docker") is None:
            self.skipTest("the docker program, which would be run at the other end, is not installed")
        folder = self.enterContext(__import__("tempfile").TemporaryDirectory(prefix="sbx-ssh-"))
        with open(folder + "/ssh", "w") as f:
            f.write("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec \"$@\"\n")
        os.chmod(folder + "/ssh", 0o755)
        result = peer.ask("calls", "docker", "10000", "GET", "/version", DOCKER_HOST="ssh://box" + self.path,
                          PATH=folder + ":" + os.environ["PATH"])
        self.assertTrue(result.lines[0].startswith("docker {"), result.out)


class Podman(Real, unittest.TestCase):
    flavor, variable, standard = "podman", "CONTAINER_HOST", "/run/podman/podman.sock"


if __name__ == "__main__":
    peer.main("__main__", programs=2)
