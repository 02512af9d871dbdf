/* SPDX-License-Identifier: MIT */
/*
 * Hostile lines for the MCP server: parsing, the dispatch of both eras, rows, questions, tasks.
 * Every stream is finished at most once, every response has what a response needs, and after
 * the end of a session nothing of it runs. Built with clang it is a libFuzzer target (the first
 * byte chooses the session, the rest are lines); with SBX_FUZZ_MAIN it makes its own inputs
 * from a fixed seed: messages that are nearly good.
 */
#include "random.h"

#include "mcp/transport.h"

#include "base/auto.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a server whose rows do a little of everything ---- */

static int echo(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	auto_free char *text = json_dumps(arguments, JSON_COMPACT);

	(void)err;
	mcp_call_progress(call, 0.5, 1, "half");
	mcp_call_log(call, "info", "fuzz", json_string("echo"));
	mcp_call_add_text(call, text ? text : "", text ? strlen(text) : 0);
	mcp_call_add_text(call, "\xff\x80 no text", 10);
	mcp_call_set_structured(call, json_deep_copy(arguments));
	return MCP_DONE;
}

static int fail(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)call;
	(void)arguments;
	return sbx_fail(err, SBX_E_INVALID, "as asked");
}

static int refuse(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)err;
	mcp_call_refuse(call, -32021, "as asked", json_deep_copy(arguments));
	return MCP_DONE;
}

static int ask(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL, *more = NULL;
	int r, q;

	(void)arguments;
	mcp_call_keep_state(call, json_pack("{s:i}", "round", 1));
	r = mcp_call_ask(call, "a", "elicitation/create",
			 json_pack("{s:s, s:{s:s, s:{}}}", "message", "?", "requestedSchema",
				   "type", "object", "properties"),
			 &answer, err);
	q = r < 0 ? r : mcp_call_ask(call, "b", "roots/list", json_object(), &more, err);
	json_decref(answer);
	json_decref(more);
	return q < 0 ? q : r != MCP_DONE ? r : q;
}

static int read_resource(struct mcp_call *call, const char *uri, const char *variable,
			 struct sbx_error *err)
{
	(void)err;
	mcp_call_add_contents(call, uri, "text/plain", variable ? variable : "",
			      variable ? strlen(variable) : 0);
	return MCP_DONE;
}

static int get_prompt(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)err;
	mcp_call_add_message(call, "user", json_deep_copy(arguments));
	return MCP_DONE;
}

static void complete(const char *name, const char *prefix, json_t *values)
{
	json_array_append_new(values, json_string(name));
	json_array_append_new(values, json_string(prefix));
}

static const char *const choices[] = {"x", "y", NULL};

static const struct mcp_argument arguments[] = {
	{.name = "s", .type = MCP_STRING, .required = true, .max = 8, .header = "S"},
	{.name = "i", .type = MCP_INTEGER, .min = -1, .max = 9, .fallback = "3"},
	{.name = "n", .type = MCP_NUMBER, .nullable = true},
	{.name = "b", .type = MCP_BOOLEAN},
	{.name = "l", .type = MCP_STRINGS},
	{.name = "m", .type = MCP_STRING_MAP, .fallback = "{}"},
	{.name = "c", .type = MCP_STRING, .choices = choices},
};

static const struct mcp_tool tools[] = {
	{.name = "echo",
	 .description = "e",
	 .arguments = arguments,
	 .argument_count = sizeof(arguments) / sizeof(arguments[0]),
	 .run = echo},
	{.name = "open",
	 .description = "o",
	 .input_schema = "{\"type\": \"object\"}",
	 .run = echo,
	 .task = MCP_TASK_OPTIONAL},
	{.name = "fail", .description = "f", .run = fail, .task = MCP_TASK_REQUIRED},
	{.name = "refuse",
	 .description = "r",
	 .input_schema = "{\"type\": \"object\"}",
	 .run = refuse},
	{.name = "ask", .description = "a", .run = ask, .task = MCP_TASK_OPTIONAL},
	{.name = "late",
	 .description = "l",
	 .run = ask,
	 .task = MCP_TASK_REQUIRED,
	 .task_after_input = true},
	{0},
};

static const struct mcp_resource resources[] = {
	{.uri = "f://one", .name = "one", .mime_type = "text/plain", .read = read_resource},
	{.uri = "f://{x}/end",
	 .name = "many",
	 .mime_type = "text/plain",
	 .read = read_resource,
	 .complete = complete},
	{0},
};

static const struct mcp_prompt_argument prompt_arguments[] = {{.name = "p", .required = true}};

