/* SPDX-License-Identifier: MIT */
/* Messages to the host, each in one call. What cannot be queued ends the connection later. */
#pragma once

#include "wire/conn.h"
#include "wire/message.h"

void send_error(struct sbx_conn *c, uint32_t channel, enum sbx_code code, int sys_errno,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Pass an error from below on to the host. */
void send_failure(struct sbx_conn *c, uint32_t channel, const struct sbx_error *err);

void send_credit(struct sbx_conn *c, uint32_t channel, enum wire_flow flow, size_t bytes);

/* A message that has no payload, or one that is ready. */
void send_bytes(struct sbx_conn *c, enum wire_type type, uint32_t channel, const void *data,
		size_t len);
