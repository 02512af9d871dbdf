#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions of the real MCP server, as clients over stdio and HTTP meet them.

Usage: sessions_test.py LLM_SANDBOX [unittest's arguments]
"""

import base64
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

import sandbox_test
from sandbox_test import CLEAN, DEADLINE, Case, Server

from driver import HttpServer

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


def wait_for(is_so):
    """Until it is so, at most as long as anything here may take."""
    end = time.monotonic() + DEADLINE
    while not is_so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def children(pid):
    """Of a process, in all its threads; zombies do not count."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                status = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if status[0] != "Z":
                found.append(int(child))
    return found


class SessionCase(Case):
    def create(self, server=None, **arguments):
        return self.good((server or self.server).tool("create_session", **arguments))["session_id"]


class Sessions(SessionCase):
    def test_files_stay_and_variables_do_not(self):
        session = self.create()
        self.good(self.server.run("x = 1; open('kept', 'w').write('é')", session_id=session))
        run = self.good(self.server.run("print(open('kept').read(), 'x' in globals())",
                                        session_id=session))
        self.assertEqual(run["stdout"], "é False\n")
        run = self.good(self.server.tool("execute_command", command="cat kept", session_id=session))
        self.assertEqual(run["stdout"], "é")
        self.assertEqual(self.good(self.server.run("import os; print(os.path.exists('kept'))"))
                         ["stdout"], "False\n")

    def test_the_answer_says_when_a_session_ends(self):
        made = self.good(self.server.tool("create_session", label="work", language="C++"))
        self.assertRegex(made["session_id"], "^[0-9a-f]{32}$")
        self.assertEqual((made["label"], made["language"]), ("work", "cpp"))
        self.assertEqual((made["expires_in_seconds"], made["ends_in_seconds"]), (600, 3600))
        self.assertIn("after 10 minutes without a call", made["message"])
        self.assertIn("in any case after 60 minutes", made["message"])
        made = self.good(self.server.tool("create_session", idle_timeout=30, lifetime=9999))
        self.assertEqual((made["expires_in_seconds"], made["ends_in_seconds"]), (30, 3600))

    def test_all_sessions_are_listed_and_closed_ones_are_not(self):
        server = Server()
        first, second = self.create(server, label="one"), self.create(server)
        sessions = self.good(server.tool("list_sessions"))["sessions"]
        self.assertEqual([s["session_id"] for s in sessions], [first, second])
        self.assertEqual(sessions[0]["label"], "one")
        self.assertFalse(sessions[0]["busy"])
        sessions = self.good(server.tool("list_sessions", session_ids=[second, "other"]))["sessions"]
        self.assertEqual([s["session_id"] for s in sessions], [second])
        self.good(server.tool("close_session", session_id=first))
        sessions = self.good(server.tool("list_sessions"))["sessions"]
        self.assertEqual([s["session_id"] for s in sessions], [second])
        self.assertIn("was closed at", self.bad(server.run("1", session_id=first)))
        self.assertIn("was closed at", self.bad(server.tool("close_session", session_id=first)))
        self.assertEqual(server.close(), 0)

    def test_ids_of_no_session_are_refused(self):
        self.create(label="mine")
        for session, said in (("0" * 32, "never opened"), ("mine", "no session_id"),
                              ("", "no session_id"), ("../" * 10 + "xx", "no session_id"),
                              ("A" * 32, "no session_id"), ("0" * 33, "no session_id")):
            self.assertIn(said, self.bad(self.server.run("1", session_id=session)))
            self.assertIn(said, self.bad(self.server.tool("close_session", session_id=session)))

    def test_what_a_session_fixes_is_refused_in_it(self):
        session = self.create(memory_mb=64)
        for name, value in (("memory_mb", 100), ("cpus", 2)):
            self.assertIn(name, self.bad(self.server.run("1", session_id=session, **{name: value})))
        run = self.good(self.server.run("x = bytearray(10**8)", session_id=session))
        self.assertFalse(run["success"])
        self.assertIn("at most", self.bad(self.server.tool("create_session", memory_mb=900000)))
        self.assertIn("cobol", self.bad(self.server.tool("create_session", language="cobol")))

    def test_a_run_that_times_out_leaves_its_session(self):
        session = self.create()
        self.good(self.server.run("open('kept', 'w')", session_id=session))
        run = self.good(self.server.run("while True: pass", session_id=session, timeout=1))
        self.assertEqual(run["reason"], "timeout")
        self.assertEqual(self.good(self.server.tool("execute_command", command="ls kept",
                                                    session_id=session))["stdout"], "kept\n")

    def test_a_cancelled_run_leaves_its_session(self):
        session = self.create()
        code = "print('here', flush=True)\nwhile True: pass"
        self.server.ask("logging/setLevel", level="info")
        number = self.server.start("tools/call", name="execute_code", arguments={
            "code": code, "timeout": 100, "session_id": session})
        while self.server.lines.get(timeout=DEADLINE).get("method") != "notifications/message":
            pass
        self.server.say(method="notifications/cancelled", params={"requestId": number})
        self.server.ask("logging/setLevel", level="error")
        run = self.good(self.server.run("print(1)", session_id=session))
        self.assertEqual(run["stdout"], "1\n")

    def test_a_second_call_of_a_session_waits(self):
        session = self.create()
        command = "mkdir busy || exit 1; sleep 0.2; rmdir busy"
        numbers = [self.server.start("tools/call", name="execute_command", arguments={
            "command": command, "session_id": session}) for _ in range(4)]
        answers = {}
        while len(answers) < len(numbers):
            message = self.server.lines.get(timeout=DEADLINE)
            answers[message["id"]] = message
        for number in numbers:
            self.assertEqual(self.good(answers[number]["result"])["exit_code"], 0)

    def test_a_call_that_waits_can_be_cancelled(self):
        server = Server()
        session = self.create(server)
        numbers = [server.start("tools/call", name="execute_code", arguments={
            "code": "while True: pass", "timeout": 100, "session_id": session})
            for _ in range(12)]  # more than there are workers
        for number in numbers:
            server.say(method="notifications/cancelled", params={"requestId": number})
        self.assertEqual(self.good(server.run("print(1)", session_id=session))["stdout"], "1\n")
        self.assertEqual(server.close(), 0)

    def test_closing_ends_the_call_that_runs(self):
        session = self.create()
        self.server.ask("logging/setLevel", level="info")
        number = self.server.start("tools/call", name="execute_code", arguments={
            "code": "print(1, flush=True)\nwhile True: pass", "timeout": 100,
            "session_id": session})
        while self.server.lines.get(timeout=DEADLINE).get("method") != "notifications/message":
            pass
        self.server.ask("logging/setLevel", level="error")
        closing = self.server.start("tools/call", name="close_session",
                                    arguments={"session_id": session})
        answers = {}
        while len(answers) < 2:
            message = self.server.lines.get(timeout=DEADLINE)
            answers[message.get("id")] = message
        self.good(answers[closing]["result"])
        self.assertIn("was closed at", self.bad(answers[number]["result"]))

    def test_twenty_sessions_live_side_by_side(self):
        sessions = [self.create() for _ in range(20)]
        numbers = {self.server.start("tools/call", name="execute_command", arguments={
            "command": "echo %d > mine" % n, "session_id": s}): s for n, s in enumerate(sessions)}
        while numbers:
            message = self.server.lines.get(timeout=DEADLINE)
            self.good(message["result"])
            del numbers[message["id"]]
        for n, session in enumerate(sessions):
            run = self.good(self.server.tool("execute_command", command="cat mine",
                                             session_id=session))
            self.assertEqual(run["stdout"], "%d\n" % n)
            self.good(self.server.tool("close_session", session_id=session))


PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
                       "awAAAABJRU5ErkJggg==")


