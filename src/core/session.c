/* SPDX-License-Identifier: MIT */
#include "core/session.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "core/cancel.h"
#include "core/container.h"
#include "core/image_store.h"
#include "core/link.h"
#include "core/support.h"
#include "core/toolchain.h"
#include "lang/lang.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#define START_MS   15000
#define GIVE_UP_MS 1000

/* ---- the isolation report ---- */

struct fence_row {
	const char *name;
	const char *how;
};

static const struct fence_row fence_rows[WIRE_FENCE_COUNT] = {
	[WIRE_FENCE_SECCOMP] = {"seccomp", "an allow list of system calls"},
	[WIRE_FENCE_LANDLOCK] = {"landlock", "a second fence around the writable folders"},
	[WIRE_FENCE_CAPABILITIES] = {"capabilities", "none in any set, securebits locked"},
	[WIRE_FENCE_NO_NEW_PRIVS] = {"no-new-privileges", "set-user-id files raise nothing"},
	[WIRE_FENCE_USER] = {"separate user", "programs do not share the agent's user"},
	[WIRE_FENCE_RLIMIT] = {"rlimits", "core, nofile, nproc, fsize, memlock, stack, msgqueue, sigpending"},
};

static const char *fence_problem(enum wire_fence fence, uint32_t sys_errno)
{
	if (sys_errno == ENOSYS || sys_errno == EOPNOTSUPP)
		return "this kernel does not have it";
	if (sys_errno == EPERM && fence == WIRE_FENCE_USER)
		return "only one user id is mapped; subordinate ids (/etc/subuid, newuidmap) or root give more";
	return strerror((int)sys_errno);
}

static void report_fences(struct sbx_session *s, const struct wire_ready *ready)
{
	for (int i = 0; i < WIRE_FENCE_COUNT; i++) {
		const struct fence_row *row = &fence_rows[i];

		if (!(s->setup.fences & 1u << i))
			sbx_report_add(&s->report, row->name, SBX_OFF, "not asked for");
		else if (ready->fence_errno[i] == 0)
			sbx_report_add(&s->report, row->name, SBX_ENFORCED, "%s", row->how);
		else
			sbx_report_add(&s->report, row->name, SBX_MISSING, "%s",
				       fence_problem((enum wire_fence)i, ready->fence_errno[i]));
	}
}

/* ---- open ---- */

static int send_setup(struct sbx_session *s, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_MESSAGE_MAX);
	int r = sbx_place_setup(s->place, &s->setup, err);

	if (r < 0)
		return r;
	s->setup.life_ms = s->spec->limits[SBX_LIMIT_SESSION_MS];
	wire_setup_format(&payload, &s->setup);
	if (payload.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot set the sandbox up");
	r = sbx_link_queue(&s->link, WIRE_SETUP, 0, payload.data, payload.len, err);
	return r < 0 ? r : sbx_conn_flush(&s->link.conn, err);
}

/* Whoever wants an end waits no longer than this for a sandbox that is slow to come. */
static uint64_t act_on_cancel(struct sbx_cancel *cancel, uint64_t deadline_ns)
{
	uint64_t soon_ns = sbx_deadline_ns(GIVE_UP_MS), ignored;

	/* What else was asked for stands elsewhere. */
	eventfd_read(cancel->eventfd, &ignored);
	return sbx_cancel_is_killed(cancel) && soon_ns < deadline_ns ? soon_ns : deadline_ns;
}

static int fail_late(struct sbx_session *s, const struct sbx_cancel *cancel, struct sbx_error *err)
{
	if (!sbx_cancel_is_killed(cancel))
		return sbx_fail(err, SBX_E_TIMEOUT, "the sandbox did not start within %d seconds",
				START_MS / 1000);
	sbx_place_kill(s->place);
	return sbx_fail(err, SBX_E_UNAVAILABLE, "the sandbox was ended before it had started");
}

