/* SPDX-License-Identifier: MIT */
/* One look at what a run showed and made: see artifacts.h. */
#include "core/artifacts.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/path.h"
#include "core/artifact_meta.h"
#include "core/changes.h"
#include "core/mime.h"
#include "core/session.h"
#include "core/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COLLECT_MS   10000u /* for all of it */
#define CHANGES_MS   3000u  /* for the changed files: some million */
#define FOLDER_MAX   50000u /* entries of a folder of ours */
#define HEADS_MAX    2000u  /* files whose bytes are looked at though their name says little */
#define FEW	     1000u
#define LEFT_OUT_READ 1000u /* plots beyond the limits whose own files are still looked for */

/* A file of a folder of ours. */
struct plot_file {
	uint32_t number;
	char ending[9];
	uint64_t size;
};

/* What finish() works with. */
struct gathering {
	struct sbx_session *session;
	struct sbx_artifact_folder *folder;
	struct sbx_result *result;
	struct sbx_cancel *cancel;
	uint64_t deadline_ns;
	struct plot_file *plots;
	size_t plot_count, plot_capacity;
	struct sbx_changes changes;
	char **own; /* paths of user's own files that are shown already */
	size_t own_count;
	size_t capacity; /* of result->artifacts */
	uint64_t bytes;	 /* in all of them */
	bool in_time;	 /* false: stop asking */
};

/* ---- begin ---- */

static int on_made(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_collection *c = ch->owner;

	if (frame->type != WIRE_CLOSE && frame->type != WIRE_ERROR)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s while it made a folder",
				wire_type_name(frame->type));
	if (frame->type == WIRE_ERROR && sbx_link_refusal(frame, &c->trouble) == -SBX_E_PROTOCOL) {
		*err = c->trouble;
		return -SBX_E_PROTOCOL;
	}
	sbx_link_remove(&c->session->link, ch);
	return 0;
}

static int on_pong(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_collection *c = ch->owner;
	struct wire_pong m;

	if (frame->type != WIRE_PONG || !wire_pong_parse(frame->payload, frame->len, &m))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s and not what its clock is",
				wire_type_name(frame->type));
	c->marked = true;
	c->mark_ns = m.clock_ns;
	sbx_link_remove(&c->session->link, ch);
	return 0;
}

static int queue_mkdir(struct sbx_collection *c, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct sbx_artifact_folder *folder = c->folder;

	if (folder->clearings != c->session->artifacts.clearings) {
		folder->clearings = c->session->artifacts.clearings;
		free(folder->taken);
		folder->taken = NULL;
		folder->made = false;
	}
	if (folder->made)
		return 0;
	wire_mkdir_format(&payload, &(struct wire_mkdir){.mode = 0755, .path = folder->path});
	if (payload.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot make a folder for artifacts");
	c->mkdir = (struct sbx_channel){.on_frame = on_made, .owner = c};
	sbx_link_add(&c->session->link, &c->mkdir);
	folder->made = true;
	return sbx_link_queue(&c->session->link, WIRE_MKDIR, c->mkdir.id, payload.data, payload.len,
			      err);
}

int sbx_collection_begin(struct sbx_collection *c, struct sbx_session *session,
			 struct sbx_artifact_folder *folder, struct sbx_error *err)
{
	int r;

	*c = (struct sbx_collection){.session = session, .folder = folder};
	r = queue_mkdir(c, err);
	if (r < 0)
		return r;
	c->ping = (struct sbx_channel){.on_frame = on_pong, .owner = c};
	sbx_link_add(&session->link, &c->ping);
	return sbx_link_queue(&session->link, WIRE_PING, c->ping.id, NULL, 0, err);
}

void sbx_collection_done(struct sbx_collection *c)
{
	if (c->session == NULL)
		return;
	sbx_link_remove(&c->session->link, &c->mkdir);
	sbx_link_remove(&c->session->link, &c->ping);
	*c = (struct sbx_collection){0};
}

/* ---- asking ---- */

struct head {
	struct sbx_buf bytes;
	uint64_t size;
	bool is_file;
};

static int head_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct head *head = owner;

	(void)err;
	head->size = e->size;
	head->is_file = e->kind == WIRE_FILE;
	return 0;
}

