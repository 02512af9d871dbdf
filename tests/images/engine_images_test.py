#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images as a user meets them, with the engine that tests/support/engines has found or started.

Usage: engines docker|podman engine_images_test.py IMAGES_INSIDE [unittest's arguments]

IMAGES_INSIDE is the one program of an image made by hand (inside.c).
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

WAIT = 300
BACKEND = os.environ["SBX_TEST_BACKEND"]
IMAGE = os.environ["SBX_TEST_IMAGE"]
PROGRAM = os.environ["SBX_PROGRAM"]
INSIDE = ""
LANGUAGES = ["python", "java", "javascript", "cpp", "go", "ruby", "r"]
HELLO = {
    "python": "print('hello')",
    "java": 'class Main { public static void main(String[] a) { System.out.println("hello"); } }',
    "javascript": "console.log('hello')",
    "cpp": '#include <iostream>\nint main() { std::cout << "hello\\n"; }\n',
    "go": 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }\n',
    "ruby": "puts 'hello'",
    "r": "cat('hello\\n')",
}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbx-images-"))
        os.chmod(self.folder, 0o755)
        self.env = {**os.environ, "XDG_CACHE_HOME": self.folder + "/cache"}
        os.mkdir(self.folder + "/cache")
        self.name = "sbx-test-%d" % os.getpid()

    def call(self, *words, input=None):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, input=input, timeout=WAIT, env=self.env)

    def good(self, *words, **how):
        done = self.call(*words, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        return done.stdout

    def bad(self, *words):
        done = self.call(*words)
        self.assertNotIn(done.returncode, (0, -11, -6), done.stdout)
        return done.stderr

    def languages(self, *words):
        return {row["id"]: row["version"] for row in json.loads(self.good("languages", "--json", *words))
                if row["version"]}

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return path

    def in_engine(self):
        return ("--backend", BACKEND, "--image", "llm-sandbox/%s:latest" % self.name)

    def remove(self):
        self.good("image", "remove", self.name, "--backend", BACKEND)

    def put_by_hand(self, *programs):
        """An image of one program, under these names, into the engine."""
        for path in ("inside",) + programs:
            os.makedirs(os.path.join(self.folder, "image/bin"), exist_ok=True)
            shutil.copy(INSIDE, os.path.join(self.folder, "image/bin", path))
        self.write("image/etc/passwd", "root:x:0:0::/:/bin/sh\nsandbox:x:1000:1000::/home/sandbox:/bin/sh\n")
        os.makedirs(self.folder + "/image/sandbox", exist_ok=True)
        made = json.loads(self.good("image", "import", self.name, self.folder + "/image", "--backend", BACKEND, "--json"))
        self.addCleanup(self.call, "image", "remove", self.name, "--backend", BACKEND)
        return made


class Languages(Case):
    def test_they_are_asked_in_the_image_and_remembered(self):
        first = self.languages("--backend", BACKEND, "--image", IMAGE)
        self.assertEqual(set(first), set(LANGUAGES))
        with open(self.folder + "/cache/llm-sandbox/image-languages.json") as f:
            known = json.load(f)
        self.assertEqual(list(known.values()), [first])
        self.assertTrue(list(known)[0])
        self.assertEqual(self.languages("--backend", BACKEND, "--image", IMAGE), first)

    def test_what_is_not_in_an_image_is_told_with_what_to_do(self):
        self.put_by_hand("python3")
        self.assertEqual(self.languages(*self.in_engine()), {"python": "3.9.1"})
        said = self.bad("run", *self.in_engine(), "-l", "go", "-c", "package main")
        self.assertIn("the image 'llm-sandbox/%s:latest' has no Go" % self.name, said)
        self.assertIn("llm-sandbox image build go --backend " + BACKEND, said)

    def test_without_an_image_each_has_its_own(self):
        rows = json.loads(self.good("languages", "--json", "--backend", BACKEND))
        self.assertEqual([row["id"] for row in rows], LANGUAGES)
        for row in rows:
            self.assertTrue(row["version"] or "is pulled when" in row["problem"], row)

    def test_an_image_that_is_not_there(self):
        self.assertIn("no image 'sbx-test/nosuch'", self.bad("languages", "--backend", BACKEND, "--image",
                                                             "sbx-test/nosuch", "--pull", "never"))


class Tools(Case):
    """Where an image has them: in its own folders, virtual environments, environments of micromamba."""

    def build(self, text):
        return ("--backend", BACKEND, "--no-keep-template", "--runtime-config", '{"network_mode": "none"}',
                "--dockerfile", self.write("build/Containerfile", "FROM %s\n%s" % (IMAGE, text)))

    def test_tools_at_unusual_places_are_found_by_the_images_path(self):
        image = self.build("RUN mkdir -p /opt/odd/bin && for t in python3 ruby node; do real=$(readlink -f $(command -v $t)); "
                           "mv $real /opt/odd/bin/$t; rm -f /usr/bin/$t; done\nENV PATH=/opt/odd/bin:/usr/bin:/bin\n")
        for language in ("python", "ruby", "javascript"):
            self.assertEqual(self.good("run", *image, "-l", language, input=HELLO[language]), "hello\n")
        self.assertLessEqual({"python", "ruby", "javascript"}, set(self.languages(*image)))

    def test_a_virtual_environment_is_respected(self):
        image = self.build("RUN python3 -m venv --without-pip /opt/venv\nENV VIRTUAL_ENV=/opt/venv\n")
        self.assertEqual(self.good("run", *image, "-l", "python", "-c", "import sys; print(sys.prefix)"), "/opt/venv\n")

    def test_an_environment_of_micromamba_is_chosen_by_name(self):
        image = self.build("RUN python3 -m venv --without-pip /opt/conda/envs/science && python3 -m venv --without-pip /opt/conda\n")
        code = "import os, sys; print(sys.prefix, os.environ.get('CONDA_DEFAULT_ENV'))"
        rows = [((), "/usr None\n"), (("--environment", "science"), "/opt/conda/envs/science science\n"),
                (("--environment", "base"), "/opt/conda base\n")]
        if BACKEND == "docker":
            rows.append((("--backend", "micromamba"), "/opt/conda base\n"))
        for options, told in rows:
            self.assertEqual(self.good("run", *image, *options, "-l", "python", "-c", code), told)


class Moving(Case):
    def test_an_image_goes_into_the_engine_and_out_again(self):
        self.write("image/marker", "of the image")
        made = self.put_by_hand()
        self.assertEqual((made["name"], made["backend"]), ("llm-sandbox/%s:latest" % self.name, BACKEND))
        listed = [row["name"] for row in json.loads(self.good("image", "list", "--backend", BACKEND, "--json"))]
        self.assertIn(made["name"], listed)
        self.assertEqual(self.good("exec", *self.in_engine(), "--", "inside", "cat", "/marker"), "of the image")
        self.good("image", "import", "back", BACKEND + ":" + made["name"])
        self.assertEqual(self.good("exec", "--image", "back", "--", "/bin/inside", "cat", "/marker"), "of the image")
        self.remove()
        self.assertIn("no image", self.bad("image", "remove", self.name, "--backend", BACKEND))

    def test_an_engines_image_is_one_of_the_native_backend_with_its_variables(self):
        self.put_by_hand("python3")
        self.good("image", "import", "by-hand", "%s:llm-sandbox/%s:latest" % (BACKEND, self.name))
        listed = {row["name"]: row for row in json.loads(self.good("image", "list", "--backend", "native", "--json"))}
        self.assertEqual((listed["by-hand"]["source"], listed["by-hand"]["tools"]), (BACKEND, {"python": "3.9.1"}))
        record = self.folder + "/cache/llm-sandbox/images/by-hand/image.json"
        with open(record) as f:
            kept = json.load(f)
        with open(record, "w") as f:
            json.dump({**kept, "env": ["PATH=/bin", "MARK=a \"b\" $c \\d"]}, f)
        self.good("image", "import", self.name, "native:by-hand", "--backend", BACKEND)
        self.assertEqual(self.good("exec", *self.in_engine(), "--", "inside", "env", "MARK"), 'a "b" $c \\d\n')
        self.assertEqual(self.good("exec", *self.in_engine(), "--", "inside", "env", "PATH"), "/bin\n")
        self.assertFalse([row for row in json.loads(self.good("image", "list", "--backend", BACKEND, "--json"))
                          if row["name"].startswith("<none>")])
        self.good("image", "import", "again", "%s:llm-sandbox/%s:latest" % (BACKEND, self.name))
        self.assertEqual(self.good("exec", "--image", "again", "--", "inside", "env", "MARK"), 'a "b" $c \\d\n')

    def test_what_the_engine_does_not_have_is_not_pulled(self):
        said = self.bad("image", "import", "x", BACKEND + ":sbx-test/nosuch")
        self.assertIn("no image 'sbx-test/nosuch'", said)
        self.assertIn("%s pull sbx-test/nosuch" % BACKEND, said)
        self.assertIn("no name of an image", self.bad("image", "import", "x", BACKEND + ":../x"))
        self.assertEqual(json.loads(self.good("image", "list", "--backend", "native", "--json")), [])


@unittest.skipUnless(os.environ.get("SBX_TEST_SIZE") == "full" and shutil.which("mmdebstrap"),
                     "the images of languages are made where SBX_TEST_SIZE is full, with mmdebstrap")
class Ours(Case):
    """Each of ours from Debian packages: natively, in the engine, as an ordinary user."""

    def make(self, language):
        made = json.loads(self.good("image", "build", language, "--json"))[0]
        self.assertEqual(list(made["tools"]), [language])
        self.assertEqual(self.good("run", "--image", language, "-l", language, input=HELLO[language]), "hello\n")
        self.good("image", "import", self.name, "native:" + language, "--backend", BACKEND)
        try:
            self.assertEqual(self.good("run", *self.in_engine(), "-l", language, input=HELLO[language]), "hello\n")
            self.assertIn("uid=1000(sandbox)", self.good("exec", *self.in_engine(), "--", "id"))
        finally:
            self.call("image", "remove", self.name, "--backend", BACKEND)
        self.good("image", "remove", language)

    def test_each_language(self):
        # What they are made of is the same for every engine.
        for language in LANGUAGES if BACKEND == "docker" else ["ruby"]:
            with self.subTest(language):
                self.make(language)

    def engine(self, *words):
        url = {"docker": ("--host", os.environ.get("DOCKER_HOST", "")),
               "podman": ("--url", os.environ.get("CONTAINER_HOST", ""))}[BACKEND]
        words = [BACKEND, *(("--remote",) if BACKEND == "podman" else ()), *url, *words]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1200, env={**self.env, "DOCKER_BUILDKIT": "0"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_containerfile_on_a_base_of_debian(self):
        if not shutil.which(BACKEND):
            self.skipTest("%s, which builds the Containerfile, is not installed" % BACKEND)
        base, built = "sbx-test-base:%d" % os.getpid(), "sbx-test-ruby:%d" % os.getpid()
        recipe = os.path.join(os.environ["SBX_SOURCE"], "images/ruby")
        # This machine's own release, whose keys it has.
        suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", suite, self.folder + "/base.tar"], check=True, timeout=1200)
        self.engine("import", self.folder + "/base.tar", base)
        self.addCleanup(self.engine, "rmi", base)
        self.engine("build", "--network", "host", "--build-arg", "BASE=" + base, "-f", recipe + "/Containerfile", "-t", built,
                    recipe)
        self.addCleanup(self.engine, "rmi", built)
        image = ("--backend", BACKEND, "--image", built)
        self.assertEqual(self.good("run", *image, "-l", "ruby", input=HELLO["ruby"]), "hello\n")
        self.assertEqual(list(self.languages(*image)), ["ruby"])


if __name__ == "__main__":
    INSIDE = sys.argv.pop(1)
    unittest.main()
