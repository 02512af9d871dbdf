/* SPDX-License-Identifier: MIT */
#include "cli/holder.h"

#include "cli/files.h"
#include "cli/holder_programs.h"
#include "cli/holder_request.h"
#include "cli/runtime.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define GUESTS_MAX    128
#define SESSIONS_MAX  256
#define REQUEST_MS    10000u /* within which a client must have asked */
#define LOOK_MS	      1000u  /* how often it is looked whether the last session has ended */
#define POSTS_A_TURN  16u   /* of one client, then the others have theirs */
#define LOCK_TRIES    500
#define LOCK_PAUSE_MS 20

/* A connection. */
struct guest {
	struct request q;
	pthread_t thread;
	bool served;	  /* the thread was started */
	atomic_bool done; /* and is about to end */
	uint64_t since_ms;
	struct holder *holder;
};

struct holder {
	struct hall hall;
	int folder_fd, lock_fd, listen_fd, signal_fd, done_fd;
	struct guest *guests[GUESTS_MAX];
	size_t count;
	uint64_t idle_ms, idle_since_ms;
	bool is_full; /* no descriptor is left: not looked at until the next turn */
	bool over;
};

enum { FD_LISTEN, FD_SIGNAL, FD_DONE, FD_GUESTS };

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- guests ---- */

static void *guest_thread(void *argument)
{
	struct guest *g = argument;

	request_serve(&g->q);
	g->done = true;
	eventfd_write(g->holder->done_fd, 1);
	return NULL;
}

static void close_fds(struct request *q)
{
	for (size_t i = 0; i < POST_FDS_MAX; i++) {
		if (q->fds[i] >= 0)
			close(q->fds[i]);
		q->fds[i] = -1;
	}
}

static void guest_free(struct guest *g)
{
	if (g->served)
		pthread_join(g->thread, NULL);
	close_fds(&g->q);
	sbx_cancel_free(g->q.cancel);
	close(g->q.sock);
	free(g);
}

static struct guest *guest_new(struct holder *h, int sock)
{
	struct guest *g = calloc(1, sizeof(*g));
	struct sbx_error ignored;

	if (g == NULL)
		return NULL;
	g->holder = h;
	g->since_ms = now_ms();
	g->q = (struct request){.hall = &h->hall, .sock = sock, .data_fd = -1};
	for (size_t i = 0; i < POST_FDS_MAX; i++)
		g->q.fds[i] = -1;
	if (sbx_cancel_new(&g->q.cancel, &ignored) == 0)
		return g;
	free(g);
	return NULL;
}

/* Whoever is one too many, or finds no descriptor left, waits until another has gone. */
static void welcome(struct holder *h)
{
	struct guest *g;
	int sock = 0;

	h->is_full = false;
	while (h->count < GUESTS_MAX && sock >= 0) {
		sock = accept4(h->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		h->is_full = sock < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
		g = sock >= 0 && runtime_is_ours(sock) ? guest_new(h, sock) : NULL;
		if (g != NULL)
			h->guests[h->count++] = g;
		else if (sock >= 0)
			close(sock);
	}
}

/* The client wants no more: what runs for it ends, and what waits to be sent is given up. */
static void send_away(struct guest *g)
{
	g->q.gone = true;
	sbx_cancel_kill(g->q.cancel);
	shutdown(g->q.sock, SHUT_RDWR);
	if (!g->served)
		g->done = true;
}

static void begin(struct guest *g, struct post *post)
{
	for (size_t i = 0; i < post->fd_count; i++)
		g->q.fds[i] = post->fds[i];
	post->fd_count = 0;
	if (pthread_create(&g->thread, NULL, guest_thread, g) != 0) {
		send_away(g);
		return;
	}
	g->served = true;
}

static void act_on_post(struct guest *g, struct post *post)
{
	if (post->type == POST_REQUEST && !g->served)
		begin(g, post);
	else if (post->type == POST_INTERRUPT)
		sbx_cancel_interrupt(g->q.cancel);
	else if (post->type == POST_KILL) /* perhaps before the request, which then ends at once */
		sbx_cancel_kill(g->q.cancel);
	else
		send_away(g);
	post_done(post);
}

static void listen_to(struct guest *g)
{
	struct post post;
	int r = 1;

	for (unsigned int i = 0; i < POSTS_A_TURN && r > 0 && !g->q.gone; i++) {
		r = post_receive(g->q.sock, &post);
		if (r > 0)
			act_on_post(g, &post);
		else if (r != -EAGAIN)
			send_away(g);
	}
}

/* Those that are done, and those that never asked. */
static void see_off(struct holder *h)
{
	uint64_t now = now_ms();
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++) {
		struct guest *g = h->guests[i];

		if (!g->served && !g->done && now - g->since_ms > REQUEST_MS)
			send_away(g);
		if (g->done)
			guest_free(g);
		else
			h->guests[kept++] = g;
	}
	h->count = kept;
}

/* ---- the loop ---- */

static bool has_sessions(struct holder *h)
{
	struct sbx_session_info *list = NULL;
	struct sbx_error ignored;
	size_t count = 1;

	if (sbx_registry_list(h->hall.registry, NULL, &list, &count, &ignored) == 0)
		free(list);
	return count > 0;
}

/*
 * Nobody may find a socket that nobody serves: it goes first, and whoever came before that is
 * served after all.
 */
