/* SPDX-License-Identifier: MIT */
/*
 * What a session's programs tried to reach: the last 1,000 attempts, each with its verdict, and
 * how many there were. Any thread.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/result.h>

#include <pthread.h>

struct relay_log {
	pthread_mutex_t lock;
	struct sbx_egress *ring;
	size_t room;	/* of the ring; it grows to its most */
	uint64_t total; /* the next attempt's number */
};

void relay_log_init(struct relay_log *log);
void relay_log_done(struct relay_log *log);

/* Add an attempt; its number is what the other calls want. What is no text in it is cleaned. */
uint64_t relay_log_add(struct relay_log *log, const struct sbx_egress *attempt);

/* Change one, unless it has been forgotten. address or rule may be NULL: they stay. */
void relay_log_set(struct relay_log *log, uint64_t number, enum sbx_egress_verdict verdict,
		   const char *address, const char *rule);
void relay_log_count(struct relay_log *log, uint64_t number, uint64_t sent, uint64_t received);

/* Number `from` and later, as sbx_session_egress() gives them. */
int relay_log_read(struct relay_log *log, uint64_t from, struct sbx_egress **ret,
		   size_t *ret_count, uint64_t *ret_total, struct sbx_error *err);
