/* SPDX-License-Identifier: MIT */
/*
 * The backends of container engines. A place is a container with our agent as its first process, and
 * a thread that starts it, moves its bytes, and removes it. The session's socket is there at once: what
 * is said meanwhile waits in it.
 *
 * When this program dies, however it dies, the engine sees the stream end, the agent its stdin, and
 * the container removes itself.
 */
#include "backend/engine/container.h"
#include "backend/engine/kept.h"
#include "backend/engine/image.h"
#include "backend/engine/known.h"
#include "backend/engine/leaving.h"
#include "backend/engine/relay.h"
#include "backend/engine/removal.h"
#include "backend/engine/sets.h"
#include "backend/engine/sweep.h"
#include "backend/image_env.h"
#include "backend/ops.h"
#include "backend/rlimits.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAILURE_MS 10000 /* to hear from the engine why there is no agent */
#define AGENT_NS   (60 * SBX_NS_PER_S) /* for how long its volume is taken to be there still */
#define REMOVAL_MS 20000
#define AGAIN_MAX  2
#define PING_MS	   3000
#define AGENT	   ENGINE_AGENT_FOLDER "/agent"

struct engine_place {
	struct sbx_place base;
	struct engine_client *client;
	struct engine_image image;
	struct engine_container container;
	struct engine_relay relay;
	struct sbx_spec spec; /* what of it lives as long as a session; its mounts' paths do not */
	char *workdir;	      /* the spec's, or of our own in somebody else's container */
	char **env;	      /* of the image */
	struct sbx_place_sets sets; /* folder "": none are shown */
	char sets_volume[ENGINE_SETS_VOLUME_MAX];
	char *commit_tag;     /* or NULL */
	char *writable[WIRE_WRITABLE_MAX];
	size_t writable_count;
	bool started; /* the engine says so; the threads' */
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool settled; /* the stream has ended, or it is known why there is none */
	bool asked;   /* the engine has been told that the container is to end */
	bool leaving; /* the process waits for that (leaving.h) */
	bool over;    /* the thread has ended, or was never started */
	bool closed;  /* nobody but the thread has the place any more */
	struct sbx_error failure; /* why it was not started; else .code is SBX_OK; the threads' before that */
};

static struct engine_place *engine(const struct sbx_place *place)
{
	return (struct engine_place *)place;
}

/* ---- the end ---- */

static void free_place(struct engine_place *p)
{
	if (p->relay.fd >= 0)
		close(p->relay.fd);
	if (p->base.stream_fd >= 0)
		close(p->base.stream_fd);
	engine_stream_close(p->relay.stream);
	engine_client_close(p->client);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	engine_image_done(&p->image);
	engine_container_done(&p->container);
	for (size_t i = 0; i < p->writable_count; i++)
		free(p->writable[i]);
	sbx_strv_free(p->env);
	free(p->commit_tag);
	free(p->workdir);
	free(p);
}

/* Of the thread and of whoever closes the place, the last one frees it. */
static void leave(struct engine_place *p, bool *mine)
{
	bool last;

	pthread_mutex_lock(&p->lock);
	*mine = true;
	last = p->over && p->closed;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (last)
		free_place(p);
}

static void engine_kill(struct sbx_place *place)
{
	shutdown(place->stream_fd, SHUT_RDWR);
}

/* What is made or removed at the end is so when the session is closed, and not some time later. */
static bool has_more_to_do(const struct engine_place *p)
{
	return p->commit_tag != NULL || (p->image.made_here && !p->spec.container.keep_template);
}

