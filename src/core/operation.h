/* SPDX-License-Identifier: MIT */
/*
 * What one call of run or exec goes through, for the two kinds of it: programs of their own
 * (run.c) and cells of kernels (cell.c).
 *
 *	r = sbx_operation_begin(&op, err);	takes the session's turn
 *	if (op.result == NULL)
 *		return r;
 *	...
 *	return sbx_operation_finish(&op, r, ret, err);
 */
#pragma once

#include "core/artifacts.h"
#include "core/exchange.h"
#include "core/session.h"
#include "lang/lang.h"

/* Everything that one call works with; s, io and lang are set by the caller, all else is zero. */
struct sbx_operation {
	struct sbx_session *s;
	const struct sbx_io *io;
	struct sbx_exchange x;
	struct sbx_result *result;
	uint64_t deadline_ns; /* of all its steps together */
	uint64_t attempts;    /* on the network, before it */
	struct wire_exit exit;
	char message[256]; /* in place of the result's usual one; "": none */
	/* of code: */
	const struct sbx_lang *lang;
	struct sbx_lang_source source;
	struct sbx_lang_values values;
	char *src, *build;
	const char *set; /* of libraries that it uses, or NULL */
	/* where artifacts are wanted: */
	struct sbx_artifact_folder folder;
	struct sbx_artifact_env artifacts;
	struct sbx_collection collection;
};

int sbx_operation_begin(struct sbx_operation *op, struct sbx_error *err);

/* Hand the result over, or free it; the session is ready for the next operation. */
int sbx_operation_finish(struct sbx_operation *op, int r, struct sbx_result **ret,
			 struct sbx_error *err);

/* A clock for its phases; it stands still while the sandbox itself is made. */
uint64_t sbx_operation_clock_ns(const struct sbx_operation *op);

/* Put the caller's files where they belong. */
int sbx_operation_put_files(struct sbx_operation *op, struct sbx_error *err);

/* Before its beginning: have the libraries that it needs; op->set says where. */
int sbx_operation_use_libraries(struct sbx_operation *op, const struct sbx_run *run,
				struct sbx_error *err);

/* What templates may say of the session: its folder, limits and proxy; all else is NULL. */
void sbx_operation_set_limits(const struct sbx_session *session, struct sbx_lang_values *ret);

int sbx_check_code(const struct sbx_run *run, struct sbx_error *err);

/* The agent's "no such program" says what; we know which package or image brings it. */
int sbx_explain_missing_tool(const struct sbx_session *session, const struct sbx_lang *lang, int r,
			     struct sbx_error *err);
