/* SPDX-License-Identifier: MIT */
#include "cli/json_print.h"

void json_print_indent(FILE *f, const struct json_style *style, struct json_indent indent)
{
	fwrite(indent.base, 1, indent.base_len, f);
	for (unsigned int i = 0; i < indent.units; i++)
		fwrite(style->unit, 1, style->unit_len, f);
}

void json_print_string(FILE *f, const char *text)
{
	json_t *string = json_string(text);

	if (string != NULL)
		json_dumpf(string, f, JSON_ENCODE_ANY);
	json_decref(string);
}

static void print_array(FILE *f, const json_t *array, const struct json_style *style,
			struct json_indent indent)
{
	const json_t *item;
	size_t i;

	fputc('[', f);
	json_array_foreach (array, i, item) {
		fputs(i > 0 ? style->comma : "", f);
		json_print_value(f, item, style, indent);
	}
	fputc(']', f);
}

static void print_break(FILE *f, const struct json_style *style, struct json_indent indent)
{
	if (style->line_end == NULL)
		return;
	fputs(style->line_end, f);
	json_print_indent(f, style, indent);
}

static void print_object(FILE *f, const json_t *object, const struct json_style *style,
			 struct json_indent indent)
{
	struct json_indent inner = {indent.base, indent.base_len, indent.units + 1};
	const char *key;
	const json_t *value;
	bool later = false;

	fputc('{', f);
	json_object_foreach ((json_t *)object, key, value) {
		if (later)
			fputs(style->line_end ? "," : style->comma, f);
		later = true;
		print_break(f, style, inner);
		json_print_string(f, key);
		fputs(style->colon, f);
		json_print_value(f, value, style, inner);
	}
	if (later)
		print_break(f, style, indent);
	fputc('}', f);
}

void json_print_value(FILE *f, const json_t *value, const struct json_style *style,
		      struct json_indent indent)
{
	if (json_is_object(value))
		print_object(f, value, style, indent);
	else if (json_is_array(value))
		print_array(f, value, style, indent);
	else
		json_dumpf(value, f, JSON_ENCODE_ANY);
}
