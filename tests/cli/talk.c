/* SPDX-License-Identifier: MIT */
#include "cli/talk.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define SEEN_MAX    ((size_t)4 << 20)
#define QUESTION    "\033[c"

void talk_begin(const struct cli_state *t, struct talk *ret, const char *const *argv,
		const char *const *env)
{
	struct winsize size = {.ws_row = 40, .ws_col = 100, .ws_xpixel = 1000, .ws_ypixel = 800};

	*ret = (struct talk){.seen = calloc(1, SEEN_MAX + 1)};
	assert_non_null(ret->seen);
	ret->pid = forkpty(&ret->master, NULL, NULL, &size);
	assert_true(ret->pid >= 0);
	if (ret->pid > 0)
		return;
	child_environment(t, env);
	if (getenv("TERM") == NULL)
		setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	if (chdir(t->folder) == 0)
		execvp(argv[0], (char *const *)argv);
	_exit(127);
}

void talk_type(const struct talk *talk, const char *text)
{
	assert_int_equal(write(talk->master, text, strlen(text)), strlen(text));
}

/* What comes next; false at the end, which a terminal tells as an error. */
static bool take(struct talk *talk)
{
	struct pollfd pfd = {.fd = talk->master, .events = POLLIN};
	char *at = talk->seen + talk->len;
	ssize_t n;

	if (poll(&pfd, 1, PATIENCE_MS) == 0)
		fail_msg("nothing more came behind: %.2000s", talk->seen + talk->from);
	n = read(talk->master, at, SEEN_MAX - talk->len);
	if (n <= 0)
		return n < 0 && errno == EINTR;
	talk->len += (size_t)n;
	if (talk->answer != NULL && memmem(at, (size_t)n, QUESTION, strlen(QUESTION)) != NULL)
		talk_type(talk, talk->answer);
	return true;
}

const char *talk_until(struct talk *talk, const char *text)
{
	const char *begin = talk->seen + talk->from;
	char *found;

	while ((found = strstr(begin, text)) == NULL) {
		if (!take(talk))
			fail_msg("'%s' did not come, but: %.2000s", text, begin);
	}
	talk->from = (size_t)(found - talk->seen) + strlen(text);
	return begin;
}

void talk_expect(struct talk *talk, const char *text)
{
	talk_until(talk, text);
}

int talk_end(struct talk *talk, const char *text)
{
	int status;

	if (text != NULL)
		talk_type(talk, text);
	while (take(talk))
		;
	close(talk->master);
	assert_int_equal(waitpid(talk->pid, &status, 0), talk->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void talk_done(struct talk *talk)
{
	free(talk->seen);
}