static int head_data(void *owner, const void *data, size_t len, struct sbx_error *err)
{
	struct head *head = owner;

	sbx_buf_append(&head->bytes, data, len);
	return head->bytes.failed ? sbx_fail_errno(err, ENOMEM, "cannot keep what a file begins with")
				  : 0;
}

static int head_hole(void *owner, uint64_t bytes, struct sbx_error *err)
{
	struct head *head = owner;
	char *at = bytes <= head->bytes.max ? sbx_buf_reserve(&head->bytes, (size_t)bytes) : NULL;

	if (at == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep what a file begins with");
	memset(at, 0, (size_t)bytes);
	head->bytes.len += (size_t)bytes;
	at[bytes] = '\0';
	return 0;
}

/*
 * The first bytes of a file: 1, or 0 when they cannot be had, whatever the reason; -code when the
 * session is broken. The caller frees head->bytes in any case.
 */
static int read_head(struct gathering *g, const char *path, struct head *head,
		     struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	const struct sbx_sink sink = {head_entry, head_data, head_hole, head};
	struct wire_get m = {
		.length = head->bytes.max, .most = UINT64_MAX, .path = (char *)path};
	struct sbx_question q = {
		.type = WIRE_GET,
		.payload = &payload,
		.entries_max = 1,
		.bytes_max = head->bytes.max,
		.sink = &sink,
		.cancel = g->cancel,
		.deadline_ns = g->deadline_ns,
	};
	int r;

	if (!g->in_time)
		return 0;
	wire_get_format(&payload, &m);
	r = sbx_fetch_held(g->session, &q, err);
	if (r == 0)
		return head->is_file;
	if (err->code == SBX_E_TIMEOUT || err->code == SBX_E_UNAVAILABLE)
		g->in_time = false;
	return err->code == SBX_E_PROTOCOL ? r : 0;
}

/* ---- what is in the folder ---- */

static int compare_plots(const void *one, const void *two)
{
	const struct plot_file *a = one, *b = two;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->ending, b->ending);
}

static bool is_taken(const struct sbx_artifact_folder *folder, uint32_t number)
{
	return folder->taken != NULL && folder->taken[number / 8] & 1u << number % 8;
}

/* In the same time for each, however many there are: a program may make as many as it likes. */
static int take_number(struct sbx_artifact_folder *folder, uint32_t number, struct sbx_error *err)
{
	if (folder->taken == NULL)
		folder->taken = calloc(SBX_ARTIFACT_FILE_NUMBER_MAX / 8 + 1, 1);
	if (folder->taken == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts' numbers");
	folder->taken[number / 8] |= (unsigned char)(1u << number % 8);
	return 0;
}

static int on_plot_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct gathering *g = owner;
	const char *ending;
	uint32_t number = sbx_artifact_file_number(e->name, &ending);

	if (number == 0 || e->kind != WIRE_FILE || strcmp(ending, "meta") == 0 ||
	    is_taken(g->folder, number))
		return 0;
	if (g->plot_count == g->plot_capacity) {
		size_t capacity = g->plot_capacity ? 2 * g->plot_capacity : 64;
		struct plot_file *grown = realloc(g->plots, capacity * sizeof(*grown));

		if (grown == NULL)
			return sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts");
		g->plots = grown;
		g->plot_capacity = capacity;
	}
	g->plots[g->plot_count] = (struct plot_file){.number = number, .size = e->size};
	snprintf(g->plots[g->plot_count].ending, sizeof(g->plots[0].ending), "%s", ending);
	g->plot_count++;
	return 0;
}

static int list_folder(struct gathering *g, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	const struct sbx_sink sink = {on_plot_entry, sbx_sink_no_data, sbx_sink_no_hole, g};
	struct wire_list m = {
		.most = FOLDER_MAX,
		.most_seen = FOLDER_MAX * 10,
		.since_ns = g->folder->since_ns,
		.path = g->folder->path,
	};
	struct sbx_question q = {
		.type = WIRE_LIST,
		.payload = &payload,
		.entries_max = FOLDER_MAX,
		.sink = &sink,
		.cancel = g->cancel,
		.deadline_ns = g->deadline_ns,
	};
	int r;

	wire_list_format(&payload, &m);
	r = sbx_fetch_held(g->session, &q, err);
	if (r < 0 && err->code == SBX_E_PROTOCOL)
		return r;
	if (g->plot_count > 0)
		qsort(g->plots, g->plot_count, sizeof(g->plots[0]), compare_plots);
	return 0;
}

