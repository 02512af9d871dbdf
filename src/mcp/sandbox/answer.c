/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/answer.h"

#include "mcp/sandbox/clip.h"
#include "mcp/sandbox/network.h"
#include "mcp/sandbox/reply.h"

#include <string.h>

#define VALUE_MOST 4000 /* characters */

/* stdout and stderr come first where a client shows the text, after the exit code. */
const char mcp_answer_schema[] =
	"{\"type\": \"object\", \"properties\": {"
	"\"exit_code\": {\"type\": \"integer\", \"description\": "
	"\"of the program, 128 + N when signal N ended it; of the compiler when phase is "
	"compile\"},"
	"\"stdout\": {\"type\": \"string\"},"
	"\"stderr\": {\"type\": \"string\"},"
	"\"success\": {\"type\": \"boolean\", \"description\": \"it exited by itself, with 0\"},"
	"\"reason\": {\"type\": \"string\", \"description\": \"how it ended\", \"enum\": "
	"[\"exited\", \"signalled\", \"timeout\", \"cpu-time\", \"memory\", \"cancelled\", "
	"\"lost\"]},"
	"\"phase\": {\"type\": \"string\", \"enum\": [\"run\", \"compile\"], \"description\": "
	"\"compile: the compiler failed and the program never ran\"},"
	"\"message\": {\"type\": \"string\", \"description\": "
	"\"which limit was hit, or why the kernel ended\"},"
	"\"value\": {\"type\": \"string\", \"description\": "
	"\"of a cell: the value of its last expression\"},"
	"\"kernel_ended\": {\"type\": \"boolean\", \"description\": "
	"\"the kernel's variables are gone; its next cell starts it anew\"},"
	"\"signal\": {\"type\": \"string\"},"
	"\"truncated\": {\"type\": \"object\", \"description\": "
	"\"of streams that were cut: the bytes that the program wrote\"},"
	"\"libraries\": {\"type\": \"object\", \"description\": "
	"\"versions of the libraries that were asked for\"},"
	"\"duration_ms\": {\"type\": \"number\"},"
	"\"timings_ms\": {\"type\": \"object\"},"
	"\"peak_memory_bytes\": {\"type\": \"integer\"},"
	"\"processes_killed\": {\"type\": \"integer\", \"description\": "
	"\"left running at the end, and killed\"},"
	"\"changed_files\": {\"type\": \"array\", \"description\": "
	"\"files that it made or wrote: path and size\", \"items\": {\"type\": \"object\"}},"
	"\"changed_files_truncated\": {\"type\": \"boolean\"},"
	"\"artifacts\": {\"type\": \"array\", \"description\": "
	"\"what it showed and made; the contents are items of the answer, in this order\", "
	"\"items\": {\"type\": \"object\", \"properties\": {"
	"\"number\": {\"type\": \"integer\"}, \"name\": {\"type\": \"string\"}, "
	"\"kind\": {\"type\": \"string\", \"enum\": [\"plot\", \"display\", \"file\"]}, "
	"\"mime_type\": {\"type\": \"string\"}, \"size\": {\"type\": \"integer\"}, "
	"\"width\": {\"type\": \"integer\"}, \"height\": {\"type\": \"integer\"}, "
	"\"title\": {\"type\": \"string\"}, \"source\": {\"type\": \"string\", "
	"\"description\": \"what drew it\"}, "
	"\"uri\": {\"type\": \"string\", \"description\": "
	"\"it as a resource, as long as the session lives\"}, "
	"\"path\": {\"type\": \"string\", \"description\": \"in the session\"}, "
	"\"shown\": {\"type\": \"string\", \"enum\": [\"image\", \"resource\", \"no\"], "
	"\"description\": \"as which item of the answer\"}, "
	"\"not_shown\": {\"type\": \"string\", \"description\": \"why not\"}, "
	"\"chart\": {\"type\": \"object\", \"description\": "
	"\"what it shows as numbers: kind, titles, axes, series\"}, "
	"\"chart_left_out\": {\"type\": \"boolean\", \"description\": "
	"\"there is one, too large for an answer\"}}, "
	"\"required\": [\"number\", \"name\", \"kind\", \"mime_type\", \"size\", "
	"\"shown\"]}},"
	"\"artifacts_left_out\": {\"type\": \"integer\", \"description\": "
	"\"how many more there were\"},"
	"\"network\": {\"type\": \"array\", \"description\": "
	"\"what it tried to reach, the last 50: host, port, verdict (allowed, denied, failed) and the "
	"rule or reason\", \"items\": {\"type\": \"object\"}},"
	"\"network_attempts\": {\"type\": \"integer\", \"description\": \"all of them\"},"
	"\"isolation_missing\": {\"type\": \"array\", \"description\": "
	"\"fences that this machine does not offer\"}"
	"}, \"required\": [\"exit_code\", \"stdout\", \"stderr\", \"success\", \"reason\", "
	"\"phase\"]}";

