/* SPDX-License-Identifier: MIT */
/*
 * Names to addresses, by /etc/hosts and the servers of /etc/resolv.conf (c-ares), without
 * blocking. A name is taken as it is: no search list, no aliases of the environment.
 *
 * The settings are read anew when a name is asked for and no other is on its way, so that a
 * machine that moves to another network is followed.
 */
#pragma once

#include "base/error.h"
#include "egress/address.h"

#define RESOLVE_ADDRESSES_MAX 16

struct resolver;
struct question;

/* why: NULL, or why there is no address: "the name does not exist". The question is over. */
typedef void resolve_fn(void *owner, const struct address *addresses, size_t count,
			const char *why);

int resolver_new(struct resolver **ret, struct sbx_error *err);
/* Questions on their way are over without an answer. NULL is allowed. */
void resolver_free(struct resolver *r);

/* An epoll descriptor: readable when a server has answered. */
int resolver_fd(const struct resolver *r);

/* Ask; the answer may come before this returns, and *ret is then NULL. */
int resolver_ask(struct resolver *r, const char *name, resolve_fn *done, void *owner,
		 struct question **ret, struct sbx_error *err);
/* Nobody wants the answer any more. NULL is allowed. */
void question_forget(struct question *q);

/* Heed what came and what is overdue. */
void resolver_pump(struct resolver *r);
/* When to pump next at the latest; 0: nothing is on its way. */
uint64_t resolver_deadline_ns(const struct resolver *r);
