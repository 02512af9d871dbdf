#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile and broken input over stdio. Usage: bad_input.py SERVER [ARGUMENT...]

Each case sends something to a server that stays the same for all of them and says what must
come back; after each case a good request is still answered. Any server with tools will do.
"""
import itertools
import json
import sys

import driver

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_REVISION = -32022

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}

cases = []
ids = itertools.count(1000)


def case(function):
    """The name of the function is the promise."""
    cases.append(function)
    return function


def modern(method, params=None, id=None):
    return {"jsonrpc": "2.0", "id": next(ids) if id is None else id, "method": method,
            "params": {"_meta": META, **(params or {})}}


def initialize(server, revision):
    request = {"jsonrpc": "2.0", "id": next(ids), "method": "initialize", "params": {
        "protocolVersion": revision, "capabilities": {},
        "clientInfo": {"name": "bad_input", "version": "1"}}}
    server.send(request)
    result = server.answer(request["id"])["result"]
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return result


def code(message):
    return message.get("error", {}).get("code")


def expect_error(server, message, *codes):
    """Send a request or bytes without an id; its answer is one of these errors."""
    if isinstance(message, bytes):
        server.send_bytes(message)
        answer = server.receive(lambda m: "method" not in m and m.get("id") is None)
    else:
        server.send(message)
        answer = server.answer(message["id"])
    assert code(answer) in codes, f"expected {codes}, got {str(answer)[:300]}"
    return answer


def expect_refusal(server, message):
    """An error of JSON-RPC, or a result of a tool that says isError."""
    server.send(message)
    answer = server.answer(message["id"])
    refused = "error" in answer or answer["result"].get("isError")
    assert refused, f"this was accepted: {str(answer)[:300]}"


def expect_silence(server, *messages):
    """None of these is answered: what comes next is the answer to a good request."""
    for message in messages:
        server.send_bytes(message) if isinstance(message, bytes) else server.send(message)
    request = modern("server/discover")
    server.send(request)
    answer = server.receive(lambda m: True)
    assert answer.get("id") == request["id"], f"this was answered: {str(answer)[:300]}"


def is_alive(server):
    request = modern("server/discover")
    server.send(request)
    return MODERN in server.answer(request["id"])["result"]["supportedVersions"]


# ---- not JSON ----

@case
def what_is_no_json_is_a_parse_error(server):
    for line in (b"{", b"}", b"nonsense", b'{"jsonrpc": "2.0", "id": 1,}', b"'single'",
                 b'{"a": 01}', b"[1", b'"open', b"\\", b'{"jsonrpc": "2.0"} {"more": 1}',
                 b"NaN", b"Infinity", b"{'jsonrpc': '2.0'}", b"/* */ {}"):
        expect_error(server, line + b"\n", PARSE_ERROR)


@case
def invalid_utf8_is_a_parse_error(server):
    for bad in (b"\xff", b"\xc3", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
                b"\xf8\x88\x80\x80\x80"):
        line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + bad + b'"}}\n'
        expect_error(server, line, PARSE_ERROR)


@case
def lone_surrogates_are_a_parse_error(server):
    for bad in (b"\\ud800", b"\\udc00", b"\\ud800\\u0041", b"\\udbff\\udbff", b"\\u12"):
        line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + bad + b'"}}\n'
        expect_error(server, line, PARSE_ERROR)


@case
def numbers_out_of_range_are_a_parse_error(server):
    for bad in (b"1e999", b"-1e999", b"9" * 400, b"-" + b"9" * 30):
        expect_error(server, b'{"jsonrpc":"2.0","id":' + bad + b',"method":"ping"}\n',
                     PARSE_ERROR, INVALID_REQUEST)


@case
def a_hundred_thousand_levels_are_refused(server):
    n = 100_000
    expect_error(server, b"[" * n + b"]" * n + b"\n", PARSE_ERROR)
    expect_error(server, b'{"a":' * n + b"1" + b"}" * n + b"\n", PARSE_ERROR)
    expect_error(server, b"[" * n + b"\n", PARSE_ERROR)


@case
def a_nul_byte_in_a_line_is_a_parse_error(server):
    expect_error(server, b'{"jsonrpc":"2.0",\0"id":1,"method":"ping"}\n', PARSE_ERROR)
    expect_error(server, b"\0\n", PARSE_ERROR)


@case
def a_truncated_line_is_a_parse_error_and_the_next_one_counts(server):
    request = json.dumps(modern("tools/list")).encode()
    for cut in (1, len(request) // 2, len(request) - 1):
        expect_error(server, request[:cut] + b"\n", PARSE_ERROR)


@case
def a_byte_order_mark_is_a_parse_error(server):
    expect_error(server, b"\xef\xbb\xbf" + json.dumps(modern("tools/list")).encode() + b"\n",
                 PARSE_ERROR)


# ---- lines ----

@case
def lines_may_end_with_crlf_and_be_empty(server):
    request = modern("tools/list")
    server.send_bytes(b"\r\n\n\r\n" + json.dumps(request).encode() + b"\r\n\r\n")
    assert "result" in server.answer(request["id"])


@case
def a_line_may_come_byte_by_byte(server):
    request = modern("tools/list")
    for byte in json.dumps(request).encode() + b"\n":
        server.send_bytes(bytes([byte]))
    assert "result" in server.answer(request["id"])


@case
def many_requests_may_come_at_once(server):
    requests = [modern("tools/list") for _ in range(200)]
    server.send_bytes(b"".join(json.dumps(r).encode() + b"\n" for r in requests))
    for request in requests:
        assert "result" in server.answer(request["id"])


@case
def twenty_megabytes_are_answered(server):
    request = modern("tools/call", {"name": "no_such_tool", "arguments": {"x": "y" * 20_000_000}})
    expect_error(server, request, INVALID_PARAMS)
    request = modern("tools/list", {"cursor": "z" * 20_000_000})
    expect_error(server, request, INVALID_PARAMS)


@case
def a_line_without_end_is_refused_once_and_skipped(server):
    expect_error(server, b"x" * 40_000_000 + b"\n", INVALID_REQUEST, PARSE_ERROR)
    expect_silence(server)


@case
def a_million_keys_are_answered(server):
    keys = {f"k{i}": i for i in range(300_000)}
    expect_error(server, modern("tools/call", {"name": "no_such_tool", "arguments": keys}),
                 INVALID_PARAMS)


@case
def small_values_do_not_fill_the_memory(server):
    for value in (b"{},", b"[],", b"1,", b'"",'):
        expect_error(server, b"[" + value * (12_000_000 // len(value)) + b"1]\n", PARSE_ERROR)
    with open(f"/proc/{server.process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    assert peak < 700_000, f"{peak} KiB were needed"  # sanitizers take some


# ---- not JSON-RPC ----

@case
def what_is_no_message_is_an_invalid_request(server):
    for value in (b"1", b"null", b"true", b'"text"', b"{}", b"1.5", b'{"jsonrpc": "2.0"}'):
        expect_error(server, value + b"\n", INVALID_REQUEST)


@case
def a_request_without_jsonrpc_or_with_another_is_invalid(server):
    for version in (None, "1.0", "2", 2.0, 2, "", "2.0 ", ["2.0"], {"v": "2.0"}, True):
        request = {**modern("tools/list"), "jsonrpc": version}
        if version is None:
            del request["jsonrpc"]
        expect_error(server, request, INVALID_REQUEST)


@case
def a_method_must_be_a_string(server):
    for method in (None, 1, True, [], {}, ["tools/list"]):
        expect_error(server, {**modern("tools/list"), "method": method}, INVALID_REQUEST)


@case
def unknown_methods_are_not_found(server):
    for method in ("", "nope", "tools", "tools/", "tools/list/", "TOOLS/LIST", "rpc.discover",
                   "../tools/list", "x" * 100_000, "tools/list\n", "\u0000", "\U0001f600"):
        expect_error(server, modern(method), METHOD_NOT_FOUND, INVALID_REQUEST)


@case
def what_is_quoted_may_be_cut_within_a_character(server):
    for length in range(4):
        name = "a" * length + "\U0001f600" * 60
        expect_error(server, modern(name), METHOD_NOT_FOUND)
        expect_error(server, modern("tools/call", {"name": name}), INVALID_PARAMS)
        meta = {**META, "io.modelcontextprotocol/protocolVersion": name}
        expect_error(server, modern("tools/list", {"_meta": meta}), UNSUPPORTED_REVISION)


@case
def an_id_is_a_string_or_a_whole_number(server):
    for bad in (None, True, False, 1.5, [], {}, [1], {"a": 1}):
        line = json.dumps({**modern("tools/list"), "id": bad}).encode() + b"\n"
        expect_error(server, line, INVALID_REQUEST)
    for good in (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -2**63, "", "0", "a" * 10_000, "\u00e9\U0001f600",
                 "line\nfeed", "quote\"", "\u2028"):
        server.send(modern("tools/list", id=good))
        assert "result" in server.answer(good), f"id {str(good)[:50]}"


@case
def ids_of_different_types_are_different(server):
    server.send(modern("tools/list", id=77))
    server.send(modern("tools/list", id="77"))
    assert "result" in server.answer(77) and "result" in server.answer("77")


@case
def params_must_be_an_object(server):
    for params in (1, "x", True, [], [META], 1.5):
        expect_error(server, {**modern("tools/list"), "params": params},
                     INVALID_PARAMS, INVALID_REQUEST)


@case
def a_notification_is_never_answered(server):
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    expect_silence(
        server, note, {**note, "params": {}}, {**note, "params": {"requestId": 424242}},
        {**note, "params": {"requestId": [1]}}, {**note, "params": {"requestId": None}},
        {**note, "method": "notifications/nope"}, {**note, "method": "tools/list"},
        {**note, "method": "notifications/initialized"},
        {**note, "method": "notifications/roots/list_changed", "params": {"_meta": META}})


@case
def a_malformed_notification_is_never_answered(server):
    expect_silence(server, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]})


@case
def a_response_is_never_answered(server):
    expect_silence(server, {"jsonrpc": "2.0", "id": 5, "result": {}},
                   {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}},
                   {"jsonrpc": "2.0", "id": 99, "result": 5},
                   {"jsonrpc": "2.0", "id": 99, "error": "text"},
                   {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}},
                   {"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}})


@case
def a_notification_with_an_id_is_a_request_that_is_not_found(server):
    expect_error(server, modern("notifications/cancelled", {"requestId": 1}), METHOD_NOT_FOUND)


@case
def batches_are_invalid_here(server):
    for batch in ([], [modern("tools/list")], [1, 2], [[]], [modern("tools/list")] * 1000):
        expect_error(server, json.dumps(batch).encode() + b"\n", INVALID_REQUEST)


# ---- not MCP ----

@case
def meta_must_be_whole(server):
    protocol, capabilities = META
    for meta in ({protocol: MODERN}, {protocol: 1, capabilities: {}},
                 {protocol: MODERN, capabilities: []}, {protocol: MODERN, capabilities: None},
                 {protocol: None, capabilities: {}}, {protocol: MODERN, capabilities: "x"}):
        expect_error(server, modern("tools/list", {"_meta": meta}), INVALID_PARAMS)
    for meta in (None, 1, [], "x", {}):
        expect_error(server, modern("server/discover", {"_meta": meta}), INVALID_PARAMS)


@case
def unknown_revisions_name_the_known_ones(server):
    for revision in ("", "v999.0.0", "2026-07-29", "1", "x" * 10_000, "2025-11-25"):
        meta = {**META, "io.modelcontextprotocol/protocolVersion": revision}
        answer = expect_error(server, modern("tools/list", {"_meta": meta}), UNSUPPORTED_REVISION)
        assert MODERN in answer["error"]["data"]["supported"]
        assert answer["error"]["data"]["requested"] == revision


@case
def a_log_level_must_be_one(server):
    for level in ("loud", "", 1, None, [], "INFO"):
        meta = {**META, "io.modelcontextprotocol/logLevel": level}
        server.send(request := modern("tools/list", {"_meta": meta}))
        answer = server.answer(request["id"])
        assert level is None or code(answer) == INVALID_PARAMS, f"{level!r}: {str(answer)[:200]}"


@case
def unknown_names_are_invalid_params(server):
    for name in ("", "nope", "test_simple_text ", "x" * 100_000, "\u0000", "a\u0000b", "%s%n"):
        expect_error(server, modern("tools/call", {"name": name}), INVALID_PARAMS)
        expect_error(server, modern("prompts/get", {"name": name}), INVALID_PARAMS)
        expect_error(server, modern("resources/read", {"uri": name}), INVALID_PARAMS)


@case
def names_of_the_wrong_type_are_invalid_params(server):
    for name in (None, 1, True, [], {}, ["greet"]):
        expect_error(server, modern("tools/call", {"name": name}), INVALID_PARAMS)
        expect_error(server, modern("prompts/get", {"name": name}), INVALID_PARAMS)
        expect_error(server, modern("resources/read", {"uri": name}), INVALID_PARAMS)
    expect_error(server, modern("tools/call"), INVALID_PARAMS)


@case
def arguments_of_the_wrong_type_are_refused_for_each_tool(server):
    server.send(request := modern("tools/list"))
    for tool in server.answer(request["id"])["result"]["tools"]:
        for arguments in (1, "x", True, [], [1]):
            expect_refusal(server, modern("tools/call", {"name": tool["name"],
                                                         "arguments": arguments}))


def wrong_values(schema):
    """Values of every type that the schema of an argument does not name."""
    types = [s["type"] for s in schema.get("anyOf", [schema])]
    samples = {"string": "text", "integer": 7, "number": 1.5, "boolean": True, "array": [[]],
               "object": {"a": {"b": []}}, "null": None}
    for name, value in samples.items():
        if name in types or (name == "integer" and "number" in types):
            continue
        yield value


@case
def each_argument_of_each_tool_has_one_type(server):
    """Only where the schema is closed: an open one says nothing of its validation."""
    server.send(request := modern("tools/list"))
    for tool in server.answer(request["id"])["result"]["tools"]:
        schema = tool["inputSchema"]
        if "$schema" in schema:
            continue
        good = {name: "x" for name in schema.get("required", [])}
        for name, argument in schema.get("properties", {}).items():
            for value in wrong_values(argument):
                expect_refusal(server, modern("tools/call", {
                    "name": tool["name"], "arguments": {**good, name: value}}))
        expect_refusal(server, modern("tools/call", {
            "name": tool["name"], "arguments": {**good, "no_such_argument": 1}}))
        # Quoted in the answer up to a byte that may lie within a character.
        for length in range(60, 65):
            expect_refusal(server, modern("tools/call", {
                "name": tool["name"], "arguments": {**good, "a" * length + "\U0001f600": 1}}))


@case
def cursors_that_are_not_ours_are_invalid_params(server):
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        for cursor in ("", "nope", "-1", "99999999999999999999", "\u0000", 1, [], {}, True):
            expect_error(server, modern(method, {"cursor": cursor}), INVALID_PARAMS)


@case
def answers_that_were_never_asked_for_are_refused(server):
    server.send(request := modern("tools/list"))
    tool = server.answer(request["id"])["result"]["tools"][0]["name"]
    for extra in ({"inputResponses": 5}, {"inputResponses": []}, {"requestState": 5},
                  {"requestState": ""}, {"requestState": "nope"}, {"requestState": "a.b"},
                  {"requestState": "\u0000"}, {"requestState": "x" * 1_000_000}):
        expect_refusal(server, modern("tools/call", {"name": tool, "arguments": {}, **extra}))


@case
def completions_of_nothing_are_invalid_params(server):
    for params in ({}, {"ref": 1}, {"ref": {}}, {"ref": {"type": "ref/nope", "name": "x"}},
                   {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": "b"}},
                   {"ref": {"type": "ref/prompt", "name": "nope"},
                    "argument": {"name": "a", "value": "b"}},
                   {"ref": {"type": "ref/resource", "uri": 5}, "argument": []}):
        expect_error(server, modern("completion/complete", params), INVALID_PARAMS)


@case
def listening_to_nonsense_is_invalid_params(server):
    for notifications in (1, [], "x", None):
        expect_error(server, modern("subscriptions/listen", {"notifications": notifications}),
                     INVALID_PARAMS)


@case
def tasks_of_nobody_are_invalid_params(server):
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}}}
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        for task in ("", "nope", None, 1, [], {}, "\u0000", "x" * 100_000):
            expect_error(server, modern(method, {"_meta": meta, "taskId": task,
                                                 "inputResponses": {}}), INVALID_PARAMS)


# ---- sessions of their own ----

def lists_tools(server):
    server.send(request := {"jsonrpc": "2.0", "id": next(ids), "method": "tools/list"})
    return "result" in server.answer(request["id"])


def before_initialize_only_ping_is_served(server):
    expect_error(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, INVALID_REQUEST)
    server.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert server.answer(2)["result"] == {}
    initialize(server, "2025-11-25")
    assert lists_tools(server)


def initialize_twice_is_refused(server):
    initialize(server, "2025-11-25")
    server.send(request := {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"}}})
    assert "error" in server.answer(request["id"])
    assert lists_tools(server)


def initialize_wants_a_revision(server):
    for params in ({}, {"protocolVersion": 1}, {"protocolVersion": None}, {"protocolVersion": []}):
        expect_error(server, {"jsonrpc": "2.0", "id": next(ids), "method": "initialize",
                              "params": params}, INVALID_PARAMS)
    initialize(server, "2025-11-25")


def an_unknown_revision_gets_the_newest_of_the_older_era(server):
    assert initialize(server, "1999-01-01")["protocolVersion"] == "2025-11-25"


def each_older_revision_is_echoed(server, revision):
    assert initialize(server, revision)["protocolVersion"] == revision
    assert lists_tools(server)


def batches_are_accepted_where_the_revision_has_them(server, revision):
    initialize(server, revision)
    ping = {"jsonrpc": "2.0", "id": 8, "method": "ping"}
    server.send([ping, {**ping, "id": "nine"}, {**ping, "method": "nope", "id": 10}, 5, {},
                 {"jsonrpc": "2.0", "method": "notifications/nope"}])
    answers = server.receive(lambda m: isinstance(m, list))
    by_id = {m.get("id"): m for m in answers}
    assert len(answers) == 5, f"five answers: {answers}"
    assert by_id[8]["result"] == {} and by_id["nine"]["result"] == {}
    assert code(by_id[10]) == METHOD_NOT_FOUND and code(by_id[None]) == INVALID_REQUEST
    server.send([{"jsonrpc": "2.0", "method": "notifications/nope"}])
    server.send({**ping, "id": 11})
    assert server.receive(lambda m: True).get("id") == 11, "a batch of notifications is not answered"
    expect_error(server, b"[]\n", INVALID_REQUEST)


def batches_are_refused_where_the_revision_has_none(server, revision):
    initialize(server, revision)
    expect_error(server, b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', INVALID_REQUEST)
    assert lists_tools(server)


def an_id_in_flight_cannot_be_used_again(server):
    """A subscription is what stays in flight in every server."""
    server.send(modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}},
                       id="held"))
    server.receive(lambda m: m.get("method") == "notifications/subscriptions/acknowledged")
    server.send(modern("tools/list", id="held"))
    assert code(server.answer("held")) == INVALID_REQUEST
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                 "params": {"requestId": "held"}})
    is_alive(server)
    server.receive(lambda m: m.get("id") == "held")
    server.send(modern("tools/list", id="held"))
    assert "result" in server.answer("held")


def the_end_of_input_in_the_middle_of_a_line_ends_the_server(server):
    server.send_bytes(b'{"jsonrpc": "2.0", "id": 1, "method": "pi')


SESSIONS = [
    (before_initialize_only_ping_is_served,),
    (initialize_twice_is_refused,),
    (initialize_wants_a_revision,),
    (an_unknown_revision_gets_the_newest_of_the_older_era,),
    (an_id_in_flight_cannot_be_used_again,),
    (the_end_of_input_in_the_middle_of_a_line_ends_the_server,),
    *((each_older_revision_is_echoed, r)
      for r in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")),
    *((batches_are_accepted_where_the_revision_has_them, r) for r in ("2024-11-05", "2025-03-26")),
    *((batches_are_refused_where_the_revision_has_none, r) for r in ("2025-06-18", "2025-11-25")),
]


# ---- running them ----

def attempt(function, *args):
    """What went wrong, or None."""
    try:
        function(*args)
        return None
    except (AssertionError, KeyError, TypeError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def title(function, *rest):
    return " ".join([function.__name__.replace("_", " "), *map(str, rest)])


def check_end(server):
    status = server.close()
    assert status == 0, f"at the end of its input the server ended with {status}"


def main():
    command = sys.argv[1:]
    tap = driver.Tap()
    server = driver.StdioServer(command)
    for function in cases:
        trouble = attempt(function, server) or attempt(is_alive, server)
        tap.result(title(function), trouble)
        if trouble:
            server.close()
            server = driver.StdioServer(command)
    tap.result("the server ends with its input", attempt(check_end, server))
    for function, *rest in SESSIONS:
        server = driver.StdioServer(command)
        trouble = attempt(function, server, *rest)
        tap.result(title(function, *rest), trouble or attempt(check_end, server))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
