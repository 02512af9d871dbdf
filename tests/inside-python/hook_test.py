#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The start-up hook does not show in a program, and passes on what stands behind it."""
import unittest

from inside import SUPPORT, Case

# What a program can see of itself.
LOOK = """from __future__ import annotations
import sys, os
print(sorted(globals()), sys.argv, sys.path, sorted(sys.modules), sys.flags, sep="\\n")
def f(): raise ValueError("line 5")
f()
"""


class Hook(Case):
    def look(self, **environment):
        ran = self.run_code(LOOK, status=1, **environment)
        return ran.stdout.splitlines(), ran.stderr

    def test_a_program_sees_no_difference(self):
        plain, plain_error = self.look(PYTHONPATH=None)
        hooked, hooked_error = self.look()
        self.assertEqual([line for line in hooked if "'sys'" not in line],
                         [line for line in plain if "'sys'" not in line])
        self.assertEqual(hooked_error, plain_error)
        self.assertIn("line 5, in <module>", hooked_error)
        # No module more than Python has at its start, but the hook itself.
        self.assertLessEqual(set(eval(hooked[3])) - set(eval(plain[3])), {"sitecustomize"})
        self.assertEqual(self.artifacts(), [])

    def test_the_hook_imports_nothing(self):
        (self.work / "sitecustomize.py").write_text("import sys\nprint(*sorted(sys.modules))\n")
        with_us, without = (self.run_code("", PYTHONPATH=path).stdout
                            for path in ("%s:%s" % (SUPPORT, self.work), str(self.work)))
        self.assertEqual(with_us, without)

    def test_a_sitecustomize_of_the_system_still_runs(self):
        (self.work / "sitecustomize.py").write_text("import builtins; builtins.theirs = 5\n")
        path = "%s:%s" % (SUPPORT, self.work)
        for shown in (str(self.shown), None):
            ran = self.run_code("import sitecustomize\nprint(theirs, sitecustomize.__file__)",
                                PYTHONPATH=path, LLM_SANDBOX_ARTIFACTS=shown)
            self.assertEqual(ran.stdout, "5 %s/sitecustomize.py\n" % self.work)

    def test_one_that_fails_is_told_as_without_us(self):
        (self.work / "sitecustomize.py").write_text("import no_such_module\n")
        errors = [self.run_code("print(1)", PYTHONPATH=path).stderr
                  for path in ("%s:%s" % (SUPPORT, self.work), str(self.work))]
        self.assertEqual(errors[0], errors[1])

    def test_without_the_folder_for_artifacts_there_is_no_hook(self):
        ran = self.run_code("import sys\nprint(len(sys.meta_path))", LLM_SANDBOX_ARTIFACTS=None)
        plain = self.run_code("import sys\nprint(len(sys.meta_path))", PYTHONPATH=None)
        self.assertEqual(ran.stdout, plain.stdout)

    def test_our_modules_shadow_none_of_the_programs(self):
        for name in ("kernel", "figures", "artifacts", "charts", "pictures"):
            (self.work / (name + ".py")).write_text("value = 7\n")
        ran = self.run_code("import kernel, figures, artifacts, charts, pictures\n"
                            "print(kernel.value + figures.value + charts.value)")
        self.assertEqual(ran.stdout, "21\n")
        ran = self.run_code("import importlib.util\nprint(importlib.util.find_spec('x_kernel'))")
        self.assertEqual(ran.stdout, "None\n")

    def test_modules_that_are_waited_for_are_as_they_were(self):
        folder = self.work / "PIL"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "ImageShow.py").write_text("raise ImportError('theirs')\n")
        ran = self.run_code("try:\n    import PIL.ImageShow\nexcept ImportError as e: print(e)\n"
                            "import sys, PIL\nprint('PIL.ImageShow' in sys.modules)\n"
                            "print(type(PIL.__loader__).__name__)")
        self.assertEqual(ran.stdout, "theirs\nFalse\nSourceFileLoader\n")
        # One that is nothing like the library of that name is left alone.
        (folder / "ImageShow.py").write_text("x = 1\n")
        ran = self.run_code("import PIL.ImageShow as m\nprint(m.x, vars(m.__loader__))")
        self.assertIn("1 {'name': 'PIL.ImageShow', 'path':", ran.stdout)
        self.assertNotIn("exec_module", ran.stdout)

    def test_children_have_the_hook_too(self):
        ran = self.run_code("import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', "
                            "'import sys; print(sys.meta_path[0].__name__)'], "
                            "capture_output=True, text=True).stdout)")
        self.assertEqual(ran.stdout.strip(), "Finder")


class Numbers(Case):
    CODE = ("from llm_sandbox_support import artifacts\n"
            "def add(n): return artifacts.add_text(str(n), 'txt', 'file', 'test', title='t')\n")

    def test_threads_and_children_never_share_a_number(self):
        self.run_code(self.CODE + "import os, threading\n"
                      "children = []\n"
                      "for n in range(4):\n"
                      "    child = os.fork()\n"
                      "    if not child: break\n"
                      "    children.append(child)\n"
                      "threads = [threading.Thread(target=lambda: [add(os.getpid()) for _ in "
                      "range(10)]) for _ in range(5)]\n"
                      "[t.start() for t in threads]; [t.join() for t in threads]\n"
                      "for child in children: os.waitpid(child, 0)\n")
        self.assertEqual([artifact.number for artifact in self.artifacts()],
                         list(range(1, 251)))

    def test_numbers_go_on_behind_those_that_are_there(self):
        self.run_code(self.CODE + "add(1)")
        self.run_code(self.CODE + "add(2)")
        self.run_code(self.CODE + "add(3)", LLM_SANDBOX_ARTIFACTS_FIRST="40")
        shown = self.artifacts()
        self.assertEqual([artifact.number for artifact in shown], [1, 2, 40])
        self.assertEqual(shown[0].data, b"1")
        self.assertEqual(shown[0].meta, {"mime": "text/plain", "kind": "file", "source": "test",
                                         "title": "t"})

    def test_what_cannot_be_kept_disturbs_nobody(self):
        ran = self.run_code(self.CODE + "print(add(1))",
                            LLM_SANDBOX_ARTIFACTS=str(self.folder / "no"))
        self.assertEqual((ran.stdout, ran.stderr), ("None\n", ""))
        ran = self.run_code(self.CODE + "import resource\n"
                            "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
                            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                            "print(add('x' * 1000), artifacts.add_copy('/dev/zero', 'file', 'x'),"
                            " artifacts.add_copy('no', 'file', 'x'))")
        self.assertEqual((ran.stdout, ran.stderr), ("None None None\n", ""))
        self.assertEqual(list(self.shown.iterdir()), [])

    def test_names_and_titles_of_any_bytes_become_json(self):
        self.run_code(self.CODE + "import os\nname = os.fsdecode(b'a\\xff\\n.Png')\n"
                      "open(name, 'w').close()\n"
                      "artifacts.add_copy(name, 'file', 'test', title="
                      "'\\udc80\\n\"' + 'x' * 9999)\n"
                      "artifacts.add_copy('main.py', 'file', 'test', extension=None)\n"
                      "open('a.' + 'b' * 50, 'w').close()\n"
                      "artifacts.add_copy('a.' + 'b' * 50, 'file', 'test')\n")
        shown = self.artifacts()
        self.assertEqual([artifact.extension for artifact in shown], ["png", "py", "bin"])
        self.assertEqual(len(shown[0].meta["title"]), 1000)
        self.assertEqual(shown[0].meta["path"], "%s/a?\n.Png" % self.work)


if __name__ == "__main__":
    unittest.main(verbosity=1)
