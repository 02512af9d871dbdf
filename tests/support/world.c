/* SPDX-License-Identifier: MIT */
#include "support/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX     32
#define ADDRESSES_MAX 4
#define HEAD_MAX      16384

static bool is_own;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "world: %s: %s\n", what, strerror(errno));
	abort();
}

/* ---- the namespace ---- */

static void add_v4(int fd, unsigned int number, const char *address)
{
	struct ifreq r = {0};
	struct sockaddr_in a = {.sin_family = AF_INET};

	snprintf(r.ifr_name, sizeof(r.ifr_name), number ? "lo:%u" : "lo", number);
	inet_pton(AF_INET, address, &a.sin_addr);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	must(ioctl(fd, SIOCSIFADDR, &r) == 0, address);
	inet_pton(AF_INET, number ? "255.255.255.255" : "255.0.0.0", &a.sin_addr);
	memcpy(&r.ifr_netmask, &a, sizeof(a));
	must(ioctl(fd, SIOCSIFNETMASK, &r) == 0, "netmask");
	r.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
	must(ioctl(fd, SIOCSIFFLAGS, &r) == 0, "up");
}

static void add_v6(const char *address)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 128};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	r.ifr6_ifindex = (int)if_nametoindex("lo");
	inet_pton(AF_INET6, address, &r.ifr6_addr);
	must(fd >= 0 && ioctl(fd, SIOCSIFADDR, &r) == 0, address);
	close(fd);
}

/* Show this text in place of a file of the machine. */
static void replace_file(const char *path, const char *text)
{
	char name[] = "/tmp/sbx-world-XXXXXX";
	int fd = mkstemp(name);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
	fchmod(fd, 0644);
	close(fd);
	must(mount(name, path, NULL, MS_BIND, NULL) == 0, path);
	unlink(name);
}

static void *serve_names(void *arg);

bool world_enter(void)
{
	static const char *const v4[] = {"127.0.0.1",	 "192.0.2.1",	"192.0.2.2", "10.1.1.1",
					 "169.254.169.254", "198.51.100.9"};
	pthread_t thread;
	int fd;

	if (geteuid() != 0 || unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		return false;
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (unsigned int i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		add_v4(fd, i, v4[i]);
	close(fd);
	add_v6("2001:db8::1");
	add_v6("fd00::1");
	replace_file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"
				   "192.0.2.1 hosts-public.example\n10.1.1.1 hosts-private.example\n");
	replace_file("/etc/resolv.conf", "nameserver 127.0.0.1\nsearch search.example\n");
	must(pthread_create(&thread, NULL, serve_names, NULL) == 0, "thread");
	pthread_detach(thread);
	is_own = true;
	return true;
}

bool world_is_own(void)
{
	return is_own;
}

/* ---- the name server ---- */

struct name {
	char name[256];
	char addresses[ADDRESSES_MAX][48];
	bool rebinds;
	unsigned int asked; /* for an IPv4 address */
};

static struct name names[NAMES_MAX];
static size_t name_count;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint questions;

static struct name *find_name(const char *name)
{
	for (size_t i = 0; i < name_count; i++) {
		if (strcasecmp(names[i].name, name) == 0)
			return &names[i];
	}
	return NULL;
}

void world_name(const char *name, const char *const *addresses)
{
	struct name *n;

	pthread_mutex_lock(&names_lock);
	n = find_name(name);
	if (n == NULL && name_count < NAMES_MAX)
		n = &names[name_count++];
	must(n != NULL, "too many names");
	*n = (struct name){.rebinds = false};
	snprintf(n->name, sizeof(n->name), "%s", name);
	for (size_t i = 0; i < ADDRESSES_MAX && addresses[i] != NULL; i++)
		snprintf(n->addresses[i], sizeof(n->addresses[i]), "%s", addresses[i]);
	pthread_mutex_unlock(&names_lock);
}

void world_rebind(const char *name, const char *first, const char *second)
{
	world_name(name, (const char *const[]){first, second, NULL});
	pthread_mutex_lock(&names_lock);
	find_name(name)->rebinds = true;
	pthread_mutex_unlock(&names_lock);
}

unsigned int world_questions(void)
{
	return questions;
}

/* The question's name with dots; returns the bytes of the whole question. */
static size_t read_question(const uint8_t *q, size_t len, char name[256], unsigned int *ret_type)
{
	size_t at = 0, to = 0;

	while (at < len && q[at] != 0 && to + q[at] + 2 < 256 && at + q[at] + 1 < len) {
		memcpy(name + to, q + at + 1, q[at]);
		to += q[at];
		name[to++] = '.';
		at += 1 + (size_t)q[at];
	}
	name[to > 0 ? to - 1 : 0] = '\0';
	*ret_type = at + 3 <= len ? (unsigned int)(q[at + 1] << 8 | q[at + 2]) : 0;
	return at + 5;
}

static size_t add_answer(uint8_t *out, size_t at, unsigned int type, const char *address)
{
	uint8_t bytes[16];
	int size = type == 1 ? 4 : 16;
	const uint8_t head[] = {0xc0, 12, 0, (uint8_t)type, 0, 1, 0, 0, 0, 0, 0, (uint8_t)size};

	if (address[0] == '\0' || inet_pton(type == 1 ? AF_INET : AF_INET6, address, bytes) != 1)
		return 0;
	memcpy(out + at, head, sizeof(head));
	memcpy(out + at + sizeof(head), bytes, (size_t)size);
	return sizeof(head) + (size_t)size;
}

/* Returns the answer's size; it stands in the place of the question. */
static size_t answer(uint8_t packet[1024], size_t len)
{
	char name[256];
	unsigned int type, count = 0;
	size_t end = 12 + read_question(packet + 12, len - 12, name, &type), added;
	struct name *n;

	pthread_mutex_lock(&names_lock);
	n = find_name(name);
	for (int i = 0; n != NULL && i < ADDRESSES_MAX; i++) {
		if (n->rebinds && i != (n->asked > 0))
			continue;
		added = add_answer(packet, end, type, n->addresses[i]);
		end += added;
		count += added > 0;
	}
	if (n != NULL && type == 1)
		n->asked++;
	pthread_mutex_unlock(&names_lock);
	packet[2] = 0x84;
	packet[3] = n != NULL ? 0x80 : 0x83;
	memset(packet + 6, 0, 6);
	packet[7] = (uint8_t)count;
	return end;
}

static void *serve_names(void *arg)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)arg;
	must(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "name server");
	for (;;) {
		uint8_t packet[1024];
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&from, &from_len);

		if (n < 17)
			continue;
		questions++;
		sendto(fd, packet, answer(packet, (size_t)n), 0, (struct sockaddr *)&from, from_len);
	}
	return NULL;
}

