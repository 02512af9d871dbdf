/* SPDX-License-Identifier: MIT */
/*
 * Internet addresses as values, and what the registries of special addresses say of them. No I/O.
 *
 * An IPv6 address that only wraps an IPv4 one (::ffff:127.0.0.1) becomes that IPv4 address when
 * it is made here, so that nothing has two faces. One that leads to an IPv4 address through a
 * translator or a tunnel (NAT64, 6to4, Teredo) keeps its form and is classed as the worse of both.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
	uint8_t bytes[16]; /* of IPv4 the first four; the others are 0 */
	bool is_v6;
};

/* A row of the table of special addresses. */
struct address_class {
	const char *what; /* "a private address" */
	const char *source; /* "RFC 1918" */
	uint8_t prefix;
	bool only_literally; /* a rule must name the very address: link-local, metadata */
	bool is_loopback;
};

struct address address_v4(uint32_t host_order);
struct address address_v6(const uint8_t bytes[16]);

/* From the kernel's form; false for other families. */
bool address_from_socket(const struct sockaddr *from, struct address *ret, uint16_t *ret_port);
socklen_t address_to_socket(const struct address *a, uint16_t port, struct sockaddr_storage *ret);

#define ADDRESS_TEXT_MAX 46
/* The canonical text, without brackets. */
void address_format(const struct address *a, char ret[ADDRESS_TEXT_MAX]);

/* Whether the first prefix bits of both are the same, and their kind is. */
bool address_is_within(const struct address *a, const struct address *net, unsigned int prefix);

unsigned int address_bits(const struct address *a); /* 32 or 128 */

/* What is special about it, or NULL: it is public, and routed like any other. */
const struct address_class *address_classify(const struct address *a);
