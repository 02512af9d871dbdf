/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include "agent/paths.h"
#include "agent/send.h"
#include "agent/surroundings.h"
#include "base/auto.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int malformed(const struct wire_frame *frame, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_PROTOCOL, "malformed %s", wire_type_name(frame->type));
}

/*
 * Folders that an engine has made, as root's and for everybody, become the user's own: tools refuse
 * to work in a folder that is somebody else's. Where we may not do that they stay as they are, as does
 * /tmp, which is everybody's everywhere.
 */
static void hand_over(const struct agent *a)
{
	for (char **folder = a->folders; folder != NULL && *folder != NULL; folder++) {
		auto_close int fd = open(*folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (strcmp(*folder, "/tmp") == 0)
			continue;
		if (fd >= 0 && fchmod(fd, 0755) == 0 && fchown(fd, a->setup.uid, a->setup.gid) < 0)
			fchmod(fd, 01777);
	}
}

static int set_up(struct agent *a, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_buf payload = SBX_BUF_INIT(512);
	struct wire_ready ready = {0};
	struct utsname uts;
	int r;

	if (a->is_set_up || !wire_setup_parse(frame->payload, frame->len, &a->setup))
		return malformed(frame, err);
	r = guest_make_folder(&a->guest, &a->setup);
	if (r < 0)
		return sbx_fail_errno(err, -r, "cannot make the work folder '%.128s'", a->setup.workdir);
	hand_over(a);
	if (a->in_container)
		surroundings_look(&ready.surroundings, a->folders, a->setup.uid);
	r = agent_fence_up(&a->fence, &a->setup, &ready);
	if (r < 0)
		return sbx_fail_errno(err, -r, "cannot put the sandbox's fences up");
	a->is_set_up = true;
	a->life_ends_ns = sbx_deadline_ns(a->setup.life_ms);
	if (uname(&uts) == 0)
		snprintf(ready.kernel, sizeof(ready.kernel), "%.64s", uts.release);
	wire_ready_format(&payload, &ready);
	send_bytes(&a->conn, WIRE_READY, 0, payload.data, payload.len);
	sbx_buf_done(&payload);
	return 0;
}

/*
 * What the kernel would stamp a file with now. It is no clock that can be read: since Linux 6.13
 * a stamp may be ahead of CLOCK_REALTIME_COARSE (Documentation/filesystems/multigrain-ts.rst), so
 * a file is made and looked at.
 */
static uint64_t file_clock_ns(void)
{
	auto_close int fd = memfd_create("clock", MFD_CLOEXEC);
	struct timespec now = {0};
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		return path_time_ns(&st.st_ctim);
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return path_time_ns(&now);
}

static void tell_clock(struct agent *a, uint32_t channel)
{
	struct sbx_buf payload = SBX_BUF_INIT(64);

	wire_pong_format(&payload, &(struct wire_pong){.clock_ns = file_clock_ns()});
	send_bytes(&a->conn, WIRE_PONG, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}

static int start_program(struct agent *a, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_exec m;

	if (!wire_exec_parse(frame->payload, frame->len, &m))
		return malformed(frame, err);
	programs_start(&a->programs, &a->conn, frame->channel, &m, &a->fence);
	wire_exec_done(&m);
	return 0;
}

static int listen_for_programs(struct agent *a, const struct wire_frame *frame,
			       struct sbx_error *err)
{
	struct wire_port m;

	if (!wire_port_parse(frame->payload, frame->len, &m))
		return malformed(frame, err);
	proxy_listen(&a->proxy, &a->conn, frame->channel, m.port);
	return 0;
}

/* What goes to an operation that runs; for one that is over already it is late, not wrong. */
static int pass_on(struct agent *a, const struct wire_frame *frame, struct sbx_error *err)
{
	struct program *program = programs_find(&a->programs, frame->channel);

	if (frame->channel & WIRE_FROM_AGENT)
		return proxy_take(&a->proxy, &a->conn, frame, err);
	if (program != NULL)
		return program_take(program, frame, err);
	if (a->transfer.kind != TRANSFER_NONE && frame->channel == a->transfer.channel)
		return transfer_take(&a->transfer, &a->conn, frame, err);
	return 0;
}

static int act(struct agent *a, const struct wire_frame *frame, struct sbx_error *err)
{
	bool begins = frame->type == WIRE_EXEC || frame->type == WIRE_LISTEN ||
		      transfer_begins_with(frame->type);

	if (frame->type == WIRE_SETUP)
		return set_up(a, frame, err);
	if (frame->type == WIRE_PING) {
		tell_clock(a, frame->channel);
		return 0;
	}
	if (!a->is_set_up || (begins && (frame->channel == 0 || frame->channel & WIRE_FROM_AGENT)))
		return sbx_fail(err, SBX_E_PROTOCOL, "%s is out of turn",
				wire_type_name(frame->type));
	if (frame->type == WIRE_EXEC)
		return start_program(a, frame, err);
	if (frame->type == WIRE_LISTEN)
		return listen_for_programs(a, frame, err);
	if (transfer_begins_with(frame->type))
		return transfer_begin(&a->transfer, &a->conn, frame, &a->fence, err);
	return pass_on(a, frame, err);
}

/* Join a continued message; act on what is whole. */
int agent_dispatch(struct agent *a, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_frame whole = *frame;
	int r;

	if (!frame->more && !a->joining.more)
		return act(a, frame, err);
	if (a->joining.more &&
	    (frame->type != a->joining.type || frame->channel != a->joining.channel))
		return sbx_fail(err, SBX_E_PROTOCOL, "%s interrupts an unfinished %s",
				wire_type_name(frame->type), wire_type_name(a->joining.type));
	a->joining = *frame;
	sbx_buf_append(&a->joined, frame->payload, frame->len);
	if (a->joined.failed)
		return sbx_fail(err, SBX_E_PROTOCOL, "a message is larger than %u bytes",
				WIRE_MESSAGE_MAX);
	if (frame->more)
		return 0;
	whole.payload = (const uint8_t *)a->joined.data;
	whole.len = a->joined.len;
	r = act(a, &whole, err);
	sbx_buf_done(&a->joined);
	return r;
}
