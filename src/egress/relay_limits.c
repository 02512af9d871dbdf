/* SPDX-License-Identifier: MIT */
#include "egress/relay_limits.h"

#include "base/clock.h"

#define PIECE_LEAST 1400 /* no smaller pieces than a packet, where the rate is larger than that */

/* What may pass in one go: a tenth of a second's worth. */
static uint64_t most_tokens(const struct relay_limits *l)
{
	return l->per_second / 10 > 0 ? l->per_second / 10 : 1;
}

static uint64_t least_piece(const struct relay_limits *l)
{
	return most_tokens(l) < PIECE_LEAST ? most_tokens(l) : PIECE_LEAST;
}

void relay_limits_set(struct relay_limits *l, const struct sbx_network_limits *from,
		      uint64_t now_ns)
{
	l->bytes = from->bytes;
	l->per_second = from->bytes_per_second;
	l->tokens = most_tokens(l);
	l->filled_ns = now_ns;
}

static void fill(struct relay_limits *l, uint64_t now_ns)
{
	uint64_t most = most_tokens(l), passed_ns = now_ns - l->filled_ns, more;

	if (passed_ns >= SBX_NS_PER_S / 10) {
		l->tokens = most;
		l->filled_ns = now_ns;
		return;
	}
	/* Below a tenth of a second this cannot overflow for rates up to 2^64 / 10^8. */
	more = l->per_second > UINT64_MAX / SBX_NS_PER_S ? l->per_second / SBX_NS_PER_S * passed_ns
							 : l->per_second * passed_ns / SBX_NS_PER_S;
	if (more == 0)
		return;
	l->tokens = l->tokens + more < most ? l->tokens + more : most;
	l->filled_ns = now_ns;
}

bool relay_limits_are_over(const struct relay_limits *l)
{
	return l->bytes != 0 && l->passed >= l->bytes;
}

size_t relay_limits_allow(struct relay_limits *l, size_t want, uint64_t now_ns)
{
	if (l->bytes != 0 && want > l->bytes - (l->passed < l->bytes ? l->passed : l->bytes))
		want = (size_t)(l->bytes - (l->passed < l->bytes ? l->passed : l->bytes));
	if (l->per_second == 0)
		return want;
	fill(l, now_ns);
	if (l->tokens < least_piece(l))
		return 0;
	return want < l->tokens ? want : (size_t)l->tokens;
}

void relay_limits_spend(struct relay_limits *l, size_t bytes)
{
	l->passed += bytes;
	if (l->per_second != 0)
		l->tokens -= bytes < l->tokens ? bytes : l->tokens;
}

uint64_t relay_limits_wait_ns(struct relay_limits *l, uint64_t now_ns)
{
	uint64_t missing;

	if (l->per_second == 0)
		return 0;
	fill(l, now_ns);
	if (l->tokens >= least_piece(l))
		return 0;
	missing = least_piece(l) - l->tokens;
	return l->filled_ns + missing * SBX_NS_PER_S / l->per_second + 1;
}
