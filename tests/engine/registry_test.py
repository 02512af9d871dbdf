#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images of a real registry. Usage: registry_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]"""

import base64
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

import peer
import started

# "secret", as htpasswd -B writes it.
LOGIN = "me:$2y$05$zgoR1uCx.I6OzUOVwVZ9YuMq9tfdXdciT5VBs52FQC.JbSKDDGy9W\n"
INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"


class Registry:
    def __init__(self, login=False):
        started.need(("docker-registry", "docker-registry"))
        self.folder = tempfile.mkdtemp(prefix="sbx-registry-")
        self.port = started.free_port()
        self.host = "127.0.0.1:%d" % self.port
        config = {"version": "0.1", "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": self.folder + "/data"}},
                  "http": {"addr": self.host}}
        if login:
            with open(self.folder + "/htpasswd", "w") as f:
                f.write(LOGIN)
            config["auth"] = {"htpasswd": {"realm": "a test", "path": self.folder + "/htpasswd"}}
        with open(self.folder + "/config.yml", "w") as f:
            json.dump(config, f)  # JSON is YAML
        self.log = open(self.folder + "/log", "w")
        self.process = subprocess.Popen(["docker-registry", "serve", self.folder + "/config.yml"],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.wait_until_it_answers()

    def wait_until_it_answers(self):
        while self.process.poll() is None:
            try:
                return self.http("GET", "/v2/")
            except OSError:
                try:
                    self.process.wait(timeout=0.1)
                except subprocess.TimeoutExpired:
                    pass
        raise AssertionError("docker-registry has ended: %s" % open(self.folder + "/log").read())

    def http(self, method, path, body=None, **headers):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=started.WAIT)
        try:
            conn.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            answer = conn.getresponse()
            return answer, answer.read()
        finally:
            conn.close()

    def close(self):
        started.end(self.process)
        self.log.close()
        shutil.rmtree(self.folder)


class Slow:
    """In front of a registry: it lets through what goes there, and of what comes back so many bytes."""

    def __init__(self, port, limit):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.port, self.left = port, limit
        self.reached = threading.Event()
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            there = socket.create_connection(("127.0.0.1", self.port))
            self.open += [conn, there]
            threading.Thread(target=self.pass_on, args=(conn, there, False), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(there, conn, True), daemon=True).start()

    def pass_on(self, from_, to, counts):
        try:
            while data := from_.recv(65536):
                if counts:
                    self.left -= len(data)
                    if self.left < 0:
                        self.reached.set()
                        return
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        for conn in (self.listener, *self.open):
            conn.close()


