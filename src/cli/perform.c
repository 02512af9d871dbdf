/* SPDX-License-Identifier: MIT */
#include "perform.h"

#include "complain.h"
#include "show.h"
#include "signals.h"

#include <llmsandbox/language.h>

#include <stdio.h>
#include <stdlib.h>

int perform_end(struct performance *p, int status)
{
	sbx_spec_free(p->spec);
	p->spec = NULL;
	return status;
}

static int fail(const struct sbx_error *err)
{
	complain("%s", err->msg);
	return STATUS_FAILURE;
}

static int print_plan(struct performance *p)
{
	struct sbx_error err;
	char *text;

	if (sbx_spec_print_plan(p->spec, &text, &err) < 0)
		return fail(&err);
	fputs(text, stdout);
	free(text);
	return STATUS_OK;
}

static int do_it(struct performance *p, struct sbx_session *session, struct sbx_result **ret,
		 struct sbx_error *err)
{
	if (p->run.language != NULL)
		return sbx_session_run(session, &p->run, ret, err);
	return sbx_session_exec(session, &p->command, ret, err);
}

static int in_session(struct performance *p, struct sbx_cancel *cancel)
{
	struct sbx_io *io = p->run.language ? &p->run.io : &p->command.io;
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_error err;
	int status;

	io->cancel = cancel;
	show_prepare(io, p->options);
	if (sbx_session_open(p->spec, &session, &err) < 0)
		return fail(&err);
	if (do_it(p, session, &result, &err) < 0)
		status = fail(&err);
	else
		status = show_result(result, p->options);
	sbx_session_close(session);
	return status;
}

int perform(struct performance *p)
{
	struct sbx_cancel *cancel;
	struct sbx_error err;
	int status;

	if (p->options->value[OPT_DRY_RUN] != NULL)
		return perform_end(p, print_plan(p));
	/* A cache that cannot be made costs time and nothing else. */
	if (p->run.language != NULL)
		sbx_language_prepare(p->run.language, &err);
	if (sbx_cancel_new(&cancel, &err) < 0)
		return perform_end(p, fail(&err));
	signals_forward_to(cancel);
	status = in_session(p, cancel);
	sbx_cancel_free(cancel);
	return perform_end(p, status);
}
