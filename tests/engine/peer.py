# SPDX-License-Identifier: MIT
"""An engine that says what a test wants it to, and the client's program to ask it."""

import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

DEADLINE = 30
PEER = ""
PROGRAM = ""
CRLF = b"\r\n"

# Variables that would lead to an engine of the machine.
NAMES = ("DOCKER_", "CONTAINER_", "XDG_RUNTIME_DIR", "HOME")


def answer(status="200 OK", body=b"", kind="application/json", headers=()):
    lines = ["HTTP/1.1 " + status, "Content-Type: " + kind, "Content-Length: %d" % len(body), *headers]
    return "\r\n".join(lines).encode() + CRLF + CRLF + body


def ping(version="1.44", *headers):
    return answer(body=b"OK", kind="text/plain", headers=("Api-Version: " + version, *headers))


def frame(stream, data):
    return struct.pack(">BxxxI", stream, len(data)) + data


class Request:
    def __init__(self, head, body):
        self.line, *headers = head.decode().split("\r\n")
        self.method, self.path, _ = self.line.split(" ")
        self.headers = {k.lower(): v for k, v in (h.split(": ", 1) for h in headers if ": " in h)}
        self.headers.setdefault("expect", None)
        self.body = body


def read_request(conn):
    """The next request of a connection, or None at its end."""
    data = b""
    while CRLF + CRLF not in data:
        piece = conn.recv(1)
        if not piece:
            return None
        data += piece
    head = data.split(CRLF + CRLF)[0]
    length = [h for h in head.split(CRLF) if h.lower().startswith(b"content-length:")]
    want = int(length[0].split(b":")[1]) if length else 0
    body = b""
    while len(body) < want:
        piece = conn.recv(want - len(body))
        if not piece:
            return None
        body += piece
    return Request(head, body)


class Engine:
    """answers: path without version -> bytes, or a function of (connection, request) that returns
    bytes, or None when it has said what it had to say and the connection is over."""

    def __init__(self, answers=None, version="1.44", tls=None, path=None, tcp=False):
        self.folder = tempfile.mkdtemp(prefix="sbx-engine-")
        self.answers = {"/_ping": ping(version), **(answers or {})}
        self.requests = []
        self.connections = 0
        self.tls = tls
        self.open = set()
        if tls or tcp:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.host = "tcp://127.0.0.1:%d" % self.listener.getsockname()[1]
        else:
            self.path = path or self.folder + "/engine.sock"
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen(64)
            self.host = "unix://" + self.path
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        try:
            if self.tls:
                conn = self.tls.wrap_socket(conn, server_side=True)
            self.open.add(conn)
            while self._one(conn):
                pass
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.open.discard(conn)
            conn.close()

    def _one(self, conn):
        request = read_request(conn)
        if request is None:
            return False
        self.requests.append(request)
        name = request.path
        if name.startswith("/v1."):
            name = "/" + name.split("/", 2)[2]
        said = self.answers.get(name.split("?")[0], answer("404 Not Found", b'{"message":"page not found"}'))
        if callable(said):
            said = said(conn, request)
        if said is None:
            return False
        conn.sendall(said)
        return True

    def paths(self):
        return [r.method + " " + r.path for r in self.requests]

    def close(self):
        # Closing alone does not end an accept() that waits.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def environment(**variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(NAMES)}
    return {**clean, "HOME": "/nonexistent", **{k: str(v) for k, v in variables.items()}}


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        lines = out.strip().split("\n")
        self.descriptors = int(lines[-1].split()[1]) if lines[-1].startswith("descriptors ") else None
        self.lines = [line for line in lines if line and not line.startswith("descriptors ")]


def ask(*args, stdin=b"", **variables):
    """Run the client's program; a signal (SIGPIPE, a sanitizer's) is a failure of the test."""
    done = subprocess.run([PEER, *args], input=stdin, capture_output=True, timeout=DEADLINE,
                          env=environment(**variables), restore_signals=True)
    out = done.stdout.decode(errors="replace")
    if done.returncode not in (0, 1):
        raise AssertionError("%s ended with %d\n%s\n%s" % (args, done.returncode, out, done.stderr.decode()))
    return Result(done.returncode, out, done.stderr.decode())


def certificates(folder):
    """ca.pem, and certificates by it for a server at 127.0.0.1 and a client."""
    def run(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder, timeout=DEADLINE)

    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=a test's authority", "-keyout", "ca-key.pem", "-out", "ca.pem")
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        with open(os.path.join(folder, name + ".ext"), "w") as f:
            f.write(extra + "\n")
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
            "-keyout", name + "-key.pem", "-out", name + ".csr")
        run("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial",
            "-days", "2", "-extfile", name + ".ext", "-out", name + "-cert.pem")
    for name in ("cert", "key"):
        shutil.copy(os.path.join(folder, "client-%s.pem" % name), os.path.join(folder, name + ".pem"))


def tls_server(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "server-cert.pem"), os.path.join(folder, "server-key.pem"))
    context.load_verify_locations(os.path.join(folder, "ca.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def main(module, programs=1):
    global PEER, PROGRAM
    import unittest

    PEER = os.path.abspath(sys.argv[1])
    PROGRAM = os.path.abspath(sys.argv[2]) if programs > 1 else ""
    unittest.main(module=module, argv=sys.argv[:1] + sys.argv[1 + programs:])
