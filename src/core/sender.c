/* SPDX-License-Identifier: MIT */
/* Files and folders that go into a sandbox, one behind the other, many on their way at once. */
#include "core/transfer.h"

#include "base/auto.h"
#include "core/session.h"

#include <errno.h>
#include <string.h>

#define QUEUE_ENOUGH (512u << 10) /* queued and not written yet: the agent is slower than we are */

/* ---- what the agent says ---- */

static void end_slot(struct sbx_sender_slot *slot)
{
	sbx_link_remove(&slot->sender->session->link, &slot->ch);
	slot->busy = false;
}

static int on_frame(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_sender_slot *slot = ch->owner;
	struct sbx_sender *s = slot->sender;
	struct wire_credit credit;

	if (frame->type == WIRE_CREDIT) {
		if (!wire_credit_parse(frame->payload, frame->len, &credit) ||
		    credit.flow != WIRE_FLOW_DATA || credit.bytes > WIRE_FILE_WINDOW - slot->credit)
			return sbx_fail(err, SBX_E_PROTOCOL,
					"the sandbox granted credit it did not owe");
		slot->credit += credit.bytes;
		return 0;
	}
	if (frame->type == WIRE_ERROR && s->refusal.code == SBX_OK)
		sbx_link_refusal(frame, &s->refusal);
	else if (frame->type != WIRE_ERROR && (frame->type != WIRE_CLOSE || slot == s->file))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s while it took a file",
				wire_type_name(frame->type));
	if (slot == s->file)
		s->file = NULL;
	end_slot(slot);
	return 0;
}

/* ---- the loop ---- */

static int refused(const struct sbx_sender *s, struct sbx_error *err)
{
	if (s->refusal.code == SBX_OK)
		return 0;
	*err = s->refusal;
	return -(int)err->code;
}

/* Wait for something to happen: for_room, that the stream takes what is queued. */
static int turn(struct sbx_sender *s, bool for_room, struct sbx_error *err)
{
	struct sbx_link *link = &s->session->link;
	int r = sbx_copy_cancelled(s->cancel, err);

	if (r == 0)
		r = sbx_session_check(s->session, err);
	if (r == 0)
		r = for_room ? sbx_link_await_room(link, s->cancel, err)
			     : sbx_link_await(link, s->cancel, err);
	if (r == 0 && link->lost)
		return sbx_session_fail_lost(s->session, err);
	return r < 0 ? r : refused(s, err);
}

static int flush(struct sbx_sender *s, struct sbx_error *err)
{
	int r = sbx_conn_flush(&s->session->link.conn, err);

	if (r < 0)
		s->session->link.failed = true;
	return r;
}

/* Wait until the stream has taken most of what is queued. */
static int make_room(struct sbx_sender *s, struct sbx_error *err)
{
	int r = refused(s, err);

	if (r == 0 && sbx_link_queued(&s->session->link) >= QUEUE_ENOUGH)
		r = flush(s, err);
	while (r == 0 && sbx_link_queued(&s->session->link) >= QUEUE_ENOUGH)
		r = turn(s, true, err);
	return r;
}

static int queue(struct sbx_sender *s, enum wire_type type, struct sbx_sender_slot *slot,
		 const struct sbx_buf *payload, struct sbx_error *err)
{
	if (payload != NULL && payload->failed)
		return sbx_fail_errno(err, ENOMEM, "cannot send to the sandbox");
	return sbx_link_queue(&s->session->link, type, slot->ch.id, payload ? payload->data : NULL,
			      payload ? payload->len : 0, err);
}

/* ---- begin and end ---- */

int sbx_sender_begin(struct sbx_sender *s, struct sbx_session *session, struct sbx_cancel *cancel,
		     struct sbx_error *err)
{
	*s = (struct sbx_sender){.session = session, .cancel = cancel};
	return sbx_session_begin_for(session, cancel, err);
}

static bool is_busy(const struct sbx_sender *s)
{
	for (int i = 0; i < SBX_SENDER_SLOTS; i++) {
		if (s->slots[i].busy)
			return true;
	}
	return false;
}

/* What is half sent is nothing; what else is on its way arrives, and nobody asks. */
static void give_up(struct sbx_sender *s)
{
	struct sbx_error ignored;

	if (s->file != NULL && !s->session->link.failed &&
	    queue(s, WIRE_CLOSE, s->file, NULL, &ignored) < 0)
		s->session->link.failed = true;
	for (int i = 0; i < SBX_SENDER_SLOTS; i++) {
		if (s->slots[i].busy)
			end_slot(&s->slots[i]);
	}
}

int sbx_sender_end(struct sbx_sender *s, int r, struct sbx_error *err)
{
	if (r == 0)
		r = refused(s, err);
	while (r == 0 && is_busy(s))
		r = turn(s, false, err);
	if (r < 0)
		give_up(s);
	sbx_session_end(s->session, r, err);
	return r;
}

/* ---- one file, one folder ---- */

static struct sbx_sender_slot *free_slot(struct sbx_sender *s)
{
	for (int i = 0; i < SBX_SENDER_SLOTS; i++) {
		if (!s->slots[i].busy)
			return &s->slots[i];
	}
	return NULL;
}

