/* SPDX-License-Identifier: MIT */
/*
 * Which hosts a sandbox may reach. It has no route and no resolver: programs reach a proxy on the
 * sandbox's loopback (HTTP CONNECT, plain HTTP, SOCKS5; the usual environment variables point at
 * it), and this process checks, resolves, connects, and keeps a log of every attempt.
 *
 * Private, loopback, link-local, multicast and metadata addresses are refused, whatever name led
 * to them, unless a rule names the address itself or allows its host to be private.
 */
#ifndef LLMSANDBOX_NETWORK_H
#define LLMSANDBOX_NETWORK_H

#include <llmsandbox/error.h>
#include <llmsandbox/result.h>
#include <llmsandbox/session.h>
#include <llmsandbox/spec.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sbx_network_mode {
	SBX_NETWORK_NONE,     /* nothing; no proxy either */
	SBX_NETWORK_ALLOW,    /* what the rules name */
	SBX_NETWORK_PACKAGES, /* that, and the hosts that the package managers are set up to use */
	SBX_NETWORK_OPEN      /* what the rules name, and every public address */
};

struct sbx_network;

SBX_API int sbx_network_new(enum sbx_network_mode mode, struct sbx_network **ret,
			    struct sbx_error *err);
SBX_API void sbx_network_free(struct sbx_network *network);

/* "none", "allow", "packages", "open"; false when text is none of them. */
SBX_API bool sbx_network_mode_parse(const char *text, enum sbx_network_mode *ret);
SBX_API const char *sbx_network_mode_name(enum sbx_network_mode mode);

/*
 * Allow a host: "example.org", "example.org:8443", "*.example.org" (all below it, not itself),
 * "192.0.2.7:80", "[2001:db8::1]:443", "10.0.0.0/8". Without a port: 80 and 443; ":*" is every
 * port. "localhost" may lead to this machine's loopback. may_be_private lets a name lead to a private address (never to a link-local one, where
 * clouds keep their metadata). SBX_E_INVALID says what is wrong with a rule.
 */
SBX_API int sbx_network_allow(struct sbx_network *network, const char *rule, bool may_be_private,
			      struct sbx_error *err);

struct sbx_network_limits {
	uint32_t connections;	    /* at one time; 0: 64 */
	uint64_t bytes;		    /* both ways, of the whole session; 0: none */
	uint64_t bytes_per_second;  /* both ways, all connections together; 0: none */
	uint32_t connect_timeout_ms; /* name and connection; 0: 10,000 */
	uint32_t idle_timeout_ms;    /* a connection without a byte; 0: 300,000 */
};
SBX_API void sbx_network_set_limits(struct sbx_network *network,
				    const struct sbx_network_limits *limits);

/* For the sessions of a spec; NULL is none, which is the default. It is copied. */
SBX_API int sbx_spec_set_network(struct sbx_spec *spec, const struct sbx_network *network,
				 struct sbx_error *err);

/*
 * From now on, also while a program runs: any thread. Connections that the new rules do not allow
 * are cut. A session that was opened with none gets its proxy; programs started before do not
 * know of it.
 */
SBX_API int sbx_session_set_network(struct sbx_session *session, const struct sbx_network *network,
				    struct sbx_error *err);

/* The stable name: "allowed", "denied", "failed"; never NULL. */
SBX_API const char *sbx_egress_verdict_name(enum sbx_egress_verdict verdict);

/*
 * The session's attempts so far, oldest first, at most the last 1,000; *ret_total counts them
 * all. free() *ret, which is NULL when there are none. Any thread.
 */
SBX_API int sbx_session_egress(struct sbx_session *session, struct sbx_egress **ret,
			       size_t *ret_count, uint64_t *ret_total, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
