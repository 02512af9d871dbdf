/* SPDX-License-Identifier: MIT */
/*
 * A conversation with the program in a terminal of its own, as somebody who types has it.
 *
 *	struct talk talk;
 *	talk_begin(t, &talk, (const char *[]){"llm-sandbox", "repl", NULL}, NULL);
 *	talk_expect(&talk, "python> ");
 *	talk_type(&talk, "1 + 1\r");
 *	talk_expect(&talk, "2");
 *	assert_int_equal(talk_end(&talk, "\004"), 0);
 */
#pragma once

#include "cli/driver.h"

#include <sys/types.h>

struct talk {
	pid_t pid;
	int master;
	const char *answer; /* to the question what the terminal is, or NULL: it is silent */
	char *seen;	    /* all that came */
	size_t len, from;   /* what is expected comes behind `from` */
};

/* argv[0] is looked up in PATH; env is added to that of all tests. */
void talk_begin(const struct cli_state *t, struct talk *ret, const char *const *argv,
		const char *const *env);

/* Wait until this was printed behind what was expected last; fails after a while. */
void talk_expect(struct talk *talk, const char *text);

/* The same, and give what came before it since the last time; valid until the next call. */
const char *talk_until(struct talk *talk, const char *text);

void talk_type(const struct talk *talk, const char *text);

/* Type the last keys (or NULL), read to the end, and return the exit status. */
int talk_end(struct talk *talk, const char *text);

/* After the end, of what was seen. */
void talk_done(struct talk *talk);
