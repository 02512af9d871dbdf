/* SPDX-License-Identifier: MIT */
/*
 * How a function fails in one line: fill the caller's struct sbx_error and return -code.
 *
 * Inside the library err is never NULL; a public entry point that was given NULL lends a
 * local one.
 *
 *	if (fd < 0)
 *		return sbx_fail_errno(err, errno, "cannot open '%s'", path);
 */
#pragma once

#include <llmsandbox/error.h>

int sbx_fail(struct sbx_error *err, enum sbx_code code, const char *fmt, ...)
	__attribute__((nonnull, format(printf, 3, 4)));

/* As sbx_fail(SBX_E_SYSTEM), with the text of sys_errno appended. */
int sbx_fail_errno(struct sbx_error *err, int sys_errno, const char *fmt, ...)
	__attribute__((nonnull, format(printf, 3, 4)));

/* Put context in front of an error from below; keeps its code and returns -code. */
int sbx_wrap(struct sbx_error *err, const char *fmt, ...)
	__attribute__((nonnull, format(printf, 2, 3)));
