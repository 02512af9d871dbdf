/* SPDX-License-Identifier: MIT */
#include "core/control.h"

#include "base/auto.h"
#include "wire/message.h"

#include <errno.h>

#define LENGTH_SIZE 4u

void sbx_control_init(struct sbx_control *c, sbx_control_fn *on_message, void *owner)
{
	*c = (struct sbx_control){
		.on_message = on_message,
		.owner = owner,
		.in = SBX_BUF_INIT(LENGTH_SIZE + SBX_CONTROL_MAX + WIRE_PAYLOAD_MAX),
		.out = SBX_BUF_INIT(2 * (LENGTH_SIZE + SBX_CONTROL_MAX)),
		.credit = WIRE_WINDOW,
	};
}

void sbx_control_done(struct sbx_control *c)
{
	sbx_buf_done(&c->in);
	sbx_buf_done(&c->out);
}

/* ---- to the program ---- */

int sbx_control_send(struct sbx_control *c, const char *message, size_t len, struct sbx_error *err)
{
	if (len > SBX_CONTROL_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "a message is larger than %u MiB",
				SBX_CONTROL_MAX >> 20);
	wire_put_string(&c->out, message, len);
	return c->out.failed ? sbx_fail_errno(err, ENOMEM, "cannot queue a message") : 0;
}

int sbx_control_feed(struct sbx_control *c, struct sbx_link *link, uint32_t channel,
		     struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && c->out_at < c->out.len && c->credit > 0) {
		size_t n = c->out.len - c->out_at;

		n = n < c->credit ? n : c->credit;
		n = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
		r = sbx_link_queue(link, WIRE_DATA, channel, c->out.data + c->out_at, n, err);
		c->out_at += n;
		c->credit -= n;
	}
	/* A large one is not kept: a kernel lives long. */
	if (c->out_at > 0 && c->out_at == c->out.len) {
		sbx_buf_done(&c->out);
		c->out_at = 0;
	}
	return r;
}

/* ---- from the program ---- */

static uint32_t length_at(const struct sbx_buf *in, size_t at)
{
	struct wire_reader r = wire_reader_over(in->data + at, LENGTH_SIZE);

	return wire_get_u32(&r);
}

/* All messages that are whole. */
static void act_on_messages(struct sbx_control *c)
{
	size_t at = 0;

	while (c->fault == NULL && c->in.len - at >= LENGTH_SIZE) {
		uint32_t len = length_at(&c->in, at);

		if (len > SBX_CONTROL_MAX)
			c->fault = "a message that is too long";
		if (c->fault != NULL || c->in.len - at - LENGTH_SIZE < len)
			break;
		c->fault = c->on_message(c->owner, c->in.data + at + LENGTH_SIZE, len);
		at += LENGTH_SIZE + len;
	}
	if (c->fault != NULL || at == c->in.len)
		sbx_buf_done(&c->in);
	else
		sbx_buf_consume(&c->in, at);
}

static int grant(struct sbx_control *c, struct sbx_link *link, uint32_t channel,
		 struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_credit credit = {.flow = WIRE_FLOW_DATA, .bytes = (uint32_t)c->consumed};

	c->consumed = 0;
	wire_credit_format(&payload, &credit);
	return sbx_link_queue(link, WIRE_CREDIT, channel, payload.data, payload.len, err);
}

static int take_data(struct sbx_control *c, struct sbx_link *link, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	if (c->ended)
		return sbx_fail(err, SBX_E_PROTOCOL,
				"the sandbox sent data of a control socket behind its end");
	if (c->fault == NULL) {
		sbx_buf_append(&c->in, frame->payload, frame->len);
		if (c->in.failed)
			c->fault = "more than there is memory for";
		act_on_messages(c);
	}
	c->consumed += frame->len;
	return c->consumed < WIRE_WINDOW / 2 ? 0 : grant(c, link, frame->channel, err);
}

static int take_credit(struct sbx_control *c, const struct wire_frame *frame,
		       struct sbx_error *err)
{
	struct wire_credit credit;

	if (!wire_credit_parse(frame->payload, frame->len, &credit) ||
	    credit.bytes > WIRE_WINDOW - c->credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox granted credit it did not owe");
	c->credit += credit.bytes;
	return 0;
}

bool sbx_control_wants(const struct wire_frame *frame)
{
	struct wire_credit credit;

	if (frame->type == WIRE_CREDIT)
		return wire_credit_parse(frame->payload, frame->len, &credit) &&
		       credit.flow == WIRE_FLOW_DATA;
	return frame->type == WIRE_DATA || frame->type == WIRE_FINISH;
}

int sbx_control_take(struct sbx_control *c, struct sbx_link *link, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	if (frame->type == WIRE_CREDIT)
		return take_credit(c, frame, err);
	if (frame->type == WIRE_DATA)
		return take_data(c, link, frame, err);
	c->ended = true;
	return 0;
}
