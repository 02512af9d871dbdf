/* SPDX-License-Identifier: MIT */
/*
 * Where things stand in a JSON text: the members of one object, as byte offsets. The text is
 * strict JSON that a parser has accepted; on anything else the answers are useless, but no
 * byte outside of it is read. Pure.
 */
#pragma once

#include "cli/edits.h"

/* key..key_end is the name with its quotes; comma is the one behind it, or 0. */
struct json_member {
	size_t key, key_end, value, value_end, comma;
};

struct json_object {
	size_t open, close; /* its braces */
	size_t count, found_count;
	struct json_member first, last;	  /* when count > 0 */
	struct json_member found, before; /* the last one of that name; the one in front of it */
	bool has_before;
};

/* The object that opens at this offset; name is the member to look for. */
void json_scan_object(const struct text *in, size_t open, const char *name,
		      struct json_object *ret);

/* The first offset from at on that is no white space. */
size_t json_skip_space(const struct text *in, size_t at);
