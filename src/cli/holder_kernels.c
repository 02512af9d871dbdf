/* SPDX-License-Identifier: MIT */
/*
 * Requests about kernels of a session. They do not wait for the session's turn: an interrupt is
 * for the cell that has it.
 */
#include "cli/holder_request.h"

#include "cli/site.h"
#include "cli/trouble.h"

#include <llmsandbox/kernel.h>

static int with_session(struct request *q,
			int (*act)(struct request *, struct sbx_session *, struct sbx_error *),
			struct sbx_error *err)
{
	char id[REQUEST_ID_SIZE];
	struct sbx_session *session;
	int r = request_session_id(q, id, err);

	if (r == 0)
		r = sbx_registry_acquire(q->hall->registry, REQUEST_OWNER, id, &session, err);
	if (r < 0)
		return r;
	r = act(q, session, err);
	sbx_registry_release(q->hall->registry, session);
	return r;
}

static int act_on_kernel(struct request *q, struct sbx_session *session, struct sbx_error *err)
{
	auto_free char *kernel = NULL;
	const char *language = json_string_value(json_object_get(q->body, "language"));
	uint64_t act = request_number(q, "act");
	int r = request_text(q, "kernel", &kernel, err);

	if (r < 0)
		return r;
	if (act >= SITE_ACT_COUNT)
		return cli_fail(err, SBX_E_INVALID, "the request names no act on a kernel");
	return site_kernel_act(session, (enum site_act)act, kernel, language ? language : "",
			       q->cancel, err);
}

static json_t *kernel_json(const struct sbx_kernel_info *k)
{
	return json_pack("{s:o, s:s, s:o, s:b, s:b, s:I, s:I}", "name", paper_text(k->name),
			 "language", k->language, "version", paper_text(k->version), "alive",
			 k->alive, "busy", k->busy, "cells", (json_int_t)k->cells, "starts",
			 (json_int_t)k->starts);
}

static int list_kernels(struct request *q, struct sbx_session *session, struct sbx_error *err)
{
	auto_free struct sbx_kernel_info *list = NULL;
	json_t *array = json_array();
	size_t count = 0;
	int r = sbx_kernel_list(session, &list, &count, err);

	for (size_t i = 0; r == 0 && i < count; i++)
		json_array_append_new(array, kernel_json(&list[i]));
	json_object_set_new(q->answer, "kernels", array);
	return r;
}

static int serve_kernel(struct request *q, struct sbx_error *err)
{
	return with_session(q, act_on_kernel, err);
}

static int serve_kernels(struct request *q, struct sbx_error *err)
{
	return with_session(q, list_kernels, err);
}

const struct request_row kernel_requests[] = {
	{"kernel", serve_kernel}, {"kernels", serve_kernels}, {0}};
