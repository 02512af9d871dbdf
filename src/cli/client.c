/* SPDX-License-Identifier: MIT */
#include "cli/client.h"

#include "cli/holder.h"
#include "cli/runtime.h"
#include "cli/trouble.h"

#include <llmsandbox/version.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* ---- connecting ---- */

static int fail_none(struct sbx_error *err)
{
	return cli_fail(err, SBX_E_NOT_FOUND,
			"no session is open; 'llm-sandbox session start' opens one");
}

int client_connect(struct client *ret, struct sbx_error *err)
{
	int folder_fd, sock, r = runtime_open(false, &folder_fd, err);

	*ret = (struct client){.sock = -1};
	if (r == -(int)SBX_E_NOT_FOUND)
		return fail_none(err);
	if (r < 0)
		return r;
	sock = runtime_connect(folder_fd);
	close(folder_fd);
	if (sock == -ENOENT || sock == -ECONNREFUSED)
		return fail_none(err);
	if (sock < 0)
		return cli_fail(err, SBX_E_UNAVAILABLE,
				"cannot reach the holder of the sessions: %s", strerror(-sock));
	*ret = (struct client){.sock = sock};
	return 0;
}

int client_connect_or_start(uint64_t idle_ms, struct client *ret, struct sbx_error *err)
{
	int r = client_connect(ret, err);

	if (r != -(int)SBX_E_NOT_FOUND)
		return r;
	r = holder_start(idle_ms, err);
	return r < 0 ? r : client_connect(ret, err);
}

void client_close(struct client *client)
{
	if (client->sock >= 0)
		close(client->sock);
	client->sock = -1;
}

/* ---- asking ---- */

json_t *client_request(const char *name, const char *session)
{
	json_t *request = json_pack("{s:s, s:s, s:i}", "do", name, "version", sbx_version(),
				    "protocol", HOLDER_PROTOCOL);

	if (request != NULL && session != NULL)
		json_object_set_new(request, "session", paper_text(session));
	return request;
}

static int fail_gone(struct sbx_error *err)
{
	return cli_fail(err, SBX_E_UNAVAILABLE,
			"the holder of the sessions ended, and the sessions with it");
}

static int send_request(struct client *client, json_t *request, const int *fds, size_t fd_count,
			struct sbx_error *err)
{
	int all[POST_FDS_MAX], r;
	struct post_out out = {.type = POST_REQUEST, .fds = all, .fd_count = fd_count + 1};

	all[0] = paper_write(request);
	if (all[0] < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot write the request: %s",
				strerror(-all[0]));
	for (size_t i = 0; i < fd_count; i++)
		all[i + 1] = fds[i];
	r = post_send(client->sock, &out, -1);
	close(all[0]);
	if (r == -EPIPE || r == -ECONNRESET)
		return fail_gone(err);
	return r < 0 ? cli_fail(err, SBX_E_SYSTEM, "cannot send the request: %s", strerror(-r)) : 0;
}

static int take_answer(struct post *post, struct answer *ret, struct sbx_error *err)
{
	json_t *body = post->fd_count > 0 ? paper_read(post->fds[0]) : NULL;
	json_t *error = json_object_get(body, "error");

	if (body == NULL)
		return cli_fail(err, SBX_E_PROTOCOL, "the holder of the sessions sent no answer");
	if (error != NULL) {
		paper_take_error(error, err);
		json_decref(body);
		return -(int)err->code;
	}
	*ret = (struct answer){.body = body, .data_fd = -1};
	if (post->fd_count > 1) {
		ret->data_fd = post->fds[1];
		post->fds[1] = -1;
	}
	return 0;
}

static void take_progress(const struct client_io *io, const struct post *post)
{
	struct post_progress progress;

	if (io->on_progress == NULL || post->len < sizeof(progress))
		return;
	memcpy(&progress, post->payload, sizeof(progress));
	io->on_progress(&progress, post->payload + sizeof(progress), io->userdata);
}

/* 1 when it was the answer, 0 when more is to come. */
static int act_on(struct post *post, const struct client_io *io, struct answer *ret,
		  struct sbx_error *err)
{
	int r;

	if (post->type == POST_ANSWER) {
		r = take_answer(post, ret, err);
		return r < 0 ? r : 1;
	}
	if (post->type == POST_STDOUT && io->on_stdout != NULL)
		io->on_stdout(post->payload, post->len, io->userdata);
	else if (post->type == POST_STDERR && io->on_stderr != NULL)
		io->on_stderr(post->payload, post->len, io->userdata);
	else if (post->type == POST_PROGRESS)
		take_progress(io, post);
	return 0;
}

/* ---- our terminal's input, which must not be read by a process that is not in its session ---- */

struct carrier {
	int to; /* -1: nothing to carry, or no more */
	char data[4096];
	size_t len;
};

static struct pollfd carrier_poll(const struct carrier *c)
{
	if (c->to < 0)
		return (struct pollfd){.fd = -1};
	if (c->len > 0)
		return (struct pollfd){.fd = c->to, .events = POLLOUT};
	return (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
}

static void carrier_end(struct carrier *c)
{
	if (c->to >= 0)
		close(c->to);
	c->to = -1;
}

static void carrier_act(struct carrier *c)
{
	ssize_t n;

	if (c->len > 0) {
		n = write(c->to, c->data, c->len);
		if (n > 0)
			memmove(c->data, c->data + n, c->len -= (size_t)n);
	} else {
		n = read(STDIN_FILENO, c->data, sizeof(c->data));
		c->len = n > 0 ? (size_t)n : 0;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		carrier_end(c);
}

/* ---- the conversation ---- */

static int converse(struct client *client, struct carrier *carrier, const struct client_io *io,
		    struct answer *ret, struct sbx_error *err)
{
	struct post post;
	int r = 0;

	while (r == 0) {
		struct pollfd fds[2] = {{.fd = client->sock, .events = POLLIN},
					carrier_poll(carrier)};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return cli_fail(err, SBX_E_SYSTEM, "cannot wait for the holder: %s",
					strerror(errno));
		if (fds[1].revents != 0)
			carrier_act(carrier);
		if (fds[0].revents == 0)
			continue;
		r = post_receive(client->sock, &post);
		if (r == 0)
			return fail_gone(err);
		if (r == -EAGAIN) {
			r = 0;
			continue;
		}
		if (r < 0)
			return cli_fail(err, SBX_E_PROTOCOL,
					"cannot understand the holder of the sessions: %s",
					strerror(-r));
		r = act_on(&post, io, ret, err);
		post_done(&post);
	}
	return r < 0 ? r : 0;
}

int client_ask(struct client *client, json_t *request, const int *fds, size_t fd_count,
	       const struct client_io *io, struct answer *ret, struct sbx_error *err)
{
	static const struct client_io nothing;
	struct carrier carrier = {.to = io && io->carries_stdin ? io->stdin_pipe_fd : -1};
	int r = send_request(client, request, fds, fd_count, err);

	json_decref(request);
	if (r == 0)
		r = converse(client, &carrier, io ? io : &nothing, ret, err);
	carrier_end(&carrier);
	return r;
}

void answer_done(struct answer *answer)
{
	json_decref(answer->body);
	if (answer->data_fd >= 0)
		close(answer->data_fd);
}

int client_call(json_t *request, struct answer *ret, struct sbx_error *err)
{
	struct client client;
	int r = client_connect(&client, err);

	if (r < 0) {
		json_decref(request);
		return r;
	}
	r = client_ask(&client, request, NULL, 0, NULL, ret, err);
	client_close(&client);
	return r;
}
