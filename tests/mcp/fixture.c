/* SPDX-License-Identifier: MIT */
/* The server of fixture.h: `mcp-fixture` on stdin and stdout, `mcp-fixture --http ADDRESS`. */
#include "mcp/fixture.h"

#include "base/clock.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const unsigned char fixture_png[] = {
	0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
	0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
	0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x78,
	0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92,
	0xef, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};
const size_t fixture_png_len = sizeof(fixture_png);

void fixture_add_text(struct mcp_call *call, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mcp_call_add_text(call, text, strlen(text));
}

bool fixture_pause(const struct mcp_call *call, unsigned int ms)
{
	uint64_t end = sbx_now_ns() + ms * SBX_NS_PER_MS;

	while (!mcp_call_is_cancelled(call) && sbx_now_ns() < end)
		poll(NULL, 0, 5);
	return !mcp_call_is_cancelled(call);
}

static size_t count_tools(const struct mcp_tool *tools)
{
	size_t n = 0;

	while (tools[n].name != NULL)
		n++;
	return n;
}

/* All rows of tools in one array, which the caller frees. */
static struct mcp_tool *join_tools(void)
{
	const struct mcp_tool *parts[] = {fixture_content_tools, fixture_asking_tools,
					  fixture_task_tools};
	size_t total = 1, at = 0;
	struct mcp_tool *all;

	for (size_t i = 0; i < 3; i++)
		total += count_tools(parts[i]);
	all = calloc(total, sizeof(*all));
	if (all == NULL)
		abort();
	for (size_t i = 0; i < 3; i++) {
		memcpy(all + at, parts[i], count_tools(parts[i]) * sizeof(*all));
		at += count_tools(parts[i]);
	}
	return all;
}

static void say_url(const char *url, void *userdata)
{
	(void)userdata;
	printf("%s\n", url);
	fflush(stdout);
}

static int serve(struct mcp_server *server, int argc, char **argv, struct sbx_error *err)
{
	struct mcp_http_options options = {.on_listen = say_url};

	if (argc == 1)
		return mcp_serve_stdio(server, err);
	options.address = argv[2];
	options.token = getenv("MCP_FIXTURE_TOKEN");
	return mcp_serve_http(server, &options, err);
}

int main(int argc, char **argv)
{
	struct mcp_face face = {
		.name = "mcp-fixture",
		.title = "Fixture of the conformance tests",
		.version = "1.0.0",
		.description = "Shows every part of the protocol once.",
		.instructions = "For tests only.",
		.resources = fixture_resources,
		.prompts = fixture_prompts,
	};
	struct mcp_tool *tools = join_tools();
	struct mcp_server *server = NULL;
	struct sbx_error err = {0};
	int r;

	if (argc != 1 && (argc != 3 || strcmp(argv[1], "--http") != 0)) {
		fprintf(stderr, "usage: mcp-fixture [--http ADDRESS]\n");
		return 2;
	}
	face.tools = tools;
	r = mcp_server_new(&face, &server, &err);
	if (r >= 0)
		r = serve(server, argc, argv, &err);
	if (r < 0)
		fprintf(stderr, "mcp-fixture: %s\n", err.msg);
	mcp_server_free(server);
	free(tools);
	return r < 0 ? 1 : 0;
}
