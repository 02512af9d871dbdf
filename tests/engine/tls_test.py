#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real dockerd over TCP with TLS. Usage: tls_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import peer
import started


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        started.need(("openssl", "openssl"))
        cls.folder = tempfile.mkdtemp(prefix="sbx-tls-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.certs = cls.make("right")
        cls.port = started.free_port()
        cls.engine = started.Docker(
            "--tlsverify", "--tlscacert", cls.certs + "/ca.pem", "--tlscert", cls.certs + "/server-cert.pem",
            "--tlskey", cls.certs + "/server-key.pem", "-H", "tcp://127.0.0.1:%d" % cls.port)
        cls.addClassCleanup(cls.engine.close)
        cls.engine.make_image({"hello": started.compile()}, "hello:1")

    @classmethod
    def make(cls, name):
        folder = cls.folder + "/" + name
        os.mkdir(folder)
        peer.certificates(folder)
        return folder

    def copy(self, *without):
        folder = tempfile.mkdtemp(dir=self.folder)
        for name in ("ca.pem", "cert.pem", "key.pem"):
            if name not in without:
                shutil.copy(self.certs + "/" + name, folder)
        return folder

    def run_with(self, certs, host=None, **more):
        variables = {"DOCKER_HOST": host or "tcp://127.0.0.1:%d" % self.port, "DOCKER_TLS_VERIFY": "1",
                     "DOCKER_CERT_PATH": certs, **more}
        return self.engine.run("--backend", "docker", "--image", "hello:1", "/hello", "tls", **variables)

    def fails(self, certs, *words, **how):
        done = self.run_with(certs, **how)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.strip().split("\n")), 1, done.stderr)
        for word in words:
            self.assertRegex(done.stderr, word)
        return done.stderr

    def test_who_has_the_right_certificates_has_a_sandbox(self):
        done = self.run_with(self.certs)
        self.assertEqual((done.returncode, done.stdout[:14]), (0, "hello from tls"), done.stderr)

    def test_another_authority_is_not_believed(self):
        folder = self.copy("ca.pem")
        shutil.copy(self.make("other") + "/ca.pem", folder)
        self.fails(folder, "TLS with the Docker engine", "certificate", "ca.pem")

    def test_no_certificate_of_ones_own_is_named(self):
        self.fails(self.copy("cert.pem", "key.pem"), "cert.pem", "key.pem", "certificate")

    def test_one_of_another_authority_is_refused_with_words(self):
        other = self.make("stranger")
        folder = self.copy("cert.pem", "key.pem")
        for name in ("cert.pem", "key.pem"):
            shutil.copy(other + "/" + name, folder)
        self.fails(folder, "127.0.0.1", "certificate|cert.pem")

    def test_one_that_is_over_is_refused_with_words(self):
        folder = self.copy("cert.pem")
        config = folder + "/x.cnf"
        with open(config, "w") as f:
            f.write("[ca]\ndefault_ca=x\n[x]\ndatabase=%s/index\nserial=%s/serial\nnew_certs_dir=%s\n"
                    "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n" % ((folder,) * 3))
        open(folder + "/index", "w").close()
        with open(folder + "/serial", "w") as f:
            f.write("77\n")
        subprocess.run(["openssl", "ca", "-batch", "-notext", "-config", config, "-cert", "ca.pem", "-keyfile",
                        "ca-key.pem", "-in", "client.csr", "-out", folder + "/cert.pem", "-startdate",
                        "20200101000000Z", "-enddate", "20200102000000Z"],
                       cwd=self.certs, check=True, capture_output=True)
        self.fails(folder, "certificate|cert.pem", "expired|cert.pem")

    def test_another_name_than_the_certificates_is_refused(self):
        self.fails(self.certs, "TLS with", "localhost", host="tcp://localhost:%d" % self.port)

    def test_without_tls_it_says_what_is_wanted(self):
        err = self.fails(self.certs, "TLS|HTTPS", DOCKER_TLS_VERIFY="", DOCKER_CERT_PATH="")
        self.assertIn("DOCKER_TLS_VERIFY", err)

    def test_a_context_with_tls(self):
        home = tempfile.mkdtemp(dir=self.folder)
        digest = hashlib.sha256(b"far").hexdigest()
        tls = home + "/.docker/contexts/tls/%s/docker" % digest
        meta = home + "/.docker/contexts/meta/" + digest
        os.makedirs(meta)
        shutil.copytree(self.copy(), tls)
        with open(meta + "/meta.json", "w") as f:
            json.dump({"Name": "far", "Metadata": {}, "Endpoints": {"docker": {
                "Host": "tcp://127.0.0.1:%d" % self.port, "SkipTLSVerify": False}}}, f)
        with open(home + "/.docker/config.json", "w") as f:
            json.dump({"currentContext": "far"}, f)
        done = self.engine.run("--backend", "docker", "--image", "hello:1", "/hello", "context", HOME=home,
                               DOCKER_HOST="")
        self.assertEqual((done.returncode, done.stdout[:18]), (0, "hello from context"), done.stderr)


if __name__ == "__main__":
    started.main()
