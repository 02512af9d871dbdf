/* SPDX-License-Identifier: MIT */
#include "agent/get.h"

#include "agent/paths.h"
#include "agent/send.h"
#include "base/auto.h"
#include "base/sparse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- begin and end ---- */

void get_done(struct get *g)
{
	if (g->fd >= 0)
		close(g->fd);
	if (g->walks)
		sbx_walk_done(&g->walk);
	*g = (struct get){.fd = -1};
}

/* From now on the bytes of this file go. */
static void start_file(struct get *g, int fd, uint64_t size)
{
	g->fd = fd;
	g->at = g->data_end = g->offset < size ? g->offset : size;
	g->end = g->length < size - g->at ? g->at + g->length : size;
}

static int begin_walk(struct get *g, int fd, bool deep)
{
	int r = sbx_walk_begin(&g->walk, fd, deep);

	g->walks = r == 0;
	return r;
}

int get_begin(struct get *g, struct sbx_conn *conn, uint32_t channel, const struct wire_get *m,
	      const struct agent_fence *fence)
{
	auto_close int fd = path_open(fence, m->path, O_RDONLY | O_NONBLOCK);
	struct stat st;
	int r = 0;

	*g = (struct get){
		.fd = -1,
		.files = true,
		.offset = m->offset,
		.length = m->length,
		.most = m->most,
		.entries = UINT64_MAX,
		.seen = UINT64_MAX,
	};
	if (fd < 0)
		return fd == -ENXIO ? -EINVAL : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (sbx_is_on_proc(fd) || !(S_ISREG(st.st_mode) || (m->deep && S_ISDIR(st.st_mode))))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > m->most)
		return -EFBIG;
	if (S_ISDIR(st.st_mode))
		r = begin_walk(g, take_fd(fd), true);
	if (r < 0)
		return r;
	path_send_entry(conn, channel, &st, path_kind(&st), "");
	if (S_ISREG(st.st_mode))
		start_file(g, take_fd(fd), (uint64_t)st.st_size);
	return 0;
}

int list_begin(struct get *g, const struct wire_list *m, const struct agent_fence *fence)
{
	int fd = path_open(fence, m->path, O_RDONLY | O_DIRECTORY);

	*g = (struct get){
		.fd = -1,
		.entries = m->most,
		.seen = m->most_seen,
		.since_ns = m->since_ns,
	};
	return fd < 0 ? fd : begin_walk(g, fd, m->deep);
}

/* ---- bytes of a file ---- */

static void send_hole(struct get *g, struct sbx_conn *conn, uint32_t channel, uint64_t bytes)
{
	struct sbx_buf payload = SBX_BUF_INIT(64);

	wire_hole_format(&payload, &(struct wire_hole){.bytes = bytes});
	send_bytes(conn, WIRE_HOLE, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
	g->at += bytes;
}

static int end_file(struct get *g)
{
	close(g->fd);
	g->fd = -1;
	return 0;
}

/* Read a piece: the bytes, 0 at the end of the file, or -errno. */
static ssize_t copy_data(struct get *g, struct sbx_conn *conn, uint32_t channel, size_t len)
{
	struct sbx_error ignored;
	char *at = sbx_conn_begin(conn, len, &ignored);
	ssize_t n;

	if (at == NULL)
		return -ENOBUFS;
	n = pread(g->fd, at, len, (off_t)g->at);
	if (n > 0)
		sbx_conn_commit(conn, WIRE_DATA, channel, (size_t)n);
	return n < 0 ? -errno : n;
}

/* A file that became shorter ends early; one that grew is cut at its first size. */
static int send_data(struct get *g, struct sbx_conn *conn, uint32_t channel, size_t *credit)
{
	uint64_t left = g->data_end - g->at;
	size_t len = *credit < WIRE_PAYLOAD_MAX ? *credit : WIRE_PAYLOAD_MAX;
	ssize_t n = 0;

	len = left < len ? (size_t)left : len;
	if (len >= SBX_BULK_LEAST)
		n = sbx_conn_splice_file(conn, channel, g->fd, g->at, len);
	if (n <= 0)
		n = copy_data(g, conn, channel, len);
	if (n < 0)
		return n == -EINTR ? 0 : (int)n;
	if (n == 0)
		return end_file(g);
	*credit -= (size_t)n;
	g->at += (uint64_t)n;
	return 0;
}

static int step_file(struct get *g, struct sbx_conn *conn, uint32_t channel, size_t *credit)
{
	struct sbx_extent extent;

	if (g->at == g->end)
		return end_file(g);
	if (g->at < g->data_end)
		return send_data(g, conn, channel, credit);
	extent = sbx_next_extent(g->fd, g->at, g->end);
	g->data_end = extent.data_end;
	if (extent.hole > 0)
		send_hole(g, conn, channel, extent.hole);
	else if (extent.data_end == g->at)
		return end_file(g);
	return 0;
}

/* ---- entries ---- */

/* Open a file of a tree; what cannot be read any more or at all is one that does not go. */
static enum wire_entry_kind open_entry(struct get *g, struct stat *st)
{
	int fd = sbx_walk_open(&g->walk);

	if (fd < 0)
		return WIRE_OTHER;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || sbx_is_on_proc(fd)) {
		close(fd);
		return WIRE_OTHER;
	}
	start_file(g, fd, (uint64_t)st->st_size);
	return WIRE_FILE;
}

/* A file that is there for longer than the host asks about, or none. */
static bool is_old(const struct get *g, const struct stat *st)
{
	return g->since_ns != 0 &&
	       (!S_ISREG(st->st_mode) || path_time_ns(&st->st_ctim) < g->since_ns);
}

static int step_walk(struct get *g, struct sbx_conn *conn, uint32_t channel)
{
	enum wire_entry_kind kind;
	struct stat st;
	bool closed;
	int r = sbx_walk_next(&g->walk, &st, &closed);

	if (r <= 0)
		return r < 0 ? r : 1;
	if (g->seen == 0)
		return -E2BIG;
	g->seen--;
	if (is_old(g, &st))
		return 0;
	if (g->entries == 0)
		return -E2BIG;
	g->entries--;
	kind = path_kind(&st);
	if (g->files && kind == WIRE_FILE)
		kind = open_entry(g, &st);
	if (g->files && closed)
		kind = WIRE_OTHER;
	path_send_entry(conn, channel, &st, kind, g->walk.path);
	return g->fd >= 0 && (uint64_t)st.st_size > g->most ? -EFBIG : 0;
}

int get_step(struct get *g, struct sbx_conn *conn, uint32_t channel, size_t *credit)
{
	if (g->fd >= 0)
		return step_file(g, conn, channel, credit);
	return g->walks ? step_walk(g, conn, channel) : 1;
}

bool get_needs_no_credit(const struct get *g)
{
	return g->fd < 0 || g->at == g->end;
}
