/* SPDX-License-Identifier: MIT */
/* One line on stderr that starts with the program's name, and the exit statuses. */
#pragma once

enum { STATUS_OK = 0, STATUS_USAGE = 2, STATUS_TIMEOUT = 124, STATUS_FAILURE = 125 };

void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
