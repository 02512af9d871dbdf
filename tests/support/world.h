/* SPDX-License-Identifier: MIT */
/*
 * A network of the test's own, and peers in it that are watched: an own network namespace whose
 * loopback has public-looking addresses (of the documentation ranges), private ones and that of
 * the clouds' metadata; an own mount namespace with /etc/hosts and /etc/resolv.conf; a name server.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Enter it, before there is any thread. False where this user may not: then there is loopback
 * alone, and world_is_own() is false.
 */
bool world_enter(void);
bool world_is_own(void);

/* ---- peers ---- */

struct peer;

/*
 * Listen, with a thread of its own. It answers HTTP by the path of a request:
 *	/hello		"hello from ADDRESS\n"
 *	/to?URL		302 to URL
 *	/big?N		N bytes
 *	/drip		a byte every 20 ms until it is cut
 *	/stall		the head, and then nothing
 *	/echo		what comes behind the head, as it comes
 *	/late?TEXT	TEXT, once the program has ended its side
 * and to anything else "seen" and its end. Port 0 is any.
 */
struct peer *peer_open(const char *address, uint16_t port);
void peer_close(struct peer *p);
void world_close_peers(void); /* all that are open */

uint16_t peer_port(const struct peer *p);
unsigned int peer_visits(const struct peer *p); /* connections that were made to it */
void peer_head(struct peer *p, char *ret, size_t size); /* the first bytes of the last one */

/* ---- names ---- */

/* Answer `name` with these addresses (NULL-terminated), all of them in every answer. */
void world_name(const char *name, const char *const *addresses);
/* Answer with the first address once, and with the second from then on. */
void world_rebind(const char *name, const char *first, const char *second);
unsigned int world_questions(void); /* that reached the name server so far */
