/* SPDX-License-Identifier: MIT */
/* Whole files and streams in, all bytes out; both with a bound. */
#pragma once

#include <llmsandbox/error.h>

#include <stddef.h>

/*
 * Read what fd gives until its end or until max bytes; the caller frees *ret, which is followed
 * by a NUL that *ret_len does not count. name is for the error.
 */
int file_read(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
	      struct sbx_error *err);

/* Write all of it, also to a descriptor that does not block: 0 or -errno. */
int file_write(int fd, const void *data, size_t len);
