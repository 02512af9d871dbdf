/* SPDX-License-Identifier: MIT */
/* One rule of a network: its text, and what it covers. No I/O. */
#pragma once

#include "base/error.h"
#include "egress/address.h"
#include "egress/spelling.h"

#define RULE_TEXT_MAX 255

enum rule_kind { RULE_NAME, RULE_BELOW, RULE_NET };

struct sbx_rule {
	char text[RULE_TEXT_MAX + 1]; /* as it was written */
	enum rule_kind kind;
	char name[HOST_NAME_MAX_BYTES + 1]; /* RULE_BELOW: without its "*." */
	struct address net;
	unsigned int prefix;
	bool any_port;
	uint16_t port; /* 0: 80 and 443 */
	bool may_be_private;
};

/* llmsandbox/network.h says how it is written; SBX_E_INVALID says what is wrong with it. */
int rule_parse(const char *text, bool may_be_private, struct sbx_rule *ret, struct sbx_error *err);

/* The host alone, whatever the port. */
bool rule_covers_name(const struct sbx_rule *rule, const char *name);
bool rule_covers_address(const struct sbx_rule *rule, const struct address *address);

bool rule_covers_port(const struct sbx_rule *rule, uint16_t port);

/*
 * Whether it names this special address: a range that lies within the special one does, one that
 * is wider, as 0.0.0.0/0, does not; of some classes only the address itself does.
 */
bool rule_names_special(const struct sbx_rule *rule, const struct address *address,
			const struct address_class *class);
