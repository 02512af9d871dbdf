/* SPDX-License-Identifier: MIT */
/*
 * What a host string means, whoever wrote it. Programs, libraries and resolvers read 0x7f.1,
 * 2130706433, 017700000001 and 127.1 as 127.0.0.1; here they are that address, or they are
 * refused, and none of them is ever taken for a name. What comes out as a name is a host name
 * (RFC 1123, and the underscore that some have): no control character, space or byte beyond
 * ASCII is left in it. No I/O.
 */
#pragma once

#include "egress/address.h"

#define HOST_NAME_MAX_BYTES 253

enum host_kind { HOST_IS_NAME, HOST_IS_ADDRESS, HOST_IS_WRONG };

struct host {
	enum host_kind kind;
	char name[HOST_NAME_MAX_BYTES + 1]; /* lower case, no dot at its end */
	struct address address;
	const char *fault; /* of HOST_IS_WRONG: "it has a '%' in it" */
};

/* text ends with NUL; brackets around an IPv6 address are allowed. */
void host_parse(const char *text, struct host *ret);

/* name is localhost or below it (RFC 6761). */
bool host_is_localhost(const char *name);

/* Text for a log: what is no printable ASCII becomes '?', what does not fit is cut. */
void host_clean(const char *text, char *ret, size_t size);
