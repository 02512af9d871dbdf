#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel where IPython is: magics, commands, rich displays."""
import json
import unittest

from inside import KernelCase, needs
from png import Picture

OK = ("ok", 0)
ESCAPE = "\x1b"


@needs("IPython")
class IPython(KernelCase):
    kind = None

    def test_it_is_chosen_where_ipython_is_and_says_so(self):
        self.assertEqual(self.kernel().ready["features"], ["rich"])

    def test_state_results_and_history(self):
        kernel = self.kernel()
        kernel.run("x = 41")
        cell = kernel.run("print('out')\nx + 1")
        self.assertEqual((cell.stdout, cell.stderr, cell.result, cell.status),
                         ("out\n", "", "42", OK))
        self.assertIsNone(kernel.run("x;").result)
        self.assertIsNone(kernel.run("x", silent=True).result)
        self.assertEqual(kernel.run("_ + Out[2]").result, "84")
        self.assertEqual(kernel.run("%history -n 1-2").stdout,
                         "   1: x = 41\n   2:\nprint('out')\nx + 1\n")

    def test_errors_have_plain_tracebacks_of_the_cells_lines_on_stderr(self):
        kernel = self.kernel()
        kernel.run("def f(x):\n    return 1 / x", name="cell-a")
        cell = kernel.run("y = 1\nf(0)", name="cell-b")
        self.assertEqual((cell.status, cell.stdout), (("error", 1), ""))
        self.assertEqual(cell.error, {"name": "ZeroDivisionError", "message": "division by zero"})
        lines = [line for line in cell.stderr.splitlines() if line.strip(" ~^")]
        self.assertEqual(lines, [
            "Traceback (most recent call last):",
            '  File "cell-b", line 2, in <module>', "    f(0)",
            '  File "cell-a", line 2, in f', "    return 1 / x",
            "ZeroDivisionError: division by zero"])
        cell = kernel.run("x = = 1")
        self.assertEqual((cell.error["name"], cell.stdout), ("SyntaxError", ""))
        self.assertIn('File "cell-3", line 1', cell.stderr)
        self.assertEqual(kernel.run("if 1:\nx").error["name"], "IndentationError")
        self.assertEqual(kernel.run("y").result, "1")

    def test_magics(self):
        kernel = self.kernel()
        self.assertRegex(kernel.run("%timeit -n 10 -r 2 1 + 1").stdout, "loops")
        self.assertRegex(kernel.run("%%time\nx = 1").stdout, "Wall time")
        cell = kernel.run("%pip --version")
        self.assertRegex(cell.stdout, r"^pip \d", cell.stderr)
        cell = kernel.run("%no_such_magic")
        self.assertEqual((cell.status, cell.error["name"]), (("error", 1), "UsageError"))
        self.assertIn("%no_such_magic", cell.stderr)
        self.assertNotIn(ESCAPE, cell.stderr)
        self.assertEqual(kernel.run("%timeit 1/0").error["name"], "ZeroDivisionError")
        self.assertEqual(kernel.run("%matplotlib inline").status, OK)
        kernel.run("%%writefile a.txt\nhello")
        self.assertEqual((self.work / "a.txt").read_text(), "hello\n")

    def test_commands(self):
        kernel = self.kernel()
        (self.work / "a.txt").write_text("")
        cell = kernel.run("print('first', end=' ')\n!ls\nname = 'b'\n!echo {name} >&2; exit 3")
        self.assertEqual((cell.stdout, cell.stderr), ("first a.txt\n", "b\n"))
        self.assertEqual(kernel.run("_exit_code").result, "3")
        self.assertEqual(kernel.run("files = !ls\nlist(files)").result, "['a.txt']")
        number = kernel.start("!echo started; sleep 1000")
        kernel.wait_for_output("started")
        kernel.interrupt()
        self.assertEqual(kernel.finish(number).done["status"], "interrupted")
        self.assertEqual(kernel.run("name").result, "'b'")

    def test_exit_ends_the_cell_with_its_code_and_not_the_kernel(self):
        kernel = self.kernel()
        for code, status in (("exit(3)", 3), ("quit", 0), ("import sys; sys.exit(4)", 4)):
            cell = kernel.run(code)
            self.assertEqual((cell.status, cell.stderr, cell.stdout), (("exit", status), "", ""))

    def test_an_interrupt_ends_a_busy_loop_and_state_survives(self):
        kernel = self.kernel()
        for loop in ("while True: pass", "import asyncio; await asyncio.sleep(1000)"):
            number = kernel.start("x = 7; print('in it')\n" + loop)
            kernel.wait_for_output("in it")
            kernel.interrupt()
            cell = kernel.finish(number)
            self.assertEqual((cell.status, cell.error["name"]),
                             (("interrupted", 130), "KeyboardInterrupt"))
            self.assertEqual(kernel.run("x").result, "7")

    def test_interrupts_at_any_moment_leave_a_kernel_that_answers(self):
        kernel = self.kernel()
        for _ in range(100):
            number = kernel.start("x = [i for i in range(1000)]\nx")
            kernel.interrupt()
            kernel.interrupt()
            self.assertIn(kernel.finish(number).done["status"], ("ok", "interrupted"))
        self.assertEqual(kernel.run("1").result, "1")

    def test_streams_forks_and_input(self):
        kernel = self.kernel()
        kernel.run("import os, sys\nsys.stdout.close(); os.close(2)")
        cell = kernel.run("print('out')\nprint('err', file=sys.stderr)")
        self.assertEqual((cell.stdout, cell.stderr), ("out\n", "err\n"))
        cell = kernel.run("child = os.fork()\nif child: print(os.waitpid(child, 0)[1])\n"
                          "else: print('child')")
        self.assertEqual((cell.stdout, cell.stderr), ("child\n0\n", ""))
        self.assertEqual(kernel.run("input()").error["name"], "EOFError")

    def test_top_level_await(self):
        cell = self.kernel().run("import asyncio\nasync def f(): return 5\n"
                                 "task = asyncio.create_task(f())\nawait task")
        self.assertEqual((cell.result, cell.stderr), ("5", ""))

    def test_display_makes_artifacts(self):
        kernel = self.kernel()
        cell = kernel.run(
            "from IPython.display import *\nimport base64, zlib\n"
            "display(HTML('<b>é</b>'))\n"
            "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))\n"
            "display(JSON({'a': [1]}))\ndisplay(Latex('$x$'))\ndisplay(Markdown('# m'))\n"
            "display('text', 5)\nclear_output()")
        self.assertEqual((cell.displays, cell.stderr), ([1, 2, 3, 4, 5], ""))
        self.assertEqual(cell.stdout, "'text'\n5\n")
        shown = self.artifacts()
        self.assertEqual([(a.extension, a.meta["mime"]) for a in shown], [
            ("html", "text/html"), ("svg", "image/svg+xml"), ("json", "application/json"),
            ("tex", "text/latex"), ("md", "text/markdown")])
        self.assertEqual({(a.meta["kind"], a.meta["source"]) for a in shown},
                         {("display", "ipython")})
        self.assertEqual(shown[0].data.decode(), "<b>é</b>")
        self.assertEqual(json.loads(shown[2].data), {"a": [1]})
        self.assertEqual(shown[4].data, b"# m")

    @needs("PIL")
    def test_a_picture_as_a_last_expression_is_one_artifact(self):
        kernel = self.kernel()
        cell = kernel.run("from PIL import Image\nImage.new('RGB', (4, 3), (255, 0, 0))")
        self.assertEqual((cell.displays, cell.result), ([1], None))
        picture = Picture(self.artifacts()[0].data)
        self.assertEqual(picture.colours(), {(255, 0, 0): 12})
        kernel.run("from IPython.display import Image as Shown\n"
                   "image = Image.new('RGB', (2, 2)); image.save('a.png'); Shown('a.png')")
        self.assertEqual((self.artifacts()[1].meta["width"]), 2)

    @needs("pandas")
    def test_a_table_is_text_and_html(self):
        cell = self.kernel().run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertIn("1  2", cell.result)
        self.assertIn(b"<table", self.artifacts()[0].data)

    @needs("matplotlib")
    def test_figures_are_shown_once(self):
        kernel = self.kernel()
        cell = kernel.run("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])")
        self.assertEqual(cell.displays, [1], cell.stderr)
        self.assertIn("Line2D", cell.result)
        cell = kernel.run("fig, ax = plt.subplots(); ax.plot([1])\nfig")
        self.assertEqual((cell.displays, cell.stderr), ([2], ""))
        cell = kernel.run("fig, ax = plt.subplots(); ax.plot([1])\ndisplay(fig); ax.plot([2]);")
        self.assertEqual(cell.displays, [3, 4])
        self.assertTrue(all(a.meta["source"] == "matplotlib" for a in self.artifacts()))

    @needs("plotly")
    def test_a_plotly_figure_as_a_last_expression_is_one_page(self):
        cell = self.kernel().run("import plotly.graph_objects as go\n"
                                 "go.Figure(go.Bar(x=['a'], y=[1]))")
        self.assertEqual((cell.displays, cell.stdout), ([1], ""), cell.stderr)

    def test_reset_forgets_everything(self):
        kernel = self.kernel()
        kernel.run("x = 1")
        self.assertEqual(kernel.reset().status, OK)
        self.assertEqual(kernel.run("x").error["name"], "NameError")
        self.assertEqual(kernel.run("exit(2)").status, ("exit", 2))
        self.assertEqual(kernel.run("print(__name__)").stdout, "__main__\n")

    def test_nothing_is_left_in_the_home_folder(self):
        kernel = self.kernel(TMPDIR=str(self.folder))
        kernel.run("1")
        self.assertEqual(list(self.work.iterdir()), [])
        kernel.send(op="exit")
        self.assertEqual(kernel.wait(), 0)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"work", "shown"})


if __name__ == "__main__":
    unittest.main(verbosity=1)
