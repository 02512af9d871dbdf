/* SPDX-License-Identifier: MIT */
/* Bytes of a program as text that JSON can carry. */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/* Append as UTF-8: every byte that is not part of a well-formed sequence becomes U+FFFD.
 * Returns whether nothing had to be replaced. */
bool sbx_text_append_utf8(struct sbx_buf *out, const char *data, size_t len);

/* Append in base64 (RFC 4648 section 4). */
void sbx_text_append_base64(struct sbx_buf *out, const char *data, size_t len);

/*
 * Append the bytes that base64 text stands for. White space is passed over and the padding may be
 * missing; false when it is no base64, and then some may have been appended.
 */
bool sbx_text_decode_base64(struct sbx_buf *out, const char *text, size_t len);
