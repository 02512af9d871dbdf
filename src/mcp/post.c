/* SPDX-License-Identifier: MIT */
/* Work for the loop's thread from any other: a queue, and an eventfd that wakes the loop. */
#include "mcp/core.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct post {
	mcp_post_fn *function;
	void *a, *b;
	STAILQ_ENTRY(post) link;
};

struct mcp_posts {
	pthread_mutex_t lock;
	STAILQ_HEAD(, post) queue;
	int eventfd;
	struct event *wake;
};

/* Those that are there now: who posts faster than we run must not keep the loop from the rest. */
static void run_all(struct mcp_posts *posts)
{
	STAILQ_HEAD(, post) now = STAILQ_HEAD_INITIALIZER(now);
	struct post *post;

	pthread_mutex_lock(&posts->lock);
	STAILQ_CONCAT(&now, &posts->queue);
	pthread_mutex_unlock(&posts->lock);
	while ((post = STAILQ_FIRST(&now)) != NULL) {
		STAILQ_REMOVE_HEAD(&now, link);
		post->function(post->a, post->b);
		free(post);
	}
}

static void on_wake(evutil_socket_t fd, short events, void *userdata)
{
	uint64_t ignored;

	(void)events;
	if (read(fd, &ignored, sizeof(ignored)) < 0 && errno != EAGAIN)
		return;
	run_all(userdata);
}

struct mcp_posts *mcp_posts_new(struct event_base *loop)
{
	struct mcp_posts *posts = calloc(1, sizeof(*posts));

	if (posts == NULL)
		return NULL;
	pthread_mutex_init(&posts->lock, NULL);
	STAILQ_INIT(&posts->queue);
	posts->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	posts->wake = event_new(loop, posts->eventfd, EV_READ | EV_PERSIST, on_wake, posts);
	if (posts->eventfd >= 0 && posts->wake != NULL && event_add(posts->wake, NULL) == 0)
		return posts;
	mcp_posts_free(posts);
	return NULL;
}

void mcp_posts_free(struct mcp_posts *posts)
{
	if (posts == NULL)
		return;
	/* What workers have left behind belongs to these. */
	while (!STAILQ_EMPTY(&posts->queue))
		run_all(posts);
	if (posts->wake != NULL)
		event_free(posts->wake);
	if (posts->eventfd >= 0)
		close(posts->eventfd);
	pthread_mutex_destroy(&posts->lock);
	free(posts);
}

/* Nothing may get lost: a worker that ends without telling would leave its client waiting. */
static struct post *new_post(void)
{
	struct post *post;

	while ((post = malloc(sizeof(*post))) == NULL)
		usleep(10000);
	return post;
}

void mcp_post(struct mcp_posts *posts, mcp_post_fn *function, void *a, void *b)
{
	struct post *post = new_post();
	uint64_t one = 1;

	*post = (struct post){.function = function, .a = a, .b = b};
	pthread_mutex_lock(&posts->lock);
	STAILQ_INSERT_TAIL(&posts->queue, post, link);
	pthread_mutex_unlock(&posts->lock);
	while (write(posts->eventfd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}
