#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whoever waits until an image is pulled can want it no more: the pull ends then, wherever it was begun.

Usage: cancel_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]
"""

import json
import os
import signal
import subprocess
import threading
import unittest

import peer
from peer import Engine

PATIENCE = 10
PULL = "/images/create"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Case(unittest.TestCase):
    """An engine whose pulls never end by themselves."""

    def setUp(self):
        self.begun, self.ended = threading.Event(), threading.Event()
        self.engine = Engine({PULL: self.pull})
        self.addCleanup(self.engine.close)

    def pull(self, conn, _):
        self.begun.set()
        # Nothing more is asked by this connection: what comes is its end.
        if not conn.recv(1):
            self.ended.set()

    def start(self, *args, **how):
        runtime = self.engine.folder + "/run"
        os.makedirs(runtime, mode=0o700, exist_ok=True)
        env = peer.environment(DOCKER_HOST=self.engine.host, HOME=self.engine.folder, XDG_RUNTIME_DIR=runtime)
        process = subprocess.Popen([peer.PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**env, **how.pop("env", {})}, **{"stdin": subprocess.DEVNULL, **how})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def until_ended(self, what):
        self.assertTrue(self.ended.wait(PATIENCE), "%s: the pull goes on" % what)


class CommandLine(Case):
    def test_a_signal_ends_it_in_every_command(self):
        for command in ("run", "exec", "repl", "languages"):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(command=command, signal=number.name):
                    self.begun.clear(), self.ended.clear()
                    tail = {"run": ["-l", "python", "-c", "1"], "exec": ["true"]}.get(command, [])
                    process = self.start(command, "--backend", "docker", "--image", "y", *tail)
                    self.assertTrue(self.begun.wait(peer.DEADLINE), self.engine.paths())
                    process.send_signal(number)
                    self.until_ended(command)
                    _, err = process.communicate(timeout=PATIENCE)
                    self.assertNotIn("Traceback", err)
                    self.assertNotEqual(process.returncode, 0)


class Holder(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: self.start("session", "stop", "--all").communicate(timeout=PATIENCE))

    def begin(self, name):
        return self.start("session", "start", name, "--backend", "docker", "--image", "y")

    def test_a_signal_to_whoever_asked_for_a_session(self):
        process = self.begin("one")
        self.assertTrue(self.begun.wait(peer.DEADLINE), self.engine.paths())
        process.send_signal(signal.SIGINT)
        self.until_ended("session start")
        process.communicate(timeout=PATIENCE)

    def test_others_are_started_and_ended_meanwhile(self):
        one = self.begin("one")
        self.assertTrue(self.begun.wait(peer.DEADLINE), self.engine.paths())
        taken = self.begin("one")
        self.assertIn("there is a session 'one' already", taken.communicate(timeout=PATIENCE)[1])
        self.begun.clear()
        other = self.begin("two")
        self.assertTrue(self.begun.wait(peer.DEADLINE), "the second waits for the first")
        other.send_signal(signal.SIGTERM)
        self.until_ended("session start two")
        self.ended.clear()
        one.send_signal(signal.SIGINT)
        self.until_ended("session start one")


class Mcp(Case):
    """The calls that need a sandbox before there is one."""

    CALLS = (
        ("execute_code", {"code": "1"}),
        ("execute_code", {"code": "1", "libraries": ["numpy"]}),
        ("execute_command", {"command": "true"}),
        ("create_session", {}),
        ("get_supported_languages", {}),
        ("get_language_details", {"language": "python"}),
    )

    def setUp(self):
        super().setUp()
        self.server = self.start("mcp", stdin=subprocess.PIPE, env={"BACKEND": "docker", "SANDBOX_IMAGE": "y"})

    def end(self, process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def say(self, **message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def test_a_call_that_is_cancelled(self):
        for number, (name, arguments) in enumerate(self.CALLS):
            with self.subTest(name=name, arguments=arguments):
                self.begun.clear(), self.ended.clear()
                self.say(id=number, method="tools/call",
                         params={"_meta": META, "name": name, "arguments": arguments})
                self.assertTrue(self.begun.wait(peer.DEADLINE), self.engine.paths())
                self.say(method="notifications/cancelled", params={"_meta": META, "requestId": number})
                self.until_ended(name)

    def test_a_resource_that_is_cancelled(self):
        self.say(id=1, method="resources/read", params={"_meta": META, "uri": "sandbox://languages"})
        self.assertTrue(self.begun.wait(peer.DEADLINE), self.engine.paths())
        self.say(method="notifications/cancelled", params={"_meta": META, "requestId": 1})
        self.until_ended("all languages")
        self.begun.clear()
        # And it does not go on with the next language.
        self.say(id=2, method="ping", params={"_meta": META})
        self.assertFalse(self.begun.wait(1))

    def test_a_client_that_goes(self):
        self.say(id=1, method="tools/call", params={"_meta": META, "name": "create_session", "arguments": {}})
        self.assertTrue(self.begun.wait(peer.DEADLINE), self.engine.paths())
        self.server.stdin.close()
        self.server.stdout.close()
        self.until_ended("a client that went")
        self.server.wait(timeout=PATIENCE)


if __name__ == "__main__":
    peer.main("__main__", programs=2)
