/* SPDX-License-Identifier: MIT */
#include "egress/policy.h"

#include "base/auto.h"
#include "egress/address.h"
#include "egress/rule.h"
#include "egress/spelling.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RULES_MAX 1024
#define SMTP_PORT 25

static const char *const mode_names[] = {
	[SBX_NETWORK_NONE] = "none",
	[SBX_NETWORK_ALLOW] = "allow",
	[SBX_NETWORK_PACKAGES] = "packages",
	[SBX_NETWORK_OPEN] = "open",
};

#define MODES (sizeof(mode_names) / sizeof(mode_names[0]))

/* ---- a network ---- */

bool sbx_network_mode_parse(const char *text, enum sbx_network_mode *ret)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(text, mode_names[i]) == 0) {
			*ret = (enum sbx_network_mode)i;
			return true;
		}
	}
	return false;
}

const char *sbx_network_mode_name(enum sbx_network_mode mode)
{
	return (unsigned int)mode < MODES ? mode_names[mode] : "unknown";
}

const char *sbx_egress_verdict_name(enum sbx_egress_verdict verdict)
{
	static const char *const names[] = {
		[SBX_EGRESS_ALLOWED] = "allowed",
		[SBX_EGRESS_DENIED] = "denied",
		[SBX_EGRESS_FAILED] = "failed",
	};

	return (unsigned int)verdict < sizeof(names) / sizeof(names[0]) ? names[verdict]
									: "unknown";
}

