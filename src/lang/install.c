/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"

/* Copy a piece of text that is not empty, fits, and has printing characters alone. */
static bool copy(char *ret, size_t size, const char *text, size_t len)
{
	if (len == 0 || len >= size)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

bool sbx_install_parse_line(const char *line, struct sbx_lang_package *ret)
{
	size_t name = strcspn(line, " "), version, hash;
	const char *at = line + name;

	*ret = (struct sbx_lang_package){0};
	at += strspn(at, " ");
	version = strcspn(at, " ");
	if (!copy(ret->name, sizeof(ret->name), line, name) ||
	    !copy(ret->version, sizeof(ret->version), at, version))
		return false;
	at += version;
	at += strspn(at, " ");
	hash = strlen(at);
	return hash == 0 || copy(ret->hash, sizeof(ret->hash), at, hash);
}

/* "HASH  PATH" of sha256sum; the path, or NULL. */
static const char *parse_sum(const char *line, struct sbx_lang_package *ret)
{
	size_t len = strspn(line, DIGITS "abcdef");

	*ret = (struct sbx_lang_package){0};
	if (len != 64 || strncmp(line + len, "  ", 2) != 0)
		return NULL;
	snprintf(ret->hash, sizeof(ret->hash), "sha256:%.64s", line);
	return line + len + 2;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t without_end(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0 ? len - end_len : 0;
}

/* Whether a version begins here, and not "3d" of a name. */
static bool begins_version(const char *text)
{
	size_t digits = strspn(text, DIGITS);

	return digits > 0 && (text[digits] == '.' || text[digits] == '-');
}

/* The first dash that a number follows is where the version begins; a platform may come behind. */
bool sbx_install_parse_dash(const char *line, struct sbx_lang_package *ret)
{
	const char *path = parse_sum(line, ret), *name = path ? base_name(path) : "";
	size_t len = without_end(name, ".gem");

	for (size_t i = 1; i + 1 < len; i++) {
		if (name[i] == '-' && begins_version(name + i + 1))
			return copy(ret->name, sizeof(ret->name), name, i) &&
			       copy(ret->version, sizeof(ret->version), name + i + 1, len - i - 1);
	}
	return false;
}

/* name_version.tar.gz, name_version_architecture.deb; %3a is how apt writes a colon. */
bool sbx_install_parse_underscore(const char *line, struct sbx_lang_package *ret)
{
	const char *path = parse_sum(line, ret), *name = path ? base_name(path) : "";
	size_t len = without_end(name, ".tar.gz"), first = strcspn(name, "_"), second;
	char *colon;

	len = len ? len : without_end(name, ".deb");
	if (first >= len)
		return false;
	second = strcspn(name + first + 1, "_");
	if (first + 1 + second > len)
		second = len - first - 1;
	if (!copy(ret->name, sizeof(ret->name), name, first) ||
	    !copy(ret->version, sizeof(ret->version), name + first + 1, second))
		return false;
	colon = strstr(ret->version, "%3a");
	if (colon != NULL) {
		*colon = ':';
		memmove(colon + 1, colon + 3, strlen(colon + 3) + 1);
	}
	return true;
}

/* The folder above `end`, which is left out; its beginning. */
static const char *last_folder(const char *path, const char *end)
{
	const char *at = end;

	while (at > path && at[-1] != '/')
		at--;
	return at;
}

bool sbx_install_parse_maven(const char *line, struct sbx_lang_package *ret)
{
	const char *path = parse_sum(line, ret);
	const char *file, *version, *artifact;
	size_t group;

	if (path == NULL || strncmp(path, "./", 2) != 0)
		return false;
	path += 2;
	file = base_name(path);
	if (file - path < 2 || without_end(file, ".jar") == 0)
		return false;
	version = last_folder(path, file - 1);
	if (version - path < 2)
		return false;
	artifact = last_folder(path, version - 1);
	if (artifact - path < 2)
		return false;
	group = (size_t)(artifact - path) - 1;
	if (group + (size_t)(version - artifact) >= sizeof(ret->name) ||
	    !copy(ret->version, sizeof(ret->version), version, (size_t)(file - version) - 1) ||
	    !copy(ret->name, sizeof(ret->name), path, (size_t)(version - path) - 1))
		return false;
	for (size_t i = 0; i < group; i++) {
		if (ret->name[i] == '/')
			ret->name[i] = '.';
	}
	ret->name[group] = ':';
	return true;
}