/* A channel of its own for one message and what belongs to it. */
static int take_slot(struct sbx_sender *s, struct sbx_sender_slot **ret, struct sbx_error *err)
{
	struct sbx_sender_slot *slot = NULL;
	int r = make_room(s, err);

	while (r == 0 && (slot = free_slot(s)) == NULL)
		r = turn(s, false, err);
	if (r < 0)
		return r;
	*slot = (struct sbx_sender_slot){
		.ch = {.on_frame = on_frame, .owner = slot},
		.sender = s,
		.credit = WIRE_FILE_WINDOW,
		.busy = true,
	};
	sbx_link_add(&s->session->link, &slot->ch);
	*ret = slot;
	return 0;
}

int sbx_sender_folder(struct sbx_sender *s, const char *path, uint32_t mode,
		      struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct sbx_sender_slot *slot;
	int r = take_slot(s, &slot, err);

	if (r < 0)
		return r;
	wire_mkdir_format(&payload, &(struct wire_mkdir){.mode = mode, .path = (char *)path});
	return queue(s, WIRE_MKDIR, slot, &payload, err);
}

int sbx_sender_file(struct sbx_sender *s, const struct wire_put *put, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct wire_put open_ended = *put;
	int r = take_slot(s, &s->file, err);

	if (r < 0)
		return r;
	sbx_artifacts_note_put(s->session, put->path, SBX_RECENT_ANY);
	open_ended.size = UINT64_MAX;
	wire_put_format(&payload, &open_ended);
	return queue(s, WIRE_PUT, s->file, &payload, err);
}

/* Small files go together. */
static int flush_much(struct sbx_sender *s, struct sbx_error *err)
{
	return sbx_link_queued(&s->session->link) < WIRE_PAYLOAD_MAX ? 0 : flush(s, err);
}

char *sbx_sender_room(struct sbx_sender *s, size_t *ret_len, struct sbx_error *err)
{
	int r = make_room(s, err);
	char *at;

	while (r == 0 && s->file->credit == 0)
		r = turn(s, false, err);
	if (r < 0)
		return NULL;
	*ret_len = s->file->credit < WIRE_PAYLOAD_MAX ? s->file->credit : WIRE_PAYLOAD_MAX;
	at = sbx_conn_begin(&s->session->link.conn, *ret_len, err);
	return at;
}

int sbx_sender_commit(struct sbx_sender *s, size_t len, struct sbx_error *err)
{
	sbx_conn_commit(&s->session->link.conn, WIRE_DATA, s->file->ch.id, len);
	s->file->credit -= len;
	return flush_much(s, err);
}

/* A piece by way of memory: the bytes, 0 at the end of the file, or -errno. */
static ssize_t copy_piece(struct sbx_sender *s, int fd, uint64_t offset, size_t len)
{
	struct sbx_conn *conn = &s->session->link.conn;
	struct sbx_error ignored;
	char *at = sbx_conn_begin(conn, len, &ignored);
	ssize_t n;

	if (at == NULL)
		return -ENOBUFS;
	do
		n = pread(fd, at, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		sbx_conn_commit(conn, WIRE_DATA, s->file->ch.id, (size_t)n);
	return n < 0 ? -errno : n;
}

int sbx_sender_from_file(struct sbx_sender *s, int fd, uint64_t offset, uint64_t most,
			 size_t *ret_len, struct sbx_error *err)
{
	int r = make_room(s, err);
	ssize_t n = 0;
	size_t len;

	while (r == 0 && s->file->credit == 0)
		r = turn(s, false, err);
	if (r < 0)
		return r;
	len = s->file->credit < WIRE_PAYLOAD_MAX ? s->file->credit : WIRE_PAYLOAD_MAX;
	len = most < len ? (size_t)most : len;
	if (len >= SBX_BULK_LEAST)
		n = sbx_conn_splice_file(&s->session->link.conn, s->file->ch.id, fd, offset, len);
	if (n <= 0)
		n = copy_piece(s, fd, offset, len);
	if (n < 0)
		return sbx_fail_errno(err, (int)-n, "cannot read a file of this machine");
	s->file->credit -= (size_t)n;
	*ret_len = (size_t)n;
	return flush_much(s, err);
}

int sbx_sender_data(struct sbx_sender *s, const void *data, size_t len, struct sbx_error *err)
{
	const char *from = data;
	int r = 0;

	while (r == 0 && len > 0) {
		size_t room;
		char *at = sbx_sender_room(s, &room, err);

		if (at == NULL)
			return -(int)err->code;
		room = room < len ? room : len;
		memcpy(at, from, room);
		from += room;
		len -= room;
		r = sbx_sender_commit(s, room, err);
	}
	return r;
}

int sbx_sender_hole(struct sbx_sender *s, uint64_t bytes, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	int r = make_room(s, err);

	if (r < 0)
		return r;
	wire_hole_format(&payload, &(struct wire_hole){.bytes = bytes});
	return queue(s, WIRE_HOLE, s->file, &payload, err);
}

int sbx_sender_end_file(struct sbx_sender *s, struct sbx_error *err)
{
	int r = refused(s, err);

	if (r < 0)
		return r;
	r = queue(s, WIRE_FINISH, s->file, NULL, err);
	s->file = NULL;
	return r;
}
