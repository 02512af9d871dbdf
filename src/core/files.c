/* SPDX-License-Identifier: MIT */
/* Single files of a session, and names. */
#include <llmsandbox/files.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "core/transfer.h"

#include <errno.h>
#include <string.h>

#define LIST_STANDARD  100000u
#define LIST_BYTES_MAX (64u << 20) /* of all paths of a list together */

/* ---- what the agent tells of a file ---- */

static enum sbx_file_kind kind_of(uint8_t kind)
{
	if (kind == WIRE_FILE)
		return SBX_FILE_REGULAR;
	if (kind == WIRE_FOLDER)
		return SBX_FILE_FOLDER;
	return kind == WIRE_LINK ? SBX_FILE_LINK : SBX_FILE_OTHER;
}

static int set_info(struct sbx_file_info *ret, const struct wire_entry *e, const char *path,
		    struct sbx_error *err)
{
	char *copy = strdup(path);

	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the name of a file");
	*ret = (struct sbx_file_info){
		.path = copy,
		.kind = kind_of(e->kind),
		.mode = e->mode & 07777,
		.size = e->kind == WIRE_FILE ? e->size : 0,
		.mtime_ns = e->mtime_ns,
	};
	return 0;
}

/* ---- read ---- */

struct reading {
	struct sbx_buf bytes;
	uint64_t size;
};

static int read_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct reading *reading = owner;

	(void)err;
	reading->size = e->size;
	return 0;
}

static int no_memory(const struct reading *reading, struct sbx_error *err)
{
	if (reading->bytes.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the file");
	return 0;
}

static int read_data(void *owner, const void *data, size_t len, struct sbx_error *err)
{
	struct reading *reading = owner;

	sbx_buf_append(&reading->bytes, data, len);
	return no_memory(reading, err);
}

/* The fetch lets no more come than was asked for, which the caller has room for. */
static int read_hole(void *owner, uint64_t bytes, struct sbx_error *err)
{
	struct reading *reading = owner;
	char *at = sbx_buf_reserve(&reading->bytes, (size_t)bytes);

	if (at == NULL)
		return no_memory(reading, err);
	memset(at, 0, (size_t)bytes);
	reading->bytes.len += (size_t)bytes;
	at[bytes] = '\0';
	return 0;
}

int sbx_session_read_file(struct sbx_session *session, const char *path, uint64_t offset,
			  size_t most, char **ret, size_t *ret_len, uint64_t *ret_size,
			  struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct reading reading = {.bytes = SBX_BUF_INIT(most)};
	const struct sbx_sink sink = {read_entry, read_data, read_hole, &reading};
	struct sbx_question q = {
		.type = WIRE_GET,
		.payload = &payload,
		.entries_max = 1,
		.bytes_max = most,
		.sink = &sink,
	};
	struct wire_get get = {.offset = offset, .length = most, .most = UINT64_MAX};
	char inside[PATH_MAX];
	struct sbx_error lent;
	size_t len;
	int r;

	err = err ? err : &lent;
	r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	get.path = inside;
	wire_get_format(&payload, &get);
	r = sbx_fetch(session, &q, err);
	len = reading.bytes.len;
	if (r == 0) {
		*ret = sbx_buf_take(&reading.bytes);
		r = *ret == NULL ? sbx_fail_errno(err, ENOMEM, "cannot keep the file") : 0;
	}
	sbx_buf_done(&reading.bytes);
	if (r < 0)
		return r;
	*ret_len = len;
	if (ret_size != NULL)
		*ret_size = reading.size;
	return 0;
}

/* ---- write ---- */

int sbx_session_write_file(struct sbx_session *session, const char *path, const void *data,
			   size_t len, enum sbx_write_mode mode, struct sbx_error *err)
{
	static const enum wire_put_how hows[] = {
		[SBX_WRITE_REPLACE] = WIRE_PUT_REPLACE,
		[SBX_WRITE_NEW] = WIRE_PUT_NEW,
		[SBX_WRITE_APPEND] = WIRE_PUT_APPEND,
	};
	char inside[PATH_MAX];
	struct wire_put put = {.mode = 0644, .path = inside};
	struct sbx_sender sender;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	if ((size_t)mode >= sizeof(hows) / sizeof(hows[0]))
		return sbx_fail(err, SBX_E_INVALID, "there is no way %d to write a file", (int)mode);
	put.how = (uint8_t)hows[mode];
	r = sbx_sender_begin(&sender, session, NULL, err);
	if (r < 0)
		return r;
	r = sbx_sender_file(&sender, &put, err);
	if (r == 0)
		r = sbx_sender_data(&sender, data, len, err);
	if (r == 0)
		r = sbx_sender_end_file(&sender, err);
	return sbx_sender_end(&sender, r, err);
}

/* ---- list ---- */

struct listing {
	struct sbx_file_info *files;
	size_t count, capacity;
	size_t name_bytes;
	const char *path;
	bool deep;
};

static int list_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct listing *list = owner;

	if (e->name[0] == '\0' || (!list->deep && strchr(e->name, '/') != NULL))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox listed another folder than asked for");
	list->name_bytes += strlen(e->name) + 1;
	if (list->name_bytes > LIST_BYTES_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "the names in '%.256s' are longer than %u MiB",
				list->path, LIST_BYTES_MAX >> 20);
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 64;
		struct sbx_file_info *grown = realloc(list->files, capacity * sizeof(*grown));

		if (grown == NULL)
			return sbx_fail_errno(err, ENOMEM, "cannot list '%.256s'", list->path);
		list->files = grown;
		list->capacity = capacity;
	}
	if (set_info(&list->files[list->count], e, e->name, err) < 0)
		return -(int)err->code;
	list->count++;
	return 0;
}