class Files(SessionCase):
    def setUp(self):
        self.session = self.create()

    def use(self, name, **arguments):
        return self.server.tool(name, session_id=self.session, **arguments)

    def shell(self, command):
        run = self.good(self.use("execute_command", command=command))
        self.assertEqual(run["exit_code"], 0, run)
        return run["stdout"]

    def read_resource(self, uri):
        message, _ = self.server.ask("resources/read", uri=uri)
        return message

    def test_what_is_uploaded_is_there_and_can_be_read(self):
        wrote = self.good(self.use("upload_file", path="data/é 1.txt", text="one\ntwo\n"))
        self.assertEqual(wrote["bytes_written"], 8)
        self.assertEqual(wrote["uri"], "sandbox://sessions/%s/files/data/%%C3%%A9%%201.txt"
                         % self.session)
        self.assertEqual(self.shell("cat 'data/é 1.txt'; stat -c %U data"), "one\ntwo\nsandbox\n")
        read = self.good(self.use("read_file", path="data/é 1.txt"))
        self.assertEqual((read["content"], read["encoding"], read["size"], read["mime_type"]),
                         ("one\ntwo\n", "utf-8", 8, "text/plain"))
        self.assertNotIn("next_offset", read)
        contents = self.read_resource(wrote["uri"])["result"]["contents"]
        self.assertEqual((contents[0]["text"], contents[0]["uri"]), ("one\ntwo\n", wrote["uri"]))

    def test_bytes_travel_in_base64(self):
        data = bytes(range(256)) * 3
        self.good(self.use("upload_file", path="b.bin", base64=base64.b64encode(data).decode()))
        self.assertEqual(self.shell("sha256sum < b.bin").split()[0],
                         hashlib.sha256(data).hexdigest())
        read = self.good(self.use("read_file", path="/sandbox/b.bin"))
        self.assertEqual((read["encoding"], base64.b64decode(read["content"]), read["mime_type"]),
                         ("base64", data, "application/octet-stream"))
        blob = self.read_resource(read["uri"])["result"]["contents"][0]
        self.assertEqual(base64.b64decode(blob["blob"]), data)
        for wrong in ("a", "a-b_", "YQ=", "YQ==YQ==", "é"):
            self.assertIn("base64", self.bad(self.use("upload_file", path="x", base64=wrong)))
        self.assertIn("either", self.bad(self.use("upload_file", path="x")))
        self.assertIn("either", self.bad(self.use("upload_file", path="x", text="", base64="")))

    def test_a_file_is_replaced_added_to_or_new(self):
        self.good(self.use("write_file", path="f", content="one\n"))
        self.good(self.use("write_file", path="f", content="two\n", mode="append"))
        self.assertEqual(self.shell("cat f"), "one\ntwo\n")
        self.assertIn("f", self.bad(self.use("write_file", path="f", content="x", mode="new")))
        self.good(self.use("write_file", path="new", content="", mode="new"))
        self.good(self.use("upload_file", path="f", text="three"))
        self.good(self.use("upload_file", path="f", base64="IWE", append=True))
        self.assertEqual(self.shell("cat f new"), "three!a")

    def test_an_image_comes_as_one(self):
        self.good(self.use("upload_file", path="plot", base64=base64.b64encode(PNG).decode()))
        result = self.use("read_file", path="plot")
        self.assertEqual(self.good(result)["mime_type"], "image/png")
        self.assertEqual(result["content"][0]["type"], "image")
        self.assertEqual(base64.b64decode(result["content"][0]["data"]), PNG)

    def test_a_large_file_comes_as_a_link_or_in_pieces(self):
        self.shell("yes 'é234567' | head -c 200000 > big.txt")
        result = self.use("read_file", path="big.txt")
        read = self.good(result)
        self.assertNotIn("content", read)
        link = result["content"][0]
        self.assertEqual((link["type"], link["uri"], link["size"], link["name"]),
                         ("resource_link", read["uri"], 200000, "big.txt"))
        text = self.read_resource(link["uri"])["result"]["contents"][0]["text"]
        pieces, offset = "", 0
        while offset is not None:
            piece = self.good(self.use("read_file", path="big.txt", offset=offset, max_bytes=65537))
            pieces += piece["content"]
            offset = piece.get("next_offset")
        self.assertEqual(pieces, text)
        self.assertEqual(len(text.encode()), 200000)
        self.shell("truncate -s 9M huge")
        message = self.read_resource("sandbox://sessions/%s/files/huge" % self.session)
        self.assertIn("in pieces", message["error"]["message"])
        self.assertEqual(self.good(self.use("read_file", path="huge"))["size"], 9 << 20)
        self.assertIn("max_bytes", self.bad(self.use("read_file", path="huge", max_bytes=2 << 20)))

    def test_folders_are_listed_and_files_deleted(self):
        self.shell("mkdir -p a/b; echo 1 > a/b/c; ln -s /etc/passwd link; mkfifo pipe")
        entries = {e["path"]: e for e in self.good(self.use("list_files"))["entries"]}
        self.assertEqual({path: e["kind"] for path, e in entries.items()},
                         {"a": "folder", "link": "link", "pipe": "other"})
        entries = self.good(self.use("list_files", path="a", recursive=True))["entries"]
        self.assertEqual([(e["path"], e["kind"]) for e in entries], [("b", "folder"), ("b/c", "file")])
        self.assertEqual(entries[1]["size"], 2)
        self.assertRegex(entries[1]["modified"], r"^\d{4}-\d\d-\d\dT")
        self.assertTrue(self.bad(self.use("delete_file", path="a")))
        self.good(self.use("delete_file", path="a", recursive=True))
        self.good(self.use("delete_file", path="link"))
        self.assertEqual(self.shell("ls; test -e /etc/passwd"), "pipe\n")
        self.assertIn("gone", self.bad(self.use("delete_file", path="gone")))
        self.shell("for i in $(seq 1001); do : > $i; done")
        self.assertIn("more than 1000 entries", self.bad(self.use("list_files")))

    def test_names_that_are_no_text_have_a_uri(self):
        self.shell("printf x > \"$(printf 'a\\377%%')\"")
        entry = self.good(self.use("list_files"))["entries"][0]
        self.assertEqual(entry["path"], "a\ufffd%")
        contents = self.read_resource(entry["uri"])["result"]["contents"]
        self.assertEqual(contents[0]["text"], "x")

    def test_hostile_paths_lead_nowhere(self):
        self.shell("ln -s /etc etc; ln -s /etc/passwd passwd; mkfifo pipe")
        for path in ("passwd", "pipe", "/dev/null", "/proc/self/environ/x", "no/such",
                     "/", ".", "../" * 30 + "etc/shadow", "x" * 300, "a/" * 1990 + "a"):
            self.assertTrue(self.bad(self.use("read_file", path=path)), path)
            uri = "sandbox://sessions/%s/files/%s" % (self.session, urllib.parse.quote(path, ""))
            self.assertIn("error", self.read_resource(uri), path)
        for path in ("etc/x", "/etc/x", "/usr/bin/x", "/x", "passwd/x"):
            self.assertTrue(self.bad(self.use("write_file", path=path, content="x")), path)
        for path in ("/etc/passwd", "etc/passwd", "/usr", "/"):
            self.assertTrue(self.bad(self.use("delete_file", path=path, recursive=True)), path)
        self.assertEqual(self.good(self.use("execute_command", command="ls"))["stdout"],
                         "etc\npasswd\npipe\n")
        self.good(self.use("delete_file", path=".", recursive=True))
        self.assertEqual(self.shell("pwd; ls -A; ls -d /etc/passwd"), "/sandbox\n/etc/passwd\n")

    def test_uris_of_nothing_are_refused(self):
        self.good(self.use("write_file", path="f", content="x"))
        good = "sandbox://sessions/%s/files/f" % self.session
        self.assertIn("result", self.read_resource(good))
        self.assertIn("result", self.read_resource(good[:-1] + "%66"))
        for uri in (good + "%00", good + "%", good + "%2", good + "%zz", good[:-1], good[:-2],
                    good.replace(self.session, "0" * 32), good.replace(self.session, "x"),
                    good.replace(self.session, ""), good.replace("files", "other"), good + "?x",
                    good.replace("sessions", "languages"), good + "/" * 100000):
            self.assertEqual(self.read_resource(uri)["error"]["code"], -32002, uri[:200])
        self.good(self.use("close_session"))
        self.assertIn("was closed at", self.read_resource(good)["error"]["message"])

    def test_who_subscribed_to_a_file_hears_of_its_change(self):
        uri = self.good(self.use("write_file", path="f", content="x"))["uri"]
        self.server.ask("resources/subscribe", uri=uri)
        _, said = self.server.ask("tools/call", name="write_file", arguments={
            "session_id": self.session, "path": "f", "content": "y"})
        if not said:
            said = [self.server.lines.get(timeout=DEADLINE)]
        self.assertEqual([s["params"]["uri"] for s in said], [uri])
        self.server.ask("resources/unsubscribe", uri=uri)


