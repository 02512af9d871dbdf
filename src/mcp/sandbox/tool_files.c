/* SPDX-License-Identifier: MIT */
/* Files of a session: tools that put, read, list and delete them, and the files as resources. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "mcp/sandbox/file_uri.h"
#include "mcp/sandbox/lease.h"
#include "mcp/sandbox/mime.h"
#include "mcp/sandbox/picture.h"
#include "mcp/sandbox/reply.h"

#include <llmsandbox/files.h>

#include <errno.h>
#include <string.h>

#define WHOLE_MOST     ((size_t)64 << 10) /* bytes of a file that read_file gives unasked */
#define READ_MOST      ((size_t)1 << 20)  /* and asked for */
#define RESOURCE_MOST  ((size_t)8 << 20)  /* of a resource */
#define LISTED_MOST    1000
#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)

#define PATH_ARGUMENT                                                                        \
	{                                                                                    \
		.name = "path", .type = MCP_STRING, .required = true, .min = 1, .max = 4000, \
		.description = "In the session, relative to the working folder or absolute"  \
	}

static const char *get_text(const json_t *arguments, const char *name)
{
	return json_string_value(json_object_get(arguments, name));
}

static bool get_flag(const json_t *arguments, const char *name)
{
	return json_is_true(json_object_get(arguments, name));
}

/* ---- writing ---- */

/* Bytes that a client sends, and what they are to become. */
struct writing {
	const char *path, *data;
	size_t len;
	enum sbx_write_mode mode;
};

#define WRITTEN_SCHEMA                                                                 \
	"{\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}, "   \
	"\"bytes_written\": {\"type\": \"integer\"}, \"uri\": {\"type\": \"string\", " \
	"\"description\": \"the file as a resource\"}}, "                              \
	"\"required\": [\"path\", \"bytes_written\", \"uri\"]}"

static void tell_changed(struct mcp_call *call, json_t *uri)
{
	if (uri != NULL)
		mcp_server_resource_updated(mcp_call_server(call), json_string_value(uri));
}

static int write_file(struct mcp_call *call, const json_t *arguments, const struct writing *w,
		      struct sbx_error *err)
{
	struct mcp_lease lease;
	json_t *uri;
	int r = mcp_lease_begin(&lease, call, arguments, err);

	if (r < 0)
		return r;
	r = sbx_session_write_file(lease.session, w->path, w->data, w->len, w->mode, err);
	r = mcp_lease_end(&lease, r, err);
	if (r < 0)
		return r;
	uri = mcp_file_uri(lease.id, w->path);
	tell_changed(call, uri);
	return mcp_reply(call,
			 json_pack("{s:s, s:I, s:o}", "path", w->path, "bytes_written",
				   (json_int_t)w->len, "uri", uri),
			 err);
}

static int run_write(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const json_t *content = json_object_get(arguments, "content");
	const char *mode = get_text(arguments, "mode");
	struct writing w = {
		.path = get_text(arguments, "path"),
		.data = json_string_value(content),
		.len = json_string_length(content),
		.mode = strcmp(mode, "append") == 0 ? SBX_WRITE_APPEND
			: strcmp(mode, "new") == 0  ? SBX_WRITE_NEW
						    : SBX_WRITE_REPLACE,
	};

	return write_file(call, arguments, &w, err);
}

static const char *const write_modes[] = {"replace", "new", "append", NULL};

static const struct mcp_argument write_arguments[] = {
	MCP_SESSION_ARGUMENT,
	PATH_ARGUMENT,
	{.name = "content", .type = MCP_STRING, .required = true, .description = "Text"},
	{.name = "mode",
	 .type = MCP_STRING,
	 .fallback = "\"replace\"",
	 .choices = write_modes,
	 .description =
		 "replace: the file as a whole; new: only if there is none; append: at its end"},
};

const struct mcp_tool mcp_tool_write_file = {
	.name = "write_file",
	.title = "Write a text file",
	.description = "Write text to a file of a session. Folders on the way are made.",
	.arguments = write_arguments,
	.argument_count = sizeof(write_arguments) / sizeof(write_arguments[0]),
	.output_schema = WRITTEN_SCHEMA,
	.hints = MCP_DESTRUCTIVE,
	.run = run_write,
};

