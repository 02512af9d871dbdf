/* SPDX-License-Identifier: MIT */
/*
 * A server with a few tools for http_test.py, which drives it over real sockets.
 *
 *	http-peer ADDRESS [--token T] [--cert FILE --key FILE] [--origin O] [--host H] [--body N]
 *		  [--connections N] [--drain MS] [--NAME-ms N …]
 *
 * It prints its URL when it listens. The times are those of struct http_times.
 */
#include "base/error.h"
#include "mcp/http_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- tools ---- */

static void nap(unsigned int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

static int echo(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const json_t *text = json_object_get(arguments, "text");

	(void)err;
	mcp_call_add_text(call, json_string_value(text), json_string_length(text));
	return MCP_DONE;
}

/* Says when it begins, and when it ends what made it end. */
static int wait_for(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	long long ms = json_integer_value(json_object_get(arguments, "ms"));

	(void)err;
	puts("begins");
	for (long long at = 0; at < ms && !mcp_call_is_cancelled(call); at += 5)
		nap(5);
	puts(mcp_call_is_cancelled(call) ? "cancelled" : "ends");
	mcp_call_add_text(call, "waited", 6);
	return MCP_DONE;
}

static int talk(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	long long count = json_integer_value(json_object_get(arguments, "count"));
	long long ms = json_integer_value(json_object_get(arguments, "ms"));
	long long bytes = json_integer_value(json_object_get(arguments, "bytes"));
	char *filler = calloc(1, (size_t)bytes + 1);

	(void)err;
	puts("begins");
	memset(filler, 'x', (size_t)bytes);
	for (long long i = 1; i <= count && !mcp_call_is_cancelled(call); i++) {
		mcp_call_log(call, "error", NULL, json_pack("{s:I, s:s}", "n", i, "x", filler));
		nap((unsigned int)ms);
	}
	puts(mcp_call_is_cancelled(call) ? "cancelled" : "ends");
	free(filler);
	mcp_call_add_text(call, "said", 4);
	return MCP_DONE;
}

/* What belongs to no request. */
static int change(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_server_list_changed(mcp_call_server(call), MCP_TOOLS);
	return MCP_DONE;
}

static const struct mcp_argument echo_arguments[] = {
	{.name = "text", .type = MCP_STRING, .required = true},
	{.name = "region", .type = MCP_STRING, .header = "Region"},
	{.name = "level", .type = MCP_INTEGER, .header = "Level"},
	{.name = "sure", .type = MCP_BOOLEAN, .header = "Sure"},
};
static const struct mcp_argument wait_arguments[] = {
	{.name = "ms", .type = MCP_INTEGER, .required = true},
};
static const struct mcp_argument talk_arguments[] = {
	{.name = "count", .type = MCP_INTEGER, .fallback = "3"},
	{.name = "ms", .type = MCP_INTEGER, .fallback = "1"},
	{.name = "bytes", .type = MCP_INTEGER, .fallback = "1"},
};
static const char schema[] = "{\"type\": \"object\", \"properties\": {\"text\": "
			     "{\"type\": \"string\", \"x-mcp-header\": \"Text\"}}}";

#define ARGUMENTS(rows) .arguments = rows, .argument_count = sizeof(rows) / sizeof(rows[0])

static const struct mcp_tool tools[] = {
	{.name = "echo", .description = "echo", .run = echo, ARGUMENTS(echo_arguments)},
	{.name = "schema", .description = "echo", .run = echo, .input_schema = schema},
	{.name = "wait", .description = "wait", .run = wait_for, ARGUMENTS(wait_arguments)},
	{.name = "talk", .description = "talk", .run = talk, ARGUMENTS(talk_arguments)},
	{.name = "change", .description = "change", .run = change},
	{.name = NULL},
};
static const struct mcp_resource resources[] = {{.uri = NULL}};
static const struct mcp_prompt prompts[] = {{.name = NULL}};

/* ---- options ---- */

struct peer {
	struct mcp_http_options options;
	struct http_times times;
	const char *origins[2], *hosts[2];
};

static bool set_time(struct http_times *times, const char *name, unsigned int value)
{
	struct {
		const char *name;
		unsigned int *at;
	} rows[] = {
		{"--head-ms", &times->head_ms},	    {"--body-ms", &times->body_ms},
		{"--idle-ms", &times->idle_ms},	    {"--write-ms", &times->write_ms},
		{"--linger-ms", &times->linger_ms}, {"--stream-ms", &times->stream_ms},
		{"--alive-ms", &times->alive_ms},   {"--session-ms", &times->session_ms},
		{"--replay-ms", &times->replay_ms}, {"--retry-ms", &times->retry_ms},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) == 0) {
			*rows[i].at = value;
			return true;
		}
	}
	return false;
}

static void set_option(struct peer *peer, const char *name, const char *value)
{
	unsigned int number = (unsigned int)strtoul(value, NULL, 10);

	if (strcmp(name, "--token") == 0)
		peer->options.token = value;
	else if (strcmp(name, "--cert") == 0)
		peer->options.tls_cert_file = value;
	else if (strcmp(name, "--key") == 0)
		peer->options.tls_key_file = value;
	else if (strcmp(name, "--origin") == 0)
		peer->origins[0] = value;
	else if (strcmp(name, "--host") == 0)
		peer->hosts[0] = value;
	else if (strcmp(name, "--path") == 0)
		peer->options.path = value;
	else if (strcmp(name, "--body") == 0)
		peer->options.body_max = number;
	else if (strcmp(name, "--connections") == 0)
		peer->options.connections_max = number;
	else if (strcmp(name, "--drain") == 0)
		peer->options.drain_ms = number;
	else if (!set_time(&peer->times, name, number))
		exit(2);
}

static void on_listen(const char *url, void *userdata)
{
	(void)userdata;
	puts(url);
}

int main(int argc, char **argv)
{
	const struct mcp_face face = {
		.name = "peer",
		.version = "1",
		.tools = tools,
		.resources = resources,
		.prompts = prompts,
		.workers = 4,
	};
	struct peer peer = {.options.on_listen = on_listen, .times = http_default_times};
	struct mcp_server *server;
	struct sbx_error err;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	peer.options.address = argv[1];
	for (int i = 2; i + 1 < argc; i += 2)
		set_option(&peer, argv[i], argv[i + 1]);
	peer.options.origins = peer.origins[0] ? peer.origins : NULL;
	peer.options.hosts = peer.hosts[0] ? peer.hosts : NULL;
	r = mcp_server_new(&face, &server, &err);
	if (r == 0) {
		r = http_serve(server, &peer.options, &peer.times, &err);
		mcp_server_free(server);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r < 0;
}
