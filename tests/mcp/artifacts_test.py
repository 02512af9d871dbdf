#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run shows and makes, as clients of the real MCP server get it.

Usage: artifacts_test.py LLM_SANDBOX [unittest's arguments]
"""

import base64
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import sandbox_test
from sandbox_test import CLEAN, Server
from sessions_test import Peer, SessionCase

from driver import HttpServer

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support-files"))
from png import Picture  # noqa: E402

STRICT = os.environ.get("SBX_TEST_STRICT") == "1"


def needs(module):
    """Skips a test or class where sandboxes have no such module; strict tests fail instead."""
    has = subprocess.run(["/usr/bin/python3", "-c", "import " + module], capture_output=True)
    return unittest.skipUnless(has.returncode == 0 or STRICT,
                               f"needs {module} for /usr/bin/python3")


needs_matplotlib = needs("matplotlib")

# Each figure is one colour, so that its picture tells which it is.
FIGURE = ("import matplotlib.pyplot as plt\n"
          "def show(colour, **more):\n"
          "    plt.figure(figsize=(1, 1), facecolor=colour, **more)\n"
          "    plt.plot([1, 2], color=colour)\n"
          "    plt.axis('off')\n"
          "    plt.show()\n")


def make_png(width, height, row):
    """A PNG all of whose rows are this one, for programs without a library."""
    def chunk(name, body):
        return (struct.pack(">I", len(body)) + name + body
                + struct.pack(">I", zlib.crc32(name + body)))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress((b"\0" + row) * height)) + chunk(b"IEND", b""))


def make_noise(size):
    """A PNG that is a little larger than this."""
    return make_png(size // 3, 1, os.urandom(size // 3 * 3))


def decode_picture(item):
    """An item of an answer, as pixels."""
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        file.write(base64.b64decode(item["data"], validate=True))
        file.flush()
        return Picture(file.name)


def put(name, data):
    """A line of a program that writes these bytes."""
    return (f"import base64\nopen({name!r}, 'wb').write("
            f"base64.b64decode({base64.b64encode(data)!r}))\n")


class ArtifactCase(SessionCase):
    def items(self, result):
        """What comes behind the text and the list."""
        self.good(result)
        texts = [c for c in result["content"] if c["type"] == "text"]
        self.assertEqual(result["content"][:len(texts)], texts)
        self.assertEqual(len(texts), 2)
        return result["content"][2:]

    def lines(self, result):
        return result["content"][1]["text"].splitlines()[1:]

    def read(self, uri, server=None):
        message, _ = (server or self.server).ask("resources/read", uri=uri)
        return message

    def contents(self, uri, server=None):
        return self.read(uri, server)["result"]["contents"][0]


@needs_matplotlib
class Plots(ArtifactCase):
    def test_a_plot_is_an_image_behind_the_text(self):
        result = self.server.run(
            "import matplotlib.pyplot as plt\nprint('before')\n"
            "plt.plot([1, 2, 4], label='growth')\nplt.title('Rabbits')\n"
            "plt.xlabel('month')\nplt.show()\nprint('after')")
        image, = self.items(result)
        self.assertEqual((image["type"], image["mimeType"]), ("image", "image/png"))
        picture = decode_picture(image)
        self.assertGreater(len(picture.colours), 10)
        run = self.good(result)
        self.assertEqual(run["stdout"], "before\nafter\n")
        artifact, = run["artifacts"]
        self.assertEqual((artifact["number"], artifact["kind"], artifact["mime_type"],
                          artifact["shown"], artifact["source"]),
                         (1, "plot", "image/png", "image", "matplotlib"))
        self.assertEqual((artifact["width"], artifact["height"]), (picture.width, picture.height))
        self.assertEqual(artifact["size"], len(base64.b64decode(image["data"])))
        self.assertNotIn("uri", artifact)
        axes, = artifact["chart"]["axes"]
        self.assertEqual((axes["title"], axes["x_label"]), ("Rabbits", "month"))
        line, = self.lines(result)
        self.assertIn(artifact["name"], line)
        self.assertNotIn("chart", "".join(c.get("text", "") for c in result["content"]))

    def test_plots_come_in_the_order_in_which_they_were_made(self):
        colours = ["red", "lime", "blue", "black"]
        result = self.server.run(FIGURE + "".join(f"show({c!r})\n" for c in colours))
        found = [max(picture.colours, key=picture.colours.get)[:3]
                 for picture in map(decode_picture, self.items(result))]
        self.assertEqual(found, [b"\xff\0\0", b"\0\xff\0", b"\0\0\xff", b"\0\0\0"])
        self.assertEqual([a["number"] for a in self.good(result)["artifacts"]], [1, 2, 3, 4])

    def test_a_plot_of_a_run_that_fails_or_times_out_comes_all_the_same(self):
        result = self.server.run(FIGURE + "show('red')\nraise SystemExit(3)")
        self.assertEqual(self.good(result)["exit_code"], 3)
        self.assertEqual(len(self.items(result)), 1)
        result = self.server.run(FIGURE + "show('red')\nwhile True: pass", timeout=10)
        self.assertEqual(self.good(result)["reason"], "timeout")
        self.assertEqual(len(self.items(result)), 1)

    def test_a_program_of_a_shell_shows_its_plots_too(self):
        result = self.server.tool("execute_command", command="python3 plot.py",
                                  files={"plot.py": FIGURE + "show('red')"})
        self.assertEqual([i["type"] for i in self.items(result)], ["image"])

    def test_each_format_is_what_it_is(self):
        result = self.server.run(FIGURE + "figure = plt.figure(figsize=(1, 1))\n"
                                 "for end in ('svg', 'jpg', 'pdf', 'png'):\n"
                                 "    figure.savefig('plot.' + end)\nplt.close()\n")
        items = self.items(result)
        self.assertEqual([(i["type"], i.get("mimeType") or i["resource"]["mimeType"])
                          for i in items],
                         [("image", "image/svg+xml"), ("image", "image/jpeg"),
                          ("resource", "application/pdf"), ("image", "image/png")])
        self.assertIn(b"<svg", base64.b64decode(items[0]["data"]))
        self.assertTrue(base64.b64decode(items[2]["resource"]["blob"]).startswith(b"%PDF-"))

    def test_numbers_go_on_in_a_session_and_each_run_shows_its_own(self):
        session = self.create()
        for number, colour in enumerate(("red", "lime"), 1):
            result = self.server.run(FIGURE + f"show({colour!r})", session_id=session)
            image, = self.items(result)
            artifact, = self.good(result)["artifacts"]
            self.assertEqual(artifact["number"], number)
            uri = f"sandbox://sessions/{session}/artifacts/{number}"
            self.assertEqual(artifact["uri"], uri)
            self.assertIn(uri, self.lines(result)[0])
            read = self.contents(uri)
            self.assertEqual((read["blob"], read["mimeType"]), (image["data"], "image/png"))


@needs_matplotlib
class Many(ArtifactCase):
    def test_a_hundred_plots_make_an_answer_that_clients_take(self):
        session = self.create()
        result = self.server.run("import matplotlib.pyplot as plt\nfor i in range(100):\n"
                                 "    plt.plot([1, i, 2])\n    plt.title(str(i))\n    plt.show()\n",
                                 session_id=session, timeout=100)
        self.assertLess(len(json.dumps(result)), 1 << 20)
        artifacts = self.good(result)["artifacts"]
        self.assertEqual([a["title"] for a in artifacts], [str(i) for i in range(100)])
        items = self.items(result)
        self.assertEqual(len(items), 100)
        for artifact, item in zip(artifacts, items):
            blob = self.contents(artifact["uri"])["blob"]
            if artifact["shown"] == "image":
                self.assertEqual(item["data"], blob)
            else:
                self.assertEqual((item["type"], item["uri"]), ("resource_link", artifact["uri"]))
                self.assertTrue(base64.b64decode(blob).startswith(b"\x89PNG"))


class Files(ArtifactCase):
    PNG = make_png(3, 2, b"\xff\0\0" * 3)

    def test_what_a_program_writes_comes_as_what_it_is(self):
        result = self.server.run(
            "open('a.csv', 'w').write('x,y\\n1,é\\n')\n"
            "open('b.html', 'w').write('<!DOCTYPE html><html><body>hi</body></html>')\n"
            "open('c.json', 'w').write('{\"a\": [1]}')\n" + put("d.png", self.PNG))
        items = {}
        for item, artifact in zip(self.items(result), self.good(result)["artifacts"]):
            items[artifact["name"]] = item
        self.assertEqual(items["a.csv"]["resource"]["text"], "x,y\n1,é\n")
        self.assertEqual(items["a.csv"]["resource"]["mimeType"], "text/csv")
        self.assertEqual(items["b.html"]["resource"]["mimeType"], "text/html")
        self.assertEqual(json.loads(items["c.json"]["resource"]["text"]), {"a": [1]})
        self.assertEqual(base64.b64decode(items["d.png"]["data"]), self.PNG)
        self.assertEqual(len({i["resource"]["uri"] for i in items.values() if "resource" in i}), 3)

    def test_a_picture_page_of_any_language_comes_and_inputs_do_not(self):
        result = self.server.run("plot(1:3); hist(c(1, 2, 2))", "r", timeout=100)
        self.assertEqual([i["mimeType"] for i in self.items(result)], ["image/png"] * 2)
        self.assertTrue(all(len(decode_picture(i).colours) > 1 for i in self.items(result)))
        result = self.server.run("require('fs').copyFileSync('in.csv', 'out.csv')", "javascript",
                                 files={"in.csv": "1,2\n"})
        self.assertEqual([a["name"] for a in self.good(result)["artifacts"]], ["out.csv"])

    def test_the_files_that_a_run_wrote_are_told(self):
        session = self.create()
        run = self.good(self.server.run("open('kept', 'w').write('123')", session_id=session))
        self.assertEqual(run["changed_files"], [{"path": "kept", "size": 3}])
        run = self.good(self.server.run("print(1)", session_id=session))
        self.assertNotIn("changed_files", run)
        run = self.good(self.server.run("for i in range(150): open('f%03d' % i, 'w')",
                                        session_id=session))
        self.assertEqual(len(run["changed_files"]), 100)
        self.assertTrue(run["changed_files_truncated"])

    def test_a_large_one_is_a_link_in_a_session_and_else_told(self):
        code = "open('big.csv', 'w').write('1,2,3\\n' * 20000)"
        result = self.server.run(code)
        self.assertEqual(self.items(result), [])
        self.assertIn("too large", self.lines(result)[0])
        self.assertIn("create_session", self.lines(result)[1])
        self.assertEqual(self.good(result)["artifacts"][0]["shown"], "no")
        session = self.create()
        result = self.server.run(code, session_id=session)
        link, = self.items(result)
        self.assertEqual((link["type"], link["name"], link["size"], link["mimeType"]),
                         ("resource_link", "big.csv", 120000, "text/csv"))
        self.assertEqual(self.contents(link["uri"])["text"], "1,2,3\n" * 20000)
        self.good(self.server.tool("execute_command", command="truncate -s 9M big.csv",
                                   session_id=session))
        self.assertIn("in pieces", self.read(link["uri"])["error"]["message"])

    def test_an_answer_has_no_more_than_the_operator_says(self):
        server = Server(SANDBOX_IMAGE_BYTES="2k", SANDBOX_EMBED_BYTES="9",
                        SANDBOX_ANSWER_BYTES="3k")
        session = self.create(server)
        result = server.run(put("a.png", self.PNG) + put("b.png", make_noise(1600))
                            + put("c.png", make_noise(1600)) + put("d.png", make_noise(3000))
                            + "open('e.csv', 'w').write('123456789\\n')", session_id=session)
        shown = {a["name"]: a["shown"] for a in self.good(result)["artifacts"]}
        self.assertEqual(shown, {"a.png": "image", "b.png": "image", "c.png": "no",
                                 "d.png": "no", "e.csv": "no"})
        self.assertEqual([i["type"] for i in self.items(result)].count("resource_link"), 3)
        why = {a["name"]: a.get("not_shown") for a in self.good(result)["artifacts"]}
        self.assertIn("one too many", why["c.png"])
        self.assertIn("too large", why["d.png"])
        self.assertEqual(server.close(), 0)

    def test_what_the_run_did_not_keep_is_counted(self):
        result = self.server.run("for i in range(210): open('%03d.json' % i, 'w').write('{}')")
        run = self.good(result)
        self.assertEqual(len(run["artifacts"]), 200)
        self.assertEqual(run["artifacts_left_out"], 10)
        self.assertIn("10 more", self.lines(result)[200])

    def test_an_operator_can_switch_them_off(self):
        server = Server(SANDBOX_ARTIFACTS="off")
        result = server.run("open('a.json', 'w').write('{}')")
        self.assertNotIn("artifacts", self.good(result))
        self.assertEqual(len(result["content"]), 1)
        self.assertEqual(server.close(), 0)

    def test_structured_content_can_be_left_out_for_clients_that_prefer_it_to_images(self):
        server = Server(SANDBOX_STRUCTURED="off")
        message, _ = server.ask("tools/list")
        self.assertFalse([t for t in message["result"]["tools"] if "outputSchema" in t])
        result = server.run(put("a.png", self.PNG))
        self.assertNotIn("structuredContent", result)
        self.assertEqual([c["type"] for c in result["content"]], ["text", "text", "image"])
        self.assertEqual(json.loads(result["content"][0]["text"])["exit_code"], 0)
        self.assertEqual(server.close(), 0)


class Resources(ArtifactCase):
    def setUp(self):
        self.session = self.create()
        self.result = self.server.run("open('a.json', 'w').write('{\"n\": 1}')",
                                      session_id=self.session)
        self.uri = self.good(self.result)["artifacts"][0]["uri"]

    def test_there_is_a_template_for_them(self):
        message, _ = self.server.ask("resources/templates/list")
        templates = [t["uriTemplate"] for t in message["result"]["resourceTemplates"]]
        self.assertIn("sandbox://sessions/{id}/artifacts/{number}", templates)

    def test_one_can_be_read_as_long_as_its_session_lives(self):
        contents = self.contents(self.uri)
        self.assertEqual((contents["uri"], contents["mimeType"], json.loads(contents["text"])),
                         (self.uri, "application/json", {"n": 1}))
        self.good(self.server.tool("close_session", session_id=self.session))
        self.assertIn("was closed at", self.read(self.uri)["error"]["message"])

    def test_one_whose_file_is_gone_says_so(self):
        self.good(self.server.tool("delete_file", session_id=self.session, path="a.json"))
        self.assertIn("a.json", self.read(self.uri)["error"]["message"])

    def test_uris_of_nothing_are_refused(self):
        base = self.uri[:-1]
        uris = [base + wrong for wrong in ("", "0", "01", "-1", "1x", "1/", "1/1", "4294967296",
                                           "4294967297", "%31", "9" * 40)]
        uris += [self.uri.replace(self.session, wrong) for wrong in ("0" * 32, "x")]
        for uri in uris:
            self.assertEqual(self.read(uri)["error"]["code"], -32002, uri)
        self.assertIn("it has 1 to 1", self.read(base + "7")["error"]["message"])
        other = self.create()
        self.assertIn("no artifacts", self.read(self.uri.replace(self.session, other))
                      ["error"]["message"])

    def test_a_session_that_expired_says_so(self):
        session = self.create(lifetime=2)
        uri = self.good(self.server.run("open('a.json', 'w').write('{}')", session_id=session)
                        )["artifacts"][0]["uri"]
        self.server.run("while True: pass", session_id=session, timeout=20)
        self.assertIn("its life of 2 seconds was over", self.read(uri)["error"]["message"])

    def test_another_client_s_are_refused(self):
        with HttpServer([sandbox_test.PROGRAM, "mcp"], env=CLEAN) as http:
            one, other = Peer(http.url), Peer(http.url)
            session = self.good(one.tool("create_session"))["session_id"]
            run = self.good(one.tool("execute_code", code="open('a.json', 'w').write('{}')",
                                     session_id=session))
            uri = run["artifacts"][0]["uri"]
            self.assertIn("result", one.ask("resources/read", uri=uri))
            for peer in (other, Peer(http.url, modern=True)):
                message = peer.ask("resources/read", uri=uri)["error"]["message"]
                self.assertIn("never opened", message)


class Hostile(ArtifactCase):
    PNG = make_png(2, 2, b"\0\0\xff" * 2)

    def test_names_are_only_names(self):
        names = ['"}],"isError":true,"x":".csv', "a\nb.csv", "\x1b[31mred.csv", "%2e%2e%2f.csv",
                 "?query#part.csv", "é€😀.csv", " .csv",
                 "a" * 240 + ".csv"]
        session = self.create()
        result = self.server.run(
            f"for name in {names!r}: open(name, 'w').write('1,2\\n')\n"
            "open(b'\\xff\\xfe.csv', 'w').write('1,2\\n')", session_id=session)
        artifacts = self.good(result)["artifacts"]
        self.assertEqual(len(artifacts), len(names) + 1)
        self.assertEqual(len(self.lines(result)), len(names) + 1)
        self.assertEqual(len({a["name"] for a in artifacts}), len(names) + 1)
        for artifact, item in zip(artifacts, self.items(result)):
            self.assertTrue(artifact["name"].isprintable(), artifact)
            self.assertRegex(artifact["uri"], r"^sandbox://sessions/[0-9a-f]{32}/artifacts/[0-9]+$")
            self.assertEqual(item["resource"]["text"], "1,2\n")
            self.assertEqual(self.contents(artifact["uri"])["text"], "1,2\n")

    def test_no_broken_picture_is_an_image(self):
        cut = self.PNG[:-20]
        huge = make_png(9000, 1, bytes(27000))
        result = self.server.run(put("a.png", cut) + put("b.png", huge)
                                 + "open('c.png', 'w').write('none')\n" + put("d.png", self.PNG))
        images = [i for i in self.items(result) if i["type"] == "image"]
        self.assertEqual([base64.b64decode(i["data"]) for i in images], [self.PNG])
        why = {a["name"]: a.get("not_shown") for a in self.good(result)["artifacts"]}
        self.assertEqual(why["a.png"], "is cut off")
        self.assertIn("8000 pixels", why["b.png"])
        session = self.create()
        self.good(self.server.run(put("a.png", cut), session_id=session))
        result = self.server.tool("read_file", path="a.png", session_id=session)
        self.assertEqual([c["type"] for c in result["content"]], ["text"])
        self.assertEqual(base64.b64decode(self.good(result)["content"]), cut)

    def test_what_is_forged_is_not_believed(self):
        meta = {"mime": 'image/png"},{"', "kind": "plot", "source": "x" * 100,
                "title": "a\n\x00\x1b[0m", "width": -1, "height": 1e300, "chart": {"kind": "line"}}
        deep = ('{"mime": "image/png", "kind": "plot", "chart": ' + '{"a":' * 500 + "1"
                + "}" * 500 + "}")
        result = self.server.run(
            "import os, json\nfolder = os.environ['LLM_SANDBOX_ARTIFACTS']\n"
            "def forge(n, meta, data):\n"
            "    open(f'{folder}/{n:06}.meta', 'w').write(meta + '\\n')\n"
            "    open(f'{folder}/{n:06}.png', 'wb').write(data)\n"
            f"forge(1, json.dumps({meta!r}), b'no picture')\n"
            f"forge(2, {deep!r}, {self.PNG!r})\n"
            "forge(3, json.dumps({'mime': 'text/html', 'kind': 'plot'}), b'\\xff\\xfe\\x00')\n")
        self.assertFalse(result["isError"])
        run = self.good(result)
        for artifact, line in zip(run.get("artifacts", []), self.lines(result)):
            self.assertRegex(artifact["mime_type"], r"^[a-z]+/[a-z0-9.+-]+$")
            self.assertTrue(line.isprintable(), line)
        for item in self.items(result):
            if item["type"] == "image":
                self.assertEqual(base64.b64decode(item["data"]), self.PNG)
            elif item["type"] == "resource" and "text" in item["resource"]:
                self.assertNotIn("\ufffd", item["resource"]["text"])


if __name__ == "__main__":
    sandbox_test.PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=1)
