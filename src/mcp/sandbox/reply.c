/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/reply.h"

#include "base/auto.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int mcp_reply(struct mcp_call *call, json_t *object, struct sbx_error *err)
{
	auto_free char *text =
		object ? json_dumps(object, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10)) : NULL;

	if (text == NULL) {
		json_decref(object);
		return sbx_fail_errno(err, ENOMEM, "cannot write the result as JSON");
	}
	mcp_call_add_text(call, text, strlen(text));
	mcp_call_set_structured(call, object);
	return 0;
}

void mcp_set(json_t *object, const char *key, json_t *value)
{
	if (value != NULL)
		json_object_set_new(object, key, value);
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
