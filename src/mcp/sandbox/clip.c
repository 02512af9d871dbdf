/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/clip.h"

#include "base/buf.h"
#include "base/text.h"

#include <string.h>

#define CHARACTER_MAX 4 /* bytes of UTF-8 */
#define TEXT_MAX      ((size_t)1 << 30)

static size_t head_characters(size_t max)
{
	return max - max / 3;
}

size_t mcp_clip_head_bytes(size_t max)
{
	return head_characters(max) * CHARACTER_MAX;
}

size_t mcp_clip_tail_bytes(size_t max)
{
	return max / 3 * CHARACTER_MAX;
}

static bool is_start(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t count_characters(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += is_start(text[i]);
	return n;
}

/* The length of the first n characters. */
static size_t first_characters(const char *text, size_t len, size_t n)
{
	size_t at = 0;

	while (at < len && (n > 0 || !is_start(text[at]))) {
		n -= is_start(text[at]);
		at++;
	}
	return at;
}

/* Where the last n characters begin. */
static size_t last_characters(const char *text, size_t len, size_t n)
{
	while (len > 0 && n > 0)
		n -= is_start(text[--len]);
	return len;
}

/* Where the kept part was cut by bytes, a character may be cut in two: drop its pieces. */
static size_t without_broken_end(const char *data, size_t len)
{
	size_t at = len;

	while (at > 0 && len - at < CHARACTER_MAX - 1 && !is_start(data[at - 1]))
		at--;
	if (at == 0 || (unsigned char)data[at - 1] < 0xc0)
		return len;
	/* A lead byte, and what is behind it: whole or not? */
	return (len - at + 1 <
		2u + ((unsigned char)data[at - 1] >= 0xe0) + ((unsigned char)data[at - 1] >= 0xf0))
		       ? at - 1
		       : len;
}

static size_t broken_start(const char *data, size_t len)
{
	size_t at = 0;

	while (at < len && at < CHARACTER_MAX - 1 && !is_start(data[at]))
		at++;
	return at;
}

/* The two ends as clean text; the tail is empty when nothing is missing between them. */
static void decode(const struct sbx_output *o, struct sbx_buf *head, struct sbx_buf *tail)
{
	const char *rest = o->data + o->head_len;
	size_t rest_len = o->len - o->head_len, skip;

	if (!o->truncated) {
		sbx_text_append_utf8(head, o->data, o->len);
		return;
	}
	sbx_text_append_utf8(head, o->data, without_broken_end(o->data, o->head_len));
	skip = broken_start(rest, rest_len);
	sbx_text_append_utf8(tail, rest + skip, rest_len - skip);
}

static void append_cut(struct sbx_buf *text, const struct sbx_output *o, const struct sbx_buf *head,
		       const struct sbx_buf *tail, size_t max)
{
	const struct sbx_buf *end = o->truncated ? tail : head;
	size_t head_len =
		first_characters(head->data ? head->data : "", head->len, head_characters(max));
	size_t from = last_characters(end->data ? end->data : "", end->len, max / 3);

	sbx_buf_append(text, head->data, head_len);
	sbx_buf_printf(
		text,
		"\n[... output cut here: shown are its first %zu and last %zu bytes of "
		"%llu ...]\n",
		head_len, end->len - from, (unsigned long long)o->total_bytes);
	sbx_buf_append(text, end->data ? end->data + from : "", end->len - from);
}

json_t *mcp_clip(const struct sbx_output *output, size_t max, bool *ret_cut)
{
	auto_buf struct sbx_buf head = SBX_BUF_INIT(TEXT_MAX), tail = SBX_BUF_INIT(TEXT_MAX),
				text = SBX_BUF_INIT(TEXT_MAX);
	const struct sbx_buf *all = &head;

	decode(output, &head, &tail);
	*ret_cut =
		output->truncated || count_characters(head.data ? head.data : "", head.len) > max;
	if (*ret_cut) {
		append_cut(&text, output, &head, &tail, max);
		all = &text;
	}
	if (head.failed || tail.failed || text.failed)
		return NULL;
	return json_stringn(all->data ? all->data : "", all->len);
}
