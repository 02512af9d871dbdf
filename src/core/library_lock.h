/* SPDX-License-Identifier: MIT */
/*
 * The locks of the store (library_store.h): flock(2) on files of the index, which the kernel
 * gives up when their holder dies. A file that was removed while one waited for it is no lock.
 */
#pragma once

#include "core/library_store.h"

#include <stdatomic.h>
#include <stdint.h>

/* What a wait ends by. */
struct sbx_store_wait {
	uint64_t deadline_ns; /* 0: none */
	struct sbx_cancel *cancel;
	const atomic_bool *ended;    /* becomes true when there is no use any more; or NULL */
	sbx_install_fn *on_progress; /* told that somebody else is at it */
	void *userdata;
};

/* One moment of waiting; fails when there is reason to give up. */
int sbx_store_wait(const struct sbx_store_wait *wait, struct sbx_error *err);

/*
 * Take the lock of a set, shared or alone: waits for who has it. The lock is *ret_fd until that
 * is closed.
 */
int sbx_store_lock(const struct sbx_store *store, const char *id, bool alone,
		   const struct sbx_store_wait *wait, int *ret_fd, struct sbx_error *err);

/* Note that the set is used now. */
void sbx_store_touch(int lock_fd);

/* The lock of a set alone, if nobody has it: a descriptor, or -1. */
int sbx_store_try_lock(const struct sbx_store *store, const char *id);

/* The lock of the store itself, for moments only: a descriptor, or -1. */
int sbx_store_lock_all(const struct sbx_store *store);

/* "ID.end" of the index. */
void sbx_store_file_name(const char *id, const char *end, char ret[64]);