int sbx_network_new(enum sbx_network_mode mode, struct sbx_network **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_network *network;

	err = err ? err : &lent;
	if ((unsigned int)mode >= MODES)
		return sbx_fail(err, SBX_E_INVALID, "there is no network mode number %d",
				(int)mode);
	network = calloc(1, sizeof(*network));
	if (network == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a network");
	network->mode = mode;
	sbx_network_set_limits(network, &(struct sbx_network_limits){0});
	*ret = network;
	return 0;
}

void sbx_network_free(struct sbx_network *network)
{
	if (network == NULL)
		return;
	free(network->rules);
	free(network);
}

struct sbx_network *sbx_network_copy(const struct sbx_network *network)
{
	struct sbx_network *copy = malloc(sizeof(*copy));
	size_t size = network->rule_count * sizeof(*network->rules);

	if (copy == NULL)
		return NULL;
	*copy = *network;
	copy->rules = malloc(size ? size : 1);
	if (copy->rules == NULL) {
		free(copy);
		return NULL;
	}
	if (size > 0)
		memcpy(copy->rules, network->rules, size);
	return copy;
}

void sbx_network_set_limits(struct sbx_network *network, const struct sbx_network_limits *limits)
{
	struct sbx_network_limits *mine = &network->limits;

	*mine = *limits;
	mine->connections = mine->connections ? mine->connections : 64;
	mine->connect_timeout_ms = mine->connect_timeout_ms ? mine->connect_timeout_ms : 10000;
	mine->idle_timeout_ms = mine->idle_timeout_ms ? mine->idle_timeout_ms : 300000;
}

int sbx_network_allow(struct sbx_network *network, const char *text, bool may_be_private,
		      struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_rule rule, *grown;
	int r;

	err = err ? err : &lent;
	r = rule_parse(text, may_be_private, &rule, err);
	if (r < 0)
		return r;
	if (network->rule_count == RULES_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "a network has at most %d rules", RULES_MAX);
	grown = reallocarray(network->rules, network->rule_count + 1, sizeof(*grown));
	if (grown == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep a rule");
	network->rules = grown;
	network->rules[network->rule_count++] = rule;
	return 0;
}

void sbx_network_describe(const struct sbx_network *network, char *ret, size_t size)
{
	size_t at = 0;

	if (network->mode == SBX_NETWORK_NONE) {
		snprintf(ret, size, "nothing");
		return;
	}
	at = (size_t)snprintf(ret, size, "%s",
			      network->mode == SBX_NETWORK_OPEN ? "every public address"
			      : network->rule_count == 0	? "nothing"
								: "");
	for (size_t i = 0; i < network->rule_count && at < size; i++) {
		const char *text = network->rules[i].text;
		size_t room = i + 1 < network->rule_count ? strlen(" and 1234 more") : 0;

		if (at + strlen(text) + 2 + room >= size) {
			snprintf(ret + at, size - at, " and %zu more", network->rule_count - i);
			return;
		}
		at += (size_t)snprintf(ret + at, size - at, "%s%s", at > 0 ? ", " : "", text);
	}
}

/* ---- verdicts ---- */

__attribute__((format(printf, 3, 4))) static void decide(struct sbx_verdict *ret, bool allowed,
							 const char *fmt, ...)
{
	va_list ap;

	*ret = (struct sbx_verdict){.allowed = allowed};
	va_start(ap, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
	va_end(ap);
}

/* No rule allows it; when one would for another port, that is the thing to say. */
static void deny_for_want_of_rule(const struct sbx_rule *near, const char *shown, uint16_t port,
				  struct sbx_verdict *ret)
{
	if (near != NULL)
		decide(ret, false, "the rule '%.100s' does not cover port %u", near->text, port);
	else
		decide(ret, false, "no rule allows %.120s port %u", shown, port);
}

/* The rule that names this special address at this port, or NULL. */
static const struct sbx_rule *find_special(const struct sbx_network *network,
					   const struct address *address, uint16_t port,
					   const struct address_class *class)
{
	for (size_t i = 0; i < network->rule_count; i++) {
		const struct sbx_rule *rule = &network->rules[i];

		if (rule_names_special(rule, address, class) && rule_covers_port(rule, port))
			return rule;
	}
	return NULL;
}

static void deny_special(const char *subject, const struct address_class *class,
			 struct sbx_verdict *ret)
{
	decide(ret, false, "%.150s is %s (%s)%s", subject, class->what, class->source,
	       class->only_literally ? ", which only a rule with this very address allows"
				     : ", which only a rule that names it allows");
}

static void judge_literal(const struct sbx_network *network, const struct address *address,
			  uint16_t port, struct sbx_verdict *ret)
{
	const struct address_class *class = address_classify(address);
	const struct sbx_rule *near = NULL, *rule;
	char shown[ADDRESS_TEXT_MAX];

	address_format(address, shown);
	if (class != NULL) {
		rule = find_special(network, address, port, class);
		if (rule != NULL)
			decide(ret, true, "%s", rule->text);
		else
			deny_special(shown, class, ret);
		return;
	}
	for (size_t i = 0; i < network->rule_count; i++) {
		rule = &network->rules[i];
		if (!rule_covers_address(rule, address))
			continue;
		if (rule_covers_port(rule, port)) {
			decide(ret, true, "%s", rule->text);
			return;
		}
		near = rule;
	}
	deny_for_want_of_rule(near, shown, port, ret);
}

/* Of several rules for a name, one that lets it be private is the one that counts. */
static void judge_name(const struct sbx_network *network, const char *name, uint16_t port,
		       struct sbx_verdict *ret)
{
	const struct sbx_rule *near = NULL, *found = NULL;

	for (size_t i = 0; i < network->rule_count; i++) {
		const struct sbx_rule *rule = &network->rules[i];

		if (!rule_covers_name(rule, name))
			continue;
		if (!rule_covers_port(rule, port))
			near = rule;
		else if (found == NULL || (rule->may_be_private && !found->may_be_private))
			found = rule;
	}
	if (found == NULL) {
		deny_for_want_of_rule(near, name, port, ret);
		return;
	}
	decide(ret, true, "%s", found->text);
	ret->may_be_private = found->may_be_private;
	ret->may_be_loopback = host_is_localhost(name);
}

/* What the mode allows by itself, where no rule did. Mail is for a rule to allow. */
static void judge_open(const struct host *host, uint16_t port, struct sbx_verdict *ret)
{
	if (host->kind == HOST_IS_ADDRESS && address_classify(&host->address) != NULL)
		return;
	if (port == SMTP_PORT)
		decide(ret, false, "port %d is for mail; only a rule with this port allows it",
		       SMTP_PORT);
	else
		decide(ret, true, "open");
}

void sbx_network_judge_host(const struct sbx_network *network, const char *text, uint16_t port,
			    struct sbx_verdict *ret)
{
	char shown[100];
	struct host host;

	host_parse(text, &host);
	host_clean(text, shown, sizeof(shown));
	if (network->mode == SBX_NETWORK_NONE)
		decide(ret, false, "the network is off");
	else if (host.kind == HOST_IS_WRONG)
		decide(ret, false, "'%s' is no host: %s", shown, host.fault);
	else if (port == 0)
		decide(ret, false, "there is no port 0");
	else if (host.kind == HOST_IS_ADDRESS)
		judge_literal(network, &host.address, port, ret);
	else
		judge_name(network, host.name, port, ret);

	if (!ret->allowed && network->mode == SBX_NETWORK_OPEN && host.kind != HOST_IS_WRONG &&
	    port != 0)
		judge_open(&host, port, ret);
}

void sbx_network_judge_address(const struct sbx_network *network, const struct sbx_verdict *host,
			       const struct sockaddr *socket_address, struct sbx_verdict *ret)
{
	const struct address_class *class;
	const struct sbx_rule *rule;
	char text[ADDRESS_TEXT_MAX], subject[ADDRESS_TEXT_MAX + 32];
	struct address address;
	uint16_t port;

	if (!address_from_socket(socket_address, &address, &port)) {
		decide(ret, false, "it leads to something that is no internet address");
		return;
	}
	class = address_classify(&address);
	if (class == NULL || (host->may_be_private && !class->only_literally) ||
	    (host->may_be_loopback && class->is_loopback)) {
		*ret = *host;
		return;
	}
	rule = find_special(network, &address, port, class);
	if (rule != NULL) {
		decide(ret, true, "%s", rule->text);
		return;
	}
	address_format(&address, text);
	snprintf(subject, sizeof(subject), "it leads to %s; this", text);
	deny_special(subject, class, ret);
}
