/* SPDX-License-Identifier: MIT */
#include "cli/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

/*
 * A descriptor that we were started without would become the first file or socket that we
 * open. /dev/null for reading takes its place: stdin is at its end, and writes fail.
 */
static void hold_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			_Exit(125);
	}
}

void start_program(void)
{
	hold_standard_fds();
	signal(SIGPIPE, SIG_IGN); /* EPIPE tells the same, and we clean up */
}
