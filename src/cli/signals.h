/* SPDX-License-Identifier: MIT */
/*
 * What our signals mean to the program in the sandbox: SIGINT interrupts it and, a second
 * time, kills it; SIGTERM and SIGHUP kill it. Signal handlers have no argument, so this is the
 * one state of the process that is global; it knows one run at a time.
 */
#pragma once

#include <llmsandbox/session.h>

/* How to reach a run; both are called in signal handlers and so async-signal-safe. */
struct reach {
	void (*interrupt)(void *userdata);
	void (*kill)(void *userdata);
	void *userdata;
};

/* A run of this process. */
struct reach reach_cancel(struct sbx_cancel *cancel);

void signals_connect(const struct reach *reach);

/* Before what it reaches goes away. The signal that killed the run, or 0. */
int signals_disconnect(void);

/* On a terminal, say this line on stderr unless signals_be_quiet() comes before long. */
void signals_say_later(const char *line);
void signals_be_quiet(void);
