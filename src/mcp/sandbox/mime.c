/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/mime.h"

#include "base/buf.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct magic {
	const char *mime_type;
	const char *bytes;
	size_t len, at;
};

static const struct magic magics[] = {
	{"image/png", "\x89PNG\r\n\x1a\n", 8, 0},
	{"image/jpeg", "\xff\xd8\xff", 3, 0},
	{"image/gif", "GIF87a", 6, 0},
	{"image/gif", "GIF89a", 6, 0},
	{"image/webp", "WEBPVP8", 7, 8},
	{"application/pdf", "%PDF-", 5, 0},
	{"application/zip", "PK\x03\x04", 4, 0},
	{"application/gzip", "\x1f\x8b", 2, 0},
};

struct extension {
	const char *name, *mime_type;
	bool text;
};

/* The names that a file may end with; what is text is so only if its bytes are. */
static const struct extension extensions[] = {
	{"csv", "text/csv", true},
	{"css", "text/css", true},
	{"html", "text/html", true},
	{"htm", "text/html", true},
	{"js", "text/javascript", true},
	{"mjs", "text/javascript", true},
	{"json", "application/json", true},
	{"md", "text/markdown", true},
	{"py", "text/x-python", true},
	{"xml", "text/xml", true},
	{"yaml", "text/yaml", true},
	{"yml", "text/yaml", true},
	{"svg", "image/svg+xml", false},
	{"bmp", "image/bmp", false},
	{"wav", "audio/wav", false},
	{"mp3", "audio/mpeg", false},
	{"mp4", "video/mp4", false},
	{"tar", "application/x-tar", false},
	{"xz", "application/x-xz", false},
	{"zst", "application/zstd", false},
	{"parquet", "application/vnd.apache.parquet", false},
	{"sqlite", "application/vnd.sqlite3", false},
	{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false},
	{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
};

size_t mcp_whole_characters(const char *data, size_t len)
{
	size_t back = 1;
	unsigned char lead;

	while (back < 4 && back < len && ((unsigned char)data[len - back] & 0xc0) == 0x80)
		back++;
	if (len == 0 || back > len)
		return len;
	lead = (unsigned char)data[len - back];
	if (lead < 0xc0 || back >= 2u + (lead >= 0xe0) + (lead >= 0xf0))
		return len;
	return len - back;
}

bool mcp_is_text(const char *data, size_t len, bool more_comes)
{
	struct sbx_buf nowhere = SBX_BUF_INIT(0);
	size_t whole = more_comes ? mcp_whole_characters(data, len) : len;
	bool clean = sbx_text_append_utf8(&nowhere, data, whole);

	sbx_buf_done(&nowhere);
	return clean && memchr(data, '\0', len) == NULL;
}

static const char *by_magic(const char *data, size_t len)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		const struct magic *m = &magics[i];

		if (len >= m->at + m->len && memcmp(data + m->at, m->bytes, m->len) == 0)
			return m->mime_type;
	}
	return NULL;
}

static const struct extension *by_name(const char *path)
{
	const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

	for (size_t i = 0; dot != NULL && i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (strcasecmp(extensions[i].name, dot + 1) == 0)
			return &extensions[i];
	}
	return NULL;
}

const char *mcp_mime_type(const char *path, const char *data, size_t len, bool more_comes)
{
	const char *known = by_magic(data, len);
	const struct extension *named = by_name(path);
	bool text = mcp_is_text(data, len, more_comes);

	if (known != NULL)
		return known;
	if (named != NULL && (text || !named->text))
		return named->mime_type;
	return text ? "text/plain" : "application/octet-stream";
}

static bool is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && strchr("!#$&^_.+-", text[i]) == NULL)
			return false;
	}
	return len > 0;
}

bool mcp_mime_is_type(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash != NULL && is_token(text, (size_t)(slash - text)) &&
	       is_token(slash + 1, strlen(slash + 1));
}

bool mcp_mime_is_image(const char *mime_type)
{
	static const char *const shown[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (strcmp(shown[i], mime_type) == 0)
			return true;
	}
	return false;
}
