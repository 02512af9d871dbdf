/* SPDX-License-Identifier: MIT */
#include "core/image_debstrap.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/strv.h"
#include "core/cancel.h"
#include "core/image_store.h"
#include "core/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define WORDS_MAX   1024 /* arguments, or variables */
#define SOURCES_MAX 32
#define ANSWER_MAX  (1u << 20)
#define LINE_BYTES   400
#define LINES_KEPT  6
#define END_MS	    30000 /* to clean up after itself */
#define ROOM_BYTES  (1536ull << 20)

struct sbx_debstrap {
	const struct sbx_image_make *how;
	pid_t pid;
	int out_fd, err_fd;
	char folder[PATH_MAX]; /* that it builds in, below the user's TMPDIR; "": none yet */
	char line[LINE_BYTES]; /* the beginning of the present one */
	size_t line_len;
	char last[LINES_KEPT][LINE_BYTES]; /* lines that tell why it failed, the newest last */
	size_t last_count;
};

/* ---- starting programs ---- */

static int set_actions(posix_spawn_file_actions_t *actions, int out_fd, int err_fd)
{
	int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, out_fd, 1);
	if (r == 0 && err_fd >= 0)
		r = posix_spawn_file_actions_adddup2(actions, err_fd, 2);
	else if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
	return r;
}

/* In a process group of its own: what a terminal sends is for us to pass on. */
static int start(char *const argv[], char *const env[], int out_fd, int err_fd, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t standard;
	int r;

	sigfillset(&standard);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attr, &standard);
	r = set_actions(&actions, out_fd, err_fd);
	if (r == 0)
		r = posix_spawnp(ret, argv[0], &actions, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int wait_for(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* What a program prints; the caller's. */
static int ask(char *const argv[], char **ret, struct sbx_error *err)
{
	auto_close int in_fd = -1, out_fd = -1;
	int fds[2], status = 0, r;
	size_t len;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, errno, "cannot ask '%s'", argv[0]);
	in_fd = fds[0];
	out_fd = fds[1];
	r = start(argv, environ, out_fd, -1, &pid);
	if (r != 0)
		return sbx_fail(err, SBX_E_NOT_FOUND, "cannot ask '%s': %s", argv[0], strerror(r));
	close(take_fd(out_fd));
	r = sbx_read_stream(in_fd, argv[0], ANSWER_MAX, ret, &len, err);
	close(take_fd(in_fd));
	wait_for(pid, &status);
	if (r == 0 && status != 0) {
		free(*ret);
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "'%s' does not tell its configuration", argv[0]);
	}
	return r;
}

/* ---- where packages come from ---- */

/* Arguments, or an environment; owned. */
struct words {
	char *list[WORDS_MAX + 1];
	size_t count;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *a, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = a->count < WORDS_MAX ? vasprintf(&text, fmt, ap) : -1;
	va_end(ap);
	if (n < 0)
		a->failed = true;
	else
		a->list[a->count++] = text;
}

static void words_done(struct words *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->list[i]);
}

static bool has_arg(const struct words *a, size_t from, const char *text)
{
	for (size_t i = from; i < a->count; i++) {
		if (strcmp(a->list[i], text) == 0)
			return true;
	}
	return false;
}

/*
 * The suite, the archive's place, and the files of sources: apt tells for each target its release and
 * "FILE:NUMBER". mmdebstrap reads such a file as apt does, with the keys that it names.
 */
static int add_sources(struct words *a, struct sbx_error *err)
{
	char *const argv[] = {(char *)"apt-get", (char *)"indextargets", (char *)"--format",
			      (char *)"$(RELEASE) $(SOURCESENTRY)", (char *)"Created-By: Packages", NULL};
	auto_free char *text = NULL;
	char *rest, *line;
	size_t first = 0;
	int r = ask(argv, &text, err);

	if (r < 0)
		return sbx_wrap(err, "cannot find out where Debian packages come from");
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *file = strchr(line, ' '), *number = strrchr(line, ':');

		/* A release that is a folder is of an archive without suites. */
		if (file == NULL || number < file || line[0] == '-' || file[-1] == '/')
			continue;
		*file++ = *number = '\0';
		if (first == 0) {
			add(a, "%s", line);
			add(a, "-");
			first = a->count;
		}
		if (file[0] == '/' && !has_arg(a, first, file) && a->count < first + SOURCES_MAX)
			add(a, "%s", file);
	}
	if (first != 0)
		return 0;
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"apt is not configured to get packages from anywhere; see sources.list(5)");
}

