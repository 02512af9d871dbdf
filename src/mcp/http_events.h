/* SPDX-License-Identifier: MIT */
/*
 * The last events of a stream, numbered from 1, for clients that come back. At most 256 and
 * 1 MiB, but the newest is always there: it may be the answer. Number 0 is before the first.
 */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

struct http_event {
	unsigned int number;
	size_t len;
	TAILQ_ENTRY(http_event) link;
	char text[]; /* as it goes over the wire */
};

struct http_events {
	TAILQ_HEAD(, http_event) list; /* oldest first */
	unsigned int last, count;
	size_t bytes;
};

void http_events_init(struct http_events *events);
void http_events_done(struct http_events *events);

/* Number and keep a message; NULL without memory. It stays valid until the next one. */
const struct http_event *http_events_add(struct http_events *events, unsigned int stream,
					 const char *message);

/* The first one after this number that is still there, or NULL. */
const struct http_event *http_events_after(const struct http_events *events, unsigned int number);
