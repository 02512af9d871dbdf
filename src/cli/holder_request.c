/* SPDX-License-Identifier: MIT */
#include "cli/holder_request.h"

#include "cli/closest.h"
#include "cli/holder.h"
#include "cli/trouble.h"

#include <llmsandbox/version.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STRINGS_MAX 262144
#define PATIENCE_MS 200 /* with a client that does not read, before we look around */

static const struct request_row *const tables[] = {session_requests, run_requests, file_requests,
						    kernel_requests};

/* ---- what is in it ---- */

int request_text(const struct request *q, const char *key, char **ret, struct sbx_error *err)
{
	*ret = paper_bytes(json_object_get(q->body, key));
	if (*ret == NULL)
		return cli_fail(err, SBX_E_INVALID, "the request has no '%s'", key);
	return 0;
}

int request_list(const struct request *q, const char *key, char ***ret, struct sbx_error *err)
{
	*ret = paper_strings(json_object_get(q->body, key), STRINGS_MAX);
	if (*ret == NULL)
		return cli_fail(err, SBX_E_INVALID, "the request's '%s' is no list of texts", key);
	return 0;
}

uint64_t request_number(const struct request *q, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(q->body, key));
}

bool request_flag(const struct request *q, const char *key)
{
	return json_is_true(json_object_get(q->body, key));
}

int request_fd(const struct request *q, size_t n)
{
	return n + 1 < POST_FDS_MAX ? q->fds[n + 1] : -1;
}

/* ---- what goes to the client ---- */

static bool session_ended(const struct request *q)
{
	struct sbx_error ignored;

	return q->session != NULL &&
	       sbx_registry_check(q->hall->registry, q->session, &ignored) < 0;
}

static void send_piece(struct request *q, const struct post_out *out)
{
	do
		q->failed = post_send(q->sock, out, PATIENCE_MS);
	while (q->failed == -EAGAIN && !session_ended(q));
}

void request_send(struct request *q, enum post_type type, const void *data, size_t len)
{
	struct post_out out = {.type = type, .payload = data};

	while (len > 0 && q->failed == 0) {
		out.len = len < POST_PAYLOAD_MAX ? len : POST_PAYLOAD_MAX;
		send_piece(q, &out);
		out.payload = (const char *)out.payload + out.len;
		len -= out.len;
	}
	if (q->failed != 0)
		sbx_cancel_kill(q->cancel);
}

int request_attach(struct request *q, const void *data, size_t len, struct sbx_error *err)
{
	int fd = paper_fill(data, len);

	if (fd < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot pass the answer on: %s", strerror(-fd));
	q->data_fd = fd;
	return 0;
}

/* ---- sessions ---- */

void request_suggest(struct request *q, const char *name, struct sbx_error *err)
{
	struct closest closest = {.typed = name};
	struct sbx_session_info *list = NULL;
	struct sbx_error ignored;
	size_t count = 0, len = strlen(err->msg);

	if (sbx_registry_list(q->hall->registry, REQUEST_OWNER, &list, &count, &ignored) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		closest_offer(&closest, list[i].label);
	snprintf(err->msg + len, sizeof(err->msg) - len, "%s", closest_hint(&closest, ""));
	free(list);
}

static bool find_id(const struct sbx_session_info *list, size_t count, const char *name,
		    char ret[REQUEST_ID_SIZE])
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].label, name) == 0 || strcmp(list[i].id, name) == 0) {
			memcpy(ret, list[i].id, REQUEST_ID_SIZE);
			return true;
		}
	}
	return false;
}

int request_session_id(struct request *q, char ret[REQUEST_ID_SIZE], struct sbx_error *err)
{
	auto_free struct sbx_session_info *list = NULL;
	auto_free char *name = NULL;
	size_t count = 0;
	int r = request_text(q, "session", &name, err);

	if (r == 0)
		r = sbx_registry_list(q->hall->registry, REQUEST_OWNER, &list, &count, err);
	if (r < 0 || find_id(list, count, name, ret))
		return r;
	cli_fail(err, SBX_E_NOT_FOUND, "there is no session '%.64s'", name);
	request_suggest(q, name, err);
	return -(int)err->code;
}

int request_acquire(struct request *q, struct sbx_session **ret, struct sbx_error *err)
{
	auto_free char *name = NULL;
	int r = request_text(q, "session", &name, err);

	if (r < 0)
		return r;
	r = sbx_registry_acquire_alone(q->hall->registry, REQUEST_OWNER, name, q->cancel, ret, err);
	q->session = r == 0 ? *ret : NULL;
	if (r == -(int)SBX_E_NOT_FOUND)
		request_suggest(q, name, err);
	return r;
}

void request_release(struct request *q, struct sbx_session *session)
{
	q->session = NULL;
	sbx_registry_release_alone(q->hall->registry, session);
}

/* ---- serving ---- */

static const struct request_row *find_row(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct request_row *row = tables[i]; row->name != NULL; row++) {
			if (strcmp(row->name, name) == 0)
				return row;
		}
	}
	return NULL;
}

/* Another version may mean something else by the same words; ending all is always understood. */
static int check_version(const struct request *q, const char *name, struct sbx_error *err)
{
	const char *version = json_string_value(json_object_get(q->body, "version"));

	if (strcmp(name, "stop") == 0 && request_flag(q, "all"))
		return 0;
	if (request_number(q, "protocol") == HOLDER_PROTOCOL && version != NULL &&
	    strcmp(version, sbx_version()) == 0)
		return 0;
	return cli_fail(err, SBX_E_DENIED,
			"the open sessions were started by llm-sandbox %s, and this is %.32s; "
			"'llm-sandbox session stop --all' ends them",
			sbx_version(), version ? version : "another");
}

static int serve(struct request *q, struct sbx_error *err)
{
	const struct request_row *row;
	const char *name;
	int r;

	q->body = q->fds[0] >= 0 ? paper_read(q->fds[0]) : NULL;
	q->answer = json_object();
	name = json_string_value(json_object_get(q->body, "do"));
	if (name == NULL)
		return cli_fail(err, SBX_E_INVALID, "this is no request");
	r = check_version(q, name, err);
	if (r < 0)
		return r;
	row = find_row(name);
	if (row == NULL)
		return cli_fail(err, SBX_E_INVALID, "there is no request '%.64s'", name);
	return row->serve(q, err);
}

static void answer(struct request *q, int result, const struct sbx_error *err)
{
	int fds[2], r;
	struct post_out out = {.type = POST_ANSWER, .fds = fds, .fd_count = 1};

	if (result < 0)
		json_object_set_new(q->answer, "error", paper_error(err));
	fds[0] = paper_write(q->answer);
	if (fds[0] < 0) {
		q->failed = fds[0];
		return;
	}
	if (result >= 0 && q->data_fd >= 0)
		fds[out.fd_count++] = q->data_fd;
	r = post_send(q->sock, &out, -1);
	q->failed = q->failed ? q->failed : r;
	close(fds[0]);
}

void request_serve(struct request *q)
{
	struct sbx_error err = {.code = SBX_OK};
	int r = serve(q, &err);

	answer(q, r, &err);
	json_decref(q->body);
	json_decref(q->answer);
	if (q->data_fd >= 0)
		close(q->data_fd);
}
