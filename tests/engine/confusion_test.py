#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Answers whose values are of kinds that nobody expects: an error, or nothing, and never a crash.

Usage: confusion_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments]
"""

import copy
import json
import os
import re
import subprocess
import tempfile
import unittest

import peer
from client_test import RAW
from peer import Engine, answer, frame

ID = "cd" * 32
STRANGE = (None, -1, 2**63 - 1, "", "\x1b[31m\u009b%s%n" * 2000, [[]], {"a": {"": []}})

IMAGE = {"Id": "sha256:00", "Os": "linux", "Architecture": "amd64",
         "Config": {"Env": ["PATH=/bin"], "Labels": {"llm-sandbox": "x"}, "User": "u", "WorkingDir": "/w",
                    "Entrypoint": ["e"], "Cmd": ["c"], "Volumes": {"/v": {}}}}
MADE = {"Id": ID, "Warnings": ["memory limit discarded"]}
OTHER = {"Id": ID, "State": {"Running": True, "Paused": False}, "Config": {"Env": ["PATH=/bin"]},
         "Path": "/.llm-sandbox/agent"}
EXEC = {"Id": ID}
LIST = [{"Id": ID, "State": "exited", "Labels": {"llm-sandbox": "session", "llm-sandbox.started": "2020-01-01T00:00:00Z",
                                                 "llm-sandbox.owner": "1/0123456789abcdef/0-0/1.1/1/1"}}]
IMAGES = [{"RepoTags": ["llm-sandbox/x:latest"], "Size": 5, "Created": 5,
           "Labels": {"llm-sandbox.image": "1", "llm-sandbox.image.tools": "python-3.11"}}]
PULLED = {"status": "Downloading", "id": "a", "progressDetail": {"current": 1, "total": 2}, "error": "no",
          "errorDetail": {"message": "no"}}
INFO = {"IndexServerAddress": "https://index.example/v1/"}


def places(value, way=()):
    """The ways to every value in it, itself included."""
    yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from places(below, way + (key,))


def bent(value):
    for way in places(value):
        for strange in STRANGE:
            made = copy.deepcopy(value)
            if not way:
                yield strange
                continue
            at = made
            for key in way[:-1]:
                at = at[key]
            at[way[-1]] = strange
            yield made


class Answers(dict):
    def get(self, path, default=None):
        return super().get(re.sub("^/volumes/.*", "/volumes", path), default)


class Confusion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="sbx-home-"))

    def engine(self, answers):
        engine = Engine()
        engine.answers = Answers(engine.answers)
        bodies = {"/images/x/json": IMAGE, "/containers/create": MADE, "/containers/mine/json": OTHER,
                  "/containers/%s/json" % ID: OTHER, "/containers/%s/exec" % ID: EXEC, "/containers/json": LIST,
                  "/images/json": IMAGES, "/volumes": {"Name": "x"}, "/info": INFO, "/images/create": PULLED, **answers}
        for path, body in bodies.items():
            engine.answers[path] = answer(body=json.dumps(body).encode())
        end = lambda c, _: c.sendall(RAW + frame(2, b"no agent\n"))
        engine.answers.update({"/containers/%s/attach" % ID: end, "/exec/%s/start" % ID: end})
        for path in ("start", "archive", "wait"):
            engine.answers["/containers/%s/%s" % (ID, path)] = answer("204 No Content")
        engine.answers["/containers/" + ID] = answer("204 No Content")
        engine.answers["/commit"] = answer("201 Created", b"{}")
        return engine

    def survives(self, path, body, *args):
        for made in bent(body):
            with self.engine({path: made}) as engine:
                done = subprocess.run(args, capture_output=True, timeout=peer.DEADLINE, stdin=subprocess.DEVNULL,
                                      env=peer.environment(DOCKER_HOST=engine.host, HOME=self.home))
            said = (done.stdout + done.stderr).decode(errors="replace")
            self.assertGreaterEqual(done.returncode, 0, (made, said))
            self.assertNotRegex(said, "Sanitizer|runtime error", made)

    def exec(self, path, body, *options):
        self.survives(path, body, peer.PROGRAM, "exec", "--backend", "docker", *options, "true")

    def test_images(self):
        self.exec("/images/x/json", IMAGE, "--image", "x", "--commit")

    def test_containers_that_were_made(self):
        self.exec("/containers/create", MADE, "--image", "x")

    def test_somebody_elses_containers(self):
        self.exec("/containers/mine/json", OTHER, "--container", "mine")
        self.exec("/containers/%s/exec" % ID, EXEC, "--container", "mine")

    def test_pulls(self):
        os.makedirs(self.home + "/.docker", exist_ok=True)
        with open(self.home + "/.docker/config.json", "w") as f:
            f.write("{}")
        self.exec("/info", INFO, "--image", "y")
        self.exec("/images/create", PULLED, "--image", "y")

    def test_lists_of_images(self):
        self.survives("/images/json", IMAGES, peer.PROGRAM, "image", "list", "--backend", "docker")

    def test_what_was_left_behind(self):
        self.survives("/containers/json", LIST, peer.PEER, "sweep", "docker")
        self.survives("/containers/%s/json" % ID, OTHER, peer.PEER, "sweep", "docker")


if __name__ == "__main__":
    peer.main("__main__", programs=2)
