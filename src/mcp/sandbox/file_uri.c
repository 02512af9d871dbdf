/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/file_uri.h"

#include "base/auto.h"
#include "base/buf.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define BEGIN  "sandbox://sessions/"
#define MIDDLE "/files/"
#define SHOWN  "/artifacts/"

/* What RFC 3986 leaves as it is in a path, and the slash. */
static bool is_plain(unsigned char c)
{
	return c < 0x80 && (isalnum(c) || strchr("-._~/", c) != NULL);
}

json_t *mcp_file_uri(const char *session_id, const char *path)
{
	auto_buf struct sbx_buf uri = SBX_BUF_INIT(4 * PATH_MAX);

	sbx_buf_printf(&uri, BEGIN "%s" MIDDLE, session_id);
	for (const char *c = path; *c != '\0'; c++) {
		bool plain = is_plain((unsigned char)*c) && !(c == path && *c == '/');

		if (plain)
			sbx_buf_append(&uri, c, 1);
		else
			sbx_buf_printf(&uri, "%%%02X", (unsigned char)*c);
	}
	return uri.failed ? NULL : json_stringn(uri.data, uri.len);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL: it is malformed, has a NUL byte, is empty or too long. */
static char *decode(const char *text)
{
	size_t len = strlen(text), n = 0;
	auto_free char *path = len < 3 * PATH_MAX ? malloc(len + 1) : NULL;

	for (size_t i = 0; path != NULL && i < len; i++) {
		int high, low;

		if (text[i] != '%') {
			path[n++] = text[i];
			continue;
		}
		high = hex_value(text[i + 1]);
		low = high < 0 ? -1 : hex_value(text[i + 2]);
		if (low < 0 || high * 16 + low == 0)
			return NULL;
		path[n++] = (char)(high * 16 + low);
		i += 2;
	}
	if (path == NULL || n == 0 || n >= PATH_MAX)
		return NULL;
	path[n] = '\0';
	return take_ptr(path);
}

/* The id, which the caller frees, and what is behind middle; NULL: it is no such URI. */
static char *split(const char *uri, const char *middle, const char **ret_rest)
{
	size_t id_len;

	if (strncmp(uri, BEGIN, strlen(BEGIN)) != 0)
		return NULL;
	uri += strlen(BEGIN);
	id_len = strcspn(uri, "/");
	if (strncmp(uri + id_len, middle, strlen(middle)) != 0)
		return NULL;
	*ret_rest = uri + id_len + strlen(middle);
	return strndup(uri, id_len);
}

bool mcp_file_uri_parse(const char *uri, char **ret_id, char **ret_path)
{
	const char *rest = NULL;
	auto_free char *id = split(uri, MIDDLE, &rest);
	auto_free char *path = id ? decode(rest) : NULL;

	if (path == NULL)
		return false;
	*ret_id = take_ptr(id);
	*ret_path = take_ptr(path);
	return true;
}

json_t *mcp_artifact_uri(const char *session_id, uint32_t number)
{
	return json_sprintf(BEGIN "%s" SHOWN "%u", session_id, number);
}

/* One way to write each number: a second name for a thing would be a second thing to a cache. */
static bool read_number(const char *text, uint32_t *ret)
{
	size_t len = strlen(text);
	unsigned long long number;

	if (len == 0 || len > 10 || text[0] == '0' || strspn(text, "0123456789") != len)
		return false;
	number = strtoull(text, NULL, 10);
	*ret = (uint32_t)number;
	return number <= UINT32_MAX;
}

bool mcp_artifact_uri_parse(const char *uri, char **ret_id, uint32_t *ret_number)
{
	const char *rest = NULL;
	auto_free char *id = split(uri, SHOWN, &rest);

	if (id == NULL || !read_number(rest, ret_number))
		return false;
	*ret_id = take_ptr(id);
	return true;
}
