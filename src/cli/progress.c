/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include "cli/terminal.h"

#include <stdio.h>
#include <unistd.h>

bool progress_is_wanted(void)
{
	return isatty(STDERR_FILENO);
}

void progress_print(const char *text, size_t len, void *userdata)
{
	(void)userdata;
	/* Whole lines come, so nothing has to wait for the next piece. */
	terminal_print(text, len, stderr);
}
