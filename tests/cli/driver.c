/* SPDX-License-Identifier: MIT */
#include "cli/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE_MS 180000
#define ARGS_MAX    64

static const char *program_path(void)
{
	const char *path = getenv("SBX_TEST_PROGRAM");

	return path && path[0] ? path : CLI_TEST_PROGRAM;
}

bool is_fake(void)
{
	const char *backend = getenv("SBX_TEST_BACKEND");

	return backend != NULL && strcmp(backend, "fake") == 0;
}

/* ---- a test's folder: config/, bin/llm-sandbox ---- */

int cli_setup(void **state)
{
	struct cli_state *t = calloc(1, sizeof(*t));
	char path[128];

	assert_non_null(t);
	snprintf(t->folder, sizeof(t->folder), "/tmp/llm-sandbox-cli-XXXXXX");
	assert_non_null(mkdtemp(t->folder));
	snprintf(path, sizeof(path), "%s/bin", t->folder);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/bin/llm-sandbox", t->folder);
	assert_int_equal(symlink(program_path(), path), 0);
	*state = t;
	return 0;
}

static int remove_tree(const char *path)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		execlp("rm", "rm", "-rf", "--one-file-system", "--", path, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

int cli_teardown(void **state)
{
	struct cli_state *t = *state;
	int r = remove_tree(t->folder);

	for (size_t i = 0; i < t->count; i++) {
		free(t->ran[i].out);
		free(t->ran[i].err);
	}
	free(t);
	return r;
}

const char *write_file(struct cli_state *t, const char *name, const void *data, size_t len)
{
	static char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	return path;
}

static char *read_fd(int fd, size_t *ret_len)
{
	struct stat st;
	char *data;

	assert_int_equal(fstat(fd, &st), 0);
	data = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(data);
	assert_int_equal(pread(fd, data, (size_t)st.st_size, 0), st.st_size);
	if (ret_len != NULL)
		*ret_len = (size_t)st.st_size;
	return data;
}

char *read_source(const char *name)
{
	char path[512], *text;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", CLI_TEST_SOURCE, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	text = read_fd(fd, NULL);
	close(fd);
	return text;
}

/* ---- running ---- */

/* The descriptors of one run; master is -1 without a terminal. */
struct ends {
	int in, out, err, master;
};

static struct ends open_ends(const struct call *call)
{
	struct ends e = {
		.in = memfd_create("stdin", MFD_CLOEXEC),
		.out = memfd_create("stdout", MFD_CLOEXEC),
		.err = memfd_create("stderr", MFD_CLOEXEC),
		.master = -1,
	};
	size_t len = call->in == NULL ? 0 : call->in_len ? call->in_len : strlen(call->in);
	int pipe_fds[2], slave;

	assert_int_equal(write(e.in, call->in ? call->in : "", len), len);
	lseek(e.in, 0, SEEK_SET);
	if (call->no_reader) {
		assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
		close(pipe_fds[0]);
		close(e.out);
		e.out = pipe_fds[1];
	} else if (call->terminal) {
		assert_int_equal(openpty(&e.master, &slave, NULL, NULL, NULL), 0);
		close(e.out);
		close(e.err);
		e.out = slave;
		e.err = fcntl(slave, F_DUPFD_CLOEXEC, 3);
		fcntl(e.out, F_SETFD, FD_CLOEXEC);
		fcntl(e.master, F_SETFD, FD_CLOEXEC);
	}
	return e;
}

/* Root has one for the whole machine, which own_runtime() hides. */
void runtime_folder(const struct cli_state *t, char *ret, size_t size)
{
	if (geteuid() == 0)
		snprintf(ret, size, "/run/llm-sandbox");
	else
		snprintf(ret, size, "%s/llm-sandbox", t->folder);
}

void own_runtime(void)
{
	if (geteuid() != 0)
		return;
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	mkdir("/run/llm-sandbox", 0700);
	assert_int_equal(mount("tmpfs", "/run/llm-sandbox", "tmpfs", 0, "mode=0700"), 0);
}

const struct ran *shell(struct cli_state *t, const char *script)
{
	char *argv[] = {(char *)"bash", (char *)"-c", (char *)script, NULL};

	return command(t, (struct call){0}, argv);
}

void child_environment(const struct cli_state *t, const char *const *more)
{
	static const char *const kept[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};
	char text[512], *values[3];
	const char *backend = getenv("SBX_TEST_BACKEND");

	for (size_t i = 0; i < 3; i++)
		values[i] = getenv(kept[i]);
	clearenv();
	for (size_t i = 0; i < 3; i++) {
		if (values[i] != NULL)
			setenv(kept[i], values[i], 1);
	}
	snprintf(text, sizeof(text), "%s/bin:/usr/local/bin:/usr/bin:/bin", t->folder);
	setenv("PATH", text, 1);
	setenv("HOME", t->folder, 1);
	snprintf(text, sizeof(text), "%s/config", t->folder);
	setenv("XDG_CONFIG_HOME", text, 1);
	setenv("XDG_RUNTIME_DIR", t->folder, 1);
	runtime_folder(t, text, sizeof(text));
	setenv("RUNTIME", text, 1);
	if (backend != NULL)
		setenv("LLM_SANDBOX_BACKEND", backend, 1);
	for (const char *const *env = more; env != NULL && *env != NULL; env++)
		putenv((char *)*env);
}

static void child_run(const struct cli_state *t, const struct call *call, const struct ends *e,
		      char *const *argv)
{
	child_environment(t, call->env);
	if (chdir(call->cwd ? call->cwd : t->folder) < 0)
		_exit(126);
	dup2(e->in, 0);
	dup2(e->out, 1);
	dup2(e->err, 2);
	if (call->no_stdin)
		close(0);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status;
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	assert_true(fd >= 0);
	if (poll(&pfd, 1, DEADLINE_MS) == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		fail_msg("the program did not end within %d s", DEADLINE_MS / 1000);
	}
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a terminal shows; little enough for its buffer, so it can be read at the end. */
static char *read_terminal(int master, size_t *ret_len)
{
	char *text = calloc(1, 8192);
	ssize_t n;

	assert_non_null(text);
	while ((n = read(master, text + *ret_len, 8191 - *ret_len)) > 0)
		*ret_len += (size_t)n;
	return text;
}

const struct ran *command(struct cli_state *t, struct call call, char *const *argv)
{
	struct ran *r = &t->ran[t->count++];
	struct ends e = open_ends(&call);
	pid_t pid;

	assert_true(t->count <= RAN_MAX);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_run(t, &call, &e, argv);
	r->status = wait_for(pid);
	r->err = call.terminal ? NULL : read_fd(e.err, &r->err_len);
	r->out = call.terminal || call.no_reader ? NULL : read_fd(e.out, &r->out_len);
	close(e.in);
	close(e.out);
	close(e.err);
	if (call.terminal) {
		r->out = read_terminal(e.master, &r->out_len);
		close(e.master);
	}
	return r;
}

const struct ran *program(struct cli_state *t, struct call call, ...)
{
	char *argv[ARGS_MAX + 2] = {(char *)"llm-sandbox"};
	size_t n = 1;
	va_list args;

	va_start(args, call);
	while (n <= ARGS_MAX && (argv[n] = va_arg(args, char *)) != NULL)
		n++;
	va_end(args);
	return command(t, call, argv);
}

void assert_contains(const char *text, const char *part)
{
	if (text == NULL || strstr(text, part) == NULL)
		fail_msg("'%s' is not in: %.2000s", part, text ? text : "(nothing)");
}

void assert_status(const struct ran *r, int status)
{
	if (r->status != status)
		fail_msg("status %d, not %d; stderr: %.2000s", r->status, status,
			 r->err ? r->err : "");
}
