#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plain Python kernel, with the host's end played here."""
import struct
import unittest

from inside import KernelCase, needs

OK = ("ok", 0)


class Plain(KernelCase):
    def test_it_says_what_it_is(self):
        ready = self.kernel().ready
        self.assertEqual((ready["op"], ready["language"], ready["features"]),
                         ("ready", "python", []))
        self.assertRegex(ready["version"], r"^3\.\d+\.\d+$")

    def test_state_stays_from_cell_to_cell(self):
        kernel = self.kernel()
        self.assertEqual(kernel.run("x = 41\ndef f():\n    return x + 1").status, OK)
        cell = kernel.run("print(f())")
        self.assertEqual((cell.stdout, cell.stderr, cell.result), ("42\n", "", None))

    def test_the_value_of_a_last_expression_is_the_result(self):
        kernel = self.kernel()
        self.assertEqual(kernel.run("x = 'a'\nx").result, "'a'")
        self.assertIsNone(kernel.run("None").result)
        self.assertIsNone(kernel.run("x;").result)
        self.assertIsNone(kernel.run("x", silent=True).result)
        self.assertEqual(kernel.run("_").result, "'a'")
        self.assertEqual(kernel.run("").status, OK)

    def test_a_huge_result_is_cut_and_says_so(self):
        result = self.kernel().run("'\\x01' * 5_000_000").result
        self.assertLess(len(result), 600_000)
        self.assertTrue(result.endswith("(20000002 characters in all)"))

    def test_an_exception_leaves_state_and_a_traceback_of_the_cells_lines(self):
        kernel = self.kernel()
        kernel.run("def f(x):\n    return 1 / x", name="cell-a")
        cell = kernel.run("y = 1\nf(0)", name="cell-b")
        self.assertEqual(cell.status, ("error", 1))
        self.assertEqual(cell.error, {"name": "ZeroDivisionError", "message": "division by zero"})
        lines = [line for line in cell.stderr.splitlines() if line.strip(" ~^")]
        self.assertEqual(lines, [
            "Traceback (most recent call last):",
            '  File "cell-b", line 2, in <module>', "    f(0)",
            '  File "cell-a", line 2, in f', "    return 1 / x",
            "ZeroDivisionError: division by zero"])
        self.assertEqual(cell.stdout, "")
        self.assertEqual(kernel.run("y").result, "1")

    def test_a_syntax_error_is_one_of_the_cell_and_nothing_of_it_runs(self):
        kernel = self.kernel()
        cell = kernel.run("print(1)\nx = = 2")
        self.assertEqual((cell.status, cell.error["name"], cell.stdout),
                         (("error", 1), "SyntaxError", ""))
        self.assertIn('File "cell-1", line 2', cell.stderr)
        self.assertIn("x = = 2", cell.stderr)
        self.assertNotIn("llm_sandbox", cell.stderr)
        self.assertEqual(kernel.run("1").result, "1")

    def test_exit_ends_the_cell_with_its_code_and_not_the_kernel(self):
        kernel = self.kernel()
        kernel.run("x = 1")
        for code, status in (("exit(3)", 3), ("quit()", 0), ("import sys; sys.exit(-1)", 255),
                             ("raise SystemExit('no')", 1)):
            cell = kernel.run(code + "\nprint('not reached')")
            self.assertEqual((cell.status, cell.stdout, cell.error), (("exit", status), "", None))
        self.assertEqual(cell.stderr, "no\n")
        self.assertEqual(kernel.run("input()").error["name"], "EOFError")
        self.assertEqual(kernel.run("x").result, "1")

    def test_an_interrupt_ends_a_busy_loop_and_state_survives(self):
        kernel = self.kernel()
        for loop in ("while True: pass", "import time; time.sleep(1000)",
                     "import threading; threading.Event().wait()",
                     "import asyncio; await asyncio.sleep(1000)"):
            number = kernel.start("x = 7; print('in it', flush=True)\n" + loop)
            kernel.wait_for_output("in it")
            kernel.interrupt()
            cell = kernel.finish(number)
            self.assertEqual(cell.status, ("interrupted", 130))
            self.assertEqual(cell.error["name"], "KeyboardInterrupt")
            self.assertIn("KeyboardInterrupt", cell.stderr)
            self.assertNotIn("on_interrupt", cell.stderr)
            self.assertEqual(kernel.run("x").result, "7")

    def test_an_interrupt_of_an_idle_kernel_does_nothing(self):
        kernel = self.kernel()
        kernel.run("x = 1")
        for _ in range(50):
            kernel.interrupt()
        self.assertEqual(kernel.run("x").result, "1")

    def test_interrupts_at_any_moment_leave_a_kernel_that_answers(self):
        kernel = self.kernel()
        for _ in range(200):
            number = kernel.start("x = [i for i in range(1000)]\nx")
            kernel.interrupt()
            kernel.interrupt()
            self.assertIn(kernel.finish(number).done["status"], ("ok", "interrupted"))
        self.assertEqual(kernel.run("1").result, "1")

    def test_an_interrupt_handler_of_a_cell_ends_with_it(self):
        kernel = self.kernel()
        kernel.run("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                   "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])")
        number = kernel.start("print('in it')\nwhile True: pass")
        kernel.wait_for_output("in it")
        kernel.interrupt()
        self.assertEqual(kernel.finish(number).status, ("interrupted", 130))

    def test_a_cell_that_closes_or_replaces_its_streams_does_not_break_the_next(self):
        kernel = self.kernel()
        for harm in ("import os; os.close(1); os.close(2)",
                     "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
                     "import sys; sys.stdout = sys.__stdout__ = None; del sys.stderr",
                     "import io; sys.stdout = io.StringIO()",
                     "sys.stdout.detach(); sys.stderr.detach()",
                     "f = open('/dev/null', 'w'); os.dup2(f.fileno(), 1); os.dup2(f.fileno(), 2)",
                     "os.close(1); raise SystemExit",
                     "os.close(3) if os.path.exists('/proc/self/fd/3') else 0"):
            kernel.run(harm)
            cell = kernel.run("import os, sys\nprint('out')\nprint('err', file=sys.stderr)\n"
                              "import subprocess\n"
                              "subprocess.run(['echo', 'child'])\n0")
            self.assertEqual((cell.stdout, cell.stderr, cell.status),
                             ("out\nchild\n", "err\n", OK), harm)
        cell = kernel.run("os.close(2)\n1/0")
        self.assertIn("ZeroDivisionError", cell.stderr)

    def test_what_was_printed_is_there_before_the_end_is_told(self):
        kernel = self.kernel(PYTHONUNBUFFERED=None)
        cell = kernel.run("import ctypes\nctypes.CDLL(None).printf(b'from C\\n')\nprint('x')\n"
                          "open('/proc/self/fd/1', 'w').write('direct\\n'); None")
        self.assertEqual(sorted(cell.stdout.splitlines()), ["direct", "from C", "x"])

    def test_a_million_lines_come_whole(self):
        cell = self.kernel().run("print('\\n'.join(map(str, range(1_000_000))))")
        self.assertEqual(len(cell.stdout.splitlines()), 1_000_000)

    def test_a_fork_in_a_cell_never_speaks_for_the_kernel(self):
        kernel = self.kernel()
        cell = kernel.run(
            "import os, atexit\natexit.register(lambda: print('end of', 'kernel' if os.getpid() "
            "== parent else 'child', flush=True))\nparent = os.getpid()\n"
            "child = os.fork()\n"
            "if child:\n    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
            "else:\n    print('child')\n"
            "'%s' % child", name="forking")
        self.assertEqual((cell.status, cell.stdout), (OK, "child\nend of child\n"))
        self.assertEqual(kernel.run("status").result, "0")
        cell = kernel.run("child = os.fork()\nif not child: 1/0\n"
                          "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))")
        self.assertEqual(cell.stdout, "end of child\n1\n")
        self.assertIn("ZeroDivisionError", cell.stderr)
        cell = kernel.run("child = os.fork()\nif not child: exit(5)\n"
                          "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))")
        self.assertEqual(cell.stdout, "end of child\n5\n")

    def test_multiprocessing_works_with_functions_of_cells(self):
        kernel = self.kernel()
        kernel.run("def square(x):\n    return x * x\nfrom multiprocessing import Pool")
        cell = kernel.run("with Pool(2) as pool: print(pool.map(square, [1, 2, 3]))")
        self.assertEqual((cell.stdout, cell.stderr), ("[1, 4, 9]\n", ""))

    def test_a_thread_may_go_on_between_cells(self):
        kernel = self.kernel()
        cell = kernel.run("import threading\ngo = threading.Event()\n"
                          "def late():\n    go.wait()\n    print('late', flush=True)\n"
                          "thread = threading.Thread(target=late); thread.start()\n'started'")
        self.assertEqual(cell.result, "'started'")
        cell = kernel.run("go.set(); thread.join()")
        self.assertEqual(cell.stdout, "late\n")
        kernel.run("threading.Thread(target=threading.Event().wait).start()")
        kernel.send(op="exit")
        self.assertEqual(kernel.wait(), 0)

    def test_input_meets_the_end_of_the_file(self):
        cell = self.kernel().run("input('name? ')")
        self.assertEqual((cell.status, cell.error["name"], cell.stdout),
                         (("error", 1), "EOFError", "name? "))

    def test_top_level_await(self):
        kernel = self.kernel()
        cell = kernel.run("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n"
                          "    return 5\ntask = asyncio.ensure_future(f())\nawait f()")
        self.assertEqual((cell.result, cell.stderr), ("5", ""))
        self.assertEqual(kernel.run("await task").result, "5")
        self.assertEqual(kernel.run("asyncio.run(f())").result, "5")
        cell = kernel.run("await asyncio.sleep(0)\n1/0")
        self.assertEqual((cell.error["name"], cell.stderr.count("Traceback")),
                         ("ZeroDivisionError", 1))
        self.assertEqual(kernel.run("await asyncio.sleep(0)\nexit(4)").status, ("exit", 4))
        self.assertEqual(kernel.run("async for i in (x async for x in f2()): print(i)")
                         .error["name"], "NameError")

    def test_a_task_of_a_cell_goes_on_in_later_ones(self):
        kernel = self.kernel()
        kernel.run("import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 6\n"
                   "task = asyncio.create_task(f())\nawait asyncio.sleep(0)")
        self.assertEqual(kernel.run("await task").result, "6")

    def test_future_imports_hold_for_later_cells(self):
        kernel = self.kernel()
        kernel.run("from __future__ import annotations")
        self.assertEqual(kernel.run("def f(x: no_such): pass\nf.__annotations__").result,
                         "{'x': 'no_such'}")

    def test_code_meets_main_as_in_a_file(self):
        kernel = self.kernel()
        (self.work / "beside.py").write_text("value = 3\n")
        cell = kernel.run("import sys, pickle, beside\nclass A: pass\npickle.loads("
                          "pickle.dumps(A()))\nprint(__name__, sys.argv, beside.value, sys.path[0] "
                          "== '', any('support' in p for p in sys.path))\n"
                          "print(sorted(n for n in globals() if n[0] != '_'))\n"
                          "import inspect; print(inspect.getsource(lambda: 0).strip())")
        self.assertEqual(cell.stdout, "__main__ [''] 3 True False\n['A', 'beside', 'pickle', "
                         "'sys']\nimport inspect; print(inspect.getsource(lambda: 0).strip())\n")

    def test_reset_forgets_everything(self):
        kernel = self.kernel()
        kernel.run("from __future__ import annotations\nx = 1")
        self.assertEqual(kernel.reset().status, OK)
        cell = kernel.run("x")
        self.assertEqual(cell.error["name"], "NameError")
        self.assertEqual(kernel.run("print(__name__)").stdout, "__main__\n")

    def test_lone_surrogates_and_control_characters_are_told_as_text(self):
        kernel = self.kernel()
        cell = kernel.run("raise ValueError('\\udc80 \\x00')")
        self.assertEqual(cell.error["message"], "? \x00")
        cell = kernel.run("class E(Exception):\n    def __str__(self): raise E\nraise E")
        self.assertEqual((cell.status, cell.error["name"]), (("error", 1), "E"))
        self.assertEqual(kernel.run("class R:\n    def __repr__(self): 1/0\nR()").error["name"],
                         "ZeroDivisionError")

    def test_a_child_has_neither_the_channel_nor_our_copies(self):
        cell = self.kernel().run("import subprocess\nsubprocess.run(['sh', '-c', 'readlink "
                                 "/proc/$$/fd/*'], close_fds=False)\nNone")
        links = cell.stdout.split()
        self.assertFalse([link for link in links if link.startswith("socket:")])
        self.assertEqual(links.count(links[1]), 1)

    def test_the_kernel_ends_with_its_channel(self):
        kernel = self.kernel()
        kernel.socket.shutdown(1)
        self.assertEqual(kernel.wait(), 0)

    def test_the_kernel_ends_when_it_is_told_nonsense(self):
        for nonsense in (struct.pack("<I", 2 ** 31), struct.pack("<I", 2) + b"{x",
                         struct.pack("<I", 2) + b"[]"):
            kernel = self.kernel()
            kernel.socket.sendall(nonsense)
            self.assertEqual(kernel.wait(), 0)

    def test_exit_runs_what_was_left_for_the_end(self):
        kernel = self.kernel()
        kernel.run("import atexit; atexit.register(print, 'the end')")
        kernel.send(op="exit")
        self.assertEqual(kernel.wait(), 0)
        self.assertEqual(kernel.take_output()[0], "the end\n")

    def test_it_runs_where_nothing_is_to_be_shown(self):
        kernel = self.kernel(LLM_SANDBOX_ARTIFACTS=None, PYTHONPATH=None)
        self.assertEqual(kernel.run("1").result, "1")

    def test_warnings_show_the_line_of_the_cell(self):
        cell = self.kernel().run("import warnings\nwarnings.warn('careful')")
        self.assertIn("cell-1:2: UserWarning: careful\n  warnings.warn('careful')", cell.stderr)


