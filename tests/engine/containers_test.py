#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options of containers: with an engine that is played, and with those that are here.

Usage: containers_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]

See real_test.py for which engines and which image are taken.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.parse

import peer
import real_test
from peer import Engine, answer

WAIT = 90


def run(code, *options, env=None):
    done = subprocess.run([peer.PROGRAM, "run", "--json", "-l", "python", *options, "-c", code],
                          capture_output=True, text=True, timeout=WAIT, env=env)
    done.result = json.loads(done.stdout) if done.stdout.startswith("{") else None
    return done


class Pulls(unittest.TestCase):
    """An engine without the image, whose pull ends as it is told."""

    def pull(self, said, image="there/box:1", home="/nonexistent", status="200 OK", index="https://index.example/v1/",
             host=None):
        missing = answer("404 Not Found", b'{"message": "No such image"}')
        answers = {"/images/%s/json" % image: missing,
                   "/images/create": answer(status, said.encode()),
                   "/info": answer(body=json.dumps({"IndexServerAddress": index}).encode())}

        class WithQuery(dict):
            def get(self, key, default=None):
                return super().get(key.split("?")[0], default)

            def __getitem__(self, key):
                return super().__getitem__(key.split("?")[0])

            def __contains__(self, key):
                return super().__contains__(key.split("?")[0])

        with Engine(answers, tcp=host is not None) as engine:
            engine.answers = WithQuery(engine.answers)
            done = run("1", "--backend", "docker", "--image", image,
                       env=peer.environment(DOCKER_HOST=engine.host.replace("127.0.0.1", host or ""), HOME=home, PATH=os.environ["PATH"] + ":" + home))
            self.assertNotEqual(done.returncode, 0)
            self.requests = [r for r in engine.requests if r.path.split("?")[0].endswith("/images/create")]
        return done.stderr

    def error(self, text):
        return json.dumps({"status": "Pulling"}) + "\n" + json.dumps({"errorDetail": {"message": text}, "error": text})

    def test_errors_name_the_cause(self):
        rows = (("manifest unknown", "there is no such image"),
                ("pull access denied for x, repository does not exist or may require 'docker login'", "logged in"),
                ("unauthorized: authentication required", "log-in"),
                ("denied: requested access", "does not let us"),
                ("dial tcp: lookup registry.example: no such host", "cannot be reached"),
                ("write /var/lib/x: no space left on device", "disk is full"),
                ("no matching manifest for linux/amd64", "none for this platform"),
                ("something else", "something else"))
        for said, words in rows:
            err = self.pull(self.error(said))
            self.assertIn(words, err)
            self.assertIn("there/box:1", err)

    def test_an_answer_that_is_an_error_names_the_cause_too(self):
        err = self.pull(json.dumps({"message": "manifest unknown"}), status="404 Not Found")
        self.assertIn("there is no such image", err)

    def test_one_tag_is_asked_for(self):
        for image, query in (("box", {"fromImage": ["box"], "tag": ["latest"]}),
                             ("host.example:5000/a/box:2", {"fromImage": ["host.example:5000/a/box"], "tag": ["2"]})):
            self.pull(self.error("manifest unknown"), image=image)
            self.assertEqual(urllib.parse.parse_qs(self.requests[0].path.split("?")[1]), query)

    def login(self):
        return json.loads(base64.urlsafe_b64decode(self.requests[0].headers["x-registry-auth"]))

    def test_who_has_logged_in_is_so_here(self):
        with tempfile.TemporaryDirectory(prefix="sbx-home-") as home:
            os.mkdir(home + "/.docker")
            auth = base64.b64encode(b"me:pass:word").decode()
            with open(home + "/.docker/config.json", "w") as f:
                json.dump({"auths": {"https://host.example/v2/": {"auth": auth}, "https://index.example/v1/": {"auth": auth}},
                           "credHelpers": {"other.example": "testing"}}, f)
            self.pull(self.error("denied"), image="host.example/box", home=home)
            self.assertEqual(self.login(), {"username": "me", "password": "pass:word", "serveraddress": "host.example"})
            self.pull(self.error("denied"), image="box", home=home)
            self.assertEqual(self.login()["serveraddress"], "https://index.example/v1/")
            self.pull(self.error("denied"), image="third.example/box", home=home)
            self.assertNotIn("x-registry-auth", self.requests[0].headers)
            with open(home + "/docker-credential-testing", "w") as f:
                f.write("#!/bin/sh\nread host\nprintf '{\"Username\": \"%s\", \"Secret\": \"s-%s\"}' \"$1\" \"$host\"\n")
            os.chmod(home + "/docker-credential-testing", 0o755)
            self.pull(self.error("denied"), image="other.example/box", home=home)
            self.assertEqual(self.login(), {"username": "get", "password": "s-other.example", "serveraddress": "other.example"})

    def home(self, config):
        home = tempfile.mkdtemp(prefix="sbx-home-")
        self.addCleanup(shutil.rmtree, home)
        os.mkdir(home + "/.docker")
        with open(home + "/.docker/config.json", "w") as f:
            f.write(config if isinstance(config, str) else json.dumps(config))
        return home

    def test_an_engine_cannot_choose_whose_log_in_it_gets(self):
        auth = {"auth": base64.b64encode(b"me:secret").decode()}
        home = self.home({"auths": {"private.example": auth, "https://older.example/v2/": auth},
                          "credHelpers": {"helped.example": "testing"}})
        for index in ("private.example", "https://private.example/", "https://private.example/v1/", "private.example/v1/",
                      "http://private.example/v1/", "https://me@private.example/v1/", "https://older.example/v2/",
                      "https://older.example/v1/", "https://helped.example/v1/", "https://private.example/v1/?", "", "https:///v1/"):
            with self.subTest(index=index):
                self.pull(self.error("denied"), image="box", home=home, index=index)
                self.assertNotIn("x-registry-auth", self.requests[0].headers)
        self.pull(self.error("denied"), image="private.example/box", home=home)
        self.assertEqual(self.login()["password"], "secret")

    def test_a_store_is_asked_for_what_was_logged_in_to(self):
        home = self.home({"auths": {"https://index.example/v1/": {}}, "credsStore": "testing"})
        with open(home + "/docker-credential-testing", "w") as f:
            f.write("#!/bin/sh\nread host\nprintf '{\"Username\": \"me\", \"Secret\": \"s-%s\"}' \"$host\"\n")
        os.chmod(home + "/docker-credential-testing", 0o755)
        self.pull(self.error("denied"), image="box", home=home)
        self.assertEqual(self.login()["password"], "s-https://index.example/v1/")
        self.pull(self.error("denied"), image="box", home=home, index="https://private.example/v1/")
        self.assertNotIn("x-registry-auth", self.requests[0].headers)

    def test_no_log_in_goes_where_others_can_read_it(self):
        auth = {"auth": base64.b64encode(b"me:secret").decode()}
        home = self.home({"auths": {"host.example": auth}})
        for host in ("127.0.0.1", "localhost"):
            self.pull(self.error("denied"), image="host.example/box", home=home, host=host)
            self.assertEqual(self.login()["password"], "secret")
        # All of this machine, by an address that does not say so.
        err = self.pull(self.error("denied: no"), image="host.example/box", home=home, host="0.0.0.0")
        self.assertNotIn("x-registry-auth", self.requests[0].headers)
        self.assertIn("is not encrypted", err)
        self.assertIn("DOCKER_TLS_VERIFY", err)
        err = self.pull(self.error("denied: no"), image="other.example/box", home=home, host="0.0.0.0")
        self.assertNotIn("encrypted", err)

    def test_a_long_log_in_of_a_file_behind_a_link(self):
        secret = "s" * 9000
        auth = base64.b64encode(b"me:" + secret.encode()).decode()
        home = self.home({"auths": {"https://host.example/v1/": {"auth": auth}, "host.example": {"auth": auth}}})
        os.rename(home + "/.docker/config.json", home + "/mine")
        os.symlink("../mine", home + "/.docker/config.json")
        self.pull(self.error("denied"), image="host.example/box", home=home)
        self.assertEqual(self.login()["password"], secret)

    def test_secrets_of_a_broken_file_reach_no_message(self):
        home = self.home('{"auths": {"host.example": {"auth": "aHVzaA" "x"}}}')
        err = self.pull("", image="host.example/box", home=home)
        self.assertIn("config.json", err)
        self.assertNotIn("aHVzaA", err)

    def test_a_helper_that_never_ends_does(self):
        home = self.home({"credHelpers": {"host.example": "endless"}})
        with open(home + "/docker-credential-endless", "w") as f:
            f.write("#!/bin/sh\nexec yes\n")
        os.chmod(home + "/docker-credential-endless", 0o755)
        self.pull(self.error("denied"), image="host.example/box", home=home)
        self.assertNotIn("x-registry-auth", self.requests[0].headers)

    def test_what_a_pull_tells_is_clean_and_adds_up(self):
        layers = "".join(json.dumps({"status": "Downloading", "id": i,
                                     "progressDetail": {"current": 2**63 - 1, "total": 2**63 - 1}}) + "\n" for i in "ab")
        said = layers + json.dumps({"status": "a\u009b31mb\u2028" + "\u00e9" * 600}) + "\n"
        err = self.pull(said + self.error("no \x1b[31mway\u009b"))
        self.assertIn("no [31mway\n", err)
        self.assertNotIn("?", err)
        for c in err:
            self.assertTrue(c == "\n" or (ord(c) >= 32 and not 0x7f <= ord(c) < 0xa0), ascii(err))

    def test_a_missing_helper_is_named(self):
        with tempfile.TemporaryDirectory(prefix="sbx-home-") as home:
            os.mkdir(home + "/.docker")
            for helper in ("no-such-helper", "; touch x"):
                with open(home + "/.docker/config.json", "w") as f:
                    json.dump({"credsStore": helper}, f)
                self.assertIn(helper, self.pull("", image="host.example/box", home=home))
                self.assertEqual(self.requests, [])

    def test_an_image_for_other_processors_is_told_by_name(self):
        image = answer(body=b'{"Id": "x", "Os": "linux", "Architecture": "mips64", "Config": {}}')
        with Engine({"/images/box:1/json": image}) as engine:
            done = run("1", "--backend", "docker", "--image", "box:1", env=peer.environment(DOCKER_HOST=engine.host))
            self.assertIn("linux/mips64", done.stderr)
            self.assertRegex(done.stderr, "this program is for linux/[a-z0-9]+")
            self.assertFalse([p for p in engine.paths() if "create" in p])


