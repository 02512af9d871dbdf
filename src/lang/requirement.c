/* SPDX-License-Identifier: MIT */
#include "lang/requirement.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define LENGTH_MAX 214 /* what npm allows a name; nobody allows more */

#define DIGITS "0123456789"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define ALNUM  LOWER UPPER DIGITS

const char *sbx_requirement_check(const char *text)
{
	if (text[0] == '\0')
		return "is empty";
	if (strnlen(text, LENGTH_MAX + 1) > LENGTH_MAX)
		return "is longer than 214 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (*p < ' ' || *p == 0x7f)
			return "has a control character in it";
		if ((unsigned char)*p > 0x7f)
			return "has a character in it that is not ASCII";
	}
	if (text[0] == '-')
		return "is an option and not the name of a library";
	if (strstr(text, "://") != NULL)
		return "is an address; libraries come from the package manager's repositories by name";
	return NULL;
}

/* ---- reading from left to right ---- */

/* Pass over what is made of these characters; whether there was any. */
static bool take(const char **at, const char *characters)
{
	size_t len = strspn(*at, characters);

	*at += len;
	return len > 0;
}

static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* As take(), of what starts and ends with a letter or digit. */
static bool take_word(const char **at, const char *characters)
{
	const char *start = *at;

	return take(at, characters) && strchr(ALNUM, start[0]) != NULL &&
	       strchr(ALNUM, (*at)[-1]) != NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcasecmp(text + len - end_len, end) == 0;
}

/* ---- Python ---- */

static bool take_extras(const char **at)
{
	do {
		take(at, " ");
		if (!take_word(at, ALNUM "._-"))
			return false;
		take(at, " ");
	} while (take_char(at, ','));
	return take_char(at, ']');
}

static bool take_operator(const char **at)
{
	static const char *const operators[] = {"===", "==", ">=", "<=", "!=", "~=", ">", "<"};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strncmp(*at, operators[i], strlen(operators[i])) == 0) {
			*at += strlen(operators[i]);
			return true;
		}
	}
	return false;
}

static bool take_versions(const char **at)
{
	do {
		take(at, " ");
		if (!take_operator(at))
			return false;
		take(at, " ");
		if (strchr(DIGITS, **at) == NULL || !take(at, ALNUM "._+!*-"))
			return false;
		take(at, " ");
	} while (take_char(at, ','));
	return true;
}

const char *sbx_requirement_pypi(const char *text)
{
	const char *at = text;

	if (!take_word(&at, ALNUM "._-"))
		return "does not begin with the name of a package, such as 'requests'";
	take(&at, " ");
	if (take_char(&at, '[') && !take_extras(&at))
		return "has extras that are not written as 'name[extra1,extra2]'";
	take(&at, " ");
	if (*at == '@')
		return "is an address; libraries come from the package index by name";
	if (*at == ';')
		return "has an environment marker, which is not supported";
	if (*at != '\0' && (!take_versions(&at) || *at != '\0'))
		return "has a version that is not written as 'name>=1.0,<2'";
	return NULL;
}

/* ---- JavaScript ---- */

/* npm takes such names for files. */
static bool is_archive(const char *text)
{
	return ends_with(text, ".tgz") || ends_with(text, ".tar.gz") || ends_with(text, ".tar");
}

static bool take_npm_name(const char **at)
{
	return strchr(ALNUM, **at) != NULL && take(at, ALNUM "._~-");
}

/* A tag is a word; a range has blanks, signs, and "||" between its parts. */
static bool is_npm_version(const char *at)
{
	if (strchr(LOWER UPPER, *at) != NULL)
		return *at != '\0' && at[strspn(at, ALNUM "._-")] == '\0';
	if (*at == '\0' || strchr(DIGITS "^~<>=*", *at) == NULL)
		return false;
	while (take(&at, ALNUM " ._+^~<>=*-") && strncmp(at, "||", 2) == 0)
		at += 2;
	return *at == '\0';
}

const char *sbx_requirement_npm(const char *text)
{
	const char *at = text;

	if (is_archive(text))
		return "is the name of a file; libraries come from the registry by name";
	if (take_char(&at, '@') && (!take_npm_name(&at) || !take_char(&at, '/')))
		return "has a scope that is not written as '@scope/name'";
	if (*at == '\0' || !take_npm_name(&at))
		return "does not begin with the name of a package, such as 'lodash'";
	if (*at == '\0')
		return NULL;
	if (!take_char(&at, '@') || !is_npm_version(at))
		return "has a version that is not written as 'name@1.2.3', 'name@^1.2' or 'name@latest'";
	return NULL;
}

