/* SPDX-License-Identifier: MIT */
/* How many bytes may pass now: of the session, and of the second (a token bucket). No I/O. */
#pragma once

#include <llmsandbox/network.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_limits {
	uint64_t bytes;	     /* of the session; 0: no limit */
	uint64_t per_second; /* 0: no limit */
	uint64_t passed;
	uint64_t tokens;    /* bytes that may pass at once */
	uint64_t filled_ns; /* when the tokens were last counted */
};

/* Keeps what has passed. */
void relay_limits_set(struct relay_limits *l, const struct sbx_network_limits *from, uint64_t now_ns);

/* Of `want` bytes, those that may pass now; 0: not yet, or never again. */
size_t relay_limits_allow(struct relay_limits *l, size_t want, uint64_t now_ns);
void relay_limits_spend(struct relay_limits *l, size_t bytes);

bool relay_limits_are_over(const struct relay_limits *l);

/* When some may pass again; 0: now. */
uint64_t relay_limits_wait_ns(struct relay_limits *l, uint64_t now_ns);
