/* SPDX-License-Identifier: MIT */
/* The native backend: Linux namespaces, made and joined by the child that becomes the agent. */
#include "backend/native/agent_image.h"
#include "backend/native/cgroup.h"
#include "backend/native/child.h"
#include "backend/native/handover.h"
#include "backend/native/idmap.h"
#include "backend/native/ids.h"
#include "backend/native/plan.h"
#include "backend/native/slot.h"
#include "backend/native/trouble.h"
#include "backend/ops.h"
#include "backend/rlimits.h"
#include "base/auto.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What clone3 makes new for a sandbox, with the names that the plan and the report show. */
static const struct {
	uint64_t flag;
	const char *name;
} namespaces[] = {
	{CLONE_NEWUSER, "user"}, {CLONE_NEWNS, "mount"}, {CLONE_NEWPID, "pid"},
	{CLONE_NEWNET, "network"}, {CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"},
	{CLONE_NEWCGROUP, "cgroup"},
};

struct native_place {
	struct sbx_place base;
	struct slot slot;
	struct ids ids;
	struct cgroup cgroup;
	struct plan *plan;
	int pidfd;
	int status_fd; /* the child's struct child_failure, or its end */
	char *workdir;
	uint32_t uid, gid;
	uint64_t limits[SBX_LIMIT_COUNT];
	bool has_image;	      /* the root is an image's, and not the host's /usr */
	bool unmapped_mounts; /* a mount whose owner cannot be shown as the sandbox's user */
};

static struct native_place *native(const struct sbx_place *place)
{
	return (struct native_place *)place;
}

/* ---- descriptors ---- */

/* What there is only until the child has become the agent. */
struct wiring {
	int stream[2], handover[2], status[2]; /* [0] stays here, [1] goes to the child */
	int agent_fd;
	int mount_fds[SBX_MOUNTS_MAX]; /* taken for the child, or -1 */
};

static void wiring_init(struct wiring *w)
{
	*w = (struct wiring){{-1, -1}, {-1, -1}, {-1, -1}, -1, {0}};
	for (int i = 0; i < SBX_MOUNTS_MAX; i++)
		w->mount_fds[i] = -1;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void wiring_done(struct wiring *w)
{
	for (int i = 0; i < 2; i++) {
		close_fd(&w->stream[i]);
		close_fd(&w->handover[i]);
		close_fd(&w->status[i]);
	}
	close_fd(&w->agent_fd);
	for (int i = 0; i < SBX_MOUNTS_MAX; i++)
		close_fd(&w->mount_fds[i]);
}

static int wire_up(struct wiring *w, struct sbx_error *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, w->stream) < 0 ||
	    pipe2(w->status, O_CLOEXEC) < 0 || handover_open(w->handover) < 0)
		return sbx_fail_errno(err, errno, "cannot make the sandbox's stream");
	return 0;
}

/* ---- the child's birth ---- */

/* clone3 into new namespaces and, where it takes births, our cgroup: as fork(), or -errno. */
static long clone_child(struct native_place *p)
{
	struct clone_args args = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND, .pidfd = (uint64_t)(uintptr_t)&p->pidfd};
	int birth_fd = cgroup_birth_fd(&p->cgroup);
	long pid;

	/* The child makes the network itself, while we go on. */
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		args.flags |= namespaces[i].flag & ~(uint64_t)CLONE_NEWNET;
	if (birth_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (__u64)birth_fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid >= 0)
		return pid;
	/* The kernel may have written the number of a descriptor that it took back. */
	p->pidfd = -1;
	return -errno;
}

static int bear_child(struct native_place *p, const struct wiring *w, pid_t *ret,
		      struct sbx_error *err)
{
	struct child_orders orders = {
		.plan = p->plan,
		.stream_fd = w->stream[1],
		.handover_fd = w->handover[1],
		.status_fd = w->status[1],
	};
	long pid = clone_child(p);

