/* SPDX-License-Identifier: MIT */
#include "cli/target.h"

#include "cli/client.h"
#include "cli/paper_artifacts.h"
#include "cli/signals.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)2 << 30) /* of a result: two streams of the largest head and tail */

/* ---- signals ---- */

/* One message is sent whole or not at all, so a handler cannot cut into another. */
static void interrupt(void *userdata)
{
	const struct client *client = userdata;

	send(client->sock, &(char){POST_INTERRUPT}, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A holder that does not answer must not hold us too: the next signal ends us. */
static void kill_run(void *userdata)
{
	const struct client *client = userdata;

	send(client->sock, &(char){POST_KILL}, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

/* ---- the request ---- */

/* The descriptors that go with it. */
struct luggage {
	int code_fd, stdin_fd, pipe_fd; /* pipe_fd: where we carry our stdin to, or -1 */
	bool closes_stdin;
};

static void luggage_done(struct luggage *l)
{
	if (l->code_fd >= 0)
		close(l->code_fd);
	if (l->closes_stdin)
		close(l->stdin_fd);
}

/*
 * What is no terminal the holder reads by itself. A terminal's input is ours to read: the kernel
 * stops us, and not the holder, when the user puts us into the background.
 */
static int pack_stdin(const struct job *job, struct luggage *l, struct sbx_error *err)
{
	int fds[2];

	if (!job->use_stdin)
		return 0;
	l->stdin_fd = STDIN_FILENO;
	if (!isatty(STDIN_FILENO))
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot make a pipe: %s", strerror(errno));
	l->stdin_fd = fds[0];
	l->closes_stdin = true;
	l->pipe_fd = fds[1];
	return 0;
}

static int pack(const struct job *job, struct luggage *ret, struct sbx_error *err)
{
	*ret = (struct luggage){.code_fd = -1, .stdin_fd = -1, .pipe_fd = -1};
	if (job->source != NULL) {
		ret->code_fd = paper_fill(job->source->code, job->source->code_len);
		if (ret->code_fd < 0)
			return cli_fail(err, SBX_E_SYSTEM, "cannot pass the code on: %s",
					strerror(-ret->code_fd));
	}
	return pack_stdin(job, ret, err);
}

static json_t *make_request(const struct settings *s, const struct job *job)
{
	const struct source *source = job->source;
	json_t *q = client_request(source ? "run" : "exec", s->session);

	if (source != NULL) {
		json_object_set_new(q, "language", json_string(source->language->id));
		if (source->file_name != NULL)
			json_object_set_new(q, "file_name", paper_text(source->file_name));
	}
	json_object_set_new(q, "args",
			    paper_list((const char *const *)(source ? source->args : job->argv)));
	json_object_set_new(q, "libraries", paper_list((const char *const *)job->libraries));
	json_object_set_new(q, "env", paper_list((const char *const *)job->env));
	json_object_set_new(q, "timeout_ms", json_integer((json_int_t)job->timeout_ms));
	json_object_set_new(q, "artifacts", json_boolean(job->artifacts));
	if (job->kernel != NULL)
		json_object_set_new(q, "kernel", paper_text(job->kernel));
	json_object_set_new(q, "use_stdin", json_boolean(job->use_stdin));
	json_object_set_new(q, "stream", json_boolean(s->stream));
	if (s->json)
		json_object_set_new(q, "json_indent", json_integer(s->stream ? 0 : 2));
	return q;
}

/* ---- the answer ---- */

/* A result as far as it is shown, with the texts that it points into. */
struct parcel {
	struct sbx_result result;
	char *data;
};

static void free_parcel(struct parcel *parcel)
{
	if (parcel == NULL)
		return;
	paper_free_artifacts(&parcel->result);
	free(parcel->data);
	free(parcel);
}

static struct sbx_output take_output(const json_t *object, const char *data, size_t left)
{
	struct sbx_output o = {
		.data = (char *)data,
		.len = (size_t)json_integer_value(json_object_get(object, "len")),
		.head_len = (size_t)json_integer_value(json_object_get(object, "head_len")),
		.total_bytes = (uint64_t)json_integer_value(json_object_get(object, "total_bytes")),
		.truncated = json_is_true(json_object_get(object, "truncated")),
	};

	if (o.len > left)
		o.len = left;
	return o;
}

static void take_result(const json_t *body, size_t len, struct parcel *ret)
{
	struct sbx_result *r = &ret->result;
	auto_free char *message = paper_bytes(json_object_get(body, "message"));

	r->exit_code = (int)json_integer_value(json_object_get(body, "exit_code"));
	r->kernel_ended = json_is_true(json_object_get(body, "kernel_ended"));
	r->artifacts_left_out =
		(uint32_t)json_integer_value(json_object_get(body, "artifacts_left_out"));
	r->reason = (enum sbx_reason)json_integer_value(json_object_get(body, "reason"));
	snprintf(r->message, sizeof(r->message), "%s", message ? message : "");
	r->out = take_output(json_object_get(body, "stdout"), ret->data, len);
	r->errout = take_output(json_object_get(body, "stderr"), ret->data + r->out.len,
				len - r->out.len);
}

/* The data is the result as JSON where the settings want that, else both streams. */
int target_session_unpack(const struct settings *s, const struct answer *answer,
			  struct outcome *ret, struct sbx_error *err)
{
	struct parcel *parcel = calloc(1, sizeof(*parcel));
	auto_free char *note = NULL;
	size_t len = 0;
	int r = parcel ? 0 : -ENOMEM;

	if (r == 0 && answer->data_fd >= 0)
		r = paper_take(answer->data_fd, OUTPUT_MAX, &parcel->data, &len);
	if (r == 0 && s->json && parcel->data == NULL)
		r = -EBADMSG;
	if (r == 0 &&
	    !paper_take_artifacts(json_object_get(answer->body, "artifacts"), &parcel->result))
		r = -EBADMSG;
	if (r < 0) {
		free_parcel(parcel);
		return cli_fail(err, SBX_E_SYSTEM, "cannot take the result: %s", strerror(-r));
	}
	note = paper_bytes(json_object_get(answer->body, "note"));
	snprintf(ret->note, sizeof(ret->note), "%s", note ? note : "");
	take_result(answer->body, s->json ? 0 : len, parcel);
	ret->json = s->json ? parcel->data : NULL;
	ret->result = &parcel->result;
	ret->internal = parcel;
	return 0;
}

static int ask(const struct settings *s, const struct job *job, struct output *output,
	       const struct luggage *l, struct answer *ret, int *ret_killed_by,
	       struct sbx_error *err)
{
	struct client client;
	struct reach reach = {interrupt, kill_run, &client};
	struct client_io io = {
		.on_stdout = output_stdout,
		.on_stderr = output_stderr,
		.userdata = output,
		.carries_stdin = l->pipe_fd >= 0,
		.stdin_pipe_fd = l->pipe_fd,
	};
	int fds[2], r = client_connect(&client, err);
	size_t count = 0;

	if (r < 0)
		return r;
	if (l->code_fd >= 0)
		fds[count++] = l->code_fd;
	if (l->stdin_fd >= 0)
		fds[count++] = l->stdin_fd;
	output->reach = &reach;
	signals_connect(&reach);
	r = client_ask(&client, make_request(s, job), fds, count, &io, ret, err);
	*ret_killed_by = signals_disconnect();
	output->reach = NULL;
	client_close(&client);
	return r;
}

static int run(const struct settings *s, const struct job *job, struct output *output,
	       struct outcome *ret, struct sbx_error *err)
{
	struct luggage luggage;
	struct answer answer;
	int r = pack(job, &luggage, err);

	*ret = (struct outcome){0};
	if (r == 0)
		r = ask(s, job, output, &luggage, &answer, &ret->killed_by, err);
	luggage_done(&luggage);
	if (r < 0)
		return r;
	r = target_session_unpack(s, &answer, ret, err);
	answer_done(&answer);
	return r;
}

void target_session_done(struct outcome *outcome)
{
	free_parcel(outcome->internal); /* outcome->json too */
}

const struct target target_session = {.run = run, .done = target_session_done};