class Network(SessionCase):
    """The peer is ours, on loopback, but not where programs look without a proxy."""

    FETCH = ("import sys, urllib.request as u\n"
             "for url in sys.argv[1:]:\n"
             "    try: print(u.urlopen(url, timeout=20).read().decode())\n"
             "    except Exception as e: print('no:', e)\n")

    @classmethod
    def setUpClass(cls):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, *_):
                pass

        cls.peer = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Handler)
        threading.Thread(target=cls.peer.serve_forever, daemon=True).start()
        cls.at = "127.0.0.2:%d" % cls.peer.server_port
        cls.server = Server(SANDBOX_NETWORK="open", SANDBOX_ALLOW=cls.at + ", *.example.org")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.peer.shutdown()
        cls.peer.server_close()

    def fetch(self, *urls, **arguments):
        return self.good(self.server.run(self.FETCH, args=list(urls), **arguments))

    def test_without_a_wish_there_is_no_network(self):
        run = self.fetch("http://%s/" % self.at)
        self.assertIn("no:", run["stdout"])
        self.assertNotIn("network", run)

    def test_an_allowed_host_is_reached_and_others_are_not_and_all_is_told(self):
        other = "127.0.0.2:%d" % (self.peer.server_port - 1)
        run = self.fetch("http://%s/" % self.at, "http://%s/" % other, allow=[self.at])
        self.assertTrue(run["stdout"].startswith("hello\nno:"), run)
        self.assertEqual([(a["host"], a["port"], a["verdict"]) for a in run["network"]],
                         [("127.0.0.2", self.peer.server_port, "allowed"),
                          ("127.0.0.2", self.peer.server_port - 1, "denied")])
        self.assertEqual(run["network_attempts"], 2)
        self.assertEqual(run["network"][0]["rule"], self.at)

    def test_a_session_keeps_its_network(self):
        session = self.create(network="allow")
        run = self.fetch("http://%s/" % self.at, session_id=session)
        self.assertEqual(run["stdout"], "hello\n")
        for wish in ({"network": "none"}, {"allow": [self.at]}):
            self.assertIn("create_session", self.bad(self.server.run("1", session_id=session, **wish)))

    def test_an_open_network_is_open_to_public_hosts_alone(self):
        for host in ("localhost", "127.0.0.1", "10.1.2.3", "169.254.169.254", "0x7f.1", "[::1]:80",
                     "a.localhost", "10.0.0.0/8", "0.0.0.0/0", "example.com:25", "example.com:*",
                     "intranet", "*.com", "192.168.1.1:443"):
            text = self.bad(self.server.run("1", network="allow", allow=[host]))
            self.assertIn("is not what this server allows", text, host)
            self.assertIn("SANDBOX_ALLOW", text, host)
        self.good(self.server.run("1", network="open"))
        self.good(self.server.run("1", allow=["pypi.example.com", "*.example.com:8443", "8.8.8.8"]))
        for host in ("", "http://x.example", "a b", "x" * 300):
            self.assertTrue(self.bad(self.server.run("1", allow=[host])), host)

    def test_the_hosts_of_package_managers_are_those_that_they_are_set_up_for(self):
        with tempfile.TemporaryDirectory() as cache:
            server = Server(XDG_CACHE_HOME=cache, PIP_INDEX_URL="http://%s/simple" % self.at,
                            SANDBOX_NETWORK="packages")
            run = self.good(server.run(self.FETCH, args=["http://%s/" % self.at], network="packages"))
            self.assertEqual(run["stdout"], "hello\n", run)
            run = self.good(server.run(self.FETCH, network="packages", args=[
                "http://127.0.0.2:%d/" % (self.peer.server_port - 1)]))
            self.assertEqual(run["network"][0]["verdict"], "denied")
            self.assertEqual(server.close(), 0)

    def test_no_more_is_given_than_the_operator_allows(self):
        none = Server()
        for wish in ({"network": "open"}, {"network": "packages"}, {"network": "allow"},
                     {"allow": ["example.org"]}):
            text = self.bad(none.run("1", **wish))
            self.assertIn("more than this server allows, which is 'none'", text)
            self.assertIn("SANDBOX_NETWORK", text)
            self.assertTrue(self.bad(none.tool("create_session", **wish)))
        self.good(none.run("1", network="none"))
        self.good(none.run("1", network=None, allow=[]))
        self.assertEqual(none.close(), 0)
        some = Server(SANDBOX_ALLOW="*.example.org,example.com:8443")
        for allow in (["a.example.org"], ["*.example.org"], ["EXAMPLE.com:8443"], ["a.example.org:443"]):
            self.good(some.run("1", allow=allow))
        self.good(some.run("1", network="allow"))
        for host in ("example.org", "a.example.org:8443", "example.com", "*.a.example.org",
                     "a.example.org:*", "example.net"):
            text = self.bad(some.run("1", allow=[host]))
            self.assertIn("*.example.org, example.com:8443", text)
        options = Server("--allow", "*.example.org", SANDBOX_NETWORK="open")
        self.good(options.run("1", allow=["a.example.org"]))
        self.assertIn("'allow'", self.bad(options.run("1", network="open")))
        self.assertEqual(options.close(), 0)
        self.assertIn("'allow'", self.bad(some.run("1", network="open")))
        self.assertIn("goes with", self.bad(some.run("1", network="none", allow=["a.example.org"])))
        self.assertEqual(some.close(), 0)


