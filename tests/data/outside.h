/* SPDX-License-Identifier: MIT */
/*
 * The host as risky programs must leave it: listed before and after, with decoys and listeners
 * for what they attack, and with a marker that no sandbox may ever show.
 */
#pragma once

#include "support/census.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OUTSIDE_DECOYS_MAX 16

struct outside {
	char marker[32];
	char folder[96];	   /* in /tmp; named by the marker and holding a file with it */
	char secret[128];	   /* that file */
	int post_fd, shell_fd, udp_fd; /* listeners on 127.0.0.1: 5758, 5389, 5388 */
	pid_t decoys[OUTSIDE_DECOYS_MAX];
	size_t decoy_count;
	int leash_fd; /* decoys end when this is closed */
	char *files;  /* the listing before, owned */
	struct census census;
};

/* A network of its own with nothing but loopback, so that nothing could leave the machine. */
void outside_enter_network(void);

void outside_prepare(struct outside *o);

/* A sentence about the first thing that was reached from inside, or NULL. Any thread. */
const char *outside_touched(const struct outside *o);

/* Compare with how it was; fails the test. */
void outside_compare(const struct outside *o);

void outside_done(struct outside *o);
