#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real MCP server whose sandboxes are containers, as clients over stdio and HTTP meet it.

Usage: engine_test.py LLM_SANDBOX [unittest's arguments], from tests/support/engines, which says by
SBX_TEST_BACKEND, SBX_TEST_IMAGE and the engine's own variable where there is one.
"""

import base64
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import driver
import sandbox_test
from kernels_test import ENDLESS, KernelCase
from artifacts_test import decode_picture, make_png, put
from sandbox_test import CLEAN, DEADLINE, Server
from sessions_test import MODERN, Peer

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "engine"))
from unix_http import UnixConnection  # noqa: E402

BACKEND = os.environ.get("SBX_TEST_BACKEND", "")
IMAGE = os.environ.get("SBX_TEST_IMAGE", "")
VARIABLE = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}.get(BACKEND)
SETTINGS = {"BACKEND": BACKEND, "SANDBOX_IMAGE": IMAGE, "SANDBOX_PULL": "never"}

HELLO = {
    "python": "print('hello')",
    "javascript": "console.log('hello')",
    "java": "class Main { public static void main(String[] a) { System.out.println(\"hello\"); } }",
    "cpp": "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }",
    "go": "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }",
    "ruby": "puts 'hello'",
    "r": "cat('hello\\n')",
}


def engine(method, path):
    conn = UnixConnection(os.environ[VARIABLE].removeprefix("unix://"), DEADLINE)
    try:
        conn.request(method, "/v1.41" + path)
        answer = conn.getresponse()
        data = answer.read()
    finally:
        conn.close()
    return json.loads(data) if data[:1] in (b"{", b"[") else None


def containers(server):
    """Those of this server's process."""
    filters = urllib.parse.quote('{"label":["llm-sandbox.owner"]}')
    return [c for c in engine("GET", "/containers/json?all=1&filters=" + filters)
            if "/%d/" % server.process.pid in c["Labels"]["llm-sandbox.owner"]]


def start_raw(**how):
    """A server that nobody reads from in the background."""
    return subprocess.Popen([sandbox_test.PROGRAM, "mcp"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, **{"env": {**CLEAN, **SETTINGS}, **how})


def make_call(code):
    """Of the newer era, which needs no greeting."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "_meta": MODERN, "name": "execute_code", "arguments": {"code": code, "timeout": 300}}}).encode()


def ask_raw(process, code):
    process.stdin.write(make_call(code) + b"\n")
    process.stdin.flush()


def make_server(*options, **environment):
    return Server(*options, **{**SETTINGS, **environment})


class EngineCase(KernelCase):
    @classmethod
    def setUpClass(cls):
        cls.server = make_server()

    def setUp(self):
        pass

    def until(self, what, predicate):
        """Each look is a question to the engine, and takes its time."""
        end = time.monotonic() + DEADLINE
        while not predicate():
            self.assertLess(time.monotonic(), end, what)

    def until_none(self, server):
        self.until("a container is still there", lambda: not containers(server))

    def inspect(self, server):
        one, = containers(server)
        return engine("GET", "/containers/%s/json" % one["Id"])

    def another(self, *options, **environment):
        server = make_server(*options, **environment)
        self.addCleanup(self.end, server)
        return server

    def end(self, server):
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        server.process.stdout.close()
        server.process.stdin.close()

    def start_endless(self, server, **arguments):
        """A call that runs: it has printed something."""
        server.ask("logging/setLevel", level="info")
        number = server.start("tools/call", name="execute_code", arguments={
            "code": ENDLESS, "timeout": 300, **arguments})
        while server.lines.get(timeout=DEADLINE).get("method") != "notifications/message":
            pass
        return number


class Calls(EngineCase):
    def test_a_program_of_each_language_runs(self):
        for language, code in HELLO.items():
            with self.subTest(language=language):
                run = self.good(self.server.run(code, language, timeout=120))
                self.assertEqual((run["exit_code"], run["stdout"]), (0, "hello\n"), run)
        self.until_none(self.server)

    def test_programs_are_an_ordinary_user_without_a_network(self):
        run = self.good(self.server.run("import os, socket\nprint(os.getuid())\n"
                                        "print([n for _, n in socket.if_nameindex()])"))
        self.assertEqual(run["stdout"], "1000\n['lo']\n")

    def test_twenty_calls_at_once_get_their_own_answers(self):
        numbers = {self.server.start("tools/call", name="execute_code", arguments={
            "code": f"print({i} * 1000 + 7)", "timeout": 120}): i for i in range(20)}
        while numbers:
            message = self.server.lines.get(timeout=DEADLINE)
            i = numbers.pop(message["id"])
            self.assertEqual(self.good(message["result"])["stdout"], f"{i * 1000 + 7}\n")
        self.until_none(self.server)

    def test_a_time_limit_ends_a_program(self):
        run = self.good(self.server.run("while True: pass", timeout=1))
        self.assertEqual(run["reason"], "timeout")

    def test_artifacts_come_with_the_answer(self):
        result = self.server.run(put("a.png", make_png(2, 2, b"\xff\0\0" * 2))
                                 + "open('t.csv', 'w').write('a,b\\n1,2\\n')")
        items = {item["type"]: item for item in self.items(result)}
        colours = decode_picture(items["image"]).colours
        self.assertEqual([colour[:3] for colour in colours], [b"\xff\0\0"])
        self.assertEqual(items["resource"]["resource"]["text"], "a,b\n1,2\n")

    def test_plots_are_images(self):
        result = self.server.run("plot(1:3); hist(c(1, 2, 2, 3))", "r", timeout=120)
        images = self.items(result)
        self.assertEqual([i["mimeType"] for i in images], ["image/png"] * 2, result)
        for image in images:
            self.assertGreater(len(decode_picture(image).colours), 1)

    def test_an_image_that_is_not_there_is_told(self):
        server = self.another(SANDBOX_IMAGE="llm-sandbox-test/nosuch")
        self.assertIn("no image 'llm-sandbox-test/nosuch'", self.bad(server.run("1")))
        self.assertEqual(server.close(), 0)


class Sessions(EngineCase):
    def setUp(self):
        self.session = self.create()
        self.addCleanup(self.server.tool, "close_session", session_id=self.session)

    def use(self, name, **arguments):
        return self.good(self.server.tool(name, session_id=self.session, **arguments))

    def test_files_stay_and_are_read_written_listed_and_deleted(self):
        self.use("upload_file", path="data/one", text="1\n")
        self.use("write_file", path="data/one", content="2\n", mode="append")
        run = self.good(self.server.run("print(open('data/one').read())\nopen('more', 'wb')"
                                        ".write(bytes(range(256)))", session_id=self.session))
        self.assertEqual(run["stdout"], "1\n2\n\n")
        self.assertEqual(base64.b64decode(self.use("read_file", path="more")["content"]),
                         bytes(range(256)))
        entries = self.use("list_files", recursive=True)["entries"]
        self.assertEqual([e["path"] for e in entries], ["data", "data/one", "main.py", "more"])
        self.use("delete_file", path="data", recursive=True)
        self.assertEqual(self.use("execute_command", command="ls")["stdout"], "main.py\nmore\n")

    def test_artifacts_can_be_read_as_long_as_the_session_lives(self):
        run = self.good(self.server.run("open('t.csv', 'w').write('a\\n1\\n')",
                                        session_id=self.session))
        message, _ = self.server.ask("resources/read", uri=run["artifacts"][0]["uri"])
        self.assertEqual(message["result"]["contents"][0]["text"], "a\n1\n")

    def test_a_session_is_one_container_and_goes_with_it(self):
        server = self.another()
        session = self.create(server)
        for _ in range(3):
            self.good(server.run("1", session_id=session))
        self.assertEqual(len(containers(server)), 1)
        self.good(server.tool("close_session", session_id=session))
        self.until_none(server)
        self.assertEqual(server.close(), 0)

    def test_all_end_with_their_client(self):
        server = self.another()
        for session in [self.create(server) for _ in range(2)]:
            self.good(server.run("1", session_id=session))
        self.assertEqual(server.close(), 0)
        self.until_none(server)

    def test_kernels_keep_their_variables(self):
        for language, first in (("python", "x = 41"), ("javascript", "const x = 41"),
                                ("ruby", "x = 41"), ("r", "x <- 41"), ("java", "int x = 41;")):
            with self.subTest(language=language):
                self.cell(first, language=language, kernel=language, timeout=120)
                run = self.cell("x + 1", language=language, kernel=language, timeout=120)
                self.assertRegex(run["stdout"], r"^(\[1\] )?42\n$")

    def test_a_cancelled_cell_is_interrupted_and_its_kernel_goes_on(self):
        self.cell("x = 1")
        number = self.start_cell(ENDLESS)
        self.server.say(method="notifications/cancelled", params={"requestId": number})
        self.assertEqual(self.cell("x")["value"], "1")
        kernel, = self.good(self.manage("list"))["kernels"]
        self.assertEqual(kernel["starts"], 1)


class Ends(EngineCase):
    """What runs ends with who wanted it, and its container is gone."""

    def setUp(self):
        self.own = self.another()

    def test_a_cancelled_call(self):
        number = self.start_endless(self.own)
        self.assertEqual(len(containers(self.own)), 1)
        self.own.say(method="notifications/cancelled", params={"requestId": number})
        self.until_none(self.own)
        self.own.ask("logging/setLevel", level="error")
        self.assertEqual(self.good(self.own.run("print(1)"))["stdout"], "1\n")

    def test_a_client_that_goes(self):
        class Client:
            process = start_raw()

        ask_raw(Client.process, ENDLESS)
        self.until("nothing runs", lambda: [c for c in containers(Client) if c["State"] == "running"])
        Client.process.stdout.close()
        Client.process.stdin.close()
        Client.process.wait(DEADLINE)
        self.until_none(Client)

    def test_a_server_that_is_asked_to_end(self):
        self.start_endless(self.own)
        self.own.process.terminate()
        self.assertEqual(self.own.process.wait(DEADLINE), 0)
        self.until_none(self.own)

    def test_a_server_that_is_killed(self):
        self.start_endless(self.own)
        self.start_endless(self.own, session_id=self.create(self.own))
        self.assertEqual(len(containers(self.own)), 2)
        self.own.process.kill()
        self.own.process.wait(DEADLINE)
        self.until_none(self.own)


class Http(EngineCase):
    @classmethod
    def setUpClass(cls):
        cls.server = driver.HttpServer([sandbox_test.PROGRAM, "mcp"], env={**CLEAN, **SETTINGS})

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        assert cls.server.status == 0

    def test_clients_of_both_eras_run_and_have_sessions(self):
        for modern in (False, True):
            peer = Peer(self.server.url, modern=modern)
            self.assertEqual(self.good(peer.tool("execute_code", code="print(6 * 7)"))["stdout"],
                             "42\n")
            session = self.good(peer.tool("create_session"))["session_id"]
            self.good(peer.tool("execute_code", code="x = 1", session_id=session, kernel="main"))
            run = self.good(peer.tool("execute_code", code="x + 1", session_id=session, kernel="main"))
            self.assertEqual(run["value"], "2")
            self.good(peer.tool("close_session", session_id=session))
        self.until_none(self.server)

    def test_twenty_clients_at_once(self):
        def call(i):
            return Peer(self.server.url, modern=True).tool("execute_code", code=f"print({i} + 1000)",
                                                           timeout=120)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            for i, result in enumerate(pool.map(call, range(20))):
                self.assertEqual(self.good(result)["stdout"], f"{i + 1000}\n")
        self.until_none(self.server)

    def test_who_hangs_up_ends_what_runs(self):
        body = make_call(ENDLESS)
        place = urllib.parse.urlparse(self.server.url)
        with socket.create_connection((place.hostname, place.port), DEADLINE) as conn:
            conn.sendall((f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
                          "Content-Type: application/json\r\n"
                          "Accept: application/json, text/event-stream\r\n"
                          "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                          f"Mcp-Name: execute_code\r\nContent-Length: {len(body)}\r\n\r\n").encode()
                         + body)
            self.until("nothing runs", lambda: [c for c in containers(self.server)
                                                if c["State"] == "running"])
        self.until_none(self.server)

    def test_who_ends_its_session_ends_what_is_in_it(self):
        peer = Peer(self.server.url)
        session = self.good(peer.tool("create_session"))["session_id"]
        self.good(peer.tool("execute_code", code="1", session_id=session))
        self.assertEqual(len(containers(self.server)), 1)
        peer.leave()
        self.until_none(self.server)


class Environment(EngineCase):
    """What the server's variables make of a container, as the engine has it."""

    def container(self, command="true", **environment):
        """Of a session of a server with these variables, and what the command in it prints."""
        server = self.another(**environment)
        session = self.create(server)
        run = self.good(server.tool("execute_command", command=command, session_id=session))
        self.assertEqual(run["exit_code"], 0, run)
        found = self.inspect(server)
        self.assertEqual(server.close(), 0)
        return found["HostConfig"], run["stdout"]

    def cpus(self, host):
        """By its quota, as some engines say it, or the other way."""
        return host["CpuQuota"] / host["CpuPeriod"] if host.get("CpuQuota") else host["NanoCpus"] / 1e9

    def test_row_91_half_a_cpu(self):
        host, _ = self.container(SANDBOX_CPUS="0.5")
        self.assertEqual(self.cpus(host), 0.5)
        host, _ = self.container(SANDBOX_CPUS="0.5", SANDBOX_CPU_COUNT="1")
        self.assertEqual(self.cpus(host), 1)

    def test_row_92_memory_and_capabilities(self):
        host, said = self.container("grep CapEff /proc/self/status", SANDBOX_MEM_LIMIT=" ",
                                    SANDBOX_MEMORY="256m", SANDBOX_CAP_DROP=" ALL, ,NET_RAW")
        self.assertEqual((host["Memory"], host["MemorySwap"]), (256 << 20, 256 << 20))
        self.assertEqual(int(said.split()[1], 16), 0)
        self.assertNotIn("NET_RAW", " ".join(host.get("CapAdd") or []))

    def test_roots_networks_and_security_are_as_they_are_said(self):
        host, _ = self.container()
        self.assertEqual((host["ReadonlyRootfs"], host["NetworkMode"]), (True, "none"))
        self.assertIn("no-new-privileges", " ".join(host["SecurityOpt"]))
        host, _ = self.container(SANDBOX_READ_ONLY="off", SANDBOX_SECURITY_OPT="seccomp=unconfined,",
                                 SANDBOX_NETWORK_MODE="host", SANDBOX_PRIVILEGED="no")
        self.assertEqual((host["ReadonlyRootfs"], host["NetworkMode"]), (False, "host"))
        self.assertIn("seccomp=unconfined", host["SecurityOpt"])

    def test_runtime_configs_hold_and_are_the_most(self):
        server = self.another(SANDBOX_RUNTIME_CONFIGS='{"mem_limit": "128m", "hostname": "named"}')
        session = self.create(server)
        run = self.good(server.tool("execute_command", command="hostname", session_id=session))
        self.assertEqual(run["stdout"], "named\n")
        self.assertEqual(self.inspect(server)["HostConfig"]["Memory"], 128 << 20)
        self.assertIn("at most 128", self.bad(server.run("1", memory_mb=256)))
        self.assertEqual(server.close(), 0)

    def test_micromamba_s_base_comes_first(self):
        # It is Docker, wherever that leads.
        _, said = self.container("echo $CONDA_DEFAULT_ENV $PATH", BACKEND="micromamba",
                                 DOCKER_HOST=os.environ[VARIABLE])
        name, path = said.split()
        self.assertEqual((name, path.split(":")[0]), ("base", "/opt/conda/bin"))

    def test_auto_finds_an_engine_for_what_only_engines_do(self):
        hosts = {"CONTAINER_HOST": "unix:///nonexistent", "DOCKER_HOST": "unix:///nonexistent",
                 VARIABLE: os.environ[VARIABLE]}
        _, said = self.container("hostname", BACKEND="auto", **hosts,
                                 SANDBOX_RUNTIME_CONFIGS='{"hostname": "named"}')
        self.assertEqual(said, "named\n")

    def test_a_commit_is_a_fresh_image_whose_name_the_operator_is_told(self):
        with tempfile.TemporaryFile() as said:
            done = start_raw(stderr=said, env={**CLEAN, **SETTINGS, "COMMIT_CONTAINER": "yes"})
            ask_raw(done, "open('kept', 'w').write('x')")
            answer = json.loads(done.stdout.readline())
            done.communicate(timeout=DEADLINE)
            said.seek(0)
            text = said.read().decode()
        self.assertEqual(self.good(answer["result"])["exit_code"], 0)
        self.assertIn("committed to the image ", text)
        name = text.split("committed to the image ")[1].split()[0]
        try:
            run = self.another(SANDBOX_IMAGE=name).run("print(open('kept').read())")
            self.assertEqual(self.good(run)["stdout"], "x\n")
        finally:
            self.until("the image is still there", lambda: "message" not in (
                engine("DELETE", "/images/" + name) or {"message": ""}))

    def test_what_is_asked_of_an_image_is_not_committed(self):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "_meta": MODERN, "name": "get_language_details", "arguments": {"language": "python"}}}
        asked = subprocess.run([sandbox_test.PROGRAM, "mcp"], input=json.dumps(call) + "\n", text=True, capture_output=True,
                               timeout=DEADLINE, env={**CLEAN, **SETTINGS, "COMMIT_CONTAINER": "yes"})
        self.assertIn("preinstalled_libraries", asked.stdout)
        for line in asked.stderr.splitlines():
            if "committed to the image " in line:
                engine("DELETE", "/images/" + line.split("committed to the image ")[1].split()[0])
        self.assertNotIn("committed", asked.stderr)

    def test_what_is_wrong_ends_the_server_with_the_name_of_the_variable(self):
        for name, value in (("SANDBOX_CPU_COUNT", "2.5"), ("SANDBOX_READ_ONLY", "maybe"),
                            ("SANDBOX_RUNTIME_CONFIGS", '{"mem_limti": 1}'),
                            ("SANDBOX_PULL", "sometimes"), ("NAMESPACE", "x")):
            ran = subprocess.run([sandbox_test.PROGRAM, "mcp"], stdin=subprocess.DEVNULL, text=True,
                                 capture_output=True, timeout=DEADLINE,
                                 env={**CLEAN, **SETTINGS, name: value})
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), name)
            self.assertIn(name.removeprefix("SANDBOX_").lower(), ran.stderr.lower())