class Libraries(SessionCase):
    """The package manager that this machine is set up to use must be within reach."""

    ONE, MODULE = "iniconfig>=1", "iniconfig"  # small, and of nothing else

    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp()
        cls.server = Server(XDG_CACHE_HOME=cls.cache)
        result = cls.server.run("1", libraries=[cls.ONE])
        if result["isError"]:
            cls.tearDownClass()
            raise unittest.SkipTest(result["content"][0]["text"])

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        for folder, _, _ in os.walk(cls.cache):
            os.chmod(folder, 0o700)
        shutil.rmtree(cls.cache)

    def test_what_code_needs_is_installed_once_and_told(self):
        server = Server(XDG_CACHE_HOME=self.cache, SANDBOX_INSTALL="offline")
        for _ in range(2):
            run = self.good(server.run("import %s; print(1)" % self.MODULE, libraries=[self.ONE, "json"]))
            self.assertEqual(run["stdout"], "1\n")
            self.assertRegex(run["libraries"][self.ONE], r"^\d")
            self.assertIn("of Python", run["libraries"]["json"])
        self.assertFalse(self.good(server.run("import %s" % self.MODULE))["success"])
        self.assertIn("offline", self.bad(server.run("1", libraries=["no-such-thing"])))
        self.assertEqual(server.close(), 0)

    def test_a_client_hears_what_the_installer_does(self):
        with tempfile.TemporaryDirectory() as cache:
            server = Server(XDG_CACHE_HOME=cache)
            message, said = server.ask("tools/call", name="execute_code", _meta={"progressToken": "p"},
                                       arguments={"code": "1", "libraries": [self.ONE]})
            self.good(message["result"])
            numbers = [s["params"]["progress"] for s in said]
            self.assertGreater(len(numbers), 0)
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertTrue(all(s["params"]["message"] for s in said))
            self.assertEqual(server.close(), 0)
            for folder, _, _ in os.walk(cache):
                os.chmod(folder, 0o700)

    def test_libraries_of_a_session_stay_with_it(self):
        session = self.create()
        code = "import %s; print(1)" % self.MODULE
        self.assertFalse(self.good(self.server.run(code, session_id=session))["success"])
        done = self.good(self.server.tool("install_libraries", session_id=session,
                                          libraries=[self.ONE]))
        self.assertEqual([p["name"] for p in done["packages"]], [self.MODULE])
        self.assertEqual(done["libraries"][self.ONE], done["packages"][0]["version"])
        self.assertEqual(self.good(self.server.run(code, session_id=session))["stdout"], "1\n")
        done = self.good(self.server.tool("install_libraries", session_id=session, libraries=["json"]))
        self.assertNotIn("packages", done)
        self.assertIn("nothing to install", self.bad(self.server.tool(
            "install_libraries", session_id=session, libraries=[])))

    def test_what_is_no_library_is_refused(self):
        session = self.create()
        for name in ("--index-url=http://x", "http://x/y.whl", "../x", "git+https://x/y", "a b", "",
                     "x; rm -rf /", "/etc/passwd"):
            self.assertTrue(self.bad(self.server.run("1", libraries=[name])), name)
            self.assertTrue(self.bad(self.server.tool("install_libraries", session_id=session,
                                                      libraries=[name])), name)
        text = self.bad(self.server.run("1", libraries=["no-such-thing-%s" % session]))
        self.assertIn("no-such-thing", text)
        self.good(self.server.run("1", session_id=session))

    def test_an_operator_can_switch_installing_off(self):
        server = Server(XDG_CACHE_HOME=self.cache, SANDBOX_INSTALL="off")
        session = self.create(server)
        for result in (server.run("1", libraries=[self.ONE]),
                       server.tool("install_libraries", session_id=session, libraries=[self.ONE])):
            self.assertIn("switched off", self.bad(result))
        self.assertEqual(server.close(), 0)