static int compare_paths(const void *one, const void *two)
{
	const struct sbx_file_info *a = one, *b = two;

	return strcmp(a->path, b->path);
}

int sbx_session_list_files(struct sbx_session *session, const char *path, bool deep, size_t most,
			   struct sbx_file_info **ret, size_t *ret_count, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct listing list = {.path = path, .deep = deep};
	const struct sbx_sink sink = {list_entry, sbx_sink_no_data, sbx_sink_no_hole, &list};
	struct wire_list m = {.deep = deep, .most = most ? most : LIST_STANDARD,
			      .most_seen = UINT64_MAX};
	struct sbx_question q = {
		.type = WIRE_LIST,
		.payload = &payload,
		.entries_max = m.most,
		.sink = &sink,
	};
	char inside[PATH_MAX];
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	m.path = inside;
	wire_list_format(&payload, &m);
	r = sbx_fetch(session, &q, err);
	if (r < 0) {
		sbx_files_free(list.files, list.count);
		return r;
	}
	if (list.count > 0)
		qsort(list.files, list.count, sizeof(*list.files), compare_paths);
	*ret = list.files;
	*ret_count = list.count;
	return 0;
}

void sbx_files_free(struct sbx_file_info *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(files[i].path);
	free(files);
}

/* ---- stat ---- */

static int stat_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct wire_entry *ret = owner;

	(void)err;
	*ret = *e;
	ret->name = NULL;
	return 0;
}

int sbx_session_stat_file(struct sbx_session *session, const char *path, struct sbx_file_info *ret,
			  struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct wire_entry entry = {0};
	const struct sbx_sink sink = {stat_entry, sbx_sink_no_data, sbx_sink_no_hole, &entry};
	struct sbx_question q = {
		.type = WIRE_STAT, .payload = &payload, .entries_max = 1, .sink = &sink};
	char inside[PATH_MAX];
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	wire_path_format(&payload, &(struct wire_path){.path = inside});
	r = sbx_fetch(session, &q, err);
	if (r < 0)
		return r;
	if (entry.kind == 0)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox told nothing of '%.256s'", path);
	return set_info(ret, &entry, path, err);
}

/* ---- remove, make folder ---- */

/* Ask for something that is done or not. */
static int ask(struct sbx_session *session, enum wire_type type, const struct sbx_buf *payload,
	       struct sbx_error *err)
{
	const struct sbx_sink sink = {stat_entry, sbx_sink_no_data, sbx_sink_no_hole, NULL};
	struct sbx_question q = {.type = type, .payload = payload, .sink = &sink};

	return sbx_fetch(session, &q, err);
}

int sbx_session_remove_file(struct sbx_session *session, const char *path, bool deep,
			    struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	char inside[PATH_MAX];
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	wire_remove_format(&payload, &(struct wire_remove){.deep = deep, .path = inside});
	return ask(session, WIRE_REMOVE, &payload, err);
}

int sbx_session_make_folder(struct sbx_session *session, const char *path, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	char inside[PATH_MAX];
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	wire_mkdir_format(&payload, &(struct wire_mkdir){.mode = 0755, .path = inside});
	return ask(session, WIRE_MKDIR, &payload, err);
}
