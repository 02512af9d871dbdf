/* SPDX-License-Identifier: MIT */
#include "cli/show.h"

#include "cli/files.h"
#include "cli/picture.h"
#include "cli/sixels.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX  1024
#define PATIENCE_MS 1000
#define KITTY_CHUNK 4096u /* of base64: https://sw.kovidgoyal.net/kitty/graphics-protocol/ */

/* ---- asking: kitty answers the first, every terminal the second, after it ---- */

#define QUESTION "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c"

/* ESC [ ? numbers c */
static const char *find_attributes(const char *answer, size_t len, size_t *ret_len)
{
	for (size_t i = 0; i + 3 < len; i++) {
		size_t n = 0;

		if (memcmp(answer + i, "\033[?", 3) != 0)
			continue;
		while (i + 3 + n < len && answer[i + 3 + n] != '\0' &&
		       strchr("0123456789;", answer[i + 3 + n]) != NULL)
			n++;
		if (i + 3 + n < len && answer[i + 3 + n] == 'c') {
			*ret_len = n;
			return answer + i + 3;
		}
	}
	return NULL;
}

bool screen_answer_is_whole(const char *answer, size_t len)
{
	size_t ignored;

	return find_attributes(answer, len, &ignored) != NULL;
}

/* The first number is the terminal's kind; 4 among the others is sixel. */
static bool has_sixel(const char *numbers, size_t len)
{
	const char *end = numbers + len;

	for (const char *p = memchr(numbers, ';', len); p != NULL;
	     p = memchr(p + 1, ';', (size_t)(end - p - 1))) {
		if (end - p >= 2 && p[1] == '4' && (end - p == 2 || p[2] == ';'))
			return true;
	}
	return false;
}

enum screen_way screen_answer_way(const char *answer, size_t len)
{
	size_t numbers_len;
	const char *numbers = find_attributes(answer, len, &numbers_len);

	if (memmem(answer, len, "\033_Gi=31;OK", 10) != NULL)
		return SCREEN_KITTY;
	return numbers && has_sixel(numbers, numbers_len) ? SCREEN_SIXEL : SCREEN_NONE;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static size_t read_answer(int fd, char answer[ANSWER_MAX])
{
	int64_t end = now_ms() + PATIENCE_MS, left;
	size_t len = 0;

	while (len < ANSWER_MAX && !screen_answer_is_whole(answer, len) &&
	       (left = end - now_ms()) > 0) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&pfd, 1, (int)left) <= 0)
			continue;
		n = read(fd, answer + len, ANSWER_MAX - len);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	return len;
}

/* Without echo, and byte by byte; the terminal is as before when this returns. */
static enum screen_way ask(int fd)
{
	struct termios before, raw;
	char answer[ANSWER_MAX];
	size_t len = 0;

	if (tcgetattr(fd, &before) < 0)
		return SCREEN_NONE;
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(fd, TCSANOW, &raw) < 0)
		return SCREEN_NONE;
	if (file_write(fd, QUESTION, sizeof(QUESTION) - 1) == 0)
		len = read_answer(fd, answer);
	tcsetattr(fd, TCSANOW, &before);
	return screen_answer_way(answer, len);
}

/* A terminal of iTerm2's kind says so in our environment; within tmux that is inherited. */
static bool is_iterm(void)
{
	const char *program = getenv("TERM_PROGRAM"), *remote = getenv("LC_TERMINAL");

	if (getenv("TMUX") != NULL)
		return false;
	return (program != NULL &&
		(strcmp(program, "iTerm.app") == 0 || strcmp(program, "WezTerm") == 0)) ||
	       (remote != NULL && strcmp(remote, "iTerm2") == 0);
}

