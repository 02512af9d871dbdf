/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/network.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "egress/policy.h"
#include "egress/rule.h"
#include "mcp/sandbox/reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define RULES_MAX    64 /* of one call */
#define ATTEMPTS_MAX 50
#define SMTP_PORT    25

const char *const mcp_network_modes[] = {"none", "allow", "packages", "open", NULL};

static enum sbx_network_mode most_of(const struct sbx_network *most)
{
	return most ? most->mode : SBX_NETWORK_NONE;
}

static const char *name_of(const struct sbx_network *most)
{
	return sbx_network_mode_name(most_of(most));
}

/* ---- rules of a model ---- */

/* One of the server's own, word for word. */
static bool is_given(const struct sbx_network *most, struct sbx_rule *rule)
{
	for (size_t i = 0; i < most->rule_count; i++) {
		if (strcasecmp(most->rules[i].text, rule->text) != 0)
			continue;
		rule->may_be_private = most->rules[i].may_be_private;
		return true;
	}
	return false;
}

/* Whether the server's rules alone lead to this very host and port. */
static bool is_led_to(const struct sbx_network *most, struct sbx_rule *rule, const char *host,
		      uint16_t port)
{
	struct sbx_network rules = *most;
	struct sbx_verdict verdict;

	rules.mode = SBX_NETWORK_ALLOW;
	sbx_network_judge_host(&rules, host, port, &verdict);
	rule->may_be_private = verdict.may_be_private;
	return verdict.allowed;
}

static bool is_narrower(const struct sbx_network *most, struct sbx_rule *rule)
{
	char address[ADDRESS_TEXT_MAX];
	const char *host = rule->name;

	if (rule->any_port || rule->kind == RULE_BELOW)
		return false;
	if (rule->kind == RULE_NET) {
		if (rule->prefix != address_bits(&rule->net))
			return false;
		address_format(&rule->net, address);
		host = address;
	}
	if (rule->port != 0)
		return is_led_to(most, rule, host, rule->port);
	return is_led_to(most, rule, host, 80) && is_led_to(most, rule, host, 443);
}

/*
 * Something that an open network reaches anyway. Names of this machine are none, and neither is
 * what a rule opens that openness does not: mail, and addresses that are not public.
 */
static bool is_public(const struct sbx_rule *rule)
{
	if (rule->any_port || rule->port == SMTP_PORT)
		return false;
	if (rule->kind == RULE_NET)
		return rule->prefix == address_bits(&rule->net) &&
		       address_classify(&rule->net) == NULL;
	return strchr(rule->name, '.') != NULL && !host_is_localhost(rule->name);
}

static int refuse_host(const struct sbx_network *most, const char *text, struct sbx_error *err)
{
	char allowed[200];

	sbx_network_describe(most, allowed, sizeof(allowed));
	return sbx_fail(
		err, SBX_E_DENIED,
		"allow: '%.100s' is not what this server allows, which is: %s; whoever runs the "
		"server can add it with --allow %.100s (or SANDBOX_ALLOW)",
		text, most->rule_count > 0 || most->mode == SBX_NETWORK_OPEN ? allowed : "no host",
		text);
}

static int add_wish(const struct sbx_network *most, const char *text, struct sbx_network *network,
		    struct sbx_error *err)
{
	struct sbx_rule rule;
	int r = rule_parse(text, false, &rule, err);

	if (r < 0)
		return r;
	if (is_given(most, &rule) || is_narrower(most, &rule))
		return sbx_network_allow(network, text, rule.may_be_private, err);
	if (most->mode == SBX_NETWORK_OPEN && is_public(&rule))
		return sbx_network_allow(network, text, false, err);
	return refuse_host(most, text, err);
}

static int add_wishes(const struct sbx_network *most, const json_t *list,
		      struct sbx_network *network, struct sbx_error *err)
{
	const json_t *item;
	size_t i;
	int r = 0;