/* Wait for the frame of this type on channel 0. */
static int expect(struct sbx_session *s, struct sbx_cancel *cancel, enum wire_type type,
		  struct wire_frame *ret, struct sbx_error *err)
{
	uint64_t deadline_ns = sbx_deadline_ns(START_MS);
	struct sbx_conn *conn = &s->link.conn;
	int r;

	while ((r = sbx_conn_next(conn, ret, err)) == 0 && !conn->eof) {
		struct pollfd fds[] = {
			sbx_conn_poll(conn),
			{.fd = cancel ? cancel->eventfd : -1, .events = POLLIN},
		};

		if (poll(fds, 2, sbx_poll_ms(deadline_ns)) == 0)
			return fail_late(s, cancel, err);
		if (fds[1].revents)
			deadline_ns = act_on_cancel(cancel, deadline_ns);
		r = sbx_conn_flush(conn, err);
		if (r == 0 && fds[0].revents & ~POLLOUT)
			r = sbx_conn_fill(conn, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (r == 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the sandbox ended while it started");
	if (ret->type == WIRE_ERROR)
		return sbx_link_refusal(ret, err);
	if (ret->type != type || ret->channel != 0)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s and not %s",
				wire_type_name(ret->type), wire_type_name(type));
	return 0;
}

/* HELLO and READY, in this order, or the reason why they do not come. */
static int greet(struct sbx_session *s, struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct wire_frame frame;
	struct wire_hello hello;
	struct wire_ready ready;
	int r = expect(s, cancel, WIRE_HELLO, &frame, err);

	if (r < 0) {
		int known = sbx_place_failure(s->place, err);

		return known < 0 ? known : r;
	}
	if (!wire_hello_parse(frame.payload, frame.len, &hello) || hello.version != WIRE_VERSION)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox's agent speaks another protocol");
	r = expect(s, cancel, WIRE_READY, &frame, err);
	if (r < 0)
		return r;
	if (!wire_ready_parse(frame.payload, frame.len, &ready))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed READY");
	report_fences(s, &ready);
	sbx_place_report(s->place, &ready.surroundings, &s->report);
	return 0;
}

int sbx_session_greet(struct sbx_session *s, struct sbx_cancel *cancel, struct sbx_error *err)
{
	uint64_t start = sbx_now_ns();
	int r;

	if (s->greeted)
		return 0;
	r = greet(s, cancel, err);
	if (r < 0) {
		s->broken = true;
		return r;
	}
	s->create_ns = sbx_now_ns() - s->opened_ns;
	s->greeting_ns = sbx_now_ns() - start;
	s->greeted = true;
	return 0;
}

static void free_extra_mounts(struct sbx_spec *copy, size_t from)
{
	for (size_t i = from; i < copy->mount_count; i++)
		free(copy->mounts[i].host);
}

/* Show the tool chains' warm caches that exist on this machine. */
static unsigned int add_cache_mounts(struct sbx_spec *copy)
{
	unsigned int shown = 0;
	const struct sbx_lang *lang;

	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		char *host = NULL;

		if (lang->cache == NULL || copy->mount_count == SBX_MOUNTS_MAX ||
		    (copy->language != NULL && strcmp(copy->language, lang->info.id) != 0) ||
		    sbx_toolchain_cache_path(lang, &host) < 0 || host == NULL)
			continue;
		copy->mounts[copy->mount_count++] = (struct sbx_mount){
			.host = host,
			.inside = (char *)lang->cache->inside,
			.as_is = true,
		};
		shown |= 1u << i;
	}
	return shown;
}

static int open_place(struct sbx_session *s, struct sbx_error *err)
{
	struct sbx_spec copy = *s->spec;
	auto_free char *root = NULL;
	const struct sbx_container *c = &s->spec->container;
	int r = sbx_container_check(&copy, err);

	if (r < 0)
		return r;
	if (sbx_backend_has_own_tools(copy.backend)) {
		r = sbx_container_choose(&copy, err);
	} else if (c->image != NULL) {
		r = sbx_image_use(c->image, &root, &s->image_fd, err);
		if (r == 0)
			r = sbx_image_find_env(c->image, c->environment, &s->image_env, err);
		copy.root = root;
		if (r == 0 && sbx_image_has_room(root, SBX_LIBRARIES_INSIDE))
			sbx_libraries_show(&s->libraries, &copy);
		sbx_support_show(s, &copy);
	} else {
		s->caches = add_cache_mounts(&copy);
		sbx_libraries_show(&s->libraries, &copy);
		sbx_support_show(s, &copy);
	}
	if (r == 0)
		r = sbx_place_open(&copy, &s->place, err);
	if (r == 0)
		sbx_support_find(s);
	sbx_container_free_choices(&copy);
	free_extra_mounts(&copy, s->spec->mount_count);
	return r;
}

static int start(struct sbx_session *s, struct sbx_error *err)
{
	uint64_t life_ms = s->spec->limits[SBX_LIMIT_SESSION_MS];
	int r = sbx_turn_init(&s->turn, err);

	if (r == 0)
		r = sbx_link_init(&s->link, s, err);
	if (r == 0)
		r = sbx_network_open(s, err);
	if (r == 0)
		r = open_place(s, err);
	if (r < 0)
		return r;
	s->link.conn.fd = sbx_place_stream(s->place);
	s->ends_ns = life_ms == 0 ? 0 : s->opened_ns + life_ms * SBX_NS_PER_MS;
	return send_setup(s, err);
}

int sbx_session_open(const struct sbx_spec *spec, struct sbx_session **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_session *s = calloc(1, sizeof(*s));
	int r;

	err = err ? err : &lent;
	if (s == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot open a session");
	s->spec = spec;
	s->opened_ns = sbx_now_ns();
	s->link.wake_fd = -1;
	s->image_fd = -1;
	sbx_libraries_init(&s->libraries);
	sbx_kernels_init(&s->kernels);
	r = start(s, err);
	if (r < 0) {
		sbx_session_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sbx_session_close(struct sbx_session *s)
{
	if (s == NULL)
		return;
	sbx_session_stop_keeping(s);
	sbx_place_close(s->place);
	sbx_processes_free(s);
	sbx_kernels_done(&s->kernels);
	sbx_link_done(&s->link);
	sbx_network_close(s);
	wire_setup_done(&s->setup);
	sbx_turn_done(&s->turn);
	sbx_libraries_done(&s->libraries);
	sbx_session_artifacts_done(&s->artifacts);
	if (s->image_fd >= 0)
		close(s->image_fd);
	sbx_strv_free(s->image_env);
	free(s->support);
	free(s);
}

const char *sbx_session_commit_tag(const struct sbx_session *session)
{
	return sbx_place_commit_tag(session->place);
}

/* A peak that was there before the run says nothing about it. */
void sbx_session_usage(const struct sbx_session *s, struct sbx_place_usage *ret)
{
	const struct sbx_place_usage *told = &s->told;

	sbx_place_usage(s->place, ret);
	if (ret->shared)
		return;
	if (told->oom_kills > ret->oom_kills)
		ret->oom_kills = told->oom_kills;
	if (told->peak_memory_bytes > ret->peak_memory_bytes &&
	    told->peak_memory_bytes > s->earlier_peak)
		ret->peak_memory_bytes = told->peak_memory_bytes;
}

void sbx_session_usage_reset(struct sbx_session *s)
{
	s->earlier_peak = s->told.peak_memory_bytes;
	sbx_place_usage_reset(s->place);
}

const char *const *sbx_session_image_env(const struct sbx_session *s)
{
	return s->image_env ? (const char *const *)s->image_env : sbx_place_env(s->place);
}

const char *sbx_session_tool_path(const struct sbx_session *s)
{
	const char *const *env = sbx_session_image_env(s);

	for (; env != NULL && *env != NULL; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return SBX_LANG_PATH;
}

const char *sbx_session_scratch(const struct sbx_session *s)
{
	for (size_t i = 0; i < s->setup.writable_count; i++) {
		if (strcmp(s->setup.writable[i], "/tmp") == 0)
			return "/tmp";
	}
	return s->setup.workdir;
}
