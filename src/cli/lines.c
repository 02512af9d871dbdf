/* SPDX-License-Identifier: MIT */
#include "cli/lines.h"

#include "cli/files.h"
#include "cli/terminal.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#define PASTE_MAX	  (1u << 20) /* characters */
#define CTRL_D		  4
#define HISTORY_MAX	  1000 /* lines that are remembered */
#define HISTORY_BYTES_MAX ((size_t)64 << 20) /* before it is shortened */
#define LINE_MAX_BYTES	  4096 /* of one in the history */

struct lines {
	bool typed;
	bool marks;	/* the terminal was asked to mark what is pasted */
	EditLine *edit; /* NULL unless typed */
	History *history;
	char path[PATH_MAX]; /* of the history, or "" */
	char prompt[128];
	mbstate_t state; /* of what the terminal sends */
	wchar_t *pasted; /* lines that came at once, behind the one that is edited; or NULL */
};

/* Signal handlers have no argument. What they say is looked at before the next key is read. */
static volatile sig_atomic_t interrupted, ended_by, resized, resumed;

/* ---- the history's file ---- */

/* $XDG_STATE_HOME/llm-sandbox, else ~/.local/state/llm-sandbox: made for the user alone. */
static bool state_folder(char ret[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (state != NULL && state[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/llm-sandbox", state);
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.local/state/llm-sandbox", home);
	if (n < 0 || n >= PATH_MAX)
		return false;
	for (char *slash = strchr(ret + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(ret, 0700);
		*slash = '/';
	}
	return mkdir(ret, 0700) == 0 || errno == EEXIST;
}

static void choose_path(struct lines *l, const char *topic)
{
	char folder[PATH_MAX];

	if (!state_folder(folder) ||
	    snprintf(l->path, sizeof(l->path), "%s/repl-%s.history", folder, topic) >= PATH_MAX)
		l->path[0] = '\0';
}

/* Ours, whatever umask(2) is, and no link to something else. */
static int open_history(const struct lines *l, int flags)
{
	int fd = l->path[0] ? open(l->path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;

	if (fd >= 0 && fchmod(fd, 0600) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void enter(struct lines *l, const char *line)
{
	HistEvent event;

	history(l->history, &event, H_ENTER, line);
}

/* The newest lines of a file that has grown, in its place. */
static void shorten(const struct lines *l, const char *kept)
{
	char temporary[PATH_MAX + 8];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.new", l->path);
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (file_write(fd, kept, strlen(kept)) < 0 || rename(temporary, l->path) < 0)
		unlink(temporary);
	close(fd);
}

/* Where the last HISTORY_MAX lines begin. */
static char *last_lines(char *text, size_t len)
{
	char *p = text + len;

	for (int n = 0; p > text; p--) {
		if (p[-1] == '\n' && n++ == HISTORY_MAX)
			break;
	}
	return p;
}

static void load(struct lines *l)
{
	auto_free char *text = NULL;
	struct sbx_error ignored;
	char *kept, *line, *rest;
	size_t len;
	int fd = open_history(l, O_RDONLY);

	if (fd < 0)
		return;
	if (file_read(fd, l->path, HISTORY_BYTES_MAX, &text, &len, &ignored) == 0) {
		kept = last_lines(text, strlen(text));
		if (kept - text > (long)len / 2)
			shorten(l, kept);
		for (rest = kept; (line = strsep(&rest, "\n")) != NULL;) {
			if (line[0] != '\0')
				enter(l, line);
		}
	}
	close(fd);
}

static void remember_line(struct lines *l, const char *line, size_t len)
{
	char text[LINE_MAX_BYTES + 2];
	int fd;

	if (len == 0 || len > LINE_MAX_BYTES)
		return;
	memcpy(text, line, len);
	text[len] = '\0';
	enter(l, text);
	fd = open_history(l, O_WRONLY | O_APPEND);
	if (fd < 0)
		return;
	text[len] = '\n';
	file_write(fd, text, len + 1); /* a history that cannot be kept is no matter */
	close(fd);
}

void lines_remember(struct lines *l, const char *lines)
{
	while (l->edit != NULL && *lines != '\0') {
		size_t len = strcspn(lines, "\n");

		remember_line(l, lines, len);
		lines += len + (lines[len] == '\n');
	}
}

/* ---- keys ---- */

static void handle(int number)
{
	if (number == SIGINT)
		interrupted = 1;
	else if (number == SIGWINCH)
		resized = 1;
	else if (number == SIGCONT)
		resumed = 1;
	else
		ended_by = number;
}

/* They are blocked but while we wait, so none comes between a look at the flags and the wait. */
static void catch_signals(sigset_t *ret_before)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
	struct sigaction action = {.sa_handler = handle}, old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(&set, numbers[i]);
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
	interrupted = ended_by = 0;
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

static void look_at_terminal(EditLine *edit)
{
	if (resized)
		el_resize(edit);
	if (resumed) { /* the shell has set the terminal as it likes it */
		el_set(edit, EL_PREP_TERM, 1);
		el_set(edit, EL_REFRESH);
	}
	resized = resumed = 0;
}

/* A byte of stdin: 1, 0 at its end, -1 when a signal says that this line is over. */
static int read_byte(EditLine *edit, char *ret)
{
	struct pollfd pfd = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t none;
	ssize_t n;

	sigemptyset(&none);
	for (;;) {
		look_at_terminal(edit);
		if (interrupted || ended_by)
			return -1;
		if (ppoll(&pfd, 1, NULL, &none) < 0)
			continue;
		n = read(STDIN_FILENO, ret, 1);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* Ctrl-D that was typed while a cell ran is a NUL when the terminal is set to keys.
		 */
		if (n > 0 && *ret == '\0')
			*ret = CTRL_D;
		return n > 0 ? 1 : 0;
	}
}

static int read_key(EditLine *edit, wchar_t *ret)
{
	struct lines *l;
	char byte;
	int r;

	el_get(edit, EL_CLIENTDATA, &l);
	while ((r = read_byte(edit, &byte)) > 0) {
		size_t n = mbrtowc(ret, &byte, 1, &l->state);

		if (n == (size_t)-1) /* no character of this locale: as if it was not typed */
			memset(&l->state, 0, sizeof(l->state));
		else if (n != (size_t)-2)
			return 1;
	}
	return r;
}

/* ---- the editor ---- */

static char *give_prompt(EditLine *edit)
{
	struct lines *l;

	el_get(edit, EL_CLIENTDATA, &l);
	return l->prompt;
}

/* Tab indents; there is nothing to complete from. */
static unsigned char indent(EditLine *edit, int key)
{
	(void)key;
	return el_insertstr(edit, "    ") == 0 ? CC_REFRESH : CC_ERROR;
}

/* ---- text that is pasted: terminals mark it, and its empty lines mean themselves ---- */

#define PASTE_ON  "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define PASTE_END L"\033[201~"

/* What comes up to the mark behind it, without that; NULL: something broke it off. */
static wchar_t *read_paste(EditLine *edit, size_t *ret_len)
{
	const size_t end_len = wcslen(PASTE_END);
	size_t len = 0, capacity = 0;
	wchar_t *text = NULL, key;

	while (len < PASTE_MAX && el_wgetc(edit, &key) == 1) {
		if (len + 1 >= capacity) {
			wchar_t *grown = realloc(text, (capacity += 4096) * sizeof(*grown));

			if (grown == NULL)
				break;
			text = grown;
		}
		text[len++] = key == L'\r' ? L'\n' : key;
		if (len >= end_len && wmemcmp(text + len - end_len, PASTE_END, end_len) == 0) {
			*ret_len = len - end_len;
			text[*ret_len] = L'\0';
			return text;
		}
	}
	free(text);
	return NULL;
}

/* As the Enter key does, wherever the cursor is. */
static unsigned char end_line(EditLine *edit)
{
	const LineInfoW *line = el_wline(edit);

	el_cursor(edit, (int)(line->lastchar - line->cursor));
	return el_winsertstr(edit, L"\n") == 0 ? CC_NEWLINE : CC_ERROR;
}

/* One line is as if it was typed; of several, the last stays to be edited if it has no end. */
static unsigned char paste(EditLine *edit, int key)
{
	size_t len = 0;
	wchar_t *text = read_paste(edit, &len), *last;
	struct lines *l;

	(void)key;
	if (text == NULL)
		return CC_ERROR;
	last = wcsrchr(text, L'\n');
	if (last == NULL) {
		el_winsertstr(edit, text);
		free(text);
		return CC_REFRESH;
	}
	el_wpush(edit, last + 1);
	last[1] = L'\0';
	el_get(edit, EL_CLIENTDATA, &l);
	free(l->pasted);
	l->pasted = text;
	return end_line(edit);
}

/* The line that was edited, and what was pasted into it. */
static char *join_paste(struct lines *l, const char *line)
{
	size_t size = wcslen(l->pasted) * MB_CUR_MAX + 1;
	auto_free char *pasted = malloc(size);
	char *joined = NULL;

	if (pasted == NULL || wcstombs(pasted, l->pasted, size) == (size_t)-1)
		return NULL;
	if (asprintf(&joined, "%.*s%s", (int)strcspn(line, "\n"), line, pasted) < 0)
		return NULL;
	terminal_print(pasted, strlen(pasted), stdout); /* it may come from anywhere */
	fflush(stdout);
	return joined;
}

/* Keys that terminals send and terminfo(5) often does not know. */
static void bind_keys(EditLine *edit)
{
	static const char *const keys[][2] = {
		{"\\e[H", "ed-move-to-beg"},	   {"\\e[F", "ed-move-to-end"},
		{"\\eOH", "ed-move-to-beg"},	   {"\\eOF", "ed-move-to-end"},
		{"\\e[1~", "ed-move-to-beg"},	   {"\\e[4~", "ed-move-to-end"},
		{"\\e[3~", "ed-delete-next-char"}, {"\\e[1;5C", "em-next-word"},
		{"\\e[1;5D", "ed-prev-word"},	   {"^R", "em-inc-search-prev"},
	};

	/* In wide characters: of others it makes copies that nobody frees. */
	el_wset(edit, EL_ADDFN, L"indent", L"insert four blanks", indent);
	el_wset(edit, EL_ADDFN, L"paste", L"take what is pasted", paste);
	el_set(edit, EL_BIND, "^I", "indent", NULL);
	el_set(edit, EL_BIND, "\\e[200~", "paste", NULL);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		el_set(edit, EL_BIND, keys[i][0], keys[i][1], NULL);
}

static bool open_edit(struct lines *l)
{
	HistEvent event;

	if (setlocale(LC_CTYPE, "") == NULL || MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
	l->history = history_init();
	l->edit = el_init("llm-sandbox", stdin, stdout, stderr);
	if (l->history == NULL || l->edit == NULL)
		return false;
	history(l->history, &event, H_SETSIZE, HISTORY_MAX);
	history(l->history, &event, H_SETUNIQUE, 1);
	el_set(l->edit, EL_CLIENTDATA, l);
	el_set(l->edit, EL_PROMPT_ESC, give_prompt, '\1');
	el_set(l->edit, EL_EDITOR, "emacs");
	el_set(l->edit, EL_HIST, history, l->history);
	el_set(l->edit, EL_GETCFN, read_key);
	bind_keys(l->edit);
	el_source(l->edit, NULL); /* ~/.editrc: what the user wants other than that */
	return true;
}

int lines_open(const char *topic, struct lines **ret, struct sbx_error *err)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	l->typed = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (l->typed && !open_edit(l)) {
		lines_close(l);
		return cli_fail(err, SBX_E_SYSTEM, "cannot set the terminal up for typing");
	}
	if (l->typed) {
		l->marks = getenv("TERM") != NULL && strcmp(getenv("TERM"), "dumb") != 0;
		printf(l->marks ? PASTE_ON : "");
		choose_path(l, topic);
		load(l);
	}
	*ret = l;
	return 0;
}

bool lines_are_typed(const struct lines *lines)
{
	return lines->typed;
}

void lines_close(struct lines *l)
{
	if (l == NULL)
		return;
	if (l->edit != NULL)
		el_end(l->edit);
	if (l->marks)
		printf(PASTE_OFF);
	fflush(stdout);
	free(l->pasted);
	if (l->history != NULL)
		history_end(l->history);
	free(l);
}

/* ---- reading ---- */

static enum line_end read_typed(struct lines *l, const char *prompt, char **ret, int *ret_signal)
{
	bool color = cli_has_color(STDOUT_FILENO);
	const char *line;
	sigset_t before;
	int count = 0;

	snprintf(l->prompt, sizeof(l->prompt), "%s%.64s%s ", color ? "\1\033[1;34m\1" : "", prompt,
		 color ? "\1\033[0m\1" : "");
	catch_signals(&before);
	el_set(l->edit, EL_PREP_TERM, 1); /* or the terminal echoes what comes behind the prompt */
	line = el_gets(l->edit, &count);
	sigprocmask(SIG_SETMASK, &before, NULL);
	*ret_signal = ended_by;
	if (line == NULL || count <= 0) {
		el_reset(l->edit);
		printf(interrupted ? "^C\n" : "\n");
		fflush(stdout);
		return ended_by ? LINE_SIGNALLED : interrupted ? LINE_INTERRUPTED : LINE_OVER;
	}
	*ret = l->pasted ? join_paste(l, line) : strdup(line);
	free(l->pasted);
	l->pasted = NULL;
	return *ret ? LINE_GOOD : LINE_OVER;
}

static enum line_end read_plain(char **ret)
{
	size_t size = 0;
	ssize_t len;

	*ret = NULL;
	len = getline(ret, &size, stdin);
	if (len > 0)
		return LINE_GOOD;
	free(*ret);
	*ret = NULL;
	return LINE_OVER;
}

enum line_end lines_read(struct lines *lines, const char *prompt, char **ret, int *ret_signal)
{
	*ret_signal = 0;
	return lines->typed ? read_typed(lines, prompt, ret, ret_signal) : read_plain(ret);
}