static const struct mcp_prompt prompts[] = {
	{.name = "prompt",
	 .arguments = prompt_arguments,
	 .argument_count = 1,
	 .get = get_prompt,
	 .complete = complete},
	{0},
};

static const struct mcp_face face = {
	.name = "fuzz",
	.version = "1",
	.tools = tools,
	.resources = resources,
	.prompts = prompts,
	.workers = 1,
};

static struct mcp_server *get_server(void)
{
	static struct mcp_server *server;
	struct sbx_error err;

	if (server == NULL && mcp_server_new(&face, &server, &err) < 0)
		abort();
	return server;
}

/* ---- a client that checks what it gets ---- */

struct client {
	struct mcp_stream streams[STREAMS_MAX];
	bool finished[STREAMS_MAX];
	size_t count;
};

static struct client client;

static void check_message(const json_t *message)
{
	auto_free char *text = json_dumps(message, JSON_COMPACT);
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));

	if (text == NULL || version == NULL || strcmp(version, "2.0") != 0)
		abort();
}

static void check_response(const json_t *response)
{
	const json_t *error = json_object_get(response, "error");

	check_message(response);
	if ((error == NULL) == (json_object_get(response, "result") == NULL))
		abort();
	if (error != NULL && (!json_is_integer(json_object_get(error, "code")) ||
			      !json_is_string(json_object_get(error, "message"))))
		abort();
}

static void take_sent(struct mcp_stream *stream, const json_t *message)
{
	(void)stream;
	check_message(message);
	if (json_object_get(message, "method") == NULL)
		abort();
}

static void take_finished(struct mcp_stream *stream, const json_t *response, int status)
{
	size_t i = (size_t)(stream - client.streams), each;
	const json_t *one;

	if (i >= client.count || client.finished[i] || status < 200 || status > 599)
		abort();
	client.finished[i] = true;
	if (json_is_array(response))
		json_array_foreach((json_t *)response, each, one) check_response(one);
	else if (response != NULL)
		check_response(response);
}

static void send_line(struct mcp_session *session, const char *text, size_t len)
{
	struct mcp_stream *stream = &client.streams[client.count];
	char why[256];
	json_t *message = mcp_parse(text, len, why, sizeof(why));

	*stream = (struct mcp_stream){.send = take_sent, .finish = take_finished};
	client.finished[client.count++] = false;
	if (message == NULL)
		mcp_session_refuse(session, MCP_PARSE_ERROR, why, stream);
	else
		mcp_session_receive(session, message, stream);
	json_decref(message);
}

static void run_loop(struct mcp_server *server)
{
	event_base_loop(mcp_server_loop(server), EVLOOP_NONBLOCK);
}

