/* SPDX-License-Identifier: MIT */
#include "egress/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN "%.128s" /* a rule in an error */

/* The parts of a rule's text: a host or range, and perhaps a port. */
struct parts {
	char host[RULE_TEXT_MAX + 1];
	char prefix[8];	  /* after a slash, or "" */
	const char *port; /* after a colon, or NULL */
};

/* ---- port ---- */

static int parse_port(const char *text, const char *port, struct sbx_rule *ret,
		      struct sbx_error *err)
{
	size_t digits = strspn(port, "0123456789");
	unsigned long v;

	if (strcmp(port, "*") == 0) {
		ret->any_port = true;
		return 0;
	}
	v = digits > 0 && digits < 6 ? strtoul(port, NULL, 10) : 0;
	if (port[digits] != '\0' || v == 0 || v > 65535)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has no port after its ':'; write 1 to 65535, or "
				"'*' for all",
				text);
	ret->port = (uint16_t)v;
	return 0;
}

/* ---- parts ---- */

static int copy_part(const char *text, const char *from, size_t len, char *ret, size_t size,
		     struct sbx_error *err)
{
	if (len >= size)
		return sbx_fail(err, SBX_E_INVALID, "the rule '" SHOWN "' is too long", text);
	memcpy(ret, from, len);
	ret[len] = '\0';
	return 0;
}

/* "host", "host/prefix"; the end is the end of the text or its port's colon. */
static int split_host(const char *text, const char *host, const char *end, struct parts *ret,
		      struct sbx_error *err)
{
	const char *slash = memchr(host, '/', (size_t)(end - host));
	const char *host_end = slash ? slash : end;
	int r = copy_part(text, host, (size_t)(host_end - host), ret->host, sizeof(ret->host), err);

	if (r == 0 && slash != NULL)
		r = copy_part(text, slash + 1, (size_t)(end - slash - 1), ret->prefix,
			      sizeof(ret->prefix), err);
	if (r == 0 && slash != NULL && ret->prefix[0] == '\0')
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN "' has nothing after its '/'", text);
	return r;
}

/* "[2001:db8::1]:443", "[2001:db8::]/32:443", "[2001:db8::/32]:443" */
static int split_brackets(const char *text, struct parts *ret, struct sbx_error *err)
{
	const char *close = strchr(text, ']');
	const char *rest;
	int r;

	if (close == NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN "' does not close its bracket", text);
	r = split_host(text, text + 1, close, ret, err);
	rest = close + 1;
	if (r == 0 && *rest == '/' && ret->prefix[0] == '\0') {
		size_t len = strcspn(rest, ":");

		r = copy_part(text, rest + 1, len - 1, ret->prefix, sizeof(ret->prefix), err);
		rest += len;
	}
	if (r == 0 && *rest != '\0' && *rest != ':')
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has something after its bracket that is no port",
				text);
	ret->port = *rest == ':' ? rest + 1 : NULL;
	return r;
}

static int split(const char *text, struct parts *ret, struct sbx_error *err)
{
	const char *colon = strchr(text, ':');
	bool is_v6 = colon != NULL && strchr(colon + 1, ':') != NULL;

	*ret = (struct parts){.port = NULL};
	if (strstr(text, "://") != NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN "' is a URL; write its host alone, as in "
				"'example.org' or 'example.org:8443'",
				text);
	if (text[0] == '[')
		return split_brackets(text, ret, err);
	if (is_v6 && strchr(text, '/') != NULL && strchr(strchr(text, '/'), ':') != NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has a port after an IPv6 range; write it as in "
				"'[2001:db8::/32]:443'",
				text);
	if (is_v6)
		return split_host(text, text, text + strlen(text), ret, err);
	ret->port = colon ? colon + 1 : NULL;
	return split_host(text, text, colon ? colon : text + strlen(text), ret, err);
}

/* ---- hosts ---- */

static int set_net(const char *text, const struct parts *parts, const struct address *address,
		   struct sbx_rule *ret, struct sbx_error *err)
{
	unsigned int bits = address_bits(address);
	struct address masked = *address;
	char shown[ADDRESS_TEXT_MAX];
	char *end = NULL;
	unsigned long prefix = parts->prefix[0] ? strtoul(parts->prefix, &end, 10) : bits;

