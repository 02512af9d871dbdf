/* SPDX-License-Identifier: MIT */
#include "egress/resolve.h"

#include "base/clock.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define TRY_MS	    2500
#define TRIES	    3
#define ASKING_MOST 256 /* also those that nobody waits for any more */

struct resolver {
	int epoll_fd;
	ares_channel channel;
	bool is_open;
	unsigned int asking; /* questions on their way */
};

struct question {
	struct resolver *resolver;
	resolve_fn *done; /* NULL: forgotten */
	void *owner;
	struct question **place; /* the asker's, until resolver_ask() has returned */
};

int resolver_new(struct resolver **ret, struct sbx_error *err)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot look up names");
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0) {
		free(r);
		return sbx_fail_errno(err, errno, "cannot look up names");
	}
	*ret = r;
	return 0;
}

static void close_channel(struct resolver *r)
{
	if (r->is_open)
		ares_destroy(r->channel);
	r->is_open = false;
}

void resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	close_channel(r);
	close(r->epoll_fd);
	free(r);
}

int resolver_fd(const struct resolver *r)
{
	return r->epoll_fd;
}

/* c-ares wants this socket watched for that; neither means that it is about to close it. */
static void watch(void *owner, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = owner;
	struct epoll_event event = {
		.events = (readable ? (unsigned int)EPOLLIN : 0) | (writable ? EPOLLOUT : 0),
		.data.fd = fd,
	};

	if (event.events == 0)
		epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(r->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_channel(struct resolver *r, struct sbx_error *err)
{
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.lookups = (char *)"fb",
		.sock_state_cb = watch,
		.sock_state_cb_data = r,
	};
	int e;

	if (r->is_open)
		return 0;
	e = ares_init_options(&r->channel, &options,
			      ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
				      ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
	if (e != ARES_SUCCESS)
		return sbx_fail(err, SBX_E_SYSTEM, "cannot look up names: %s", ares_strerror(e));
	r->is_open = true;
	return 0;
}

static const char *explain(int status)
{
	switch (status) {
	case ARES_SUCCESS:
	case ARES_ENODATA:
		return "the name has no address";
	case ARES_ENOTFOUND:
		return "the name does not exist";
	case ARES_ETIMEOUT:
		return "the name servers did not answer in time";
	case ARES_ECONNREFUSED:
		return "the name servers cannot be reached";
	case ARES_ESERVFAIL:
		return "the name servers could not find it out";
	default:
		return ares_strerror(status);
	}
}

static size_t collect(const struct ares_addrinfo *info, struct address *ret)
{
	size_t count = 0;
	uint16_t ignored;

	for (const struct ares_addrinfo_node *n = info->nodes;
	     n != NULL && count < RESOLVE_ADDRESSES_MAX; n = n->ai_next) {
		if (address_from_socket(n->ai_addr, &ret[count], &ignored))
			count++;
	}
	return count;
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct question *q = arg;
	struct address addresses[RESOLVE_ADDRESSES_MAX];
	size_t count = status == ARES_SUCCESS && info != NULL ? collect(info, addresses) : 0;

	(void)timeouts;
	q->resolver->asking--;
	if (q->place != NULL)
		*q->place = NULL;
	if (q->done != NULL && status != ARES_EDESTRUCTION)
		q->done(q->owner, addresses, count, count > 0 ? NULL : explain(status));
	if (info != NULL)
		ares_freeaddrinfo(info);
	free(q);
}

int resolver_ask(struct resolver *r, const char *name, resolve_fn *done, void *owner,
		 struct question **ret, struct sbx_error *err)
{
	const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC,
						  .ai_socktype = SOCK_STREAM};
	struct question *q;
	int e;

	if (r->asking == ASKING_MOST)
		return sbx_fail(err, SBX_E_LIMIT, "%d names are being looked up already",
				ASKING_MOST);
	if (r->asking == 0)
		close_channel(r);
	e = open_channel(r, err);
	if (e < 0)
		return e;
	q = malloc(sizeof(*q));
	if (q == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot look up names");
	*q = (struct question){.resolver = r, .done = done, .owner = owner, .place = ret};
	*ret = q;
	r->asking++;
	ares_getaddrinfo(r->channel, name, NULL, &hints, on_answer, q);
	if (*ret != NULL)
		(*ret)->place = NULL;
	return 0;
}

void question_forget(struct question *q)
{
	if (q != NULL)
		q->done = NULL;
}

void resolver_pump(struct resolver *r)
{
	struct epoll_event events[16];
	int n = r->is_open ? epoll_wait(r->epoll_fd, events, 16, 0) : 0;

	for (int i = 0; i < n; i++) {
		bool broken = (events[i].events & (EPOLLERR | EPOLLHUP)) != 0;
		int fd = events[i].data.fd;

		ares_process_fd(r->channel,
				events[i].events & EPOLLIN || broken ? fd : ARES_SOCKET_BAD,
				events[i].events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	}
	if (r->is_open)
		ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	if (r->asking == 0)
		close_channel(r);
}

uint64_t resolver_deadline_ns(const struct resolver *r)
{
	struct timeval tv, *next = r->is_open ? ares_timeout(r->channel, NULL, &tv) : NULL;

	if (next == NULL)
		return 0;
	return sbx_now_ns() + (uint64_t)next->tv_sec * SBX_NS_PER_S +
	       (uint64_t)next->tv_usec * 1000 + SBX_NS_PER_MS;
}
