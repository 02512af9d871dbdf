/* SPDX-License-Identifier: MIT */
#include <llmsandbox/network.h>
#include <llmsandbox/result.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define TEXT_MAX ((size_t)4 << 30)

/* Head, a line about what was left out, tail. Sets *exact when no byte had to be replaced. */
static json_t *output_text(const struct sbx_output *o, bool *exact)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(TEXT_MAX);

	*exact = sbx_text_append_utf8(&text, o->data, o->head_len);
	if (o->truncated) {
		sbx_buf_printf(&text, "\n[... %llu bytes left out ...]\n",
			       (unsigned long long)(o->total_bytes - o->len));
		*exact &= sbx_text_append_utf8(&text, o->data + o->head_len, o->len - o->head_len);
	}
	return text.failed ? NULL : json_stringn(text.data ? text.data : "", text.len);
}

static json_t *output_base64(const struct sbx_output *o)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(TEXT_MAX);

	sbx_text_append_base64(&text, o->data, o->len);
	return text.failed ? NULL : json_stringn(text.data ? text.data : "", text.len);
}

static json_t *output_info(const struct sbx_output *o)
{
	return json_pack("{s:I, s:I, s:I, s:b}", "total_bytes", (json_int_t)o->total_bytes,
			 "kept_bytes", (json_int_t)o->len, "head_bytes", (json_int_t)o->head_len,
			 "truncated", o->truncated);
}

static double ms(uint64_t ns)
{
	return (double)(ns / 1000) / 1000;
}

static json_t *timings(const struct sbx_timings *t)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "queue", ms(t->queue), "create",
			 ms(t->create), "install", ms(t->install), "compile", ms(t->compile), "run",
			 ms(t->run), "collect", ms(t->collect));
}

static json_t *cost(const struct sbx_result *r)
{
	return json_pack("{s:f, s:f, s:I, s:I, s:I}", "cpu_user_ms", ms(r->cpu_user_us * 1000),
			 "cpu_system_ms", ms(r->cpu_system_us * 1000), "peak_memory_bytes",
			 (json_int_t)r->peak_memory_bytes, "read_bytes", (json_int_t)r->read_bytes,
			 "write_bytes", (json_int_t)r->write_bytes);
}

static json_t *isolation(const struct sbx_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->isolation_count; i++) {
		const struct sbx_isolation *line = &r->isolation[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", line->name,
						      "status",
						      sbx_isolation_status_name(line->status),
						      "detail", line->detail));
	}
	return list;
}

static json_t *attempts(const struct sbx_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->egress_count; i++) {
		const struct sbx_egress *a = &r->egress[i];

		json_array_append_new(
			list, json_pack("{s:I, s:s, s:s, s:i, s:s, s:s, s:s, s:I, s:I}", "started_ms",
					(json_int_t)a->started_ms, "how", a->how, "host", a->host,
					"port", (int)a->port, "address", a->address, "verdict",
					sbx_egress_verdict_name(a->verdict), "rule", a->rule,
					"sent_bytes", (json_int_t)a->sent, "received_bytes",
					(json_int_t)a->received));
	}
	return list;
}

/* Bytes that need not be UTF-8. */
static json_t *any_text(const char *text)
{
	auto_buf struct sbx_buf utf8 = SBX_BUF_INIT(TEXT_MAX);

	sbx_text_append_utf8(&utf8, text, strlen(text));
	return utf8.failed ? NULL : json_stringn(utf8.data ? utf8.data : "", utf8.len);
}

