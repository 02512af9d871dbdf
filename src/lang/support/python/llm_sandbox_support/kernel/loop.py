# SPDX-License-Identifier: MIT
"""The kernel's loop: a cell at a time, whatever cells do to the process."""
import atexit
import os
import signal
import sys
import types

from .. import artifacts
from . import outcome
from .channel import Channel, Closed
from .streams import Streams

# In characters, of which each can take six bytes as JSON: two such texts fit in a message.
MAX_RESULT = 256 * 1024


def main():
    channel = Channel()
    kernel = Kernel(channel, Streams())
    try:
        kernel.serve()
    except Closed:
        pass
    if os.getpid() == kernel.pid:
        leave(kernel)


def leave(kernel):
    """End without waiting for the threads that cells left running."""
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass
    kernel.streams.flush()
    os._exit(0)


class Kernel:
    def __init__(self, channel, streams):
        self.channel = channel
        self.streams = streams
        self.pid = os.getpid()
        self.cell = None
        # Whether SIGINT is for what runs: only then is it raised.
        self.armed = False
        signal.signal(signal.SIGINT, self.on_interrupt)
        artifacts.on_added = self.show_artifact
        self.engine = choose_engine(new_main(), streams, self.show_result)
        sys.path.insert(0, "")

    def serve(self):
        self.channel.send(op="ready", language="python", features=self.engine.features,
                          version="%d.%d.%d" % sys.version_info[:3])
        while True:
            message = self.channel.receive()
            op = message.get("op")
            if op == "exit":
                return
            if op == "run":
                self.run(message)
            elif op == "reset":
                self.reset(message)

    def run(self, message):
        self.cell = message.get("id")
        code, name = str(message.get("code", "")), str(message.get("name") or "cell")
        ended = self.guard(lambda: self.engine.run(code, name, bool(message.get("silent"))))
        self.streams.restore()
        shown = self.guard(show_figures)
        if shown is not None and ended.status == "ok":
            ended = shown
        self.streams.restore()
        if os.getpid() != self.pid:
            # A child that the cell forked: it has no host, and its code is at its end.
            sys.exit(ended.exit_code)
        self.report(ended)

    def reset(self, message):
        self.cell = message.get("id")
        ended = self.guard(self.forget) or outcome.Outcome()
        self.streams.restore()
        self.report(ended)

    def forget(self):
        close_figures()
        self.engine.reset()

    def report(self, ended):
        if ended.error is not None:
            self.channel.send(op="error", id=self.cell,
                              name=shorten(type(ended.error).__name__),
                              message=shorten(outcome.message_of(ended.error)))
        self.channel.send(op="done", id=self.cell, status=ended.status,
                          exit_code=ended.exit_code)
        self.cell = None

    # ---- interrupts ----

    def guard(self, work):
        """Do something that SIGINT may end; the outcome says so when it did."""
        # A cell may have changed both.
        signal.signal(signal.SIGINT, self.on_interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        try:
            try:
                self.armed = True
                return work()
            finally:
                self.armed = False
        except KeyboardInterrupt as error:
            # It can come on the last step before the line above.
            self.armed = False
            return outcome.of_error(error)

    def on_interrupt(self, number, frame):
        if self.armed and not self.channel.defers_interrupt():
            raise KeyboardInterrupt

    # ---- what a cell shows ----

    def show_result(self, text):
        self.channel.send(op="result", id=self.cell, text=shorten(text))

    def show_artifact(self, number):
        if self.cell is not None:
            self.channel.send(op="display", id=self.cell, number=number)


def new_main():
    """The module that cells run in; this program's own is out of their way."""
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [""]
    return main


def choose_engine(main, streams, show_result):
    if os.environ.get("LLM_SANDBOX_KERNEL") != "plain":
        try:
            from . import rich
            return rich.Engine(main, streams, show_result)
        except Exception:
            # No IPython, or one that does not start here.
            pass
    from . import plain
    return plain.Engine(main, streams, show_result)


def show_figures():
    figures = sys.modules.get("llm_sandbox_support.figures")
    if figures is not None:
        figures.show_open_figures()


def close_figures():
    figures = sys.modules.get("llm_sandbox_support.figures")
    if figures is not None:
        figures.close(figures.open_managers())


def shorten(text):
    if len(text) <= MAX_RESULT:
        return text
    return "%s... (%d characters in all)" % (text[:MAX_RESULT], len(text))
