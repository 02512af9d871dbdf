#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What isolates a container: what is asked for, and that the report says what is so.

Usage: safe_test.py ENGINE_PEER LLM_SANDBOX AGENT [unittest's arguments]

AGENT is started as a plain program of this machine, by an engine that is played and does nothing of
what it is asked.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

import peer
from client_test import RAW
from peer import Engine, answer, frame
from place_test import CONTAINER, ID, Volumes

AGENT = None
PODMAN = "Libpod-API-Version: 4.3.1"


class Played(unittest.TestCase):
    """An engine that is played up to the stream."""

    def engine(self, flavor="docker", answers=None, **how):
        engine = Engine({
            "/_ping": peer.ping("1.41", *([PODMAN] if flavor == "podman" else [])),
            "/containers/create": answer("201 Created", b'{"Id":"%s","Warnings":[]}' % ID.encode()),
            "/images/x/json": answer(body=b'{"Id":"x","Config":{}}'),
            CONTAINER + "/attach": RAW,
            CONTAINER + "/start": answer("500 Oops", b'{"message":"that will do"}'),
            CONTAINER: answer("204 No Content"),
            "/containers/json": answer(body=b"[]"),
            **(answers or {}),
        }, **how)
        engine.answers = Volumes(engine.answers)
        engine.flavor = flavor
        self.addCleanup(engine.close)
        return engine

    def run_in(self, engine, *options, command=("true",)):
        self.cache = tempfile.mkdtemp(prefix="sbx-cache-")
        self.addCleanup(shutil.rmtree, self.cache, True)
        variable = "CONTAINER_HOST" if engine.flavor == "podman" else "DOCKER_HOST"
        return subprocess.run(
            [peer.PROGRAM, "exec", "--json", "--backend", engine.flavor, "--image", "x", *options, *command],
            capture_output=True, text=True, timeout=peer.DEADLINE, stdin=subprocess.DEVNULL,
            env=peer.environment(**{variable: engine.host, "HOME": engine.folder, "XDG_CACHE_HOME": self.cache}))


class Profiles(Played):
    """The system calls of a whole container."""

    def asked(self, engine, *options):
        self.done = self.run_in(engine, *options)
        bodies = [json.loads(r.body) for r in engine.requests if r.path.split("?")[0].endswith("/containers/create")]
        return [[o[8:] for o in b["HostConfig"]["SecurityOpt"] if o.startswith("seccomp=")] for b in bodies]

    def wish(self, *options):
        return "--runtime-config", json.dumps({"security_opt": list(options)})

    def is_ours(self, text):
        profile = json.loads(text)
        self.assertEqual(profile["defaultAction"], "SCMP_ACT_ERRNO")
        allowed = {n for s in profile["syscalls"] if s["action"] == "SCMP_ACT_ALLOW" for n in s["names"]}
        self.assertIn("execve", allowed)
        for name in ("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
                     "mount", "umount2", "move_mount", "fsopen", "open_tree", "pivot_root", "chroot", "setns", "unshare",
                     "kexec_load", "init_module", "ptrace", "process_vm_readv", "clone3", "open_by_handle_at", "reboot"):
            self.assertNotIn(name, allowed)

    def test_docker_is_given_its_text(self):
        (profiles,) = self.asked(self.engine())
        self.assertEqual(len(profiles), 1)
        self.is_ours(profiles[0])

    def test_nothing_is_allowed_that_the_engines_refuse(self):
        """Their default, where this machine has it, for who has no capability; what is younger than it aside."""
        theirs = "/usr/share/containers/seccomp.json"
        if not os.path.exists(theirs):
            self.skipTest("there is no " + theirs)
        (profiles,) = self.asked(self.engine())
        with open(theirs) as f:
            engines = json.load(f)
        known = {n for s in engines["syscalls"] for n in s["names"]}
        allowed = {n for s in engines["syscalls"] if s["action"] == "SCMP_ACT_ALLOW" and not s.get("includes", {}).get("caps")
                   for n in s["names"]}
        ours = {n for s in json.loads(profiles[0])["syscalls"] if s["action"] == "SCMP_ACT_ALLOW" for n in s["names"]}
        self.assertEqual((ours & known) - allowed, set())

    def test_a_wished_one_goes_over_ours(self):
        self.assertEqual(self.asked(self.engine(), *self.wish("seccomp=unconfined")), [["unconfined"]])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write('{"defaultAction": "SCMP_ACT_ALLOW"}')
            f.flush()
            self.assertEqual(self.asked(self.engine(), *self.wish("seccomp=" + f.name)),
                             [['{"defaultAction": "SCMP_ACT_ALLOW"}']])
            self.assertEqual(self.asked(self.engine("podman"), *self.wish("seccomp=" + f.name)), [[f.name]])

    def test_what_is_privileged_has_none(self):
        self.assertEqual(self.asked(self.engine(), "--runtime-config", '{"privileged": true}'), [[]])

    def test_podman_is_given_a_file_that_others_cannot_write(self):
        for text in (None, '{"defaultAction":"SCMP_ACT_KILL"}'):
            ((path,),) = self.asked(self.engine("podman"), *(self.wish("seccomp=" + text) if text else ()))
            self.assertTrue(path.startswith(self.cache), path)
            while len(path) > len(self.cache):
                self.assertEqual(os.stat(path).st_uid, os.geteuid())
                self.assertFalse(os.stat(path).st_mode & (stat.S_IWGRP | stat.S_IWOTH), path)
                path = os.path.dirname(path)

    def test_a_file_that_was_changed_is_written_anew(self):
        """In a cache folder that stays."""
        engine = self.engine("podman")
        ((path,),) = self.asked(engine)
        with open(path) as f:
            self.is_ours(f.read())
        before = self.cache
        with open(path, "w") as f:
            f.write('{"defaultAction":"SCMP_ACT_ALLOW"}')
        env = peer.environment(CONTAINER_HOST=engine.host, XDG_CACHE_HOME=before)
        subprocess.run([peer.PROGRAM, "exec", "--backend", "podman", "--image", "x", "true"], env=env,
                       capture_output=True, timeout=peer.DEADLINE, stdin=subprocess.DEVNULL)
        with open(path) as f:
            self.is_ours(f.read())
        self.assertFalse([n for n in os.listdir(os.path.dirname(path)) if n.startswith("new-")])

    def test_a_cache_folder_of_everybody_is_not_used(self):
        engine = self.engine("podman")
        cache = tempfile.mkdtemp(prefix="sbx-cache-")
        self.addCleanup(shutil.rmtree, cache, True)
        os.mkdir(cache + "/llm-sandbox")
        os.chmod(cache + "/llm-sandbox", 0o777)
        env = peer.environment(CONTAINER_HOST=engine.host, XDG_CACHE_HOME=cache)
        subprocess.run([peer.PROGRAM, "exec", "--backend", "podman", "--image", "x", "true"], env=env,
                       capture_output=True, timeout=peer.DEADLINE, stdin=subprocess.DEVNULL)
        body = next(json.loads(r.body) for r in engine.requests if r.path.endswith("/containers/create"))
        self.assertFalse([o for o in body["HostConfig"]["SecurityOpt"] if o.startswith("seccomp=")])

    def test_podman_of_another_machine_keeps_its_own(self):
        engine = self.engine("podman", tcp=True)
        self.assertEqual(self.asked(engine), [[]])
        self.asked(engine, *self.wish('seccomp={"defaultAction":"SCMP_ACT_KILL"}'))
        self.assertIn("path of a file on its machine", self.done.stdout + self.done.stderr)

    def test_podman_that_cannot_read_our_files_keeps_its_own(self):
        def create(_, request):
            for option in json.loads(request.body)["HostConfig"]["SecurityOpt"]:
                if option.startswith("seccomp="):
                    said = {"message": "opening seccomp profile failed: open %s: no such file" % option[8:]}
                    return answer("500 Oops", json.dumps(said).encode())
            return answer("201 Created", b'{"Id":"%s","Warnings":[]}' % ID.encode())

        first, second = self.asked(self.engine("podman", {"/containers/create": create}))
        self.assertEqual((len(first), second), (1, []))
        self.assertIn("that will do", self.done.stdout + self.done.stderr)


class Report(Played):
    """The agent on this machine, in nothing at all: an engine that takes every wish and grants none."""

    def attached(self, conn, _):
        agent = subprocess.Popen([AGENT, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(agent.stdout.close)
        self.addCleanup(agent.wait, peer.DEADLINE)
        self.addCleanup(agent.kill)
        conn.sendall(RAW)

        def move():
            while data := os.read(agent.stdout.fileno(), 65536):
                conn.sendall(frame(1, data))

        thread = threading.Thread(target=move)
        thread.start()
        while data := conn.recv(65536):
            agent.stdin.write(data)
            agent.stdin.flush()
        agent.stdin.close()
        thread.join()

    def report(self, flavor, *options, answers=None):
        engine = self.engine(flavor, {CONTAINER + "/attach": self.attached, CONTAINER + "/start": answer("204 No Content"),
                                      **(answers or {})})
        done = self.run_in(engine, *options, command=("/bin/true",))
        self.assertTrue(done.stdout.startswith("{"), done.stderr)
        return {line["name"]: (line["status"], line["detail"]) for line in json.loads(done.stdout)["isolation"]}

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("the agent switches to another user, as root")
        self.folder = tempfile.mkdtemp(prefix="sbx-work-")
        os.chmod(self.folder, 0o777)
        self.addCleanup(shutil.rmtree, self.folder, True)

    def test_what_was_not_granted_is_missing(self):
        for flavor in ("docker", "podman"):
            # Less than whatever holds the test itself.
            report = self.report(flavor, "--workdir", self.folder, "--runtime-config",
                                 '{"mem_limit": "16m", "cpu_quota": 1000, "pids_limit": 4}')
            names = ["root file system", "memory limit", "process limit", "cpu limit", "container privileges", "host ids"]
            with open("/proc/self/status") as f:
                names += ["container seccomp"] if "Seccomp:\t0" in f.read() else []
            for name in names:
                self.assertEqual(report[name][0], "missing", (name, report[name]))
            self.assertIn("1000", report["host ids"][1])

    def test_what_was_wished_away_is_off(self):
        report = self.report("docker", "--workdir", self.folder, "--runtime-config", json.dumps(
            {"read_only": False, "network_mode": "host", "security_opt": ["seccomp=unconfined"], "cap_add": ["NET_RAW"]}))
        for name in ("root file system", "network", "container privileges", "container seccomp"):
            self.assertEqual(report[name][0], "off", (name, report[name]))

    def test_what_of_proc_and_sys_is_shown_is_off(self):
        for flavor, options in (("docker", ["systempaths=unconfined"]), ("podman", ["unmask=/proc/keys"]),
                                ("podman", ["unmask=ALL"])):
            report = self.report(flavor, "--workdir", self.folder, "--runtime-config", json.dumps({"security_opt": options}))
            self.assertEqual(report["proc"][0], "off", (options, report["proc"]))
            self.assertIn(options[0].split("=")[0], report["proc"][1])
        self.assertEqual(self.report("podman", "--workdir", self.folder)["proc"][0], "enforced")

    def test_volumes_of_an_image_are_named_where_nothing_keeps_programs_out(self):
        said = {"Id": "x", "Config": {"Volumes": {"/data": {}, "/b\x1b[31m": {}, "/tmp": {}}}}
        image = {"/images/x/json": answer(body=json.dumps(said).encode())}
        report = self.report("docker", "--workdir", self.folder, "--runtime-config",
                             '{"security_opt": ["no-new-privileges:false"]}', answers=image)
        self.assertEqual(report["landlock"][0], "off")
        self.assertEqual(report["disk limit"][0], "missing")
        self.assertIn("/data", report["disk limit"][1])
        self.assertNotIn("\x1b", report["disk limit"][1])
        self.assertNotIn("/tmp,", report["disk limit"][1])
        report = self.report("docker", "--workdir", self.folder, answers=image)
        if report["landlock"][0] == "enforced":
            self.assertNotIn("/data", report["disk limit"][1])

    def warned(self, warning, *options):
        engine = {"/containers/create": answer("201 Created", json.dumps({"Id": ID, "Warnings": [warning]}).encode())}
        return self.report("docker", "--workdir", self.folder, *options, answers=engine)

    def test_the_engines_words_are_the_reason(self):
        report = self.warned("Your kernel does not support pids limit capabilities. \x1b[31mPIDs limit discarded.")
        self.assertEqual(report["process limit"][0], "missing")
        self.assertIn("PIDs limit discarded", report["process limit"][1])
        self.assertNotIn("\x1b", report["process limit"][1])

    def test_memory_that_goes_to_swap_is_not_limited(self):
        said = "Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap."
        # More than whatever holds the test itself.
        report = self.warned(said, "--runtime-config", '{"mem_limit": "1000g"}')
        self.assertEqual(report["memory limit"][0], "missing")
        self.assertIn("without swap", report["memory limit"][1])


if __name__ == "__main__":
    peer.PEER, peer.PROGRAM, AGENT = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
