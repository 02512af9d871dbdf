/* SPDX-License-Identifier: MIT */
/*
 * JSON between a kernel and us. What comes is hostile: one that breaks the protocol is killed,
 * and what it sent is told in the words that a function here returns.
 */
#include "core/kernel_inside.h"

#include "base/auto.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define VALUE_MAX (4u << 20)
#define PARTS_MAX 256 /* of a message: a kernel's have a handful */

/* ---- to the kernel ---- */

static void expect_answer(struct sbx_kernel *k)
{
	k->asked = true;
	k->asked_id = k->asked_id % INT32_MAX + 1;
	sbx_buf_done(&k->answer.value);
	k->answer = (struct sbx_answer){.value = SBX_BUF_INIT(VALUE_MAX)};
}

/* Takes message, which is NULL without memory. */
static int send(struct sbx_kernel *k, json_t *message, struct sbx_error *err)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	int r;

	json_decref(message);
	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot ask the kernel '%s'", k->name);
	r = sbx_control_send(&k->control, text, strlen(text), err);
	free(text);
	if (r < 0)
		k->asked = false;
	return r;
}

int sbx_kernel_ask_run(struct sbx_kernel *k, const struct sbx_kernel_cell *cell,
		       struct sbx_error *err)
{
	int r;

	expect_answer(k);
	r = send(k, json_pack("{s:s, s:I, s:s%, s:s, s:b}", "op", "run", "id",
			      (json_int_t)k->asked_id, "code", cell->code, cell->code_len, "name",
			      cell->name, "silent", (int)cell->silent),
		 err);
	if (r < 0 && err->code == SBX_E_LIMIT)
		return sbx_fail(err, SBX_E_LIMIT,
				"the code of a cell is larger than %u MiB; put data into a file",
				SBX_CONTROL_MAX >> 20);
	return r;
}

int sbx_kernel_ask_reset(struct sbx_kernel *k, struct sbx_error *err)
{
	expect_answer(k);
	return send(k, json_pack("{s:s, s:I}", "op", "reset", "id", (json_int_t)k->asked_id), err);
}

/* ---- from the kernel ---- */

/* Printable ASCII alone, as far as there is room. */
static void set_version(struct sbx_kernel *k, const char *text)
{
	struct sbx_kernels *kernels = &k->session->kernels;
	size_t n = 0;

	pthread_mutex_lock(&kernels->lock);
	for (; text[n] > ' ' && text[n] < 0x7F && n < sizeof(k->version) - 1; n++)
		k->version[n] = text[n];
	k->version[n] = '\0';
	pthread_mutex_unlock(&kernels->lock);
}

static const char *on_ready(struct sbx_kernel *k, json_t *m)
{
	const char *language, *version;

	if (json_unpack(m, "{s:s, s:s}", "language", &language, "version", &version) < 0)
		return "a malformed greeting";
	if (!k->asked || k->asked_id != 0)
		return "a greeting out of turn";
	set_version(k, version);
	k->asked = false;
	return NULL;
}

/* Its number stands in the folder of artifacts; a cell's are what is new there at its end. */
static const char *on_display(struct sbx_kernel *k, json_t *m)
{
	json_int_t id, number;

	(void)k;
	if (json_unpack(m, "{s:I, s:I}", "id", &id, "number", &number) < 0 || number < 0)
		return "a malformed word of what it shows";
	return NULL;
}

/* A text of a program may have NUL bytes; ours has not. */
static void append_text(struct sbx_buf *b, const char *text, size_t len)
{
	while (len > 0) {
		size_t n = strnlen(text, len);

		sbx_buf_append(b, text, n);
		if (n < len)
			sbx_buf_puts(b, "\xEF\xBF\xBD");
		n += n < len;
		text += n;
		len -= n;
	}
}

static bool is_answer(const struct sbx_kernel *k, json_int_t id)
{
	return k->asked && k->asked_id != 0 && id == (json_int_t)k->asked_id;
}

static const char *on_result(struct sbx_kernel *k, json_t *m)
{
	const char *text;
	json_int_t id;
	size_t len;

	if (json_unpack(m, "{s:I, s:s%}", "id", &id, "text", &text, &len) < 0)
		return "a malformed value";
	if (!is_answer(k, id))
		return "a value that nobody asked for";
	sbx_buf_done(&k->answer.value);
	append_text(&k->answer.value, text, len);
	k->answer.has_value = !k->answer.value.failed;
	return NULL;
}

/* The text is on stderr already, with all around it. */
static const char *on_error(struct sbx_kernel *k, json_t *m)
{
	const char *name, *message;
	json_int_t id;

	if (json_unpack(m, "{s:I, s:s, s:s}", "id", &id, "name", &name, "message", &message) < 0)
		return "a malformed error";
	return is_answer(k, id) ? NULL : "an error of nothing that was asked for";
}

static bool find_status(const char *text, enum sbx_cell_status *ret)
{
	static const char *const names[] = {
		[SBX_CELL_OK] = "ok",
		[SBX_CELL_ERROR] = "error",
		[SBX_CELL_EXIT] = "exit",
		[SBX_CELL_INTERRUPTED] = "interrupted",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], text) == 0) {
			*ret = (enum sbx_cell_status)i;
			return true;
		}
	}
	return false;
}

static const char *on_done(struct sbx_kernel *k, json_t *m)
{
	json_int_t id, exit_code;
	const char *status;

	if (json_unpack(m, "{s:I, s:s, s:I}", "id", &id, "status", &status, "exit_code",
			&exit_code) < 0 ||
	    exit_code < 0 || exit_code > 255 || !find_status(status, &k->answer.status))
		return "a malformed end of a cell";
	if (!is_answer(k, id))
		return "the end of a cell that was not asked for";
	k->answer.exit_code = (int)exit_code;
	k->asked = false;
	return NULL;
}

struct op {
	const char *name;
	const char *(*act)(struct sbx_kernel *k, json_t *message);
};

static const struct op ops[] = {
	{"done", on_done},   {"result", on_result}, {"display", on_display},
	{"error", on_error}, {"ready", on_ready},
};

static const char *act(struct sbx_kernel *k, json_t *message)
{
	const char *name;

	if (json_unpack(message, "{s:s}", "op", &name) < 0)
		return "a message without an operation";
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, name) == 0)
			return ops[i].act(k, message);
	}
	return "a message that is none of a kernel's";
}

/* "[]," is three bytes to who sends it and a hundred to us, so it is looked at before it is read. */
static bool has_many_parts(const char *text, size_t len)
{
	bool in_string = false;
	size_t parts = 0;

	for (size_t i = 0; i < len; i++) {
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (!in_string)
			parts += text[i] == '[' || text[i] == '{' || text[i] == ',';
	}
	return parts > PARTS_MAX;
}

const char *sbx_kernel_on_message(void *owner, const char *text, size_t len)
{
	const struct sbx_kernel *k = owner;
	const char *fault;
	json_t *message;

	/* An answer now would be one of a kernel whose state is as good as gone. */
	if (k->killed)
		return NULL;
	if (has_many_parts(text, len))
		return "a message of too many parts";
	message = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	if (message == NULL)
		return "a message that is no JSON";
	fault = act(owner, message);
	json_decref(message);
	return fault;
}
