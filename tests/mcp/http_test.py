#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The promises of the HTTP transport, over real sockets.

Usage: http_test.py HTTP_PEER [unittest's arguments]
"""

import base64
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PEER = ""
DEADLINE = 20
NEW = "2026-07-28"
OLD = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/logLevel": "debug",
}
BOTH = "application/json, text/event-stream"


class Peer:
    """A server of ours in a process of its own."""

    def __init__(self, address="0", **options):
        args = [PEER, address]
        for name, value in options.items():
            args += ["--" + name.replace("_", "-"), str(value)]
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.url = self.says()
        self.tls = self.url.startswith("https:")
        self.unix = self.url[5:] if self.url.startswith("unix:") else None
        if not self.unix:
            self.port = int(re.search(r":(\d+)/", self.url).group(1))

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def says(self):
        line = self.lines.get(timeout=DEADLINE)
        if line is None:
            raise AssertionError("the server ended: " + self.process.stderr.read())
        return line

    def connect(self):
        if self.unix:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(DEADLINE)
            sock.connect(self.unix)
            return Wire(sock)
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        if self.tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            sock = context.wrap_socket(sock)
        return Wire(sock)

    def once(self, *args, **kwargs):
        with self.connect() as wire:
            return wire.ask(*args, **kwargs)

    def stop(self):
        if self.process.stderr.closed:
            return 0, ""  # the test has stopped it
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=DEADLINE)
        finally:
            self.process.kill()
        errors = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        return status, errors


class Answer:
    def __init__(self, status, fields):
        self.status = status
        self.fields = fields
        self.body = b""

    def __getitem__(self, name):
        return self.fields.get(name.lower())

    def json(self):
        return json.loads(self.body)

    def code(self):
        return self.json()["error"]["code"]


class Wire:
    """One connection, byte for byte."""

    def __init__(self, sock):
        self.sock = sock
        self.input = b""
        self.text = b""
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        self.input += data

    def take(self, n):
        while len(self.input) < n:
            self._more()
        data, self.input = self.input[:n], self.input[n:]
        return data

    def line(self):
        while b"\r\n" not in self.input:
            self._more()
        line, self.input = self.input.split(b"\r\n", 1)
        return line.decode()

    def head(self):
        status = int(self.line().split(" ")[1])
        fields = {}
        while line := self.line():
            name, value = line.split(": ", 1)
            fields[name.lower()] = value
        return Answer(status, fields)

    def chunk(self):
        size = int(self.line(), 16)
        data = self.take(size)
        self.line()
        return data

    def answer(self):
        answer = self.head()
        if answer["Transfer-Encoding"] == "chunked":
            while data := self.chunk():
                answer.body += data
        elif answer["Content-Length"]:
            answer.body = self.take(int(answer["Content-Length"]))
        return answer

    def block(self):
        """The next block of an event stream, without comments; None at its end."""
        while True:
            while b"\n\n" not in self.text:
                if self.ended:
                    return None
                data = self.chunk()
                self.ended = data == b""
                self.text += data
            block, self.text = self.text.split(b"\n\n", 1)
            if not block.startswith(b":"):
                return dict(line.split(": ", 1) for line in block.decode().split("\n"))

    def events(self):
        found = []
        while block := self.block():
            found.append(block)
        return found

    def is_closed(self):
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True

    def ask(self, *args, **kwargs):
        self.send(request(*args, **kwargs))
        return self.answer()


def request(method="POST", body=None, path="/mcp", **fields):
    """Bytes of a request; fields: Mcp_Method="x"; None leaves one out."""
    head = {"Host": "localhost", "Accept": BOTH}
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        head["Content-Type"] = "application/json"
        head["Content-Length"] = len(body)
    for name, value in fields.items():
        head[name.replace("_", "-")] = value
    lines = ["%s %s HTTP/1.1" % (method, path)]
    lines += ["%s: %s" % (name, value) for name, value in head.items() if value is not None]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


def message(method, params=None, ident=1):
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params or {}}


def fresh(method="tools/list", params=None, ident=1, **fields):
    """The arguments of request() for a request of the newer era."""
    params = {"_meta": META, **(params or {})}
    name = params.get("name") or params.get("uri")
    head = {"MCP_Protocol_Version": NEW, "Mcp_Method": method, "Mcp_Name": name, **fields}
    return {"body": message(method, params, ident), **head}


def call(name, **arguments):
    return fresh("tools/call", {"name": name, "arguments": arguments})


class Session:
    """A client of the older era."""

    def __init__(self, peer, revision=OLD, **fields):
        self.peer = peer
        self.fields = fields
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = peer.once(body=message("initialize", params), **fields)
        assert answer.status == 200, (answer.status, answer.body)
        self.id = answer["Mcp-Session-Id"]
        self.fields.update({"Mcp_Session_Id": self.id, "MCP_Protocol_Version": revision})

    def post(self, method="tools/list", params=None, ident=2, **fields):
        return self.peer.once(body=message(method, params, ident), **{**self.fields, **fields})

    def start(self, method="POST", body=None, **fields):
        """A connection on which the head of an answer has been read."""
        wire = self.peer.connect()
        wire.send(request(method, body, **{**self.fields, **fields}))
        wire.first = wire.head()
        return wire

    def call(self, name, ident=2, **arguments):
        return self.start(body=message("tools/call", {"name": name, "arguments": arguments}, ident))

    def get(self, **fields):
        return self.start("GET", Accept="text/event-stream", **fields)


class Case(unittest.TestCase):
    def peer(self, *args, **kwargs):
        peer = Peer(*args, **kwargs)
        self.addCleanup(self.check_end, peer)
        return peer

    def check_end(self, peer):
        status, errors = peer.stop()
        self.assertEqual((status, errors), (0, ""))

    def folder(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return folder


class Statuses(Case):
    def setUp(self):
        self.server = self.peer(body=100000)

    def status(self, *args, **kwargs):
        return self.server.once(*args, **kwargs).status

    def test_a_wrong_path_is_404(self):
        self.assertEqual(self.status(path="/", **fresh()), 404)
        self.assertEqual(self.status(path="/mcp?x=1", **fresh()), 200)

    def test_a_wrong_method_is_405_and_says_what_is_allowed(self):
        answer = self.server.once("PUT", {})
        self.assertEqual((answer.status, answer["Allow"]), (405, "GET, POST, DELETE"))
        self.assertEqual(self.status("OPTIONS", Origin="http://localhost"), 405)

    def test_get_and_delete_of_the_newer_era_are_405(self):
        for method in ("GET", "DELETE"):
            answer = self.server.once(method, MCP_Protocol_Version=NEW)
            self.assertEqual((answer.status, answer["Allow"]), (405, "POST"))

    def test_another_content_type_is_415(self):
        self.assertEqual(self.status(**fresh(Content_Type="text/plain")), 415)
        self.assertEqual(self.status(**fresh(Content_Type="application/jsonx")), 415)
        self.assertEqual(self.status(**fresh(Content_Type="Application/JSON; charset=utf-8")), 200)

    def test_a_post_that_accepts_too_little_is_406(self):
        for accept in ("application/json", "text/event-stream", "text/html", "application/json;q=0, */*;q=0"):
            self.assertEqual(self.status(body=message("initialize"), Accept=accept), 406, accept)
        self.assertEqual(self.status(**fresh(Accept="text/html")), 406)
        self.assertEqual(self.status(**fresh(Accept="*/*")), 200)
        self.assertEqual(self.status(**fresh(Accept=None)), 200)

    def test_malformed_json_is_400_and_32700(self):
        for body in (b"", b"{", b"{} {}", b"\xff\xfe", b'"\xc3"', b"[" * 90000):
            answer = self.server.once(body=body)
            self.assertEqual((answer.status, answer.code()), (400, -32700), body[:20])

    def test_a_message_that_is_no_object_is_400(self):
        for body in (b"1", b"[]", b'{"jsonrpc": "2.0"}'):
            answer = self.server.once(body=body)
            self.assertEqual(answer.status, 400)
            self.assertEqual(answer.code(), -32600)

    def test_a_body_that_is_too_large_is_413_however_it_comes(self):
        big = b'"' + b"x" * 200000 + b'"'
        self.assertEqual(self.status(**{**fresh(), "body": big}), 413)
        with self.server.connect() as wire:
            wire.send(request(**fresh(Content_Length=None, Transfer_Encoding="chunked"))[:-1].split(b"\r\n\r\n")[0])
            wire.send(b"\r\n\r\n30000\r\n")
            self.assertEqual(wire.answer().status, 413)

    def test_a_body_of_the_largest_size_is_taken(self):
        text = "x" * (100000 - len(json.dumps(call("echo", text="")["body"])))
        answer = self.server.once(**call("echo", text=text))
        self.assertEqual(answer.json()["result"]["content"][0]["text"], text)

    def test_header_fields_that_are_too_large_or_many_are_431(self):
        self.assertEqual(self.status(**fresh(X_Large="x" * 40000)), 431)
        self.assertEqual(self.status(**fresh(**{"X%d" % i: "x" for i in range(120)})), 431)

    def test_a_head_without_end_is_431(self):
        with self.server.connect() as wire:
            wire.send(b"GET /mcp HTTP/1.1\r\nX: " + b"x" * 40000)
            self.assertEqual(wire.answer().status, 431)

    def test_malformed_http_is_400(self):
        for head in (
            b"GET\r\n\r\n",
            b"GET /mcp\r\n\r\n",
            b"GET  /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\nb\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ):
            with self.server.connect() as wire:
                wire.send(head)
                self.assertEqual(wire.answer().status, 400, head)
                self.assertTrue(wire.is_closed())

    def test_malformed_chunks_are_400(self):
        head = request(**fresh(Content_Length=None, Transfer_Encoding="chunked")).split(b"\r\n\r\n")[0] + b"\r\n\r\n"
        for chunks in (b"\r\n", b"x\r\n", b"-1\r\n", b"fffffffff\r\n", b"1\r\n{}\r\n", b"1" * 300):
            with self.server.connect() as wire:
                wire.send(head + chunks)
                self.assertEqual(wire.answer().status, 400, chunks)

    def test_other_versions_of_http_are_505_and_other_codings_501(self):
        with self.server.connect() as wire:
            wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            self.assertEqual(wire.answer().status, 505)
        self.assertEqual(self.status(**fresh(Content_Length=None, Transfer_Encoding="gzip, chunked")), 501)

    def test_what_the_transport_refuses_has_an_error_without_id(self):
        answer = self.server.once("GET", path="/x")
        self.assertNotIn("id", answer.json())
        self.assertEqual(answer.code(), -32600)


class Connections(Case):
    def test_a_connection_serves_one_request_after_the_other(self):
        with self.peer().connect() as wire:
            for i in range(3):
                self.assertEqual(wire.ask(**fresh(ident=i)).json()["id"], i)
            self.assertEqual(wire.ask(**fresh(Connection="close"))["Connection"], "close")
            self.assertTrue(wire.is_closed())

    def test_requests_that_come_together_are_answered_in_order(self):
        with self.peer().connect() as wire:
            wire.send(b"\r\n" + b"".join(request(**fresh(ident=i)) for i in range(5)))
            self.assertEqual([wire.answer().json()["id"] for _ in range(5)], list(range(5)))

    def test_who_asks_and_never_reads_does_not_fill_the_memory(self):
        server = self.peer(token="secret")
        many = request("GET") * 10000
        with server.connect() as wire:
            wire.sock.settimeout(1)
            with self.assertRaises(OSError):
                for _ in range(200):
                    wire.sock.sendall(many)
            with open(f"/proc/{server.process.pid}/status") as status:
                kilobytes = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
            self.assertLess(kilobytes, 200000)  # sanitizers take some

    def test_more_answers_than_wait_at_once_all_come(self):
        with self.peer().connect() as wire:
            count = 2000
            sender = threading.Thread(target=wire.sock.sendall, args=(
                b"".join(request(**fresh(ident=i)) for i in range(count)),))
            sender.start()
            self.assertEqual([wire.answer().json()["id"] for _ in range(count)], list(range(count)))
            sender.join()

    def test_who_shuts_its_end_after_the_request_gets_the_answer(self):
        server = self.peer()
        for _ in range(20):
            with server.connect() as wire:
                wire.send(request(**fresh(ident=1)) + request(**fresh(ident=2)))
                wire.sock.shutdown(socket.SHUT_WR)
                self.assertEqual([wire.answer().json()["id"] for _ in range(2)], [1, 2])
                self.assertTrue(wire.is_closed())

    def test_a_request_may_come_byte_by_byte_and_in_chunks(self):
        data = request(**fresh(ident=7, Content_Length=None, Transfer_Encoding="chunked"))
        head, body = data.split(b"\r\n\r\n", 1)
        chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(body[i : i + 50]), body[i : i + 50]) for i in range(0, len(body), 50))
        with self.peer().connect() as wire:
            for byte in head + b"\r\n\r\n" + chunks + b"0\r\nX: y\r\n\r\n":
                wire.send(bytes([byte]))
            self.assertEqual(wire.answer().json()["id"], 7)

    def test_expect_100_continue_is_answered(self):
        data = request(**fresh(Expect="100-continue"))
        head, body = data.split(b"\r\n\r\n", 1)
        with self.peer().connect() as wire:
            wire.send(head + b"\r\n\r\n")
            self.assertEqual(wire.head().status, 100)
            wire.send(body)
            self.assertEqual(wire.answer().status, 200)

    def test_http_1_0_gets_an_event_stream_that_ends_with_the_connection(self):
        data = request(**call("talk", count=2)).replace(b"HTTP/1.1", b"HTTP/1.0")
        with self.peer().connect() as wire:
            wire.send(data)
            answer = wire.head()
            self.assertEqual((answer["Connection"], answer["Transfer-Encoding"]), ("close", None))
            text = wire.input
            while piece := wire.sock.recv(65536):
                text += piece
            self.assertEqual(text.count(b"data: "), 3)

    def test_slow_clients_get_408_and_idle_ones_are_closed(self):
        server = self.peer(head_ms=150, body_ms=150, idle_ms=150)
        with server.connect() as wire:
            wire.send(b"POST /mcp HT")
            self.assertEqual(wire.answer().status, 408)
        with server.connect() as wire:
            wire.send(request(**fresh(Content_Length=9999)))
            self.assertEqual(wire.answer().status, 408)
        with server.connect() as wire:
            self.assertEqual(wire.ask(**fresh()).status, 200)
            self.assertTrue(wire.is_closed())
        with server.connect() as wire:
            self.assertTrue(wire.is_closed())

    def test_connections_above_the_maximum_get_503(self):
        server = self.peer(connections=2)
        wires = [server.connect() for _ in range(2)]
        for wire in wires:
            self.assertEqual(wire.ask(**fresh()).status, 200)
        self.assertEqual(server.once(**fresh()).status, 503)
        wires.pop().close()
        deadline = time.monotonic() + DEADLINE
        while server.once(**fresh()).status == 503:
            self.assertLess(time.monotonic(), deadline)
        wires.pop().close()

    def test_a_client_that_reads_nothing_is_closed_and_its_call_cancelled(self):
        server = self.peer(write_ms=200)
        with server.connect() as wire:
            wire.send(request(**call("talk", count=100000, bytes=100000)))
            self.assertEqual(server.says(), "begins")
            self.assertEqual(server.says(), "cancelled")

    def test_200_idle_clients_cost_under_20_megabytes(self):
        server = self.peer()

        def memory():
            with open("/proc/%d/status" % server.process.pid) as status:
                return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

        server.once(**fresh())
        before = memory()
        wires = [server.connect() for _ in range(200)]
        sessions = []
        for wire in wires:
            self.assertEqual(wire.ask(**fresh()).status, 200)
        for i in range(100):
            sessions.append(Session(server).get())
        grown = memory() - before
        for wire in wires + sessions:
            wire.close()
        with open("/proc/%d/maps" % server.process.pid) as maps:
            if "libasan" not in maps.read():
                self.assertLess(grown, 20000)
        print("# 200 idle connections and 100 sessions with a stream: %d KiB" % grown, file=sys.stderr)


class Newer(Case):
    def setUp(self):
        self.server = self.peer()

    def refused(self, code=-32020, status=400, **kwargs):
        answer = self.server.once(**kwargs)
        self.assertEqual((answer.status, answer.code(), answer.json()["id"]), (status, code, 1), answer.body)

    def works(self, **kwargs):
        answer = self.server.once(**kwargs)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertIn("result", answer.json())

    def test_a_request_needs_no_session(self):
        answer = self.server.once(**call("echo", text="hello"))
        self.assertEqual(answer["Content-Type"], "application/json")
        self.assertEqual(answer.json()["result"]["content"][0]["text"], "hello")
        self.assertIsNone(answer["Mcp-Session-Id"])
        self.works(**fresh(Mcp_Session_Id="whatever"))

    def test_the_revision_must_be_in_header_and_body_alike(self):
        self.refused(**fresh(MCP_Protocol_Version=None))
        self.refused(**fresh(MCP_Protocol_Version=OLD))
        wrong = fresh()
        wrong["body"]["params"]["_meta"] = {**META, "io.modelcontextprotocol/protocolVersion": "v999.0.0"}
        self.refused(**wrong)

    def test_an_unknown_revision_is_400_and_32022(self):
        for unknown in ("v999.0.0", "2099-01-01"):
            wrong = fresh(MCP_Protocol_Version=unknown)
            wrong["body"]["params"]["_meta"] = {**META, "io.modelcontextprotocol/protocolVersion": unknown}
            self.refused(-32022, **wrong)

    def test_a_missing_meta_is_400_and_32602(self):
        wrong = fresh()
        del wrong["body"]["params"]["_meta"]
        self.refused(-32602, **wrong)

    def test_methods_that_are_gone_are_404_and_32601(self):
        for method in ("initialize", "ping", "logging/setLevel", "unknown/method"):
            self.refused(-32601, 404, **fresh(method))

    def test_the_method_must_be_in_its_header(self):
        self.refused(**fresh(Mcp_Method=None))
        self.refused(**fresh(Mcp_Method="TOOLS/LIST"))
        self.refused(**fresh(Mcp_Method="prompts/list"))
        self.works(**fresh(Mcp_Method="  tools/list  "))
        self.works(**{**fresh(Mcp_Method=None), "MCP_METHOD": "tools/list"})

    def test_the_name_must_be_in_its_header(self):
        self.refused(**{**call("echo", text="a"), "Mcp_Name": None})
        self.refused(**{**call("echo", text="a"), "Mcp_Name": "other"})
        self.refused(**fresh("resources/read", {"uri": "x://y"}, Mcp_Name="x://z"))
        self.refused(**fresh("prompts/get", {"name": "y"}, Mcp_Name="z"))
        self.refused(**fresh("tasks/get", {"taskId": "y"}, Mcp_Name="z"))
        self.works(**{**call("echo", text="a"), "Mcp_Name": "=?base64?ZWNobw==?="})

    def test_arguments_that_a_row_mirrors_must_be_in_their_headers(self):
        given = call("echo", text="a", region="eu")
        self.refused(**given)
        self.refused(**given, Mcp_Param_Region="us")
        self.refused(**given, Mcp_Param_Region="=?base64?ZXU?=")
        self.refused(**given, Mcp_Param_Region="=?base64?Z!U=?=")
        self.works(**given, Mcp_Param_Region="eu")
        self.works(**given, mcp_param_REGION="=?base64?ZXU=?=")
        self.refused(**call("echo", text="a"), Mcp_Param_Region="eu")
        self.works(**call("echo", text="a", level=42, sure=True), Mcp_Param_Level="42", Mcp_Param_Sure="true")
        self.works(**call("echo", text="a", level=42), Mcp_Param_Level="42.0")
        self.refused(**call("echo", text="a", level=42), Mcp_Param_Level="43")
        self.refused(**call("echo", text="a", level=42), Mcp_Param_Level="42x")
        self.refused(**call("echo", text="a", sure=True), Mcp_Param_Sure="false")

    def test_arguments_that_a_schema_mirrors_must_be_in_their_headers(self):
        self.refused(**call("schema", text="eu"))
        self.works(**call("schema", text="eu"), Mcp_Param_Text="eu")
        for literal in ("SGVsbG8=", "=?base64?SGVsbG8=", "base64?ZXU=?="):
            self.works(**call("schema", text=literal), Mcp_Param_Text=literal)
        wide = "grün\x01"
        wrapped = "=?base64?" + base64.b64encode(wide.encode()).decode() + "?="
        self.works(**call("schema", text=wide), Mcp_Param_Text=wrapped)

    def test_a_header_that_decides_must_not_come_twice(self):
        data = request(**fresh()).replace(b"Mcp-Method", b"Mcp-Method: tools/list\r\nmcp-method")
        with self.server.connect() as wire:
            wire.send(data)
            self.assertEqual(wire.answer().status, 400)

    def test_notifications_are_202_without_a_body(self):
        note = fresh("notifications/cancelled")
        del note["body"]["id"]
        answer = self.server.once(**note)
        self.assertEqual((answer.status, answer.body), (202, b""))
        self.assertEqual(answer["Content-Length"], "0")

    def test_what_is_said_on_the_way_makes_an_event_stream(self):
        with self.server.connect() as wire:
            wire.send(request(**call("talk", count=3)))
            answer = wire.head()
            self.assertEqual(answer["Content-Type"], "text/event-stream")
            self.assertEqual(answer["Cache-Control"], "no-cache")
            self.assertEqual(answer["X-Accel-Buffering"], "no")
            events = wire.events()
            self.assertTrue(all("id" not in event for event in events))
            messages = [json.loads(event["data"]) for event in events]
            self.assertEqual([m["params"]["data"]["n"] for m in messages[:3]], [1, 2, 3])
            self.assertEqual(messages[3]["id"], 1)
            # and the connection goes on
            self.assertEqual(wire.ask(**fresh(ident=9)).json()["id"], 9)

    def test_who_takes_one_form_alone_gets_it(self):
        answer = self.server.once(**{**call("talk", count=3), "Accept": "application/json"})
        self.assertEqual(answer.json()["id"], 1)
        answer = self.server.once(**fresh(Accept="text/event-stream"))
        self.assertEqual(answer["Content-Type"], "text/event-stream")
        self.assertTrue(answer.body.startswith(b"data: {") and answer.body.endswith(b"}\n\n"))

    def test_a_client_that_goes_cancels_its_call_at_once(self):
        for name, arguments in (("wait", {"ms": 60000}), ("talk", {"count": 60000})):
            wire = self.server.connect()
            wire.send(request(**call(name, **arguments)))
            self.assertEqual(self.server.says(), "begins")
            wire.close()
            self.assertEqual(self.server.says(), "cancelled")

    def test_a_client_that_resets_the_connection_cancels_too(self):
        wire = self.server.connect()
        wire.send(request(**call("wait", ms=60000)))
        self.assertEqual(self.server.says(), "begins")
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        wire.close()
        self.assertEqual(self.server.says(), "cancelled")

    def test_a_client_that_goes_with_requests_waiting_cancels_too(self):
        wire = self.server.connect()
        wire.send(request(**call("wait", ms=60000)) + request(**fresh()))
        self.assertEqual(self.server.says(), "begins")
        wire.close()
        self.assertEqual(self.server.says(), "cancelled")

    def test_a_subscription_lasts_until_its_client_goes(self):
        with self.server.connect() as wire:
            wire.send(request(**fresh("subscriptions/listen", {"notifications": {"toolsListChanged": True}})))
            self.assertEqual(wire.head()["Content-Type"], "text/event-stream")
            self.assertIn("acknowledged", wire.block()["data"])
            self.server.once(**call("change"))
            self.assertIn("tools/list_changed", wire.block()["data"])

    def test_50_calls_at_once_are_all_answered(self):
        wires = [self.server.connect() for _ in range(50)]
        for i, wire in enumerate(wires):
            wire.send(request(**{**call("echo", text=str(i))}))
        for i, wire in enumerate(wires):
            self.assertEqual(wire.answer().json()["result"]["content"][0]["text"], str(i))
            wire.close()


class Quiet(Case):
    def test_a_long_call_becomes_an_event_stream_with_comments(self):
        server = self.peer(stream_ms=50, alive_ms=50)
        with server.connect() as wire:
            wire.send(request(**call("wait", ms=500)))
            self.assertEqual(wire.head()["Content-Type"], "text/event-stream")
            self.assertEqual(wire.chunk(), b":\n\n")
            self.assertEqual(wire.chunk(), b":\n\n")
            self.assertIn("waited", wire.events()[0]["data"])


class Older(Case):
    def setUp(self):
        self.server = self.peer()

    def test_initialize_begins_a_session_with_an_unguessable_id(self):
        ids = {Session(self.server).id for _ in range(3)}
        self.assertEqual(len(ids), 3)
        for ident in ids:
            self.assertRegex(ident, "^[0-9a-f]{32}$")

    def test_each_revision_works(self):
        for revision in ("2024-11-05", "2025-03-26", "2025-06-18", OLD):
            self.assertIn("tools", Session(self.server, revision).post().json()["result"])

    def test_an_initialize_that_fails_leaves_no_session(self):
        answer = self.server.once(body={"jsonrpc": "2.0", "method": "initialize", "id": 1, "params": 3})
        self.assertEqual(answer.status, 400)
        self.assertIsNone(answer["Mcp-Session-Id"])

    def test_a_request_without_session_is_400_and_of_an_unknown_one_404(self):
        self.assertEqual(self.server.once(body=message("tools/list")).status, 400)
        self.assertEqual(self.server.once("GET").status, 400)
        self.assertEqual(self.server.once("DELETE").status, 400)
        for method, body in (("POST", message("tools/list")), ("GET", None), ("DELETE", None), ("POST", message("initialize"))):
            self.assertEqual(self.server.once(method, body, Mcp_Session_Id="f" * 32).status, 404)

    def test_an_unknown_revision_is_400_and_none_is_2025_03_26(self):
        session = Session(self.server)
        self.assertEqual(session.post(MCP_Protocol_Version="1999-01-01").status, 400)
        self.assertEqual(session.post(MCP_Protocol_Version=None).status, 200)
        self.assertEqual(self.server.once("DELETE", Mcp_Session_Id=session.id, MCP_Protocol_Version="x").status, 400)

    def test_a_session_ends_with_delete(self):
        session = Session(self.server)
        stream = session.get()
        running = self.server.connect()
        running.send(request(body=message("tools/call", {"name": "wait", "arguments": {"ms": 60000}}), **session.fields))
        self.assertEqual(self.server.says(), "begins")
        self.assertEqual(self.server.once("DELETE", **session.fields).status, 204)
        self.assertEqual(self.server.says(), "cancelled")
        self.assertEqual(running.answer().status, 404)
        stream.events()
        self.assertEqual(session.post().status, 404)
        self.assertEqual(self.server.once("DELETE", **session.fields).status, 404)
        stream.close()
        running.close()

    def test_notifications_and_responses_are_202(self):
        session = Session(self.server)
        for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 5, "result": {}}):
            answer = self.server.once(body=body, **session.fields)
            self.assertEqual((answer.status, answer.body), (202, b""))

    def test_a_get_must_accept_event_streams(self):
        session = Session(self.server)
        self.assertEqual(self.server.once("GET", **{**session.fields, "Accept": "application/json"}).status, 406)

    def test_a_get_hears_what_belongs_to_no_request(self):
        session = Session(self.server)
        with session.get() as stream:
            self.assertEqual(stream.block(), {"id": "0-0", "retry": "1000", "data": ""})
            session.post("tools/call", {"name": "change", "arguments": {}})
            self.assertIn("tools/list_changed", stream.block()["data"])

    def test_a_get_hears_what_was_said_since_the_last_one(self):
        session = Session(self.server)
        with session.get() as stream:
            stream.block()
        session.post("tools/call", {"name": "change", "arguments": {}})
        with session.get() as stream:
            stream.block()
            event = stream.block()
            self.assertEqual((event["id"], "list_changed" in event["data"]), ("0-1", True))
        with session.get(Last_Event_ID="0-0") as stream:
            stream.block()
            self.assertEqual(stream.block(), event)

    def test_a_second_get_takes_the_stream_over(self):
        session = Session(self.server)
        with session.get() as first, session.get() as second:
            self.assertEqual(len(first.events()), 1)
            second.block()
            session.post("tools/call", {"name": "change", "arguments": {}})
            self.assertIn("tools/list_changed", second.block()["data"])

    def test_events_have_ids_and_begin_with_a_priming_one(self):
        with Session(self.server).call("talk", count=2) as wire:
            events = wire.events()
        self.assertEqual([e["id"] for e in events], ["1-0", "1-1", "1-2", "1-3"])
        self.assertEqual((events[0]["data"], events[0]["retry"]), ("", "1000"))

    def test_earlier_revisions_are_not_primed(self):
        with Session(self.server, "2025-06-18").call("talk", count=2) as wire:
            self.assertEqual([e["id"] for e in wire.events()], ["1-1", "1-2", "1-3"])

    def test_a_broken_stream_goes_on_where_it_broke(self):
        session = Session(self.server)
        with session.call("talk", count=30, ms=10) as wire:
            for _ in range(3):
                last = wire.block()["id"]
        self.assertEqual(self.server.says(), "begins")
        with session.get(Last_Event_ID=last) as wire:
            events = wire.events()[1:]
        self.assertEqual([e["id"] for e in events], ["1-%d" % i for i in range(3, 32)])
        self.assertIn('"id":2', events[-1]["data"])
        self.assertEqual(self.server.says(), "ends")

    def test_an_ended_stream_can_be_read_again(self):
        session = Session(self.server)
        with session.call("talk", count=2) as wire:
            events = wire.events()
        with session.get(Last_Event_ID="1-1") as wire:
            self.assertEqual(wire.events()[1:], events[2:])
        with session.get(Last_Event_ID="1-99") as wire:
            self.assertEqual(len(wire.events()), 1)

    def test_streams_of_another_session_cannot_be_read(self):
        with Session(self.server).call("talk", count=2) as wire:
            wire.events()
        with Session(self.server).get(Last_Event_ID="1-1") as wire:
            self.assertEqual(wire.first.status, 400)

    def test_event_ids_that_are_none_are_400(self):
        session = Session(self.server)
        for ident in ("x", "1", "1-", "-1", "7-0", "1-1-1", "99999999999999999999-1", "1-" + "1" * 100):
            with session.get(Last_Event_ID=ident) as wire:
                self.assertEqual(wire.first.status, 400, ident)

    def test_what_is_kept_of_a_stream_is_bounded_and_ends_with_the_answer(self):
        session = Session(self.server)
        for arguments, most in (({"count": 600, "ms": 0}, 256), ({"count": 40, "bytes": 100000}, 11)):
            with session.call("talk", **arguments) as wire:
                wire.block()
                number = wire.block()["id"].split("-")[0]
                wire.events()
            with session.get(Last_Event_ID=number + "-0") as wire:
                events = wire.events()[1:]
            self.assertLessEqual(len(events), most)
            self.assertGreaterEqual(len(events), most - 3)
            self.assertIn("said", events[-1]["data"])

    def test_a_disconnect_is_no_cancel(self):
        session = Session(self.server)
        wire = self.server.connect()
        wire.send(request(body=message("tools/call", {"name": "wait", "arguments": {"ms": 300}}), **session.fields))
        self.assertEqual(self.server.says(), "begins")
        wire.close()
        self.assertEqual(self.server.says(), "ends")
        self.assertEqual(session.post().status, 200)

    def test_a_cancelled_call_ends_its_answer(self):
        session = Session(self.server)
        wire = self.server.connect()
        wire.send(request(body=message("tools/call", {"name": "wait", "arguments": {"ms": 60000}}, 5), **session.fields))
        self.assertEqual(self.server.says(), "begins")
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        self.server.once(body=note, **session.fields)
        self.assertEqual(wire.answer().status, 202)
        self.assertEqual(self.server.says(), "cancelled")
        wire.close()

    def test_batches_work_where_the_revision_has_them(self):
        batch = [message("tools/list", ident=1), message("ping", ident=2)]
        answer = self.server.once(body=batch, **Session(self.server, "2025-03-26").fields)
        self.assertEqual(sorted(m["id"] for m in answer.json()), [1, 2])
        self.assertEqual(self.server.once(body=batch, **Session(self.server).fields).status, 400)

    def test_a_session_has_a_maximum_of_requests_under_way(self):
        session = Session(self.server)
        for i in range(300):
            wire = self.server.connect()
            wire.send(request(body=message("tools/call", {"name": "wait", "arguments": {"ms": 60000}}, i), **session.fields))
            wire.sock.settimeout(0.01 if i > 250 else 0.0001)
            self.addCleanup(wire.close)
            with contextlib.suppress(TimeoutError):
                self.assertEqual(wire.answer().status, 429)
                break
        self.assertGreaterEqual(i, 256)
        self.assertEqual(self.server.once("DELETE", **session.fields).status, 204)


class Expiry(Case):
    def test_idle_sessions_end_and_used_ones_stay(self):
        server = self.peer(session_ms=400)
        idle, listening = Session(server), Session(server)
        deadline = time.monotonic() + DEADLINE
        with listening.get():
            other = Session(server)
            while server.once(body=message("ping"), **{**other.fields}).status == 200:
                other = idle
                time.sleep(0.6)
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(listening.post().status, 200)

    def test_a_session_that_its_client_left_ends_with_its_calls(self):
        server = self.peer(session_ms=300, stream_ms=50)
        session = Session(server)
        with session.call("wait", ms=60000) as wire:
            self.assertEqual(server.says(), "begins")
            self.assertEqual(wire.first.status, 200)
        self.assertEqual(server.says(), "cancelled")
        self.assertEqual(session.post().status, 404)

    def test_ended_streams_are_forgotten(self):
        server = self.peer(replay_ms=100)
        session = Session(server)
        with session.call("talk") as wire:
            wire.events()
        deadline = time.monotonic() + DEADLINE
        while True:
            with session.get(Last_Event_ID="1-0") as wire:
                if wire.first.status == 400:
                    break
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_more_sessions_than_the_maximum_end_the_oldest(self):
        server = self.peer()
        first = Session(server)
        with server.connect() as wire:
            for _ in range(1024):
                params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
                answer = wire.ask(body=message("initialize", params))
                self.assertEqual(answer.status, 200)
        self.assertEqual(first.post().status, 404)


class Guards(Case):
    def test_pages_of_other_origins_are_403(self):
        server = self.peer(origin="https://app.example")
        for origin in ("http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
                       "http://localhost@evil.example", "file://", "https://app.example.evil", "http://[::1", ""):
            answer = server.once(**fresh(Origin=origin))
            self.assertEqual(answer.status, 403, origin)
            self.assertNotIn("id", answer.json())
        for origin in ("http://localhost", "http://localhost:3000", "https://127.0.0.1:1", "http://[::1]:80", "https://app.example"):
            self.assertEqual(server.once(**fresh(Origin=origin)).status, 200, origin)

    def test_names_of_other_hosts_are_403(self):
        server = self.peer(host="sandbox.example")
        for host in ("evil.example.com", "localhost.evil.example", "127.0.0.1.evil", "localhost:80:80", "[::1", "[::2]", "", "localhost:x"):
            self.assertEqual(server.once(**fresh(Host=host)).status, 403, host)
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80", "sandbox.example", "sandbox.example:81"):
            self.assertEqual(server.once(**fresh(Host=host)).status, 200, host)

    def test_pages_of_listed_origins_can_read_the_answers_and_others_cannot(self):
        server = self.peer(origin="https://app.example", token="secret")
        ask = {"Origin": "https://app.example", "Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "authorization"}
        answer = server.once("OPTIONS", **ask)
        self.assertEqual((answer.status, answer["Access-Control-Allow-Origin"]), (204, "https://app.example"))
        self.assertEqual(answer["Access-Control-Allow-Headers"], "authorization")
        answer = server.once(**fresh(Origin="https://app.example", Authorization="Bearer secret"))
        self.assertEqual((answer.status, answer["Access-Control-Allow-Origin"]), (200, "https://app.example"))
        answer = server.once(**fresh(Origin="http://localhost", Authorization="Bearer secret"))
        self.assertEqual((answer.status, answer["Access-Control-Allow-Origin"]), (200, None))

    def test_without_the_token_everything_is_401(self):
        server = self.peer(token="s3cret")
        answer = server.once(**fresh())
        self.assertEqual((answer.status, answer["WWW-Authenticate"]), (401, "Bearer"))
        for value in ("Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crett", "Bearer S3CRET", "Basic s3cret", "s3cret"):
            answer = server.once(**fresh(Authorization=value))
            self.assertEqual((answer.status, answer["WWW-Authenticate"]), (401, 'Bearer error="invalid_token"'))
        self.assertEqual(server.once("GET").status, 401)
        self.assertEqual(server.once("DELETE").status, 401)
        self.assertEqual(server.once(**fresh(Authorization="bearer s3cret")).status, 200)

    def test_the_token_is_checked_before_the_body_is_read(self):
        server = self.peer(token="s3cret")
        with server.connect() as wire:
            wire.send(request(**fresh(Content_Length=10000000)))
            self.assertEqual(wire.answer().status, 401)
            self.assertTrue(wire.is_closed())


class Starts(Case):
    def fails(self, *args):
        run = subprocess.run([PEER, *args], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        return run.stderr

    def test_other_machines_need_a_token(self):
        for address in ("0.0.0.0:0", "[::]:0"):
            self.assertIn("set a bearer token", self.fails(address))
        self.peer("0.0.0.0:0", token="x")

    def test_loopback_has_several_names(self):
        for address in ("0", "127.0.0.1:0", "localhost:0", "127.1.2.3:0"):
            self.assertRegex(self.peer(address).url, r"^http://127\.[\d.]+:[1-9]\d*/mcp$")
        self.assertRegex(self.peer("0", path="/other").url, "/other$")

    def test_ipv6_loopback_works_where_there_is_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError as error:
            self.skipTest(str(error))
        self.assertRegex(self.peer("[::1]:0").url, r"^http://\[::1\]:\d+/mcp$")

    def test_other_addresses_are_refused(self):
        for address in ("", "x", "localhost", "example.com:80", "127.0.0.1:", "127.0.0.1:65536", "[::1]", "::1:80x", "1.2.3.4:5:6", "unix:", "unix:/" + "x" * 200):
            self.assertTrue(self.fails(address).strip(), address)

    def test_a_port_in_use_is_an_error(self):
        server = self.peer()
        self.assertIn("cannot listen", self.fails("127.0.0.1:%d" % server.port))

    def test_bad_tls_files_are_errors(self):
        self.assertIn("both", self.fails("0", "--cert", "/dev/null"))
        self.assertIn("/dev/null", self.fails("0", "--cert", "/dev/null", "--key", "/dev/null"))
        self.assertIn("token is empty", self.fails("0", "--token", ""))
        self.assertIn("slash", self.fails("0", "--path", "mcp"))


class UnixSocket(Case):
    def test_it_is_private_and_removed_at_the_end(self):
        path = self.folder() + "/s"
        server = self.peer("unix:" + path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(server.once(**fresh(Host="whatever")).status, 200)
        self.assertEqual(server.once(**fresh(Origin="http://evil.example")).status, 403)
        self.assertEqual(server.stop(), (0, ""))
        self.assertFalse(os.path.exists(path))

    def test_a_stale_one_is_replaced_and_a_live_one_is_not(self):
        path = self.folder() + "/s"
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)
        server = self.peer("unix:" + path)
        run = subprocess.run([PEER, "unix:" + path], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(run.returncode, 1)
        self.assertIn("another server", run.stderr)
        self.assertEqual(server.once(**fresh()).status, 200)

    def test_another_file_is_left_alone(self):
        path = self.folder() + "/s"
        with open(path, "w") as file:
            file.write("x")
        run = subprocess.run([PEER, "unix:" + path], capture_output=True, text=True, timeout=DEADLINE)
        self.assertIn("no socket", run.stderr)
        self.assertTrue(os.path.exists(path))


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl command")
class Tls(Case):
    def setUp(self):
        folder = self.folder()
        self.cert, self.key = folder + "/cert", folder + "/key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-subj", "/CN=localhost", "-days", "2", "-keyout", self.key, "-out", self.cert],
            check=True, capture_output=True)
        self.server = self.peer(cert=self.cert, key=self.key, head_ms=2000)

    def test_it_serves_both_eras(self):
        self.assertTrue(self.server.url.startswith("https://"))
        self.assertEqual(self.server.once(**call("echo", text="x" * 300000)).status, 200)
        with Session(self.server).call("talk", count=2) as wire:
            self.assertEqual(len(wire.events()), 4)

    def test_a_client_that_goes_cancels_its_call(self):
        wire = self.server.connect()
        wire.send(request(**call("wait", ms=60000)))
        self.assertEqual(self.server.says(), "begins")
        wire.close()
        self.assertEqual(self.server.says(), "cancelled")

    def test_plain_http_and_silence_get_nowhere(self):
        plain = Wire(socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE))
        plain.send(request(**fresh()))
        silent = Wire(socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE))
        with contextlib.suppress(ConnectionError):
            plain.sock.recv(4096)  # an alert, or nothing
        self.assertTrue(silent.is_closed())
        plain.close()
        silent.close()
        self.assertEqual(self.server.once(**fresh()).status, 200)

    def test_tls_1_2_is_the_least(self):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE) as sock:
            with context.wrap_socket(sock) as wrapped:
                self.assertEqual(wrapped.version(), "TLSv1.2")

    def test_a_refused_request_is_answered_before_the_end(self):
        with self.server.connect() as wire:
            wire.send(request(**fresh(Content_Length=100000000)))
            self.assertEqual(wire.answer().status, 413)
            self.assertTrue(wire.is_closed())


class Drain(Case):
    def test_running_calls_end_and_nothing_new_begins(self):
        server = self.peer(drain=20000)
        idle, running, late = server.connect(), server.connect(), server.connect()
        self.assertEqual(idle.ask(**fresh()).status, 200)
        late.send(request(**fresh())[:20])
        running.send(request(**call("wait", ms=400)))
        self.assertEqual(server.says(), "begins")
        server.process.send_signal(signal.SIGTERM)
        self.assertTrue(idle.is_closed())
        with self.assertRaises(ConnectionError):
            server.connect()
        answer = running.answer()
        self.assertIn("waited", answer.body.decode())
        self.assertEqual(answer["Connection"], "close")
        self.assertEqual(server.process.wait(DEADLINE), 0)
        for wire in (idle, running, late):
            wire.close()

    def test_streams_of_both_eras_end(self):
        server = self.peer(drain=20000)
        stream = Session(server).get()
        listener = server.connect()
        listener.send(request(**fresh("subscriptions/listen", {"notifications": {"toolsListChanged": True}})))
        listener.head()
        server.process.send_signal(signal.SIGINT)
        stream.events()
        listener.events()
        self.assertEqual(server.process.wait(DEADLINE), 0)
        stream.close()
        listener.close()

    def test_calls_that_last_too_long_are_cancelled(self):
        for era in ("newer", "older"):
            server = self.peer(drain=100)
            wire = server.connect()
            if era == "newer":
                wire.send(request(**call("wait", ms=60000)))
            else:
                body = message("tools/call", {"name": "wait", "arguments": {"ms": 60000}})
                wire.send(request(body=body, **Session(server).fields))
            self.assertEqual(server.says(), "begins")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(wire.answer().status, 503)
            self.assertEqual(server.says(), "cancelled")
            self.assertEqual(server.process.wait(DEADLINE), 0)
            wire.close()

    def test_a_second_signal_means_now(self):
        server = self.peer(drain=600000)
        wire = server.connect()
        wire.send(request(**call("wait", ms=600000)))
        self.assertEqual(server.says(), "begins")
        server.process.send_signal(signal.SIGTERM)
        while server.process.poll() is None:
            try:
                server.connect().close()
            except ConnectionError:
                break
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.says(), "cancelled")
        self.assertEqual(server.process.wait(DEADLINE), 0)
        wire.close()


class Chaos(Case):
    def test_clients_that_break_off_anywhere_do_no_harm(self):
        server = self.peer()
        data = request(**call("talk", count=3)) + request(**fresh())
        for at in range(0, len(data), 7):
            with server.connect() as wire:
                wire.send(data[:at])
        self.assertEqual(server.once(**fresh()).status, 200)

    def test_mutated_requests_do_no_harm(self):
        server = self.peer(head_ms=300, body_ms=300)
        session = Session(server)
        seeds = [request(**call("echo", text="a", region="eu"), Mcp_Param_Region="=?base64?ZXU=?="),
                 request("GET", **session.fields, Last_Event_ID="0-0"),
                 request(body=message("tools/list"), **session.fields)]
        state = 1
        for i in range(600):
            data = bytearray(seeds[i % len(seeds)])
            for _ in range(1 + i % 4):
                state = state * 1103515245 + 12345 & 0x7FFFFFFF
                data[state % len(data)] = state >> 16 & 0xFF
            with server.connect() as wire:
                wire.send(bytes(data))
                if i % 50 == 0:
                    with contextlib.suppress(EOFError, ConnectionError):
                        wire.head()
        self.assertEqual(server.once(**fresh()).status, 200)


if __name__ == "__main__":
    PEER = sys.argv.pop(1)
    unittest.main(verbosity=1)