/* 'NAME "value";' of apt-config(8): its value, in place; or NULL. */
static char *value_of(char *line, const char *name)
{
	size_t len = strlen(name);
	char *end = strrchr(line, '"');

	if (strncmp(line, name, len) != 0 || strncmp(line + len, " \"", 2) != 0 || end < line + len + 3)
		return NULL;
	*end = '\0';
	return line + len + 2;
}

/* Proxies may hold passwords, and go where other users do not see them; the rest are arguments. */
static void add_connection(struct words *a, struct words *env, char *line)
{
	static const char *const proxies[][2] = {{"Acquire::http::Proxy", "http_proxy"},
						 {"Acquire::https::Proxy", "https_proxy"}};

	if (strncmp(line, "Acquire::http", 13) != 0 || strstr(line, " \"\";") != NULL)
		return;
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++) {
		char *value = getenv(proxies[i][1]) == NULL ? value_of(line, proxies[i][0]) : NULL;

		if (value != NULL)
			add(env, "%s=%s", proxies[i][1], value);
	}
	if (strstr(line, "Proxy") == NULL && strchr(line, '@') == NULL)
		add(a, "--aptopt=%.500s", line);
}

/* mmdebstrap itself does not see what apt is told about connections. */
static void add_connections(struct words *a, struct words *env)
{
	char *const argv[] = {(char *)"apt-config", (char *)"dump", NULL};
	struct sbx_error ignored;
	auto_free char *text = NULL;
	char *rest, *line;

	if (ask(argv, &text, &ignored) < 0)
		return;
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL)
		add_connection(a, env, line);
}

static const char *builds_in(void)
{
	const char *folder = getenv("TMPDIR");

	return folder != NULL && folder[0] == '/' ? folder : "/tmp";
}

static void add_environment(struct words *env)
{
	for (char **e = environ; *e != NULL; e++) {
		if (strncmp(*e, "TMPDIR=", 7) != 0)
			add(env, "%s", *e);
	}
}

static int make_words(const struct sbx_image_recipe *recipe, struct words *a, struct words *env,
		      struct sbx_error *err)
{
	auto_buf struct sbx_buf packages = SBX_BUF_INIT(64u << 10);

	for (size_t i = 0; recipe->packages[i] != NULL; i++)
		sbx_buf_printf(&packages, "%s%s", i > 0 ? "," : "", recipe->packages[i]);
	if (packages.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot name the packages of an image");
	add(a, "mmdebstrap");
	add(a, "--mode=%s", geteuid() == 0 ? "root" : "unshare");
	for (size_t i = 0; sbx_image_options[i] != NULL; i++)
		add(a, "%s", sbx_image_options[i]);
	add(a, "--include=%s", packages.data);
	add_environment(env);
	add_connections(a, env);
	return add_sources(a, err);
}

/* ---- what it says ---- */

/* A line for people; one that tells of an error is kept. */
static void say(struct sbx_debstrap *d)
{
	d->line[d->line_len] = '\0';
	d->line_len = 0;
	if (d->line[0] == '\0')
		return;
	if (d->how->on_progress != NULL)
		d->how->on_progress(d->line, d->how->userdata);
	if (d->last_count == LINES_KEPT) {
		memmove(d->last[0], d->last[1], sizeof(d->last) - sizeof(d->last[0]));
		d->last_count--;
	}
	memcpy(d->last[d->last_count++], d->line, sizeof(d->line));
}

static void take_words(struct sbx_debstrap *d, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c == '\n' || c == '\r')
			say(d);
		else if (d->line_len < sizeof(d->line) - 1)
			d->line[d->line_len++] = c < ' ' || c == 127 ? ' ' : (char)c;
	}
}

