#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Engines that die, hang and fill up, and programs of ours that are killed: what is said, and what is left.

Usage: faults_test.py docker|podman ENGINE_SESSIONS LLM_SANDBOX [unittest's arguments]

Each case has an engine of its own (private.py), which nobody else sees.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

import private

FLAVOR = SESSIONS = PROGRAM = ""
WAIT = 120


class Sessions:
    """A process with sessions, and what it answers."""

    def __init__(self, engine, image=None):
        self.process = subprocess.Popen([SESSIONS, engine.flavor, image or engine.image], text=True, env=environment(engine),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            raise AssertionError("it ended with %s" % self.process.wait())
        fine, failed, longest, *words = line.split(" ", 3)
        self.fine, self.failed, self.longest_ms, self.words = int(fine), int(failed), int(longest), "".join(words)
        return self

    def say(self, line):
        self.ask(line)
        return self.answer()

    def end(self):
        """Without a close."""
        self.process.stdin.close()
        code = self.process.wait(WAIT)
        self.process.stdout.close()
        return code


def environment(engine):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("DOCKER_", "CONTAINER_", "SBX_TEST_"))}
    return {**clean, **engine.variables(), "HOME": engine.folder}


class Case(unittest.TestCase):
    size = ""

    def setUp(self):
        self.engine = private.Engine(FLAVOR, self.size)
        self.addCleanup(self.engine.close)

    def sessions(self, image=None):
        sessions = Sessions(self.engine, image)

        def end():
            if sessions.process.returncode is None:
                sessions.process.kill()
                sessions.process.communicate()

        self.addCleanup(end)
        return sessions

    def program(self, *args):
        process = subprocess.Popen([PROGRAM, *args], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment(self.engine))

        def end():
            if process.returncode is None:
                process.kill()
                process.communicate()

        self.addCleanup(end)
        return process

    def exec(self, *args):
        return self.program("exec", "--backend", FLAVOR, "--image", self.engine.image, *args)

    def works(self, *args):
        process = self.exec(*args, "sh", "-c", "echo it works")
        out, err = process.communicate(timeout=WAIT)
        self.assertEqual((process.returncode, out), (0, "it works\n"), err)

    def fails(self, process, *words, seconds=WAIT):
        out, err = process.communicate(timeout=seconds)
        self.assertNotEqual(process.returncode, 0, out)
        for word in words:
            self.assertIn(word, err)
        return err

    def wait_until_running(self, count):
        self.engine.wait_until("%d containers run" % count, lambda: sum(
            c["State"] == "running" for c in self.engine.containers()) == count)

    def silent_registry(self):
        """A place that takes connections and says nothing."""
        listener = self.engine.listen()
        self.addCleanup(listener.close)
        listener.settimeout(WAIT)
        self.asked = threading.Event()
        self.accepted = []

        def accept():
            try:
                self.accepted.append(listener.accept()[0])
                self.asked.set()
            except OSError:
                pass

        thread = threading.Thread(target=accept)
        thread.start()
        self.addCleanup(lambda: [accepted.close() for accepted in self.accepted])
        self.addCleanup(thread.join)
        return "127.0.0.1:%d/box:1" % listener.getsockname()[1]

    def build_folder(self, *lines):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="sbx-build-"))
        with open(folder + "/Containerfile", "w") as f:
            f.write("\n".join(["FROM " + self.engine.image, *lines, ""]))
        return folder + "/Containerfile"

    def title(self):
        return "the %s engine at unix://%s" % (FLAVOR.capitalize(), self.engine.path)