	if (pid < 0 && cgroup_give_up_birth(&p->cgroup, (int)-pid))
		pid = clone_child(p);
	if (pid < 0)
		return trouble_clone((int)-pid, err);
	if (pid == 0) {
		/* The child must see the end of file when we are gone: our ends are not its own. */
		close(w->handover[0]);
		close(w->stream[0]);
		child_main(&orders);
	}
	*ret = (pid_t)pid;
	return 0;
}

static int take_place(struct native_place *p, const struct sbx_spec *spec, struct sbx_error *err)
{
	int r = slot_take(&p->slot, cgroup_sweep, err);

	if (r == 0 && cgroup_takes_births())
		cgroup_make(&p->cgroup, &p->slot, spec, false);
	return r;
}

/* ---- what the child builds ---- */

static void map_mounts(struct native_place *p, const struct sbx_spec *spec, struct wiring *w)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		if (spec->mounts[i].as_is || p->ids.mode != IDS_RANGE)
			continue;
		w->mount_fds[i] = idmap_take(&spec->mounts[i], &p->ids, spec);
		if (w->mount_fds[i] < 0)
			p->unmapped_mounts = true;
	}
}

static int send_note(const struct wiring *w, const void *note, size_t len, const int *fds,
		     size_t count, struct sbx_error *err)
{
	int r = handover_send(w->handover[0], note, len, fds, count);

	/* A child that is gone has said why, or says so by closing the stream. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return sbx_fail_errno(err, -r, "cannot hand the sandbox its descriptors");
	return 0;
}

static int send_build(const struct native_place *p, const struct wiring *w, struct sbx_error *err)
{
	struct child_build build;
	int fds[HANDOVER_FDS_MAX] = {p->slot.lock_fd, w->agent_fd};
	size_t count = 2;

	memset(&build, 0, sizeof(build));
	build.become_root = p->ids.mode != IDS_SINGLE;
	for (size_t i = 0; i < SBX_MOUNTS_MAX; i++) {
		if (w->mount_fds[i] < 0)
			continue;
		build.taken |= 1ull << i;
		fds[count++] = w->mount_fds[i];
	}
	return send_note(w, &build, sizeof(build), fds, count, err);
}

static int order_build(struct native_place *p, const struct sbx_spec *spec, struct wiring *w,
		       pid_t pid, struct sbx_error *err)
{
	int r;

	ids_find(spec, p->slot.number, &p->ids);
	r = plan_make(p->plan, spec, err);
	if (r == 0)
		r = agent_image_open(&w->agent_fd, err);
	if (r == 0)
		r = ids_map(&p->ids, spec, pid, err);
	if (r < 0)
		return r;
	map_mounts(p, spec, w);
	return send_build(p, w, err);
}

static int order_start(struct native_place *p, const struct sbx_spec *spec,
		       const struct wiring *w, struct sbx_error *err)
{
	const struct child_start start = {.go = 1};
	int doors[CGROUP_CONTROLLERS], r;
	size_t count;

	if (!cgroup_takes_births())
		cgroup_make(&p->cgroup, &p->slot, spec, p->ids.mode == IDS_RANGE);
	count = cgroup_open_doors(&p->cgroup, doors);
	r = send_note(w, &start, sizeof(start), doors, count, err);
	for (size_t i = 0; i < count; i++)
		close(doors[i]);
	return r;
}

/* ---- ops ---- */

static struct native_place *place_new(const struct sbx_spec *spec)
{
	struct native_place *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->base = (struct sbx_place){.backend = &sbx_backend_native, .stream_fd = -1};
	p->slot = (struct slot)SLOT_NONE;
	p->pidfd = p->status_fd = -1;
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		p->cgroup.parts[i].fd = -1;
	p->uid = spec->uid;
	p->gid = spec->gid;
	p->has_image = spec->root != NULL;
	memcpy(p->limits, spec->limits, sizeof(p->limits));
	p->workdir = strdup(spec->workdir);
	if (p->workdir != NULL)
		return p;
	free(p);
	return NULL;
}

/*
 * What must be there before the child (in cgroup v2, its cgroup), the child, and then, while it
 * makes its network, all the rest.
 */
static int open_place(struct native_place *p, const struct sbx_spec *spec, struct wiring *w,
		      struct sbx_error *err)
{
	bool births = cgroup_takes_births();
	pid_t pid = -1;
	int r = plan_new(&p->plan, err);

	if (r == 0)
		r = wire_up(w, err);
	if (r == 0 && births)
		r = take_place(p, spec, err);
	if (r == 0)
		r = bear_child(p, w, &pid, err);
	if (r == 0 && !births)
		r = take_place(p, spec, err);
	if (r == 0)
		r = order_build(p, spec, w, pid, err);
	if (r == 0)
		r = order_start(p, spec, w, err);
	return r;
}

static int native_open(const struct sbx_spec *spec, struct sbx_place **ret, struct sbx_error *err)
{
	struct native_place *p = place_new(spec);
	struct wiring w;
	int r;

	if (p == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a sandbox");
	wiring_init(&w);
	r = open_place(p, spec, &w, err);
	if (r == 0) {
		p->base.stream_fd = take_fd(w.stream[0]);
		p->status_fd = take_fd(w.status[0]);
	}
	wiring_done(&w);
	if (r < 0) {
		sbx_place_close(&p->base);
		return r;
	}
	*ret = &p->base;
	return 0;
}

static void set_rlimits(const struct native_place *p, struct wire_setup *ret)
{
	/* Without a group for all of them, at least each process has the limit for its own data. */
	if (p->cgroup.parts[CGROUP_MEMORY].problem != 0)
		ret->rlimits[ret->rlimit_count++] = (struct wire_rlimit){
			.resource = RLIMIT_DATA,
			.value = p->limits[SBX_LIMIT_MEMORY_BYTES],
		};
	/* In the single-id case processes are counted over all that our user runs. */
	sbx_rlimits_set(ret, p->limits,
			p->ids.mode == IDS_SINGLE && p->cgroup.parts[CGROUP_PIDS].problem == 0);
}

static int native_setup(const struct sbx_place *place, struct wire_setup *ret,
			struct sbx_error *err)
{
	const struct native_place *p = native(place);

	*ret = (struct wire_setup){
		.fences = (1u << WIRE_FENCE_COUNT) - 1,
		.uid = p->uid,
		.gid = p->gid,
		.workdir = strdup(p->workdir),
	};
	for (size_t i = 0; i < p->plan->writable_count; i++)
		ret->writable[ret->writable_count++] = strdup(p->plan->writable[i]);
	set_rlimits(p, ret);
	if (ret->workdir == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot set the sandbox up");
	for (size_t i = 0; i < ret->writable_count; i++) {
		if (ret->writable[i] == NULL)
			return sbx_fail_errno(err, ENOMEM, "cannot set the sandbox up");
	}
	return 0;
}

static int native_failure(struct sbx_place *place, struct sbx_error *err)
{
	struct native_place *p = native(place);
	struct child_failure failure;
	struct pollfd fd = {.fd = p->status_fd, .events = POLLIN};

	if (poll(&fd, 1, 1000) <= 0 ||
	    sbx_read_full(p->status_fd, &failure, sizeof(failure)) != sizeof(failure))
		return 0;
	return trouble_child(p->plan, &failure, err);
}

static void native_usage(struct sbx_place *place, struct sbx_place_usage *ret)
{
	cgroup_usage(&native(place)->cgroup, ret);
}

static void native_usage_reset(struct sbx_place *place)
{
	cgroup_reset_peak(&native(place)->cgroup);
}

/* What we have made ourselves, and failed at where it could not be had. */
static void native_report(const struct sbx_place *place, const struct wire_surroundings *found,
			  struct sbx_report *report)
{
	const struct native_place *p = native(place);
	char ids[128];

	(void)found;
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s namespace", namespaces[i].name);
		sbx_report_add(report, name, SBX_ENFORCED, "a new one");
	}
	ids_describe(&p->ids, ids, sizeof(ids));
	sbx_report_add(report, "host ids", p->ids.mode == IDS_SINGLE ? SBX_MISSING : SBX_ENFORCED,
		       "%s", ids);
	sbx_report_add(report, "root file system", SBX_ENFORCED, "read-only, %s",
		       p->has_image ? "the image's; nothing of the host's"
				    : "the host's /usr and a made-up /etc");
	sbx_report_add(report, "proc", SBX_ENFORCED, "fresh, masked, other users' processes hidden");
	sbx_report_add(report, "devices", SBX_ENFORCED, "null zero full random urandom tty, own pts");
	sbx_report_add(report, "network", SBX_ENFORCED, "none but the sandbox's own loopback");
	sbx_report_add(report, "disk limit", SBX_ENFORCED, "%llu bytes in memory",
		       (unsigned long long)p->limits[SBX_LIMIT_DISK_BYTES]);
	if (p->unmapped_mounts)
		sbx_report_add(report, "mount owners", SBX_MISSING,
			       "a mount's file system cannot map ids; its files keep their owners");
	cgroup_report(&p->cgroup, p->limits, report);
}

static void native_kill(struct sbx_place *place)
{
	syscall(SYS_pidfd_send_signal, native(place)->pidfd, SIGKILL, NULL, 0);
}

/* The kernel ends a pid namespace's processes before its init can be waited for. */
static void wait_for_end(int pidfd)
{
	siginfo_t info;

	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
}

static void native_close(struct sbx_place *place)
{
	struct native_place *p = native(place);

	if (p->pidfd >= 0) {
		native_kill(place);
		wait_for_end(p->pidfd);
	}
	cgroup_remove(&p->cgroup);
	slot_give(&p->slot);
	close_fd(&p->base.stream_fd);
	close_fd(&p->status_fd);
	close_fd(&p->pidfd);
	plan_free(p->plan);
	free(p->workdir);
	free(p);
}

static void print_limits(const struct sbx_spec *spec, struct sbx_buf *out)
{
	for (int i = 0; i < SBX_LIMIT_COUNT; i++)
		sbx_buf_printf(out, "limit %s %llu\n", sbx_limit_describe((enum sbx_limit)i)->name,
			       (unsigned long long)spec->limits[i]);
}

static int native_print_plan(const struct sbx_spec *spec, struct sbx_buf *out,
			     struct sbx_error *err)
{
	struct plan *plan;
	struct ids ids;
	char text[128];
	int r = plan_new(&plan, err);

	if (r < 0)
		return r;
	r = plan_make(plan, spec, err);
	if (r < 0) {
		plan_free(plan);
		return r;
	}
	sbx_buf_puts(out, "namespaces");
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		sbx_buf_printf(out, " %s", namespaces[i].name);
	ids_find(spec, 0, &ids);
	ids_describe(&ids, text, sizeof(text));
	sbx_buf_printf(out, "\nids %s\ncgroup %s\n", text, cgroup_layout());
	print_limits(spec, out);
	plan_print(plan, out);
	sbx_buf_printf(out, "agent as pid 1; programs as %u:%u in %s\n", spec->uid, spec->gid,
		       spec->workdir);
	sbx_buf_puts(out, "fences seccomp landlock capabilities no-new-privileges user rlimits\n");
	plan_free(plan);
	return 0;
}

const struct sbx_backend sbx_backend_native = {
	.name = "native",
	.print_plan = native_print_plan,
	.open = native_open,
	.setup = native_setup,
	.failure = native_failure,
	.usage = native_usage,
	.usage_reset = native_usage_reset,
	.report = native_report,
	.kill = native_kill,
	.close = native_close,
};
