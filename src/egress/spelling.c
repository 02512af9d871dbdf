/* SPDX-License-Identifier: MIT */
#include "egress/spelling.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#define TEXT_MAX 255

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

/* What no host may hold in any spelling; NULL when there is nothing of it. */
static const char *find_foreign(const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f)
			return "it has a control character in it";
		if (c == ' ')
			return "it has a space in it";
		if (c > 0x7f)
			return "it is not ASCII; write such a name in its xn-- form";
		if (c == '%')
			return "it has a '%' in it; neither percent-encoding nor a zone is taken";
		if (c == '@')
			return "it has a '@' in it; write the host alone";
		if (c == '/' || c == '\\' || c == '?' || c == '#')
			return "it has a piece of a URL in it; write the host alone";
	}
	return NULL;
}

/* ---- addresses ---- */

static bool parse_v6(const char *text, size_t len, struct address *ret)
{
	uint8_t bytes[16];
	char copy[ADDRESS_TEXT_MAX];

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET6, copy, bytes) != 1)
		return false;
	*ret = address_v6(bytes);
	return true;
}

/* One part as inet_aton(3) reads it: 0x hexadecimal, 0 octal, else decimal. */
static bool parse_number(const char *text, size_t len, uint64_t *ret)
{
	unsigned int base = 10;
	uint64_t v = 0;

	if (len > 1 && text[0] == '0') {
		base = lower(text[1]) == 'x' ? 16 : 8;
		text += base == 16 ? 2 : 1;
		len -= base == 16 ? 2 : 1;
	}
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		int digit = digit_value(text[i]);

		if (digit < 0 || (unsigned int)digit >= base || v > UINT32_MAX)
			return false;
		v = v * base + (unsigned int)digit;
	}
	*ret = v;
	return v <= UINT32_MAX;
}

/* One to four parts; the last one fills all bytes that the others leave. */
static bool parse_v4(const char *text, struct address *ret)
{
	uint64_t parts[4], last_max;
	uint32_t v = 0;
	size_t count = 0;

	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ".");

		if (count == 4 || !parse_number(at, len, &parts[count++]))
			return false;
		at += len;
		if (*at == '\0')
			break;
	}
	last_max = UINT32_MAX >> (8 * (count - 1));
	for (size_t i = 0; i + 1 < count; i++) {
		if (parts[i] > 255)
			return false;
		v |= (uint32_t)parts[i] << (24 - 8 * i);
	}
	if (parts[count - 1] > last_max)
		return false;
	*ret = address_v4(v | (uint32_t)parts[count - 1]);
	return true;
}

/*
 * Whether the last label is a number: then no resolver may see it, because many take it for an
 * address. No top-level domain is one (RFC 3696 section 2).
 */
static bool ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *label = dot ? dot + 1 : name;
	bool is_hex = label[0] == '0' && lower(label[1]) == 'x';

	if (!is_digit(label[0]))
		return false;
	for (const char *p = is_hex ? label + 2 : label; *p != '\0'; p++) {
		if (is_hex ? digit_value(*p) < 0 : !is_digit(*p))
			return false;
	}
	return true;
}

/* ---- names ---- */

static const char *check_label(const char *label, size_t len)
{
	if (len == 0)
		return "it has an empty label, as two dots together make one";
	if (len > 63)
		return "one of its labels is longer than 63 bytes";
	if (label[0] == '-' || label[len - 1] == '-')
		return "one of its labels begins or ends with a hyphen";
	for (size_t i = 0; i < len; i++) {
		char c = label[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
			return "it has a character that no host name has";
	}
	return NULL;
}

static const char *check_name(const char *name)
{
	const char *fault = NULL;

	for (const char *at = name; fault == NULL; at++) {
		size_t len = strcspn(at, ".");

		fault = check_label(at, len);
		at += len;
		if (*at == '\0')
			break;
	}
	return fault;
}

/* ---- both ---- */

static void wrong(struct host *ret, const char *fault)
{
	ret->kind = HOST_IS_WRONG;
	ret->fault = fault;
	ret->name[0] = '\0';
}

static void parse_colons(const char *text, size_t len, struct host *ret)
{
	if (text[0] == '[') {
		if (text[len - 1] != ']') {
			wrong(ret, "its bracket is not closed");
			return;
		}
		text++;
		len -= 2;
	}
	if (!parse_v6(text, len, &ret->address)) {
		wrong(ret, "it is no IPv6 address");
		return;
	}
	ret->kind = HOST_IS_ADDRESS;
}

static void parse_dots(const char *text, size_t len, struct host *ret)
{
	const char *fault;

	if (len > 1 && text[len - 1] == '.')
		len--;
	if (len > HOST_NAME_MAX_BYTES) {
		wrong(ret, "it is longer than 253 bytes");
		return;
	}
	for (size_t i = 0; i < len; i++)
		ret->name[i] = lower(text[i]);
	ret->name[len] = '\0';
	if (ends_in_number(ret->name)) {
		if (!parse_v4(ret->name, &ret->address))
			wrong(ret, "it looks like an IPv4 address and is none");
		else
			ret->kind = HOST_IS_ADDRESS;
		return;
	}
	fault = check_name(ret->name);
	if (fault != NULL)
		wrong(ret, fault);
}

void host_parse(const char *text, struct host *ret)
{
	size_t len = strnlen(text, TEXT_MAX + 1);
	const char *fault;

	*ret = (struct host){.kind = HOST_IS_NAME};
	if (len == 0) {
		wrong(ret, "it is empty");
		return;
	}
	if (len > TEXT_MAX) {
		wrong(ret, "it is longer than 253 bytes");
		return;
	}
	fault = find_foreign(text);
	if (fault != NULL)
		wrong(ret, fault);
	else if (text[0] == '[' || strchr(text, ':') != NULL)
		parse_colons(text, len, ret);
	else
		parse_dots(text, len, ret);
}

bool host_is_localhost(const char *name)
{
	static const char below[] = ".localhost";
	size_t len = strlen(name), n = sizeof(below) - 1;

	return strcmp(name, "localhost") == 0 || (len > n && strcmp(name + len - n, below) == 0);
}

void host_clean(const char *text, char *ret, size_t size)
{
	size_t i = 0;

	for (; i + 1 < size && text[i] != '\0'; i++)
		ret[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
	ret[i] = '\0';
}
