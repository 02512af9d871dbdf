/* SPDX-License-Identifier: MIT */
#include "core/kernel_inside.h"

#include <stdlib.h>
#include <string.h>

#define HISTORY_BYTES (16u << 20)
#define CODE_KEPT     (64u << 10)
#define VALUE_KEPT    (4u << 10)

static size_t size_of(const struct sbx_cell *cell)
{
	return strlen(cell->code) + 1 + (cell->value ? strlen(cell->value) + 1 : 0);
}

static void free_cell(struct sbx_cell *cell)
{
	free(cell->code);
	free(cell->value);
}

static void forget_oldest(struct sbx_history *h)
{
	h->bytes -= size_of(&h->cells[0]);
	free_cell(&h->cells[0]);
	memmove(h->cells, h->cells + 1, --h->count * sizeof(*h->cells));
}

/* At most so many bytes of UTF-8, cut between characters. */
static char *copy_text(const char *text, size_t len, size_t most)
{
	if (len > most) {
		len = most;
		while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
			len--;
	}
	return strndup(text, len);
}

void sbx_history_add(struct sbx_history *h, const struct sbx_cell *cell, size_t code_len)
{
	struct sbx_cell kept = *cell;

	if (h->cells == NULL)
		h->cells = calloc(SBX_HISTORY_CELLS, sizeof(*h->cells));
	kept.code = copy_text(cell->code, code_len, CODE_KEPT);
	kept.value = cell->value ? copy_text(cell->value, strlen(cell->value), VALUE_KEPT) : NULL;
	if (h->cells == NULL || kept.code == NULL) {
		free_cell(&kept);
		return;
	}
	while (h->count > 0 &&
	       (h->count == SBX_HISTORY_CELLS || h->bytes + size_of(&kept) > HISTORY_BYTES))
		forget_oldest(h);
	h->bytes += size_of(&kept);
	h->cells[h->count++] = kept;
}

void sbx_history_done(struct sbx_history *h)
{
	sbx_cells_free(h->cells, h->count);
	*h = (struct sbx_history){0};
}

void sbx_cells_free(struct sbx_cell *cells, size_t count)
{
	for (size_t i = 0; cells != NULL && i < count; i++)
		free_cell(&cells[i]);
	free(cells);
}
