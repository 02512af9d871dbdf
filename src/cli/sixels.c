/* SPDX-License-Identifier: MIT */
#include "cli/sixels.h"

#include "cli/beside.h"
#include "cli/files.h"
#include "cli/paper.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DECODER	   "llm-sandbox-sixel"
#define WIDTH	   800u
#define SIXELS_MAX ((size_t)64 << 20)

/* ESC P begins other things too: with another letter than q it asks, or sets keys. */
static size_t head_length(const char *text, size_t len)
{
	size_t n = 2;

	while (n < len && ((text[n] >= '0' && text[n] <= '9') || text[n] == ';'))
		n++;
	return n < len && text[n] == 'q' ? n + 1 : 0;
}

bool sixels_are_sound(const char *text, size_t len)
{
	if (len < 5 || memcmp(text, "\033P", 2) != 0 || memcmp(text + len - 2, "\033\\", 2) != 0 ||
	    head_length(text, len) == 0)
		return false;
	for (size_t i = 2; i < len - 2; i++) {
		if ((text[i] < 0x20 || text[i] > 0x7e) && text[i] != '\n' && text[i] != '\r')
			return false;
	}
	return true;
}

/* Nothing is inherited but the three descriptors. */
static void child_exec(int in, int out, unsigned int width)
{
	char path[PATH_MAX], number[16], *argv[] = {(char *)DECODER, number, NULL}, *env[] = {NULL};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	snprintf(number, sizeof(number), "%u", width);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (beside_find(DECODER, path))
		execve(path, argv, env);
	execvpe(DECODER, argv, env);
	_exit(127);
}

static int fail_decoder(int status, struct sbx_error *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return cli_fail(err, SBX_E_NOT_FOUND,
				"'" DECODER "', which makes sixels, is not there; it belongs "
				"beside llm-sandbox or in PATH");
	return cli_fail(err, SBX_E_INVALID, "it cannot be decoded");
}

static int collect(int fd, pid_t pid, char **ret, size_t *ret_len, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int status = 0, r = file_read(fd, DECODER, SIXELS_MAX, &text, &len, err);

	close(fd); /* one that writes more ends by SIGPIPE */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	if (status != 0)
		return fail_decoder(status, err);
	if (!sixels_are_sound(text, len))
		return cli_fail(err, SBX_E_PROTOCOL,
				"'" DECODER "' answered with what are no sixels");
	*ret = text;
	*ret_len = len;
	text = NULL;
	return 0;
}

int sixels_make(const void *png, size_t len, unsigned int width, char **ret, size_t *ret_len,
		struct sbx_error *err)
{
	int in = paper_fill(png, len), fds[2];
	pid_t pid;

	if (in < 0 || pipe2(fds, O_CLOEXEC) < 0) {
		if (in >= 0)
			close(in);
		return cli_fail(err, SBX_E_SYSTEM, "cannot start '" DECODER "': %s",
				strerror(in < 0 ? -in : errno));
	}
	lseek(in, 0, SEEK_SET);
	pid = fork();
	if (pid == 0)
		child_exec(in, fds[1], width ? width : WIDTH);
	close(in);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return cli_fail(err, SBX_E_SYSTEM, "cannot start '" DECODER "': %s",
				strerror(errno));
	}
	return collect(fds[0], pid, ret, ret_len, err);
}
