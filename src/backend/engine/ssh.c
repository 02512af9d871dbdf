/* SPDX-License-Identifier: MIT */
#include "backend/engine/ssh.h"

#include "base/auto.h"
#include "base/strv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_WORDS  4096
#define SAID_MAX    320
#define COMMAND_MAX 24
#define KNOCK_MS    10000

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define HOST_CHARS NAME_CHARS ":%"
#define PATH_CHARS NAME_CHARS "/+@,"

/* ---- the words ---- */

struct address {
	char user[128], host[256], port[8], path[128];
};

static int refuse(const struct engine_ssh_target *t, const char *what, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_INVALID,
			"%s is '%.128s', and %s; write it as ssh://user@host:port", t->variable,
			t->shown, what);
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

/* ---- the door ---- */

void engine_door_name(struct engine_door *door)
{
	const char *const folders[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	uint64_t number[2] = {0};

	(void)!getrandom(number, sizeof(number), 0);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (folders[i] == NULL || folders[i][0] != '/' || access(folders[i], W_OK) < 0)
			continue;
		if (snprintf(door->path, sizeof(door->path), "%s/llm-sandbox-ssh-%016llx%016llx",
			     folders[i], (unsigned long long)number[0],
			     (unsigned long long)number[1]) < (int)sizeof(door->path))
			return;
	}
	door->path[0] = '\0';
}

/* The descriptor that listens, for its owner alone: bind(2) takes the mode that it has. */
static int open_door(const struct engine_door *door)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", door->path);
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0)
		return -1;
	return take_fd(fd);
}

/* ---- the child: between fork and exec, so nothing here takes memory or a lock ---- */

static void child_say(int words_fd, const char *text)
{
	(void)!write(words_fd, text, strlen(text));
}

/* Somebody else of the same user may knock as well. */
static bool child_is_of(int fd, pid_t parent)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == parent;
}

static int child_accept(int door_fd, pid_t parent)
{
	struct pollfd door = {.fd = door_fd, .events = POLLIN};

	while (poll(&door, 1, KNOCK_MS) > 0) {
		int fd = accept4(door_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && child_is_of(fd, parent))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* The signals' handlers are the parent's, and go with exec; what is ignored would stay so. */
static void child_reset_signals(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

struct child {
	char *const *command;
	const char *path; /* of the door */
	int door_fd, words_fd;
	pid_t parent;
};

static void child_main(const struct child *c)
{
	int fd = child_accept(c->door_fd, c->parent);

	unlink(c->path);
	if (fd < 0)
		_exit(127);
	/* Away from the terminal: its Ctrl-C is for us, and there it cannot ask. */
	setsid();
	child_reset_signals();
	if (dup2(fd, 0) == 0 && dup2(fd, 1) == 1 && dup2(c->words_fd, 2) == 2)
		execvp(c->command[0], c->command);
	child_say(c->words_fd, errno == ENOENT ? "the ssh program, by which the engine is reached, is not installed "
					      "(on Debian: apt-get install openssh-client)"
					    : "the ssh program cannot be started");
	_exit(127);
}

/* ---- the program ---- */

int engine_ssh_start(char *const command[], const struct engine_door *door, int fd,
		     struct engine_ssh *ret, struct sbx_error *err)
{
	auto_close int words = open_words(), door_fd = -1;
	sigset_t all, before;
	pid_t me = getpid(), pid;

	if (words < 0)
		return sbx_fail_errno(err, errno, "cannot make a file for what ssh says");
	door_fd = open_door(door);
	if (door_fd < 0)
		return sbx_fail_errno(err, errno, "cannot make a socket for ssh at '%s'", door->path);
	const struct child child = {command, door->path, door_fd, words, me};
	/* No handler of the program's runs in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		child_main(&child);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		unlink(door->path);
		return sbx_fail_errno(err, errno, "cannot start the ssh program");
	}
	*ret = (struct engine_ssh){.fd = fd, .words_fd = take_fd(words)};
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

/* The cause comes last, behind what may be a screen of warnings: whole lines, as many as have room. */
static const char *find_last(const char *text, size_t len)
{
	const char *at = len > SAID_MAX ? memchr(text + len - SAID_MAX, '\n', SAID_MAX - 1) : NULL;

	return at != NULL ? at + 1 : text;
}

void engine_ssh_end(struct engine_ssh *ssh, char words[ENGINE_WORDS_MAX])
{
	char text[KEPT_WORDS];
	const char *last;
	size_t len;
	ssize_t n;

	stop(ssh);
	n = pread(ssh->words_fd, text, sizeof(text), 0);
	len = n > 0 ? strnlen(text, (size_t)n) : 0;
	last = find_last(text, len);
	if (len > 0)
		engine_words_clean(last, len - (size_t)(last - text), words, ENGINE_WORDS_MAX);
	close(ssh->words_fd);
	*ssh = (struct engine_ssh){.fd = -1};
}
