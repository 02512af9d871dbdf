/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/show.h"

#include "base/buf.h"
#include "base/text.h"
#include "mcp/sandbox/file_uri.h"
#include "mcp/sandbox/inside.h"
#include "mcp/sandbox/mime.h"
#include "mcp/sandbox/picture.h"
#include "mcp/sandbox/reply.h"

#include <llmsandbox/files.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMBEDDED_MOST 4			 /* times what one may have, in all of an answer */
#define CHARTS_MOST   ((size_t)32 << 10) /* bytes of chart data in an answer */
#define CHART_DEPTH   24		 /* arrays and objects in each other */
#define CHANGES_MOST  100
#define LINES_MAX     ((size_t)256 << 10)

enum place {
	LEFT_OUT,
	AS_IMAGE,
	AS_RESOURCE
};

/* One artifact in an answer. */
struct mcp_exhibit {
	const struct sbx_artifact *artifact; /* borrowed */
	char mime_type[96];
	enum place place;
	char why[96]; /* it is left out: the rest of a sentence about it */
	char *data;   /* owned; of what is not left out */
	size_t len;
};

/* ---- types ---- */

static void set_type(struct mcp_exhibit *e, const char *mime_type)
{
	snprintf(e->mime_type, sizeof(e->mime_type), "%s",
		 mcp_mime_is_type(mime_type) ? mime_type : "application/octet-stream");
}

/* What is said to be text and is none goes as bytes. */
static void check_text(struct mcp_exhibit *e)
{
	bool said = strncmp(e->mime_type, "text/", 5) == 0 ||
		    strcmp(e->mime_type, "application/json") == 0;

	if (said && !mcp_is_text(e->data, e->len, false))
		set_type(e, "application/octet-stream");
}

/* ---- choosing ---- */

/* What there is still room for. */
struct room {
	size_t image, embed; /* of each */
	size_t embedded, all;
};

static bool leave_out(struct mcp_exhibit *e, const char *why)
{
	snprintf(e->why, sizeof(e->why), "%s", why);
	return false;
}

static bool fits(struct mcp_exhibit *e, const struct room *room)
{
	uint64_t size = e->artifact->size;

	if (size > (e->place == AS_IMAGE ? room->image : room->embed))
		return leave_out(e, "is too large for an answer");
	if (size > room->all || (e->place == AS_RESOURCE && size > room->embedded))
		return leave_out(e, "is one too many for this answer");
	return true;
}

static bool read_bytes(struct mcp_exhibit *e, struct sbx_session *session)
{
	uint64_t size = 0;
	struct sbx_error err;

	if (sbx_session_read_file(session, e->artifact->path, 0, (size_t)e->artifact->size + 1,
				  &e->data, &e->len, &size, &err) < 0) {
		e->data = NULL;
		snprintf(e->why, sizeof(e->why), "cannot be read: %.70s", err.msg);
		return false;
	}
	return e->len <= e->artifact->size && size == e->len
		       ? true
		       : leave_out(e, "was changed while it was read");
}

static bool is_showable(struct mcp_exhibit *e)
{
	const char *problem = mcp_picture_problem(e->mime_type, e->data, e->len);
	char why[96];

	if (problem == NULL)
		return true;
	snprintf(why, sizeof(why), "%s", problem);
	return leave_out(e, why);
}

static void take_room(const struct mcp_exhibit *e, struct room *room)
{
	room->all -= e->len;
	if (e->place == AS_RESOURCE)
		room->embedded -= e->len;
}

static void choose(struct mcp_exhibit *e, struct sbx_session *session, struct room *room)
{
	set_type(e, e->artifact->mime_type);
	e->place = mcp_picture_is_type(e->mime_type) ? AS_IMAGE : AS_RESOURCE;
	if (fits(e, room) && read_bytes(e, session) && (e->place != AS_IMAGE || is_showable(e))) {
		check_text(e);
		take_room(e, room);
		return;
	}
	e->place = LEFT_OUT;
	free(e->data);
	e->data = NULL;
}

void mcp_show_gather(struct mcp_show *show, struct mcp_call *call, struct sbx_session *session,
		     const char *session_id, const struct sbx_result *result)
{
	const struct mcp_environment *e =
		&((const struct mcp_sandbox *)mcp_call_userdata(call))->environment;
	struct room room = {e->image_bytes, e->embed_bytes, EMBEDDED_MOST * e->embed_bytes,
			    e->answer_bytes};
	size_t count =
		result->artifact_count < MCP_SHOW_MOST ? result->artifact_count : MCP_SHOW_MOST;

	show->result = result;
	snprintf(show->session_id, sizeof(show->session_id), "%s", session_id ? session_id : "");
	show->list = calloc(count + 1, sizeof(*show->list));
	for (; show->list != NULL && show->count < count; show->count++) {
		struct mcp_exhibit *exhibit = &show->list[show->count];

		exhibit->artifact = &result->artifacts[show->count];
		if (!mcp_call_is_cancelled(call) && result->reason != SBX_LOST)
			choose(exhibit, session, &room);
		else
			leave_out(exhibit, "is gone");
	}
}