class Killed(Case):
    """The engine ends without a word, and comes back."""

    def comes_back(self, sessions):
        self.engine.start()
        self.assertEqual(sessions.say("close").failed, 0)
        self.assertEqual(sessions.say("open 2").fine, 2, sessions.words)
        self.assertEqual(sessions.say("run true").fine, 2, sessions.words)
        self.assertLess(sessions.say("close").longest_ms, 1000)
        self.engine.wait_until_empty()

    def test_sessions_that_are_open_end_and_say_why(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 3").fine, 3, sessions.words)
        self.engine.kill()
        self.assertEqual(sessions.say("run true").failed, 3)
        self.assertIn(self.title(), sessions.words)
        self.assertIn("open a new session", sessions.words)
        self.comes_back(sessions)

    def test_a_run_ends_and_says_why(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 2").fine, 2, sessions.words)
        sessions.ask("run sleep 600")
        self.engine.wait_until("a program runs", lambda: self.count_processes("sleep 600") == 2)
        self.engine.kill()
        self.assertEqual(sessions.answer().failed, 2)
        self.assertIn(self.title(), sessions.words)
        self.comes_back(sessions)

    def count_processes(self, words):
        listed = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True, check=True).stdout
        return sum(line == words for line in listed.split("\n"))

    def test_a_copy_ends_and_says_why(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 2").fine, 2, sessions.words)
        sessions.ask("put 1000000000")
        self.engine.kill()
        self.assertEqual(sessions.answer().failed, 2)
        self.assertIn(self.title(), sessions.words)
        self.comes_back(sessions)

    def test_whatever_it_was_doing_for_a_session_that_was_being_opened(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 1").fine, 1, sessions.words)
        for requests in range(0, 14):
            sessions.ask("open 2")
            self.wait_for_calls(requests)
            self.engine.kill()
            sessions.answer()
            if sessions.failed:
                self.assertIn(self.title(), sessions.words)
            self.comes_back(sessions)

    def wait_for_calls(self, count):
        """The moment is another one each time: there is no telling how far it has come."""
        threading.Event().wait(count * 0.04)

    def test_a_build_says_why(self):
        process = self.program("exec", "--backend", FLAVOR, "--dockerfile", self.build_folder("RUN sleep 600"), "true")
        self.engine.wait_until("it builds", lambda: self.count_processes("sleep 600") == 1)
        self.engine.kill()
        self.fails(process, self.title(), "try again")
        self.engine.start()
        self.works()
        self.assertEqual(self.engine.images(), [self.engine.image])

    def test_a_pull_says_why(self):
        process = self.program("exec", "--backend", FLAVOR, "--image", self.silent_registry(), "true")
        self.assertTrue(self.asked.wait(WAIT))
        self.engine.kill()
        self.fails(process, self.title())
        self.engine.start()
        self.works()
        self.engine.wait_until_empty()
        self.assertEqual(self.engine.images(), [self.engine.image])


class Stopped(Case):
    """The engine is there, and does nothing."""

    def test_every_call_has_an_end_and_all_goes_on_afterwards(self):
        runs, opens = self.sessions(), self.sessions()
        self.assertEqual(runs.say("open 2").fine, 2, runs.words)
        self.assertEqual(opens.say("open 1").fine, 1, opens.words)
        build = self.program("exec", "--backend", FLAVOR, "--dockerfile", self.build_folder("RUN sleep 600"), "true")
        pull = self.program("exec", "--backend", FLAVOR, "--image", self.silent_registry(), "true")
        self.assertTrue(self.asked.wait(WAIT))
        runs.ask("run sleep 600")
        self.engine.stop()
        try:
            opens.ask("open 3")
            other = self.exec("true")
            for process in (other, build, pull):
                self.fails(process, self.title(), "stuck")
            self.assertEqual(opens.answer().failed, 3)
            self.assertIn(self.title(), opens.words)
            self.assertEqual(runs.answer().failed, 2)
            self.assertIn("time limit", runs.words)
            self.assertLess(opens.say("close").longest_ms, 1000)
            self.assertLess(runs.say("close").longest_ms, 1000)
        finally:
            self.engine.go_on()
        self.assertEqual(opens.say("open 2").fine, 2, opens.words)
        self.assertEqual(runs.say("open 2").fine, 2, runs.words)
        opens.say("close")
        runs.say("close")
        self.engine.wait_until("no container of ours is left", lambda: not [
            c for c in self.engine.containers() if "llm-sandbox" in c["Labels"]])


class ProgramKilled(Case):
    """Ours ends without a word."""

    def leaves_nothing(self, process):
        process.kill()
        process.communicate()
        self.engine.wait_until_empty(20)
        self.works()
        self.engine.wait_until_empty(20)
        self.assertEqual(self.engine.images(), [self.engine.image])

    def test_while_a_program_runs(self):
        process = self.exec("sleep", "600")
        self.wait_until_running(1)
        self.leaves_nothing(process)

    def test_while_it_starts(self):
        for moment in range(12):
            process = self.exec("sleep", "600")
            threading.Event().wait(moment * 0.03)
            process.kill()
            process.communicate()
        self.works()
        self.engine.wait_until_empty(20)

    def test_while_it_builds(self):
        process = self.program("exec", "--backend", FLAVOR, "--dockerfile", self.build_folder("RUN sleep 600"), "true")
        self.engine.wait_until("it builds", lambda: Killed.count_processes(self, "sleep 600") == 1)
        self.leaves_nothing(process)

    def test_while_it_commits(self):
        for moment in range(6):
            process = self.exec("--commit", "kept:%d" % moment, "sh", "-c", "head -c 50000000 /dev/urandom > /sandbox/big")
            threading.Event().wait(0.3 + moment * 0.15)
            process.kill()
            process.communicate()
            # Such a container does not remove itself: whoever comes next does, when the engine is through with it.
            left = {c["Id"] for c in self.engine.containers()}

            def is_gone():
                self.works()
                return not left.intersection(c["Id"] for c in self.engine.containers())

            self.engine.wait_until("it is gone", is_gone)


class Many(Case):
    def test_twenty_at_once_in_a_process(self):
        sessions = self.sessions()
        for _ in range(2):
            self.assertEqual(sessions.say("open 20").fine, 20, sessions.words)
            self.assertEqual(sessions.say("run echo hello").fine, 20, sessions.words)
            self.assertLess(sessions.say("close").longest_ms, 1000)
        self.assertEqual(sessions.end(), 0)
        self.engine.wait_until_empty()

    def test_twenty_that_are_not_closed_when_the_process_ends(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 20").fine, 20, sessions.words)
        self.assertEqual(sessions.end(), 0)
        self.engine.wait_until_empty()

    def test_twenty_processes_at_once(self):
        processes = [self.exec("sh", "-c", "echo hello") for _ in range(20)]
        for process in processes:
            self.assertEqual(process.communicate(timeout=WAIT), ("hello\n", ""))
        self.engine.wait_until_empty()

    def test_fifty_in_a_row(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("row 50").fine, 50, sessions.words)
        self.assertEqual(sessions.end(), 0)
        self.engine.wait_until_empty()

    def test_a_hundred_that_are_closed_at_once(self):
        """After which Docker 20.10 has stopped for good where it was asked to remove what removes itself."""
        sessions = self.sessions()
        for _ in range(10):
            self.assertEqual(sessions.say("open 10").fine, 10, sessions.words)
        self.assertLess(sessions.say("close").longest_ms, 2000)
        self.engine.wait_until_empty()
        self.assertEqual(sessions.say("open 5").fine, 5, sessions.words)


class Full(Case):
    size = "100m"

    def setUp(self):
        if FLAVOR == "podman":
            self.size = "200m"
        super().setUp()

    def fill(self):
        self.engine.inside("sh", "-c", "cat /dev/zero > %s/filler 2>/dev/null; true" % self.engine.data)

    def test_a_disk_that_is_full_is_told_and_nothing_is_left(self):
        self.fill()
        self.fails(self.exec("true"), self.title(), "no space left")
        self.engine.inside("rm", self.engine.data + "/filler")
        self.works()
        self.engine.wait_until_empty()

    def test_a_disk_that_is_full_when_the_agent_is_there(self):
        self.works()
        self.engine.wait_until_empty()
        self.fill()
        self.fails(self.exec("true"), self.title(), "no space left")
        self.engine.inside("rm", self.engine.data + "/filler")
        self.works()
        self.engine.wait_until_empty()

    def test_a_storage_that_is_read_only(self):
        self.works()
        self.engine.wait_until_empty()
        layers = self.engine.data + ("/overlay2" if FLAVOR == "docker" else "/overlay")
        self.engine.inside("mount", "--bind", layers, layers)
        self.engine.inside("mount", "-o", "remount,bind,ro", layers)
        self.fails(self.exec("true"), self.title(), "read-only file system")
        self.engine.inside("umount", layers)
        self.works()
        self.engine.wait_until_empty()

    def test_a_sandbox_that_fills_its_own_goes_on(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 1").fine, 1, sessions.words)
        self.assertEqual(sessions.say("run cat /dev/zero > /tmp/filler; [ $? = 1 ] && rm /tmp/filler").fine, 1, sessions.words)
        self.assertEqual(sessions.say("run cat /dev/zero > filler; [ $? = 1 ]").fine, 1, sessions.words)
        sessions.say("put 100000000")
        self.assertEqual(sessions.failed, 1)
        self.assertEqual(sessions.say("run rm filler").fine, 1, sessions.words)
        self.assertEqual(sessions.say("put 100000").fine, 1, sessions.words)


class Volumes(Case):
    """The engine's volume that has the agent."""

    def setUp(self):
        super().setUp()
        self.works()
        self.engine.wait_until_empty()
        self.volume = min(self.engine.volumes())

    def place(self):
        return self.engine.http("GET", "/v1.41/volumes/" + self.volume)[1]["Mountpoint"]

    def test_one_that_somebody_has_emptied_is_filled_in_the_same_start(self):
        sessions = self.sessions()
        self.assertEqual(sessions.say("open 1").fine, 1, sessions.words)
        for what in ("rm -rf %s/*", "rm %s/agent", "cd %s; rm agent; : > agent; chmod 755 agent"):
            self.engine.inside("sh", "-c", what % self.place())
            self.assertEqual(sessions.say("open 3").fine, 3, sessions.words)
        self.engine.inside("sh", "-c", "rm -rf %s/*" % self.place())
        self.works()
        sessions.say("close")
        self.engine.wait_until_empty()

    def test_one_that_was_removed_with_its_mark_or_without(self):
        sessions = self.sessions()
        for names in ([self.volume], [self.volume + "-whole"], [self.volume, self.volume + "-whole"]):
            self.assertEqual(sessions.say("open 1").fine, 1, sessions.words)
            sessions.say("close")
            self.engine.wait_until_empty()
            for name in names:
                self.assertIn(self.engine.http("DELETE", "/v1.41/volumes/" + name)[0], (204, 404))
        self.assertEqual(sessions.say("open 3").fine, 3, sessions.words)
        self.works()

    def test_many_fill_it_at_once(self):
        for name in (self.volume, self.volume + "-whole"):
            self.engine.http("DELETE", "/v1.41/volumes/" + name)
        processes = [self.exec("true") for _ in range(10)]
        for process in processes:
            self.assertEqual(process.communicate(timeout=WAIT), ("", ""))

    def test_a_filler_whose_owner_is_gone_holds_nobody_up(self):
        for name in (self.volume, self.volume + "-whole"):
            self.engine.http("DELETE", "/v1.41/volumes/" + name)
        for moment in range(10):
            process = self.exec("true")
            threading.Event().wait(0.02 + moment * 0.01)
            process.kill()
            process.communicate()
        self.works()
        self.engine.wait_until_empty()

    def test_somebody_elses_container_of_that_name_is_told(self):
        for name in (self.volume, self.volume + "-whole"):
            self.engine.http("DELETE", "/v1.41/volumes/" + name)
        status, made = self.engine.http("POST", "/v1.41/containers/create?name=%s-filler" % self.volume,
                                        {"Image": self.engine.image, "Cmd": ["true"]})
        self.assertEqual(status, 201, made)
        self.fails(self.exec("true"), "rm -f %s-filler" % self.volume)
        self.assertEqual(self.engine.http("GET", "/v1.41/containers/%s/json" % made["Id"])[0], 200)


class SomebodyElses(Case):
    def make(self, image, **more):
        status, made = self.engine.http("POST", "/v1.41/containers/create", {"Image": image, "Cmd": ["sleep", "600"], **more})
        self.assertEqual(status, 201, made)
        self.assertLess(self.engine.http("POST", "/v1.41/containers/%s/start" % made["Id"])[0], 300)
        return made["Id"]

    def ls(self, container):
        """What is in its root, as the engine's archive tells."""
        _, data = self.engine.http("GET", "/v1.41/containers/%s/archive?path=/" % container)
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            names = tar.getnames()
        self.assertTrue([name for name in names if name.endswith("bin/busybox")], names)
        return [name for name in names if ".llm-sandbox" in name]

    def test_an_agent_that_was_brought_and_not_started_does_not_stay(self):
        container = self.make(self.engine.image)
        process = self.program("exec", "--backend", FLAVOR, "--container", container, "--runtime-config",
                               '{"user": "nobody-here"}', "true")
        self.fails(process, "nobody-here")
        self.engine.wait_until("it is gone", lambda: not self.ls(container))


if __name__ == "__main__":
    FLAVOR, SESSIONS, PROGRAM = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    reason = private.why_not(FLAVOR)
    if reason:
        print("1..0 # SKIP", reason)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