@needs("matplotlib")
class Plots(KernelCase):
    def test_figures_left_open_are_shown_at_the_end_of_their_cell(self):
        kernel = self.kernel()
        cell = kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
                          "plt.figure(); plt.plot([1]); plt.figure()")
        self.assertEqual((cell.displays, cell.stdout, cell.stderr), ([1, 2], "", ""))
        self.assertEqual(kernel.run("len(plt.get_fignums())").result, "0")
        self.assertEqual(kernel.run("plt.plot([3]); plt.show()").displays, [3])
        self.assertEqual(kernel.run("plt.plot([3]); 1/0").displays, [4])
        self.assertEqual(kernel.run("plt.plot([3]); plt.savefig('a.png')").displays, [5])
        kernel.reset()
        self.assertEqual(self.extensions(), ["png"] * 5)

    def test_drawing_can_be_interrupted(self):
        kernel = self.kernel()
        number = kernel.start(
            "import matplotlib.pyplot as plt, matplotlib.lines\n"
            "class Slow(matplotlib.lines.Line2D):\n"
            "    def draw(self, renderer):\n        print('drawing')\n        while True: pass\n"
            "plt.gca().add_line(Slow([0, 1], [0, 1]))")
        kernel.wait_for_output("drawing")
        kernel.interrupt()
        self.assertEqual(kernel.finish(number).status, ("interrupted", 130))
        self.assertEqual(kernel.run("plt.close('all'); 5").result, "5")

    def test_a_child_shows_its_own_figures_and_not_its_parents(self):
        kernel = self.kernel()
        cell = kernel.run("import os, matplotlib.pyplot as plt\nplt.plot([1])\nchild = os.fork()\n"
                          "if child: os.waitpid(child, 0)\nelse: plt.figure(); plt.plot([2])")
        self.assertEqual((cell.displays, self.extensions()), ([2], ["png", "png"]))


if __name__ == "__main__":
    unittest.main(verbosity=1)