static int run_upload(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const json_t *text = json_object_get(arguments, "text");
	const json_t *base64 = json_object_get(arguments, "base64");
	auto_buf struct sbx_buf bytes = SBX_BUF_INIT(json_string_length(base64));
	struct writing w = {
		.path = get_text(arguments, "path"),
		.data = json_string_value(text),
		.len = json_string_length(text),
		.mode = get_flag(arguments, "append") ? SBX_WRITE_APPEND : SBX_WRITE_REPLACE,
	};

	if (json_is_string(text) == json_is_string(base64))
		return sbx_fail(err, SBX_E_INVALID, "give the file as either text or base64");
	if (json_is_string(base64)) {
		if (!sbx_text_decode_base64(&bytes, json_string_value(base64),
					    json_string_length(base64)))
			return sbx_fail(err, SBX_E_INVALID, "base64 is no base64 (RFC 4648)");
		if (bytes.failed)
			return sbx_fail_errno(err, ENOMEM, "cannot keep the file");
		w.data = bytes.data;
		w.len = bytes.len;
	}
	return write_file(call, arguments, &w, err);
}

static const struct mcp_argument upload_arguments[] = {
	MCP_SESSION_ARGUMENT,
	PATH_ARGUMENT,
	{.name = "text", .type = MCP_STRING, .nullable = true, .description = "The file as text"},
	{.name = "base64",
	 .type = MCP_STRING,
	 .nullable = true,
	 .description = "The file's bytes in base64, when it is no text"},
	{.name = "append",
	 .type = MCP_BOOLEAN,
	 .fallback = "false",
	 .description = "Add to the end of the file: a large one can be sent in pieces"},
};

const struct mcp_tool mcp_tool_upload_file = {
	.name = "upload_file",
	.title = "Upload a file",
	.description =
		"Put a file, text or binary, into a session for programs to use. Folders on the "
		"way are made; a file of that name is replaced.",
	.arguments = upload_arguments,
	.argument_count = sizeof(upload_arguments) / sizeof(upload_arguments[0]),
	.output_schema = WRITTEN_SCHEMA,
	.hints = MCP_DESTRUCTIVE,
	.run = run_upload,
};

/* ---- reading ---- */

/* What was read of a file. */
struct reading {
	const char *session_id, *path, *mime_type;
	char *data; /* owned */
	size_t len;
	uint64_t offset, size; /* where data begins; of the whole file */
};

static bool has_more(const struct reading *f)
{
	return f->offset + f->len < f->size;
}

static int read_some(struct mcp_lease *lease, size_t most, struct reading *ret,
		     struct sbx_error *err)
{
	int r = sbx_session_read_file(lease->session, ret->path, ret->offset, most, &ret->data,
				      &ret->len, &ret->size, err);

	r = mcp_lease_end(lease, r, err);
	if (r == 0)
		ret->mime_type = mcp_mime_type(ret->path, ret->data, ret->len, has_more(ret));
	return r;
}

static json_t *describe(const struct reading *f)
{
	return json_pack("{s:s, s:I, s:s, s:o}", "path", f->path, "size", (json_int_t)f->size,
			 "mime_type", f->mime_type, "uri", mcp_file_uri(f->session_id, f->path));
}

/* A piece of text ends between characters; the next one begins there. */
static json_t *add_content(json_t *object, struct reading *f)
{
	auto_buf struct sbx_buf base64 = SBX_BUF_INIT(BASE64_SIZE(READ_MOST));
	bool text = mcp_is_text(f->data, f->len, has_more(f));

	if (text && has_more(f))
		f->len = mcp_whole_characters(f->data, f->len);
	if (!text)
		sbx_text_append_base64(&base64, f->data, f->len);
	mcp_set(object, "encoding", json_string(text ? "utf-8" : "base64"));
	mcp_set(object, "content",
		text ? json_stringn(f->data, f->len)
		     : json_stringn(base64.data ? base64.data : "", base64.len));
	if (has_more(f))
		mcp_set(object, "next_offset", json_integer((json_int_t)(f->offset + f->len)));
	return object;
}

static int reply_content(struct mcp_call *call, struct reading *f, struct sbx_error *err)
{
	return mcp_reply(call, add_content(describe(f), f), err);
}