/* The client goes, in one of the ways that a transport has, and then the session. */
static void leave(struct mcp_server *server, struct mcp_session *session, uint8_t how)
{
	for (size_t i = 0; i < client.count; i++) {
		if (client.finished[i] || (how & 12) == 0)
			continue;
		if ((how & 12) == 4)
			mcp_stream_cancel(&client.streams[i]);
		else
			mcp_stream_gone(&client.streams[i], NULL);
	}
	mcp_session_set_unsolicited(session, NULL);
	mcp_session_free(session);
	client.count = 0;
	while (mcp_server_busy(server) > 0)
		event_base_loop(mcp_server_loop(server), EVLOOP_ONCE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mcp_stream unsolicited = {.send = take_sent};
	struct mcp_server *server = get_server();
	uint8_t how = size > 0 ? data[0] : 0;
	struct mcp_session *session = mcp_session_new(server, how % 3);
	const char *text = (const char *)data + 1, *end = (const char *)data + size, *line_end;

	if (session == NULL)
		abort();
	mcp_session_set_unsolicited(session, &unsolicited);
	while (size > 1 && text < end && client.count < STREAMS_MAX) {
		line_end = memchr(text, '\n', (size_t)(end - text));
		line_end = line_end ? line_end : end;
		send_line(session, text, (size_t)(line_end - text));
		run_loop(server);
		text = line_end + 1;
	}
	leave(server, session, how);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
#define MODERN                                                                             \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","           \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"roots\":{}," \
	"\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}},"                          \
	"\"io.modelcontextprotocol/logLevel\":\"debug\",\"progressToken\":1}"

static const char *const methods[] = {
	"initialize",
	"ping",
	"tools/list",
	"tools/call",
	"resources/list",
	"resources/read",
	"resources/templates/list",
	"resources/subscribe",
	"resources/unsubscribe",
	"prompts/list",
	"prompts/get",
	"completion/complete",
	"logging/setLevel",
	"server/discover",
	"subscriptions/listen",
	"tasks/get",
	"tasks/result",
	"tasks/list",
	"tasks/cancel",
	"tasks/update",
	"notifications/initialized",
	"notifications/cancelled",
	"nope",
};

static const char *const params[] = {
	"\"name\":\"echo\",\"arguments\":{\"s\":\"x\"}",
	"\"name\":\"echo\",\"arguments\":{\"s\":\"x\",\"i\":1,\"n\":null,\"l\":[\"a\"],\"c\":"
	"\"z\"}",
	"\"name\":\"open\",\"arguments\":{\"a\":[{\"b\":1}]},\"task\":{\"ttl\":1}",
	"\"name\":\"fail\",\"arguments\":{},\"task\":{}",
	"\"name\":\"refuse\",\"arguments\":{\"requiredCapabilities\":{}}",
	"\"name\":\"ask\",\"inputResponses\":{\"a\":{\"action\":\"accept\"},\"b\":{\"roots\":[]}}",
	"\"name\":\"ask\",\"requestState\":\"e30=.e30=\"",
	"\"name\":\"late\",\"inputResponses\":{\"a\":1}",
	"\"name\":\"ask\"",
	"\"name\":\"prompt\",\"arguments\":{\"p\":\"q\"}",
	"\"uri\":\"f://one\"",
	"\"uri\":\"f://two/end\"",
	"\"requestId\":1,\"reason\":\"r\"",
	"\"cursor\":\"1\"",
	"\"level\":\"debug\"",
	"\"taskId\":\"00000000000000000000000000000000\",\"inputResponses\":{}",
	"\"ref\":{\"type\":\"ref/"
	"prompt\",\"name\":\"prompt\"},\"argument\":{\"name\":\"p\",\"value\":\"v\"}",
	"\"ref\":{\"type\":\"ref/resource\",\"uri\":\"f://{x}/"
	"end\"},\"argument\":{\"name\":\"x\",\"value\":\"\"}",
	"\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"f://"
	"one\"],\"taskIds\":[1]}",
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{},\"roots\":{}},"
	"\"clientInfo\":{}",
	"\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},\"clientInfo\":{}",
	"\"a\":1",
};

#define PICK(table) (table)[next(state) % (sizeof(table) / sizeof((table)[0]))]

/* A request or notification whose method and params mostly do not fit; now and then they do. */
static size_t make_message(char *to, size_t size, uint32_t *state)
{
	char id[32] = "";

	if (next(state) % 8 > 0)
		snprintf(id, sizeof(id), "\"id\":%u,", (unsigned int)next(state) % 6);
	return (size_t)snprintf(to, size,
				"{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":{%s%s%s}}", id,
				PICK(methods), PICK(params), next(state) % 2 ? "," MODERN : "",
				next(state) % 16 ? "" : ",\"x\":1e999");
}

static size_t make_answer(char *to, size_t size, uint32_t *state)
{
	return (size_t)snprintf(
		to, size, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"%s\":{\"action\":\"accept\"}}",
		(unsigned int)next(state) % 4, next(state) % 4 ? "result" : "error");
}

/* The first line opens the session, as a client does that means well; batches come last. */
static size_t make_input(uint8_t *ret, size_t max, uint32_t *state)
{
	char *text = (char *)ret;
	size_t len = 1, lines = next(state) % 8 + 1, batch = next(state) % 4 == 0;

	ret[0] = (uint8_t)next(state);
	if (next(state) % 4 > 0)
		len += (size_t)snprintf(
			text + len, max - len,
			"{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\","
			"\"params\":{%s}}\n",
			params[19 + next(state) % 2]);
	if (batch)
		text[len++] = '[';
	for (size_t i = 0; i < lines && len + 1500 < max; i++) {
		if (i > 0)
			text[len++] = batch ? ',' : '\n';
		len += next(state) % 8 ? make_message(text + len, max - len - 1, state)
				       : make_answer(text + len, max - len - 1, state);
	}
	if (batch)
		text[len++] = ']';
	for (size_t flips = next(state) % 4 ? 0 : next(state) % 4 + 1; flips > 0; flips--)
		ret[next(state) % len] = (uint8_t)next(state);
	return len;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	uint32_t state = 12345;
	static uint8_t input[16384];

	for (unsigned long i = 0; i < rounds; i++)
		LLVMFuzzerTestOneInput(input, make_input(input, sizeof(input), &state));
	mcp_server_free(get_server());
	printf("1..1\nok 1 - %lu hostile sessions change nothing\n", rounds);
	return 0;
}
#endif