class Ends(SessionCase):
    def test_a_session_that_nobody_uses_expires_and_says_so(self):
        server = Server(SANDBOX_SESSION_IDLE="1")
        session = self.create(server)
        wait_for(lambda: not self.good(server.tool("list_sessions"))["sessions"])
        text = self.bad(server.run("1", session_id=session))
        self.assertRegex(text, r"expired at \d{4}-\d\d-\d\d .* UTC, after 1 second without use")
        self.assertIn("create a new one", text)
        wait_for(lambda: not children(server.process.pid))
        self.assertEqual(server.close(), 0)

    def test_the_end_of_a_life_ends_the_call_that_runs(self):
        server = Server(SANDBOX_SESSION_LIFETIME="2")
        session = self.create(server)
        text = self.bad(server.run("while True: pass", session_id=session, timeout=100))
        self.assertIn("its life of 2 seconds was over", text)
        self.assertIn("its life of 2 seconds was over", self.bad(server.run("1", session_id=session)))
        self.assertEqual(server.close(), 0)

    def test_there_are_no_more_sessions_than_the_operator_allows(self):
        server = Server(SANDBOX_SESSIONS="2")
        first = self.create(server)
        self.create(server)
        self.assertIn("no more are allowed", self.bad(server.tool("create_session")))
        self.good(server.tool("close_session", session_id=first))
        self.create(server)
        self.good(server.run("print(1)"))
        self.assertEqual(server.close(), 0)

    def test_a_client_that_ends_takes_its_sessions_along(self):
        server = Server()
        session = self.create(server)
        self.create(server)
        self.good(server.run("1", session_id=session))
        sandboxes = children(server.process.pid)
        self.assertEqual(len(sandboxes), 2)
        # What runs may come to its end while somebody still reads.
        server.start("tools/call", name="execute_code", arguments={
            "code": "while True: pass", "timeout": 1, "session_id": session})
        self.assertEqual(server.close(), 0)
        for pid in sandboxes:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())