class Builds(unittest.TestCase):
    """An engine that builds as it is told, and on which others build the same folder."""

    ID, OTHER = "sha256:" + "1a" * 32, "sha256:" + "2b" * 32

    def build(self, inspect, create=None):
        """inspect: of a name or an id, how often a build has ended so far -> the image's description, or None."""
        self.builds = 0

        def build(*_):
            self.builds += 1
            return answer(body=json.dumps({"aux": {"ID": self.ID}}).encode() + b"\n")

        def look(_, request):
            name = request.path.split("/images/")[1].removesuffix("/json")
            said = inspect("ours" if name.startswith("llm-sandbox-build/") else name, self.builds)
            if request.method == "DELETE":
                return answer(body=b"[]")
            return answer(body=json.dumps(said).encode()) if said else answer("404 Not Found", b'{"message":"No such image"}')

        class Any(dict):
            def get(self, key, default=None):
                if re.match("/images/[^/]*/?[^/]*/json|/images/(llm|sha)", key):
                    return look
                return answer(body=b'{"Name":"x"}') if key.startswith("/volumes/") else super().get(key, default)

        answers = {"/build": build, "/images/json": answer(body=b"[]"),
                   "/containers/create": create or answer("500 Oops", b'{"message":"that will do"}')}
        with Engine(answers) as engine, tempfile.TemporaryDirectory(prefix="sbxbuild") as folder:
            engine.answers = Any(engine.answers)
            with open(folder + "/Containerfile", "w") as f:
                f.write("FROM x\n")
            done = run("1", "--backend", "docker", "--dockerfile", folder + "/Containerfile",
                       env=peer.environment(DOCKER_HOST=engine.host, HOME=folder))
            self.deleted = [p.split("/images/")[1] for p in engine.paths() if p.startswith("DELETE") and "/images/" in p]
            self.created = [json.loads(r.body)["Image"] for r in engine.requests if r.path.endswith("/containers/create")]
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def image(self, id, **more):
        return {"Id": id, "Os": "linux", "Config": {}, "RepoTags": [], **more}

    def test_what_is_for_other_processors_is_removed(self):
        said = self.build(lambda _, builds: self.image(self.ID, Architecture="mips64") if builds else None)
        self.assertIn("linux/mips64", said)
        self.assertEqual(len(self.deleted), 1, self.deleted)
        self.assertTrue(self.deleted[0].startswith("llm-sandbox-build/"))

    def test_what_was_there_before_stays(self):
        self.build(lambda *_: self.image(self.ID, Architecture="mips64"))
        self.assertEqual(self.deleted, [])

    def test_a_container_is_of_what_was_built_for_it(self):
        def inspect(name, builds):
            return None if not builds else self.image(self.OTHER if name == "ours" else self.ID)

        self.assertIn("that will do", self.build(inspect))
        self.assertEqual(self.created, [self.ID])

    def test_what_another_has_built_meanwhile_is_not_removed(self):
        def inspect(name, builds):
            return None if not builds else self.image(self.OTHER) if name == "ours" else self.image(self.ID, Architecture="mips64")

        self.assertIn("linux/mips64", self.build(inspect))
        self.assertEqual(self.deleted, [self.ID])

    def test_what_another_has_removed_meanwhile_is_built_again(self):
        missing = answer("404 Not Found", b'{"message":"No such image: %s"}' % self.ID.encode())
        self.assertIn("No such image", self.build(lambda _, builds: self.image(self.ID) if builds else None, missing))
        self.assertEqual(self.builds, 2)


