/* SPDX-License-Identifier: MIT */
#include "core/library_files.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define NO_HASH "0"

/* A walk over a tree in the order of names, which is the order of the list. */
static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *open_walk(const char *path)
{
	char *const paths[] = {(char *)path, NULL};

	return fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
}

static void close_walk(FTS **walk)
{
	if (*walk != NULL)
		fts_close(*walk);
}

/* The path below the root of the walk; "" is the root itself. */
static const char *below(const FTSENT *entry, size_t root_len)
{
	const char *path = entry->fts_path + root_len;

	return *path == '/' ? path + 1 : path;
}

static int hash_file(const char *path, uint64_t *ret_size, char ret[SBX_SHA256_HEX],
		     struct sbx_error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char data[65536];
	ssize_t n;

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open '%s'", path);
	*ret_size = 0;
	while ((n = sbx_read_full(fd, data, sizeof(data))) > 0) {
		sbx_sha256_add(&hash, data, (size_t)n);
		*ret_size += (uint64_t)n;
	}
	if (n < 0)
		return sbx_fail_errno(err, (int)-n, "cannot read '%s'", path);
	sbx_sha256_hex(&hash, ret);
	return 0;
}

/* The record of one file or folder as it is now. */
static int describe(const FTSENT *entry, size_t root_len, mode_t mode, struct sbx_buf *out,
		    uint64_t *bytes, struct sbx_error *err)
{
	bool folder = entry->fts_info == FTS_D;
	char hash[SBX_SHA256_HEX] = NO_HASH;
	uint64_t size = 0;
	int r = folder ? 0 : hash_file(entry->fts_accpath, &size, hash, err);

	if (r < 0)
		return r;
	sbx_buf_printf(out, "%c %04o %" PRIu64 " %s ", folder ? 'd' : 'f', mode & 07777u, size, hash);
	sbx_buf_puts(out, below(entry, root_len));
	sbx_buf_append(out, "", 1);
	*bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
	return out->failed ? sbx_fail(err, SBX_E_LIMIT, "the list of files is too long") : 0;
}

/* ---- sealing ---- */

static bool may_be_in_a_set(const FTSENT *entry)
{
	const struct stat *st = entry->fts_statp;

	return entry->fts_info == FTS_D ||
	       (entry->fts_info == FTS_F && S_ISREG(st->st_mode) && st->st_nlink == 1);
}

static int seal(const FTSENT *entry, mode_t *ret_mode, struct sbx_error *err)
{
	mode_t mode = entry->fts_info == FTS_D ? 0755 : 0444;

	if (!may_be_in_a_set(entry))
		return sbx_fail(err, SBX_E_DENIED, "'%s' is neither a file nor a folder", entry->fts_path);
	if (entry->fts_info == FTS_F && (entry->fts_statp->st_mode & 0100))
		mode = 0555;
	if (lchown(entry->fts_accpath, geteuid(), getegid()) < 0 ||
	    chmod(entry->fts_accpath, mode) < 0)
		return sbx_fail_errno(err, errno, "cannot make '%s' read-only", entry->fts_path);
	*ret_mode = mode;
	return 0;
}

int sbx_set_seal(const char *path, struct sbx_buf *list, uint64_t *ret_bytes, struct sbx_error *err)
{
	__attribute__((cleanup(close_walk))) FTS *walk = open_walk(path);
	uint64_t bytes = 0;
	size_t count = 0;
	FTSENT *entry;
	int r = 0;

	while (walk != NULL && r == 0 && (errno = 0, entry = fts_read(walk)) != NULL) {
		mode_t mode = 0;

		if (entry->fts_info == FTS_DP)
			continue;
		if (++count > SBX_SET_FILES_MAX)
			return sbx_fail(err, SBX_E_LIMIT, "more than %u files", SBX_SET_FILES_MAX);
		r = seal(entry, &mode, err);
		if (r == 0)
			r = describe(entry, strlen(path), mode, list, &bytes, err);
	}
	if (r == 0 && (walk == NULL || errno != 0))
		return sbx_fail_errno(err, errno, "cannot read '%s'", path);
	*ret_bytes = bytes;
	return r;
}

/* ---- comparing ---- */

/* The path of a record: what stands behind its fourth blank. */
static const char *record_path(const char *record)
{
	for (int i = 0; i < 4; i++) {
		record = strchr(record, ' ');
		if (record == NULL)
			return "";
		record++;
	}
	return record;
}

static int differs(const char *path, const char *how, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_DENIED, "'%.300s' %s", path[0] ? path : ".", how);
}

/* Sorted walks differ first where one of them has what the other has not. */
static int tell_difference(const char *now, const char *then, const FTSENT *entry, size_t root_len,
			   struct sbx_error *err)
{
	const char *here = below(entry, root_len), *noted = then ? record_path(then) : "";

	if (then == NULL)
		return differs(here, "was not there when the set was made", err);
	if (strcmp(here, noted) == 0)
		return differs(here, now[0] != then[0] ? "is of another kind than it was"
						       : "is not what it was", err);
	return sbx_fail(err, SBX_E_DENIED, "'%.200s' stands where '%.200s' was when the set was made",
			here, noted);
}

int sbx_set_compare(const char *path, const char *list, size_t len, struct sbx_error *err)
{
	__attribute__((cleanup(close_walk))) FTS *walk = open_walk(path);
	const char *at = list, *end = list + len;
	uint64_t bytes = 0;
	FTSENT *entry;

	while (walk != NULL && (errno = 0, entry = fts_read(walk)) != NULL) {
		auto_buf struct sbx_buf now = SBX_BUF_INIT(PATH_MAX * 2);
		const char *then = at < end ? at : NULL;
		int r;

		if (entry->fts_info == FTS_DP)
			continue;
		if (!may_be_in_a_set(entry))
			return differs(below(entry, strlen(path)), "is neither a file nor a folder", err);
		r = describe(entry, strlen(path), entry->fts_statp->st_mode, &now, &bytes, err);
		if (r < 0)
			return r;
		if (then == NULL || strcmp(now.data, then) != 0)
			return tell_difference(now.data, then, entry, strlen(path), err);
		at += strlen(at) + 1;
	}
	if (walk == NULL || errno != 0)
		return sbx_fail_errno(err, errno, "cannot read '%s'", path);
	return at < end ? differs(record_path(at), "is gone", err) : 0;
}
