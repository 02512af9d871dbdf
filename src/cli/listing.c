/* SPDX-License-Identifier: MIT */
#include "cli/listing.h"

#include "cli/paper.h"
#include "cli/trouble.h"
#include "cli/utf8.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char kind_letters[] = {[SBX_FILE_REGULAR] = '-',
				    [SBX_FILE_FOLDER] = 'd',
				    [SBX_FILE_LINK] = 'l',
				    [SBX_FILE_OTHER] = '?'};

static const char *const kind_names[] = {[SBX_FILE_REGULAR] = "file",
					 [SBX_FILE_FOLDER] = "folder",
					 [SBX_FILE_LINK] = "link",
					 [SBX_FILE_OTHER] = "other"};

bool listing_parse(const json_t *row, struct sbx_file_info *ret)
{
	json_int_t kind = json_integer_value(json_array_get(row, 1));

	if (kind < SBX_FILE_REGULAR || kind > SBX_FILE_OTHER)
		return false;
	*ret = (struct sbx_file_info){
		.path = paper_bytes(json_array_get(row, 0)),
		.kind = (enum sbx_file_kind)kind,
		.mode = (uint32_t)json_integer_value(json_array_get(row, 2)),
		.size = (uint64_t)json_integer_value(json_array_get(row, 3)),
		.mtime_ns = (uint64_t)json_integer_value(json_array_get(row, 4)),
	};
	return ret->path != NULL;
}

/* ---- text ---- */

char *listing_tame(const char *name)
{
	struct terminal terminal = {0};
	auto_free char *carets = malloc(2 * strlen(name) + 1);
	char *end = carets, *ret = NULL, *rest = NULL;
	size_t len, rest_len;

	if (carets == NULL)
		return NULL;
	for (; *name != '\0'; name++) {
		unsigned char c = (unsigned char)*name;

		if (c < 0x20 || c == 0x7f)
			*end++ = '^';
		*end++ = c < 0x20 || c == 0x7f ? (char)(c ^ 0x40) : (char)c;
	}
	/* What is left are bytes that are no UTF-8, and the controls that are. */
	if (!terminal_filter(&terminal, carets, (size_t)(end - carets), &ret, &len))
		return NULL;
	if (!terminal_finish(&terminal, &rest, &rest_len)) {
		free(ret);
		return NULL;
	}
	end = malloc(len + rest_len + 1);
	if (end != NULL) {
		memcpy(mempcpy(end, ret, len), rest, rest_len);
		end[len + rest_len] = '\0';
	}
	free(ret);
	free(rest);
	return end;
}

static void format_mode(const struct sbx_file_info *info, char ret[11])
{
	static const char letters[] = "rwxrwxrwx";

	ret[0] = kind_letters[info->kind];
	for (int i = 0; i < 9; i++)
		ret[1 + i] = info->mode & (0400u >> i) ? letters[i] : '-';
	ret[10] = '\0';
}

static void print_details(struct output *o, const struct sbx_file_info *info)
{
	time_t when = (time_t)(info->mtime_ns / 1000000000u);
	char mode[11], date[32] = "", line[96];
	struct tm tm;

	format_mode(info, mode);
	if (localtime_r(&when, &tm) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
	snprintf(line, sizeof(line), "%s %12llu %s ", mode, (unsigned long long)info->size, date);
	output_text(o, line);
}

void listing_print(struct output *o, const struct sbx_file_info *info, bool longer)
{
	auto_free char *tame = o->streams[0].safe ? listing_tame(info->path) : NULL;

	if (longer)
		print_details(o, info);
	output_text(o, tame ? tame : o->streams[0].safe ? "?" : info->path);
	output_text(o, info->kind == SBX_FILE_FOLDER ? "/\n" : "\n");
}

/* ---- JSON ---- */

/* RFC 4648; the caller frees it. */
static char *base64(const char *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *ret = malloc((len + 2) / 3 * 4 + 1), *end = ret;

	for (size_t i = 0; ret != NULL && i < len; i += 3) {
		unsigned int bits = (unsigned int)(unsigned char)data[i] << 16;

		bits |= i + 1 < len ? (unsigned int)(unsigned char)data[i + 1] << 8 : 0;
		bits |= i + 2 < len ? (unsigned char)data[i + 2] : 0;
		*end++ = digits[bits >> 18];
		*end++ = digits[bits >> 12 & 63];
		*end++ = i + 1 < len ? digits[bits >> 6 & 63] : '=';
		*end++ = i + 2 < len ? digits[bits & 63] : '=';
	}
	if (ret != NULL)
		*end = '\0';
	return ret;
}

json_t *listing_json(const struct sbx_file_info *info)
{
	bool changed;
	auto_free char *path = utf8_replace(info->path, &changed);
	auto_free char *exact = changed ? base64(info->path, strlen(info->path)) : NULL;
	char mode[8];
	json_t *object;

	snprintf(mode, sizeof(mode), "%04o", info->mode & 07777u);
	object = json_pack("{s:s, s:s, s:s, s:I, s:f}", "path", path ? path : "", "kind",
			   kind_names[info->kind], "mode", mode, "size", (json_int_t)info->size,
			   "mtime", (double)info->mtime_ns / 1e9);
	if (object != NULL && exact != NULL)
		json_object_set_new(object, "path_base64", json_string(exact));
	return object;
}
