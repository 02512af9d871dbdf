/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include "cli/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE_MAX 4 /* "\x9b" */

/* ESC [ digits, ';' and ':' m: its length, 0 when it may become one, -1 when it is another. */
static int color_length(const unsigned char *p, size_t len)
{
	size_t i = 2;

	if (len >= 2 && p[1] != '[')
		return -1;
	while (i < len && (strchr("0123456789;:", p[i]) != NULL && p[i] != '\0'))
		i++;
	if (i >= TERMINAL_HELD_MAX)
		return -1;
	if (i >= len)
		return 0;
	return p[i] == 'm' ? (int)i + 1 : -1;
}

static bool is_plain(unsigned char c)
{
	return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' || c == '\r';
}

/* How many bytes pass as they are, 0 to wait for more, -1 when the first must be shown. */
static int passing(struct terminal *t, const unsigned char *p, size_t len)
{
	int n;

	if (is_plain(p[0]))
		return 1;
	if (p[0] == 0x1b) {
		n = color_length(p, len);
		t->colored |= n > 0;
		return n;
	}
	n = p[0] < 0x80 ? -1 : utf8_length(p, len);
	/* U+0080 to U+009F are control characters too: U+009B is ESC [. */
	return n == 2 && p[0] == 0xc2 && p[1] < 0xa0 ? -1 : n;
}

static size_t show(unsigned char c, char *ret)
{
	if (c >= 0x80)
		return (size_t)sprintf(ret, "\\x%02x", c);
	ret[0] = '^';
	ret[1] = (char)(c ^ 0x40);
	return 2;
}

static bool filter(struct terminal *t, const unsigned char *p, size_t len, bool last, char **ret,
		   size_t *ret_len)
{
	char *out = malloc(len * VISIBLE_MAX + VISIBLE_MAX + 1), *end = out;

	if (out == NULL)
		return false;
	while (len > 0) {
		int n = passing(t, p, len);

		if (n == 0 && !last && len <= sizeof(t->held))
			break;
		if (n > 0)
			end = mempcpy(end, p, (size_t)n);
		else
			end += show(p[0], end);
		p += n > 0 ? n : 1;
		len -= n > 0 ? (size_t)n : 1;
	}
	memmove(t->held, p, len);
	t->held_len = len;
	if (last && t->colored)
		end = mempcpy(end, "\033[0m", 4);
	*ret = out;
	*ret_len = (size_t)(end - out);
	return true;
}

bool terminal_filter(struct terminal *t, const void *data, size_t len, char **ret,
		     size_t *ret_len)
{
	unsigned char *joined;
	bool good;

	if (t->held_len == 0)
		return filter(t, data, len, false, ret, ret_len);
	joined = malloc(t->held_len + len);
	if (joined == NULL)
		return false;
	memcpy(mempcpy(joined, t->held, t->held_len), data, len);
	good = filter(t, joined, t->held_len + len, false, ret, ret_len);
	free(joined);
	return good;
}

bool terminal_finish(struct terminal *t, char **ret, size_t *ret_len)
{
	unsigned char held[TERMINAL_HELD_MAX];

	memcpy(held, t->held, t->held_len);
	return filter(t, held, t->held_len, true, ret, ret_len);
}

void terminal_print(const char *text, size_t len, FILE *stream)
{
	struct terminal terminal = {0};
	char *safe = NULL, *rest = NULL;
	size_t safe_len, rest_len;

	if (terminal_filter(&terminal, text, len, &safe, &safe_len))
		fwrite(safe, 1, safe_len, stream);
	if (terminal_finish(&terminal, &rest, &rest_len))
		fwrite(rest, 1, rest_len, stream);
	free(safe);
	free(rest);
}
