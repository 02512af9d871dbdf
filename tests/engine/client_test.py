#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the client makes of engines that misbehave. Usage: client_test.py ENGINE_PEER [unittest's arguments]"""

import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import unittest

import peer
from peer import CRLF, Engine, answer, ask, frame, ping

ATTACH = "/containers/x/attach"
UPGRADED = (b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.%s\r\n"
            b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
RAW = UPGRADED % b"raw-stream"
MULTIPLEXED = UPGRADED % b"multiplexed-stream"


class Case(unittest.TestCase):
    def call(self, engine, path="/info", *more, timeout="5000", flavor="docker", method="GET", **variables):
        name = "DOCKER_HOST" if flavor == "docker" else "CONTAINER_HOST"
        return ask("calls", flavor, timeout, method, path, *more, **{name: engine.host, **variables})

    def says(self, result, code, *words):
        line = result.lines[-1]
        self.assertTrue(line.startswith("error %s: " % code), result.out)
        for word in words:
            self.assertIn(word, line)
        for c in line:
            self.assertGreaterEqual(ord(c), 32, line)
            self.assertFalse(0x7f <= ord(c) < 0xa0, line)

    def leaks_nothing(self, result, kept=0):
        """A connection that is kept is a socket and what libcurl wakes itself with."""
        self.assertLessEqual(result.descriptors, 3 * kept, result.out)


class Versions(Case):
    def test_the_older_of_both_is_spoken(self):
        for said, spoken in (("1.41", "1.41"), ("1.44", "1.44"), ("1.99", "1.45")):
            with Engine({"/info": answer(body=b"{}")}, version=said) as engine:
                self.assertEqual(self.call(engine).lines, ["docker {}"])
                self.assertEqual(engine.paths(), ["GET /_ping", "GET /v%s/info" % spoken])

    def test_an_engine_that_is_too_old_is_told_from_none(self):
        with Engine(version="1.40") as engine:
            self.says(self.call(engine), "unavailable", "'1.40'", "1.41", "update", engine.host)

    def test_versions_that_are_none(self):
        for said in ("", "x", "2.0", "1", "1.x", "-1.44", "1." + "9" * 40, "\x1b[31m"):
            with Engine(version=said) as engine:
                result = self.call(engine)
                self.assertTrue(result.lines[-1].startswith("error "), result.out)

    def test_a_web_server_is_no_engine(self):
        for status in ("200 OK", "404 Not Found", "301 Moved Permanently"):
            page = answer(status, b"<html>hello</html>", "text/html", ("Server: nginx/1.2",))
            with Engine({"/_ping": page}) as engine:
                self.says(self.call(engine), "protocol", "no container engine", "nginx/1.2", "DOCKER_HOST")

    def test_what_is_not_http_is_no_engine(self):
        with Engine({"/_ping": lambda *_: b"SSH-2.0-OpenSSH_9.2\r\n"}) as engine:
            self.says(self.call(engine), "protocol", "does not speak HTTP", "DOCKER_HOST")

    def test_podman_behind_dockers_variable_is_podman(self):
        with Engine({"/_ping": ping("1.41", "Libpod-Api-Version: 4.3.1"), "/info": answer(body=b"{}")}) as engine:
            self.assertEqual(self.call(engine).lines, ["podman {}"])
        with Engine({"/info": answer(body=b"{}")}) as engine:
            self.assertEqual(self.call(engine, flavor="podman").lines, ["docker {}"])

    def test_an_engine_that_knows_only_newer_versions_is_too_new(self):
        words = b'{"message":"client version 1.44 is too old. Minimum supported API version is 1.60, please upgrade"}'
        with Engine({"/info": answer("400 Bad Request", words)}) as engine:
            self.says(self.call(engine), "unavailable", "too new", "1.60", "1.41 to 1.45")

    def test_an_engine_that_was_updated_meanwhile_is_asked_anew(self):
        def info(_, request):
            if request.path.startswith("/v1.44/"):
                engine.answers["/_ping"] = ping("1.45")
                return answer("400 Bad Request", b'{"message":"client version 1.44 is too old. '
                                                 b'Minimum supported API version is 1.45"}')
            return answer(body=b'{"a":1}')

        with Engine({"/info": info}) as engine:
            self.assertEqual(self.call(engine).lines, ['docker {"a":1}'])

    def test_the_version_is_asked_for_once_and_connections_are_used_again(self):
        with Engine({"/info": answer(body=b"{}")}) as engine:
            result = ask("clients", "docker", "5", DOCKER_HOST=engine.host)
            self.assertEqual(result.lines, ["docker {}"] * 5)
            self.assertEqual(engine.paths(), ["GET /_ping"] + ["GET /v1.44/info"] * 5)
            self.assertEqual(engine.connections, 1)
            self.leaks_nothing(result, kept=1)


class Answers(Case):
    def answers(self, said, *more, **options):
        with Engine({"/info": said}) as engine:
            return self.call(engine, "/info", *more, **options)

    def test_an_error_has_the_engines_words(self):
        said = answer("404 Not Found", b'{"message":"No such image: x:y"}')
        self.says(self.answers(said), "not-found", "404", "No such image: x:y", "unix://")
        self.says(self.answers(answer("500 Oops", b"<h1>oops</h1>", "text/html")), "unavailable", "500", "oops")
        self.says(self.answers(answer("500 Oops")), "unavailable", "it gave no reason")

    def test_its_words_cannot_reach_the_terminal(self):
        self.says(self.answers(answer("500 Oops", b'{"message":"a\\u001b[31m\\nb\\u009b"}')), "unavailable", "a [31m b")
        self.says(self.answers(answer("500 Oops", b"\x1b]0;x\x07\xff\xc2\x9b\x80 y" + b"z" * 100000)), "unavailable", "y")

    def test_what_is_no_json_is_refused(self):
        for body in (b"{", b'{"a":1}{"b":2}', b"<html>", b"\xff\xfe", b'{"a":"\x00"}', b"[" * 100000, b"nul"):
            self.says(self.answers(answer(body=body, kind="text/html")), "protocol", "JSON", "text/html", "/info")

    def test_no_body_is_no_answer(self):
        self.assertEqual(self.answers(b"HTTP/1.1 204 No Content\r\n\r\n").lines, ["docker nothing"])
        self.assertEqual(self.answers(b"HTTP/1.1 304 Not Modified\r\n\r\n").lines, ["docker nothing"])

    def test_a_redirect_is_not_followed(self):
        for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
            with Engine({"/info": answer(status, headers=("Location: /v1.44/other",)), "/other": answer(body=b"{}")}) as engine:
                self.says(self.call(engine), "protocol", "redirect", "/v1.44/other")
                self.assertEqual(len(engine.requests), 2)

    def test_chunks_are_put_together(self):
        said = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n")
        self.assertEqual(self.answers(said).lines, ['docker {"a":1}'])

    def test_broken_chunks_are_an_error(self):
        for chunks in (b"zz\r\n{}\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n{}"):
            result = self.answers(lambda conn, _, c=chunks: conn.sendall(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + c))
            self.says(result, "unavailable", "broke", "/info")

    def test_answers_that_only_announce_one(self):
        said = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(body=b"[1]")
        self.assertEqual(self.answers(said).lines, ["docker [1]"])

    def endless(self, start, piece):
        def say(conn, _):
            conn.sendall(start)
            while True:
                conn.sendall(piece)
        return say

    def test_endless_headers_have_an_end(self):
        for start, piece in ((b"HTTP/1.1 200 OK\r\n", b"X-Y: " + b"z" * 4000 + CRLF),
                             (b"", b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n")):
            self.says(self.answers(self.endless(start, piece)), "limit", "headers")

    def test_an_endless_header_has_an_end(self):
        result = self.answers(self.endless(b"HTTP/1.1 200 OK\r\nX: ", b"z" * 4096))
        self.assertTrue(result.lines[-1].startswith("error "), result.out)

    def test_an_endless_body_has_an_end(self):
        said = self.endless(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b" " * 65536)
        self.says(self.answers(said), "limit", "16 MiB")

    def test_pieces_are_passed_on_as_they_come_and_errors_are_not(self):
        with Engine({"/pieces": answer(body=b"abc"), "/info/pieces": answer("500 Oops", b'{"message":"no"}')}) as engine:
            self.assertIn("abc", self.call(engine, "/pieces").out)
            self.says(self.call(engine, "/info/pieces"), "unavailable", "no")

    def test_names_cannot_become_lines_of_http(self):
        with Engine({"/x": answer(body=b"{}")}) as engine:
            for path in ("/x HTTP/1.1\r\nX: y", "/x y", "/x\n", "/x\x7f"):
                self.assertIn("error invalid: '/x", self.call(engine, path).out)
            self.assertEqual(engine.paths(), ["GET /_ping"] * 4)


class Ends(Case):
    def test_no_socket_says_what_to_do(self):
        result = ask("calls", "docker", "5000", "GET", "/info", DOCKER_HOST="unix:///nonexistent/engine.sock")
        self.says(result, "unavailable", "unix:///nonexistent/engine.sock", "DOCKER_HOST", "No such file", "systemctl")
        self.leaks_nothing(result)

    def test_a_socket_that_nobody_serves(self):
        folder = tempfile.mkdtemp(prefix="sbx-engine-")
        self.addCleanup(shutil.rmtree, folder)
        s = socket.socket(socket.AF_UNIX)
        s.bind(folder + "/s")
        s.close()
        result = ask("calls", "docker", "5000", "GET", "/info", DOCKER_HOST="unix://%s/s" % folder)
        self.says(result, "unavailable", "refused", "systemctl")

    def test_no_permission_names_the_group(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a socket that its user may not use, and become that user")
        with Engine() as engine:
            os.chmod(engine.folder, 0o755)
            os.chown(engine.path, 0, 1)
            os.chmod(engine.path, stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP)
            copy = shutil.copy(peer.PEER, engine.folder + "/peer")
            done = subprocess.run([copy, "calls", "docker", "5000", "GET", "/info"], user=65534, group=65534, extra_groups=[],
                                  env=peer.environment(DOCKER_HOST=engine.host), capture_output=True, text=True, timeout=30)
            self.assertIn("error denied", done.stdout, done.stderr)
            self.assertIn("the group 'daemon'", done.stdout)
            self.assertIn("usermod -aG daemon", done.stdout)

    def test_an_engine_that_does_not_answer_in_time(self):
        hang = threading.Event()
        self.addCleanup(hang.set)
        with Engine({"/info": lambda *_: hang.wait(peer.DEADLINE) and None}) as engine:
            result = self.call(engine, timeout="300")
            self.says(result, "timeout", "GET /info", "0.3 s")
            self.leaks_nothing(result)

    def test_an_engine_that_stops_in_its_answer(self):
        hang = threading.Event()
        self.addCleanup(hang.set)

        def say(conn, _):
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            hang.wait(peer.DEADLINE)

        with Engine({"/info": say}) as engine:
            self.says(self.call(engine, timeout="300"), "timeout", "/info")

    def test_an_engine_that_vanishes(self):
        for part in (b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"):
            def say(conn, _, part=part):
                conn.sendall(part)
            with Engine({"/info": say}) as engine:
                result = self.call(engine, "/info", "GET", "/info", "GET", "/info")
                self.assertEqual(len(result.lines), 3)
                for line in result.lines:
                    self.assertIn("/info", line)
                    self.assertIn("broke", line)
                self.leaks_nothing(result)

    def test_a_connection_that_was_closed_while_nobody_used_it_is_made_anew(self):
        with Engine({"/info": answer(body=b"{}"), "/last": lambda conn, _: conn.sendall(answer(body=b"[]"))}) as engine:
            result = self.call(engine, "/last", "GET", "/info", "GET", "/last", "GET", "/info")
            self.assertEqual(result.lines, ["docker []", "docker {}"] * 2)

    def test_what_can_be_sent_only_once_goes_by_a_connection_of_its_own(self):
        def closed_in_the_next(conn, _):
            conn.sendall(answer(body=b"{}"))
            conn.recv(1)

        with Engine({"/last": closed_in_the_next, "/filled": answer(body=b"{}")}) as engine:
            result = self.call(engine, "/last", "POST", "/filled")
            self.assertEqual(result.lines, ["docker {}", "docker {}"])
            self.assertEqual(len(engine.requests[-1].body), 300000)

    def test_a_process_that_is_forked_off_finds_no_lock_taken(self):
        self.assertEqual(peer.ask("forks", "300").lines, ["0 stuck"])

    def test_what_is_ended_meanwhile_does_not_wait(self):
        started, hang = threading.Event(), threading.Event()
        self.addCleanup(hang.set)

        def say(*_):
            started.set()
            hang.wait(peer.DEADLINE)

        with Engine({"/slow": say}) as engine:
            process = subprocess.Popen([peer.PEER, "give-up", "docker", "/slow"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, env=peer.environment(DOCKER_HOST=engine.host))
            self.assertTrue(started.wait(peer.DEADLINE))
            out, _ = process.communicate(timeout=10)
            self.assertIn("was given up", out)


class Streams(Case):
    def stream(self, said, *more, stdin=b"", flavor="docker", **variables):
        with Engine({ATTACH: said}) as engine:
            return ask("stream", flavor, ATTACH, *more, stdin=stdin, DOCKER_HOST=engine.host, **variables)

    def test_frames_are_taken_off(self):
        for head in (RAW, MULTIPLEXED, b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n",
                     b"HTTP/1.1 100 Continue\r\n\r\n" + RAW, b"HTTP/1.1 101 UPGRADED\r\n\r\n"):
            result = self.stream(lambda c, _, h=head: c.sendall(h + frame(1, b"hel") + frame(1, b"") + frame(1, b"lo")))
            self.assertEqual(result.lines[-2:], ["5 bytes", "words ''"], result.out)
            self.leaks_nothing(result, kept=1)

    def test_a_terminals_stream_has_none_unless_the_engine_says_so(self):
        result = self.stream(lambda c, _: c.sendall(RAW + b"\x01\x00hello"), "raw")
        self.assertIn("7 bytes", result.lines)
        result = self.stream(lambda c, _: c.sendall(MULTIPLEXED + frame(1, b"hello")), "raw")
        self.assertIn("5 bytes", result.lines)

    def test_both_ways_are_open_and_one_can_end_first(self):
        def say(conn, _):
            conn.sendall(RAW)
            data = b""
            while piece := conn.recv(65536):
                data += piece
            conn.sendall(frame(1, b"%d" % len(data)))

        result = self.stream(say, "half", stdin=b"x" * 3000000)
        self.assertEqual(result.lines, ["3000000", "7 bytes", "words ''"])

    def test_much_comes_through_whole(self):
        def say(conn, _):
            conn.sendall(RAW)
            for _ in range(300):
                conn.sendall(frame(1, b"y" * 100000) + frame(2, b"e"))

        result = self.stream(say)
        self.assertEqual(result.lines[-2:], ["30000000 bytes", "words '%s'" % ("e" * 300)])

    def test_a_frame_of_4_gib_is_passed_as_it_comes(self):
        result = self.stream(lambda c, _: c.sendall(RAW + b"\x01\0\0\0\xff\xff\xff\xff" + b"z" * 1000000))
        self.assertEqual(result.lines[-2:], ["1000000 bytes", "words ''"])

    def test_what_is_no_frame_is_the_end(self):
        for bad in (b"\x04\0\0\0\0\0\0\x01x", b"\x01\x01\0\0\0\0\0\x01x", b"\x01\0\x01\0\0\0\0\x01x", b"hello world"):
            result = self.stream(lambda c, _, b=bad: c.sendall(RAW + frame(1, b"ok") + b + frame(1, b"more")))
            self.assertIn("2 bytes", result.lines)
            self.assertIn("not framed as it should be", result.lines[-1])

    def test_words_are_bounded_and_clean(self):
        noise = frame(2, b"exec: \x1b[1m\"x\"\r\n\n not found\xff\0") + frame(3, b"!") + frame(2, b"z" * 70000)
        words = self.stream(lambda c, _: c.sendall(RAW + noise)).lines[-1]
        self.assertTrue(words.startswith('words \'exec: [1m"x" not found\ufffd !zzz'), words)
        self.assertLess(len(words), 600)

    def test_a_stream_that_stops_in_a_header_ends(self):
        result = self.stream(lambda c, _: c.sendall(RAW + frame(1, b"abc") + b"\x01\0\0"))
        self.assertEqual(result.lines[-2:], ["3 bytes", "words ''"])

    def test_a_refusal_has_the_engines_words(self):
        body = b'{"message":"No such container: x"}'
        self.says(self.stream(answer("404 Not Found", body)), "not-found", "404", "No such container: x")
        chunked = b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n22\r\n" + body + b"\r\n0\r\n\r\n"
        self.says(self.stream(chunked), "unavailable", "500", "No such container")
        self.says(self.stream(answer("409 Conflict", b"\x1b[2Jno")), "unavailable", "[2Jno")

    def test_an_answer_that_is_no_stream(self):
        for said in (answer(body=b"<html>", kind="text/html"),
                     b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
                     b"HTTP/1.1 204 No Content\r\n\r\n"):
            self.says(self.stream(said), "protocol", "proxy")

    def test_an_engine_that_ends_in_the_upgrade(self):
        for part in (b"", b"HTTP/1.1 101", b"HTTP/1.1 101 UPGRADED\r\nX: y\r\n"):
            result = self.stream(lambda c, _, p=part: c.sendall(p))
            self.says(result, "unavailable", "closed a stream")
            self.leaks_nothing(result, kept=1)

    def test_no_end_of_the_head_and_no_end_of_heads(self):
        def long_head(conn, _):
            conn.sendall(b"HTTP/1.1 101 UPGRADED\r\nX: " + b"\0" * 100000)
        result = self.stream(long_head)
        self.assertTrue(result.lines[-1].startswith("error "), result.out)
        result = self.stream(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        self.assertTrue(result.lines[-1].startswith("error "), result.out)

    def test_not_http(self):
        self.says(self.stream(b"hello\r\n\r\n"), "protocol", "not HTTP")

    def test_an_engine_that_reads_nothing_more_is_still_heard(self):
        def say(conn, _):
            conn.sendall(RAW + frame(1, b"last words"))
            conn.shutdown(socket.SHUT_RD)

        self.assertIn("10 bytes", self.stream(say, stdin=b"x" * 2000000).lines)


class Tls(Case):
    @classmethod
    def setUpClass(cls):
        if shutil.which("openssl") is None:
            raise unittest.SkipTest("certificates are made by openssl, which is not installed")
        cls.folder = tempfile.mkdtemp(prefix="sbx-engine-tls-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        peer.certificates(cls.folder)

    def engine(self, answers):
        return Engine(answers, tls=peer.tls_server(self.folder))

    def variables(self, **more):
        return {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": self.folder, **more}

    def test_calls(self):
        with self.engine({"/info": answer(body=b'{"a":1}')}) as engine:
            result = self.call(engine, "/info", "GET", "/info", **self.variables())
            self.assertEqual(result.lines, ['docker {"a":1}'] * 2)
            self.assertEqual(engine.connections, 1)

    def test_a_stream_loses_nothing_that_was_read_ahead(self):
        def say(conn, _):
            conn.sendall(RAW + frame(1, b"a" * 16000) + frame(1, b"b" * 16000))
            for _ in range(100):
                conn.sendall(frame(1, b"y" * 100000))
            conn.unwrap().close()

        with self.engine({ATTACH: say}) as engine:
            result = ask("stream", "docker", ATTACH, DOCKER_HOST=engine.host, **self.variables())
            self.assertEqual(result.lines[-2:], ["10032000 bytes", "words ''"])

    def test_both_ways(self):
        def say(conn, _):
            conn.sendall(RAW)
            got = 0
            while got < 1000000:
                got += len(conn.recv(65536))
            conn.sendall(frame(1, b"all"))
            conn.unwrap().close()

        with self.engine({ATTACH: say}) as engine:
            result = ask("stream", "docker", ATTACH, stdin=b"x" * 1000000, DOCKER_HOST=engine.host, **self.variables())
            self.assertIn("3 bytes", result.lines)

    def test_an_engine_that_vanishes_kills_nobody(self):
        def say(conn, _):
            conn.sendall(RAW)
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            socket.socket.close(conn)

        with self.engine({ATTACH: say, "/info": lambda conn, _: socket.socket.close(conn)}) as engine:
            result = ask("stream", "docker", ATTACH, stdin=b"x" * 1000000, DOCKER_HOST=engine.host, **self.variables())
            self.assertTrue("0 bytes" in result.lines or result.lines[0].startswith("error unavailable"), result.out)
            result = self.call(engine, "/info", "GET", "/info", **self.variables())
            self.assertEqual(len(result.lines), 2)

    def test_a_server_of_another_authority_is_refused(self):
        other = tempfile.mkdtemp(prefix="sbx-engine-tls-")
        self.addCleanup(shutil.rmtree, other)
        peer.certificates(other)
        with self.engine({"/info": answer(body=b"{}")}) as engine:
            self.says(self.call(engine, **self.variables(DOCKER_CERT_PATH=other)), "denied", "TLS", "ca.pem")
            self.assertEqual(engine.requests, [])

    def test_no_certificate_of_ours(self):
        bare = tempfile.mkdtemp(prefix="sbx-engine-tls-")
        self.addCleanup(shutil.rmtree, bare)
        shutil.copy(self.folder + "/ca.pem", bare)
        with self.engine({"/info": answer(body=b"{}")}) as engine:
            result = self.call(engine, **self.variables(DOCKER_CERT_PATH=bare))
            self.assertTrue(result.lines[-1].startswith("error "), result.out)
            self.assertIn("certificate", result.lines[-1])

    def test_tls_where_there_is_none(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            conn, _ = listener.accept()
            conn.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            conn.close()

        threading.Thread(target=serve, daemon=True).start()
        result = ask("calls", "docker", "5000", "GET", "/info", DOCKER_HOST="tcp://127.0.0.1:%d" % listener.getsockname()[1],
                     **self.variables())
        self.says(result, "denied", "TLS")


class Ssh(Case):
    """The ssh program is played by one that connects its stdin and stdout to the engine."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sbx-ssh-")
        self.addCleanup(shutil.rmtree, self.folder)

    def program(self, text):
        with open(self.folder + "/ssh", "w") as f:
            f.write("#!/usr/bin/env python3\n" + text)
        os.chmod(self.folder + "/ssh", 0o755)
        return {"PATH": self.folder + ":" + os.environ["PATH"], "DOCKER_HOST": "ssh://me@box"}

    def forwarder(self, engine):
        return self.program("""
import os, socket, sys, threading
open(%r, "a").write(" ".join(sys.argv[1:]) + "\\n")
s = socket.socket(socket.AF_UNIX)
s.connect(%r)
def up():
    while data := os.read(0, 65536):
        s.sendall(data)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := s.recv(65536):
    os.write(1, data)
""" % (self.folder + "/args", engine.path))

    def test_calls_share_one_program(self):
        with Engine({"/info": answer(body=b"{}")}) as engine:
            result = ask("clients", "docker", "3", **self.forwarder(engine))
            self.assertEqual(result.lines, ["docker {}"] * 3)
            with open(self.folder + "/args") as f:
                self.assertEqual(f.read(), "-T -o BatchMode=yes -o ConnectTimeout=15 -l me -- box docker system dial-stdio\n")

    def test_two_engines_of_one_machine_are_two(self):
        with Engine({"/info": answer(body=b"{}")}) as engine:
            ask("clients", "docker", "4", "podman", CONTAINER_HOST="ssh://me@box", **self.forwarder(engine))
            with open(self.folder + "/args") as f:
                self.assertEqual([line.split(" -- ")[1] for line in f.read().splitlines()],
                                 ["box docker system dial-stdio", "box podman system dial-stdio"])

    def test_streams(self):
        def say(conn, _):
            conn.sendall(RAW)
            data = b""
            while piece := conn.recv(65536):
                data += piece
            conn.sendall(frame(1, b"%d" % len(data)))

        with Engine({ATTACH: say}) as engine:
            result = ask("stream", "docker", ATTACH, "half", stdin=b"x" * 500000, **self.forwarder(engine))
            self.assertEqual(result.lines, ["500000", "6 bytes", "words ''"])

    def test_what_ssh_says_is_the_reason(self):
        result = ask("calls", "docker", "5000", "GET", "/info", **self.program(
            "import sys; sys.stderr.write('me@box: Permission denied (publickey).\\r\\n'); sys.exit(255)"))
        self.says(result, "unavailable", "ssh://me@box", "Permission denied (publickey)")
        self.leaks_nothing(result)

    def test_endless_words_of_ssh_have_an_end(self):
        result = ask("calls", "docker", "5000", "GET", "/info", **self.program(
            "import os, sys\ntry:\n    while True: os.write(2, b'\\x1b[31mno ' * 999)\nexcept OSError: sys.exit(255)"))
        self.says(result, "unavailable", "[31mno")

    def test_no_ssh_says_what_to_install(self):
        result = ask("calls", "docker", "5000", "GET", "/info", PATH=self.folder, DOCKER_HOST="ssh://box")
        self.says(result, "unavailable", "openssh-client")
        self.leaks_nothing(result)


if __name__ == "__main__":
    peer.main("__main__")
