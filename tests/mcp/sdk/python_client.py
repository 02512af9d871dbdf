# SPDX-License-Identifier: MIT
"""The official Python client of both eras over both transports; run by python_sdk.py.

Usage: python_client.py SERVER [ARGUMENT...]: as clients.mjs.
"""
import asyncio
import os
import pathlib
import sys
import tempfile

import mcp_types
from mcp import Client, StdioServerParameters

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import driver  # noqa: E402

MODES = ["legacy", "2026-07-28"]


def text(result):
    return "\n".join(item.text for item in result.content if item.type == "text")


async def answer_elicitation(_context, _params):
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


async def has_tools(client):
    for tool in (await client.list_tools()).tools:
        assert tool.description and tool.input_schema["type"] == "object", tool


async def until(what, predicate):
    for _ in range(driver.DEADLINE_S * 50):
        if predicate():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"not in time: {what}")


async def stops(call, runs):
    """A cancelled call ends what it runs."""
    task = asyncio.ensure_future(call)
    await until("it runs", runs)
    task.cancel()
    await until("it is gone", lambda: not runs())
    try:
        await task
    except asyncio.CancelledError:
        pass


# ---- the fixture ----

async def echoes_fifty_at_once(client):
    results = await asyncio.gather(*(client.call_tool("test_echo", {"text": f"number {i}"})
                                     for i in range(50)))
    for i, result in enumerate(results):
        assert result.structured_content["text"] == f"number {i}", result


async def asks_and_gets_answers(client):
    result = await client.call_tool("test_input_required_result_elicitation", {})
    assert "Hello, Ada!" in text(result), result


async def reports_errors(client):
    assert (await client.call_tool("test_error_handling", {})).is_error
    assert (await client.call_tool("test_echo", {"text": 5})).is_error


async def reads_resources_and_prompts(client):
    read = await client.read_resource("test://template/123/data")
    assert "123" in read.contents[0].text
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "x", "arg2": "y"})
    assert "arg1='x'" in prompt.messages[0].content.text


async def cancels(client):
    with tempfile.TemporaryDirectory() as folder:
        mark = os.path.join(folder, "mark")
        await stops(client.call_tool("test_endless", {"marker": mark}),
                    lambda: os.path.exists(mark))


# ---- the server of sandboxes ----

def is_running(word):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in line and int(pid) != os.getpid():
            return True
    return False


async def runs_a_program(client):
    result = await client.call_tool("execute_code", {"language": "python", "code": "print(6 * 7)"})
    assert not result.is_error and "42" in text(result), result


async def cancels_a_program(client):
    mark = f"mcp-python-mark-{os.getpid()}-{id(client)}"
    await stops(client.call_tool("execute_code", {"language": "python", "code": "while True: pass",
                                                  "args": [mark], "timeout": 600}),
                lambda: is_running(mark))


FIXTURE = [has_tools, echoes_fifty_at_once, asks_and_gets_answers, reports_errors,
           reads_resources_and_prompts, cancels]
SANDBOXES = [has_tools, runs_a_program, cancels_a_program]


async def attempt(case, server, mode):
    """What went wrong, or None."""
    try:
        async with asyncio.timeout(2 * driver.DEADLINE_S):
            async with Client(server, mode=mode, elicitation_callback=answer_elicitation) as client:
                await case(client)
        return None
    except BaseException as error:  # the client raises groups of errors
        return f"{type(error).__name__}: {error}"


async def run(command, tap, url):
    stdio = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(url, mode="legacy") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    for mode in MODES:
        for name, server in (("stdio", stdio), ("http", url)):
            for case in SANDBOXES if "execute_code" in names else FIXTURE:
                tap.result(f"{mode} over {name}: {case.__name__.replace('_', ' ')}",
                           await attempt(case, server, mode))


def main():
    command = sys.argv[1:]
    tap = driver.Tap()
    with driver.HttpServer(command) as http:
        asyncio.run(run(command, tap, http.url))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