class Peer:
    """A client over HTTP, of the older era when it has been greeted and else of the newer."""

    def __init__(self, url, modern=False):
        self.url, self.session, self.modern, self.next_id = url, None, modern, 0
        if not modern:
            self.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                     clientInfo={"name": "test", "version": "1"})

    def _headers(self, method, params):
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.modern:
            headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
            name = params.get("uri" if method == "resources/read" else "name")
            return headers | ({"Mcp-Name": name} if name else {})
        return headers | ({"Mcp-Session-Id": self.session} if self.session else {})

    def ask(self, method, **params):
        self.next_id += 1
        if self.modern:
            params["_meta"] = MODERN
        body = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        request = urllib.request.Request(self.url, json.dumps(body).encode(),
                                         self._headers(method, params))
        with urllib.request.urlopen(request, timeout=DEADLINE) as response:
            self.session = response.headers.get("Mcp-Session-Id") or self.session
            text = response.read().decode()
        if text.startswith("{"):
            return json.loads(text)
        answers = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")
                   and line[5:].strip()]
        return answers[-1]

    def tool(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)["result"]

    def leave(self):
        urllib.request.urlopen(urllib.request.Request(
            self.url, method="DELETE", headers={"Mcp-Session-Id": self.session}), timeout=DEADLINE)


