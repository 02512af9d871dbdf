#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images as people make them. Usage: images_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]"""

import os
import subprocess
import tempfile
import unittest

import peer
import started

PASSWD = b"root:x:0:0::/:/\nann:x:1234:1234::/home/ann:/\n"


def libraries(program):
    """What a program is linked with, under the names that it looks for: path -> bytes."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = [word for word in said.split() if word.startswith("/")]
    return {path.lstrip("/"): read(path) for path in paths}


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Images:
    @classmethod
    def setUpClass(cls):
        cls.engine = cls.kind()
        cls.addClassCleanup(cls.engine.close)
        cls.hello = started.compile()

    def image(self, files, *changes):
        self.number = getattr(Images, "number", 0) + 1
        Images.number = self.number
        name = "localhost/odd:%d" % self.number
        self.engine.make_image(files, name, *changes)
        self.addCleanup(self.engine.client, "rmi", "-f", name, check=False)
        self.addCleanup(self.engine.wait_until_empty)
        return name

    def run_in(self, image, *words, command="exec"):
        return self.engine.run("--backend", self.engine.flavor, "--image", image, *words, command=command)

    def says(self, image, text, *words):
        done = self.run_in(image, *(words or ("/hello", "there")))
        self.assertEqual((done.returncode, done.stdout), (0, text), done.stderr)

    def test_a_program_and_nothing_else(self):
        self.says(self.image({"hello": self.hello}), "hello from there, uid 1000, in /sandbox, X=\n")

    def test_no_shell_is_told_by_name(self):
        done = self.run_in(self.image({"hello": self.hello}), "sh", "-c", "true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("no program 'sh'", done.stderr)

    def test_no_tool_chain_is_told_by_name(self):
        done = self.run_in(self.image({"hello": self.hello}), "-l", "python", "-c", "1", command="run")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("python", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_musl(self):
        started.need(("musl-gcc", "musl-tools"))
        loader = [p for p in ("/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1") if os.path.exists(p)]
        if not loader:
            self.skipTest("musl's loader is not where it is looked for")
        image = self.image({"hello": started.compile("musl-gcc", static=False), "lib": None,
                            loader[0].lstrip("/"): read(loader[0])})
        self.says(image, "hello from there, uid 1000, in /sandbox, X=\n")

    def test_python_without_a_shell(self):
        python = "/usr/bin/python3"
        if not os.path.exists(python):
            self.skipTest("the system has no python3 of its own")
        base = subprocess.run([python, "-c", "import os, json; print(json.__file__.rsplit('/', 2)[0])"], check=True,
                              capture_output=True, text=True).stdout.strip()
        files = {python.lstrip("/"): read(python), **libraries(python)}
        for folder, folders, names in os.walk(base):
            folders[:] = [f for f in folders if f not in ("test", "idlelib", "dist-packages", "__pycache__", "lib2to3")]
            files.update({os.path.join(folder, n).lstrip("/"): read(os.path.join(folder, n)) for n in names
                          if n.endswith((".py", ".so")) and os.path.exists(os.path.join(folder, n))})
        done = self.run_in(self.image(files), "-l", "python", "-c", "import json; print(json.dumps({'a': 1}))", command="run")
        self.assertEqual((done.returncode, done.stdout), (0, '{"a": 1}\n'), done.stderr)

    def test_all_that_an_image_can_say_of_how_it_runs(self):
        image = self.image({"hello": self.hello, "etc": None, "etc/passwd": PASSWD, "data": None},
                           'ENTRYPOINT ["/no-such-program"]', 'CMD ["x"]', "USER ann", "WORKDIR /not/there", "ENV X=y",
                           "VOLUME /data", "EXPOSE 80", "LABEL a=b")
        self.says(image, "hello from there, uid 1000, in /sandbox, X=y\n")

    def test_what_only_a_build_can_say(self):
        name = self.image({"hello": self.hello})
        with tempfile.TemporaryDirectory(prefix="sbx-build-") as folder:
            with open(folder + "/Dockerfile", "w") as f:
                f.write('FROM %s\nHEALTHCHECK --interval=1s CMD ["/hello"]\nONBUILD ENV X=z\nSTOPSIGNAL SIGKILL\n'
                        'ENTRYPOINT ["/no-such-program"]\n' % name)
            self.engine.client("build", *self.engine.as_docker, "-t", name + "-built", folder)
        self.addCleanup(self.engine.client, "rmi", "-f", name + "-built", check=False)
        self.says(name + "-built", "hello from there, uid 1000, in /sandbox, X=\n")

    def test_a_user_that_is_named_is_the_images(self):
        image = self.image({"hello": self.hello, "etc": None, "etc/passwd": PASSWD})
        self.says(image, "hello from there, uid 1234, in /sandbox, X=\n", "--runtime-config", '{"user": "ann"}',
                  "/hello", "there")
        done = self.run_in(image, "--runtime-config", '{"user": "bob"}', "/hello")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'bob'", done.stderr)

    def test_a_volume_of_the_image_goes_with_the_container(self):
        before = len(self.volumes())
        self.says(self.image({"hello": self.hello, "data": None}, "VOLUME /data"),
                  "hello from there, uid 1000, in /sandbox, X=\n")
        self.engine.wait_until_empty()
        # What the agent needs stays.
        self.assertLessEqual(len(self.volumes()), max(before, 2))

    def volumes(self):
        return self.engine.json("GET", "/volumes")["Volumes"] or []

    def test_links_where_our_places_are(self):
        image = self.image({"hello": self.hello, "elsewhere": None, "tmp": "elsewhere", "sandbox": "/elsewhere"})
        done = self.run_in(image, "/hello", "there")
        if done.returncode == 0:
            self.assertIn("hello from there", done.stdout)
        else:
            self.assertIn("llm-sandbox: ", done.stderr)


class Docker(Images, unittest.TestCase):
    kind = started.Docker

    @classmethod
    def setUpClass(cls):
        started.need(("docker", "docker.io"))
        super().setUpClass()


class Podman(Images, unittest.TestCase):
    kind = started.Podman


if __name__ == "__main__":
    started.main()