	if (end != NULL &&
	    (*end != '\0' || prefix > bits || parts->prefix[0] < '0' || parts->prefix[0] > '9'))
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has no prefix length after its '/'; write 0 to %u",
				text, bits);
	for (unsigned int i = (unsigned int)prefix; i < bits; i++)
		masked.bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	if (memcmp(masked.bytes, address->bytes, sizeof(masked.bytes)) != 0) {
		address_format(&masked, shown);
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has bits beyond its prefix; did you mean %s/%lu?",
				text, shown, prefix);
	}
	ret->kind = RULE_NET;
	ret->net = *address;
	ret->prefix = (unsigned int)prefix;
	return 0;
}

static int set_host(const char *text, const struct parts *parts, struct sbx_rule *ret,
		    struct sbx_error *err)
{
	bool below = strncmp(parts->host, "*.", 2) == 0;
	struct host host;

	if (strcmp(parts->host, "*") == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN "' allows every host; the mode 'open' does that",
				text);
	if (strchr(parts->host + (below ? 2 : 0), '*') != NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN "' has a '*' that is not at its start; write "
				"'*.example.org' for all below example.org",
				text);
	host_parse(parts->host + (below ? 2 : 0), &host);
	if (host.kind == HOST_IS_WRONG)
		return sbx_fail(err, SBX_E_INVALID, "the rule '" SHOWN "' names no host: %s", text,
				host.fault);
	if (host.kind == HOST_IS_ADDRESS && below)
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has a '*' before an address; write a range, as in "
				"'10.0.0.0/8'",
				text);
	if (host.kind == HOST_IS_ADDRESS)
		return set_net(text, parts, &host.address, ret, err);
	if (parts->prefix[0] != '\0')
		return sbx_fail(err, SBX_E_INVALID,
				"the rule '" SHOWN
				"' has a '/' after a name; only an address has a range",
				text);
	ret->kind = below ? RULE_BELOW : RULE_NAME;
	memcpy(ret->name, host.name, sizeof(ret->name));
	return 0;
}

int rule_parse(const char *text, bool may_be_private, struct sbx_rule *ret, struct sbx_error *err)
{
	struct sbx_rule rule = {.may_be_private = may_be_private};
	struct parts parts;
	int r;

	if (text[0] == '\0')
		return sbx_fail(err, SBX_E_INVALID, "a rule is empty; write a host");
	if (strlen(text) > RULE_TEXT_MAX)
		return sbx_fail(err, SBX_E_INVALID, "the rule '" SHOWN "…' is too long", text);
	r = split(text, &parts, err);
	if (r == 0)
		r = set_host(text, &parts, &rule, err);
	if (r == 0 && parts.port != NULL)
		r = parse_port(text, parts.port, &rule, err);
	if (r < 0)
		return r;
	memcpy(rule.text, text, strlen(text) + 1);
	*ret = rule;
	return 0;
}

/* ---- what it covers ---- */

bool rule_covers_name(const struct sbx_rule *rule, const char *name)
{
	size_t len = strlen(name), below = strlen(rule->name);

	if (rule->kind == RULE_NAME)
		return strcmp(name, rule->name) == 0;
	return rule->kind == RULE_BELOW && len > below + 1 && name[len - below - 1] == '.' &&
	       strcmp(name + len - below, rule->name) == 0;
}

bool rule_covers_address(const struct sbx_rule *rule, const struct address *address)
{
	return rule->kind == RULE_NET && address_is_within(address, &rule->net, rule->prefix);
}

bool rule_covers_port(const struct sbx_rule *rule, uint16_t port)
{
	if (rule->any_port)
		return true;
	return rule->port != 0 ? port == rule->port : port == 80 || port == 443;
}

bool rule_names_special(const struct sbx_rule *rule, const struct address *address,
			const struct address_class *class)
{
	unsigned int least = class->only_literally ? address_bits(address) : class->prefix;

	return rule_covers_address(rule, address) && rule->prefix >= least;
}
