/* SPDX-License-Identifier: MIT */
#include "cli/kept.h"

#include "cli/trouble.h"

#include <stdio.h>
#include <time.h>

void kept_print_json(json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(value);
}

void kept_print_size(uint64_t bytes)
{
	static const char units[] = "BKMGT";
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= 1000 && unit < 4) {
		size /= 1024;
		unit++;
	}
	printf(unit > 0 && size < 10 ? " %6.1f%c " : " %6.0f%c ", size, units[unit]);
}

const char *kept_day(uint64_t seconds, char ret[KEPT_DAY_MAX])
{
	time_t time = (time_t)seconds;
	struct tm tm;

	ret[0] = '\0';
	if (localtime_r(&time, &tm) != NULL)
		strftime(ret, KEPT_DAY_MAX, "%Y-%m-%d", &tm);
	return ret;
}

int kept_finish(void)
{
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}
