#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where an engine is looked for. Usage: endpoint_test.py ENGINE_PEER [unittest's arguments]"""

import hashlib
import json
import os
import shutil
import socket
import tempfile
import unittest

import peer


class Endpoints(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="sbx-endpoint-")
        self.addCleanup(shutil.rmtree, self.home)

    def find(self, flavor="docker", **variables):
        result = peer.ask("endpoint", flavor, **{"HOME": self.home, **variables})
        self.assertEqual(result.code, 0, result.out)
        return json.loads(result.lines[0])

    def refused(self, *words, flavor="docker", **variables):
        result = peer.ask("endpoint", flavor, **{"HOME": self.home, **variables})
        self.assertEqual(result.code, 1, result.out)
        for word in words:
            self.assertIn(word, result.out)
        self.assertEqual(result.descriptors, 0)
        return result.lines[0]

    def write(self, path, text="x"):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def context(self, name, host, folder=".docker", tls=(), **more):
        digest = hashlib.sha256(name.encode()).hexdigest()
        self.write("%s/contexts/meta/%s/meta.json" % (folder, digest),
                   {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, **more}}})
        for file in tls:
            self.write("%s/contexts/tls/%s/docker/%s" % (folder, digest, file))
        return "%s/%s/contexts/tls/%s/docker" % (self.home, folder, digest)

    # ---- variables ----

    def test_a_socket(self):
        e = self.find(DOCKER_HOST="unix:///run/x.sock")
        self.assertEqual((e["socket"], e["name"], e["source"]), ("/run/x.sock", "unix:///run/x.sock", "DOCKER_HOST"))

    def test_a_socket_of_two_paths_is_one_engine(self):
        os.mkdir(self.home + "/run")
        os.symlink("run", self.home + "/var")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.home + "/run/x.sock")
        e = self.find(DOCKER_HOST="unix://%s/var/x.sock" % self.home)
        self.assertEqual(e["name"], "unix://%s/run/x.sock" % os.path.realpath(self.home))
        self.assertEqual(e["socket"], self.home + "/var/x.sock")

    def test_podman_has_its_own_variable(self):
        e = self.find("podman", DOCKER_HOST="unix:///run/x.sock", CONTAINER_HOST="unix:///run/y.sock")
        self.assertEqual(e["socket"], "/run/y.sock")

    def test_tcp_has_the_usual_ports(self):
        self.assertEqual(self.find(DOCKER_HOST="tcp://box")["url"], "http://box:2375")
        self.assertEqual(self.find(DOCKER_HOST="tcp://box:9/")["url"], "http://box:9")
        self.assertEqual(self.find(DOCKER_HOST="tcp://[::1]")["url"], "http://[::1]:2375")
        self.assertEqual(self.find(DOCKER_HOST="tcp://[::1]:9/a/b")["url"], "http://[::1]:9/a/b")
        self.assertEqual(self.find(DOCKER_HOST="http://box/engine")["url"], "http://box/engine")

    def test_tls_takes_its_files_from_the_folder(self):
        for name in ("ca.pem", "cert.pem", "key.pem"):
            self.write("certs/" + name)
        certs = self.home + "/certs"
        e = self.find(DOCKER_HOST="tcp://box", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=certs)
        self.assertEqual((e["url"], e["verify"], e["ca"]), ("https://box:2376", True, certs + "/ca.pem"))
        self.assertEqual((e["cert"], e["key"]), (certs + "/cert.pem", certs + "/key.pem"))
        e = self.find(DOCKER_HOST="tcp://box", DOCKER_TLS="1", DOCKER_CERT_PATH=certs)
        self.assertEqual((e["url"], e["verify"]), ("https://box:2376", False))

    def test_tls_without_a_folder_takes_the_users_own(self):
        ca = self.write(".docker/ca.pem")
        e = self.find(DOCKER_HOST="tcp://box", DOCKER_TLS_VERIFY="1")
        self.assertEqual((e["ca"], e["cert"], e["key"]), (ca, None, None))

    def test_https_is_verified(self):
        e = self.find(DOCKER_HOST="https://box:1")
        self.assertEqual((e["url"], e["verify"]), ("https://box:1", True))

    def test_what_tls_lacks_is_named(self):
        self.refused("not-found", "ca.pem", "DOCKER_CERT_PATH", DOCKER_HOST="tcp://box", DOCKER_TLS_VERIFY="1",
                     DOCKER_CERT_PATH=self.home)
        self.write("cert.pem")
        self.write("ca.pem")
        self.refused("key.pem", DOCKER_HOST="tcp://box", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=self.home)

    def test_docker_variables_say_nothing_of_podman(self):
        e = self.find("podman", CONTAINER_HOST="tcp://box:8080", DOCKER_TLS_VERIFY="1")
        self.assertEqual(e["url"], "http://box:8080")

    def test_no_plain_http_where_tls_is_asked_for(self):
        self.refused("DOCKER_TLS_VERIFY", "http://box", DOCKER_HOST="http://box", DOCKER_TLS_VERIFY="1")

    def test_what_is_no_host_is_refused_by_name(self):
        self.refused("DOCKER_HOST", "npipe://", "Windows", DOCKER_HOST="npipe:////./pipe/docker_engine")
        self.refused("CONTAINER_HOST", "unix://, tcp://", flavor="podman", CONTAINER_HOST="/run/x.sock")
        for host in ("tcp://", "tcp://:2375", "tcp://a b", "tcp://u@h:1", "tcp://h?x", "tcp://h\r\nX: y"):
            self.refused("DOCKER_HOST", DOCKER_HOST=host)
        self.refused("slash", DOCKER_HOST="unix://run/docker.sock")
        self.refused("longer than", DOCKER_HOST="unix:///" + "a" * 200)

    # ---- ssh ----

    def test_ssh_runs_the_engines_own_program_there(self):
        words = self.find(DOCKER_HOST="ssh://me@box:2222")["command"]
        self.assertEqual(words[0], "ssh")
        self.assertEqual(words[words.index("-l"):], ["-l", "me", "-p", "2222", "--", "box", "docker", "system", "dial-stdio"])
        words = self.find(DOCKER_HOST="ssh://box/run/x.sock")["command"]
        self.assertEqual(words[words.index("--"):],
                         ["--", "box", "docker", "--host", "unix:///run/x.sock", "system", "dial-stdio"])
        words = self.find("podman", CONTAINER_HOST="ssh://me@[fe80::1]:22/run/user/1/podman/podman.sock",
                          CONTAINER_SSHKEY="/k")["command"]
        self.assertEqual(words[words.index("-l"):],
                         ["-l", "me", "-p", "22", "-i", "/k", "--", "fe80::1", "podman", "--url",
                          "unix:///run/user/1/podman/podman.sock", "system", "dial-stdio"])

    def test_ssh_is_given_no_options_and_no_shell_code(self):
        for host in ("-oProxyCommand=x", "-l@box", "me@-box", "box;x", "a$(x)", "", "me@", ":22", "box:0", "box:x",
                     "box:99999", "box/run/a;b", "box/run/$(x)", "box/a b", "[::1", "me@you@box", "bo\nx"):
            with self.subTest(host=host):
                self.refused("DOCKER_HOST", DOCKER_HOST="ssh://" + host)
        self.refused("password", DOCKER_HOST="ssh://me:secret@box")

    def test_passwords_reach_no_message(self):
        for host in ("ssh://me:hush@box", "ssh://me:hush@box/a b", "tcp://me:hush@box:1", "https://me:hush@box",
                     "http://me:hush@box", "npipe://me:hush@box", "x://me:hush@box", "me:hush@box"):
            with self.subTest(host=host):
                result = peer.ask("endpoint", "docker", HOME=self.home, DOCKER_HOST=host)
                self.assertTrue(result.lines[-1].startswith("error "), result.out)
                self.assertIn("box", result.out)
                self.assertNotIn("hush", result.out)

    # ---- contexts ----

    def test_the_context_in_use(self):
        self.context("far", "tcp://far:1")
        self.write(".docker/config.json", {"currentContext": "far"})
        e = self.find()
        self.assertEqual(e["url"], "http://far:1")
        self.assertIn("'far'", e["source"])

    def test_variables_come_before_contexts(self):
        self.context("far", "tcp://far:1")
        self.context("near", "tcp://near:1")
        self.write(".docker/config.json", {"currentContext": "far"})
        self.assertEqual(self.find(DOCKER_CONTEXT="near")["url"], "http://near:1")
        self.assertEqual(self.find(DOCKER_CONTEXT="near", DOCKER_HOST="tcp://x:1")["url"], "http://x:1")

    def test_the_folder_of_contexts_can_be_named(self):
        self.context("far", "unix:///far.sock", folder="elsewhere")
        e = self.find(DOCKER_CONTEXT="far", DOCKER_CONFIG=self.home + "/elsewhere")
        self.assertEqual(e["socket"], "/far.sock")

    def test_a_context_has_its_own_tls(self):
        tls = self.context("far", "tcp://far:1", tls=("ca.pem", "cert.pem", "key.pem"))
        e = self.find(DOCKER_CONTEXT="far")
        self.assertEqual((e["url"], e["verify"], e["ca"]), ("https://far:1", True, tls + "/ca.pem"))
        self.context("lax", "tcp://far:1", SkipTLSVerify=True)
        e = self.find(DOCKER_CONTEXT="lax")
        self.assertEqual((e["url"], e["verify"], e["ca"]), ("https://far:1", False, None))

    def test_a_context_over_ssh(self):
        self.context("far", "ssh://me@far")
        self.assertIn("far", self.find(DOCKER_CONTEXT="far")["command"])

    def test_default_is_no_context(self):
        self.write(".docker/config.json", {"currentContext": "default"})
        with peer.Engine(path=self.home + "/docker.sock") as engine:
            e = self.find(XDG_RUNTIME_DIR=self.home)
            self.assertIn(e["socket"], (engine.path, "/var/run/docker.sock", "/run/docker.sock"))

    def test_podman_has_no_contexts(self):
        self.context("far", "tcp://far:1")
        with peer.Engine(path=self.write("run/podman/x")[:-1] + "podman.sock") as engine:
            e = self.find("podman", DOCKER_CONTEXT="far", XDG_RUNTIME_DIR=self.home + "/run")
            self.assertEqual(e["socket"], engine.path)

    def test_a_context_that_is_not_there_is_named(self):
        self.refused("'far'", "DOCKER_CONTEXT", "docker context ls", DOCKER_CONTEXT="far")
        self.write(".docker/config.json", {"currentContext": "gone"})
        self.refused("'gone'", "currentContext", "meta.json")

    def test_broken_files_are_named(self):
        self.write(".docker/config.json", "{")
        self.refused("config.json", "JSON", "DOCKER_HOST")
        # The same file has the secrets of registries.
        self.write(".docker/config.json", '{"auths": {"r": {"auth": "aHVzaA" "x"}}}')
        result = peer.ask("endpoint", "docker", HOME=self.home)
        self.assertIn("line 1", result.out)
        self.assertNotIn("aHVzaA", result.out)
        self.write(".docker/config.json", {"currentContext": "far"})
        self.context("far", 5)
        self.refused("'far'", "Endpoints.docker.Host")

    def test_a_bad_host_of_a_context_names_the_context(self):
        self.context("far", "npipe:////./pipe/x")
        self.refused("context 'far'", "npipe", DOCKER_CONTEXT="far")

    # ---- the usual places ----

    def test_a_users_own_podman(self):
        os.makedirs(self.home + "/run/podman")
        with peer.Engine(path=self.home + "/run/podman/podman.sock") as engine:
            self.assertEqual(self.find("podman", XDG_RUNTIME_DIR=self.home + "/run")["socket"], engine.path)

    def test_nothing_there_says_where_was_looked(self):
        if any(os.path.exists(p) for p in ("/run/docker.sock", "/var/run/docker.sock")):
            self.skipTest("there is an engine on this machine at a usual place")
        self.refused("there is no Docker engine", "/var/run/docker.sock", "DOCKER_HOST")


if __name__ == "__main__":
    peer.main("__main__")
