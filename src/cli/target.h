/* SPDX-License-Identifier: MIT */
/*
 * Where a job runs: here, in a sandbox that is made for it, or in a session that our holder
 * keeps. Both give the same outcome, so nothing else of the command line needs to know.
 */
#pragma once

#include "cli/note.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/source.h"

#include <llmsandbox/session.h>

/* What is to run. */
struct job {
	const struct source *source; /* code, or NULL: */
	char **argv;		     /* a command */
	const char *language;	     /* of what will run, or "none" */
	bool use_stdin;		     /* our stdin is the program's */
	uint64_t timeout_ms;	     /* 0: what the sandbox has */
	char **libraries;	     /* that the code needs, NULL-terminated, or NULL */
	const char *kernel;	     /* whose cell the code is, or NULL */
	bool artifacts;		     /* collect what it shows and makes */
	struct sbx_session *session; /* that is open already, to run here, or NULL */
	char **env; /* NULL-terminated; of a run in a session, else the sandbox has it; owned */
};

/* What came of it. */
struct outcome {
	const struct sbx_result *result;
	struct sbx_session *session; /* it ran in, where that is ours, until `done` */
	char note[NOTE_SIZE]; /* what the network refused, or "" */
	char *json;	/* the result, where the settings want JSON */
	const char *told; /* in its place, where that says more; or NULL */
	int killed_by;	/* the signal of ours that ended it, or 0 */
	void *internal; /* of the target */
};

struct target {
	/* Output goes to `output` as it comes where the settings say so. Sets killed_by always. */
	int (*run)(const struct settings *s, const struct job *job, struct output *output,
		   struct outcome *ret, struct sbx_error *err);
	void (*done)(struct outcome *outcome); /* when all has been shown */
};

extern const struct target target_here, target_session;

/* What the holder answered about a program of a session, to be shown and freed as the others. */
struct answer;
int target_session_unpack(const struct settings *s, const struct answer *answer,
			  struct outcome *ret, struct sbx_error *err);
void target_session_done(struct outcome *outcome);
