/* SPDX-License-Identifier: MIT */
#include "data/outside.h"

#include "base/buf.h"
#include "support/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LISTING_MAX ((size_t)512 << 20)
#define SETTLE_MS   20000

extern char **environ;

/* ---- network ---- */

void outside_enter_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

static int listen_on(int type, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	return fd;
}

/* ---- decoys ---- */

static const char *const decoy_names[] = {
	"sshd",	  "dockerd",	  "init",     "cron",  "postgres",   "mysqld",	     "systemd",
	"rsyslogd", "docker-proxy", "nginx", "redis-server", "containerd", "apache2", "python"};

/* A shell under the decoy's name that waits for its leash: comm, argv[0] and arguments fit. */
static void start_decoy(struct outside *o, const char *name, int leash)
{
	char path[192];
	char *argv[] = {(char *)name, (char *)"-c", (char *)"read line", o->marker, NULL};
	posix_spawn_file_actions_t actions;

	snprintf(path, sizeof(path), "%s/%s", o->folder, name);
	assert_int_equal(symlink("/bin/sh", path), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, leash, 0);
	assert_int_equal(posix_spawn(&o->decoys[o->decoy_count], path, &actions, NULL, argv, environ),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	o->decoy_count++;
}

static void start_decoys(struct outside *o)
{
	int leash[2];

	assert_int_equal(pipe2(leash, O_CLOEXEC), 0);
	for (size_t i = 0; i < sizeof(decoy_names) / sizeof(decoy_names[0]); i++)
		start_decoy(o, decoy_names[i], leash[0]);
	close(leash[0]);
	o->leash_fd = leash[1];
}

static void end_decoys(struct outside *o)
{
	close(o->leash_fd);
	for (size_t i = 0; i < o->decoy_count; i++)
		waitpid(o->decoys[i], NULL, 0);
}

/* ---- files ---- */

/* nftw() has no argument for its function; only one thread lists. */
static struct sbx_buf *listing;

static int list_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	const char *source = getenv("SBX_SOURCE");

	(void)where;
	/* The project's own folder may be in one of the listed ones, and its logs grow. */
	if (source != NULL && strcmp(path, source) == 0)
		return FTW_SKIP_SUBTREE;
	sbx_buf_printf(listing, "%s type %d mode %o owner %u:%u size %lld", path, type, st->st_mode,
		       st->st_uid, st->st_gid, S_ISREG(st->st_mode) ? (long long)st->st_size : 0LL);
	sbx_buf_printf(listing, " changed %lld.%09ld %lld.%09ld\n", (long long)st->st_mtim.tv_sec,
		       st->st_mtim.tv_nsec, (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
	return FTW_CONTINUE;
}

/* Others write in these: what is there, not how large it is; and not what is below. */
static int list_name(const char *path, const struct stat *st, int type, struct FTW *where)
{
	sbx_buf_printf(listing, "%s type %d mode %o owner %u:%u\n", path, type, st->st_mode,
		       st->st_uid, st->st_gid);
	return where->level > 0 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

static void list_content(const char *path)
{
	FILE *f = fopen(path, "re");
	char piece[4096];
	size_t n;

	sbx_buf_printf(listing, "%s: %s\n", path, f ? "content" : "not there");
	if (f == NULL)
		return;
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		sbx_buf_append(listing, piece, n);
	fclose(f);
}

/* Of /tmp only what is ours: the machine's other users come and go there; the census counts. */
static char *list_files(const struct outside *o)
{
	const char *const whole[] = {"/etc", "/root", "/home", "/usr", o->folder};
	static const char *const names[] = {"/var/log", "/"};
	static const char *const contents[] = {"/etc/passwd",	       "/etc/shadow",
					       "/etc/group",	       "/root/.bashrc",
					       "/usr/copy_file",       "/usr/encoded_data.py",
					       "/usr/downloaded_script.py"};
	struct sbx_buf text = SBX_BUF_INIT(LISTING_MAX);

	listing = &text;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		nftw(whole[i], list_entry, 32, FTW_PHYS | FTW_ACTIONRETVAL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nftw(names[i], list_name, 32, FTW_PHYS | FTW_ACTIONRETVAL);
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++)
		list_content(contents[i]);
	listing = NULL;
	assert_false(text.failed);
	return sbx_buf_take(&text);
}

/* Fail with the first line that differs. */
static void compare_files(const char *before, const char *after)
{
	size_t at = 0, start;

	while (before[at] != '\0' && before[at] == after[at])
		at++;
	if (before[at] == after[at])
		return;
	for (start = at; start > 0 && before[start - 1] != '\n'; start--)
		;
	fail_msg("a host file is not as it was:\nbefore: %.*s\nafter:  %.*s",
		 (int)strcspn(before + start, "\n"), before + start,
		 (int)strcspn(after + start, "\n"), after + start);
}

static void plant_marker(struct outside *o)
{
	FILE *f;

	snprintf(o->marker, sizeof(o->marker), "marker-%08x%08x", (unsigned int)time(NULL),
		 (unsigned int)getpid());
	snprintf(o->folder, sizeof(o->folder), "/tmp/%s-XXXXXX", o->marker);
	assert_non_null(mkdtemp(o->folder));
	assert_int_equal(chmod(o->folder, 0755), 0);
	snprintf(o->secret, sizeof(o->secret), "%s/.bashrc", o->folder);
	f = fopen(o->secret, "we");
	assert_non_null(f);
	fprintf(f, "export SECRET=%s\n", o->marker);
	fclose(f);
	assert_int_equal(setenv("SBX_TEST_MARKER", o->marker, 1), 0);
}

/* ---- all of it ---- */

void outside_prepare(struct outside *o)
{
	memset(o, 0, sizeof(*o));
	plant_marker(o);
	o->post_fd = listen_on(SOCK_STREAM, 5758);
	o->shell_fd = listen_on(SOCK_STREAM, 5389);
	o->udp_fd = listen_on(SOCK_DGRAM, 5388);
	start_decoys(o);
	o->files = list_files(o);
	census_take(&o->census);
}

static bool is_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

const char *outside_touched(const struct outside *o)
{
	if (is_ready(o->post_fd))
		return "the host's port 5758 was reached";
	if (is_ready(o->shell_fd))
		return "the host's port 5389 was reached";
	if (is_ready(o->udp_fd))
		return "the host's UDP port 5388 was reached";
	if (access("/usr/copy_file", F_OK) == 0 || access("/usr/encoded_data.py", F_OK) == 0 ||
	    access("/usr/downloaded_script.py", F_OK) == 0)
		return "a file was made below the host's /usr";
	if (access("/etc/passwd", F_OK) != 0 || access("/etc/shadow", F_OK) != 0)
		return "a file of the host's /etc was deleted";
	for (size_t i = 0; i < o->decoy_count; i++) {
		if (waitpid(o->decoys[i], NULL, WNOHANG) != 0)
			return "a process of the host was killed";
	}
	return NULL;
}

void outside_compare(const struct outside *o)
{
	const char *touched = outside_touched(o);
	char *after = list_files(o);

	if (touched != NULL)
		fail_msg("%s", touched);
	compare_files(o->files, after);
	free(after);
	census_expect(&o->census, SETTLE_MS);
}

void outside_done(struct outside *o)
{
	char path[192];

	end_decoys(o);
	for (size_t i = 0; i < sizeof(decoy_names) / sizeof(decoy_names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", o->folder, decoy_names[i]);
		unlink(path);
	}
	unlink(o->secret);
	rmdir(o->folder);
	unsetenv("SBX_TEST_MARKER");
	close(o->post_fd);
	close(o->shell_fd);
	close(o->udp_fd);
	free(o->files);
}