class Libraries(EngineCase):
    """Of a repository of the test's own: R is in the image with its installer."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sbx-engine-libraries-")
        os.mkdir(cls.folder.name + "/cache", 0o700)
        cls.repository = subprocess.Popen(
            [sys.executable, HERE.parent / "libraries/repository.py", cls.folder.name + "/repository"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        port = int(cls.repository.stdout.readline())
        cls.server = make_server(R_REPO="http://127.0.0.1:%d/cran" % port, HOME=cls.folder.name,
                                 XDG_CACHE_HOME=cls.folder.name + "/cache")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.repository.stdin.close()
        cls.repository.wait(DEADLINE)
        cls.repository.stdout.close()
        cls.folder.cleanup()

    def test_a_run_has_the_libraries_that_it_names(self):
        result = self.server.run("library(sbxgood); cat(hello())", "r", libraries=["sbxgood@1.0"],
                                 timeout=120)
        self.assertEqual(self.good(result)["stdout"], "good 1.0")

    def test_row_42_a_missing_library_is_told(self):
        text = self.bad(self.server.run("cat(1)", "r", libraries=["sbxnone"], timeout=120))
        self.assertIn("there is no package sbxnone", text)
        # Whether or not the image has an installer.
        text = self.bad(self.server.run("1", libraries=["sbx-there-is-none"], timeout=120))
        self.assertIn("pip", text)

    def test_row_43_what_is_no_library_of_java_is_told(self):
        text = self.bad(self.server.run("class Main {}", "java", libraries=["x"], timeout=120))
        self.assertIn("group:artifact:version", text)


if __name__ == "__main__":
    if VARIABLE not in os.environ:
        driver.skip("no container engine is named; tests/support/engines does")
    sandbox_test.PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
