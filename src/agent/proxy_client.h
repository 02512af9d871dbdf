/* SPDX-License-Identifier: MIT */
/*
 * One client of the proxy, from its first byte to its last.
 *
 *	ASKING   reading what it wants; the deadline is short, whoever says nothing is dropped
 *	WAITING  the host is asked; nothing is read
 *	OPEN     bytes both ways, under credit
 *	LEAVING  an answer is on its way, and then the end
 *	GONE     to be freed
 *
 * Bytes for the client that it does not take wait in `out`, at most a window of them.
 */
#pragma once

#include "agent/http_body.h"
#include "agent/http_head.h"
#include "agent/socks.h"
#include "base/buf.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <poll.h>

enum client_phase { CLIENT_ASKING, CLIENT_WAITING, CLIENT_OPEN, CLIENT_LEAVING, CLIENT_GONE };

enum client_speech { SPEECH_UNKNOWN, SPEECH_HTTP, SPEECH_GREETING, SPEECH_PASSWORD, SPEECH_REQUEST };

struct client {
	int fd;
	uint32_t channel;
	enum client_phase phase;
	enum client_speech speech;
	enum wire_how how;
	struct sbx_buf in;   /* read and not understood yet, or for after OPENED */
	struct sbx_buf head; /* of absolute form: what the server gets */
	struct sbx_buf out;
	size_t out_at;
	size_t owed;   /* credit that the host has spent and not got back */
	size_t credit; /* bytes that we may send */
	bool is_bulky; /* it sends much at a time */
	bool has_body; /* one request alone goes through: body finds its end */
	struct http_body body;
	bool in_ended, in_finished; /* the client's end was seen; the host was told */
	bool out_ended, out_shut;   /* the host's end came; the client was told */
	uint64_t deadline_ns;	    /* 0: none */
	size_t poll_at;		    /* in the caller's list, or SIZE_MAX */
};

/* Takes fd, which does not block; NULL without memory, and fd is closed. */
struct client *client_new(int fd, uint32_t channel);
void client_free(struct client *c);

/* What to wait for; 0: nothing. */
short client_events(const struct client *c, const struct sbx_conn *conn);

/* poll() found something, or the deadline is over. */
void client_pump(struct client *c, struct sbx_conn *conn, short revents);
void client_expire(struct client *c, struct sbx_conn *conn);

/* A payload for it that is still in the stream, and an empty pipe to bring it through. */
struct client_bulk {
	int stream_fd;
	const int *pipe;
	size_t len;
};

/* How much of it was taken; 0: it must come as a frame. */
size_t client_take_bulk(struct client *c, struct sbx_conn *conn, const struct client_bulk *bulk);

/* A frame on its channel; -code when the host broke the protocol. */
int client_take(struct client *c, struct sbx_conn *conn, const struct wire_frame *frame,
		struct sbx_error *err);
