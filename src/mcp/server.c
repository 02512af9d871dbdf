/* SPDX-License-Identifier: MIT */
#include "mcp/core.h"

#include "base/error.h"

#include <errno.h>
#include <event2/thread.h>
#include <stdlib.h>
#include <sys/random.h>

/*
 * poll() and not epoll: stdin and stdout may be files, which epoll refuses; the few hundred
 * clients of an HTTP server are no number for either.
 */
static struct event_base *new_loop(void)
{
	struct event_config *config = event_config_new();
	struct event_base *loop = NULL;

	if (config != NULL && event_config_avoid_method(config, "epoll") == 0)
		loop = event_base_new_with_config(config);
	if (config != NULL)
		event_config_free(config);
	return loop;
}

static bool make(struct mcp_server *server)
{
	server->loop = new_loop();
	if (server->loop == NULL)
		return false;
	server->posts = mcp_posts_new(server->loop);
	server->tasks = mcp_tasks_new(server);
	server->workers = mcp_workers_new(server, server->face->workers);
	return server->posts != NULL && server->tasks != NULL && server->workers != NULL &&
	       getrandom(server->seal_key, sizeof(server->seal_key), 0) ==
		       (ssize_t)sizeof(server->seal_key);
}

int mcp_server_new(const struct mcp_face *face, struct mcp_server **ret, struct sbx_error *err)
{
	struct mcp_server *server = calloc(1, sizeof(*server));

	if (server == NULL || evthread_use_pthreads() != 0) {
		free(server);
		return sbx_fail_errno(err, ENOMEM, "cannot make the MCP server");
	}
	server->face = face;
	LIST_INIT(&server->sessions);
	LIST_INIT(&server->interrupted);
	if (!make(server)) {
		mcp_server_free(server);
		return sbx_fail_errno(err, errno ? errno : ENOMEM, "cannot make the MCP server");
	}
	*ret = server;
	return 0;
}

/* Workers that still run have been cancelled; what they post frees their calls. */
void mcp_server_free(struct mcp_server *server)
{
	if (server == NULL)
		return;
	server->ends = true;
	while (!LIST_EMPTY(&server->sessions))
		mcp_session_free(LIST_FIRST(&server->sessions));
	mcp_calls_kill_interrupted(server);
	if (server->tasks != NULL)
		mcp_tasks_stop(server->tasks);
	mcp_workers_free(server->workers);
	mcp_posts_free(server->posts);
	mcp_tasks_free(server->tasks);
	if (server->loop != NULL)
		event_base_free(server->loop);
	free(server);
}

struct event_base *mcp_server_loop(const struct mcp_server *server)
{
	return server->loop;
}

size_t mcp_server_busy(const struct mcp_server *server)
{
	return server->busy;
}

void mcp_server_on_idle(struct mcp_server *server, void (*function)(void *userdata),
			void *userdata)
{
	server->on_idle = function;
	server->on_idle_userdata = userdata;
}