static int reply_image(struct mcp_call *call, const struct reading *f, struct sbx_error *err)
{
	mcp_call_add_image(call, f->mime_type, f->data, f->len);
	return mcp_reply(call, describe(f), err);
}

static int reply_link(struct mcp_call *call, const struct reading *f, struct sbx_error *err)
{
	json_t *object = describe(f);
	const char *name = strrchr(f->path, '/');

	if (mcp_call_has_links(call))
		mcp_call_add_item(call,
				  json_pack("{s:s, s:O, s:s, s:s, s:I}", "type", "resource_link",
					    "uri", json_object_get(object, "uri"), "name",
					    name ? name + 1 : f->path, "mimeType", f->mime_type,
					    "size", (json_int_t)f->size));
	mcp_set(object, "message",
		json_sprintf("the file is larger than %zu bytes: read it in pieces with offset and "
			     "max_bytes, or as the resource",
			     WHOLE_MOST));
	return mcp_reply(call, object, err);
}

static int run_read(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const json_t *offset = json_object_get(arguments, "offset");
	const json_t *most = json_object_get(arguments, "max_bytes");
	bool piece = json_is_integer(offset) || json_is_integer(most);
	struct reading f = {
		.session_id = get_text(arguments, "session_id"),
		.path = get_text(arguments, "path"),
		.offset = (uint64_t)json_integer_value(offset),
	};
	struct mcp_lease lease;
	int r = mcp_lease_begin(&lease, call, arguments, err);

	if (r < 0)
		return r;
	r = read_some(&lease,
		      json_is_integer(most) ? (size_t)json_integer_value(most)
		      : piece		    ? WHOLE_MOST
					    : READ_MOST,
		      &f, err);
	if (r < 0)
		return r;
	if (!piece && !has_more(&f) && mcp_mime_is_image(f.mime_type) &&
	    mcp_picture_problem(f.mime_type, f.data, f.len) == NULL)
		r = reply_image(call, &f, err);
	else if (!piece && f.size > WHOLE_MOST)
		r = reply_link(call, &f, err);
	else
		r = reply_content(call, &f, err);
	free(f.data);
	return r;
}

static const struct mcp_argument read_arguments[] = {
	MCP_SESSION_ARGUMENT,
	PATH_ARGUMENT,
	{.name = "offset",
	 .type = MCP_INTEGER,
	 .nullable = true,
	 .max = 9007199254740991.0,
	 .description = "Begin at this byte"},
	{.name = "max_bytes",
	 .type = MCP_INTEGER,
	 .nullable = true,
	 .min = 4,
	 .max = 1048576,
	 .description = "Give this many bytes at most; next_offset tells where to go on"},
};

const struct mcp_tool mcp_tool_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.description =
		"Read a file of a session: text as it is, images as images, other bytes in base64. "
		"Of a "
		"file larger than 64 KiB you get a link to it as a resource; read it in pieces "
		"with "
		"offset and max_bytes, or let a program in the session look for what you need.",
	.arguments = read_arguments,
	.argument_count = sizeof(read_arguments) / sizeof(read_arguments[0]),
	.output_schema =
		"{\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}, "
		"\"size\": {\"type\": \"integer\", \"description\": \"of the whole file\"}, "
		"\"mime_type\": {\"type\": \"string\"}, \"uri\": {\"type\": \"string\"}, "
		"\"encoding\": {\"type\": \"string\", \"enum\": [\"utf-8\", \"base64\"]}, "
		"\"content\": {\"type\": \"string\", \"description\": \"absent of images, and of "
		"what "
		"is too large\"}, \"next_offset\": {\"type\": \"integer\", \"description\": "
		"\"there is "
		"more from here\"}, \"message\": {\"type\": \"string\"}}, "
		"\"required\": [\"path\", \"size\", \"mime_type\", \"uri\"]}",
	.meta = "{\"anthropic/maxResultSizeChars\": 200000}",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.run = run_read,
};

/* ---- listing ---- */

static const char *kind_name(enum sbx_file_kind kind)
{
	static const char *const names[] = {
		[SBX_FILE_REGULAR] = "file",
		[SBX_FILE_FOLDER] = "folder",
		[SBX_FILE_LINK] = "link",
		[SBX_FILE_OTHER] = "other",
	};

	return names[kind];
}