/* ---- adding one ---- */

static bool is_name_free(const struct sbx_result *result, const char *name)
{
	for (size_t i = 0; i < result->artifact_count; i++) {
		if (strcmp(result->artifacts[i].name, name) == 0)
			return false;
	}
	return true;
}

/* "report.csv" becomes "report-2.csv" where there is one already. */
static void make_name_unique(const struct sbx_result *result, char name[160])
{
	char stem[160], cut[128], ending[16] = "";
	/* Many of one name need not be counted one by one. */
	unsigned int n = result->artifact_count < FEW ? 2 : (unsigned int)result->artifact_count;
	char *dot;

	if (is_name_free(result, name))
		return;
	snprintf(stem, sizeof(stem), "%s", name);
	dot = strrchr(stem, '.');
	if (dot != NULL && dot != stem && strlen(dot) < 16) {
		snprintf(ending, sizeof(ending), "%s", dot);
		*dot = '\0';
	}
	sbx_clean_name(stem, cut, sizeof(cut));
	do
		snprintf(name, 160, "%s-%u%s", cut, n++, ending);
	while (!is_name_free(result, name));
}

/* False when a limit leaves it out, which is counted. */
static bool has_room(struct gathering *g, uint64_t size)
{
	const uint64_t *limits = g->session->spec->limits;

	if (g->result->artifact_count < limits[SBX_LIMIT_ARTIFACTS] &&
	    size <= limits[SBX_LIMIT_ARTIFACT_BYTES] - g->bytes)
		return true;
	g->result->artifacts_left_out++;
	return false;
}

/* The next one, with a number; NULL without memory. has_room() comes first. */
static struct sbx_artifact *append(struct gathering *g, uint64_t size, struct sbx_error *err)
{
	struct sbx_result *result = g->result;
	struct sbx_artifact *a;

	if (result->artifact_count == g->capacity) {
		size_t capacity = g->capacity ? 2 * g->capacity : 8;

		a = realloc(result->artifacts, capacity * sizeof(*a));
		if (a == NULL) {
			sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts");
			return NULL;
		}
		result->artifacts = a;
		g->capacity = capacity;
	}
	a = &result->artifacts[result->artifact_count++];
	*a = (struct sbx_artifact){.number = ++g->session->artifacts.numbers, .size = size};
	g->bytes += size;
	return a;
}

/* Width and height as the picture itself says: of a PNG they stand in its first 24 bytes. */
static void read_picture_size(struct sbx_artifact *a, const char *head, size_t len)
{
	const unsigned char *p = (const unsigned char *)head;

	if (strcmp(a->mime_type, "image/png") != 0 || len < 24)
		return;
	a->width = (uint32_t)p[16] << 24 | (uint32_t)p[17] << 16 | (uint32_t)p[18] << 8 | p[19];
	a->height = (uint32_t)p[20] << 24 | (uint32_t)p[21] << 16 | (uint32_t)p[22] << 8 | p[23];
}

/* ---- what hooks wrote ---- */

