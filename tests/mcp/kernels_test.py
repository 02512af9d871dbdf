#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels of sessions of the real MCP server.

Usage: kernels_test.py LLM_SANDBOX [unittest's arguments]
"""

import sys
import unittest

import sandbox_test
from artifacts_test import FIGURE, ArtifactCase, decode_picture, needs, needs_matplotlib
from sandbox_test import CLEAN, DEADLINE, Server
from sessions_test import Peer

from driver import HttpServer

needs_ipython = needs("IPython")

# Says that it is there, and goes on until somebody ends it.
ENDLESS = "import time\nprint('here', flush=True)\nwhile True: time.sleep(0.01)"
STUBBORN = ("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + ENDLESS)


class KernelCase(ArtifactCase):
    def setUp(self):
        self.session = self.create()

    def cell(self, code, server=None, **arguments):
        return self.good((server or self.server).run(
            code, **{"session_id": self.session, "kernel": "main", **arguments}))

    def manage(self, action, kernel="main", server=None, **arguments):
        return (server or self.server).tool("manage_kernel", **{
            "session_id": self.session, "action": action, "kernel": kernel, **arguments})

    def start_cell(self, code, server=None, **arguments):
        """A cell that runs: it has printed something."""
        server = server or self.server
        server.ask("logging/setLevel", level="info")
        number = server.start("tools/call", name="execute_code", arguments={
            "code": code, "timeout": 100, "session_id": self.session, "kernel": "main",
            **arguments})
        while server.lines.get(timeout=DEADLINE).get("method") != "notifications/message":
            pass
        server.ask("logging/setLevel", level="error")
        return number


class Cells(KernelCase):
    def test_variables_stay_from_cell_to_cell(self):
        self.cell("x = 20\ndef double(n): return 2 * n")
        run = self.cell("double(x) + 2")
        self.assertEqual((run["value"], run["stdout"], run["success"]), ("42", "42\n", True))
        self.assertNotIn("kernel_ended", run)
        self.assertEqual(self.good(self.server.run("print('x' in globals())",
                                                   session_id=self.session))["stdout"], "False\n")

    def test_each_language_has_kernels(self):
        for language, first in (("javascript", "const x = 41"), ("ruby", "x = 41"),
                                ("r", "x <- 41"), ("java", "int x = 41;")):
            self.cell(first, language=language, kernel=language, timeout=100)
            run = self.cell("x + 1", language=language, kernel=language)
            self.assertRegex(run["stdout"], r"^(\[1\] )?42\n$")

    def test_an_error_leaves_the_variables(self):
        self.cell("x = 1")
        run = self.cell("1 / 0")
        self.assertFalse(run["success"])
        self.assertIn("ZeroDivisionError", run["stderr"])
        self.assertEqual(self.cell("x")["value"], "1")

    def test_the_end_of_a_kernel_is_told(self):
        self.cell("x = 1")
        run = self.cell("import os; os._exit(3)")
        self.assertTrue(run["kernel_ended"])
        self.assertTrue(run["message"])
        self.assertEqual(self.cell("'x' in globals()")["value"], "False")

    def test_a_cell_that_times_out_leaves_the_variables(self):
        self.cell("x = 1")
        run = self.cell("while True: pass", timeout=1)
        self.assertEqual(run["reason"], "timeout")
        self.assertNotIn("kernel_ended", run)
        self.assertEqual(self.cell("x")["value"], "1")

    def test_what_a_cell_cannot_have_is_told_with_the_way_out(self):
        self.assertIn("create_session", self.bad(self.server.run("1", kernel="main")))
        for name, value in (("stdin", "x"), ("args", ["x"])):
            result = self.server.run("1", kernel="main", session_id=self.session, **{name: value})
            self.assertIn(name, self.bad(result))
        for name in ("", "a/b", "../x", "a b", "x" * 64, "é"):
            result = self.server.run("1", kernel=name, session_id=self.session)
            self.assertTrue(self.bad(result), name)
        self.cell("1")
        self.assertIn("main", self.bad(self.server.run("1", "ruby", kernel="main",
                                                       session_id=self.session)))
        self.assertTrue(self.bad(self.server.run("int main() {}", "cpp", kernel="c",
                                                 session_id=self.session)))

    @needs_matplotlib
    def test_a_cell_shows_its_plots(self):
        self.cell(FIGURE)
        for colour, pixel in (("red", b"\xff\0\0"), ("blue", b"\0\0\xff")):
            result = self.server.run(f"show({colour!r})", session_id=self.session, kernel="main")
            image, = self.items(result)
            colours = decode_picture(image).colours
            self.assertEqual(max(colours, key=colours.get)[:3], pixel)


    @needs_ipython
    def test_rich_output_of_a_cell_comes_as_what_it_is(self):
        result = self.server.run("from IPython.display import HTML\nHTML('<b>bold</b>')",
                                 session_id=self.session, kernel="main")
        item, = self.items(result)
        self.assertEqual((item["resource"]["mimeType"], item["resource"]["text"]),
                         ("text/html", "<b>bold</b>"))
        artifact, = self.good(result)["artifacts"]
        self.assertEqual((artifact["kind"], artifact["uri"]), ("display", item["resource"]["uri"]))


class Cancelled(KernelCase):
    def test_a_cancelled_cell_is_interrupted_and_its_kernel_goes_on(self):
        self.cell("x = 1")
        number = self.start_cell(ENDLESS)
        self.server.say(method="notifications/cancelled", params={"requestId": number})
        self.assertEqual(self.cell("x")["value"], "1")
        kernel, = self.good(self.manage("list"))["kernels"]
        self.assertEqual(kernel["starts"], 1)

    def test_one_that_does_not_heed_it_is_killed(self):
        number = self.start_cell(STUBBORN)
        self.server.say(method="notifications/cancelled", params={"requestId": number})
        self.assertEqual(self.cell("1")["value"], "1")

    def test_a_client_that_goes_ends_even_that(self):
        server = Server()
        self.session = self.create(server)
        self.start_cell(STUBBORN, server)
        server.process.terminate()
        self.assertEqual(server.process.wait(DEADLINE), 0)
        server.process.stdout.close()
        server.process.stdin.close()


class Managed(KernelCase):
    def test_a_cell_is_interrupted_beside_it(self):
        self.cell("x = 1")
        number = self.start_cell(ENDLESS)
        interrupting = self.server.start("tools/call", name="manage_kernel", arguments={
            "session_id": self.session, "action": "interrupt", "kernel": "main"})
        answers = {}
        while len(answers) < 2:
            message = self.server.lines.get(timeout=DEADLINE)
            answers[message.get("id")] = message
        self.assertIn("kept", self.good(answers[interrupting]["result"])["message"])
        run = self.good(answers[number]["result"])
        self.assertFalse(run["success"])
        self.assertNotIn("kernel_ended", run)
        self.assertEqual(self.cell("x")["value"], "1")

    def test_it_finds_a_thread_when_cells_have_them_all(self):
        server = Server("--workers", "1")
        self.session = self.create(server)
        number = self.start_cell(ENDLESS, server)
        waits = server.start("tools/call", name="execute_code", arguments={
            "code": "1", "session_id": self.session, "kernel": "main"})
        self.good(self.manage("interrupt", server=server))
        answers = {}
        while not answers.keys() >= {waits}:
            message = server.lines.get(timeout=DEADLINE)
            answers[message.get("id")] = message
        self.assertEqual(self.good(answers[waits]["result"])["value"], "1")
        self.assertNotEqual(number, waits)
        self.assertEqual(server.close(), 0)

    def test_it_finds_a_thread_also_when_others_of_its_kind_wait(self):
        server = Server("--workers", "1")
        self.session = self.create(server)
        self.cell("1", server, kernel="other")
        number = self.start_cell(ENDLESS, server)
        for action in ("reset", "restart", "end") * 4:
            server.start("tools/call", name="manage_kernel", arguments={
                "session_id": self.session, "action": action, "kernel": "other"})
        interrupting = server.start("tools/call", name="manage_kernel", arguments={
            "session_id": self.session, "action": "interrupt", "kernel": "main"})
        answers = {}
        while not answers.keys() >= {number, interrupting}:
            message = server.lines.get(timeout=DEADLINE)
            answers[message.get("id")] = message
        self.good(answers[interrupting]["result"])
        self.assertEqual(self.good(answers[number]["result"])["exit_code"], 130)
        self.assertEqual(server.close(), 0)

    def test_restarting_ends_a_cell_that_hangs(self):
        self.cell("x = 1")
        number = self.start_cell(STUBBORN)
        restarting = self.server.start("tools/call", name="manage_kernel", arguments={
            "session_id": self.session, "action": "restart", "kernel": "main"})
        answers = {}
        while len(answers) < 2:
            message = self.server.lines.get(timeout=DEADLINE)
            answers[message.get("id")] = message
        self.good(answers[restarting]["result"])
        self.assertTrue(self.good(answers[number]["result"])["kernel_ended"])
        self.assertEqual(self.cell("'x' in globals()")["value"], "False")

    def test_resetting_forgets_and_ending_removes(self):
        self.cell("x = 1")
        self.good(self.manage("reset"))
        self.assertEqual(self.cell("'x' in globals()")["value"], "False")
        self.good(self.manage("end"))
        self.assertEqual(self.good(self.manage("list", None))["kernels"], [])
        self.assertIn("main", self.bad(self.manage("history")))

    def test_kernels_and_cells_are_listed(self):
        for n in range(3):
            self.cell(f"{n} + 1")
        self.cell("1", language="ruby", kernel="other")
        main, other = self.good(self.manage("list", None))["kernels"]
        told = [main[key] for key in ("name", "language", "alive", "busy", "cells", "starts")]
        self.assertEqual(told, ["main", "python", True, False, 3, 1])
        self.assertEqual((other["name"], other["language"]), ("other", "ruby"))
        cells = self.good(self.manage("history"))["cells"]
        self.assertEqual([(c["number"], c["code"], c["value"], c["exit_code"]) for c in cells],
                         [(1, "0 + 1", "1", 0), (2, "1 + 1", "2", 0), (3, "2 + 1", "3", 0)])
        cells = self.good(self.manage("history", last=1))["cells"]
        self.assertEqual([c["number"] for c in cells], [3])
        self.cell("#" * 50000)
        code = self.good(self.manage("history", last=1))["cells"][0]["code"]
        self.assertIn("output cut here", code)

    def test_what_there_is_not_is_told(self):
        for action in ("interrupt", "restart", "reset", "end", "history"):
            self.assertIn("other", self.bad(self.manage(action, "other")), action)
            self.assertIn("list", self.bad(self.manage(action, None)), action)
        self.assertIn("action", self.bad(self.manage("explode")))
        for session, said in (("0" * 32, "never opened"), ("x", "no session_id")):
            for action in ("interrupt", "reset", "list"):
                self.assertIn(said, self.bad(self.manage(action, session_id=session)), action)

    def test_another_client_s_kernels_are_not_there(self):
        with HttpServer([sandbox_test.PROGRAM, "mcp"], env=CLEAN) as http:
            one, other = Peer(http.url), Peer(http.url)
            session = self.good(one.tool("create_session"))["session_id"]
            self.good(one.tool("execute_code", code="x = 1", session_id=session, kernel="main"))
            for peer in (other, Peer(http.url, modern=True)):
                for action in ("list", "interrupt", "restart", "end", "history", "reset"):
                    self.assertIn("never opened", self.bad(peer.tool(
                        "manage_kernel", session_id=session, action=action, kernel="main")), action)
            self.assertEqual(self.good(one.tool("execute_code", code="x", session_id=session,
                                                kernel="main"))["value"], "1")


if __name__ == "__main__":
    sandbox_test.PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
