#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the real MCP server offers, as a client over stdio meets it.

Usage: sandbox_test.py LLM_SANDBOX [unittest's arguments]
"""

import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = ""
DEADLINE = 120
LANGUAGES = ["python", "java", "javascript", "cpp", "go", "ruby", "r"]
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("SANDBOX_", "LLM_SANDBOX_"))
         and name not in ("BACKEND", "COMMIT_CONTAINER", "KEEP_TEMPLATE", "NAMESPACE", "R_REPO")}


class Server:
    """The program, greeted."""

    def __init__(self, *options, **environment):
        self.process = subprocess.Popen([PROGRAM, "mcp", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**CLEAN, **environment})
        self.lines = queue.Queue()
        self.next_id = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.greeting, _ = self.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                                    clientInfo={"name": "test", "version": "1"})
        self.say(method="notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def say(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, method, **params):
        self.next_id += 1
        self.say(id=self.next_id, method=method, params=params)
        return self.next_id

    def answer(self, number):
        """The answer, and what was said before it."""
        said = []
        while True:
            message = self.lines.get(timeout=DEADLINE)
            assert message is not None, "the server is gone"
            if message.get("id") == number:
                return message, said
            said.append(message)

    def ask(self, method, **params):
        return self.answer(self.start(method, **params))

    def tool(self, name, **arguments):
        message, _ = self.ask("tools/call", name=name, arguments=arguments)
        return message["result"]

    def run(self, code, language="python", **arguments):
        return self.tool("execute_code", code=code, language=language, **arguments)

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(DEADLINE)
        self.process.stdout.close()
        return status


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.close() == 0

    def good(self, result):
        self.assertFalse(result["isError"], result)
        text = next(c["text"] for c in result["content"] if c["type"] == "text")
        # Artifacts have lines of their own there.
        told = {key: value for key, value in result["structuredContent"].items()
                if key not in ("artifacts", "artifacts_left_out")}
        self.assertEqual(json.loads(text), told)
        return result["structuredContent"]

    def bad(self, result):
        self.assertTrue(result["isError"], result)
        self.assertEqual(len(result["content"]), 1)
        return result["content"][0]["text"]


class Lists(Case):
    def test_the_tools_have_the_names_and_defaults_of_the_original(self):
        message, _ = self.server.ask("tools/list")
        tools = {tool["name"]: tool for tool in message["result"]["tools"]}
        self.assertLessEqual({"execute_code", "execute_command", "get_supported_languages",
                              "get_language_details"}, set(tools))
        schema = tools["execute_code"]["inputSchema"]
        self.assertEqual(schema["required"], ["code"])
        self.assertEqual(schema["properties"]["language"]["default"], "python")
        self.assertIsNone(schema["properties"]["libraries"]["default"])
        self.assertEqual(schema["properties"]["timeout"]["default"], 30)
        self.assertFalse(tools["execute_code"]["annotations"]["readOnlyHint"])
        self.assertFalse(tools["execute_code"]["annotations"]["destructiveHint"])
        self.assertGreater(tools["execute_code"]["_meta"]["anthropic/maxResultSizeChars"], 100000)

    def test_the_languages_are_those_of_the_original(self):
        result = self.server.tool("get_supported_languages")
        self.assertEqual(result["content"][0]["text"], json.dumps(LANGUAGES, indent=2))

    def test_an_unknown_language_is_told_as_the_original_does(self):
        result = self.server.tool("get_language_details", language='A"b')
        self.assertEqual(json.loads(self.bad(result)), {"error": 'Unsupported language: A"b'})

    def test_resources_prompts_and_completion_are_there(self):
        message, _ = self.server.ask("resources/read", uri="sandbox://languages")
        details = json.loads(message["result"]["contents"][0]["text"])
        self.assertEqual(list(details), LANGUAGES)
        message, _ = self.server.ask("resources/read", uri="sandbox://languages/r")
        self.assertEqual(json.loads(message["result"]["contents"][0]["text"]), details["r"])
        message, _ = self.server.ask("resources/read", uri="sandbox://languages/cobol")
        self.assertEqual(message["error"]["code"], -32002)
        message, _ = self.server.ask("resources/list")
        self.assertEqual(len(message["result"]["resources"]), 1 + len(LANGUAGES))
        for resource in message["result"]["resources"]:
            self.assertIn("result", self.server.ask("resources/read", uri=resource["uri"])[0])
        message, _ = self.server.ask("prompts/list")
        for prompt in message["result"]["prompts"]:
            given = {a["name"]: "some" for a in prompt["arguments"] if a["required"]}
            message, _ = self.server.ask("prompts/get", name=prompt["name"], arguments=given)
            self.assertIn("some", message["result"]["messages"][0]["content"]["text"])
        for ref in ({"type": "ref/prompt", "name": "test_snippet"},
                    {"type": "ref/resource", "uri": "sandbox://languages/{language}"}):
            name = "first_language" if "name" in ref else "language"
            message, _ = self.server.ask("completion/complete", ref=ref,
                                         argument={"name": name, "value": "JA"})
            self.assertEqual(message["result"]["completion"]["values"], ["java", "javascript"])


class Examples(Case):
    def test_every_example_of_every_language_runs(self):
        for language in LANGUAGES:
            text = self.server.tool("get_language_details", language=language)["content"][0]["text"]
            details = json.loads(text)
            self.assertEqual(list(details), ["version", "package_manager", "preinstalled_libraries",
                                             "use_cases", "visualization_support", "examples"])
            self.assertRegex(details["version"], r"^[A-Z][A-Za-z.+]* \d+\.\d+")
            self.assertGreaterEqual(len(details["examples"]), 2)
            for number, example in enumerate(details["examples"]):
                with self.subTest(language=language, example=example["title"]):
                    run = self.good(self.server.run(example["code"], language, timeout=120,
                                                    stdin="amount\n1\n2.5\n"))
                    self.assertEqual(run["exit_code"], 0, run)
                    self.assertNotEqual(run["stdout"], "")
                    if number == 0:
                        self.assertEqual(run["stdout"], "Hello, world!\n")


class Code(Case):
    def test_a_language_has_names_in_any_case(self):
        self.assertEqual(self.good(self.server.run("puts 1", "RUBY"))["stdout"], "1\n")
        self.assertEqual(self.good(self.server.run("int main() {}", "C++"))["exit_code"], 0)
        self.assertIn("cobol", self.bad(self.server.run("1", "cobol")))

    def test_the_answer_begins_as_the_original_s(self):
        text = self.server.run("print(1)")["content"][0]["text"]
        self.assertEqual(list(json.loads(text))[:3], ["exit_code", "stdout", "stderr"])

    def test_a_failing_program_is_a_result(self):
        run = self.good(self.server.run("import sys; sys.stderr.write('no'); sys.exit(3)"))
        self.assertEqual((run["exit_code"], run["stderr"], run["success"], run["reason"]),
                         (3, "no", False, "exited"))
        run = self.good(self.server.run("int main() { return x; }", "cpp"))
        self.assertEqual(run["phase"], "compile")
        self.assertNotEqual(run["exit_code"], 0)

    def test_input_reaches_the_program(self):
        run = self.good(self.server.run(
            "import sys; print(sys.argv[1:], sys.stdin.read(), open('a/b.txt').read())",
            stdin="é", args=["x y", ""], files={"a/b.txt": "one", "c": ""}))
        self.assertEqual(run["stdout"], "['x y', ''] é one\n")

    def test_nothing_stays_between_calls(self):
        self.good(self.server.run("open('kept', 'w').write('x')"))
        self.assertEqual(self.good(self.server.run("import os; print(os.path.exists('kept'))"))
                         ["stdout"], "False\n")

    def test_a_file_stays_below_the_work_folder(self):
        for name in ("../x", "/etc/x", "a/../../x", "", "main.py"):
            self.assertIn(name, self.bad(self.server.run("1", files={name: "x"})))

    def test_bad_arguments_are_told(self):
        for arguments in ({"timeout": 0}, {"timeout": "soon"}, {"memory_mb": 1}, {"max_output": 1},
                          {"files": {"a": 1}}, {"args": [1]}, {"misspelt": 1}, {"code": ""},
                          {"code": "a\0b"}, {"args": ["a\0b"]}, {"memory_mb": 900000},
                          {"cpus": 500}):
            self.assertTrue(self.server.tool("execute_code", **{"code": "1", **arguments})["isError"],
                            arguments)

    def test_limits_end_a_run_and_say_so(self):
        run = self.good(self.server.run("while True: pass", timeout=1))
        self.assertEqual(run["reason"], "timeout")
        self.assertRegex(run["message"], r"time limit .* after [1-9][0-9]*\.[0-9] seconds")
        run = self.good(self.server.run("while True: pass", timeout=1.0))
        self.assertRegex(run["message"], r"time limit .* after [1-9][0-9]*\.[0-9] seconds")
        run = self.good(self.server.run("x = bytearray(10**9)", memory_mb=64))
        self.assertIn(run["reason"], ("memory", "exited"))
        self.assertFalse(run["success"])

    def test_long_output_is_cut_between_characters(self):
        run = self.good(self.server.run("print('aé€😀' * 100000)"))
        total = 100000 * 10 + 1
        self.assertEqual(run["truncated"], {"stdout_total_bytes": total})
        self.assertIn("of %d ..." % total, run["stdout"])
        self.assertNotIn("\ufffd", run["stdout"])
        self.assertLess(len(run["stdout"]), 30200)
        self.assertGreater(len(run["stdout"]), 29000)
        run = self.good(self.server.run("print('é' * 1000)", max_output=100))
        self.assertLess(len(run["stdout"]), 200)

    def test_libraries_that_are_there_run_and_others_are_named(self):
        server = Server(SANDBOX_INSTALL="off")
        run = self.good(server.run("import json", libraries=["JSON", "pip"]))
        self.assertEqual(set(run["libraries"]), {"JSON", "pip"})
        self.assertEqual(self.good(server.run("1", libraries=[]))["exit_code"], 0)
        text = self.bad(server.run("1", libraries=["no-such-thing", "pip"]))
        self.assertIn("no-such-thing", text)
        self.assertIn("switched off", text)
        for language in LANGUAGES:
            self.assertIn("no-such-thing",
                          self.bad(server.run("1", language, libraries=["no-such-thing"])))
        self.assertEqual(server.close(), 0)


class Commands(Case):
    def test_a_command_line_is_a_shell_s(self):
        result = self.server.tool("execute_command", command="cat f | tr a-z A-Z; cat; echo $1; exit 4",
                                  files={"f": "some"}, stdin="in", args=["$x"])
        run = self.good(result)
        self.assertEqual((run["exit_code"], run["stdout"]), (4, "SOMEin$x\n"))
        self.assertIn("empty", self.bad(self.server.tool("execute_command", command="")))


class Meanwhile(Case):
    def test_output_comes_as_log_messages_to_who_asked(self):
        code = "import time\nfor i in range(3): print('é', i); time.sleep(0.5)"
        message, said = self.server.ask("tools/call", name="execute_code", arguments={"code": code})
        self.assertEqual(said, [])
        self.server.ask("logging/setLevel", level="info")
        message, said = self.server.ask("tools/call", name="execute_code", arguments={"code": code})
        text = "".join(s["params"]["data"]["text"] for s in said)
        self.assertEqual(text, self.good(message["result"])["stdout"])
        self.assertGreater(len(said), 1)
        message, said = self.server.ask("tools/call", name="execute_code",
                                        arguments={"code": "print('x' * 1000000)"})
        self.assertLess(sum(len(s["params"]["data"]["text"]) for s in said), 66000)
        self.assertLess(len(said), 20)

    def test_progress_says_that_it_still_runs(self):
        message, said = self.server.ask(
            "tools/call", name="execute_code", _meta={"progressToken": "p"},
            arguments={"code": "import time; time.sleep(11)"})
        self.assertIn("running, 10 s", [s["params"].get("message") for s in said])
        self.good(message["result"])

    def test_a_cancelled_call_ends_its_program(self):
        server = Server()
        number = server.start("tools/call", name="execute_code",
                              arguments={"code": "while True: pass", "timeout": 100})
        server.say(method="notifications/cancelled", params={"requestId": number})
        begin = time.monotonic()
        self.assertEqual(server.close(), 0)  # which waits for what runs
        self.assertLess(time.monotonic() - begin, 15)


class Start(unittest.TestCase):
    def program(self, *words, **environment):
        return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=DEADLINE, env={**CLEAN, **environment})

    def test_the_first_answer_comes_at_once(self):
        best = 1
        for _ in range(5):
            begin = time.monotonic()
            server = Server()
            best = min(best, time.monotonic() - begin)
            server.close()
        self.assertLess(best, 0.05)

    def test_the_environment_of_the_original_is_applied_or_refused(self):
        ran = self.program("mcp", BACKEND="kubernetes")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("BACKEND", ran.stderr)
        # Case 91.
        for name, value in (("SANDBOX_CPU_COUNT", "2.5"), ("SANDBOX_READ_ONLY", "maybe")):
            ran = self.program("mcp", **{name: value})
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn(name, ran.stderr)
        server = Server(SANDBOX_MEMORY="64m")
        result = server.run("x = bytearray(10**8)\nprint(1)")
        self.assertNotEqual(result["structuredContent"]["exit_code"], 0)
        self.assertIn("at most 64", server.run("1", memory_mb=100)["content"][0]["text"])
        self.assertEqual(server.close(), 0)

    def test_the_limits_of_the_configuration_hold_here_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "llm-sandbox", "config.yaml")
            path.parent.mkdir()
            path.write_text("memory: 64m\nprocesses: 5\ntimeout: 1\n")
            server = Server(XDG_CONFIG_HOME=folder)
            self.assertFalse(server.run("x = bytearray(10**8)")["structuredContent"]["success"])
            self.assertIn("at most 64", server.run("1", memory_mb=100)["content"][0]["text"])
            code = "import time; time.sleep(1.2)"
            self.assertTrue(server.run(code)["structuredContent"]["success"])
            ran = server.tool("execute_command", command="for i in 1 2 3 4 5 6; do sleep 1 & done; wait")
            self.assertIn("fork", ran["structuredContent"]["stderr"])
            self.assertEqual(server.close(), 0)
            path.write_text("memory: much\n")
            ran = self.program("mcp", XDG_CONFIG_HOME=folder)
            self.assertEqual(ran.returncode, 2)
            self.assertIn("config.yaml:1", ran.stderr)

    def test_mistakes_on_the_command_line_are_told(self):
        for words, said in ((["--no-such"], "--no-such"), (["--path", "/x"], "--http"),
                            (["--workers", "0"], "1 to 256"), (["word"], "word"),
                            (["--http", "0", "--tls-cert", "/x"], "--tls-key")):
            ran = self.program("mcp", *words)
            self.assertEqual(ran.returncode, 2, words)
            self.assertIn(said, ran.stderr)

    def test_help_and_version(self):
        server = os.path.join(os.path.dirname(PROGRAM), "llm-sandbox-mcp")
        helped = subprocess.run([server, "--help"], capture_output=True, text=True)
        self.assertEqual(helped.stdout, self.program("mcp", "--help").stdout)
        with open(os.path.join(os.environ["SBX_SOURCE"], "docs/man/llm-sandbox-mcp.1.scd")) as page:
            manual = page.read()
        options = re.findall(r"--[a-z-]+", helped.stdout.split("Network\n")[1])
        self.assertIn("--token-file", options)
        self.assertIn("--allow", options)
        for option in options:
            self.assertIn("*%s*" % option, manual)
        self.assertRegex(self.program("mcp", "--version").stdout, r"^llm-sandbox-mcp \d")

    def test_a_token_of_the_server_is_no_setting_of_other_commands(self):
        ran = self.program("run", "-l", "python", "-c", "print(1)", LLM_SANDBOX_MCP_TOKEN="x")
        self.assertEqual(ran.stdout, "1\n", ran.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
