/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include "cli/terminal.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <unistd.h>

bool progress_is_wanted(void)
{
	return isatty(STDERR_FILENO);
}

void progress_print(const char *text, size_t len, void *userdata)
{
	struct terminal terminal = {0};
	auto_free char *safe = NULL;
	auto_free char *rest = NULL;
	size_t safe_len, rest_len;

	(void)userdata;
	/* Whole lines come, so nothing has to wait for the next piece. */
	if (terminal_filter(&terminal, text, len, &safe, &safe_len))
		fwrite(safe, 1, safe_len, stderr);
	if (terminal_finish(&terminal, &rest, &rest_len))
		fwrite(rest, 1, rest_len, stderr);
}
