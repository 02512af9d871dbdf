/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/reply.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "mcp/sandbox/inside.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int mcp_reply_text(struct mcp_call *call, const json_t *object, struct sbx_error *err)
{
	auto_free char *text =
		object ? json_dumps(object, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10)) : NULL;

	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot write the result as JSON");
	mcp_call_add_text(call, text, strlen(text));
	return 0;
}

void mcp_reply_structured(struct mcp_call *call, json_t *object)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);

	if (sandbox->environment.structured)
		mcp_call_set_structured(call, object);
	else
		json_decref(object);
}

int mcp_reply(struct mcp_call *call, json_t *object, struct sbx_error *err)
{
	int r = mcp_reply_text(call, object, err);

	if (r < 0)
		json_decref(object);
	else
		mcp_reply_structured(call, object);
	return r;
}

void mcp_set(json_t *object, const char *key, json_t *value)
{
	if (value != NULL)
		json_object_set_new(object, key, value);
}

json_t *mcp_program_text(const char *text)
{
	auto_buf struct sbx_buf clean = SBX_BUF_INIT((size_t)1 << 24);

	sbx_text_append_utf8(&clean, text, strlen(text));
	return clean.failed ? NULL : json_stringn(clean.data ? clean.data : "", clean.len);
}

json_t *mcp_time(uint64_t seconds)
{
	time_t t = (time_t)seconds;
	char text[40];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}
