/* SPDX-License-Identifier: MIT */
/*
 * What a SOCKS5 client says (RFC 1928, RFC 1929): bytes in, struct out, no I/O. Each parser gives
 * the bytes of its message, 0 when more are needed, or -1 when it is none.
 */
#pragma once

#include "wire/message.h"

#include <stddef.h>
#include <stdint.h>

#define SOCKS_MESSAGE_MAX 515 /* the largest: a user name and a password */

enum socks_method { SOCKS_NO_AUTH = 0, SOCKS_PASSWORD = 2, SOCKS_NO_METHOD = 0xff };

enum socks_reply {
	SOCKS_DONE = 0,
	SOCKS_FAILED = 1,
	SOCKS_DENIED = 2,
	SOCKS_UNREACHABLE = 4,
	SOCKS_REFUSED = 5,
	SOCKS_TIMEOUT = 6,
	SOCKS_NO_COMMAND = 7,
	SOCKS_NO_ADDRESS = 8,
};

/* The methods offered: which of them is to be taken. */
long socks_greeting_parse(const uint8_t *data, size_t len, enum socks_method *ret);

/* A user name and a password; they are not looked at. */
long socks_password_parse(const uint8_t *data, size_t len);

struct socks_request {
	enum socks_reply fault; /* SOCKS_DONE: none */
	char host[WIRE_HOST_MAX + 1];
	uint16_t port;
};

/* A well-formed request that cannot be served has a fault. */
long socks_request_parse(const uint8_t *data, size_t len, struct socks_request *ret);

#define SOCKS_ANSWER_SIZE 10
void socks_answer_format(enum socks_reply reply, uint8_t ret[SOCKS_ANSWER_SIZE]);