/* ---- peers ---- */

struct peer {
	struct peer *next;
	int listener;
	uint16_t port;
	char address[48];
	pthread_t thread;
	pthread_mutex_t lock;
	char head[HEAD_MAX];
	atomic_uint visits, serving;
	atomic_bool closing;
};

static struct peer *peers;

struct visit {
	struct peer *peer;
	int fd;
};

static bool say(int fd, const void *data, size_t len)
{
	return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static void say_head(int fd, const char *extra)
{
	char text[512];

	say(fd, text, (size_t)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nConnection: close\r\n%s\r\n",
				       extra));
}

static void send_big(int fd, unsigned long long left)
{
	static const char piece[65536];
	char length[64];

	snprintf(length, sizeof(length), "Content-Length: %llu\r\n", left);
	say_head(fd, length);
	while (left > 0) {
		size_t n = left < sizeof(piece) ? (size_t)left : sizeof(piece);

		if (!say(fd, piece, n))
			return;
		left -= n;
	}
}

/* Until the other end is closed. */
static void wait_for_end(int fd)
{
	char nowhere[4096];

	while (recv(fd, nowhere, sizeof(nowhere), 0) > 0)
		;
}

static void drip(struct peer *p, int fd)
{
	say_head(fd, "");
	while (!p->closing && say(fd, ".", 1))
		usleep(20000);
}

static void echo(int fd, const char *behind, size_t len)
{
	static _Thread_local char piece[65536];
	ssize_t n;

	if (len > 0 && !say(fd, behind, len))
		return;
	while ((n = recv(fd, piece, sizeof(piece), 0)) > 0 && say(fd, piece, (size_t)n))
		;
}

