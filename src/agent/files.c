/* SPDX-License-Identifier: MIT */
#include "agent/files.h"

#include "agent/paths.h"
#include "agent/send.h"
#include "agent/user.h"
#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_ENOUGH (256u << 10) /* wait while so much is not sent yet */
#define TURN_STEPS   256	  /* then others have their turn */

/* ---- begin and end ---- */

static void transfer_end(struct transfer *t)
{
	if (t->kind == TRANSFER_PUT)
		put_done(&t->put);
	if (t->kind == TRANSFER_GET)
		get_done(&t->get);
	if (t->kind == TRANSFER_REMOVE)
		removal_done(&t->removal);
	free(t->path);
	t->path = NULL;
	t->kind = TRANSFER_NONE;
}

static void answer(struct transfer *t, struct sbx_conn *conn)
{
	uint32_t channel = t->channel;

	transfer_end(t);
	send_bytes(conn, WIRE_CLOSE, channel, NULL, 0);
}

static const char *verb(enum transfer_kind kind)
{
	if (kind == TRANSFER_PUT)
		return "write";
	return kind == TRANSFER_REMOVE ? "remove" : "read";
}

static void fail(struct transfer *t, struct sbx_conn *conn, int sys_errno)
{
	auto_free char *path = take_ptr(t->path);
	enum transfer_kind kind = t->kind;

	transfer_end(t);
	if (sys_errno == E2BIG)
		send_error(conn, t->channel, SBX_E_LIMIT, 0, "'%.256s' has too many entries",
			   path ? path : "");
	else
		path_refuse(conn, t->channel, sys_errno, verb(kind), path ? path : "");
}

static void start(struct transfer *t, enum transfer_kind kind, const char *path)
{
	t->kind = kind;
	t->path = strdup(path);
	t->credit = kind == TRANSFER_GET ? WIRE_FILE_WINDOW : 0;
}

/* ---- what the host may ask for ---- */

static bool begin_put(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	struct wire_put m;
	int r;

	if (!wire_put_parse(frame->payload, frame->len, &m))
		return false;
	start(t, TRANSFER_PUT, m.path);
	t->left = m.size;
	r = put_begin(&t->put, &m, t->fence);
	if (r < 0)
		fail(t, conn, -r);
	wire_put_done(&m);
	return true;
}

static bool begin_get(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	struct wire_get m;
	int r;

	if (!wire_get_parse(frame->payload, frame->len, &m))
		return false;
	start(t, TRANSFER_GET, m.path);
	r = get_begin(&t->get, conn, t->channel, &m, t->fence);
	if (r < 0)
		fail(t, conn, -r);
	wire_get_done(&m);
	return true;
}

static bool begin_list(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	struct wire_list m;
	int r;

	if (!wire_list_parse(frame->payload, frame->len, &m))
		return false;
	start(t, TRANSFER_GET, m.path);
	r = list_begin(&t->get, &m, t->fence);
	if (r < 0)
		fail(t, conn, -r);
	wire_list_done(&m);
	return true;
}

static bool begin_remove(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	struct wire_remove m;
	int r;

	if (!wire_remove_parse(frame->payload, frame->len, &m))
		return false;
	start(t, TRANSFER_REMOVE, m.path);
	r = removal_begin(&t->removal, t->fence, m.path, m.deep);
	if (r < 0)
		fail(t, conn, -r);
	else if (r > 0)
		answer(t, conn);
	wire_remove_done(&m);
	return true;
}

static bool tell_stat(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	struct wire_path m;
	struct stat st;
	int r;

	if (!wire_path_parse(frame->payload, frame->len, &m))
		return false;
	r = path_stat(t->fence, m.path, &st);
	if (r < 0) {
		path_refuse(conn, t->channel, -r, "look at", m.path);
	} else {
		path_send_entry(conn, t->channel, &st, path_kind(&st), "");
		send_bytes(conn, WIRE_CLOSE, t->channel, NULL, 0);
	}
	wire_path_done(&m);
	return true;
}

static bool make_folder(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame)
{
	struct wire_mkdir m;
	const char *rest;
	int fd = -1, base_fd;

	if (!wire_mkdir_parse(frame->payload, frame->len, &m))
		return false;
	base_fd = path_base(t->fence, m.path, &rest);
	fd = base_fd < 0 ? base_fd : sbx_beneath_make_folders(base_fd, rest, m.mode);
	if (fd < 0)
		path_refuse(conn, t->channel, -fd, "make the folder", m.path);
	else
		send_bytes(conn, WIRE_CLOSE, t->channel, NULL, 0);
	if (fd >= 0)
		close(fd);
	if (base_fd >= 0)
		close(base_fd);
	wire_mkdir_done(&m);
	return true;
}

/* Called as the user, with t->channel and t->fence set; false: malformed. */
typedef bool begin_fn(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame);

static const struct {
	enum wire_type type;
	begin_fn *begin;
} rows[] = {
	{WIRE_PUT, begin_put},	     {WIRE_GET, begin_get},  {WIRE_LIST, begin_list},
	{WIRE_REMOVE, begin_remove}, {WIRE_STAT, tell_stat}, {WIRE_MKDIR, make_folder},
};