void mcp_show_done(struct mcp_show *show)
{
	for (size_t i = 0; i < show->count; i++)
		free(show->list[i].data);
	free(show->list);
	*show = (struct mcp_show){0};
}

/* Also of those that were not kept something is to be said. */
static bool has_any(const struct mcp_show *show)
{
	return show->count > 0 || (show->result != NULL && show->result->artifacts_left_out > 0);
}

/* ---- lines ---- */

/* One line of text, whatever it was. */
static void append_clean(struct sbx_buf *text, const char *said)
{
	size_t from = text->len;

	sbx_text_append_utf8(text, said, strlen(said));
	for (size_t i = from; text->data != NULL && i < text->len; i++) {
		if ((unsigned char)text->data[i] < ' ' || text->data[i] == 0x7f)
			text->data[i] = ' ';
	}
}

static void append_size(struct sbx_buf *text, uint64_t bytes)
{
	if (bytes < 1000)
		sbx_buf_printf(text, ", %u bytes", (unsigned int)bytes);
	else if (bytes < 1000000)
		sbx_buf_printf(text, ", %.1f KB", (double)bytes / 1e3);
	else
		sbx_buf_printf(text, ", %.1f MB", (double)bytes / 1e6);
}

static void append_uri(struct sbx_buf *text, const struct mcp_show *show, uint32_t number)
{
	json_t *uri = mcp_artifact_uri(show->session_id, number);

	sbx_buf_puts(text, json_string_value(uri));
	json_decref(uri);
}

/* Where it can be had, when it is not here. */
static void append_way(struct sbx_buf *text, const struct mcp_show *show,
		       const struct mcp_exhibit *e)
{
	if (e->place == LEFT_OUT)
		sbx_buf_printf(text, "; not shown: it %s", e->why);
	if (show->session_id[0] == '\0')
		return;
	sbx_buf_puts(text, "; ");
	append_uri(text, show, e->artifact->number);
}

static void append_line(struct sbx_buf *text, const struct mcp_show *show,
			const struct mcp_exhibit *e)
{
	const struct sbx_artifact *a = e->artifact;

	sbx_buf_printf(text, "\n%u. ", a->number);
	append_clean(text, a->name);
	sbx_buf_printf(text, " (%s", e->mime_type[0] ? e->mime_type : "application/octet-stream");
	if (a->width > 0)
		sbx_buf_printf(text, ", %ux%u", a->width, a->height);
	append_size(text, a->size);
	sbx_buf_puts(text, ")");
	if (a->title[0] != '\0') {
		sbx_buf_puts(text, " \"");
		append_clean(text, a->title);
		sbx_buf_puts(text, "\"");
	}
	append_way(text, show, e);
}

static bool is_all_shown(const struct mcp_show *show)
{
	for (size_t i = 0; i < show->count; i++) {
		if (show->list[i].place == LEFT_OUT)
			return false;
	}
	return show->result->artifact_count == show->count;
}

static void append_rest(struct sbx_buf *text, const struct mcp_show *show)
{
	const struct sbx_result *r = show->result;

	if (r->artifact_count > show->count)
		sbx_buf_printf(text, "\n%zu more are not shown here%s",
			       r->artifact_count - show->count,
			       show->session_id[0] ? "; their numbers go on" : "");
	if (r->artifacts_left_out > 0)
		sbx_buf_printf(text,
			       "\n%u more were not kept: a run keeps so many, and so many bytes of "
			       "them, at most",
			       r->artifacts_left_out);
	if (!is_all_shown(show) && show->session_id[0] == '\0')
		sbx_buf_puts(text, "\nIn a session (create_session) what is not shown can be read "
				   "afterwards; here it is gone.");
}

static void add_lines(const struct mcp_show *show, struct mcp_call *call)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(LINES_MAX);

	sbx_buf_puts(&text, "Artifacts, of which those that are shown follow in this order:");
	for (size_t i = 0; i < show->count; i++)
		append_line(&text, show, &show->list[i]);
	append_rest(&text, show);
	if (text.data != NULL)
		mcp_call_add_text(call, text.data, text.len);
}

/* ---- items ---- */

/* In a sandbox that is gone there is nothing to read; the URI only tells them apart. */
static json_t *make_uri(const struct mcp_show *show, const struct sbx_artifact *a)
{
	if (show->session_id[0] != '\0')
		return mcp_artifact_uri(show->session_id, a->number);
	return json_sprintf("sandbox://artifacts/%u", a->number);
}

static void add_resource(const struct mcp_show *show, struct mcp_call *call,
			 const struct mcp_exhibit *e)
{
	json_t *uri = make_uri(show, e->artifact);

	mcp_call_add_embedded(call, json_string_value(uri), e->mime_type, e->data, e->len);
	json_decref(uri);
}

