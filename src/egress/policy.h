/* SPDX-License-Identifier: MIT */
/*
 * Which host and which address may be reached: rules, and verdicts on them. No I/O. This is the
 * inside of struct sbx_network; users see llmsandbox/network.h, which says how rules are written.
 *
 * A name is judged before it is resolved, each address before it is connected to; both must pass.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/network.h>

#include <netinet/in.h>
#include <sys/socket.h>

struct sbx_rule;

struct sbx_network {
	enum sbx_network_mode mode;
	struct sbx_network_limits limits; /* with the defaults filled in */
	struct sbx_rule *rules;
	size_t rule_count;
};

struct sbx_network *sbx_network_copy(const struct sbx_network *network); /* NULL: no memory */

/* A verdict: allowed or not, and the rule or the reason, for the log and for a model to read. */
struct sbx_verdict {
	bool allowed;
	bool may_be_private; /* of a name: it may lead to a private address */
	bool may_be_loopback; /* of localhost, named by a rule: to a loopback one */
	char text[256];
};

/* The rules in one line, for a refusal: "a, b and 3 more", or "nothing"; cut where its space ends. */
void sbx_network_describe(const struct sbx_network *network, char *ret, size_t size);

/* host is a name or an address literal in any spelling, as the program wrote it. */
void sbx_network_judge_host(const struct sbx_network *network, const char *host, uint16_t port,
			    struct sbx_verdict *ret);

/* An address that an allowed host has led to. */
void sbx_network_judge_address(const struct sbx_network *network, const struct sbx_verdict *host,
			       const struct sockaddr *address, struct sbx_verdict *ret);
