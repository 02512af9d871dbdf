#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients of the older era that are asked and never answer. Usage: asking.py FIXTURE"""
import http.client
import json
import sys
import urllib.parse

import driver

OLD = "2025-11-25"
WORKERS = 8  # of the fixture, as of every server that does not say
CALLS = 1024  # that a server has under way
INTERNAL_ERROR = -32603

INITIALIZE = {"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
    "protocolVersion": OLD, "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "asking", "version": "1"}}}


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def ask(id, **more):
    return request(id, "tools/call", name="test_elicitation", arguments={"message": "Who?"}, **more)


def is_question(message):
    return message.get("method") == "elicitation/create"


def start(command):
    server = driver.StdioServer(command)
    server.send(INITIALIZE)
    server.answer("init")
    return server


def what_is_asked_at_the_end_of_input_is_given_up(command):
    server = start(command)
    server.send(ask(1))
    server.receive(is_question)
    server.send(ask(2))
    assert server.close() == 0, "the server does not end"


def a_second_answer_is_not_that_of_the_next_question(command):
    server = start(command)
    server.send(ask(1))
    question = server.receive(is_question)
    answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    server.send(answer)
    server.send(answer)
    assert "decline" in json.dumps(server.answer(1))
    server.send(ask(2))
    assert server.receive(is_question)["id"] != question["id"]
    server.send(request(3, "ping"))
    assert server.answer(3)["result"] == {}
    assert not any(m.get("id") == 2 for m in server.kept), "nobody has answered this one"
    assert server.close() == 0


def an_answer_without_result_is_a_refusal(command):
    server = start(command)
    for id, rest in enumerate(({"error": {}}, {"error": {"code": 1}}, {"error": "no"}), 1):
        server.send(ask(id))
        server.send({"jsonrpc": "2.0", "id": server.receive(is_question)["id"], **rest})
        assert server.answer(id)["result"]["isError"] is True
    assert server.close() == 0


def cancelled_calls_do_not_pile_up(command):
    server = start(command)
    for id in range(WORKERS):
        server.send(ask(id))
        server.receive(is_question)
    for id in range(WORKERS, CALLS):
        server.send(request(id, "prompts/get", name="test_simple_prompt"))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": id}})
    server.send(request("more", "prompts/get", name="test_simple_prompt"))
    answer = server.answer("more")
    assert answer.get("error", {}).get("code") == INTERNAL_ERROR, str(answer)[:200]
    assert server.close() == 0


class Client:
    """Over HTTP, a connection for each request."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.fields = {"Accept": "application/json, text/event-stream",
                       "Content-Type": "application/json"}
        self.fields["Mcp-Session-Id"] = self.post(INITIALIZE).headers["Mcp-Session-Id"]

    def connect(self, message):
        connection = http.client.HTTPConnection(self.url.netloc, timeout=driver.DEADLINE_S)
        connection.request("POST", self.url.path, json.dumps(message), self.fields)
        return connection

    def post(self, message):
        return self.connect(message).getresponse()


def events(response):
    for line in response:
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def a_task_asks_whoever_waits_for_its_result(command):
    with driver.HttpServer(command) as server:
        client = Client(server.url)
        for wait_first in (False, True):
            made = json.loads(client.post(request(1, "tools/call", name="confirm_delete", task={},
                                                  arguments={"filename": "x"})).read())
            task = made["result"]["task"]["taskId"]
            status = "working"
            while not wait_first and status == "working":
                got = json.loads(client.post(request(2, "tasks/get", taskId=task)).read())
                status = got["result"]["status"]
            stream = events(client.post(request(3, "tasks/result", taskId=task)))
            question = next(stream)
            assert is_question(question), question
            client.post({"jsonrpc": "2.0", "id": question["id"], "result": {
                "action": "accept", "content": {"confirm": True}}}).read()
            assert "result" in next(m for m in stream if m.get("id") == 3)
    assert server.status == 0


TESTS = [
    what_is_asked_at_the_end_of_input_is_given_up,
    a_second_answer_is_not_that_of_the_next_question,
    an_answer_without_result_is_a_refusal,
    cancelled_calls_do_not_pile_up,
    a_task_asks_whoever_waits_for_its_result,
]


def attempt(function, command):
    try:
        function(command)
        return None
    except (AssertionError, KeyError, OSError, StopIteration) as error:
        return f"{type(error).__name__}: {error}"


def main():
    tap = driver.Tap()
    for function in TESTS:
        tap.result(function.__name__.replace("_", " "), attempt(function, sys.argv[1:]))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
