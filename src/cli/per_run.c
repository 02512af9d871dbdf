/* SPDX-License-Identifier: MIT */
#include "cli/per_run.h"

#include "cli/paper.h"
#include "cli/trouble.h"
#include "cli/value.h"

#include <stdio.h>
#include <string.h>

static int refuse_fixed(const struct invocation *inv, struct sbx_error *err)
{
	for (size_t i = 0; i < inv->given_count; i++) {
		const struct option_row *o = inv->given[i].option;

		/* The process that holds the session installs, and keeps its own sets. */
		if (strcmp(option_name(o), "offline") == 0 ||
		    strcmp(option_name(o), "library-cache") == 0)
			return cli_fail(err, SBX_E_INVALID, "--%s is for runs without --session",
					option_name(o));
		if (!o->per_run && (o->commands & FOR_START) && o->group != GROUP_OUTPUT &&
		    o->group != GROUP_CODE)
			return cli_fail(err, SBX_E_INVALID,
					"--%s cannot change in a session; "
					"give it to 'session start'",
					option_name(o));
	}
	return 0;
}

static int add_env(struct job *job, size_t n, const char *value, struct sbx_error *err)
{
	return settings_assignment(value, "--env", &job->env[n], err);
}

int per_run_read(const struct invocation *inv, const struct settings *s, struct job *job,
		 struct sbx_error *err)
{
	int r = s->session ? refuse_fixed(inv, err) : 0;
	size_t n = 0;

	if (r < 0)
		return r;
	job->env = calloc(inv->given_count + 1, sizeof(*job->env));
	if (job->env == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	for (size_t i = 0; r == 0 && i < inv->given_count; i++) {
		const struct given *g = &inv->given[i];

		if (g->option->kind == OPTION_LIMIT && g->option->limit == SBX_LIMIT_WALL_MS)
			r = value_parse_limit(SBX_LIMIT_WALL_MS, g->value, &job->timeout_ms, err);
		else if (s->session != NULL && g->option->set == settings_add_env)
			r = add_env(job, n++, g->value, err);
	}
	return r;
}

void per_run_done(struct job *job)
{
	paper_free_strings(job->env);
}