static double ms(uint64_t ns)
{
	return (double)(ns / 10000) / 100;
}

static json_t *timings(const struct sbx_timings *t)
{
	return json_pack("{s:f, s:f, s:f, s:f}", "create", ms(t->create), "install", ms(t->install),
			 "compile", ms(t->compile), "run", ms(t->run));
}

/* The fences that stood are no news to a model; one that did not is. */
static json_t *missing_fences(const struct sbx_result *result)
{
	json_t *list = NULL;

	for (size_t i = 0; i < result->isolation_count; i++) {
		const struct sbx_isolation *line = &result->isolation[i];

		if (line->status == SBX_ENFORCED)
			continue;
		list = list ? list : json_array();
		json_array_append_new(list, json_sprintf("%s: %s", line->name, line->detail));
	}
	return list;
}

static json_t *sentence(const char *text)
{
	return text != NULL && text[0] != '\0' ? json_string(text) : NULL;
}

static json_t *truncation(const struct sbx_result *result, const bool cut[2])
{
	const struct sbx_output *outputs[] = {&result->out, &result->errout};
	static const char *const keys[] = {"stdout_total_bytes", "stderr_total_bytes"};
	json_t *object = NULL;

	for (int i = 0; i < 2; i++) {
		if (!cut[i])
			continue;
		object = object ? object : json_object();
		mcp_set(object, keys[i], json_integer((json_int_t)outputs[i]->total_bytes));
	}
	return object;
}

/* What is always there, in its order. */
static json_t *essence(const struct sbx_result *r, size_t max_output, bool cut[2])
{
	json_t *out = mcp_clip(&r->out, max_output, &cut[0]);
	json_t *errout = mcp_clip(&r->errout, max_output, &cut[1]);

	return json_pack("{s:i, s:o, s:o, s:b, s:s, s:s}", "exit_code", r->exit_code, "stdout", out,
			 "stderr", errout, "success", r->exit_code == 0 && r->reason == SBX_EXITED,
			 "reason", sbx_reason_name(r->reason), "phase", sbx_phase_name(r->phase));
}

/* The value is at the end of stdout too, which may be cut. */
static json_t *value_text(const struct sbx_result *r)
{
	struct sbx_output output = {.data = r->value};
	bool ignored;

	if (r->value == NULL)
		return NULL;
	output.len = output.head_len = output.total_bytes = strlen(r->value);
	return mcp_clip(&output, VALUE_MOST, &ignored);
}

static json_t *message(const struct sbx_result *r, const char *kernel)
{
	if (r->message[0] != '\0' || !r->kernel_ended)
		return sentence(r->message);
	return json_sprintf("the kernel '%s' has ended and its variables are gone; its next cell "
			    "starts it anew",
			    kernel ? kernel : "");
}

static void set_cell(json_t *object, const struct sbx_result *r)
{
	mcp_set(object, "value", value_text(r));
	if (r->kernel_ended)
		mcp_set(object, "kernel_ended", json_true());
}

static json_t *to_json(const struct mcp_ran *ran)
{
	const struct sbx_result *r = ran->result;
	const struct sbx_timings *t = &r->timings;
	bool cut[2] = {false, false};
	json_t *object = essence(r, ran->max_output, cut);

	if (object == NULL)
		return NULL;
	mcp_set(object, "message", message(r, ran->kernel));
	set_cell(object, r);
	mcp_set(object, "signal", sentence(r->signal ? sigabbrev_np(r->signal) : NULL));
	mcp_set(object, "truncated", truncation(r, cut));
	mcp_set(object, "libraries", json_incref(ran->libraries));
	mcp_set(object, "duration_ms", json_real(ms(t->create + t->install + t->compile + t->run)));
	mcp_set(object, "timings_ms", timings(t));
	mcp_set(object, "peak_memory_bytes", json_integer((json_int_t)r->peak_memory_bytes));
	if (r->processes_killed > 0)
		mcp_set(object, "processes_killed", json_integer(r->processes_killed));
	if (r->egress_count > 0)
		mcp_set(object, "network_attempts", json_integer((json_int_t)r->egress_count));
	mcp_set(object, "network", mcp_network_attempts(r));
	mcp_show_changes(r, object);
	mcp_set(object, "isolation_missing", missing_fences(r));
	return object;
}

int mcp_answer(struct mcp_call *call, const struct mcp_ran *ran, struct sbx_error *err)
{
	json_t *object = to_json(ran);
	int r = mcp_reply_text(call, object, err);

	if (r < 0) {
		json_decref(object);
		return r;
	}
	mcp_show_add(ran->show, call);
	mcp_show_describe(ran->show, object);
	mcp_reply_structured(call, object);
	return 0;
}