/* Some of what comes behind the head has come with it. */
static void respond(struct peer *p, int fd, const char *path, const char *behind, size_t len)
{
	const char *argument = strchr(path, '?') ? strchr(path, '?') + 1 : "";
	char text[512];

	if (strncmp(path, "/hello", 6) == 0) {
		say_head(fd, "");
		snprintf(text, sizeof(text), "hello from %s\n", p->address);
		say(fd, text, strlen(text));
	} else if (strncmp(path, "/to?", 4) == 0) {
		snprintf(text, sizeof(text),
			 "HTTP/1.1 302 Found\r\nLocation: %.300s\r\nContent-Length: 0\r\n"
			 "Connection: close\r\n\r\n",
			 argument);
		say(fd, text, strlen(text));
	} else if (strncmp(path, "/big?", 5) == 0) {
		send_big(fd, strtoull(argument, NULL, 10));
	} else if (strncmp(path, "/drip", 5) == 0) {
		drip(p, fd);
	} else if (strncmp(path, "/stall", 6) == 0) {
		say_head(fd, "");
		wait_for_end(fd);
	} else if (strncmp(path, "/echo", 5) == 0) {
		echo(fd, behind, len);
	} else if (strncmp(path, "/late?", 6) == 0) {
		wait_for_end(fd);
		say(fd, argument, strlen(argument));
	} else {
		say(fd, "seen", 4);
	}
}

/* The first bytes: a head up to its empty line, or whatever comes first. */
static void serve_visit(struct peer *p, int fd)
{
	static const char methods[] = "GPHOC";
	char head[HEAD_MAX] = "", path[512] = "";
	const char *behind;
	size_t len = 0;
	ssize_t n;

	while (len + 1 < sizeof(head) && (n = recv(fd, head + len, sizeof(head) - 1 - len, 0)) > 0) {
		len += (size_t)n;
		head[len] = '\0';
		pthread_mutex_lock(&p->lock);
		memcpy(p->head, head, sizeof(head));
		pthread_mutex_unlock(&p->lock);
		if (strstr(head, "\r\n\r\n") != NULL || strchr(methods, head[0]) == NULL)
			break;
	}
	if (sscanf(head, "%*s %511s", path) != 1)
		path[0] = '\0';
	behind = strstr(head, "\r\n\r\n");
	behind = behind ? behind + 4 : head + len;
	respond(p, fd, path, behind, len - (size_t)(behind - head));
}

static void *run_visit(void *arg)
{
	struct visit *v = arg;

	serve_visit(v->peer, v->fd);
	/* So that what was not read does not take the answer away. */
	shutdown(v->fd, SHUT_WR);
	if (!v->peer->closing)
		wait_for_end(v->fd);
	close(v->fd);
	v->peer->serving--;
	free(v);
	return NULL;
}

static void *run_peer(void *arg)
{
	struct peer *p = arg;
	int fd;

	while ((fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct visit *v = malloc(sizeof(*v));
		struct timeval patience = {.tv_sec = 20};
		pthread_t thread;

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		must(v != NULL, "memory");
		*v = (struct visit){p, fd};
		p->visits++;
		p->serving++;
		must(pthread_create(&thread, NULL, run_visit, v) == 0, "thread");
		pthread_detach(thread);
	}
	return NULL;
}

struct peer *peer_open(const char *address, uint16_t port)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_v6 = strchr(address, ':') != NULL;
	struct sockaddr *at = is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
	socklen_t len = is_v6 ? sizeof(v6) : sizeof(v4);
	int on = 1;

	must(p != NULL, "memory");
	inet_pton(is_v6 ? AF_INET6 : AF_INET, address,
		  is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr);
	snprintf(p->address, sizeof(p->address), "%s", address);
	pthread_mutex_init(&p->lock, NULL);
	p->listener = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (is_v6)
		setsockopt(p->listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	must(bind(p->listener, at, len) == 0 && listen(p->listener, 256) == 0, address);
	must(getsockname(p->listener, at, &len) == 0, address);
	p->port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
	must(pthread_create(&p->thread, NULL, run_peer, p) == 0, "thread");
	p->next = peers;
	peers = p;
	return p;
}

void peer_close(struct peer *p)
{
	struct peer **at = &peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->closing = true;
	shutdown(p->listener, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->listener);
	/* The sandbox has gone by now, so each visit ends soon. */
	while (p->serving > 0)
		sched_yield();
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void world_close_peers(void)
{
	while (peers != NULL)
		peer_close(peers);
}

uint16_t peer_port(const struct peer *p)
{
	return p->port;
}

unsigned int peer_visits(const struct peer *p)
{
	return p->visits;
}

void peer_head(struct peer *p, char *ret, size_t size)
{
	pthread_mutex_lock(&p->lock);
	snprintf(ret, size, "%s", p->head);
	pthread_mutex_unlock(&p->lock);
}