/* ---- Go ---- */

static bool take_path_element(const char **at)
{
	const char *start = *at;

	return take(at, ALNUM "-._~") && start[0] != '.' && start[0] != '-' && (*at)[-1] != '.';
}

const char *sbx_requirement_go(const char *text)
{
	const char *at = text;

	/* "go@1.22" would change the version of Go itself. */
	if (memchr(text, '.', strcspn(text, "/@")) == NULL)
		return "is no module path, which begins with a host, such as 'example.org/module'";
	do {
		if (!take_path_element(&at))
			return "is no module path, which begins with a host, such as "
			       "'example.org/module'";
	} while (take_char(&at, '/'));
	if (*at == '\0')
		return NULL;
	if (!take_char(&at, '@') || !take_word(&at, ALNUM "._+-") || *at != '\0' ||
	    ends_with(text, "@none"))
		return "has a version that is not written as '@v1.2.3' or '@latest'";
	return NULL;
}

/* ---- Java ---- */

const char *sbx_requirement_maven(const char *text)
{
	const char *at = text;
	int parts = 0;

	do {
		if (!take_word(&at, parts == 2 ? ALNUM "._+-" : ALNUM "._-"))
			break;
		parts++;
	} while (parts < 4 && take_char(&at, ':'));
	if (parts < 3 || *at != '\0' || at[-1] == ':' || strstr(text, "..") != NULL)
		return "is no Maven coordinate, which is written as 'group:artifact:version' or "
		       "'group:artifact:version:classifier'";
	return NULL;
}

/* ---- Ruby ---- */

const char *sbx_requirement_gem(const char *text)
{
	const char *at = text;

	if (strchr(ALNUM "_", text[0]) == NULL || !take(&at, ALNUM "._-"))
		return "does not begin with the name of a gem, such as 'rack'";
	if (is_archive(text) || ends_with(text, ".gem"))
		return "is the name of a file; libraries come from the gem sources by name";
	if (*at == '\0')
		return NULL;
	if (!take_char(&at, ':'))
		return "is not written as 'name' or 'name:1.2.3'";
	if (strncmp(at, "~>", 2) == 0)
		at += 2;
	else if (*at == '=')
		at++;
	else
		take_operator(&at);
	take(&at, " ");
	if (strchr(DIGITS, *at) == NULL || !take_word(&at, ALNUM ".-") || *at != '\0')
		return "has a version that is not written as 'name:1.2.3' or 'name:~>1.2'";
	return NULL;
}

/* ---- R ---- */

const char *sbx_requirement_cran(const char *text)
{
	const char *at = text;

	if (strchr(LOWER UPPER, text[0]) == NULL || !take_word(&at, ALNUM ".") || at - text < 2)
		return "does not begin with the name of a package, such as 'jsonlite'";
	if (*at == '\0')
		return NULL;
	if (!take_char(&at, '@') || !take_word(&at, DIGITS ".-") || *at != '\0')
		return "has a version that is not written as 'name@1.2.3'";
	return NULL;
}

/* ---- C++ ---- */

/* apt takes a sign at the end of a name for what to do with the package. */
static bool take_debian_name(const char **at)
{
	const char *start = *at;

	return strchr(LOWER DIGITS, start[0]) != NULL && take(at, LOWER DIGITS "+.-") &&
	       *at - start >= 2 && (*at)[-1] != '-' && (*at)[-1] != '.' && (*at)[-1] != '+';
}

const char *sbx_requirement_debian(const char *text)
{
	const char *at = text;
	bool dev;

	if (!take_debian_name(&at))
		return "does not begin with the name of a Debian package, such as 'libfmt-dev'";
	dev = at - text > 4 && strncmp(at - 4, "-dev", 4) == 0;
	if (!dev && (at - text < 4 || strncmp(text, "lib", 3) != 0))
		return "is no library: the name of a Debian package that ends in '-dev' or begins with "
		       "'lib' is wanted";
	if (*at == '\0')
		return NULL;
	if (!take_char(&at, '=') || strchr(DIGITS, *at) == NULL || *at == '\0' ||
	    !take(&at, ALNUM ".+~:-") || *at != '\0')
		return "has a version that is not written as 'name=1.2.3-1'";
	return NULL;
}
