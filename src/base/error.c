/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Write text at err->msg[from...], cut where the buffer ends. */
__attribute__((format(printf, 3, 0))) static void write_text(struct sbx_error *err, size_t from,
							     const char *fmt, va_list ap)
{
	if (from < sizeof(err->msg))
		vsnprintf(err->msg + from, sizeof(err->msg) - from, fmt, ap);
}

__attribute__((format(printf, 2, 3))) static void append_text(struct sbx_error *err,
							      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_text(err, strlen(err->msg), fmt, ap);
	va_end(ap);
}

int sbx_fail(struct sbx_error *err, enum sbx_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->sys_errno = 0;
	va_start(ap, fmt);
	write_text(err, 0, fmt, ap);
	va_end(ap);
	return -(int)code;
}

int sbx_fail_errno(struct sbx_error *err, int sys_errno, const char *fmt, ...)
{
	va_list ap;

	err->code = SBX_E_SYSTEM;
	err->sys_errno = sys_errno;
	va_start(ap, fmt);
	write_text(err, 0, fmt, ap);
	va_end(ap);
	append_text(err, ": %s", strerror(sys_errno));
	return -SBX_E_SYSTEM;
}

int sbx_wrap(struct sbx_error *err, const char *fmt, ...)
{
	struct sbx_error below = *err;
	va_list ap;

	va_start(ap, fmt);
	write_text(err, 0, fmt, ap);
	va_end(ap);
	append_text(err, ": %s", below.msg);
	return -(int)err->code;
}

const char *sbx_code_name(enum sbx_code code)
{
	static const char *const names[] = {
		[SBX_OK] = "ok",
		[SBX_E_INVALID] = "invalid",
		[SBX_E_DENIED] = "denied",
		[SBX_E_NOT_FOUND] = "not-found",
		[SBX_E_TIMEOUT] = "timeout",
		[SBX_E_LIMIT] = "limit",
		[SBX_E_UNAVAILABLE] = "unavailable",
		[SBX_E_SYSTEM] = "system",
		[SBX_E_PROTOCOL] = "protocol",
	};

	if ((unsigned int)code >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[code];
}
