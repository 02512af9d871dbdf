/* SPDX-License-Identifier: MIT */
#include "lang/lang.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/strv.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENT_MAX (1u << 20)

/* The value of the placeholder at text ("{src}…"), and its length there; NULL: none starts here. */
static const char *find_value(const char *text, const struct sbx_lang_values *v, char number[32],
			      size_t *ret_len)
{
	const struct {
		const char *name, *value;
		unsigned long number;
	} rows[] = {
		{"{src}", v->src, 0},	  {"{dir}", v->dir, 0},
		{"{build}", v->build, 0}, {"{main}", v->main, 0},
		{"{memory_mb}", NULL, v->memory_mb}, {"{cpus}", NULL, v->cpus},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*ret_len = strlen(rows[i].name);
		if (strncmp(text, rows[i].name, *ret_len) != 0)
			continue;
		if (rows[i].number == 0)
			return rows[i].value ? rows[i].value : "";
		snprintf(number, 32, "%lu", rows[i].number);
		return number;
	}
	return NULL;
}

static char *expand_one(const char *text, const struct sbx_lang_values *values)
{
	auto_buf struct sbx_buf out = SBX_BUF_INIT(ARGUMENT_MAX);

	while (*text != '\0') {
		char number[32];
		size_t len;
		const char *value = find_value(text, values, number, &len);

		if (value != NULL) {
			sbx_buf_puts(&out, value);
			text += len;
			continue;
		}
		sbx_buf_append(&out, text++, 1);
	}
	return sbx_buf_take(&out);
}

char **sbx_lang_expand(const char *const *argv_template, const struct sbx_lang_values *values,
		       const char *const *extra)
{
	size_t own = sbx_strv_len((char *const *)argv_template);
	size_t more = sbx_strv_len((char *const *)extra);
	auto_strv char **list = calloc(own + more + 1, sizeof(*list));

	for (size_t i = 0; list != NULL && i < own + more; i++) {
		list[i] = i < own ? expand_one(argv_template[i], values) : strdup(extra[i - own]);
		if (list[i] == NULL)
			return NULL;
	}
	return take_ptr(list);
}