/* A name may have any bytes, and JSON no others than text; its URI then has it exactly. */
static json_t *describe_entry(const char *session_id, const char *folder,
			      const struct sbx_file_info *info)
{
	auto_buf struct sbx_buf name = SBX_BUF_INIT(1 << 16), path = SBX_BUF_INIT(1 << 16);
	bool clean = sbx_text_append_utf8(&name, info->path, strlen(info->path));
	json_t *object =
		json_pack("{s:o, s:s}", "path", json_stringn(name.data ? name.data : "", name.len),
			  "kind", kind_name(info->kind));

	if (info->kind == SBX_FILE_REGULAR)
		mcp_set(object, "size", json_integer((json_int_t)info->size));
	mcp_set(object, "modified", mcp_time(info->mtime_ns / 1000000000));
	sbx_buf_printf(&path, "%s/%s", folder, info->path);
	if (!clean && !path.failed)
		mcp_set(object, "uri", mcp_file_uri(session_id, path.data));
	return object;
}

static int run_list(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *path = get_text(arguments, "path");
	struct sbx_file_info *list = NULL;
	size_t count = 0;
	struct mcp_lease lease;
	json_t *entries;
	int r = mcp_lease_begin(&lease, call, arguments, err);

	if (r < 0)
		return r;
	r = sbx_session_list_files(lease.session, path, get_flag(arguments, "recursive"),
				   LISTED_MOST, &list, &count, err);
	r = mcp_lease_end(&lease, r, err);
	if (r < 0 && err->code == SBX_E_LIMIT)
		return sbx_fail(err, SBX_E_LIMIT,
				"'%.256s' has more than %d entries: list a folder in it, or let "
				"execute_command look for what you need",
				path, LISTED_MOST);
	if (r < 0)
		return r;
	entries = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(entries, describe_entry(lease.id, path, &list[i]));
	sbx_files_free(list, count);
	return mcp_reply(call, json_pack("{s:s, s:o}", "path", path, "entries", entries), err);
}

static const struct mcp_argument list_arguments[] = {
	MCP_SESSION_ARGUMENT,
	{.name = "path",
	 .type = MCP_STRING,
	 .fallback = "\".\"",
	 .min = 1,
	 .max = 4000,
	 .description = "The folder; the working folder without it"},
	{.name = "recursive",
	 .type = MCP_BOOLEAN,
	 .fallback = "false",
	 .description = "With what is in its folders; links are not followed"},
};

const struct mcp_tool mcp_tool_list_files = {
	.name = "list_files",
	.title = "List files",
	.description = "What is in a folder of a session, at most 1000 entries, sorted by name.",
	.arguments = list_arguments,
	.argument_count = sizeof(list_arguments) / sizeof(list_arguments[0]),
	.output_schema =
		"{\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}, "
		"\"entries\": {\"type\": \"array\", \"items\": {\"type\": \"object\", "
		"\"properties\": {"
		"\"path\": {\"type\": \"string\", \"description\": \"below the folder\"}, "
		"\"kind\": {\"type\": \"string\", \"enum\": [\"file\", \"folder\", \"link\", "
		"\"other\"]}, \"size\": {\"type\": \"integer\"}, \"modified\": {\"type\": "
		"\"string\"}, "
		"\"uri\": {\"type\": \"string\", \"description\": \"of names that are no text\"}}, "
		"\"required\": [\"path\", \"kind\"]}}}, \"required\": [\"path\", \"entries\"]}",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.run = run_list,
};

/* ---- deleting ---- */

static int run_delete(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *path = get_text(arguments, "path");
	struct mcp_lease lease;
	json_t *uri;
	int r = mcp_lease_begin(&lease, call, arguments, err);

	if (r < 0)
		return r;
	r = sbx_session_remove_file(lease.session, path, get_flag(arguments, "recursive"), err);
	r = mcp_lease_end(&lease, r, err);
	if (r < 0)
		return r;
	uri = mcp_file_uri(lease.id, path);
	tell_changed(call, uri);
	json_decref(uri);
	return mcp_reply(call, json_pack("{s:s, s:b}", "path", path, "deleted", 1), err);
}

static const struct mcp_argument delete_arguments[] = {
	MCP_SESSION_ARGUMENT,
	PATH_ARGUMENT,
	{.name = "recursive",
	 .type = MCP_BOOLEAN,
	 .fallback = "false",
	 .description = "Delete a folder with all that is in it"},
};

