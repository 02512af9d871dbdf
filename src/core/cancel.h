/* SPDX-License-Identifier: MIT */
/* The inside of struct sbx_cancel: an eventfd that wakes poll(), and what was asked for. */
#pragma once

#include <llmsandbox/session.h>

#include <stdatomic.h>

struct sbx_cancel {
	int eventfd;
	atomic_uint interrupts; /* how many were asked for; a call acts on those of its time */
	atomic_bool killed;
	atomic_bool had_cell; /* interrupts of before its first one are for that */
};

/* Whether it asks for an end; NULL never does. */
static inline bool sbx_cancel_is_killed(const struct sbx_cancel *cancel)
{
	return cancel != NULL && atomic_load(&cancel->killed);
}