class Pulls:
    @classmethod
    def setUpClass(cls):
        cls.registry = Registry()
        cls.addClassCleanup(cls.registry.close)
        cls.private = Registry(login=True)
        cls.addClassCleanup(cls.private.close)
        cls.engine = cls.kind()
        cls.addClassCleanup(cls.engine.close)
        cls.hello = started.compile()
        cls.push(cls.registry, "hello:1", {"hello": cls.hello})
        cls.push(cls.private, "hello:1", {"hello": cls.hello}, login=True)

    @classmethod
    def push(cls, registry, name, files, platform=None, login=False):
        full = registry.host + "/" + name
        cls.engine.make_image(files, full, platform=platform)
        cls.push_made(registry, full, login)
        cls.engine.client("rmi", "-f", full)

    def name(self, image="hello:1", registry=None):
        return (registry or self.registry).host + "/" + image

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="sbx-home-")
        self.addCleanup(shutil.rmtree, self.home)
        self.engine.wait_until_empty()
        for image in self.engine.json("GET", "/images/json"):
            if "127.0.0.1" in str(image["RepoTags"]) + str(image["RepoDigests"]):
                self.engine.client("rmi", "-f", image["Id"])

    def pull(self, image, *words, **variables):
        return self.engine.run("--backend", self.engine.flavor, "--image", image, *words, "/hello", "there",
                               HOME=self.home, **variables)

    def works(self, image, *words, **variables):
        done = self.pull(image, *words, **variables)
        self.assertEqual((done.returncode, done.stdout[:16]), (0, "hello from there"), done.stderr)
        return done.stderr

    def fails(self, image, *words, options=(), **variables):
        done = self.pull(image, *options, **variables)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        last = done.stderr.strip().split("\n")[-1]
        for word in (image, *words):
            self.assertIn(word, last)
        self.assertFalse(self.is_here(image))
        return last

    def is_here(self, image):
        return self.engine.http("GET", "/images/%s/json" % image)[0] == 200

    def log_in(self, password, registry=None):
        os.makedirs(self.home + "/.docker", exist_ok=True)
        with open(self.home + "/.docker/config.json", "w") as f:
            json.dump({"auths": {(registry or self.private).host: {
                "auth": base64.b64encode(b"me:" + password.encode()).decode()}}}, f)

    def test_what_is_not_here_is_pulled_and_says_so(self):
        self.assertIn("pulling the image " + self.name(), self.works(self.name()))
        self.assertNotIn("pulling", self.works(self.name()))

    def test_a_policy_says_when(self):
        self.fails(self.name(), "not to be pulled", options=("--pull", "never"))
        self.works(self.name())
        self.works(self.name(), "--pull", "never")
        self.assertIn("pulling", self.works(self.name(), "--pull", "always"))

    def test_what_is_not_to_be_kept_is_removed_again(self):
        self.works(self.name(), "--no-keep-template")
        self.engine.wait_until_empty()
        self.assertFalse(self.is_here(self.name()))

    def test_by_its_digest(self):
        answer, _ = self.registry.http("GET", "/v2/hello/manifests/1", Accept=MANIFEST)
        self.works(self.name("hello@" + answer.headers["Docker-Content-Digest"]))
        self.fails(self.name("hello@sha256:" + "0" * 64), "there is no such image")

    def test_a_tag_or_image_that_is_not_there_is_told(self):
        self.fails(self.name("hello:none"), "there is no such image")
        self.fails(self.name("nobody/none:1"), "there is no such image")

    def test_a_registry_that_is_down_is_told(self):
        self.fails("127.0.0.1:%d/hello:1" % started.free_port(), "cannot be reached")

    def test_who_has_not_logged_in_is_told(self):
        last = self.fails(self.name(registry=self.private), "log")
        self.assertNotIn("there is no such image", last)

    def test_who_has_logged_in_gets_it(self):
        self.log_in("secret")
        self.works(self.name(registry=self.private))

    def test_a_wrong_password_is_told_and_not_shown(self):
        self.log_in("not-the-word")
        last = self.fails(self.name(registry=self.private), "log")
        self.assertNotIn("not-the-word", last)

    def test_a_login_is_for_its_registry_alone(self):
        self.log_in("secret", registry=self.registry)
        self.fails(self.name(registry=self.private), "log")

    def make_far(self, name):
        """The same layers, of an image for other processors: its digest and size."""
        self.push(self.registry, name + ":near", {"hello": self.hello})
        place = "/v2/%s/" % name
        answer, body = self.registry.http("GET", place + "manifests/near", Accept=MANIFEST)
        kind, manifest = answer.headers["Content-Type"], json.loads(body)
        _, config = self.registry.http("GET", place + "blobs/" + manifest["config"]["digest"])
        config = json.dumps({**json.loads(config), "architecture": "s390x"}).encode()
        digest = "sha256:" + hashlib.sha256(config).hexdigest()
        answer, _ = self.registry.http("POST", place + "blobs/uploads/")
        where = answer.headers["Location"].split("127.0.0.1:%d" % self.registry.port)[-1]
        answer, said = self.registry.http("PUT", where + "&digest=" + digest, config,
                                          Content_Type="application/octet-stream")
        self.assertEqual(answer.status, 201, said)
        manifest["config"].update(digest=digest, size=len(config))
        body = json.dumps(manifest).encode()
        answer, said = self.registry.http("PUT", place + "manifests/far", body, Content_Type=kind)
        self.assertEqual(answer.status, 201, said)
        return kind, answer.headers["Docker-Content-Digest"], len(body)

    def test_an_image_for_other_processors_alone_is_told(self):
        self.make_far("far")
        self.fails(self.name("far:far"), "linux/s390x")

    def test_a_list_without_our_processors_is_told(self):
        kind, digest, size = self.make_far("list")
        answer, _ = self.registry.http("PUT", "/v2/list/manifests/1", json.dumps({
            "schemaVersion": 2, "mediaType": INDEX, "manifests": [{
                "mediaType": kind, "size": size, "digest": digest,
                "platform": {"architecture": "s390x", "os": "linux"}}]}), Content_Type=INDEX)
        self.assertEqual(answer.status, 201)
        self.fails(self.name("list:1"), "there is none for this platform")

    def test_a_pull_that_is_interrupted_leaves_nothing(self):
        self.push(self.registry, "large:1", {"hello": self.hello, "large": os.urandom(8 << 20)})
        slow = Slow(self.registry.port, 2 << 20)
        self.addCleanup(slow.close)
        if self.engine.flavor == "podman":
            self.engine.insecure(slow.host)
        image = slow.host + "/large:1"
        process = subprocess.Popen([peer.PROGRAM, "exec", "--backend", self.engine.flavor, "--image", image, "/hello"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=peer.environment(HOME=self.home, **self.engine.variables))
        self.assertTrue(slow.reached.wait(started.WAIT))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertFalse(self.is_here(image))
        self.assertEqual(self.engine.containers(), [])


class Docker(Pulls, unittest.TestCase):
    kind = started.Docker

    @classmethod
    def push_made(cls, registry, full, login):
        with tempfile.TemporaryDirectory(prefix="sbx-config-") as folder:
            with open(folder + "/config.json", "w") as f:
                json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"me:secret").decode()}}} if login else {}, f)
            cls.engine.client("push", full, DOCKER_CONFIG=folder)


class Podman(Pulls, unittest.TestCase):
    kind = started.Podman

    @classmethod
    def push_made(cls, registry, full, login):
        words = ["--creds", "me:secret"] if login else []
        cls.engine.client("push", "--tls-verify=false", *words, full)


if __name__ == "__main__":
    started.main()
