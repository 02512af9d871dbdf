#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whose containers are left behind. Usage: owner_test.py ENGINE_PEER [unittest's arguments]"""

import json
import subprocess
import threading
import unittest

import peer

OLD = "2020-01-01T00:00:00Z"


class Owners(unittest.TestCase):
    def setUp(self):
        self.process = subprocess.Popen([peer.PEER, "owner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.owner = self.process.stdout.readline().strip()
        self.addCleanup(self.end)

    def end(self):
        self.process.communicate(timeout=peer.DEADLINE)

    def judge(self, owner):
        return peer.ask("judge", owner).lines[0]

    def change(self, field, value):
        parts = self.owner.split("/")
        parts[field] = value
        return "/".join(parts)

    def left(self, state, where, started=OLD, owner=None):
        labels = {"llm-sandbox": "session", "llm-sandbox.owner": owner or self.owner, "llm-sandbox.started": started}
        return peer.ask("left", json.dumps(labels), state, where).lines[0]

    def test_a_process_that_runs_is_there(self):
        self.assertEqual(self.judge(self.owner), "runs")
        self.assertEqual(self.left("running", "local"), "kept")

    def test_a_process_that_ended_is_gone(self):
        self.end()
        self.assertEqual(self.judge(self.owner), "gone")
        self.assertEqual(self.left("running", "local"), "left")

    def test_a_number_that_is_used_again_is_another_process(self):
        self.assertEqual(self.judge(self.change(5, "1")), "gone")

    def test_init_which_started_at_another_time_is_not_the_owner(self):
        self.assertEqual(self.judge(self.change(4, "1")), "gone")

    def test_another_machine_is_not_judged(self):
        self.end()
        self.assertEqual(self.judge(self.change(1, "0123456789abcdef")), "unknown")

    def test_other_namespaces_are_not_judged(self):
        self.end()
        self.assertEqual(self.judge(self.change(3, "1.1")), "unknown")

    def test_what_is_not_of_ours_is_not_judged(self):
        for text in ("", "4711", "1/2/3", self.owner + "/x", self.owner + " ", "x" * 4000, "1" + self.owner,
                     self.change(4, "0"), self.change(4, "-1"), self.change(4, "99999999999999999999")):
            self.assertEqual(self.judge(text), "unknown", text)
            self.assertEqual(self.left("exited", "local", owner=text or "-"), "kept")

    def test_an_earlier_boot_is_over_but_others_may_bear_its_name(self):
        earlier = self.change(2, "00000000-0000-4000-8000-000000000000")
        self.assertEqual(self.judge(earlier), "earlier")
        self.assertEqual(self.left("exited", "local", owner=earlier), "left")
        self.assertEqual(self.left("running", "local", owner=earlier), "kept")

    def test_on_an_engine_of_many_machines_only_what_rests_and_is_old_goes(self):
        self.end()
        self.assertEqual(self.left("running", "far"), "kept")
        self.assertEqual(self.left("created", "far"), "left")
        self.assertEqual(self.left("created", "far", started="2999-01-01T00:00:00Z"), "kept")
        self.assertEqual(self.left("created", "far", started="yesterday"), "kept")

    def test_a_sweep_removes_what_is_left_and_nothing_else(self):
        gone = self.owner
        self.end()
        running = subprocess.Popen([peer.PEER, "owner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(running.communicate)
        lives = running.stdout.readline().strip()

        def entry(name, owner, **labels):
            return {"Id": name, "State": "running", "Labels": {
                "llm-sandbox": "session", "llm-sandbox.owner": owner, "llm-sandbox.started": OLD, **labels}}

        listed = [entry("aa", gone), entry("bb", lives), entry("../../volumes/x", gone), entry("dd", "1/x"),
                  {"Id": "ee"}, 5, entry("ff", gone, **{"llm-sandbox": "carrier"}),
                  # of images that somebody made of containers of ours
                  entry("ab", gone), entry("ac", gone), entry("ad", gone, **{"llm-sandbox": "commit"}), entry("ae", gone), entry("af", gone)]
        agents = {"/containers/%s/json" % name: peer.answer(body=b'{"Path":"/.llm-sandbox/agent"}')
                  for name in ("aa", "bb", "ff", "ad", "ae", "af")}
        agents["/containers/ab/json"] = peer.answer(body=b'{"Path":"/bin/bash"}')
        with peer.Engine({**agents, "/containers/json": peer.answer(body=json.dumps(listed).encode()),
                          "/containers/aa": peer.answer("204 No Content"),
                          "/containers/ae": peer.answer("500 Oops", b'{"message":"busy"}'),
                          "/containers/af": peer.answer("204 No Content"),
                          "/containers/ff": peer.answer("404 Not Found")}) as engine:
            result = peer.ask("sweep", "docker", DOCKER_HOST=engine.host)
            self.assertEqual(result.lines, ["3 removed"])
            self.assertEqual([p.split("?")[0] for p in engine.paths() if p.startswith("DELETE")],
                             ["DELETE /v1.44/containers/aa", "DELETE /v1.44/containers/ff",
                              "DELETE /v1.44/containers/ae", "DELETE /v1.44/containers/af"])

    def test_what_this_process_has_lost_goes_and_what_it_has_stays(self):
        engine = peer.Engine()
        self.addCleanup(engine.close)
        process = subprocess.Popen([peer.PEER, "lost", "docker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=peer.environment(DOCKER_HOST=engine.host))
        owner, kept, lost = process.stdout.readline().split()

        def entry(name, session):
            return {"Id": name, "State": "running", "Labels": {
                "llm-sandbox": "session", "llm-sandbox.owner": owner, "llm-sandbox.started": OLD, "llm-sandbox.session": session}}

        # The last is of another copy of the library in the same process.
        listed = [entry("aa", kept), entry("bb", lost), entry("cc", "f" * 32), entry("dd", "")]
        for one in listed:
            engine.answers["/containers/%s/json" % one["Id"]] = peer.answer(body=b'{"Path":"/.llm-sandbox/agent"}')
            engine.answers["/containers/" + one["Id"]] = peer.answer("204 No Content")
        engine.answers["/containers/json"] = peer.answer(body=json.dumps(listed).encode())
        out, _ = process.communicate(timeout=peer.DEADLINE)
        self.assertIn("1 removed", out)
        self.assertEqual([p.split("?")[0] for p in engine.paths() if p.startswith("DELETE")], ["DELETE /v1.44/containers/bb"])

    def test_a_list_that_fails_because_something_vanishes_is_asked_for_again(self):
        said = []

        def listing(*_):
            said.append(1)
            return peer.answer(body=b"[]") if len(said) > 3 else peer.answer("500 Oops", b'{"message":"no such container"}')

        with peer.Engine({"/containers/json": listing}) as engine:
            self.assertEqual(peer.ask("sweep", "docker", DOCKER_HOST=engine.host).lines, ["0 removed"])

    def leave(self, answers, *ids):
        engine = peer.Engine(answers)
        self.addCleanup(engine.close)
        process = subprocess.Popen([peer.PEER, "leave", "docker", *ids], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=peer.environment(DOCKER_HOST=engine.host))
        self.addCleanup(process.communicate)
        return engine

    def test_of_what_removes_itself_only_what_stays_is_removed_one_at_a_time(self):
        under_way, most, done = [], [], threading.Event()

        def remove(_, request):
            under_way.append(request.path)
            most.append(len(under_way))
            if len(most) == 3:
                done.set()
            under_way.pop()
            return peer.answer("204 No Content")

        answers = {"/containers/" + name: remove for name in ("aa", "bb", "cc", "dd")}
        answers["/containers/json"] = peer.answer(body=json.dumps([{"Id": i, "State": "running"} for i in ("bb", "cc", "dd")]).encode())
        engine = self.leave(answers, "aa", "bb", "cc", "dd")
        self.assertTrue(done.wait(peer.DEADLINE))
        self.assertEqual(max(most), 1)
        self.assertEqual(sorted(p.split("?")[0] for p in engine.paths() if p.startswith("DELETE")),
                         ["DELETE /v1.44/containers/" + name for name in ("bb", "cc", "dd")])
        self.assertEqual(len([p for p in engine.paths() if "/containers/json" in p]), 1)

    def test_what_an_engine_does_not_remove_now_it_is_asked_again(self):
        said, done = [], threading.Event()

        def remove(*_):
            said.append(1)
            if len(said) == 1:
                return peer.answer("500 Oops", b'{"message":"device or resource busy"}')
            done.set()
            return peer.answer("204 No Content")

        self.leave({"/containers/aa": remove, "/containers/json": peer.answer(body=b'[{"Id":"aa","State":"dead"}]')}, "aa")
        self.assertTrue(done.wait(peer.DEADLINE))

    def test_the_volume_of_an_images_libraries_is_asked_for_once(self):
        first, second = "sha256:" + "1" * 64, "sha256:" + "2" * 64
        engine = peer.Engine({"/volumes/create": peer.answer("201 Created", b"{}")})
        self.addCleanup(engine.close)
        peer.ask("sets", "docker", first, first, second, first, DOCKER_HOST=engine.host)
        self.assertEqual([p for p in engine.paths() if p.startswith("POST")], ["POST /v1.44/volumes/create"] * 2)

    def test_a_volume_that_could_not_be_made_is_asked_for_again(self):
        image = "sha256:" + "1" * 64
        engine = peer.Engine({"/volumes/create": peer.answer("500 Oops", b'{"message":"full"}')})
        self.addCleanup(engine.close)
        self.assertIn("full", peer.ask("sets", "docker", image, DOCKER_HOST=engine.host).out)
        self.assertIn("full", peer.ask("sets", "docker", image, DOCKER_HOST=engine.host).out)

    def test_library_volumes_of_images_that_are_gone_go_also_where_the_engine_made_them(self):
        """A container that names a volume which somebody has removed makes it anew, without a label."""
        gone, here, strange = "1" * 64, "2" * 64, "3" * 64
        ours = {"llm-sandbox": "libraries", "llm-sandbox.image": "sha256:" + here}
        named = [("llm-sandbox-libraries-" + gone, None), ("llm-sandbox-libraries-" + here, ours),
                 ("llm-sandbox-libraries-" + strange, {"who": "somebody else"}), ("my-llm-sandbox-libraries-" + gone, None),
                 ("llm-sandbox-libraries-../" + gone, None)]
        listed = json.dumps({"Volumes": [{"Name": name, "Labels": labels} for name, labels in named]}).encode()
        engine = peer.Engine({"/volumes": peer.answer(body=listed),
                              "/images/sha256:%s/json" % here: peer.answer(body=b"{}"),
                              "/volumes/llm-sandbox-libraries-" + gone: peer.answer("204 No Content")})
        self.addCleanup(engine.close)
        peer.ask("sweep-sets", "docker", DOCKER_HOST=engine.host)
        self.assertEqual([p for p in engine.paths() if p.startswith("DELETE")],
                         ["DELETE /v1.44/volumes/llm-sandbox-libraries-" + gone])

    def test_a_sweep_survives_nonsense(self):
        for body in (b"5", b'{"a":1}', b"[[[]]]", b'"x"', b"", b'[{"Id":"aa","Labels":5,"State":7}]'):
            with peer.Engine({"/containers/json": peer.answer(body=body)}) as engine:
                self.assertEqual(peer.ask("sweep", "docker", DOCKER_HOST=engine.host).lines, ["0 removed"])


if __name__ == "__main__":
    peer.main("__main__")
