/* SPDX-License-Identifier: MIT */
#include "agent/send.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void send_bytes(struct sbx_conn *c, enum wire_type type, uint32_t channel, const void *data,
		size_t len)
{
	struct sbx_error ignored;

	/* A full queue or no memory: the host is not reading what it gave credit for. */
	if (sbx_conn_queue(c, type, channel, data, len, &ignored) < 0)
		c->eof = true;
}

void send_failure(struct sbx_conn *c, uint32_t channel, const struct sbx_error *err)
{
	struct sbx_buf payload = SBX_BUF_INIT(4096);
	struct wire_error m = {
		.code = err->code,
		.sys_errno = (uint32_t)err->sys_errno,
		.text = (char *)err->msg,
	};

	wire_error_format(&payload, &m);
	send_bytes(c, WIRE_ERROR, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}

void send_error(struct sbx_conn *c, uint32_t channel, enum sbx_code code, int sys_errno,
		const char *fmt, ...)
{
	struct sbx_error err = {.code = code, .sys_errno = sys_errno};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.msg, sizeof(err.msg), fmt, ap);
	va_end(ap);
	if (sys_errno != 0) {
		size_t len = strlen(err.msg);

		snprintf(err.msg + len, sizeof(err.msg) - len, ": %s", strerror(sys_errno));
	}
	send_failure(c, channel, &err);
}

void send_credit(struct sbx_conn *c, uint32_t channel, enum wire_flow flow, size_t bytes)
{
	struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_credit m = {.flow = (uint8_t)flow, .bytes = (uint32_t)bytes};

	wire_credit_format(&payload, &m);
	send_bytes(c, WIRE_CREDIT, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}