static begin_fn *find_row(enum wire_type type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type == type)
			return rows[i].begin;
	}
	return NULL;
}

bool transfer_begins_with(enum wire_type type)
{
	return find_row(type) != NULL;
}

int transfer_begin(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		   const struct agent_fence *fence, struct sbx_error *err)
{
	begin_fn *begin = find_row(frame->type);
	bool well_formed;

	if (t->kind != TRANSFER_NONE) {
		send_error(conn, frame->channel, SBX_E_UNAVAILABLE, 0, "another file is under way");
		return 0;
	}
	t->channel = frame->channel;
	t->fence = fence;
	act_as_user(fence);
	well_formed = begin(t, conn, frame);
	act_as_agent(fence);
	if (!well_formed)
		return sbx_fail(err, SBX_E_PROTOCOL, "malformed %s", wire_type_name(frame->type));
	return 0;
}

/* ---- what comes for one that is under way ---- */

static int out_of_turn(const struct wire_frame *frame, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_PROTOCOL, "%s is out of turn or beyond its credit",
			wire_type_name(frame->type));
}

static int take_credit(struct transfer *t, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_credit m;

	if (!wire_credit_parse(frame->payload, frame->len, &m) || m.flow != WIRE_FLOW_DATA ||
	    m.bytes > WIRE_FILE_WINDOW - t->credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "malformed CREDIT");
	t->credit += m.bytes;
	return 0;
}

static int take_data(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	int r;

	if (frame->len > t->left || frame->len > WIRE_FILE_WINDOW - t->credit)
		return out_of_turn(frame, err);
	r = put_data(&t->put, frame->payload, frame->len);
	if (r < 0) {
		fail(t, conn, -r);
		return 0;
	}
	t->left -= frame->len;
	t->credit += frame->len;
	if (t->credit < WIRE_WINDOW / 2)
		return 0;
	send_credit(conn, t->channel, WIRE_FLOW_DATA, t->credit);
	t->credit = 0;
	return 0;
}

static int take_hole(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	struct wire_hole m;
	int r;

	if (!wire_hole_parse(frame->payload, frame->len, &m) || m.bytes > t->left)
		return sbx_fail(err, SBX_E_PROTOCOL, "malformed HOLE");
	t->left -= m.bytes;
	r = put_hole(&t->put, m.bytes);
	if (r < 0)
		fail(t, conn, -r);
	return 0;
}

static void finish_put(struct transfer *t, struct sbx_conn *conn)
{
	int r = put_finish(&t->put);

	if (r < 0)
		fail(t, conn, -r);
	else
		answer(t, conn);
}

/* CLOSE before the end gives it up. */
static int take_put(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		    struct sbx_error *err)
{
	if (frame->type == WIRE_DATA)
		return take_data(t, conn, frame, err);
	if (frame->type == WIRE_HOLE)
		return take_hole(t, conn, frame, err);
	if (frame->type != WIRE_FINISH && frame->type != WIRE_CLOSE)
		return out_of_turn(frame, err);
	if (frame->type == WIRE_FINISH || t->left == 0)
		finish_put(t, conn);
	else
		transfer_end(t);
	return 0;
}

int transfer_take(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		  struct sbx_error *err)
{
	int r = 0;

	act_as_user(t->fence);
	if (t->kind == TRANSFER_PUT)
		r = take_put(t, conn, frame, err);
	else if (frame->type == WIRE_CLOSE)
		transfer_end(t);
	else if (t->kind == TRANSFER_GET && frame->type == WIRE_CREDIT)
		r = take_credit(t, frame, err);
	else
		r = out_of_turn(frame, err);
	act_as_agent(t->fence);
	return r;
}

void transfer_abort(struct transfer *t)
{
	if (t->kind == TRANSFER_NONE)
		return;
	act_as_user(t->fence);
	transfer_end(t);
	act_as_agent(t->fence);
}

/* ---- the loop's part ---- */

bool transfer_wants_turn(const struct transfer *t, const struct sbx_conn *conn)
{
	if (t->kind == TRANSFER_GET)
		return sbx_conn_queued(conn) < QUEUE_ENOUGH &&
		       (t->credit > 0 || get_needs_no_credit(&t->get));
	return t->kind == TRANSFER_REMOVE;
}

void transfer_pump(struct transfer *t, struct sbx_conn *conn)
{
	struct sbx_error ignored;

	if (!transfer_wants_turn(t, conn))
		return;
	act_as_user(t->fence);
	for (int i = 0; i < TURN_STEPS && transfer_wants_turn(t, conn); i++) {
		int r = t->kind == TRANSFER_REMOVE
				? removal_step(&t->removal)
				: get_step(&t->get, conn, t->channel, &t->credit);

		if (r < 0)
			fail(t, conn, -r);
		else if (r > 0)
			answer(t, conn);
		/* The host reads while we read on; what goes wrong shows at the loop's own flush. */
		if (sbx_conn_queued(conn) >= WIRE_PAYLOAD_MAX)
			sbx_conn_flush(conn, &ignored);
	}
	act_as_agent(t->fence);
}
