/* SPDX-License-Identifier: MIT */
#include "cli/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The range of the second byte excludes overlong forms, surrogates and what is past U+10FFFF. */
struct lead {
	unsigned char first, last; /* lead bytes */
	unsigned char low, high;   /* second byte */
	int length;
};

static const struct lead leads[] = {
	{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

int utf8_length(const unsigned char *p, size_t len)
{
	const struct lead *lead = leads, *end = leads + sizeof(leads) / sizeof(leads[0]);

	while (lead < end && (p[0] < lead->first || p[0] > lead->last))
		lead++;
	if (lead == end)
		return -1;
	for (int i = 1; i < lead->length; i++) {
		unsigned char low = i == 1 ? lead->low : 0x80, high = i == 1 ? lead->high : 0xbf;

		if ((size_t)i == len)
			return 0;
		if (p[i] < low || p[i] > high)
			return -1;
	}
	return lead->length;
}

char *utf8_replace(const char *bytes, bool *ret_changed)
{
	size_t len = strlen(bytes);
	char *ret = malloc(3 * len + 1), *end = ret;

	*ret_changed = false;
	while (ret != NULL && len > 0) {
		int n = utf8_length((const unsigned char *)bytes, len);

		*ret_changed |= n <= 0;
		end = n > 0 ? mempcpy(end, bytes, (size_t)n) : mempcpy(end, "\xef\xbf\xbd", 3);
		bytes += n > 0 ? n : 1;
		len -= n > 0 ? (size_t)n : 1;
	}
	if (ret != NULL)
		*end = '\0';
	return ret;
}
