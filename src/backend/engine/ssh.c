/* SPDX-License-Identifier: MIT */
#include "backend/engine/ssh.h"

#include "base/auto.h"
#include "base/strv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_WORDS  4096
#define COMMAND_MAX 24

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define HOST_CHARS NAME_CHARS ":%"
#define PATH_CHARS NAME_CHARS "/+@,"

extern char **environ;

/* ---- the words ---- */

struct address {
	char user[128], host[256], port[8], path[128];
};

static int refuse(const struct engine_ssh_target *t, const char *what, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_INVALID,
			"%s is 'ssh://%.128s', and %s; write it as ssh://user@host:port", t->variable,
			t->rest, what);
}

/* Copy what lies between two places, if it has room and nothing but these characters. */
static bool copy(const char *from, const char *to, const char *chars, char *ret, size_t size)
{
	size_t len = (size_t)(to - from);

	if (len == 0 || len >= size || *from == '-')
		return false;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return strspn(ret, chars) == len;
}

static int parse_port(const struct engine_ssh_target *t, const char *at, const char *end,
		      struct address *ret, struct sbx_error *err)
{
	if (at == end)
		return 0;
	if (*at != ':' || !copy(at + 1, end, "0123456789", ret->port, sizeof(ret->port)) ||
	    atol(ret->port) < 1 || atol(ret->port) > 65535)
		return refuse(t, "its port is no number from 1 to 65535", err);
	return 0;
}

static int parse_host(const struct engine_ssh_target *t, const char *at, const char *end,
		      struct address *ret, struct sbx_error *err)
{
	const char *host = at, *host_end = at;

	if (at < end && *at == '[') { /* an IPv6 address */
		host = at + 1;
		host_end = memchr(host, ']', (size_t)(end - host));
		at = host_end != NULL ? host_end + 1 : end;
	} else {
		host_end = memchr(at, ':', (size_t)(end - at));
		host_end = host_end != NULL ? host_end : end;
		at = host_end;
	}
	if (host_end == NULL || !copy(host, host_end, HOST_CHARS, ret->host, sizeof(ret->host)))
		return refuse(t, "its host is none that can be given to the ssh program", err);
	return parse_port(t, at, end, ret, err);
}

static int parse(const struct engine_ssh_target *t, struct address *ret, struct sbx_error *err)
{
	const char *end = t->rest + strcspn(t->rest, "/"), *host = t->rest;
	const char *at = memchr(t->rest, '@', (size_t)(end - t->rest));

	*ret = (struct address){0};
	if (at != NULL && memchr(t->rest, ':', (size_t)(at - t->rest)) != NULL)
		return refuse(t, "a password cannot be given to the ssh program: use a key", err);
	if (at != NULL && !copy(t->rest, at, NAME_CHARS, ret->user, sizeof(ret->user)))
		return refuse(t, "its user is none that can be given to the ssh program", err);
	host = at != NULL ? at + 1 : host;
	if (strlen(end) > 1 && !copy(end, end + strlen(end), PATH_CHARS, ret->path, sizeof(ret->path)))
		return refuse(t, "its path is none that can be given to a shell", err);
	return parse_host(t, host, end, ret, err);
}

static void add(char **words, size_t *count, const char *word)
{
	words[*count] = strdup(word);
	*count += words[*count] != NULL;
}

int engine_ssh_command(const struct engine_ssh_target *t, char ***ret, struct sbx_error *err)
{
	auto_strv char **words = calloc(COMMAND_MAX, sizeof(*words));
	/* Nobody is there to be asked for a password or about a host's key. */
	const char *const fixed[] = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"};
	struct address a;
	char path[160];
	size_t n = 0, wanted = 6;
	int r = parse(t, &a, err);

	if (r < 0)
		return r;
	if (words == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot start ssh");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		add(words, &n, fixed[i]);
	const struct {
		const char *option, *value;
	} pairs[] = {{"-l", a.user}, {"-p", a.port}, {"-i", t->identity ? t->identity : ""}};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i].value[0] == '\0')
			continue;
		add(words, &n, pairs[i].option);
		add(words, &n, pairs[i].value);
		wanted += 2;
	}
	snprintf(path, sizeof(path), "unix://%s", a.path);
	const char *const last[] = {"--", a.host, t->program, a.path[0] ? t->option : "system",
				    a.path[0] ? path : "dial-stdio", a.path[0] ? "system" : NULL,
				    "dial-stdio"};
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]) && last[i] != NULL; i++, wanted++)
		add(words, &n, last[i]);
	if (n != wanted)
		return sbx_fail_errno(err, ENOMEM, "cannot start ssh");
	*ret = take_ptr(words);
	return 0;
}

/* ---- the program ---- */

/* A file in memory that takes so much and no more, and never makes its writer wait. */
static int open_words(void)
{
	int fd = memfd_create("ssh-words", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, KEPT_WORDS) < 0 ||
			fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int spawn(char *const command[], int fd, int words_fd, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, standard;
	int r;

	sigemptyset(&none);
	sigemptyset(&standard);
	sigaddset(&standard, SIGPIPE);
	sigaddset(&standard, SIGINT);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 0);
	posix_spawn_file_actions_adddup2(&actions, fd, 1);
	posix_spawn_file_actions_adddup2(&actions, words_fd, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &standard);
	/* Away from the terminal: its Ctrl-C is for us, and there it cannot ask. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSID);
	r = posix_spawnp(ret, command[0], &actions, &attr, command, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int engine_ssh_start(char *const command[], struct engine_ssh *ret, struct sbx_error *err)
{
	auto_close int mine = -1, other = -1, words = open_words();
	int fds[2], r;
	pid_t pid;

	if (words < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return sbx_fail_errno(err, errno, "cannot make a socket for ssh");
	mine = fds[0];
	other = fds[1];
	r = spawn(command, other, words, &pid);
	if (r == ENOENT)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"the ssh program, by which the engine is reached, is not installed "
				"(on Debian: apt-get install openssh-client)");
	if (r != 0)
		return sbx_fail_errno(err, r, "cannot start the ssh program");
	*ret = (struct engine_ssh){.fd = take_fd(mine), .words_fd = take_fd(words), .pid = pid};
	ret->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/* By its descriptor: somebody else in this program may have waited for it already. */
static void stop(const struct engine_ssh *ssh)
{
	if (ssh->pid_fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, ssh->pid_fd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)ssh->pid_fd, NULL, WEXITED) < 0 && errno == EINTR)
		;
	close(ssh->pid_fd);
}

void engine_ssh_end(struct engine_ssh *ssh, char words[ENGINE_WORDS_MAX])
{
	char text[KEPT_WORDS];
	ssize_t n;

	stop(ssh);
	n = pread(ssh->words_fd, text, sizeof(text), 0);
	if (n > 0 && text[0] != '\0')
		engine_words_clean(text, strnlen(text, (size_t)n), words, ENGINE_WORDS_MAX);
	close(ssh->words_fd);
	*ssh = (struct engine_ssh){.fd = -1};
}