/* false at the end of what it says. */
static bool read_words(struct sbx_debstrap *d)
{
	char data[4096];
	ssize_t n = read(d->err_fd, data, sizeof(data));

	if (n > 0)
		take_words(d, data, (size_t)n);
	else if (n == 0)
		say(d);
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

ssize_t sbx_debstrap_read(void *data, size_t len, void *debstrap, struct sbx_error *err)
{
	struct sbx_debstrap *d = debstrap;
	struct sbx_cancel *cancel = d->how->cancel;

	for (;;) {
		struct pollfd p[] = {{.fd = d->out_fd, .events = POLLIN},
				     {.fd = d->err_fd, .events = POLLIN},
				     {.fd = cancel ? cancel->eventfd : -1, .events = POLLIN}};
		ssize_t n;

		if (sbx_cancel_is_killed(cancel)) {
			sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled");
			return -1;
		}
		/* An interrupt alone asks for nothing, and leaves the eventfd readable. */
		if (cancel != NULL && atomic_load(&cancel->interrupts) > 0)
			p[2].fd = -1;
		if (poll(p, 3, 200) < 0 && errno != EINTR) {
			sbx_fail_errno(err, errno, "cannot wait for mmdebstrap");
			return -1;
		}
		if (p[1].revents != 0 && !read_words(d))
			close(take_fd(d->err_fd));
		if (p[0].revents == 0)
			continue;
		n = read(d->out_fd, data, len);
		if (n >= 0)
			return n;
		if (errno != EINTR) {
			sbx_fail_errno(err, errno, "cannot read what mmdebstrap makes");
			return -1;
		}
	}
}

/* ---- start and end ---- */

/* A folder of our own, so that what it could not remove is found; others of its ids look into it. */
static int make_folder(struct sbx_debstrap *d, struct words *env, struct sbx_error *err)
{
	if (snprintf(d->folder, PATH_MAX, "%s/llm-sandbox-image-XXXXXX", builds_in()) >= PATH_MAX ||
	    mkdtemp(d->folder) == NULL || chmod(d->folder, 0711) < 0) {
		d->folder[0] = '\0';
		return sbx_fail_errno(err, errno, "cannot make a folder in '%.200s'", builds_in());
	}
	add(env, "TMPDIR=%s", d->folder);
	return 0;
}

static int check_room(struct sbx_error *err)
{
	const char *folder = builds_in();
	auto_close int fd = -1;

	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || sbx_image_free_bytes(fd) >= ROOM_BYTES)
		return 0;
	return sbx_fail(err, SBX_E_LIMIT,
			"there is less than %llu MiB free in '%.200s', where mmdebstrap builds; free some, or "
			"set TMPDIR to another folder",
			ROOM_BYTES >> 20, folder);
}

static int check_tools(struct sbx_error *err)
{
	static const char *const tools[] = {"mmdebstrap", "apt-get"};
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		if (!sbx_toolchain_find(tools[i], path, &st))
			return sbx_fail(err, SBX_E_NOT_FOUND,
					"images are made by '%s', which is not installed; install it with: "
					"apt-get install %s",
					tools[i], i == 0 ? tools[0] : "apt");
	}
	return 0;
}

static int spawn(struct sbx_debstrap *d, char *const argv[], char *const env[],
		 struct sbx_error *err)
{
	int out[2] = {-1, -1}, words[2] = {-1, -1}, r;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(words, O_CLOEXEC) < 0) {
		r = errno;
	} else {
		d->out_fd = out[0];
		d->err_fd = words[0];
		fcntl(words[0], F_SETFL, O_NONBLOCK);
		r = start(argv, env, out[1], words[1], &d->pid);
	}
	for (int i = d->out_fd >= 0 ? 1 : 0; i < 2; i++) {
		if (out[i] >= 0)
			close(out[i]);
		if (words[i] >= 0)
			close(words[i]);
	}
	return r == 0 ? 0 : sbx_fail_errno(err, r, "cannot start mmdebstrap");
}

