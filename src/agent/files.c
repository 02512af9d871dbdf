/* SPDX-License-Identifier: MIT */
#include "agent/files.h"

#include "agent/send.h"
#include "agent/user.h"
#include "base/auto.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define QUEUE_ENOUGH (256u << 10) /* LIST waits while so much is not sent yet */

/* ---- paths ---- */

static int open_path(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Where relative paths start. */
static int open_workdir(const struct agent_fence *fence)
{
	return open_path(AT_FDCWD, fence->setup->workdir, O_PATH | O_DIRECTORY);
}

/* Open the folder, making what is missing of it: descriptor or -errno. */
static int make_folders(int dirfd, const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	int fd = open_path(dirfd, path, O_RDONLY | O_DIRECTORY);

	if (fd != -ENOENT || len >= sizeof(part))
		return fd;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdirat(dirfd, part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return open_path(dirfd, path, O_RDONLY | O_DIRECTORY);
}

/* A program could read the agent through /proc under another name. */
static bool is_on_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* ---- PUT ---- */

static void transfer_end(struct transfer *t)
{
	if (t->kind == TRANSFER_PUT && t->temp[0] != '\0')
		unlinkat(t->folder_fd, t->temp, 0);
	if (t->fd >= 0)
		close(t->fd);
	if (t->folder_fd >= 0)
		close(t->folder_fd);
	if (t->dir != NULL)
		closedir(t->dir);
	free(t->name);
	*t = (struct transfer){.fd = -1, .folder_fd = -1};
}

static void transfer_begin(struct transfer *t, enum transfer_kind kind, uint32_t channel,
			   const struct agent_fence *fence)
{
	*t = (struct transfer){
		.kind = kind, .channel = channel, .fence = fence, .fd = -1, .folder_fd = -1};
}

static int open_temp(struct transfer *t, uint32_t mode)
{
	static unsigned int serial;

	for (int tries = 0; tries < 100; tries++) {
		snprintf(t->temp, sizeof(t->temp), ".sbx-%x-%x", (unsigned int)getpid(), serial++);
		t->fd = openat(t->folder_fd, t->temp,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		if (t->fd >= 0 || errno != EEXIST)
			break;
	}
	if (t->fd < 0) {
		t->temp[0] = '\0';
		return -errno;
	}
	return fchmod(t->fd, mode) < 0 ? -errno : 0;
}

/* Folder, name and an open file of another name. */
static int open_put(struct transfer *t, const struct wire_put *m)
{
	auto_close int workdir_fd = open_workdir(t->fence);
	auto_free char *folder = strdup(m->path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (folder == NULL)
		return -ENOMEM;
	if (workdir_fd < 0)
		return workdir_fd;
	t->name = strdup(slash ? slash + 1 : folder);
	if (t->name == NULL)
		return -ENOMEM;
	if (t->name[0] == '\0' || strcmp(t->name, ".") == 0 || strcmp(t->name, "..") == 0)
		return -EINVAL;
	if (slash != NULL)
		*slash = '\0';
	if (slash == folder)
		t->folder_fd = open_path(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
	else
		t->folder_fd = make_folders(workdir_fd, slash ? folder : ".");
	if (t->folder_fd < 0)
		return t->folder_fd;
	return open_temp(t, m->mode);
}

void transfer_put(struct transfer *t, struct sbx_conn *conn, uint32_t channel,
		  const struct wire_put *m, const struct agent_fence *fence)
{
	int r;

	if (t->kind != TRANSFER_NONE) {
		send_error(conn, channel, SBX_E_UNAVAILABLE, 0, "another file is under way");
		return;
	}
	transfer_begin(t, TRANSFER_PUT, channel, fence);
	t->left = m->size;
	act_as_user(fence);
	r = open_put(t, m);
	if (r < 0)
		transfer_end(t);
	act_as_agent(fence);
	if (r < 0)
		send_error(conn, channel, SBX_E_SYSTEM, -r, "cannot write '%.256s'", m->path);
}

static void fail_put(struct transfer *t, struct sbx_conn *conn, int sys_errno)
{
	uint32_t channel = t->channel;
	char name[NAME_MAX + 1];

	snprintf(name, sizeof(name), "%s", t->name);
	transfer_end(t);
	send_error(conn, channel, SBX_E_SYSTEM, sys_errno, "cannot write '%s'", name);
}

static void take_data(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	int r = sbx_write_all(t->fd, frame->payload, frame->len);

	if (r < 0) {
		fail_put(t, conn, -r);
		return;
	}
	t->left -= frame->len;
	t->credit += frame->len;
	if (t->credit < WIRE_WINDOW / 2)
		return;
	send_credit(conn, t->channel, WIRE_FLOW_DATA, t->credit);
	t->credit = 0;
}

static void finish_put(struct transfer *t, struct sbx_conn *conn)
{
	uint32_t channel = t->channel;

	if (renameat(t->folder_fd, t->temp, t->folder_fd, t->name) < 0) {
		fail_put(t, conn, errno);
		return;
	}
	t->temp[0] = '\0';
	transfer_end(t);
	send_bytes(conn, WIRE_CLOSE, channel, NULL, 0);
}

/* ---- GET ---- */

static void fill_entry(struct wire_entry *e, const struct stat *st, const char *name)
{
	uint8_t kind = WIRE_OTHER;

	if (S_ISREG(st->st_mode))
		kind = WIRE_FILE;
	else if (S_ISDIR(st->st_mode))
		kind = WIRE_FOLDER;
	else if (S_ISLNK(st->st_mode))
		kind = WIRE_LINK;
	*e = (struct wire_entry){
		.kind = kind,
		.mode = st->st_mode & 07777,
		.size = (uint64_t)st->st_size,
		.mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
		.name = (char *)name,
	};
}

static void send_entry(struct sbx_conn *conn, uint32_t channel, const struct stat *st,
		       const char *name)
{
	struct sbx_buf payload = SBX_BUF_INIT(1024);
	struct wire_entry e;

	fill_entry(&e, st, name);
	wire_entry_format(&payload, &e);
	send_bytes(conn, WIRE_ENTRY, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}

static int open_get(struct transfer *t, const struct wire_path *m, struct stat *st)
{
	auto_close int workdir_fd = open_workdir(t->fence);

	if (workdir_fd < 0)
		return workdir_fd;
	t->fd = open_path(workdir_fd, m->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
	if (t->fd < 0)
		return t->fd;
	if (fstat(t->fd, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode) || is_on_proc(t->fd))
		return -EINVAL;
	return (uint64_t)st->st_size > m->most ? -EFBIG : 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void transfer_get(struct transfer *t, struct sbx_conn *conn, uint32_t channel,
		  const struct wire_path *m, const struct agent_fence *fence)
{
	struct stat st;
	int r;

	if (t->kind != TRANSFER_NONE) {
		send_error(conn, channel, SBX_E_UNAVAILABLE, 0, "another file is under way");
		return;
	}
	transfer_begin(t, TRANSFER_GET, channel, fence);
	act_as_user(fence);
	r = open_get(t, m, &st);
	act_as_agent(fence);
	if (r < 0) {
		transfer_end(t);
		send_error(conn, channel, r == -ENOENT ? SBX_E_NOT_FOUND : SBX_E_SYSTEM, -r,
			   "cannot read '%.256s'", m->path);
		return;
	}
	t->left = (uint64_t)st.st_size;
	t->credit = WIRE_WINDOW;
	send_entry(conn, channel, &st, base_name(m->path));
}

/* Send a piece; a file that became shorter ends early, one that grew is cut at its first size. */
static void pump_get(struct transfer *t, struct sbx_conn *conn)
{
	static char piece[WIRE_PAYLOAD_MAX];
	size_t most = t->credit < sizeof(piece) ? t->credit : sizeof(piece);
	ssize_t n;

	most = most < t->left ? most : (size_t)t->left;
	n = most > 0 ? read(t->fd, piece, most) : 0;
	if (n < 0 && errno == EINTR)
		return;
	if (n > 0) {
		send_bytes(conn, WIRE_DATA, t->channel, piece, (size_t)n);
		t->credit -= (size_t)n;
		t->left -= (uint64_t)n;
	}
	if (n > 0 && t->left > 0)
		return;
	if (n < 0)
		send_error(conn, t->channel, SBX_E_SYSTEM, errno, "cannot read the file");
	else
		send_bytes(conn, WIRE_CLOSE, t->channel, NULL, 0);
	transfer_end(t);
}

/* ---- LIST ---- */

static int open_list(struct transfer *t, const struct wire_path *m)
{
	auto_close int workdir_fd = open_workdir(t->fence);
	int fd;

	if (workdir_fd < 0)
		return workdir_fd;
	fd = open_path(workdir_fd, m->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	t->dir = fdopendir(fd);
	if (t->dir != NULL)
		return 0;
	close(fd);
	return -ENOMEM;
}

void transfer_list(struct transfer *t, struct sbx_conn *conn, uint32_t channel,
		   const struct wire_path *m, const struct agent_fence *fence)
{
	int r;

	if (t->kind != TRANSFER_NONE) {
		send_error(conn, channel, SBX_E_UNAVAILABLE, 0, "another file is under way");
		return;
	}
	transfer_begin(t, TRANSFER_LIST, channel, fence);
	t->left = m->most;
	act_as_user(fence);
	r = open_list(t, m);
	act_as_agent(fence);
	if (r == 0)
		return;
	transfer_end(t);
	send_error(conn, channel, r == -ENOENT ? SBX_E_NOT_FOUND : SBX_E_SYSTEM, -r,
		   "cannot list '%.256s'", m->path);
}

static void pump_list(struct transfer *t, struct sbx_conn *conn)
{
	struct dirent *entry = readdir(t->dir);
	struct stat st;

	if (entry == NULL) {
		send_bytes(conn, WIRE_CLOSE, t->channel, NULL, 0);
		transfer_end(t);
		return;
	}
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
	    fstatat(dirfd(t->dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (t->left == 0) {
		send_error(conn, t->channel, SBX_E_LIMIT, 0, "the folder has too many entries");
		transfer_end(t);
		return;
	}
	t->left--;
	send_entry(conn, t->channel, &st, entry->d_name);
}

/* ---- messages and the loop's part ---- */

static int take_get_credit(struct transfer *t, const struct wire_frame *frame,
			   struct sbx_error *err)
{
	struct wire_credit m;

	if (!wire_credit_parse(frame->payload, frame->len, &m) || m.flow != WIRE_FLOW_DATA ||
	    m.bytes > WIRE_WINDOW - t->credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "malformed CREDIT");
	t->credit += m.bytes;
	return 0;
}

static int take_put(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		    struct sbx_error *err)
{
	if (frame->type == WIRE_DATA && frame->len <= t->left &&
	    frame->len <= WIRE_WINDOW - t->credit) {
		take_data(t, conn, frame);
		return 0;
	}
	if (frame->type == WIRE_CLOSE && t->left == 0) {
		finish_put(t, conn);
		return 0;
	}
	return sbx_fail(err, SBX_E_PROTOCOL, "%s is out of turn or beyond its credit",
			wire_type_name(frame->type));
}

int transfer_take(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		  struct sbx_error *err)
{
	const struct agent_fence *fence = t->fence;
	int r;

	if (frame->type == WIRE_CLOSE && t->kind != TRANSFER_PUT) {
		transfer_end(t);
		return 0;
	}
	if (t->kind == TRANSFER_GET && frame->type == WIRE_CREDIT)
		return take_get_credit(t, frame, err);
	if (t->kind != TRANSFER_PUT)
		return sbx_fail(err, SBX_E_PROTOCOL, "%s is out of turn",
				wire_type_name(frame->type));
	act_as_user(fence);
	r = take_put(t, conn, frame, err);
	act_as_agent(fence);
	return r;
}

void transfer_abort(struct transfer *t)
{
	const struct agent_fence *fence = t->fence;

	if (t->kind == TRANSFER_NONE)
		return;
	act_as_user(fence);
	transfer_end(t);
	act_as_agent(fence);
}

bool transfer_wants_turn(const struct transfer *t, const struct sbx_conn *conn)
{
	if (t->kind == TRANSFER_GET)
		return t->credit > 0 || t->left == 0;
	return t->kind == TRANSFER_LIST && conn->out.len - conn->out_at < QUEUE_ENOUGH;
}

void transfer_pump(struct transfer *t, struct sbx_conn *conn)
{
	while (transfer_wants_turn(t, conn)) {
		if (t->kind == TRANSFER_GET)
			pump_get(t, conn);
		else
			pump_list(t, conn);
	}
}
