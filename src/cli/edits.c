/* SPDX-License-Identifier: MIT */
#include "cli/edits.h"

#include "cli/trouble.h"

#include <string.h>

void edits_fail(struct edits *edits)
{
	edits->failed = true;
}

void edits_add(struct edits *edits, size_t at, size_t removed, char *added)
{
	if (edits->count == sizeof(edits->list) / sizeof(edits->list[0])) {
		edits->failed = true;
		free(added);
		return;
	}
	edits->list[edits->count++] = (struct edit){at, removed, added};
}

static size_t added_length(const struct edit *e)
{
	return e->added ? strlen(e->added) : 0;
}

/* Also the check that edits are in order and within the text. */
static bool new_length(const struct edits *edits, size_t len, size_t *ret)
{
	size_t result = len, done = 0;

	for (size_t i = 0; i < edits->count; i++) {
		const struct edit *e = &edits->list[i];

		if (e->at < done || e->at > len || e->removed > len - e->at)
			return false;
		done = e->at + e->removed;
		result = result - e->removed + added_length(e);
	}
	*ret = result;
	return true;
}

static char *append(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

int edits_apply(const struct edits *edits, const struct text *in, struct text *ret,
		struct sbx_error *err)
{
	size_t len, done = 0;
	char *data, *p;

	if (edits->failed)
		return cli_fail(err, SBX_E_LIMIT, "too many places to change, or out of memory");
	if (!new_length(edits, in->len, &len))
		return cli_fail(err, SBX_E_PROTOCOL, "the places to change overlap");
	p = data = malloc(len + 1);
	if (data == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	for (size_t i = 0; i < edits->count; i++) {
		const struct edit *e = &edits->list[i];

		p = append(p, in->data + done, e->at - done);
		if (e->added != NULL)
			p = append(p, e->added, added_length(e));
		done = e->at + e->removed;
	}
	p = append(p, in->data + done, in->len - done);
	*p = '\0';
	*ret = (struct text){data, len};
	return 0;
}

void edits_done(struct edits *edits)
{
	for (size_t i = 0; i < edits->count; i++)
		free(edits->list[i].added);
	edits->count = 0;
}
