/* SPDX-License-Identifier: MIT */
/*
 * Files of a sandbox to this machine: only regular files and folders, each below the folder that
 * the caller named (base/beneath.h), whatever the names that come and whoever plants links there.
 */
#include <llmsandbox/files.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/io.h"
#include "core/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct copy_out {
	struct sbx_meter meter;
	const char *from;
	int parent_fd;		 /* the folder that `name` is in */
	char name[NAME_MAX + 1]; /* "": the copy goes into the parent itself */
	int root_fd;		 /* the folder that a tree goes to, once it is there; or -1 */
	bool begun;		 /* the first ENTRY has come */
	struct sbx_new_file file; /* under way, or fd -1 */
	uint64_t mtime_ns;
	bool ends_in_hole;
	char path[PATH_MAX]; /* of the file, for messages */
};

/* ---- the end of a file ---- */

static void set_mtime(const struct copy_out *c)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = (time_t)(c->mtime_ns / 1000000000u),
		 .tv_nsec = (long)(c->mtime_ns % 1000000000u)},
	};

	/* A time that this file system cannot keep is no reason to lose the file. */
	if (futimens(c->file.fd, times) < 0)
		return;
}

static int fail_write(const struct copy_out *c, int sys_errno, struct sbx_error *err)
{
	return sbx_fail_errno(err, sys_errno, "cannot write '%s'", c->path);
}

/* What has come of it is all of it. */
static int end_file(struct copy_out *c, struct sbx_error *err)
{
	int r;

	if (c->file.fd < 0)
		return 0;
	if (c->ends_in_hole && ftruncate(c->file.fd, lseek(c->file.fd, 0, SEEK_CUR)) < 0)
		return fail_write(c, errno, err);
	set_mtime(c);
	r = sbx_new_file_commit(&c->file, true);
	sbx_new_file_done(&c->file);
	return r < 0 ? fail_write(c, -r, err) : 0;
}

/* ---- what comes ---- */

static bool is_link(int folder_fd, const char *path)
{
	auto_close int fd = sbx_beneath_open(folder_fd, path, O_PATH);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

/* A link that stands where a folder is to be is replaced, as one in a file's place is. */
static int make_folder(int folder_fd, const char *path, mode_t mode)
{
	int r = sbx_beneath_make_folder(folder_fd, path, mode);

	if (r != -EEXIST || !is_link(folder_fd, path))
		return r == -EEXIST ? -ENOTDIR : r;
	r = sbx_beneath_remove(folder_fd, path);
	return r < 0 ? r : sbx_beneath_make_folder(folder_fd, path, mode);
}

/* The top of a tree: a folder of the caller's name, or the folder that was named. */
static int open_root(struct copy_out *c, const struct wire_entry *e, struct sbx_error *err)
{
	int r = 0;

	if (c->name[0] != '\0')
		r = make_folder(c->parent_fd, c->name, sbx_beneath_mode(e->mode, true));
	if (r == 0)
		r = c->root_fd = sbx_beneath_open(c->parent_fd, c->name, O_PATH | O_DIRECTORY);
	if (r < 0)
		return sbx_fail_errno(err, -r, "cannot make the folder '%s'",
				      c->name[0] ? c->name : ".");
	return 0;
}

static int begin_file(struct copy_out *c, int folder_fd, const char *path,
		      const struct wire_entry *e, struct sbx_error *err)
{
	int r;

	snprintf(c->path, sizeof(c->path), "%s", path);
	c->mtime_ns = e->mtime_ns;
	c->ends_in_hole = false;
	if (path[0] == '\0')
		return sbx_fail(err, SBX_E_INVALID,
				"'%s' is a file and needs a name on this machine, not a folder alone",
				c->from);
	r = sbx_new_file_begin(&c->file, folder_fd, path, sbx_beneath_mode(e->mode, false));
	return r < 0 ? fail_write(c, -r, err) : 0;
}

/* What was asked for. */
static int on_first(struct copy_out *c, const struct wire_entry *e, struct sbx_error *err)
{
	bool is_folder = e->kind == WIRE_FOLDER;
	int r;

	if (e->name[0] != '\0')
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent another file than asked for");
	if (!is_folder && e->kind != WIRE_FILE)
		return sbx_fail(err, SBX_E_INVALID, "'%s' is neither a file nor a folder", c->from);
	r = sbx_meter_entry(&c->meter, is_folder, c->from, err);
	if (r < 0)
		return r;
	if (is_folder)
		return open_root(c, e, err);
	c->meter.total = e->size;
	return begin_file(c, c->parent_fd, c->name, e, err);
}

static int on_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct copy_out *c = owner;
	bool is_folder = e->kind == WIRE_FOLDER;
	int r = end_file(c, err);

	if (r < 0)
		return r;
	if (!c->begun) {
		c->begun = true;
		return on_first(c, e, err);
	}
	if (c->root_fd < 0 || e->name[0] == '\0')
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent more than was asked for");
	if (!is_folder && e->kind != WIRE_FILE)
		return sbx_meter_leave_out(&c->meter, e->name, err);
	r = sbx_meter_entry(&c->meter, is_folder, e->name, err);
	if (r < 0)
		return r;
	if (!is_folder)
		return begin_file(c, c->root_fd, e->name, e, err);
	r = make_folder(c->root_fd, e->name, sbx_beneath_mode(e->mode, true));
	return r < 0 ? sbx_fail_errno(err, -r, "cannot make the folder '%s'", e->name) : 0;
}

