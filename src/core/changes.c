/* SPDX-License-Identifier: MIT */
#include "core/changes.h"

#include "base/auto.h"
#include "base/path.h"
#include "core/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OUTPUT_FOLDER "/sandbox/output"
#define FOUND_MAX     20000u   /* files of one folder */
#define SEEN_MAX      2000000u /* that the agent looks at for them */
#define TOLD_MAX      1000u

struct search {
	struct sbx_session *session;
	struct sbx_changes *ret;
	uint64_t since_ns;
	const char *folder; /* "": the work folder */
};

/* ---- what is no change ---- */

static bool is_ours(const char *name, size_t len)
{
	static const char start[] = ".llm-sandbox", cache[] = "__pycache__";

	return (len >= sizeof(start) - 1 && memcmp(name, start, sizeof(start) - 1) == 0) ||
	       (len == sizeof(cache) - 1 && memcmp(name, cache, len) == 0);
}

static bool has_component_of_ours(const char *path)
{
	for (size_t len; *path != '\0'; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (is_ours(path, len))
			return true;
	}
	return false;
}

/* ---- one folder ---- */

static int append(struct sbx_changes *c, const struct wire_entry *e, const char *path,
		  struct sbx_error *err)
{
	char *copy = strdup(path);

	if (copy != NULL && c->count == c->capacity) {
		size_t capacity = c->capacity ? 2 * c->capacity : 64;
		struct sbx_changed_file *grown = realloc(c->files, capacity * sizeof(*grown));

		if (grown != NULL) {
			c->files = grown;
			c->capacity = capacity;
		}
	}
	if (copy == NULL || c->count == c->capacity) {
		free(copy);
		return sbx_fail_errno(err, ENOMEM, "cannot keep the names of changed files");
	}
	c->files[c->count++] = (struct sbx_changed_file){
		.path = copy,
		.size = e->size,
		.ctime_ns = e->ctime_ns,
	};
	return 0;
}

static int on_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct search *search = owner;
	char path[PATH_MAX], absolute[PATH_MAX];
	int r;

	if (e->kind != WIRE_FILE || e->name[0] == '\0' || e->ctime_ns < search->since_ns)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox listed what it was not asked for");
	if (has_component_of_ours(e->name))
		return 0;
	r = sbx_inside_join(search->folder, e->name, path, err);
	if (r == 0)
		r = sbx_changes_path(search->session, path, absolute, err);
	if (r < 0)
		return r;
	/* In the tick in which it began the clock cannot tell before from after. */
	if (e->ctime_ns == search->since_ns &&
	    sbx_artifacts_is_known(search->session, absolute, e->size, e->ctime_ns))
		return 0;
	return append(search->ret, e, path, err);
}

static int search_folder(struct search *search, uint64_t deadline_ns, struct sbx_cancel *cancel,
			 struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	const struct sbx_sink sink = {on_entry, sbx_sink_no_data, sbx_sink_no_hole, search};
	struct wire_list m = {
		.deep = true,
		.most = FOUND_MAX,
		.most_seen = SEEN_MAX,
		.since_ns = search->since_ns,
		.path = (char *)search->folder,
	};
	struct sbx_question q = {
		.type = WIRE_LIST,
		.payload = &payload,
		.entries_max = FOUND_MAX,
		.sink = &sink,
		.cancel = cancel,
		.deadline_ns = deadline_ns,
	};
	int r;

	wire_list_format(&payload, &m);
	r = sbx_fetch_held(search->session, &q, err);
	if (r == 0 || err->code == SBX_E_PROTOCOL)
		return r;
	/* There need not be such a folder; all else is something that was not seen. */
	if (err->code != SBX_E_NOT_FOUND)
		search->ret->truncated = true;
	return 0;
}

/* ---- both folders ---- */

/* Whether this sandbox has an output folder of its own that the work folder's list has not. */
static bool has_output_elsewhere(const struct sbx_session *s)
{
	if (sbx_path_is_below(OUTPUT_FOLDER, s->setup.workdir))
		return false;
	for (size_t i = 0; i < s->setup.writable_count; i++) {
		if (sbx_path_is_below(OUTPUT_FOLDER, s->setup.writable[i]))
			return true;
	}
	return false;
}

int sbx_changes_find(struct sbx_session *session, uint64_t since_ns, uint64_t deadline_ns,
		     struct sbx_cancel *cancel, struct sbx_changes *ret, struct sbx_error *err)
{
	struct search search = {
		.session = session,
		.ret = ret,
		.since_ns = since_ns,
		.folder = "",
	};
	int r = search_folder(&search, deadline_ns, cancel, err);

	if (r < 0 || !has_output_elsewhere(session))
		return r;
	search.folder = OUTPUT_FOLDER;
	return search_folder(&search, deadline_ns, cancel, err);
}

void sbx_changes_done(struct sbx_changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->files[i].path);
	free(c->files);
	*c = (struct sbx_changes){0};
}

int sbx_changes_path(const struct sbx_session *session, const char *path, char ret[PATH_MAX],
		     struct sbx_error *err)
{
	if (path[0] != '/')
		return sbx_inside_join(session->setup.workdir, path, ret, err);
	return sbx_inside_join(path, "", ret, err);
}

/* ---- what the result tells ---- */

static int compare_paths(const void *one, const void *two)
{
	const struct sbx_changed_file *a = one, *b = two;

	return strcmp(a->path, b->path);
}

int sbx_changes_tell(struct sbx_changes *c, struct sbx_result *result, struct sbx_error *err)
{
	size_t count = c->count < TOLD_MAX ? c->count : TOLD_MAX;

	result->changes_truncated = c->truncated || count < c->count;
	if (count == 0)
		return 0;
	result->changes = calloc(count, sizeof(*result->changes));
	if (result->changes == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the names of changed files");
	qsort(c->files, c->count, sizeof(*c->files), compare_paths);
	for (size_t i = 0; i < count; i++) {
		result->changes[i] = (struct sbx_change){
			.path = take_ptr(c->files[i].path),
			.size = c->files[i].size,
		};
	}
	result->change_count = count;
	return 0;
}
