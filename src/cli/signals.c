/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static struct sbx_cancel *target;
static volatile sig_atomic_t interrupts;

static void on_signal(int signo)
{
	if (signo == SIGINT && interrupts++ == 0)
		sbx_cancel_interrupt(target);
	else
		sbx_cancel_kill(target);
}

void signals_forward_to(struct sbx_cancel *cancel)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	target = cancel;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}