static void wait_until_over(struct engine_place *p)
{
	pthread_mutex_lock(&p->lock);
	while (!p->over)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void engine_close(struct sbx_place *place)
{
	struct engine_place *p = engine(place);

	engine_kill(place);
	if (has_more_to_do(p))
		wait_until_over(p);
	pthread_mutex_lock(&p->lock);
	p->leaving = !p->asked;
	if (p->leaving)
		engine_leaving_begin();
	pthread_mutex_unlock(&p->lock);
	leave(p, &p->closed);
}

/* What was made has no agent that would end it. */
static void give_up(struct engine_place *p)
{
	struct sbx_error ignored;

	if (p->container.asked == NULL)
		engine_container_withdraw(p->client, &p->container);
	else if (engine_container_remove(p->client, &p->container, &ignored) < 0)
		engine_removal_leave(p->client, &p->container, true);
}

/* ---- the thread ---- */

static void commit(struct engine_place *p)
{
	struct sbx_error err;
	int r = engine_commit(p->client, &p->container, p->image.config, p->commit_tag, &err);

	if (r < 0)
		engine_say(&p->spec, "%s", err.msg);
	else
		engine_say(&p->spec, "committed to the image %s", p->commit_tag);
}

/* An image that is in use is not removed; that a container is gone takes an engine a moment. */
static void remove_image(struct engine_place *p)
{
	struct engine_request request = {.method = "POST", .accept = 404, .timeout_ms = REMOVAL_MS};
	struct sbx_error ignored;
	char path[256];

	snprintf(path, sizeof(path), "/containers/%s/wait?condition=removed", p->container.id);
	request.path = path;
	engine_call(p->client, &request, NULL, &ignored);
	engine_image_undo(p->client, &p->image);
	engine_sets_remove(p->client, p->image.id, &ignored);
}

static void settle(struct engine_place *p)
{
	pthread_mutex_lock(&p->lock);
	p->settled = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void note_asked(struct engine_place *p)
{
	pthread_mutex_lock(&p->lock);
	if (p->leaving && !p->asked)
		engine_leaving_end();
	p->asked = true;
	pthread_mutex_unlock(&p->lock);
}

static bool is_wanted(const struct engine_place *p)
{
	struct pollfd fd = {.fd = p->relay.fd};

	return poll(&fd, 1, 0) >= 0 && (fd.revents & (POLLHUP | POLLERR)) == 0;
}

/* Nothing will come of the stream. */
static void fail_start(struct engine_place *p, const struct sbx_error *err)
{
	/* What may be missing is looked for again the next time; a start that was given up says nothing of it. */
	if (is_wanted(p))
		engine_known_set_agent(engine_client_key(p->client), 0);
	p->failure = *err;
	engine_stream_hang_up(p->relay.stream);
}

/* A place that is killed meanwhile does not wait for the engine. */
static void *start_main(void *arg)
{
	struct engine_place *p = arg;
	struct sbx_error err;
	int r;

	/* Beside the start, which takes longer: a program that runs for a moment is not held up at its end. */
	engine_sweep_soon(p->client);
	/* What is to be committed must have been started. */
	engine_client_watch(p->client, p->commit_tag == NULL ? p->relay.fd : -1);
	r = engine_container_start(p->client, &p->container, &err);
	engine_client_watch(p->client, -1);
	if (r < 0)
		fail_start(p, &err);
	p->started = r == 0;
	return NULL;
}

/*
 * The engine answers that a container has started after it has: the agent speaks before that, and is
 * heard at once. Where there is no thread, it is heard later.
 */
static void start_and_relay(struct engine_place *p)
{
	pthread_t starter;
	bool beside = pthread_create(&starter, NULL, start_main, p) == 0;

	if (!beside)
		start_main(p);
	engine_relay_run(&p->relay);
	/* An agent that has spoken ends with its stream, and the container removes itself. */
	if (p->relay.heard)
		note_asked(p);
	if (beside)
		pthread_join(starter, NULL);
	if (p->started)
		note_asked(p);
	engine_stream_close(p->relay.stream);
	p->relay.stream = NULL;
}

/* It is in a volume, and somebody may have emptied that since it was seen to be whole. */
static bool lacks_agent(const struct engine_place *p, const struct sbx_error *failure)
{
	char words[ENGINE_WORDS_MAX];

	if (p->relay.heard || p->container.asked == NULL)
		return false;
	engine_relay_words(&p->relay, words);
	return strstr(failure->code != SBX_OK ? failure->msg : words, AGENT) != NULL ||
	       strstr(failure->msg, "open executable") != NULL; /* crun's, of one that is being written */
}

/*
 * Fill the volume, and make another container like the one that found it empty. The first time it may
 * be enough that somebody else has filled it meanwhile: who fills it takes it away from others for a moment.
 */
static int make_again(struct engine_place *p, bool first, struct sbx_error *err)
{
	int r;

	engine_known_set_agent(engine_client_key(p->client), 0);
	if (!first || !engine_volume_is_fresh(p->client, &p->spec))
		engine_volume_distrust(p->client, &p->spec);
	r = engine_container_remove(p->client, &p->container, err);
	if (r == 0)
		r = engine_volume_fill(p->client, &p->spec, engine_image_reference(&p->image), err);
	if (r == 0)
		r = engine_container_create_again(p->client, &p->container, err);
	if (r == 0 && p->spec.container.commit)
		r = engine_container_make_folders(p->client, &p->spec, &p->container, err);
	return r < 0 ? r : engine_container_attach(p->client, &p->container, &p->relay.stream, err);
}

/* What the session has said so far has not been taken from its socket, so it does not notice. */
static void start_again(struct engine_place *p, bool first)
{
	struct sbx_error ignored;

	if (make_again(p, first, &ignored) < 0)
		return;
	p->failure.code = SBX_OK;
	p->relay.words_len = 0;
	start_and_relay(p);
}

/* The session hears of the end of its stream, and asks why. */
static void tell(struct engine_place *p)
{
	shutdown(p->relay.fd, SHUT_RDWR);
	settle(p);
}

/*
 * One whose agent has spoken goes by itself (removal.h), also where the place was closed before the engine
 * had answered that it is started.
 */
static void end_container(struct engine_place *p)
{
	if (p->relay.heard && p->container.asked == NULL)
		return;
	if (p->relay.heard && !p->relay.malformed && !p->spec.container.commit)
		engine_removal_leave(p->client, &p->container, false);
	else
		give_up(p);
}

static void *thread_main(void *arg)
{
	struct engine_place *p = arg;

	start_and_relay(p);
	for (int i = 0; i < AGAIN_MAX && lacks_agent(p, &p->failure) && is_wanted(p); i++)
		start_again(p, i == 0);
	tell(p);
	if (p->started && p->commit_tag != NULL)
		commit(p);
	end_container(p);
	note_asked(p);
	if (p->image.made_here && !p->spec.container.keep_template)
		remove_image(p);
	leave(p, &p->over);
	return NULL;
}

static int start_thread(struct engine_place *p, struct sbx_error *err)
{
	int r;

	p->over = false;
	r = sbx_thread_start_detached(thread_main, p);
	/* A thread that there is may have said already that it is over. */
	if (r != 0)
		p->over = true;
	return r == 0 ? 0 : sbx_fail_errno(err, r, "cannot start a thread for a container");
}

/* ---- open ---- */

static int open_socket(struct engine_place *p, struct sbx_error *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return sbx_fail_errno(err, errno, "cannot make a stream to the agent");
	p->base.stream_fd = fds[0];
	p->relay.fd = fds[1];
	return 0;
}

/* A volume that was there a moment ago is not asked for again: it costs every sandbox a call. */
static bool has_volume(struct engine_client *client, const struct sbx_spec *spec)
{
	struct engine_known known = engine_known_get(engine_client_key(client));

	if (known.agent_ns != 0 && sbx_now_ns() - known.agent_ns < AGENT_NS)
		return true;
	if (!engine_volume_is_whole(client, spec))
		return false;
	engine_known_set_agent(engine_client_key(client), sbx_now_ns());
	return true;
}

static int find_user(struct engine_place *p, struct sbx_error *err)
{
	const char *name = p->spec.container.user;

	return name == NULL ? 0
			    : engine_user_find(p->client, &p->container, name, &p->spec.uid, &p->spec.gid,
					       err);
}

/* All that is done to a container before it is started. */
static int prepare(struct engine_place *p, struct sbx_error *err)
{
	int r = find_user(p, err);

	if (r == 0 && p->spec.container.commit)
		r = engine_container_make_folders(p->client, &p->spec, &p->container, err);
	return r < 0 ? r : engine_writable(&p->container, &p->spec, p->writable, WIRE_WRITABLE_MAX,
					   &p->writable_count, err);
}

static int make_container(struct engine_place *p, struct sbx_error *err)
{
	int r = 0;

	if (!has_volume(p->client, &p->spec))
		r = engine_volume_fill(p->client, &p->spec, engine_image_reference(&p->image), err);
	if (r == 0)
		r = engine_container_create(p->client, &p->spec, engine_image_reference(&p->image),
					    &p->container, err);
	if (r < 0)
		return r;
	p->container.passes_limits_by = !engine_sets_limits(p->client);
	r = prepare(p, err);
	if (r < 0)
		give_up(p);
	return r;
}

/* Where it cannot be had, libraries come another way. */
static void find_sets(struct engine_place *p)
{
	struct sbx_error ignored;

	p->spec.container.sets = NULL;
	if (!p->spec.no_libraries && engine_sets_name(p->image.id, p->sets_volume) &&
	    engine_sets_make(p->client, p->image.id, &ignored) == 0)
		p->spec.container.sets = p->sets_volume;
}

static void note_sets(struct engine_place *p)
{
	if (p->spec.container.sets == NULL || !engine_sets_are_shown(p->container.asked, p->sets_volume))
		return;
	snprintf(p->sets.folder, sizeof(p->sets.folder), "%s", ENGINE_SETS_FOLDER);
	snprintf(p->sets.engine, sizeof(p->sets.engine), "%s", engine_client_address(p->client));
}

/* The image is ours to remove again where it was made for this. */
static int create_once(struct engine_place *p, struct sbx_error *err)
{
	const struct sbx_container *c = &p->spec.container;
	int r = engine_image_get(p->client, &p->spec, &p->image, err);

	if (r < 0)
		return r;
	p->spec.container.was_committed = engine_commit_is_of(p->client, &p->spec, &p->image);
	r = sbx_image_env_make(json_object_get(p->image.config, "Env"), c->environment, &p->env, err);
	if (r == 0 && c->commit)
		r = engine_commit_name(p->client, &p->spec, p->image.name, &p->commit_tag, err);
	if (r == 0) {
		find_sets(p);
		r = make_container(p, err);
	}
	if (r == 0) {
		p->container.volumes = json_incref(json_object_get(p->image.config, "Volumes"));
		note_sets(p);
	}
	if (r < 0 && p->image.made_here && !c->keep_template)
		engine_image_undo(p->client, &p->image);
	return r;
}

/* Of an image that somebody removes between the look and the container: get it anew, or say that it is missing. */
static int create(struct engine_place *p, struct sbx_error *err)
{
	int r = create_once(p, err);

	/* Once there was a container it is something else that is missing: the user, for example. */
	if (r == 0 || err->code != SBX_E_NOT_FOUND || p->image.name == NULL ||
	    p->container.asked != NULL)
		return r;
	sbx_strv_free(p->env);
	free(p->commit_tag);
	engine_image_done(&p->image);
	p->env = NULL;
	p->commit_tag = NULL;
	p->image = (struct engine_image){0};
	return create_once(p, err);
}

static int work_in(struct engine_place *p, const char *folder, struct sbx_error *err)
{
	char *copy = strdup(folder);

	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name the work folder");
	free(p->workdir);
	p->spec.workdir = p->workdir = copy;
	return 0;
}

/*
 * In a container of somebody else's: the work folder goes with the agent. What can fail comes before
 * anything of ours is in it.
 */
static int adopt(struct engine_place *p, struct sbx_error *err)
{
	json_t *description = NULL;
	int r = engine_container_adopt(p->client, &p->spec, &p->container, &description, err);

	if (r == 0) {
		/* What is installed for it is so with the tools of its image. */
		snprintf(p->image.id, sizeof(p->image.id), "%s",
			 json_string_value(json_object_get(description, "Image")) ?: "");
		r = sbx_image_env_make(json_object_get(json_object_get(description, "Config"), "Env"),
				    p->spec.container.environment, &p->env, err);
	}
	json_decref(description);
	if (r == 0)
		r = find_user(p, err);
	if (r == 0 && strcmp(p->workdir, "/sandbox") == 0)
		r = work_in(p, p->container.workdir, err);
	if (r == 0)
		r = engine_writable(&p->container, &p->spec, p->writable, WIRE_WRITABLE_MAX,
				    &p->writable_count, err);
	return r < 0 ? r : engine_container_bring(p->client, &p->container, err);
}

static int attach(struct engine_place *p, struct sbx_error *err)
{
	int r = engine_container_attach(p->client, &p->container, &p->relay.stream, err);

	/* Podman looks for the program when a container is attached to, and not when it is started. */
	for (int i = 0; i < AGAIN_MAX && r < 0 && lacks_agent(p, err); i++)
		r = make_again(p, i == 0, err);
	/* From here on it is killing the place that ends it. */
	engine_client_give_up_when(p->client, NULL, NULL);
	if (r == 0)
		r = start_thread(p, err);
	if (r < 0)
		give_up(p);
	return r;
}

static int open_place(struct engine_place *p, const struct sbx_spec *spec,
		      const struct engine_flavor *flavor, struct sbx_error *err)
{
	int r;

	p->spec = *spec;
	p->workdir = strdup(spec->workdir);
	p->spec.workdir = p->workdir;
	if (p->workdir == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a container");
	r = engine_client_open(&p->client, flavor, err);
	if (r == 0)
		engine_client_give_up_when(p->client, spec->container.is_given_up, spec->container.cancel);
	if (r == 0)
		r = open_socket(p, err);
	if (r == 0)
		r = spec->container.id != NULL ? adopt(p, err) : create(p, err);
	return r < 0 ? r : attach(p, err);
}

/* Whoever waits with a limit does so by the clock that nobody sets. */
static void init_locks(struct engine_place *p)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static int engine_open(const struct sbx_spec *spec, const struct engine_flavor *flavor,
		       struct sbx_place **ret, struct sbx_error *err)
{
	struct engine_place *p = calloc(1, sizeof(*p));
	int r;

	if (p == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a container");
	p->base = (struct sbx_place){.backend = spec->backend, .stream_fd = -1};
	p->relay.fd = -1;
	p->relay.hold = true;
	p->over = true;
	init_locks(p);
	r = open_place(p, spec, flavor, err);
	if (r < 0)
		free_place(p);
	else
		*ret = &p->base;
	return r;
}

/* ---- what it says of itself ---- */

/* A limit that the engine was to set, and passes by. */
static bool is_passed_by(const struct engine_place *p, enum sbx_limit limit)
{
	return p->container.passes_limits_by &&
	       (p->spec.container.unlimited & 1u << limit) == 0;
}

/*
 * The kernel's count of a user's processes is of all containers, and of this machine's own user of
 * that number: it is for where the engine sets no limit, and programs of this number are few.
 */
static void set_rlimits(const struct engine_place *p, struct wire_setup *ret)
{
	/* Without a group for all of them, at least each process has the limit for its own data. */
	if (is_passed_by(p, SBX_LIMIT_MEMORY_BYTES))
		ret->rlimits[ret->rlimit_count++] = (struct wire_rlimit){
			.resource = RLIMIT_DATA,
			.value = p->spec.limits[SBX_LIMIT_MEMORY_BYTES],
		};
	sbx_rlimits_set(ret, p->spec.limits, !is_passed_by(p, SBX_LIMIT_PROCESSES));
}

static int engine_setup(const struct sbx_place *place, struct wire_setup *ret, struct sbx_error *err)
{
	const struct engine_place *p = engine(place);

	*ret = (struct wire_setup){
		.fences = engine_fences(&p->container) & ~(p->spec.uid == 0 ? 1u << WIRE_FENCE_USER : 0),
		.uid = p->spec.uid,
		.gid = p->spec.gid,
		.workdir = strdup(p->workdir),
	};
	for (size_t i = 0; i < p->writable_count; i++)
		ret->writable[ret->writable_count++] = strdup(p->writable[i]);
	set_rlimits(p, ret);
	if (ret->workdir == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot set the sandbox up");
	for (size_t i = 0; i < ret->writable_count; i++) {
		if (ret->writable[i] == NULL)
			return sbx_fail_errno(err, ENOMEM, "cannot set the sandbox up");
	}
	return 0;
}

static const char *const *engine_env(const struct sbx_place *place)
{
	return (const char *const *)engine(place)->env;
}

/* Somebody else's container has our program alone. */
static const char *engine_embedded(const struct sbx_place *place)
{
	return engine(place)->container.program[0] == '\0' ? ENGINE_AGENT_FOLDER "/" ENGINE_EMBEDDED : NULL;
}

static const char *engine_image_called(const struct sbx_place *place)
{
	const struct engine_place *p = engine(place);

	return p->image.name ? p->image.name : p->spec.container.id;
}

static const char *engine_image_id(const struct sbx_place *place)
{
	const struct engine_place *p = engine(place);

	return p->image.id[0] != '\0' ? p->image.id : NULL;
}

static const struct sbx_place_sets *engine_shown_sets(const struct sbx_place *place)
{
	const struct engine_place *p = engine(place);

	return p->sets.folder[0] != '\0' ? &p->sets : NULL;
}

static const char *engine_commit_tag(const struct sbx_place *place)
{
	return engine(place)->commit_tag;
}

/* A sandbox may have ended because its engine has. The place's own client is its thread's. */
static int ask_engine(const struct engine_place *p, struct sbx_error *err)
{
	struct engine_client *client = NULL;
	int r = engine_client_open_again(p->client, &client, err);

	if (r == 0)
		r = engine_call(client, &(struct engine_request){.method = "HEAD", .path = "/_ping",
								 .timeout_ms = PING_MS}, NULL, err);
	engine_client_close(client);
	return r;
}

/* Neither the agent has spoken, nor has the engine said why. */
static int fail_silent(const struct engine_place *p, struct sbx_error *err)
{
	char title[256];

	return sbx_fail(err, SBX_E_TIMEOUT,
			"%s did not start the container in time: is it busy, or stuck? Look at it (%s ps), and "
			"at its log",
			engine_client_title(p->client, title),
			engine_client_flavor(p->client)->name);
}

static int engine_failure(struct sbx_place *place, struct sbx_error *err)
{
	struct engine_place *p = engine(place);
	char words[ENGINE_WORDS_MAX];
	struct timespec until = sbx_timespec(sbx_deadline_ns(FAILURE_MS));
	bool settled;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->settled && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0)
		;
	settled = p->settled;
	if (!settled) {
		r = fail_silent(p, err);
	} else if (p->failure.code != SBX_OK) {
		*err = p->failure;
		r = -(int)err->code;
	} else if (engine_relay_words(&p->relay, words)[0] != '\0') {
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "the container did not start the agent: %.300s",
			     words);
	}
	pthread_mutex_unlock(&p->lock);
	return r == 0 && settled ? ask_engine(p, err) : r;
}

static void engine_usage(struct sbx_place *place, struct sbx_place_usage *ret)
{
	/* Where a container has no group of its own the agent reads of everybody's. */
	ret->shared = engine(place)->container.passes_limits_by;
}

static void engine_usage_reset(struct sbx_place *place)
{
	(void)place;
}

static void add_report(const struct sbx_place *place, const struct wire_surroundings *found,
		       struct sbx_report *report)
{
	const struct engine_place *p = engine(place);

	engine_report(p->client, &p->container, p->spec.uid, found, report);
	if (p->spec.mount_count > 0)
		sbx_report_add(report, "mount owners", SBX_MISSING,
			       "files of mounts keep their owners; programs are %u:%u", p->spec.uid,
			       p->spec.gid);
}

static int probe(const struct engine_flavor *flavor, struct sbx_error *err)
{
	struct engine_client *client = NULL;
	int r = engine_client_open(&client, flavor, err);

	if (r == 0)
		engine_client_close(client);
	return r;
}

/* ---- one for each engine ---- */

#define FUNCTIONS(flavor)                                                                         \
	static int flavor##_open(const struct sbx_spec *spec, struct sbx_place **ret,             \
				 struct sbx_error *err)                                           \
	{                                                                                         \
		return engine_open(spec, &engine_##flavor, ret, err);                             \
	}                                                                                         \
	static int flavor##_print_plan(const struct sbx_spec *spec, struct sbx_buf *out,          \
				       struct sbx_error *err)                                     \
	{                                                                                         \
		return engine_print_plan(spec, &engine_##flavor, out, err);                              \
	}                                                                                         \
	static int flavor##_probe(struct sbx_error *err)                                          \
	{                                                                                         \
		return probe(&engine_##flavor, err);                                              \
	}

FUNCTIONS(docker)
FUNCTIONS(podman)

#define BACKEND(flavor)                                                                           \
	{                                                                                         \
		.name = #flavor, .images = &engine_images_##flavor, .sets = &engine_sets_##flavor, \
		.own_tools = true,                                                                \
		.probe = flavor##_probe,                                                          \
		.print_plan = flavor##_print_plan, .open = flavor##_open, .setup = engine_setup,  \
		.env = engine_env, .commit_tag = engine_commit_tag, .embedded = engine_embedded,  \
		.image_name = engine_image_called, .image_id = engine_image_id,                   \
		.shown_sets = engine_shown_sets, .failure = engine_failure,                       \
		.usage = engine_usage, .usage_reset = engine_usage_reset, .report = add_report,   \
		.kill = engine_kill, .close = engine_close,                                       \
	}

const struct sbx_backend sbx_backend_docker = BACKEND(docker);
const struct sbx_backend sbx_backend_podman = BACKEND(podman);
