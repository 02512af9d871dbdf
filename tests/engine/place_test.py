#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sandboxes of an engine that fails half way: a clear reason, and nothing left behind.

Usage: place_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]
"""

import json
import re
import signal
import subprocess
import threading
import unittest
import urllib.parse

import peer
from client_test import RAW
from peer import Engine, answer, frame

ID = "ab" * 32
CONTAINER = "/containers/" + ID

# Of the newer era, which needs no greeting.
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "execute_code", "arguments": {"code": "1"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})


class Places(unittest.TestCase):
    """Each case bends an engine that does everything right up to the attached stream."""

    def engine(self, answers, **how):
        self.gone = threading.Event()

        def removed(_, request):
            self.gone.set()
            return answer("204 No Content")

        answers = {
            "/containers/create": answer("201 Created", b'{"Id":"%s","Warnings":[]}' % ID.encode()),
            "/images/x/json": answer(body=b'{"Id":"sha256:00","Os":"linux","Architecture":"amd64","Config":{}}'),
            CONTAINER + "/attach": RAW,
            CONTAINER + "/start": answer("204 No Content"),
            CONTAINER: removed,
            "/containers/json": answer(body=b"[]"),
            "/images/x/json": answer(body=b'{"Id":"x","Config":{}}'),
            **answers,
        }
        engine = Engine(answers, **how)
        engine.answers = Volumes(engine.answers)
        self.addCleanup(engine.close)
        return engine

    def start(self, engine, *options):
        return subprocess.Popen([peer.PROGRAM, "exec", "--backend", "docker", *(options or ("--image", "x")), "true"], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=peer.environment(DOCKER_HOST=engine.host, HOME=engine.folder))

    def fails(self, engine, *words):
        process = self.start(engine)
        _, err = process.communicate(timeout=peer.DEADLINE)
        self.assertGreater(process.returncode, 0, err)
        for word in words:
            self.assertIn(word, err)
        return err

    def removes(self, engine):
        self.assertTrue(self.gone.wait(peer.DEADLINE), engine.paths())

    def test_a_container_says_whose_it_is(self):
        engine = self.engine({CONTAINER + "/start": answer("500 Oops", b'{"message":"no"}')})
        self.fails(engine, "no")
        body = next(json.loads(r.body) for r in engine.requests if "/containers/create" in r.path)
        labels = body["Labels"]
        self.assertEqual(labels["llm-sandbox"], "session")
        self.assertRegex(labels["llm-sandbox.owner"], r"^1/[0-9a-f]{16}/[0-9a-f-]{36}/\d+\.\d+/\d+/\d+$")
        self.assertRegex(labels["llm-sandbox.started"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(labels["llm-sandbox.session"], r"^[0-9a-f]{32}$")

    def test_a_start_that_fails_is_the_reason(self):
        engine = self.engine({CONTAINER + "/start": answer("500 Oops", b'{"message":"no space left"}')})
        self.fails(engine, "500", "no space left")
        self.removes(engine)

    def test_no_bytes_are_keys_to_detach_by(self):
        engine = self.engine({CONTAINER + "/attach": answer("409 Conflict", b'{"message":"no"}')})
        self.fails(engine, "no")
        path = next(r.path for r in engine.requests if "/attach?" in r.path)
        self.assertEqual(urllib.parse.parse_qs(path.split("?")[1], keep_blank_values=True)["detachKeys"], [""])

    def test_a_stream_that_is_refused_is_the_reason(self):
        engine = self.engine({CONTAINER + "/attach": answer("409 Conflict", b'{"message":"paused"}')})
        self.fails(engine, "409", "paused")
        self.removes(engine)

    def test_an_agent_that_cannot_run_is_the_reason(self):
        engine = self.engine({CONTAINER + "/attach": lambda c, _: c.sendall(
            RAW + frame(2, b"exec /.llm-sandbox/agent: exec format error\n"))})
        self.fails(engine, "exec format error")
        self.removes(engine)

    def test_a_stream_of_nonsense_ends_it(self):
        engine = self.engine({CONTAINER + "/attach": lambda c, _: c.sendall(RAW + b"hello world, hello")})
        self.fails(engine, "not framed")
        self.removes(engine)

    def test_an_agent_of_nonsense_ends_it(self):
        engine = self.engine({CONTAINER + "/attach": lambda c, _: c.sendall(
            RAW + frame(1, b"\xff" * 1000))})
        self.fails(engine)

    def test_an_engine_that_vanishes_in_the_start(self):
        engine = self.engine({CONTAINER + "/start": lambda *_: None})
        self.fails(engine, "broke", "/start")
        self.removes(engine)

    def test_an_engine_that_vanishes_in_the_creation(self):
        engine = self.engine({"/containers/create": lambda *_: None})
        self.fails(engine, "broke", "/containers/create")

    def test_an_answer_without_a_container(self):
        for body in (b"{}", b'{"Id":"../x"}', b'{"Id":5}', b'{"Id":"%s"}' % (b"a" * 200), b'{"Id":""}', b"5"):
            for missing in ({}, {"/volumes": answer("404 Not Found", b'{"message":"no such volume"}')}):
                engine = self.engine({"/containers/create": answer("201 Created", body), **missing})
                self.fails(engine, "did not say which")
                self.assertFalse([p for p in engine.paths() if "archive" in p or "start" in p])

    def test_nothing_is_brought_into_a_container_that_cannot_be_used(self):
        said = {"Id": ID, "State": {"Running": True}, "Config": {}}
        engine = self.engine({"/containers/mine/json": answer(body=json.dumps(said).encode())})
        process = self.start(engine, "--container", "mine", "--runtime-config", '{"user": "nobody-here"}')
        _, err = process.communicate(timeout=peer.DEADLINE)
        self.assertIn("no user 'nobody-here'", err)
        self.assertFalse([p for p in engine.paths() if p.startswith("PUT ")])

    def test_a_container_that_is_no_id(self):
        for name in ("x/../../info", "x HTTP/1.1\r\nX: y", ""):
            said = {"Id": name, "State": {"Running": True}, "Config": {}}
            engine = self.engine({"/containers/mine/json": answer(body=json.dumps(said).encode())})
            process = self.start(engine, "--container", "mine")
            _, err = process.communicate(timeout=peer.DEADLINE)
            self.assertIn("does not say which container 'mine' is", err)
            self.assertEqual([p.split("/", 2)[2] for p in engine.paths()[1:]], ["containers/mine/json"])

    def test_an_end_does_not_wait_for_an_engine_that_hangs(self):
        started, hang = threading.Event(), threading.Event()
        self.addCleanup(hang.set)

        def say(*_):
            started.set()
            hang.wait(peer.DEADLINE)

        engine = self.engine({CONTAINER + "/start": say})
        process = self.start(engine)
        self.assertTrue(started.wait(peer.DEADLINE))
        process.send_signal(signal.SIGTERM)
        self.addCleanup(process.kill)
        process.communicate(timeout=8)
        self.assertNotEqual(process.returncode, 0)
        self.removes(engine)

    def test_an_image_that_is_removed_before_there_is_a_container_is_looked_for_again(self):
        looks = []

        def look(*_):
            looks.append(1)
            return answer(body=b'{"Id":"x","Config":{}}') if len(looks) == 1 else answer("404 Not Found", b'{"message":"no such image"}')

        engine = self.engine({"/images/x/json": look, "/images/create": answer("404 Not Found", b'{"message":"manifest unknown"}'),
                              "/containers/create": answer("404 Not Found", b'{"message":"No such image: x"}')})
        self.fails(engine, "cannot pull the image 'x'", "there is no such image")

    def old_volumes(self, listed):
        mine = {}

        def make(_, request):
            mine.setdefault("name", json.loads(request.body)["Name"])
            return answer("201 Created", b'{"Name":"x"}')

        engine = self.engine({"/volumes": answer("404 Not Found", b'{"message":"no such volume"}'), "/volumes/create": make,
                              CONTAINER + "/archive": answer("200 OK"),
                              "/volumes list": lambda *_: answer(body=json.dumps({"Volumes": listed(mine["name"])}).encode()),
                              CONTAINER + "/start": answer("500 Oops", b'{"message":"enough"}')})
        self.fails(engine, "enough")
        return [p.split("/volumes/")[1] for p in engine.paths() if p.startswith("DELETE") and "/volumes/" in p], mine["name"]

    def test_volumes_of_other_versions_that_nobody_uses_go(self):
        def name(digit):
            return "llm-sandbox-agent-%s-%s" % (digit * 16, "0" * 16)

        def volume(name, created="2020-01-01T00:00:00Z", **labels):
            return {"Name": name, "CreatedAt": created, "Labels": labels or None}

        def listed(mine):
            return [
                volume(name("a")), volume(name("a") + "-whole", **{"llm-sandbox.filled": "2020-01-01T00:00:00Z"}),
                # one that was never whole, and the times of another engine
                volume(name("b"), "2020-01-01T00:00:00.123456789+01:00"),
                # in use until lately, made lately, of a time that nobody understands
                volume(name("c")), volume(name("c") + "-whole", **{"llm-sandbox.filled": "2999-01-01T00:00:00Z"}),
                volume(name("d"), "2999-01-01T00:00:00Z"), volume(name("e"), "long ago"), volume(name("f"), ""),
                # of somebody else
                volume("llm-sandbox-agent-mine"), volume(name("a") + "-more"), volume("x" + name("a")), volume("llm-sandbox-agent-../x"),
                # the one that was filled
                volume(mine), 5, {"Name": 5}]

        removed, _ = self.old_volumes(listed)
        # The engine of this test says 404 of each, which is as good as gone.
        self.assertEqual(removed, [name("a"), name("a") + "-whole", name("b"), name("b") + "-whole"])

    def test_a_list_of_volumes_may_be_nonsense(self):
        for body in (None, 5, {"a": []}, [[], {}, {"Name": None, "Labels": 5}]):
            removed, _ = self.old_volumes(lambda _, body=body: body)
            self.assertEqual(removed, [])

    def test_somebody_elses_container_whose_exec_fails_is_left_as_it_was(self):
        done, execs = threading.Event(), []

        def execute(_, request):
            execs.append(json.loads(request.body)["Cmd"])
            if len(execs) == 1:
                return answer("500 Oops", b'{"message":"no exec today"}')
            return answer("201 Created", b'{"Id":"cd"}')

        def start(*_):
            done.set()
            return answer("204 No Content")

        inspect = answer(body=b'{"Id":"%s","State":{"Running":true},"Config":{"Env":[]}}' % ID.encode())
        engine = self.engine({"/containers/box/json": inspect, CONTAINER + "/archive": answer("200 OK"),
                              CONTAINER + "/exec": execute, "/exec/cd/start": start})
        process = self.start(engine, "--container", "box")
        _, err = process.communicate(timeout=peer.DEADLINE)
        self.assertIn("no exec today", err)
        self.assertTrue(done.wait(peer.DEADLINE))
        brought, emptied = [r for r in engine.requests if r.method == "PUT"]
        self.assertGreater(len(brought.body), 10000)
        self.assertLess(len(emptied.body), 10000)
        self.assertEqual(execs[1], ["rm", "-rf", "--", execs[0][0].rsplit("/", 1)[0]])
        self.assertRegex(execs[1][3], r"^/\.llm-sandbox-[0-9a-f]{16}$")
        self.assertFalse(self.gone.is_set())

    def test_a_container_whose_files_are_read_is_one_that_a_sweep_knows(self):
        engine = self.engine({CONTAINER + "/export": answer("500 Oops", b'{"message":"disk broken"}')})
        done = subprocess.run([peer.PROGRAM, "image", "import", "x", "docker:x"], capture_output=True, text=True,
                              timeout=peer.DEADLINE, env=peer.environment(DOCKER_HOST=engine.host, HOME=engine.folder))
        self.assertIn("disk broken", done.stderr)
        self.removes(engine)
        body = next(json.loads(r.body) for r in engine.requests if r.path.endswith("/containers/create"))
        self.assertEqual(body["Labels"]["llm-sandbox"], "carrier")
        self.assertTrue(body["Entrypoint"][0].startswith("/.llm-sandbox/"), body)

    def test_whoever_waits_for_an_engine_can_be_interrupted(self):
        for path, options, number in (("/images/create", ("--image", "y"), signal.SIGINT),
                                      ("/images/create", ("--image", "y"), signal.SIGTERM),
                                      (CONTAINER + "/attach", ("--image", "x"), signal.SIGINT),
                                      (CONTAINER + "/attach", ("--image", "x"), signal.SIGTERM),
                                      (CONTAINER + "/archive", ("--container", "mine"), signal.SIGINT)):
            asked, hang = threading.Event(), threading.Event()
            self.addCleanup(hang.set)

            def say(*_, asked=asked, hang=hang):
                asked.set()
                hang.wait(peer.DEADLINE)

            said = {"Id": ID, "State": {"Running": True}, "Config": {}}
            engine = self.engine({path: say, "/containers/mine/json": answer(body=json.dumps(said).encode())})
            process = self.start(engine, *options)
            self.assertTrue(asked.wait(peer.DEADLINE))
            self.addCleanup(process.kill)
            process.send_signal(number)
            _, err = process.communicate(timeout=8)
            self.assertNotEqual(process.returncode, 0, err)
            self.assertNotIn("in time", err)

    def test_a_user_that_an_image_lacks_is_looked_for_in_one_container(self):
        engine = self.engine({})
        process = self.start(engine, "--image", "x", "--runtime-config", '{"user": "nobody-here"}')
        _, err = process.communicate(timeout=peer.DEADLINE)
        self.assertIn("no user 'nobody-here'", err)
        self.removes(engine)
        self.assertEqual(len([p for p in engine.paths() if "/containers/create" in p]), 1)

    def test_an_engine_that_does_not_answer_what_it_limits_is_asked_again(self):
        said = [answer("500 Oops", b'{"message":"not now"}'), answer(body=b'{"CgroupDriver":"systemd"}')]
        engine = self.engine({"/info": lambda *_: said.pop(0), CONTAINER + "/attach": answer("409 Conflict", b'{"message":"enough"}')},
                             tcp=True)
        server = subprocess.Popen([peer.PROGRAM, "mcp"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=peer.environment(
                                      DOCKER_HOST=engine.host, HOME=engine.folder, BACKEND="docker", SANDBOX_IMAGE="x"))
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, peer.DEADLINE)
        self.addCleanup(server.stdin.close)
        for _ in range(3):
            server.stdin.write(CALL + "\n")
            server.stdin.flush()
            self.assertIn("enough", server.stdout.readline())
        # What has been answered once is known.
        self.assertEqual(said, [])
        self.assertEqual(len([p for p in engine.paths() if p.endswith("/info")]), 2)

    def test_an_agent_that_cannot_be_put_leaves_no_carrier(self):
        engine = self.engine({"/volumes": answer("404 Not Found", b'{"message":"no such volume"}'),
                                      CONTAINER + "/archive": answer("500 Oops", b'{"message":"disk full"}')})
        self.fails(engine, "disk full")
        self.removes(engine)
        body = next(json.loads(r.body) for r in engine.requests if "/containers/create" in r.path)
        self.assertEqual(body["Labels"]["llm-sandbox"], "carrier")
        self.assertIn("llm-sandbox.owner", body["Labels"])
        # An image that has files at the agent's place would give them to the sandboxes of all others.
        self.assertTrue(body["HostConfig"]["Binds"][0].endswith(":/.llm-sandbox:nocopy"), body["HostConfig"]["Binds"])


class Volumes(dict):
    """Every volume there is, unless "/volumes" says otherwise."""

    def get(self, path, default=None):
        if path == "/volumes":
            return super().get("/volumes list", answer(body=b'{"Volumes":null}'))
        if path == "/volumes/create":
            return super().get(path, answer("201 Created", b'{"Name":"x"}'))
        if re.match("/volumes/", path):
            return super().get("/volumes", answer(body=b'{"Name":"x"}'))
        return super().get(path, default)


if __name__ == "__main__":
    peer.main("__main__", programs=2)
