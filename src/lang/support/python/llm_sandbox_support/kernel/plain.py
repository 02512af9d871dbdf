# SPDX-License-Identifier: MIT
"""The plain engine: cells run in __main__, and the value of a last expression is its result."""
import __future__
import ast
import builtins
import functools
import operator

from . import outcome, traces

CO_COROUTINE = 0x80
FUTURES = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag
                                          for name in __future__.all_feature_names))
# Cancelled tasks get this long to end.
CANCEL_SECONDS = 1


class Engine:
    features = []

    def __init__(self, main, streams, show_result):
        self.main = main
        self.streams = streams
        self.show_result = show_result
        # Including the __future__ imports of the cells so far.
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop = None
        self.initial = dict(vars(main))

    def run(self, code, name, silent):
        try:
            value = self.execute(code, name)
            if value is not None and not silent:
                self.show(value)
        except BaseException as error:
            self.streams.restore()
            if not isinstance(error, SystemExit):
                traces.write(error)
            return outcome.of_error(error)
        return outcome.Outcome()

    def reset(self):
        namespace = vars(self.main)
        namespace.clear()
        namespace.update(self.initial)
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        if self.loop is not None:
            self.loop.close()
            self.loop = None

    def execute(self, code, name):
        traces.remember(name, code)
        tree = self.compile(code, name, "exec", ast.PyCF_ONLY_AST)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        # All is compiled before anything runs, as of a file.
        parts = [self.compile(tree, name, "exec")]
        if last is not None:
            parts.append(self.compile(last, name, "eval"))
        value = self.evaluate(parts)
        # With a semicolon behind it nobody wants to see it.
        return None if code.rstrip().endswith(";") else value

    def compile(self, source, name, mode, flags=0):
        code = compile(source, name, mode, self.flags | flags, dont_inherit=True)
        if not flags:
            self.flags |= code.co_flags & FUTURES
        return code

    def evaluate(self, parts):
        """The value of the last part. A cell that awaits something runs on the loop as a whole."""
        if any(code.co_flags & CO_COROUTINE for code in parts):
            return self.complete(self.evaluate_async(parts))
        for code in parts:
            value = eval(code, vars(self.main))
        return value

    async def evaluate_async(self, parts):
        for code in parts:
            value = eval(code, vars(self.main))
            if code.co_flags & CO_COROUTINE:
                value = await value
        return value

    def complete(self, coroutine):
        """Run a coroutine on the loop that all cells share."""
        import asyncio
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        finally:
            if not task.done():
                task.cancel()
                self.loop.run_until_complete(asyncio.wait({task}, timeout=CANCEL_SECONDS))
            if task.done() and not task.cancelled():
                # Or the loop reports it as never looked at.
                task.exception()

    def show(self, value):
        self.show_result(repr(value))
        builtins._ = value
