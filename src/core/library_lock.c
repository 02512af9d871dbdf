/* SPDX-License-Identifier: MIT */
#include "core/library_lock.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_LOOK_MS 50

void sbx_store_file_name(const char *id, const char *end, char ret[64])
{
	snprintf(ret, 64, "%.16s%s", id, end);
}

/* An open file that nobody has removed in the meantime. */
static int open_lock(int folder_fd, const char *name)
{
	return openat(folder_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static bool is_linked(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* An interrupt that nobody took keeps the eventfd readable: then the time is all that waits. */
static void wait_a_moment(struct sbx_cancel *cancel)
{
	struct pollfd p = {.fd = cancel ? cancel->eventfd : -1, .events = POLLIN};

	if (cancel != NULL && atomic_load(&cancel->interrupts) > 0)
		p.fd = -1;
	poll(&p, 1, LOCK_LOOK_MS);
}

int sbx_store_wait(const struct sbx_store_wait *wait, struct sbx_error *err)
{
	if (sbx_cancel_is_killed(wait->cancel))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the installation was cancelled");
	if (wait->ended != NULL && atomic_load(wait->ended))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the session that it was for has ended");
	if (wait->deadline_ns != 0 && sbx_now_ns() >= wait->deadline_ns)
		return sbx_fail(err, SBX_E_TIMEOUT, "somebody else is still installing libraries");
	wait_a_moment(wait->cancel);
	return 0;
}

static int wait_for_lock(int fd, int how, const struct sbx_store_wait *wait, struct sbx_error *err)
{
	static const char text[] = "waiting for somebody else who installs the same libraries ...\n";
	bool told = false;
	int r = 0;

	while (r == 0 && flock(fd, how | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return sbx_fail_errno(err, errno, "cannot lock a set of libraries");
		if (!told && wait->on_progress != NULL)
			wait->on_progress(text, sizeof(text) - 1, wait->userdata);
		told = true;
		r = sbx_store_wait(wait, err);
	}
	return r;
}

int sbx_store_lock(const struct sbx_store *store, const char *id, bool alone,
		   const struct sbx_store_wait *wait, int *ret_fd, struct sbx_error *err)
{
	char name[64];

	sbx_store_file_name(id, ".lock", name);
	for (;;) {
		auto_close int fd = open_lock(store->index_fd, name);
		int r;

		if (fd < 0)
			return sbx_fail_errno(err, errno, "cannot open the lock of a set of libraries");
		r = wait_for_lock(fd, alone ? LOCK_EX : LOCK_SH, wait, err);
		if (r < 0)
			return r;
		if (is_linked(fd)) {
			*ret_fd = take_fd(fd);
			return 0;
		}
	}
}

void sbx_store_touch(int lock_fd)
{
	futimens(lock_fd, NULL);
}

int sbx_store_lock_all(const struct sbx_store *store)
{
	auto_close int fd = open_lock(store->fd, "lock");

	while (fd >= 0 && flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return take_fd(fd);
}

int sbx_store_try_lock(const struct sbx_store *store, const char *id)
{
	char name[64];
	auto_close int fd = -1;

	sbx_store_file_name(id, ".lock", name);
	fd = open_lock(store->index_fd, name);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_linked(fd))
		return -1;
	return take_fd(fd);
}