/* The user's own file of a plot is not shown once more. */
static int keep_own_path(struct gathering *g, char *path, struct sbx_error *err)
{
	char **grown;

	if (path == NULL)
		return 0;
	grown = realloc(g->own, (g->own_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(path);
		return sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts");
	}
	g->own = grown;
	g->own[g->own_count++] = path;
	return 0;
}

static void set_plot(struct sbx_artifact *a, struct sbx_artifact_meta *meta,
		     const struct plot_file *plot)
{
	a->kind = meta->kind;
	a->width = meta->width;
	a->height = meta->height;
	a->chart = take_ptr(meta->chart);
	memcpy(a->source, meta->source, sizeof(a->source));
	memcpy(a->title, meta->title, sizeof(a->title));
	snprintf(a->name, sizeof(a->name), "%s-%06u.%s", sbx_artifact_kind_name(a->kind), a->number,
		 plot->ending);
}

/* Its file is there and of this size; meta is what was said about it. */
static int add_known_plot(struct gathering *g, const struct plot_file *plot,
			  struct sbx_artifact_meta *meta, struct sbx_error *err)
{
	struct head head = {.bytes = SBX_BUF_INIT(SBX_MIME_HEAD)};
	struct sbx_artifact *a = NULL;
	char *path = NULL;
	uint64_t size;
	int r;

	if (asprintf(&path, "%s/%06u.%s", g->folder->path, plot->number, plot->ending) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts");
	r = read_head(g, path, &head, err);
	size = r > 0 ? head.size : plot->size;
	/* It may have grown since it was listed. */
	if (r >= 0 && has_room(g, size) && (a = append(g, size, err)) == NULL)
		r = -(int)err->code;
	if (a != NULL) {
		set_plot(a, meta, plot);
		sbx_mime_find(path, head.bytes.data ? head.bytes.data : "", head.bytes.len,
			      meta->mime_type, a->mime_type);
		read_picture_size(a, head.bytes.data, head.bytes.len);
		a->path = take_ptr(path);
	}
	sbx_buf_done(&head.bytes);
	free(path);
	return r < 0 ? r : 0;
}

static int add_plot(struct gathering *g, const struct plot_file *plot, struct sbx_error *err)
{
	struct head head = {.bytes = SBX_BUF_INIT(SBX_META_MAX)};
	struct sbx_artifact_meta meta = {0};
	auto_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/%06u.meta", g->folder->path, plot->number) < 0) {
		path = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts");
	}
	r = read_head(g, path, &head, err);
	/* Without it, it is not there, or not yet: then the next look finds it. */
	if (r > 0 && head.bytes.len > 0) {
		sbx_artifact_meta_parse(head.bytes.data, head.bytes.len, &meta);
		r = take_number(g->folder, plot->number, err);
		if (r == 0)
			r = keep_own_path(g, take_ptr(meta.path), err);
		if (r == 0 && has_room(g, plot->size))
			r = add_known_plot(g, plot, &meta, err);
		sbx_artifact_meta_done(&meta);
	}
	sbx_buf_done(&head.bytes);
	return r < 0 ? r : 0;
}

/* Without a look at what is said about it. */
static int leave_out(struct gathering *g, const struct plot_file *plot, struct sbx_error *err)
{
	g->result->artifacts_left_out++;
	return take_number(g->folder, plot->number, err);
}

static int add_plots(struct gathering *g, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->plot_count; i++) {
		/* One number is one artifact, whatever else has its name. */
		if (i > 0 && g->plots[i].number == g->plots[i - 1].number)
			continue;
		if (g->in_time && g->result->artifacts_left_out < LEFT_OUT_READ)
			r = add_plot(g, &g->plots[i], err);
		else
			r = leave_out(g, &g->plots[i], err);
	}
	return r;
}

/* ---- files that the program wrote by itself ---- */

