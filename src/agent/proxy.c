/* SPDX-License-Identifier: MIT */
#include "agent/proxy.h"

#include "agent/send.h"
#include "base/clock.h"
#include "base/splice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG	       128
#define PORT_TRIES     16
#define ACCEPTS_A_TURN 16
#define REST_MS	       100

void proxy_init(struct proxy *p)
{
	*p = (struct proxy){.listeners = {-1, -1}, .pipe = {-1, -1}};
}

static void close_listeners(struct proxy *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->listeners[i] >= 0)
			close(p->listeners[i]);
		p->listeners[i] = -1;
	}
}

void proxy_done(struct proxy *p)
{
	close_listeners(p);
	for (size_t i = 0; i < p->count; i++)
		client_free(p->clients[i]);
	p->count = 0;
	for (int i = 0; i < 2; i++) {
		if (p->pipe[i] >= 0)
			close(p->pipe[i]);
	}
}

/* ---- listening ---- */

/* Bind and listen on a new socket: the descriptor, or -errno. */
static int listen_on(const struct sockaddr *address, socklen_t len)
{
	int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int e;

	if (fd < 0)
		return -errno;
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	e = errno;
	close(fd);
	return -e;
}

static int listen_v4(struct proxy *p, uint16_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(at);
	int fd = listen_on((struct sockaddr *)&at, len);

	if (fd < 0)
		return fd;
	p->listeners[0] = fd;
	if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return -errno;
	p->port = ntohs(at.sin_port);
	return 0;
}

/* Where there is no IPv6 there is none here. */
static int listen_v6(struct proxy *p)
{
	struct sockaddr_in6 at = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(p->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	int fd = listen_on((struct sockaddr *)&at, sizeof(at));

	if (fd == -EADDRINUSE)
		return fd;
	p->listeners[1] = fd >= 0 ? fd : -1;
	return 0;
}

/* Both on one port; where any will do, another one when the second of them is taken. */
static int listen_both(struct proxy *p, uint16_t port)
{
	int r = 0;

	for (int i = 0; i < (port == 0 ? PORT_TRIES : 1); i++) {
		r = listen_v4(p, port);
		if (r == 0)
			r = listen_v6(p);
		if (r == 0)
			return 0;
		close_listeners(p);
		p->port = 0;
	}
	return r;
}

void proxy_listen(struct proxy *p, struct sbx_conn *conn, uint32_t channel, uint16_t port)
{
	struct sbx_buf payload = SBX_BUF_INIT(16);
	int r = p->port != 0 ? 0 : listen_both(p, port);

	if (r < 0) {
		send_error(conn, channel, SBX_E_SYSTEM, -r,
			   "cannot listen on the sandbox's loopback");
		return;
	}
	sbx_conn_widen(conn);
	wire_port_format(&payload, &(struct wire_port){.port = p->port});
	send_bytes(conn, WIRE_LISTENING, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}

/* ---- clients ---- */

static struct client *find_client(const struct proxy *p, uint32_t channel)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->clients[i]->channel == channel)
			return p->clients[i];
	}
	return NULL;
}

static uint32_t new_channel(struct proxy *p)
{
	do
		p->last_channel = (p->last_channel + 1) | WIRE_FROM_AGENT;
	while (find_client(p, p->last_channel) != NULL);
	return p->last_channel;
}

static void add_client(struct proxy *p, int fd)
{
	struct client *c = client_new(fd, new_channel(p));
	int on = 1;

	if (c == NULL)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	p->clients[p->count++] = c;
}

static void accept_clients(struct proxy *p, int listener)
{
	for (int i = 0; i < ACCEPTS_A_TURN && p->count < PROXY_CLIENTS_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			add_client(p, fd);
			continue;
		}
		/* Without a descriptor left the listener stays readable. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			p->rest_until_ns = sbx_deadline_ns(REST_MS);
		return;
	}
}

static void sweep(struct proxy *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->clients[i]->phase == CLIENT_GONE)
			client_free(p->clients[i]);
		else
			p->clients[kept++] = p->clients[i];
	}
	p->count = kept;
}

int proxy_take(struct proxy *p, struct sbx_conn *conn, const struct wire_frame *frame,
	       struct sbx_error *err)
{
	struct client *c = find_client(p, frame->channel);
	int r;

	/* What was on its way to a client that has gone is late, not wrong. */
	if (c == NULL)
		return 0;
	r = client_take(c, conn, frame, err);
	if (c->phase == CLIENT_GONE)
		sweep(p);
	return r;
}

/* ---- the loop ---- */

/* While somebody is connected, payloads are offered to us before they are read. */
static size_t take_bulk(void *owner, uint32_t channel, int stream_fd, size_t len)
{
	struct proxy *p = owner;
	struct client *c = find_client(p, channel);

	if (c == NULL || (p->pipe[0] < 0 && sbx_splice_pipe(p->pipe, WIRE_CONNECTION_WINDOW) < 0))
		return 0;
	return client_take_bulk(c, p->conn, &(struct client_bulk){stream_fd, p->pipe, len});
}

static void offer_bulk(struct proxy *p, struct sbx_conn *conn)
{
	bool is_wanted = false;

	for (size_t i = 0; i < p->count && !is_wanted; i++)
		is_wanted = p->clients[i]->phase == CLIENT_OPEN;
	p->conn = conn;
	conn->bulk_in.owner = p;
	conn->bulk_in.take = is_wanted ? take_bulk : NULL;
}

static bool may_accept(const struct proxy *p)
{
	return p->count < PROXY_CLIENTS_MAX && p->rest_until_ns == 0;
}

size_t proxy_poll(struct proxy *p, struct sbx_conn *conn, struct pollfd fds[PROXY_POLLFDS])
{
	size_t count = 2;

	offer_bulk(p, conn);
	for (int i = 0; i < 2; i++)
		fds[i] = (struct pollfd){
			.fd = may_accept(p) ? p->listeners[i] : -1,
			.events = POLLIN,
		};
	for (size_t i = 0; i < p->count; i++) {
		struct client *c = p->clients[i];
		short events = client_events(c, conn);

		/* Who is polled for nothing would still wake us with its end, again and again. */
		c->poll_at = events ? count : SIZE_MAX;
		if (events)
			fds[count++] = (struct pollfd){.fd = c->fd, .events = events};
	}
	return count;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

uint64_t proxy_deadline_ns(const struct proxy *p)
{
	uint64_t first = p->rest_until_ns;

	for (size_t i = 0; i < p->count; i++)
		first = earlier(first, p->clients[i]->deadline_ns);
	return first;
}

void proxy_pump(struct proxy *p, struct sbx_conn *conn, const struct pollfd *fds)
{
	uint64_t now = p->count > 0 || p->rest_until_ns ? sbx_now_ns() : 0;

	for (size_t i = 0; i < p->count; i++) {
		struct client *c = p->clients[i];
		short revents = c->poll_at == SIZE_MAX ? 0 : fds[c->poll_at].revents;

		c->poll_at = SIZE_MAX;
		if (revents)
			client_pump(c, conn, revents);
		if (c->deadline_ns != 0 && c->deadline_ns <= now && c->phase != CLIENT_GONE)
			client_expire(c, conn);
	}
	sweep(p);
	if (p->rest_until_ns != 0 && p->rest_until_ns <= now)
		p->rest_until_ns = 0;
	for (int i = 0; i < 2; i++) {
		if (fds[i].fd >= 0 && fds[i].revents)
			accept_clients(p, p->listeners[i]);
	}
}