class Containers:
    """On a real engine."""

    def setUp(self):
        super().setUp()
        self.image = self.need_image()

    def run_in(self, code, *options, image=True, env=None):
        images = ("--image", self.image) if image else ()
        env = {**os.environ, **self.variables(), **(env or {})}
        return run(code, "--backend", self.flavor, *images, *options, env=env)

    def inside(self, code, *options, **how):
        done = self.run_in(code, *options, **how)
        self.assertIsNotNone(done.result, done.stderr)
        self.assertEqual(done.result["exit_code"], 0, done.result["stderr"])
        self.report = {line["name"]: line for line in done.result["isolation"]}
        self.said = done.stderr
        return done.result["stdout"].strip()

    def container(self, **config):
        body = {"Image": self.image, "Cmd": ["sleep", "120"], "Labels": {"llm-sandbox-test": "1"}, **config,
                "HostConfig": {"NetworkMode": "none", "Ulimits": [{"Name": n, "Soft": 1024, "Hard": 1024}
                                                                    for n in ("nofile", "nproc")]}}
        status, made = self.http("POST", "/v1.41/containers/create", body)
        self.assertEqual(status, 201, made)
        self.addCleanup(self.http, "DELETE", "/v1.41/containers/%s?force=1&v=1" % made["Id"])
        self.http("POST", "/v1.41/containers/%s/start" % made["Id"])
        return made["Id"]

    def remove_image(self, name):
        """An image in use by a container that is about to be removed is not removed yet."""
        deadline = time.monotonic() + WAIT
        while self.http("DELETE", "/v1.41/images/" + name)[0] == 409 and time.monotonic() < deadline:
            pass

    def wait_until_unused(self, name):
        """Containers end behind the backs of those who close them."""
        deadline = time.monotonic() + WAIT
        query = urllib.parse.quote(json.dumps({"ancestor": [name]}))
        while self.http("GET", "/v1.41/containers/json?all=1&filters=" + query)[1] and time.monotonic() < deadline:
            pass

    def has_image(self, name):
        return self.http("GET", "/v1.41/images/%s/json" % name)[0] == 200

    # ---- users and roots ----

    def test_programs_are_an_ordinary_user_who_cannot_write_the_root(self):
        code = "import os\nprint(os.getuid())\ntry: open('/etc/x', 'w')\nexcept OSError: print('no')"
        self.assertEqual(self.inside(code), "1000\nno")
        self.assertEqual(self.report["root file system"]["status"], "enforced")

    def test_a_user_by_number_and_by_name(self):
        code = "import os; print(os.getuid(), os.getgid()); open('x', 'w'); open('/tmp/x', 'w')"
        self.assertEqual(self.inside(code, "--runtime-config", '{"user": "1234:1235"}'), "1234 1235")
        self.assertEqual(self.inside(code, "--runtime-config", '{"user": "nobody"}'), "65534 65534")
        self.assertEqual(self.inside(code, "--runtime-config", '{"user": "root"}'), "0 0")

    def test_a_user_that_the_image_does_not_know(self):
        done = self.run_in("1", "--runtime-config", '{"user": "nosuch"}')
        self.assertIn("has no user 'nosuch'", done.stderr)

    def test_a_root_that_can_be_written_is_told_of(self):
        code = "open('/etc/written', 'w'); print('yes')"
        self.assertEqual(self.inside(code, "--runtime-config", '{"read_only": false, "user": "root"}'), "yes")
        self.assertEqual(self.report["root file system"]["status"], "off")

    def test_a_network_that_is_wished_for_is_there_and_told_of(self):
        code = "print(len(open('/proc/net/dev').read().strip().split('\\n')) - 2)"
        self.assertEqual(self.inside(code), "1")
        self.assertEqual(self.report["network"]["status"], "enforced")
        self.assertEqual(self.inside(code, "--runtime-config", '{"network_mode": "bridge"}'), "2")
        self.assertEqual(self.report["network"]["status"], "off")

    def test_limits_are_those_of_the_result_too(self):
        code = "x = bytearray(200 << 20)\nprint(1)"
        done = self.run_in(code, "--runtime-config", '{"mem_limit": "64m"}')
        self.assertNotEqual(done.result["exit_code"], 0)
        self.assertEqual(self.inside(code, "--runtime-config", '{"mem_limit": "400m"}'), "1")

    def test_a_name_clash_is_told_by_name(self):
        taken = "llm-sandbox-test-%d-%s" % (os.getpid(), self.flavor)
        status, made = self.http("POST", "/v1.41/containers/create?name=" + taken, {"Image": self.image, "Cmd": ["true"]})
        self.assertEqual(status, 201, made)
        self.addCleanup(self.http, "DELETE", "/v1.41/containers/%s?force=1" % made["Id"])
        done = self.run_in("1", "--runtime-config", json.dumps({"name": taken}))
        self.assertIn("a container called '%s' already" % taken, done.stderr)

    # ---- images ----

    def test_an_image_that_is_not_there_and_not_to_be_pulled(self):
        done = self.run_in("1", "--image", "llm-sandbox-test/nosuch", "--pull", "never", image=False)
        self.assertIn("no image 'llm-sandbox-test/nosuch'", done.stderr)

    def test_a_registry_that_is_not_there(self):
        done = self.run_in("1", "--image", "registry.invalid/box", image=False)
        self.assertIn("cannot be reached", done.stderr)

    def test_a_platform_that_the_image_is_not_for(self):
        done = self.run_in("1", "--runtime-config", '{"platform": "linux/s390x"}')
        self.assertIn("linux/s390x", done.stderr)
        self.assertRegex(done.stderr, "is for linux/(amd64|arm64)")

    def build(self, text, *options, code="1", files=()):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbxbuild"))
        for name, content in (("Containerfile", "FROM %s\n%s" % (self.image, text)), *files):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w") as f:
                f.write(content)
        if "--tag" not in options:
            options += ("--no-keep-template",)
        return lambda: self.inside(code, "--dockerfile", folder + "/Containerfile", *options, image=False)

    def test_a_containerfile_is_built_with_its_context(self):
        name = "llm-sandbox-test/built:%d" % os.getpid()
        files = (("a/kept", "1"), ("a/dropped", "2"), (".dockerignore", "a/*\n!a/kept\n"))
        code = "import os; print(os.listdir('/context/a'), os.environ['MARK'], os.getcwd(), os.getuid())"
        text = "COPY . /context\nENV MARK=here HOME=/nowhere\nUSER nobody\nWORKDIR /context\nENTRYPOINT [\"false\"]\n"
        build = self.build(text, "--tag", name, code=code, files=files)
        self.addCleanup(self.remove_image, name)
        self.assertEqual(build(), "['kept'] here /sandbox 1000")
        self.assertIn("building the image " + name, self.said)

    def test_a_context_may_have_any_names(self):
        long_name = "d" * 90 + "/" + "e" * 120
        files = (("a/\u00fc", "1"), ("a/\udcff", "2"), ("a/" + long_name, "3"))
        code = "import os; print(sorted(os.listdir(b'/a')), open('/a/%s').read())" % long_name
        build = self.build("COPY a /a\n", code=code, files=files)
        self.assertEqual(build(), r"[b'%s', b'\xc3\xbc', b'\xff'] 3" % ("d" * 90))

    def test_links_of_a_context_lead_nowhere_outside(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbxbuild"))
        os.symlink("/etc/machine-id", folder + "/link")
        os.mkfifo(folder + "/fifo")
        with open(folder + "/Containerfile", "w") as f:
            f.write("FROM %s\nCOPY . /a\n" % self.image)
        self.assertEqual(self.inside("import os; print(os.readlink('/a/link'), os.listdir('/a'))", "--dockerfile",
                                     folder + "/Containerfile", "--no-keep-template", image=False).split(" ", 1)[0],
                         "/etc/machine-id")
        with open(folder + "/Containerfile", "w") as f:
            f.write("FROM %s\nCOPY link/ /a/\n" % self.image)
        done = self.run_in("1", "--dockerfile", folder + "/Containerfile", image=False)
        self.assertNotEqual(done.returncode, 0)

    def test_a_work_folder_of_the_image_is_seen_and_can_be_changed(self):
        code = "import os; print(os.getcwd(), open('/app/mark').read(), len(open('/app/more', 'w').name) > 0)"
        build = self.build("COPY mark /app/mark\n", "--workdir", "/app", code=code, files=(("mark", "here"),))
        self.assertEqual(build(), "/app here True")

    def test_a_template_that_is_kept(self):
        name = "llm-sandbox-test/kept:%d" % os.getpid()
        self.addCleanup(self.remove_image, name)
        self.build("ENV A=1\n", "--tag", name)()
        self.assertTrue(self.has_image(name))
        self.build("ENV A=2\n", "--tag", name, "--no-keep-template")()
        self.assertTrue(self.has_image(name), "it was there before")

    def test_a_template_that_is_not_to_be_kept(self):
        name = "llm-sandbox-test/dropped:%d" % os.getpid()
        config = self.enterContext(tempfile.NamedTemporaryFile("w", suffix=".yaml"))
        config.write("keep-template: false\n")
        config.flush()
        for options in (("--no-keep-template",), ("--config", config.name)):
            self.build("ENV A=1\n", "--tag", name, *options)()
            self.assertFalse(self.has_image(name))
        self.addCleanup(self.remove_image, name)
        self.build("ENV A=1\n", "--tag", name, "--config", config.name, "--keep-template")()
        self.assertTrue(self.has_image(name))

    def fail_to_build(self, text):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbxbuild"))
        with open(folder + "/Bad", "w") as f:
            f.write("FROM %s\n%s" % (self.image, text))
        # What RUN needs of a network is no matter here, and not every engine has one.
        done = self.run_in("1", "--dockerfile", folder + "/Bad", "--runtime-config", '{"network_mode": "none"}', image=False)
        self.assertIn("cannot build an image from '%s/Bad'" % folder, done.stderr)
        return done.stderr.strip().split("\n")[-1]

    def test_a_build_that_fails_names_the_step_and_what_was_said_there(self):
        said = self.fail_to_build("RUN echo first; echo the last words; exit 3\n")
        self.assertRegex(said, "(?i)in step 2/2 ?: RUN echo first")
        self.assertRegex(said, "said at last:.*the last words")

    def test_what_a_builder_does_not_know_is_told(self):
        for text in ("COPY <<EOF /x\nhello\nEOF\nRUN false\n", "RUN cat <<-'END'; false\nhello\nEND\n"):
            self.assertIn("line 2 has a here-document", self.fail_to_build(text))

    def test_what_a_build_says_is_shown_and_not_obeyed(self):
        said = self.fail_to_build("RUN printf '\\033]0;title\\007\\033[31mred'; exit 1\n")
        self.assertIn("red", said)
        self.assertNotIn("\033", said)
        self.assertNotIn("\007", said)

    def test_a_containerfile_outside_of_its_context(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbxbuild"))
        os.makedirs(folder + "/context/sub")
        for name, text in (("context/a", "a"), ("context/sub/b", "b"), ("context/.dockerignore", "sub\n"),
                           ("elsewhere;$(x)?&t=y", "FROM %s\nCOPY . /context\n" % self.image)):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        code = "import os; print(os.listdir('/context'))"
        self.assertEqual(self.inside(code, "--dockerfile", folder + "/elsewhere;$(x)?&t=y", "--context",
                                     folder + "/context", "--no-keep-template", image=False), "['a']")

    def test_what_was_built_before_goes_when_it_is_built_anew(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbxbuild"))
        ids = []
        for mark in "12":
            with open(folder + "/Containerfile", "w") as f:
                f.write("FROM %s\nENV MARK=%s\n" % (self.image, mark))
            self.assertEqual(self.inside("import os; print(os.environ['MARK'])", "--dockerfile",
                                         folder + "/Containerfile", image=False), mark)
            name = self.said.split("building the image ")[1].split()[0]
            ids.append(self.http("GET", "/v1.41/images/%s/json" % name)[1]["Id"])
            self.wait_until_unused(ids[-1])
            self.addCleanup(self.remove_image, name)
            self.addCleanup(self.remove_image, ids[-1])
        self.assertNotEqual(*ids)
        self.assertFalse(self.has_image(ids[0]))
        self.assertTrue(self.has_image(ids[1]))

    def test_volumes_of_an_image_go_with_the_container(self):
        before = {v["Name"] for v in self.http("GET", "/v1.41/volumes")[1]["Volumes"] or []}
        self.build("VOLUME /data\n", code="import os; print(os.path.isdir('/data'))")()
        after = {v["Name"] for v in self.http("GET", "/v1.41/volumes")[1]["Volumes"] or []}
        self.assertEqual({v for v in after - before if "llm-sandbox" not in v and len(v) == 64}, set())

    # ---- commits ----

    def test_a_commit_has_what_was_written_and_starts_as_its_image(self):
        name = "llm-sandbox-test/committed:%d" % os.getpid()
        self.addCleanup(self.remove_image, name)
        self.inside("open('/sandbox/kept', 'w').write('x')", "--commit=" + name)
        self.assertIn("committed to the image " + name, self.said)
        config = self.http("GET", "/v1.41/images/%s/json" % name)[1]["Config"]
        base = self.http("GET", "/v1.41/images/%s/json" % self.image)[1]["Config"]
        self.assertEqual((config.get("Entrypoint") or [], config.get("Cmd") or []),
                         (base.get("Entrypoint") or [], base.get("Cmd") or []))
        code = "print(open('/sandbox/kept').read()); open('/sandbox/more', 'w')"
        self.assertEqual(self.inside(code, "--image", name, image=False), "x")

    def test_an_image_that_only_says_that_it_is_a_commit_has_the_limits_of_any(self):
        text = "RUN mkdir -p /sandbox && touch /sandbox/kept && chmod 777 /sandbox\nLABEL llm-sandbox=commit\n"
        name = "llm-sandbox-test/says-so:%d" % os.getpid()
        self.addCleanup(self.remove_image, name)
        code = "import os; print(os.path.exists('/sandbox/kept'))"
        wish = json.dumps({"mounts": [{"type": "volume", "target": "/sandbox"}]})
        shown = self.flavor == "podman"  # which copies it into the folder in memory
        self.assertEqual(self.build(text, "--tag", name, code=code)(), str(shown))
        self.assertEqual(self.report["disk limit"]["status"], "enforced")
        self.assertEqual("was not committed here" in self.said, not shown)
        self.assertEqual(wish in self.said, not shown)
        self.assertEqual(self.inside(code, "--image", name, "--runtime-config", wish, image=False), "True")
        self.assertNotEqual(self.report["disk limit"]["status"], "enforced")

    def test_a_commit_is_one_for_who_has_made_it(self):
        name = "llm-sandbox-test/committed-by:%d" % os.getpid()
        self.addCleanup(self.remove_image, name)
        self.inside("open('/sandbox/kept', 'w').write('x')", "--commit=" + name)
        other = {"XDG_CACHE_HOME": self.enterContext(tempfile.TemporaryDirectory(prefix="sbx-cache-"))}
        code = "import os; print(os.path.exists('/sandbox/kept'))"
        self.assertEqual(self.inside(code, "--image", name, image=False), "True")
        self.assertEqual(self.report["disk limit"]["status"], "off")
        self.assertEqual(self.inside(code, "--image", name, image=False, env=other),
                         str(self.flavor == "podman"))
        self.assertEqual(self.report["disk limit"]["status"], "enforced")

    def test_a_commit_goes_over_no_image(self):
        before = self.http("GET", "/v1.41/images/%s/json" % self.image)[1]["Id"]
        done = self.run_in("1", "--commit=" + self.image)
        self.assertIn("overwrites none", done.stderr)
        self.assertEqual(self.http("GET", "/v1.41/images/%s/json" % self.image)[1]["Id"], before)

    def test_a_commit_without_a_name_gets_a_fresh_one(self):
        names = []
        for _ in range(2):
            self.inside("1", "--commit")
            names.append(self.said.split("committed to the image ")[1].split()[0])
            self.addCleanup(self.remove_image, names[-1])
        self.assertEqual(len(set(names)), 2)
        self.assertTrue(all(self.has_image(n) for n in names))

    # ---- somebody else's containers ----

    def left(self, container, folder):
        """What is there of us, seen by another session: its own agent is no longer in the root."""
        code = ("import os\n"
                "def words(pid):\n"
                " try: return open('/proc/%%s/cmdline' %% pid).read()\n"
                " except OSError: return ''\n"
                "print(os.path.exists(%r), [n for n in os.listdir('/') if n.startswith('.llm')],"
                " any('987654' in words(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()))"
                % folder)
        return self.inside(code, "--container", container, "-u", "0", image=False)

    def test_row_85_an_attached_container_stays_running_and_clean(self):
        container = self.container()
        code = ("import os, subprocess\n"
                "subprocess.Popen(['sleep', '987654'], start_new_session=True)\n"
                "open('mine', 'w')\nprint(os.getuid(), os.getcwd())")
        uid, folder = self.inside(code, "--container", container, image=False).split()
        self.assertEqual(uid, "1000")
        self.assertEqual(self.report["container"]["status"], "off")
        deadline = time.monotonic() + WAIT
        while (left := self.left(container, folder)) != "False [] False" and time.monotonic() < deadline:
            pass
        self.assertEqual(left, "False [] False")
        self.assertTrue(self.http("GET", "/v1.41/containers/%s/json" % container)[1]["State"]["Running"])

    def test_an_attached_container_with_a_work_folder_of_its_own(self):
        container = self.container()
        self.assertEqual(self.inside("import os; print(os.getcwd())", "--container", container, "-u", "0",
                                     "--workdir", "/root", image=False), "/root")

    def test_a_work_folder_of_somebody_else_is_told_with_what_to_do(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbx-work-"))
        os.chmod(folder, 0o755)
        configs = {"volumes": {folder: {"bind": "/sandbox", "mode": "rw"}}}
        done = self.run_in("1", "--runtime-config", json.dumps(configs))
        self.assertIn("cannot be written by user 1000", done.stderr)
        self.assertIn("--user", done.stderr)
        self.inside("open('kept', 'w')", "--runtime-config", json.dumps({"user": "root", **configs}))
        self.assertIn("kept", os.listdir(folder))

    def test_row_95_what_is_there_needs_no_image_that_is_built(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbxbuild"))
        with open(folder + "/Containerfile", "w") as f:
            f.write("FROM %s\n" % self.image)
        dockerfile = ("--dockerfile", folder + "/Containerfile")
        done = self.run_in("1", *dockerfile)
        self.assertIn("it must be one of them", done.stderr)
        done = self.run_in("1", *dockerfile, "--container", "some", image=False)
        self.assertIn("needs no image built", done.stderr)

    def test_row_86_an_unknown_container(self):
        done = self.run_in("1", "--container", "nosuchcontainer", image=False)
        self.assertIn("has no container 'nosuchcontainer'", done.stderr)

    def test_a_stopped_container_is_started(self):
        container = self.container()
        self.http("POST", "/v1.41/containers/%s/kill" % container)
        self.http("POST", "/v1.41/containers/%s/wait" % container)
        self.assertEqual(self.inside("print(1)", "--container", container, image=False), "1")
        self.assertTrue(self.http("GET", "/v1.41/containers/%s/json" % container)[1]["State"]["Running"])


class Docker(Containers, real_test.Real, unittest.TestCase):
    flavor, variable, standard = "docker", "DOCKER_HOST", "/run/docker.sock"


class Podman(Containers, real_test.Real, unittest.TestCase):
    flavor, variable, standard = "podman", "CONTAINER_HOST", "/run/podman/podman.sock"


# Those of the class itself are run by its own file.
for name in [n for n in dir(real_test.Real) if n.startswith("test_")]:
    setattr(Containers, name, None)


if __name__ == "__main__":
    peer.main("__main__", programs=2)