static void debstrap_free(struct sbx_debstrap *d)
{
	if (d->out_fd >= 0)
		close(d->out_fd);
	if (d->err_fd >= 0)
		close(d->err_fd);
	if (d->folder[0] != '\0')
		sbx_remove_tree(d->folder);
	free(d);
}

int sbx_debstrap_start(const struct sbx_image_recipe *recipe, const struct sbx_image_make *how,
		       struct sbx_debstrap **ret, struct sbx_error *err)
{
	struct sbx_debstrap *d = calloc(1, sizeof(*d));
	struct words args = {.count = 0}, env = {.count = 0};
	int r;

	if (d == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot start mmdebstrap");
	*d = (struct sbx_debstrap){.how = how, .pid = -1, .out_fd = -1, .err_fd = -1};
	r = check_tools(err);
	if (r == 0)
		r = check_room(err);
	if (r == 0)
		r = make_words(recipe, &args, &env, err);
	if (r == 0)
		r = make_folder(d, &env, err);
	if (r == 0 && (args.failed || env.failed))
		r = sbx_fail_errno(err, ENOMEM, "cannot name what mmdebstrap is to do");
	if (r == 0)
		r = spawn(d, args.list, env.list, err);
	words_done(&args);
	words_done(&env);
	if (r < 0)
		debstrap_free(d);
	else
		*ret = d;
	return r;
}

/* Ask it to end, and to remove what it made; after a while it has no choice. */
static int reap(struct sbx_debstrap *d, bool stop)
{
	uint64_t deadline = sbx_deadline_ns(END_MS);
	int status = 0;
	pid_t pid;

	if (stop)
		kill(-d->pid, SIGINT);
	while ((pid = waitpid(d->pid, &status, WNOHANG)) == 0 || (pid < 0 && errno == EINTR)) {
		struct pollfd p = {.fd = d->err_fd, .events = POLLIN};

		poll(&p, 1, 50);
		if (p.revents != 0 && !read_words(d))
			close(take_fd(d->err_fd));
		if (stop && sbx_now_ns() >= deadline) {
			kill(-d->pid, SIGKILL);
			stop = false;
		}
	}
	return status;
}

static bool is_error(const char *line)
{
	return strncmp(line, "E:", 2) == 0 || strncmp(line, "Err:", 4) == 0;
}

static int explain(const struct sbx_debstrap *d, struct sbx_error *err)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(LINES_KEPT * LINE_BYTES);

	/* Its errors; where there are none, its last words. */
	for (size_t i = 0; i < d->last_count; i++) {
		if (is_error(d->last[i]) || (i + 1 == d->last_count && text.len == 0))
			sbx_buf_printf(&text, "%s%s", text.len > 0 ? "; " : "", d->last[i]);
	}
	return sbx_fail(err, SBX_E_UNAVAILABLE, "mmdebstrap failed: %.700s",
			text.len > 0 ? text.data : "it gave no reason");
}

/* An archive may end before what it is in does. */
static int read_rest(struct sbx_debstrap *d, struct sbx_error *err)
{
	char data[4096];
	ssize_t n;

	while ((n = sbx_debstrap_read(data, sizeof(data), d, err)) > 0)
		;
	return n < 0 ? -(int)err->code : 0;
}

/* What it said last tells why it failed; a program that it left behind may say more for ever. */
static void drain(struct sbx_debstrap *d)
{
	bool more = d->err_fd >= 0;

	while (more) {
		errno = 0;
		more = read_words(d) && errno != EAGAIN;
	}
}

int sbx_debstrap_end(struct sbx_debstrap *d, int r, struct sbx_error *err)
{
	bool cancelled = sbx_cancel_is_killed(d->how->cancel);
	int status;

	if (r == 0)
		r = read_rest(d, err);
	close(take_fd(d->out_fd));
	status = reap(d, r < 0);
	drain(d);
	/* An archive that ended too early is what its own failure looks like from here. */
	if (status != 0 && !cancelled && (r == 0 || err->code == SBX_E_INVALID))
		r = explain(d, err);
	debstrap_free(d);
	return r;
}
