/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdint.h>

/* The length of the well-formed sequence at p (Unicode table 3-7), or 0. */
static size_t sequence(const uint8_t *p, size_t left)
{
	uint8_t first = p[0], low = 0x80, high = 0xbf;
	size_t len;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;

	if (left < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

bool sbx_text_append_utf8(struct sbx_buf *out, const char *data, size_t len)
{
	const uint8_t *p = (const uint8_t *)data;
	size_t start = 0, at = 0;
	bool clean = true;

	while (at < len) {
		size_t n = sequence(p + at, len - at);

		if (n > 0) {
			at += n;
			continue;
		}
		sbx_buf_append(out, data + start, at - start);
		sbx_buf_append(out, "\xef\xbf\xbd", 3);
		start = ++at;
		clean = false;
	}
	sbx_buf_append(out, data + start, at - start);
	return clean;
}

void sbx_text_append_base64(struct sbx_buf *out, const char *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = (const uint8_t *)data;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (n > 2 ? p[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63],
				digits[v & 63]};

		for (size_t k = n + 1; k < 4; k++)
			four[k] = '=';
		sbx_buf_append(out, four, 4);
	}
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool sbx_text_decode_base64(struct sbx_buf *out, const char *text, size_t len)
{
	unsigned int bits = 0, bit_count = 0;
	size_t digits = 0, padding = 0;

	for (size_t i = 0; i < len; i++) {
		int value = digit_value(text[i]);

		if (is_space(text[i]))
			continue;
		if (text[i] == '=') {
			padding++;
			continue;
		}
		if (value < 0 || padding > 0)
			return false;
		digits++;
		bits = (bits << 6 | (unsigned int)value) & 0xffff;
		bit_count += 6;
		if (bit_count >= 8) {
			char byte = (char)(bits >> (bit_count - 8));

			bit_count -= 8;
			sbx_buf_append(out, &byte, 1);
		}
	}
	/* One digit alone is no byte; padding, if there is any, fills the last four. */
	return digits % 4 != 1 && padding <= 2 && (padding == 0 || (digits + padding) % 4 == 0);
}