	if (json_array_size(list) > RULES_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "allow: at most %d hosts", RULES_MAX);
	json_array_foreach(list, i, item)
	{
		r = add_wish(most, json_string_value(item), network, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All that the server's rules allow. */
static int add_given(const struct sbx_network *most, struct sbx_network *network,
		     struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < most->rule_count; i++)
		r = sbx_network_allow(network, most->rules[i].text, most->rules[i].may_be_private,
				      err);
	return r;
}

/* ---- the mode ---- */

static int read_mode(const json_t *arguments, enum sbx_network_mode *ret, struct sbx_error *err)
{
	const char *text = json_string_value(json_object_get(arguments, "network"));
	bool lists = json_array_size(json_object_get(arguments, "allow")) > 0;

	*ret = lists ? SBX_NETWORK_ALLOW : SBX_NETWORK_NONE;
	if (text != NULL && !sbx_network_mode_parse(text, ret))
		return sbx_fail(err, SBX_E_INVALID, "there is no network '%.64s'", text);
	if (lists && *ret != SBX_NETWORK_ALLOW)
		return sbx_fail(err, SBX_E_INVALID, "allow goes with network=allow, not with %s",
				text);
	return 0;
}

static int check_mode(const struct sbx_network *most, enum sbx_network_mode mode,
		      struct sbx_error *err)
{
	const char *name = sbx_network_mode_name(mode);

	if (mode <= most_of(most))
		return 0;
	return sbx_fail(
		err, SBX_E_DENIED,
		"network '%s' is more than this server allows, which is '%s'; whoever runs the "
		"server can allow more with --network %s%s (or SANDBOX_NETWORK)",
		name, name_of(most), name, mode == SBX_NETWORK_ALLOW ? " and --allow HOST" : "");
}

static int fill(const struct sbx_network *most, const json_t *wishes, struct sbx_network *network,
		struct sbx_error *err)
{
	sbx_network_set_limits(network, &most->limits);
	if (json_array_size(wishes) > 0)
		return add_wishes(most, wishes, network, err);
	if (network->mode == SBX_NETWORK_ALLOW && most->rule_count == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"network=allow needs hosts: give them as allow");
	return add_given(most, network, err);
}

int mcp_network_make(const struct mcp_environment *environment, const json_t *arguments,
		     struct sbx_network **ret, struct sbx_error *err)
{
	const struct sbx_network *most = environment->network;
	struct sbx_network *network;
	enum sbx_network_mode mode;
	int r = read_mode(arguments, &mode, err);

	*ret = NULL;
	if (r == 0)
		r = check_mode(most, mode, err);
	if (r < 0 || mode == SBX_NETWORK_NONE)
		return r;
	r = sbx_network_new(mode, &network, err);
	if (r == 0)
		r = fill(most, json_object_get(arguments, "allow"), network, err);
	if (r < 0) {
		sbx_network_free(network);
		return r;
	}
	*ret = network;
	return 0;
}

/* ---- what came of it ---- */

/* A program chose the words. */
static json_t *clean(const char *text)
{
	auto_buf struct sbx_buf out = SBX_BUF_INIT(4096);

	sbx_text_append_utf8(&out, text, strlen(text));
	return json_stringn(out.data ? out.data : "", out.len);
}

static json_t *describe(const struct sbx_egress *e)
{
	json_t *object =
		json_pack("{s:o, s:i, s:s, s:o}", "host", clean(e->host), "port", e->port,
			  "verdict", sbx_egress_verdict_name(e->verdict), "rule", clean(e->rule));

	if (e->address[0] != '\0')
		mcp_set(object, "address", json_string(e->address));
	if (e->verdict == SBX_EGRESS_ALLOWED) {
		mcp_set(object, "sent", json_integer((json_int_t)e->sent));
		mcp_set(object, "received", json_integer((json_int_t)e->received));
	}
	return object;
}

json_t *mcp_network_attempts(const struct sbx_result *result)
{
	size_t count = result->egress_count, from = count > ATTEMPTS_MAX ? count - ATTEMPTS_MAX : 0;
	json_t *list = count > 0 ? json_array() : NULL;

	for (size_t i = from; i < count; i++)
		json_array_append_new(list, describe(&result->egress[i]));
	return list;
}
