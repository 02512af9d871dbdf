/* SPDX-License-Identifier: MIT */
/*
 * The host's end of a program's control socket: messages of a u32 length, little-endian, and so
 * many bytes, at most SBX_CONTROL_MAX. Whoever drives the link moves them.
 *
 * What comes is hostile. A message that is too long, or that its taker calls wrong, sets `fault`;
 * what comes from then on is passed over. That is trouble of the program, not of the session.
 */
#pragma once

#include "base/buf.h"
#include "core/link.h"

#include <stdbool.h>

#define SBX_CONTROL_MAX (4u << 20)

/* One message: NULL, or what is wrong with it, as the end of "it sent …". */
typedef const char *sbx_control_fn(void *owner, const char *message, size_t len);

struct sbx_control {
	sbx_control_fn *on_message;
	void *owner;
	struct sbx_buf in, out;
	size_t out_at, credit; /* sent up to here; may be sent */
	size_t consumed;       /* taken and not yet granted again */
	bool ended;	       /* the program has closed it */
	const char *fault;     /* or NULL */
};

void sbx_control_init(struct sbx_control *c, sbx_control_fn *on_message, void *owner);
void sbx_control_done(struct sbx_control *c);

/* Queue one message: SBX_E_LIMIT when it is too long. */
int sbx_control_send(struct sbx_control *c, const char *message, size_t len,
		     struct sbx_error *err);

/* Of core/program.c: frames that are for it, and its turn to send. */
bool sbx_control_wants(const struct wire_frame *frame);
int sbx_control_take(struct sbx_control *c, struct sbx_link *link, const struct wire_frame *frame,
		     struct sbx_error *err);
int sbx_control_feed(struct sbx_control *c, struct sbx_link *link, uint32_t channel,
		     struct sbx_error *err);