static json_t *artifact(const struct sbx_artifact *a)
{
	json_t *o = json_pack("{s:I, s:s, s:s, s:s}", "number", (json_int_t)a->number, "kind",
			      sbx_artifact_kind_name(a->kind), "name", a->name, "mime_type",
			      a->mime_type);

	if (a->source[0] != '\0')
		json_object_set_new(o, "source", json_string(a->source));
	if (a->title[0] != '\0')
		json_object_set_new(o, "title", json_string(a->title));
	if (a->width > 0 && a->height > 0) {
		json_object_set_new(o, "width", json_integer(a->width));
		json_object_set_new(o, "height", json_integer(a->height));
	}
	json_object_set_new(o, "size_bytes", json_integer((json_int_t)a->size));
	json_object_set_new(o, "path", any_text(a->path));
	if (a->chart != NULL)
		json_object_set_new(o, "chart", json_loads(a->chart, 0, NULL));
	return o;
}

static void set_artifacts(json_t *o, const struct sbx_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->artifact_count; i++)
		json_array_append_new(list, artifact(&r->artifacts[i]));
	json_object_set_new(o, "artifacts", list);
	if (r->artifacts_left_out > 0)
		json_object_set_new(o, "artifacts_left_out", json_integer(r->artifacts_left_out));
}

static void set_changes(json_t *o, const struct sbx_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->change_count; i++) {
		const struct sbx_change *change = &r->changes[i];

		json_array_append_new(list, json_pack("{s:o, s:I}", "path", any_text(change->path),
						      "size_bytes", (json_int_t)change->size));
	}
	json_object_set_new(o, "changed_files", list);
	if (r->changes_truncated)
		json_object_set_new(o, "changed_files_truncated", json_true());
}

/* What a run that asked for nothing has not is left out. */
static void set_made(json_t *o, const struct sbx_result *r)
{
	if (r->value != NULL)
		json_object_set_new(o, "value", any_text(r->value));
	if (r->kernel_ended)
		json_object_set_new(o, "kernel_ended", json_true());
	if (r->artifact_count > 0 || r->artifacts_left_out > 0)
		set_artifacts(o, r);
	if (r->change_count > 0 || r->changes_truncated)
		set_changes(o, r);
}

static json_t *to_json(const struct sbx_result *r)
{
	bool exact[2];
	json_t *out = output_text(&r->out, &exact[0]);
	json_t *errout = output_text(&r->errout, &exact[1]);
	json_t *o = json_pack("{s:i, s:o, s:o, s:b, s:s, s:s, s:s?, s:s?}", "exit_code",
			      r->exit_code, "stdout", out, "stderr", errout, "success",
			      r->exit_code == 0 && r->reason == SBX_EXITED, "reason",
			      sbx_reason_name(r->reason), "phase", sbx_phase_name(r->phase), "signal",
			      r->signal ? sigabbrev_np(r->signal) : NULL, "message",
			      r->message[0] ? r->message : NULL);

	if (o == NULL)
		return NULL;
	if (!exact[0])
		json_object_set_new(o, "stdout_base64", output_base64(&r->out));
	if (!exact[1])
		json_object_set_new(o, "stderr_base64", output_base64(&r->errout));
	set_made(o, r);
	json_object_set_new(o, "stdout_info", output_info(&r->out));
	json_object_set_new(o, "stderr_info", output_info(&r->errout));
	json_object_set_new(o, "timings_ms", timings(&r->timings));
	json_object_set_new(o, "cost", cost(r));
	json_object_set_new(o, "processes_killed", json_integer(r->processes_killed));
	json_object_set_new(o, "isolation", isolation(r));
	json_object_set_new(o, "network",
			    json_pack("{s:s, s:o}", "mode", r->network ? r->network : "none",
				      "attempts", attempts(r)));
	return o;
}

int sbx_result_format_json(const struct sbx_result *result, int indent, char **ret,
			   struct sbx_error *err)
{
	struct sbx_error lent;
	json_t *object = to_json(result);

	err = err ? err : &lent;
	*ret = object ? json_dumps(object, JSON_INDENT((size_t)indent) | JSON_PRESERVE_ORDER) : NULL;
	json_decref(object);
	if (*ret == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot write the result as JSON");
	return 0;
}
