# SPDX-License-Identifier: MIT
"""The engine over IPython: magics, !commands, history, and rich displays as artifacts."""
import atexit
import base64
import json
import os
import shutil
import subprocess
import tempfile
import warnings

from IPython.core.autocall import ExitAutocall
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from .. import artifacts
from . import outcome, traces

SOURCE = "ipython"

# One image of an object is enough; the first of these that it offers.
IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/svg+xml": "svg", "image/gif": "gif"}
OTHERS = {"text/html": "html", "application/json": "json", "text/latex": "tex",
          "text/markdown": "md", "application/pdf": "pdf"}
TEXTS = ("image/svg+xml", "text/html", "text/latex", "text/markdown")


class Engine:
    features = ["rich"]

    def __init__(self, main, streams, show_result):
        self.streams = streams
        Shell.engine = Hook.engine = self
        self.show_result = show_result
        self.shell = Shell.instance(user_module=main, user_ns=vars(main), config=config(),
                                    ipython_dir=private_folder())
        if artifacts.FOLDER:
            self.shell.display_formatter.ipython_display_formatter.for_type_by_name(
                "matplotlib.figure", "Figure", show_figure)
        # SystemExit is not an accident here.
        warnings.filterwarnings("ignore", message="To exit: use")

    def run(self, code, name, silent):
        self.shell.compile.begin(name, code)
        result = self.shell.run_cell(code, store_history=not silent, silent=silent)
        return outcome.of_error(result.error_before_exec or result.error_in_exec)

    def reset(self):
        self.shell.reset(new_session=True)

    def show_trace(self, error, trace):
        self.streams.restore()
        if isinstance(error, UsageError):
            self.shell.show_usage_error(error)
        elif not isinstance(error, SystemExit):
            traces.write(error, trace)


def config():
    choice = Config()
    choice.HistoryManager.hist_file = ":memory:"
    choice.InteractiveShell.colors = "NoColor"
    choice.InteractiveShell.separate_in = ""
    return choice


def private_folder():
    """IPython wants a folder for its profile, and that of the program's user is not ours."""
    folder = tempfile.mkdtemp(prefix="ipython-")
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))
    return folder


class Compiler(CachingCompiler):
    """Compiles cells under the names that the host gave them."""

    def begin(self, name, code):
        self.cell = (name, code)

    def get_code_name(self, raw_code, transformed_code, number):
        name, code = getattr(self, "cell", (None, None))
        # Other code that is run meanwhile has a name of its own.
        if raw_code != code:
            name = super().get_code_name(raw_code, transformed_code, number)
        traces.remember(name, transformed_code)
        return name


class Hook(DisplayHook):
    """Results go to the host and not to stdout."""
    engine = None

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        text = keep_rich(format_dict)
        if text is not None:
            self.engine.show_result(text)

    def finish_displayhook(self):
        pass


class Publisher(DisplayPublisher):
    """display(): what is rich becomes artifacts, what is text is printed."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **more):
        # An update redraws what was shown already, often many times a second.
        text = None if update else keep_rich(data)
        if text is not None:
            print(text)

    def clear_output(self, wait=False):
        pass


class Exit(ExitAutocall):
    rewrite = False

    def __call__(self, code=None):
        raise SystemExit(code)


class Shell(InteractiveShell):
    engine = None
    compiler_class = Type(Compiler)
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)

    def init_user_ns(self):
        super().init_user_ns()
        self.user_ns["exit"] = self.user_ns["quit"] = Exit()
        self.user_ns_hidden.update(exit=self.user_ns["exit"], quit=self.user_ns["quit"])

    def system(self, cmd):
        """!command: its output is that of the cell, without a terminal in between."""
        command = self.var_expand(cmd, depth=1)
        self.engine.streams.flush()
        self.user_ns["_exit_code"] = subprocess.call(command, shell=True)

    def ask_exit(self):
        raise SystemExit

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        # Figures are shown as %matplotlib inline would show them without it.
        return gui or "inline", "agg"

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        try:
            _, error, trace = self._get_exc_info(exc_tuple)
        except ValueError:
            return
        self.engine.show_trace(error, trace)

    def showsyntaxerror(self, *args, **kwargs):
        self.showtraceback()

    def showindentationerror(self):
        self.showtraceback()


def show_figure(figure):
    from .. import figures
    figures.show_figure(figure)


def keep_rich(data):
    """Keep the rich forms of what is displayed; its text, unless that only names an object."""
    image = next((mime for mime in IMAGES if mime in data), None)
    kept = [keep(mime, extension, data[mime]) for mime, extension in {**IMAGES, **OTHERS}.items()
            if mime == image or (mime in OTHERS and mime in data)]
    text = data.get("text/plain")
    if any(kept) and text is not None and text.startswith("<") and text.endswith(">"):
        return None
    return text


def keep(mime, extension, data):
    try:
        if mime == "application/json":
            data = data if isinstance(data, str) else json.dumps(data)
        elif mime not in TEXTS and isinstance(data, str):
            data = base64.b64decode(data)
        data = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
    except Exception:
        return None
    return artifacts.add_bytes(data, extension, "display", SOURCE)