static void end_unless_visited(struct holder *h)
{
	struct sbx_error ignored;

	runtime_unlisten(h->folder_fd);
	welcome(h);
	if (h->count == 0) {
		h->over = true;
		return;
	}
	close(h->listen_fd);
	h->over = runtime_listen(h->folder_fd, &h->listen_fd, &ignored) < 0;
}

static void consider_ending(struct holder *h)
{
	if (h->count > 0 || has_sessions(h))
		h->idle_since_ms = now_ms();
	else if (now_ms() - h->idle_since_ms >= h->idle_ms || h->hall.asked_to_end)
		end_unless_visited(h);
}

static int wait_ms(const struct holder *h)
{
	uint64_t idle = now_ms() - h->idle_since_ms;
	uint64_t left = idle < h->idle_ms ? h->idle_ms - idle : 1;

	return (int)(left < LOOK_MS ? left : LOOK_MS);
}

static bool may_welcome(const struct holder *h)
{
	return h->count < GUESTS_MAX && !h->is_full;
}

static void turn(struct holder *h)
{
	struct pollfd fds[FD_GUESTS + GUESTS_MAX] = {
		[FD_LISTEN] = {.fd = may_welcome(h) ? h->listen_fd : -1, .events = POLLIN},
		[FD_SIGNAL] = {.fd = h->signal_fd, .events = POLLIN},
		[FD_DONE] = {.fd = h->done_fd, .events = POLLIN},
	};
	size_t count = h->count;
	eventfd_t ignored;

	h->is_full = false;
	for (size_t i = 0; i < count; i++)
		fds[FD_GUESTS + i] = (struct pollfd){
			.fd = h->guests[i]->q.gone ? -1 : h->guests[i]->q.sock, .events = POLLIN};
	if (poll(fds, FD_GUESTS + count, wait_ms(h)) < 0)
		return;
	if (fds[FD_SIGNAL].revents != 0)
		h->over = true;
	if (fds[FD_DONE].revents != 0)
		eventfd_read(h->done_fd, &ignored);
	for (size_t i = 0; i < count; i++) {
		if (fds[FD_GUESTS + i].revents != 0)
			listen_to(h->guests[i]);
	}
	if (fds[FD_LISTEN].revents != 0)
		welcome(h);
	see_off(h);
	consider_ending(h);
}

/* ---- begin and end ---- */

/* Signals come through a descriptor, also those that would end a thread in the middle of work. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A hundred sandboxes need more than the usual thousand descriptors. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* One that is about to end still has the lock: give it time. */
static int take_lock(struct holder *h, struct sbx_error *err)
{
	struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};

	for (int i = 0; i < LOCK_TRIES; i++) {
		h->lock_fd = runtime_lock(h->folder_fd, "holder.lock", false);
		if (h->lock_fd != -EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	if (h->lock_fd >= 0)
		return 0;
	if (h->lock_fd == -EWOULDBLOCK)
		return cli_fail(err, SBX_E_UNAVAILABLE,
				"there is a holder of your sessions already");
	return cli_fail(err, SBX_E_SYSTEM, "cannot lock the runtime folder: %s",
			strerror(-h->lock_fd));
}

static int open_holder(struct holder *h, struct sbx_error *err)
{
	struct sbx_registry_limits limits = {
		.most = SESSIONS_MAX,
		.idle_ms = SBX_TIMEOUT_NONE,
		.lifetime_ms = SBX_TIMEOUT_NONE,
	};
	int r = runtime_open(true, &h->folder_fd, err);

	if (r == 0)
		r = take_lock(h, err);
	if (r < 0)
		return r;
	h->signal_fd = open_signals();
	h->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->signal_fd < 0 || h->done_fd < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot wait for events: %s", strerror(errno));
	r = sbx_registry_new(&limits, &h->hall.registry, err);
	if (r == 0)
		r = programs_new(h->hall.registry, &h->hall.programs, err);
	return r < 0 ? r : runtime_listen(h->folder_fd, &h->listen_fd, err);
}

/* New ones find nobody; those that are there are sent away, and then the sessions end. */
static void close_holder(struct holder *h)
{
	struct pollfd done = {.fd = h->done_fd, .events = POLLIN};
	eventfd_t ignored;

	runtime_unlisten(h->folder_fd);
	for (size_t i = 0; i < h->count; i++)
		send_away(h->guests[i]);
	for (see_off(h); h->count > 0; see_off(h)) {
		poll(&done, 1, -1);
		eventfd_read(h->done_fd, &ignored);
	}
	programs_free(h->hall.programs);
	sbx_registry_free(h->hall.registry);
}

static void tell(int ready_fd, const void *words, size_t len)
{
	if (ready_fd < 0)
		return;
	file_write(ready_fd, words, len);
	close(ready_fd);
}

int holder_run(uint64_t idle_ms, int ready_fd)
{
	struct holder h = {.folder_fd = -1, .listen_fd = -1, .idle_ms = idle_ms};
	struct sbx_error err;

	raise_descriptors();
	pthread_mutex_init(&h.hall.naming, NULL);
	if (open_holder(&h, &err) < 0) {
		tell(ready_fd, err.msg, strlen(err.msg));
		cli_say("%s", err.msg);
		return STATUS_TROUBLE;
	}
	tell(ready_fd, "", 1);
	h.idle_since_ms = now_ms();
	while (!h.over)
		turn(&h);
	close_holder(&h);
	return 0;
}
