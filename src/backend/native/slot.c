/* SPDX-License-Identifier: MIT */
#include "backend/native/slot.h"

#include "backend/native/ids.h"
#include "base/auto.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* ---- the runtime folder ---- */

static void folder_path(char *ret, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		snprintf(ret, size, "/run/llm-sandbox");
	else if (runtime != NULL && runtime[0] == '/')
		snprintf(ret, size, "%s/llm-sandbox", runtime);
	else
		snprintf(ret, size, "/tmp/llm-sandbox-%u", geteuid());
}

/* Ours alone: a folder that somebody else could prepare would let them hold our locks. */
static int open_folder(int *ret, struct sbx_error *err)
{
	char path[PATH_MAX];
	auto_close int fd = -1;
	struct stat st;

	folder_path(path, sizeof(path));
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return sbx_fail_errno(err, errno, "cannot make the runtime folder '%s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail_errno(err, errno, "cannot open the runtime folder '%s'", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return sbx_fail(err, SBX_E_DENIED,
				"the runtime folder '%s' can be written by somebody else; remove it", path);
	*ret = take_fd(fd);
	return 0;
}

/* ---- locks ---- */

/* The lock of a slot, or -1 when it is held. The file may vanish between open and lock. */
static int lock_slot(int folder_fd, const char *name, int flags)
{
	for (;;) {
		auto_close int fd =
			openat(folder_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
		struct stat held, named;

		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &held) < 0)
			return -1;
		if (fstatat(folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    named.st_ino == held.st_ino)
			return take_fd(fd);
		if (flags == 0)
			return -1;
	}
}

static bool parse_slot(const char *name, unsigned int *ret)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	*ret = (unsigned int)number;
	return name[0] >= '0' && name[0] <= '9' && *end == '\0' && number < IDS_SLOTS;
}

static void sweep_dead(int folder_fd, bool (*sweep)(int slot_fd))
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned int number;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		auto_close int lock = -1;

		if (!parse_slot(entry->d_name, &number))
			continue;
		lock = lock_slot(folder_fd, entry->d_name, 0);
		if (lock < 0)
			continue;
		if (sweep(lock))
			unlinkat(folder_fd, entry->d_name, 0);
	}
	closedir(dir);
}

int slot_take(struct slot *ret, bool (*sweep)(int slot_fd), struct sbx_error *err)
{
	auto_close int folder_fd = -1;
	unsigned int start = (unsigned int)((sbx_now_ns() / 1000 * 2654435761u) >> 7);
	int r = open_folder(&folder_fd, err);

	if (r < 0)
		return r;
	sweep_dead(folder_fd, sweep);
	for (unsigned int i = 0; i < IDS_SLOTS; i++) {
		unsigned int number = (start + i) % IDS_SLOTS;
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "%u", number);
		fd = lock_slot(folder_fd, name, O_CREAT | O_EXCL);
		if (fd < 0)
			continue;
		*ret = (struct slot){.number = number, .lock_fd = fd, .folder_fd = take_fd(folder_fd)};
		return 0;
	}
	return sbx_fail(err, SBX_E_UNAVAILABLE, "%u sandboxes are open already", IDS_SLOTS);
}

void slot_give(struct slot *slot)
{
	char name[16];

	if (slot->lock_fd >= 0) {
		snprintf(name, sizeof(name), "%u", slot->number);
		unlinkat(slot->folder_fd, name, 0);
		close(slot->lock_fd);
	}
	if (slot->folder_fd >= 0)
		close(slot->folder_fd);
	*slot = (struct slot)SLOT_NONE;
}
