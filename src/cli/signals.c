/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const struct reach *volatile target;
static volatile sig_atomic_t interrupts, killed_by;
static const char *volatile late_line;

static void interrupt_cancel(void *userdata)
{
	sbx_cancel_interrupt(userdata);
}

static void kill_cancel(void *userdata)
{
	sbx_cancel_kill(userdata);
}

struct reach reach_cancel(struct sbx_cancel *cancel)
{
	return (struct reach){interrupt_cancel, kill_cancel, cancel};
}

static void handle(int number)
{
	const struct reach *reach = target;

	if (reach == NULL)
		return;
	if (number == SIGINT && ++interrupts == 1) {
		reach->interrupt(reach->userdata);
		return;
	}
	killed_by = number;
	reach->kill(reach->userdata);
}

/* One that we were started to ignore, as nohup(1) does with SIGHUP, stays ignored. */
static void catch_signal(int number)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, old;

	if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void signals_connect(const struct reach *reach)
{
	interrupts = 0;
	killed_by = 0;
	target = reach;
	catch_signal(SIGINT);
	catch_signal(SIGTERM);
	catch_signal(SIGHUP);
}

int signals_disconnect(void)
{
	target = NULL;
	return killed_by;
}

/* ---- a word when something takes long ---- */

static void say(int number)
{
	const char *line = late_line;
	ssize_t n;

	(void)number;
	if (line != NULL) {
		n = write(STDERR_FILENO, line, strlen(line));
		(void)n;
	}
}

void signals_say_later(const char *line)
{
	struct sigaction action = {.sa_handler = say, .sa_flags = SA_RESTART};
	struct itimerval timer = {.it_value = {.tv_usec = 400000}};

	if (!isatty(STDERR_FILENO))
		return;
	late_line = line;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

void signals_be_quiet(void)
{
	struct itimerval off = {0};

	if (late_line == NULL)
		return;
	setitimer(ITIMER_REAL, &off, NULL);
	late_line = NULL;
}
