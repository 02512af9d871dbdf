/* SPDX-License-Identifier: MIT */
/* Requests about files of a session: put, get, read, list. Paths of this machine are absolute. */
#include "cli/holder_request.h"

#include "cli/trouble.h"

#include <llmsandbox/files.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define PROGRESS_NS 100000000u
#define READ_CHUNK  ((size_t)1 << 20)

/* ---- progress ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool tell_progress(uint64_t done, uint64_t total, const char *path, void *userdata)
{
	struct request *q = userdata;
	struct post_progress progress = {done, total};
	char payload[sizeof(progress) + 1024];
	size_t len = strnlen(path, 1024);

	if (now_ns() - q->told_ns < PROGRESS_NS)
		return !q->gone;
	q->told_ns = now_ns();
	memcpy(mempcpy(payload, &progress, sizeof(progress)), path, len);
	request_send(q, POST_PROGRESS, payload, sizeof(progress) + len);
	return q->failed == 0;
}

static struct sbx_copy copy_for(struct request *q)
{
	return (struct sbx_copy){
		.progress = request_flag(q, "progress") ? tell_progress : NULL,
		.userdata = q,
		.cancel = q->cancel,
		.most_bytes = request_number(q, "most_bytes"),
		.most_files = request_number(q, "most_files"),
	};
}

static void tell_report(struct request *q, const struct sbx_copy_report *report)
{
	json_t *a = q->answer;

	json_object_set_new(a, "files", json_integer((json_int_t)report->files));
	json_object_set_new(a, "folders", json_integer((json_int_t)report->folders));
	json_object_set_new(a, "bytes", json_integer((json_int_t)report->bytes));
	json_object_set_new(a, "left_out", json_integer((json_int_t)report->left_out));
	json_object_set_new(a, "first_left_out", paper_text(report->first_left_out));
}

/* ---- copies ---- */

static bool is_folder(struct sbx_session *session, const char *path)
{
	struct sbx_file_info info;
	struct sbx_error ignored;

	if (sbx_session_stat_file(session, path, &info, &ignored) < 0)
		return false;
	free(info.path);
	return info.kind == SBX_FILE_FOLDER;
}

/* As cp(1) does: into a folder that is there, under its own name, else to that very path. */
static int choose_target(struct sbx_session *session, const char *to, const char *base, char **ret,
			 struct sbx_error *err)
{
	size_t len = strlen(to);
	bool into = len == 0 || to[len - 1] == '/' || (base != NULL && is_folder(session, to));

	if (into && base == NULL)
		return cli_fail(err, SBX_E_INVALID,
				"what comes from stdin has no name; name the file, not its folder");
	if (!into)
		*ret = strdup(to);
	else if (asprintf(ret, "%s%s%s", to, len > 0 && to[len - 1] != '/' ? "/" : "", base) < 0)
		*ret = NULL;
	return *ret ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

static int put_in_session(struct request *q, struct sbx_session *session, struct sbx_error *err)
{
	auto_free char *base = paper_bytes(json_object_get(q->body, "base"));
	auto_free char *from = NULL;
	auto_free char *to = NULL;
	auto_free char *target = NULL;
	struct sbx_copy how = copy_for(q);
	struct sbx_copy_report report;
	int r = request_text(q, "from", &from, err);

	if (r == 0)
		r = request_text(q, "to", &to, err);
	if (r == 0)
		r = choose_target(session, to, base, &target, err);
	if (r == 0)
		r = sbx_session_put(session, from, target, &how, &report, err);
	if (r == 0)
		tell_report(q, &report);
	return r;
}

static int get_from_session(struct request *q, struct sbx_session *session, struct sbx_error *err)
{
	auto_free char *from = NULL;
	auto_free char *to = NULL;
	struct sbx_copy how = copy_for(q);
	struct sbx_copy_report report;
	int r = request_text(q, "from", &from, err);

	if (r == 0)
		r = request_text(q, "to", &to, err);
	if (r == 0)
		r = sbx_session_get(session, from, to, &how, &report, err);
	if (r == 0)
		tell_report(q, &report);
	return r;
}

/* ---- read ---- */

/* A piece; the session is free for others while the client takes its time with it. */
static int read_piece(struct request *q, const char *path, uint64_t most, uint64_t *offset,
		      bool *ret_more, struct sbx_error *err)
{
	auto_free char *data = NULL;
	struct sbx_session *session;
	uint64_t size = 0;
	size_t len = 0;
	int r = request_acquire(q, &session, err);

	if (r < 0)
		return r;
	r = sbx_session_read_file(session, path, *offset, READ_CHUNK, &data, &len, &size, err);
	request_release(q, session);
	if (r < 0)
		return r;
	request_send(q, POST_STDOUT, data, len);
	*offset += len;
	*ret_more = len > 0 && *offset < size && *offset < most && q->failed == 0 && !q->gone;
	return 0;
}

static int serve_read(struct request *q, struct sbx_error *err)
{
	auto_free char *path = NULL;
	uint64_t offset = 0, most = request_number(q, "most"); /* about so much, where it is given */
	bool more = true;
	int r = request_text(q, "path", &path, err);

	while (r == 0 && more)
		r = read_piece(q, path, most ? most : UINT64_MAX, &offset, &more, err);
	return r;
}

/* ---- list ---- */

static json_t *info_json(const struct sbx_file_info *info)
{
	return json_pack("[o, i, I, I, I]", paper_text(info->path), (int)info->kind,
			 (json_int_t)info->mode, (json_int_t)info->size,
			 (json_int_t)info->mtime_ns);
}

static int attach_list(struct request *q, const struct sbx_file_info *list, size_t count,
		       struct sbx_error *err)
{
	json_t *array = json_array(), *object = json_pack("{s:o}", "files", array);
	auto_free char *text = NULL;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, info_json(&list[i]));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (text == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	return request_attach(q, text, strlen(text), err);
}

static int list_in_session(struct request *q, struct sbx_session *session, struct sbx_error *err)
{
	auto_free char *path = NULL;
	struct sbx_file_info one, *list = NULL;
	size_t count = 0;
	int r = request_text(q, "path", &path, err);

	if (r == 0)
		r = sbx_session_stat_file(session, path, &one, err);
	if (r < 0)
		return r;
	if (one.kind != SBX_FILE_FOLDER) {
		r = attach_list(q, &one, 1, err);
	} else {
		r = sbx_session_list_files(session, path, request_flag(q, "deep"), 0, &list, &count,
					   err);
		if (r == 0)
			r = attach_list(q, list, count, err);
		sbx_files_free(list, count);
	}
	free(one.path);
	return r;
}

/* ---- the requests ---- */

static int with_session(struct request *q,
			int (*act)(struct request *, struct sbx_session *, struct sbx_error *),
			struct sbx_error *err)
{
	struct sbx_session *session;
	int r = request_acquire(q, &session, err);

	if (r < 0)
		return r;
	r = act(q, session, err);
	request_release(q, session);
	return r;
}

static int serve_put(struct request *q, struct sbx_error *err)
{
	return with_session(q, put_in_session, err);
}

static int serve_get(struct request *q, struct sbx_error *err)
{
	return with_session(q, get_from_session, err);
}

static int serve_list(struct request *q, struct sbx_error *err)
{
	return with_session(q, list_in_session, err);
}

const struct request_row file_requests[] = {
	{"put", serve_put}, {"get", serve_get}, {"read", serve_read}, {"list", serve_list}, {0}};