class Http(unittest.TestCase):
    good, bad = Case.good, Case.bad

    def setUp(self):
        self.server = HttpServer([sandbox_test.PROGRAM, "mcp"], env=CLEAN)
        self.addCleanup(self.server.__exit__)

    def test_clients_of_the_older_era_do_not_see_each_other_s_sessions(self):
        one, other = Peer(self.server.url), Peer(self.server.url)
        session = self.good(one.tool("create_session"))["session_id"]
        self.assertEqual(len(self.good(one.tool("list_sessions"))["sessions"]), 1)
        for peer in (other, Peer(self.server.url, modern=True)):
            self.assertEqual(self.good(peer.tool("list_sessions"))["sessions"], [])
            self.assertEqual(self.good(peer.tool("list_sessions", session_ids=[session]))
                             ["sessions"], [])
            for name, arguments in (("execute_code", {"code": "1"}), ("close_session", {}),
                                    ("list_files", {}), ("read_file", {"path": "f"}),
                                    ("upload_file", {"path": "f", "text": ""})):
                self.assertIn("never opened", self.bad(peer.tool(name, session_id=session,
                                                                 **arguments)))
            answer = peer.ask("resources/read", uri="sandbox://sessions/%s/files/f" % session)
            self.assertIn("never opened", answer["error"]["message"])
        self.assertEqual(self.good(one.tool("execute_code", code="print(1)", session_id=session))
                         ["stdout"], "1\n")

    def test_a_client_of_the_older_era_takes_its_sessions_along(self):
        one, other = Peer(self.server.url), Peer(self.server.url)
        self.good(one.tool("create_session"))
        kept = self.good(other.tool("create_session"))["session_id"]
        one.leave()
        wait_for(lambda: len(children(self.server.process.pid)) == 1)
        self.good(other.tool("execute_code", code="1", session_id=kept))

    def test_in_the_newer_era_the_id_is_the_key(self):
        one, other = (Peer(self.server.url, modern=True) for _ in range(2))
        session = self.good(one.tool("create_session"))["session_id"]
        self.good(one.tool("execute_code", code="open('kept', 'w').write('x')", session_id=session))
        self.assertEqual(self.good(other.tool("execute_code", code="print(open('kept').read())",
                                              session_id=session))["stdout"], "x\n")
        listed = self.good(other.tool("list_sessions"))
        self.assertEqual(listed["sessions"], [])
        self.assertIn("session_ids", listed["message"])
        listed = self.good(other.tool("list_sessions", session_ids=[session]))
        self.assertEqual([s["session_id"] for s in listed["sessions"]], [session])
        self.assertEqual(self.good(Peer(self.server.url).tool("list_sessions"))["sessions"], [])

    def test_all_sessions_end_with_the_server(self):
        for modern in (False, True):
            self.good(Peer(self.server.url, modern).tool("create_session"))
        pids = children(self.server.process.pid)
        self.assertEqual(len(pids), 2)
        self.server.process.terminate()
        self.assertEqual(self.server.process.wait(DEADLINE), 0)
        for pid in pids:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())


if __name__ == "__main__":
    sandbox_test.PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