static int on_data(void *owner, const void *data, size_t len, struct sbx_error *err)
{
	struct copy_out *c = owner;
	int r = sbx_meter_bytes(&c->meter, len, c->path, err);

	if (r < 0)
		return r;
	c->ends_in_hole = false;
	r = sbx_write_all(c->file.fd, data, len);
	return r < 0 ? fail_write(c, -r, err) : 0;
}

static int on_hole(void *owner, uint64_t bytes, struct sbx_error *err)
{
	struct copy_out *c = owner;
	int r = sbx_meter_bytes(&c->meter, bytes, c->path, err);

	if (r < 0)
		return r;
	c->ends_in_hole = true;
	return lseek(c->file.fd, (off_t)bytes, SEEK_CUR) < 0 ? fail_write(c, errno, err) : 0;
}

/* ---- where it goes ---- */

/*
 * The folder is looked up as the caller wrote it, the last name is not: `to` ends in it, however
 * many slashes come behind. "." and "/" are folders that are there already.
 */
static int open_parent(struct copy_out *c, const char *to, struct sbx_error *err)
{
	auto_free char *folder = strdup(to);
	size_t len = strlen(to);
	char *slash;

	if (folder == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot copy to '%s'", to);
	while (len > 1 && folder[len - 1] == '/')
		folder[--len] = '\0';
	slash = strrchr(folder, '/');
	if (sbx_beneath_is_path(slash ? slash + 1 : folder)) {
		const char *name = slash ? slash + 1 : folder;

		snprintf(c->name, sizeof(c->name), "%s", name);
		if (slash != NULL)
			slash[slash == folder] = '\0';
	}
	if (len == 0)
		return sbx_fail(err, SBX_E_INVALID, "there is no path to copy '%s' to", c->from);
	c->parent_fd = open(slash == NULL && c->name[0] ? "." : folder,
			    O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->parent_fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"the folder that '%s' is to be in is not there; make it first", to);
	return c->parent_fd < 0 ? sbx_fail_errno(err, errno, "cannot open the folder of '%s'", to)
				: 0;
}

static int fetch(struct copy_out *c, struct sbx_session *session, char *inside,
		 struct sbx_error *err)
{
	const struct sbx_sink sink = {on_entry, on_data, on_hole, c};
	int r = sbx_fetch_tree(session, inside, &sink, c->meter.how->cancel, err);

	if (r == 0)
		r = end_file(c, err);
	if (r == 0 && !c->begun)
		r = sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent nothing of '%s'", c->from);
	return r;
}

int sbx_session_get(struct sbx_session *session, const char *from, const char *to,
		    const struct sbx_copy *how, struct sbx_copy_report *ret_report,
		    struct sbx_error *err)
{
	auto_free struct copy_out *c = calloc(1, sizeof(*c));
	char inside[PATH_MAX];
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (c == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot copy '%s'", from);
	sbx_meter_init(&c->meter, how);
	c->from = from;
	c->parent_fd = c->root_fd = c->file.fd = c->file.folder_fd = -1;
	r = sbx_inside_path(from, inside, err);
	if (r == 0)
		r = open_parent(c, to, err);
	if (r == 0)
		r = fetch(c, session, inside, err);
	sbx_new_file_done(&c->file);
	if (c->root_fd >= 0)
		close(c->root_fd);
	if (c->parent_fd >= 0)
		close(c->parent_fd);
	if (ret_report != NULL && r == 0)
		*ret_report = c->meter.report;
	return r;
}
