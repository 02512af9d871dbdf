#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What holds in a container besides the fences around programs, on the engines that are here.

Usage: fences_test.py ENGINE_PEER LLM_SANDBOX ATTACK [unittest's arguments]

ATTACK is the program of tests/escape. See real_test.py for which engines and which image are taken.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import containers_test
import peer
import real_test
from unix_http import UnixConnection

ATTACK = None
NUMBERS = "/usr/include/%s-linux-gnu/asm/unistd_64.h"


def left_out():
    """Names of calls, their numbers on this machine and the errors that they give."""
    with open(os.path.join(os.path.dirname(__file__), "../../src/agent/seccomp/table.h")) as f:
        table = f.read()
    table = table[table.index("seccomp_left_out[]"):table.index("struct seccomp_condition")]
    try:
        with open(NUMBERS % platform.machine()) as f:
            numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", f.read()))
    except FileNotFoundError:
        raise unittest.SkipTest("the kernel's numbers are not at " + NUMBERS % platform.machine()) from None
    errors = {"EPERM": "1", "ENOSYS": "38"}
    words = []
    for error, names in re.findall(r"\{(E\w+),.*?NAMES\((.*?)\)\}", table, re.S):
        for name in re.findall(r'"(\w+)"', names):
            if name in numbers:
                words += [name, numbers[name], errors[error]]
    return words


class Fences:
    """On a real engine."""

    def setUp(self):
        super().setUp()
        self.image = self.need_image()

    def start(self, code, *options):
        """A program in a sandbox, its container's name, and the program's standard output."""
        name = "sbx-test-" + uuid.uuid4().hex[:12]
        env = {**os.environ, **self.variables()}
        process = subprocess.Popen(
            [peer.PROGRAM, "run", "--stream", "--backend", self.flavor, "--image", self.image, "-l", "python",
             "--runtime-config", json.dumps({"name": name}), *options, "-c", code],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, peer.DEADLINE)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return name, process

    def execute(self, container, user, *words):
        """As another tool does it: its output and its exit code."""
        status, made = self.http("POST", "/v1.41/containers/%s/exec" % container,
                                 {"Cmd": words, "User": user, "AttachStdout": True, "AttachStderr": True})
        self.assertEqual(status, 201, made)
        conn = UnixConnection(self.path, peer.DEADLINE)
        try:
            conn.request("POST", "/v1.41/exec/%s/start" % made["Id"], json.dumps({"Detach": False, "Tty": False}),
                         {"Content-Type": "application/json"})
            said = conn.getresponse().read()
        finally:
            conn.close()
        deadline = time.monotonic() + peer.DEADLINE
        while (state := self.http("GET", "/v1.41/exec/%s/json" % made["Id"])[1])["Running"] and time.monotonic() < deadline:
            pass
        return said.decode(errors="replace"), state["ExitCode"]

    def test_what_another_tool_executes_meets_our_profile(self):
        numbers = left_out()
        name, _ = self.start("print('ready'); import time; time.sleep(300)", "-v", ATTACK + ":/attack")
        for user in ("0:0", "1000:1000"):
            for attack in (("numbers", *numbers), ("mounts",), ("namespaces",), ("debugging",)):
                said, code = self.execute(name, user, "/attack", *attack)
                # What is in no rule of a profile has one error for all.
                came = [line for line in said.split("\n") if "CAME THROUGH" in line and "not implemented" not in line]
                self.assertEqual((code in (0, 1), came), (True, []), (user, attack[0], said))
            said, code = self.execute(name, user, "python3", "-c", "import subprocess; print(subprocess.check_output(['ls', '/']))")
            self.assertEqual(code, 0, said)

    def test_a_wished_profile_holds_there_in_its_place(self):
        name, _ = self.start("print('ready'); import time; time.sleep(300)", "-v", ATTACK + ":/attack",
                             "--runtime-config", '{"security_opt": ["seccomp=unconfined"]}')
        said, code = self.execute(name, "0:0", "/attack", "numbers", "keyctl", left_out()[left_out().index("keyctl") + 1], "1")
        self.assertEqual(code, 1, said)

    def test_secrets_of_what_another_tool_executes_as_the_same_user_stay_its_own(self):
        code = """
import os, time
print('ready', flush=True)
def find():
    for p in filter(str.isdigit, os.listdir('/proc')):
        try:
            if b'4711' in open('/proc/%s/cmdline' % p, 'rb').read(): return p
        except OSError: pass
while not (p := find()): time.sleep(0.01)
for what in ('environ', 'mem', 'maps', 'root', 'cwd', 'exe', 'fd/0'):
    try: (os.readlink if what in ('root', 'cwd', 'exe') else lambda f: open(f, 'rb').read(1))('/proc/%s/%s' % (p, what))
    except OSError: continue
    print(what)
print('done', flush=True)
time.sleep(300)
"""
        name, process = self.start(code)
        status, made = self.http("POST", "/v1.41/containers/%s/exec" % name,
                                 {"Cmd": ["sleep", "4711"], "User": "1000:1000", "Env": ["SECRET=1"]})
        self.assertEqual(status, 201)
        self.http("POST", "/v1.41/exec/%s/start" % made["Id"], {"Detach": True})
        self.assertEqual(process.stdout.readline(), "done\n")

    def test_a_healthcheck_of_an_image_is_not_run(self):
        """It would be root's, and beside the fences."""
        if self.flavor == "podman":
            self.skipTest("Podman's commit gives an image no health check")
        name = "llm-sandbox-test/" + uuid.uuid4().hex[:12]
        carrier = containers_test.Containers.container(self)
        status, made = self.http("POST", "/v1.41/commit?container=%s&repo=%s&tag=1&changes=%s" % (
            carrier, name, "HEALTHCHECK%20--interval=1s%20CMD%20touch%20/tmp/health"), {"Labels": {}})
        self.assertEqual(status, 201, made)
        self.addCleanup(containers_test.Containers.remove_image, self, name + ":1")
        self.image = name + ":1"
        container, _ = self.start("print('ready'); import time; time.sleep(300)", "--pull", "never")
        _, state = self.http("GET", "/v1.41/containers/%s/json" % container)
        self.assertIn((state["State"].get("Health") or {}).get("Status") or "none", ("none", ""))
        self.assertIn((state["Config"].get("Healthcheck") or {"Test": ["NONE"]})["Test"], (["NONE"], None))

    def test_what_an_image_has_at_the_agents_place_is_not_copied_into_its_volume(self):
        """As the volume is shown in a container: one that is empty, by the options of a plan."""
        plan = subprocess.run([peer.PROGRAM, "exec", "--dry-run", "--backend", self.flavor, "--image", self.image, "true"],
                              capture_output=True, text=True, timeout=peer.DEADLINE, env={**os.environ, **self.variables()}).stdout
        place, modes = re.search(r'"llm-sandbox-agent-[^:"]+:([^:"]+):([^"]+)"', plan).groups()
        image, volume = "llm-sandbox-test/" + uuid.uuid4().hex[:12], "llm-sandbox-test-" + uuid.uuid4().hex[:12]
        carrier = containers_test.Containers.container(self, Cmd=["sh", "-c", "mkdir -p %s && touch %s/planted && sleep 120" % (place, place)])
        deadline = time.monotonic() + peer.DEADLINE
        while self.execute(carrier, "0:0", "test", "-e", place + "/planted")[1] != 0 and time.monotonic() < deadline:
            pass
        status, made = self.http("POST", "/v1.41/commit?container=%s&repo=%s&tag=1" % (carrier, image), {"Labels": {}})
        self.assertEqual(status, 201, made)
        self.addCleanup(containers_test.Containers.remove_image, self, image + ":1")
        self.addCleanup(self.http, "DELETE", "/v1.41/volumes/" + volume)
        for mode in (modes, modes.replace("ro,", "")):
            _, made = self.http("POST", "/v1.41/containers/create", {
                "Image": image + ":1", "Cmd": ["sleep", "120"], "Labels": {"llm-sandbox-test": "1"},
                "HostConfig": {"NetworkMode": "none", "Binds": ["%s:%s:%s" % (volume, place, mode)],
                               "Ulimits": [{"Name": n, "Soft": 1024, "Hard": 1024} for n in ("nofile", "nproc")]}})
            self.addCleanup(self.http, "DELETE", "/v1.41/containers/%s?force=1" % made["Id"])
            self.assertIn(self.http("POST", "/v1.41/containers/%s/start" % made["Id"])[0], (204, 200))
            self.assertEqual(self.execute(made["Id"], "0:0", "test", "-d", place)[1], 0)
            self.assertNotEqual(self.execute(made["Id"], "0:0", "test", "-e", place + "/planted")[1], 0, mode)

    def inside(self, code, *options):
        env = {**os.environ, **self.variables()}
        done = containers_test.run(code, "--backend", self.flavor, "--image", self.image, *options, env=env)
        self.assertIsNotNone(done.result, done.stderr)
        self.assertEqual(done.result["exit_code"], 0, done.result["stderr"])
        return done.result["stdout"], {i["name"]: i for i in done.result["isolation"]}

    def test_names_of_this_machines_network_are_not_shown(self):
        said, _ = self.inside("print(open('/etc/hosts').read()); print(open('/etc/resolv.conf').read())")
        for line in said.splitlines():
            words = line.split("#")[0].split()
            if words and words[0] == "nameserver":
                self.assertEqual(words[1], "127.0.0.1")
            elif words:
                self.assertRegex(" ".join(words), r"^\S+( (localhost|ip6-\w+|[0-9a-f]{12}))+$|^search \.$|^options ")

    def test_a_file_of_names_that_is_shown_is_it(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("192.0.2.1 mine\n")
            f.flush()
            os.chmod(f.name, 0o644)
            said, _ = self.inside("print(open('/etc/hosts').read())", "--runtime-config",
                                  json.dumps({"volumes": [f.name + ":/etc/hosts:ro"]}))
        self.assertEqual(said.strip(), "192.0.2.1 mine")

    def test_the_report_has_the_kernels_numbers(self):
        _, report = self.inside("1", "--runtime-config", '{"mem_limit": "96m", "cpu_quota": 50000, "pids_limit": 40}',
                                "--disk", "8M")
        for name, words in (("memory limit", "96 MiB"), ("cpu limit", "0.5 CPUs"), ("process limit", "4"), ("disk limit", "8388608 bytes")):
            self.assertEqual(report[name]["status"], "enforced", report[name])
            self.assertTrue(report[name]["detail"].startswith(words), report[name])
        self.assertEqual(report["container seccomp"]["status"], "enforced")
        self.assertIn("allow list", report["container seccomp"]["detail"])
        self.assertIn("1000", report["host ids"]["detail"])


class Engine(Fences, real_test.Real):
    """Without the tests of the other file."""


for other in [n for n in dir(real_test.Real) if n.startswith("test_")]:
    setattr(Engine, other, None)


class Docker(Engine, unittest.TestCase):
    flavor, variable, standard = "docker", "DOCKER_HOST", "/run/docker.sock"


class Podman(Engine, unittest.TestCase):
    flavor, variable, standard = "podman", "CONTAINER_HOST", "/run/podman/podman.sock"


if __name__ == "__main__":
    peer.PEER, peer.PROGRAM, ATTACK = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
