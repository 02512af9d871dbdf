/* SPDX-License-Identifier: MIT */
/*
 * Frames between host and agent: bytes in, struct out, no I/O.
 *
 * One frame is `u32 length, u8 type, u32 channel, payload`, little-endian; length counts what
 * follows it. A payload has at most WIRE_PAYLOAD_MAX bytes. The top bit of type says that the
 * next frame of the same type and channel continues this message; only SETUP and EXEC may be
 * continued, and the joined message has at most WIRE_MESSAGE_MAX bytes.
 *
 * Channel 0 is the connection itself; every operation has a channel of its own that the host
 * chose, every connection of the proxy one that the agent chose, with its top bit set. Who receives
 * frames trusts nothing in them: all that is malformed ends the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION	 5
#define WIRE_HEADER_SIZE 9u
#define WIRE_PAYLOAD_MAX 65536u
#define WIRE_MESSAGE_MAX (4u << 20)
#define WIRE_MORE	 0x80u
#define WIRE_FROM_AGENT	 0x80000000u /* bit of channels that the agent chose */
#define WIRE_WINDOW	 (256u << 10) /* credit that every flow starts with, bytes */
#define WIRE_FILE_WINDOW (1u << 20)   /* at most, of DATA of a PUT or GET: one is under way at a time */
#define WIRE_CONNECTION_WINDOW (512u << 10) /* each of the two flows of a connection */

/* A row says: name, who may send it ('h' host, 'a' agent, 'b' both), smallest payload. */
#define WIRE_TYPES(X)            \
	X(HELLO, 1, 'a', 12)     \
	X(SETUP, 2, 'h', 8)      \
	X(READY, 3, 'a', 4)      \
	X(EXEC, 4, 'h', 8)       \
	X(STARTED, 5, 'a', 4)    \
	X(STDIN, 6, 'h', 0)      \
	X(STDIN_EOF, 7, 'h', 0)  \
	X(STDOUT, 8, 'a', 0)     \
	X(STDERR, 9, 'a', 0)     \
	X(EXIT, 10, 'a', 8)      \
	X(SIGNAL, 11, 'h', 5)    \
	X(CREDIT, 12, 'b', 5)    \
	X(PUT, 13, 'h', 8)       \
	X(GET, 14, 'h', 4)       \
	X(LIST, 15, 'h', 25)     \
	X(ENTRY, 16, 'a', 33)    \
	X(DATA, 17, 'b', 0)      \
	X(CLOSE, 18, 'b', 0)     \
	X(ERROR, 19, 'a', 8)     \
	X(PING, 20, 'h', 0)      \
	X(PONG, 21, 'a', 8)      \
	X(STAT, 22, 'h', 4)      \
	X(REMOVE, 23, 'h', 5)    \
	X(MKDIR, 24, 'h', 8)     \
	X(HOLE, 25, 'b', 8)      \
	X(FINISH, 26, 'b', 0)    \
	X(LISTEN, 27, 'h', 2)    \
	X(LISTENING, 28, 'a', 2) \
	X(CONNECT, 29, 'a', 8)   \
	X(OPENED, 30, 'h', 0)    \
	X(REFUSED, 31, 'h', 8)   \
	X(USAGE, 32, 'a', 16)

enum wire_type {
#define X(name, number, sender, least) WIRE_##name = number,
	WIRE_TYPES(X)
#undef X
};

struct wire_frame {
	enum wire_type type;
	bool more;
	uint32_t channel;
	const uint8_t *payload; /* inside the caller's buffer */
	size_t len;
};

/*
 * Parse the frame at the start of data. Returns the bytes it takes (> 0), 0 when more bytes are
 * needed, or -1 when no sender of kind `from` ('h' or 'a') may send this.
 */
int wire_frame_parse(const uint8_t *data, size_t len, char from, struct wire_frame *ret);

/*
 * The header alone, of a frame whose payload has not come yet: ret->payload is NULL and ret->len
 * what it will have. As wire_frame_parse(), but 1 when the header is there.
 */
int wire_header_parse(const uint8_t *data, size_t len, char from, struct wire_frame *ret);

/* Write the header of a frame; type may carry WIRE_MORE. len is at most WIRE_PAYLOAD_MAX. */
void wire_header_format(uint8_t ret[WIRE_HEADER_SIZE], unsigned int type, uint32_t channel,
			size_t len);

/* "EXEC", or "?" for a number that is no type. */
const char *wire_type_name(unsigned int type);