static void add_link(const struct mcp_show *show, struct mcp_call *call,
		     const struct mcp_exhibit *e)
{
	const struct sbx_artifact *a = e->artifact;
	json_t *item;

	if (show->session_id[0] == '\0' || !mcp_call_has_links(call) || e->mime_type[0] == '\0')
		return;
	item = json_pack("{s:s, s:o, s:o, s:s, s:I}", "type", "resource_link", "uri",
			 make_uri(show, a), "name", mcp_program_text(a->name), "mimeType",
			 e->mime_type, "size", (json_int_t)a->size);
	if (item != NULL && a->title[0] != '\0')
		mcp_set(item, "title", mcp_program_text(a->title));
	if (item != NULL)
		mcp_call_add_item(call, item);
}

static void add_item(const struct mcp_show *show, struct mcp_call *call,
		     const struct mcp_exhibit *e)
{
	switch (e->place) {
	case AS_IMAGE:
		mcp_call_add_image(call, e->mime_type, e->data, e->len);
		return;
	case AS_RESOURCE:
		add_resource(show, call, e);
		return;
	case LEFT_OUT:
	default:
		add_link(show, call, e);
	}
}

void mcp_show_add(const struct mcp_show *show, struct mcp_call *call)
{
	if (!has_any(show))
		return;
	add_lines(show, call);
	for (size_t i = 0; i < show->count; i++)
		add_item(show, call, &show->list[i]);
}

/* ---- structured ---- */

/* Clients read JSON with parsers that do not go on and on. */
static bool is_flat(const json_t *value, int depth)
{
	const char *key;
	json_t *item;
	size_t i;

	if (depth == 0)
		return !json_is_object(value) && !json_is_array(value);
	json_array_foreach(value, i, item)
	{
		if (!is_flat(item, depth - 1))
			return false;
	}
	json_object_foreach((json_t *)value, key, item)
	{
		if (!is_flat(item, depth - 1))
			return false;
	}
	return true;
}

static void set_chart(json_t *object, const char *chart, size_t *room)
{
	size_t len = chart ? strlen(chart) : 0;
	json_t *value = len > 0 && len <= *room ? json_loadb(chart, len, 0, NULL) : NULL;

	if (json_is_object(value) && is_flat(value, CHART_DEPTH)) {
		*room -= len;
		mcp_set(object, "chart", value);
		return;
	}
	json_decref(value);
	if (len > 0)
		mcp_set(object, "chart_left_out", json_true());
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text[0] != '\0')
		mcp_set(object, key, mcp_program_text(text));
}

static const char *place_name(enum place place)
{
	static const char *const names[] = {
		[LEFT_OUT] = "no", [AS_IMAGE] = "image", [AS_RESOURCE] = "resource"};

	return names[place];
}

static json_t *describe(const struct mcp_show *show, const struct mcp_exhibit *e, size_t *charts)
{
	const struct sbx_artifact *a = e->artifact;
	json_t *object =
		json_pack("{s:I, s:o, s:s, s:s, s:I}", "number", (json_int_t)a->number, "name",
			  mcp_program_text(a->name), "kind", sbx_artifact_kind_name(a->kind),
			  "mime_type", e->mime_type[0] ? e->mime_type : "application/octet-stream",
			  "size", (json_int_t)a->size);

	if (object == NULL)
		return NULL;
	if (a->width > 0)
		mcp_set(object, "width", json_integer(a->width));
	if (a->height > 0)
		mcp_set(object, "height", json_integer(a->height));
	set_text(object, "title", a->title);
	set_text(object, "source", a->source);
	if (show->session_id[0] != '\0') {
		mcp_set(object, "uri", mcp_artifact_uri(show->session_id, a->number));
		set_text(object, "path", a->path);
	}
	mcp_set(object, "shown", json_string(place_name(e->place)));
	set_text(object, "not_shown", e->why);
	set_chart(object, a->chart, charts);
	return object;
}

static json_t *describe_changes(const struct sbx_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->change_count && i < CHANGES_MOST; i++)
		json_array_append_new(list, json_pack("{s:o, s:I}", "path",
						      mcp_program_text(result->changes[i].path),
						      "size", (json_int_t)result->changes[i].size));
	return list;
}

void mcp_show_describe(const struct mcp_show *show, json_t *object)
{
	const struct sbx_result *r = show->result;
	size_t charts = CHARTS_MOST;
	json_t *list;

	if (!has_any(show))
		return;
	list = json_array();
	for (size_t i = 0; i < show->count; i++)
		json_array_append_new(list, describe(show, &show->list[i], &charts));
	mcp_set(object, "artifacts", list);
	if (r->artifact_count > show->count || r->artifacts_left_out > 0)
		mcp_set(object, "artifacts_left_out",
			json_integer((json_int_t)(r->artifact_count - show->count) +
				     r->artifacts_left_out));
}

void mcp_show_changes(const struct sbx_result *result, json_t *object)
{
	if (result->change_count == 0)
		return;
	mcp_set(object, "changed_files", describe_changes(result));
	if (result->change_count > CHANGES_MOST || result->changes_truncated)
		mcp_set(object, "changed_files_truncated", json_true());
}