static int compare_times(const void *one, const void *two)
{
	const struct sbx_changed_file *a = one, *b = two;

	if (a->ctime_ns != b->ctime_ns)
		return a->ctime_ns < b->ctime_ns ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Hidden ones, and those of packages, are nobody's to look at. */
static bool is_aside(const char *path)
{
	return path[0] == '.' || strstr(path, "/.") != NULL ||
	       strncmp(path, "node_modules/", 13) == 0 || strstr(path, "/node_modules/") != NULL;
}

static int compare_own(const void *one, const void *two)
{
	return strcmp(*(char *const *)one, *(char *const *)two);
}

static bool is_shown(const struct gathering *g, const char *absolute)
{
	return g->own_count > 0 &&
	       bsearch(&absolute, g->own, g->own_count, sizeof(*g->own), compare_own) != NULL;
}

static int add_file(struct gathering *g, const struct sbx_changed_file *file,
		    const char *absolute, const struct head *head, struct sbx_error *err)
{
	char mime_type[SBX_MIME_MAX];
	struct sbx_artifact *a;

	sbx_mime_find(absolute, head->bytes.data ? head->bytes.data : "", head->bytes.len, NULL,
		      mime_type);
	if (!sbx_mime_is_artifact(mime_type) || !has_room(g, head->size))
		return 0;
	a = append(g, head->size, err);
	if (a == NULL)
		return -(int)err->code;
	a->kind = SBX_ARTIFACT_FILE;
	memcpy(a->mime_type, mime_type, sizeof(a->mime_type));
	read_picture_size(a, head->bytes.data, head->bytes.len);
	sbx_clean_name(file->path, a->name, sizeof(a->name));
	g->result->artifact_count--;
	make_name_unique(g->result, a->name);
	g->result->artifact_count++;
	a->path = strdup(absolute);
	return a->path ? 0 : sbx_fail_errno(err, ENOMEM, "cannot keep the artifacts");
}

static int look_at_file(struct gathering *g, const struct sbx_changed_file *file,
			const char *absolute, struct sbx_error *err)
{
	struct head head = {.bytes = SBX_BUF_INIT(SBX_MIME_HEAD)};
	int r = read_head(g, absolute, &head, err);

	if (r > 0)
		r = add_file(g, file, absolute, &head, err);
	sbx_buf_done(&head.bytes);
	return r;
}

static int add_files(struct gathering *g, struct sbx_error *err)
{
	size_t vague = 0;
	int r = 0;

	if (g->changes.count > 0)
		qsort(g->changes.files, g->changes.count, sizeof(g->changes.files[0]),
		      compare_times);
	if (g->own_count > 0)
		qsort(g->own, g->own_count, sizeof(*g->own), compare_own);
	for (size_t i = 0; r == 0 && i < g->changes.count; i++) {
		const struct sbx_changed_file *file = &g->changes.files[i];
		enum sbx_mime_hint hint = sbx_mime_hint(file->path);
		char absolute[PATH_MAX];

		if (hint == SBX_MIME_NEVER || is_aside(file->path) ||
		    sbx_changes_path(g->session, file->path, absolute, err) < 0 ||
		    is_shown(g, absolute) || (hint == SBX_MIME_PERHAPS && vague++ >= HEADS_MAX))
			continue;
		/* Where there is no room for it anyway its name is enough. */
		if (hint == SBX_MIME_LIKELY && (!g->in_time || g->result->artifact_count >=
						g->session->spec->limits[SBX_LIMIT_ARTIFACTS]))
			g->result->artifacts_left_out++;
		else
			r = look_at_file(g, file, absolute, err);
	}
	return r;
}

/* ---- finish ---- */

static void note_seen(struct gathering *g)
{
	for (size_t i = 0; i < g->changes.count; i++) {
		const struct sbx_changed_file *file = &g->changes.files[i];
		struct sbx_error ignored;
		char absolute[PATH_MAX];

		if (sbx_changes_path(g->session, file->path, absolute, &ignored) == 0)
			sbx_artifacts_note_seen(g->session, absolute, file->size, file->ctime_ns);
	}
}

/* Folders of our own making may be refused: a full disk, or something else of that name. */
static void tell_trouble(const struct sbx_collection *c, struct sbx_result *result)
{
	if (c->trouble.code != SBX_OK && result->message[0] == '\0')
		snprintf(result->message, sizeof(result->message),
			 "plots could not be kept: %.200s", c->trouble.msg);
}

static int gather(struct gathering *g, uint64_t mark_ns, struct sbx_error *err)
{
	int r = list_folder(g, err);

	if (r == 0)
		r = add_plots(g, err);
	if (r == 0)
		r = sbx_changes_find(g->session, mark_ns, sbx_deadline_ns(CHANGES_MS), g->cancel,
				     &g->changes, err);
	if (r == 0)
		note_seen(g);
	if (r == 0)
		r = add_files(g, err);
	return r < 0 ? r : sbx_changes_tell(&g->changes, g->result, err);
}

int sbx_collection_finish(struct sbx_collection *c, struct sbx_result *result,
			  struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct gathering g = {
		.session = c->session,
		.folder = c->folder,
		.result = result,
		.cancel = cancel,
		.deadline_ns = sbx_deadline_ns(COLLECT_MS),
		.in_time = true,
	};
	int r = 0;

	tell_trouble(c, result);
	if (c->marked && !c->session->link.lost)
		r = gather(&g, c->mark_ns, err);
	c->folder->since_ns = c->mark_ns;
	for (size_t i = 0; i < g.own_count; i++)
		free(g.own[i]);
	free(g.own);
	free(g.plots);
	sbx_changes_done(&g.changes);
	return r;
}