const struct mcp_tool mcp_tool_delete_file = {
	.name = "delete_file",
	.title = "Delete a file",
	.description = "Delete a file, a link, or with recursive a folder of a session.",
	.arguments = delete_arguments,
	.argument_count = sizeof(delete_arguments) / sizeof(delete_arguments[0]),
	.output_schema =
		"{\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}, "
		"\"deleted\": {\"type\": \"boolean\"}}, \"required\": [\"path\", "
		"\"deleted\"]}",
	.hints = MCP_DESTRUCTIVE,
	.run = run_delete,
};

/* ---- as resources ---- */

/* Of an artifact its maker may have said the type, which its bytes may contradict. */
static void refine_type(struct reading *f, const char *said)
{
	bool vague = strcmp(f->mime_type, "text/plain") == 0 ||
		     strcmp(f->mime_type, "application/octet-stream") == 0;
	bool text = strncmp(said, "text/", 5) == 0 || strcmp(said, "application/json") == 0;
	bool so = text ? mcp_is_text(f->data, f->len, false)
		       : !mcp_picture_is_type(said) ||
				 mcp_picture_problem(said, f->data, f->len) == NULL;

	if (vague && so && mcp_mime_is_type(said))
		f->mime_type = said;
}

/* said: its type as far as that was told, or NULL. */
static int add_resource(struct mcp_call *call, const char *uri, struct reading *f, const char *said,
			struct mcp_lease *lease, struct sbx_error *err)
{
	const char *path = f->path;
	int r = read_some(lease, RESOURCE_MOST, f, err);

	if (r < 0)
		return r;
	if (said != NULL)
		refine_type(f, said);
	if (has_more(f))
		r = sbx_fail(err, SBX_E_LIMIT,
			     "'%.256s' has %llu bytes, and a resource at most %zu; read it in "
			     "pieces with "
			     "read_file",
			     path, (unsigned long long)f->size, RESOURCE_MOST);
	else
		mcp_call_add_contents(call, uri, f->mime_type, f->data, f->len);
	free(f->data);
	return r;
}

static int read_resource(struct mcp_call *call, const char *uri, const char *session_id,
			 const char *path, struct sbx_error *err)
{
	struct reading f = {.session_id = session_id, .path = path};
	struct mcp_lease lease;
	int r = mcp_lease_begin_id(&lease, call, session_id, err);

	return r < 0 ? r : add_resource(call, uri, &f, NULL, &lease, err);
}

int mcp_read_file_resource(struct mcp_call *call, const char *uri, const char *variable,
			   struct sbx_error *err)
{
	auto_free char *session_id = NULL, *path = NULL;

	(void)variable;
	if (!mcp_file_uri_parse(uri, &session_id, &path))
		return sbx_fail(err, SBX_E_NOT_FOUND, "it is written as " MCP_FILE_URI_TEMPLATE);
	return read_resource(call, uri, session_id, path, err);
}

/* Whose the session is decides first: what is known of it is for its client alone. */
static int read_artifact(struct mcp_call *call, const char *uri, const char *session_id,
			 uint32_t number, struct sbx_error *err)
{
	struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct reading f = {.session_id = session_id};
	struct mcp_lease lease;
	auto_free char *path = NULL;
	char mime_type[96];
	int r = mcp_lease_begin_id(&lease, call, session_id, err);

	if (r < 0)
		return r;
	r = mcp_shelf_find(&sandbox->shelf, session_id, number, &path, mime_type, err);
	if (r < 0)
		return mcp_lease_end(&lease, r, err);
	f.path = path;
	return add_resource(call, uri, &f, mime_type, &lease, err);
}

int mcp_read_artifact_resource(struct mcp_call *call, const char *uri, const char *variable,
			       struct sbx_error *err)
{
	auto_free char *session_id = NULL;
	uint32_t number;

	(void)variable;
	if (!mcp_artifact_uri_parse(uri, &session_id, &number))
		return sbx_fail(err, SBX_E_NOT_FOUND, "it is written as " MCP_ARTIFACT_URI_TEMPLATE);
	return read_artifact(call, uri, session_id, number, err);
}
