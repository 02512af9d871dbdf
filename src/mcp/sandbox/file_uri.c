/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/file_uri.h"

#include "base/auto.h"
#include "base/buf.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define BEGIN  "sandbox://sessions/"
#define MIDDLE "/files/"

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

bool mcp_file_uri_parse(const char *uri, char **ret_id, char **ret_path)
{
	auto_free char *path = NULL, *id = NULL;
	size_t id_len;

	if (strncmp(uri, BEGIN, strlen(BEGIN)) != 0)
		return false;
	uri += strlen(BEGIN);
	id_len = strcspn(uri, "/");
	if (strncmp(uri + id_len, MIDDLE, strlen(MIDDLE)) != 0)
		return false;
	path = decode(uri + id_len + strlen(MIDDLE));
	id = strndup(uri, id_len);
	if (path == NULL || id == NULL)
		return false;
	*ret_id = take_ptr(id);
	*ret_path = take_ptr(path);
	return true;
}