/* To change or read the terminal of somebody else's foreground would stop us: tty_ioctl(4). */
static bool is_ours(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

/* One that shows the question instead of answering it. */
static bool is_simple(void)
{
	const char *term = getenv("TERM");

	return term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0 ||
	       strcmp(term, "linux") == 0;
}

static int open_terminal(void)
{
	char name[64];

	if (ttyname_r(STDOUT_FILENO, name, sizeof(name)) != 0)
		return -1;
	return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void screen_look(struct screen *ret)
{
	struct winsize size = {0};
	int fd = open_terminal();

	*ret = (struct screen){0};
	if (fd < 0)
		return;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0) {
		ret->columns = size.ws_col;
		ret->width = size.ws_xpixel;
	}
	if (is_iterm())
		ret->way = SCREEN_ITERM;
	else if (!is_simple() && is_ours(fd))
		ret->way = ask(fd);
	close(fd);
}

/* ---- showing ---- */

static char *base64(const unsigned char *p, size_t len, size_t *ret_len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((len + 2) / 3 * 4 + 1), *end = text;

	for (size_t i = 0; text != NULL && i < len; i += 3) {
		uint32_t three = (uint32_t)p[i] << 16;

		three |= i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0;
		three |= i + 2 < len ? p[i + 2] : 0;
		*end++ = digits[three >> 18];
		*end++ = digits[three >> 12 & 63];
		*end++ = i + 1 < len ? digits[three >> 6 & 63] : '=';
		*end++ = i + 2 < len ? digits[three & 63] : '=';
	}
	*ret_len = text ? (size_t)(end - text) : 0;
	return text;
}

static int fail_write(int error, struct sbx_error *err)
{
	return cli_fail(err, SBX_E_SYSTEM, "cannot write to the terminal: %s", strerror(error));
}

/* A picture wider than the terminal is made to fit, where the terminal says how wide it is. */
static void kitty_head(const struct screen *screen, const struct picture *picture, char ret[64])
{
	if (screen->width > 0 && screen->columns > 0 && picture->width > screen->width)
		snprintf(ret, 64, "a=T,f=100,q=2,c=%u,", screen->columns);
	else
		snprintf(ret, 64, "a=T,f=100,q=2,");
}

static int show_kitty(const struct screen *screen, const struct picture *picture, const char *text,
		      size_t len)
{
	char head[64], start[128];
	int r = 0;

	kitty_head(screen, picture, head);
	for (size_t at = 0; r == 0 && at < len; at += KITTY_CHUNK) {
		size_t n = len - at < KITTY_CHUNK ? len - at : KITTY_CHUNK;

		snprintf(start, sizeof(start), "\033_G%sm=%d;", at == 0 ? head : "", at + n < len);
		r = file_write(STDOUT_FILENO, start, strlen(start));
		if (r == 0)
			r = file_write(STDOUT_FILENO, text + at, n);
		if (r == 0)
			r = file_write(STDOUT_FILENO, "\033\\", 2);
	}
	return r == 0 ? file_write(STDOUT_FILENO, "\n", 1) : r;
}

/* https://iterm2.com/documentation-images.html */
static int show_iterm(const char *text, size_t len, size_t size)
{
	char start[96];
	int r;

	snprintf(start, sizeof(start), "\033]1337;File=inline=1;size=%zu:", size);
	r = file_write(STDOUT_FILENO, start, strlen(start));
	if (r == 0)
		r = file_write(STDOUT_FILENO, text, len);
	return r == 0 ? file_write(STDOUT_FILENO, "\a\n", 2) : r;
}

static int show_base64(const struct screen *screen, const struct picture *picture, const void *data,
		       size_t len, struct sbx_error *err)
{
	size_t text_len;
	auto_free char *text = base64(data, len, &text_len);
	int r;

	if (text == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	r = screen->way == SCREEN_KITTY ? show_kitty(screen, picture, text, text_len)
					: show_iterm(text, text_len, len);
	return r < 0 ? fail_write(-r, err) : 0;
}

static int show_sixel(const struct screen *screen, const void *data, size_t len,
		      struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t text_len;
	int r = sixels_make(data, len, screen->width, &text, &text_len, err);

	if (r < 0)
		return r;
	r = file_write(STDOUT_FILENO, text, text_len);
	if (r == 0)
		r = file_write(STDOUT_FILENO, "\n", 1);
	return r < 0 ? fail_write(-r, err) : 0;
}

int screen_show(const struct screen *screen, const void *data, size_t len, struct sbx_error *err)
{
	struct picture picture = picture_look(data, len);

	if (picture.kind == PICTURE_NONE)
		return cli_fail(err, SBX_E_INVALID,
				"it is no PNG or JPEG of at most %u million pixels",
				PICTURE_PIXELS_MAX / 1000000);
	if (screen->way != SCREEN_ITERM && picture.kind != PICTURE_PNG)
		return cli_fail(err, SBX_E_INVALID, "this terminal shows PNG alone");
	return screen->way == SCREEN_SIXEL ? show_sixel(screen, data, len, err)
					   : show_base64(screen, &picture, data, len, err);
}
