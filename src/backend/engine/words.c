/* SPDX-License-Identifier: MIT */
#include "backend/engine/words.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

/* Of the character that begins here, in text that is well-formed. */
static size_t width(const char *at)
{
	unsigned char c = (unsigned char)*at;

	return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* C0, DEL, and C1 as UTF-8 has them. */
static bool is_control(const char *at)
{
	unsigned char c = (unsigned char)at[0], next = c == 0xc2 ? (unsigned char)at[1] : 0;

	return c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0);
}

/* As much of it as may have room, not ending within a character. */
static size_t cut(const unsigned char *data, size_t len, size_t size)
{
	size_t at = len < size ? len : size;

	while (at < len && at > 0 && size - at < 4 && (data[at] & 0xc0) == 0x80)
		at--;
	return at;
}

const char *engine_words_clean(const void *data, size_t len, char *ret, size_t size)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(4 * ENGINE_WORDS_MAX);
	size_t at = 0, n;

	sbx_text_append_utf8(&text, data, cut(data, len, size));
	for (const char *from = text.data; from < text.data + text.len; from += n) {
		bool space = *from == ' ' || is_control(from);

		n = width(from);
		if (space && (at == 0 || ret[at - 1] == ' '))
			continue;
		if (at + n >= size)
			break;
		memcpy(ret + at, space ? " " : from, space ? 1 : n);
		at += space ? 1 : n;
	}
	while (at > 0 && ret[at - 1] == ' ')
		at--;
	ret[at] = '\0';
	return ret;
}
