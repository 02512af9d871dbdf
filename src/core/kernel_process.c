/* SPDX-License-Identifier: MIT */
#include "core/kernel_inside.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "core/cancel.h"
#include "core/env.h"
#include "core/operation.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define START_MS   60000 /* until a kernel is ready, on a slow machine */
#define EARLY_MS   200	 /* until a kernel has surely begun with a cell */
#define SILENCE_MS 1000	 /* of a kernel that has closed its socket, until it is killed */

bool sbx_kernel_is_running(const struct sbx_kernel *k)
{
	return k->has_process && k->b.program.channel.id != 0 && !k->b.program.is_over &&
	       !k->session->link.lost;
}

/* ---- on the thread that drives ---- */

static void set_alive(struct sbx_kernel *k, bool alive)
{
	struct sbx_kernels *kernels = &k->session->kernels;

	pthread_mutex_lock(&kernels->lock);
	k->alive = alive;
	k->starts += alive;
	pthread_mutex_unlock(&kernels->lock);
}

static int on_frame(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_kernel *k = ch->owner;
	int r = sbx_background_take(&k->b, frame, err);

	if (k->b.program.is_over)
		set_alive(k, false);
	/* Whatever it is now: nothing of it can be believed. */
	if (k->control.fault != NULL && !k->b.program.is_over)
		sbx_background_signal(&k->b, SIGKILL);
	return r;
}

/* ---- waiting ---- */

static void kill_it(struct sbx_kernel *k, struct sbx_kernel_watch *w)
{
	if (w->give_up_ns != 0)
		return;
	w->give_up_ns = sbx_deadline_ns(SBX_GRACE_MS);
	w->again_ns = w->deadline_ns = w->kill_ns = 0;
	k->killed = true;
	sbx_background_signal(&k->b, SIGKILL);
}

unsigned int sbx_kernel_interrupts(const struct sbx_kernel *k, const struct sbx_cancel *cancel)
{
	struct sbx_kernels *kernels = &k->session->kernels;
	unsigned int n = cancel ? atomic_load(&cancel->interrupts) : 0;

	pthread_mutex_lock(&kernels->lock);
	n += k->interrupts;
	pthread_mutex_unlock(&kernels->lock);
	return n;
}

/*
 * A kernel passes over interrupts that come between cells, so one that comes with the cell itself
 * may be lost: it is sent again, once, if the cell still runs then.
 */
static void interrupt(struct sbx_kernel *k, struct sbx_kernel_watch *w)
{
	uint64_t now = sbx_now_ns();

	sbx_background_signal(&k->b, SIGINT);
	if (w->begun_ns != 0 && now - w->begun_ns < EARLY_MS * SBX_NS_PER_MS)
		w->again_ns = now + EARLY_MS * SBX_NS_PER_MS;
}

static void heed_cancel(struct sbx_kernel *k, struct sbx_kernel_watch *w)
{
	unsigned int interrupts = sbx_kernel_interrupts(k, w->cancel);

	if (sbx_cancel_is_killed(w->cancel) && !w->cancelled) {
		w->cancelled = true;
		kill_it(k, w);
	}
	if (interrupts != w->interrupts)
		interrupt(k, w);
	w->interrupts = interrupts;
}

/* Without its socket it can answer nothing: either it is ending, or it must. */
static void heed_silence(struct sbx_kernel *k, struct sbx_kernel_watch *w)
{
	if (k->control.fault != NULL)
		kill_it(k, w);
	else if (k->control.ended && w->kill_ns == 0 && w->give_up_ns == 0)
		w->kill_ns = sbx_deadline_ns(SILENCE_MS);
}

static void heed_time(struct sbx_kernel *k, struct sbx_kernel_watch *w)
{
	uint64_t now = sbx_now_ns(), ends_ns = k->session->ends_ns;

	if (w->deadline_ns != 0 && now >= w->deadline_ns) {
		w->timed_out = true;
		w->deadline_ns = 0;
		interrupt(k, w);
		if (w->kill_ns == 0)
			w->kill_ns = now + w->grace_ms * SBX_NS_PER_MS;
	}
	if (w->again_ns != 0 && now >= w->again_ns) {
		w->again_ns = 0;
		sbx_background_signal(&k->b, SIGINT);
	}
	if (w->kill_ns != 0 && now >= w->kill_ns)
		kill_it(k, w);
	if ((w->give_up_ns != 0 && now >= w->give_up_ns) ||
	    (ends_ns != 0 && now >= ends_ns + SBX_GRACE_MS * SBX_NS_PER_MS)) {
		w->overdue = true;
		sbx_place_kill(k->session->place);
	}
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static uint64_t next_look_ns(const struct sbx_kernel *k, const struct sbx_kernel_watch *w)
{
	uint64_t ends_ns = k->session->ends_ns;

	if (ends_ns != 0)
		ends_ns += SBX_GRACE_MS * SBX_NS_PER_MS;
	return earlier(earlier(w->again_ns, earlier(w->deadline_ns, w->kill_ns)),
		       earlier(w->give_up_ns, ends_ns));
}

int sbx_kernel_await(struct sbx_kernel *k, struct sbx_kernel_watch *w, struct sbx_error *err)
{
	struct sbx_wait wait = {.cancel = w->cancel};
	int r = 0;

	while (r == 0 && k->asked && sbx_kernel_is_running(k)) {
		/* Before the wait: what was asked for in an earlier one wakes nobody again. */
		heed_cancel(k, w);
		heed_silence(k, w);
		heed_time(k, w);
		wait.deadline_ns = next_look_ns(k, w);
		r = sbx_link_turn(&k->session->link, &wait, err);
	}
	return r;
}

/* ---- start ---- */

static int expand(struct sbx_kernel *k, const char *support, const char *set, char ***ret_argv,
		  char ***ret_env, struct sbx_error *err)
{
	const struct sbx_lang_kernel *row = k->lang->kernel;
	const char *const *template = set && row->run_with_set ? row->run_with_set : row->run;
	struct sbx_lang_values values;
	struct sbx_artifact_env artifacts = {
		.support = support,
		.folder = k->folder.path,
		.first = sbx_artifact_first(k->session),
	};
	struct sbx_env_sources sources = {
		.session = k->session,
		.lang = k->lang,
		.values = &values,
		.artifacts = &artifacts,
	};

	sbx_operation_set_limits(k->session, &values);
	values.set = set;
	values.support = support;
	*ret_argv = sbx_lang_expand(template, &values, NULL);
	if (*ret_argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	return sbx_env_build(&sources, ret_env, err);
}

static int start(struct sbx_kernel *k, const char *support, const char *set,
		 struct sbx_cancel *cancel, struct sbx_error *err)
{
	auto_strv char **argv = NULL, **env = NULL;
	struct wire_exec exec = {
		.flags = WIRE_EXEC_BACKGROUND | WIRE_EXEC_FORWARD | WIRE_EXEC_CONTROL,
		.cpu_ms = k->session->spec->limits[SBX_LIMIT_CPU_MS],
		.cwd = (char *)"",
	};
	int r = expand(k, support, set, &argv, &env, err);

	if (r < 0)
		return r;
	exec.argv = argv;
	exec.env = env;
	r = sbx_background_start(&k->b, &exec, cancel, err);
	if (r < 0)
		return sbx_explain_missing_tool(k->session, k->lang, r, err);
	k->b.program.channel.on_frame = on_frame;
	set_alive(k, true);
	return 0;
}

/* The first lines of what it wrote to stderr are the best reason there is. */
static int fail_start(struct sbx_kernel *k, const struct sbx_kernel_watch *w,
		      struct sbx_error *err)
{
	struct sbx_output said = {0};

	if (w->cancelled)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cancelled while the kernel '%s' started",
				k->name);
	if (w->timed_out)
		return sbx_fail(err, SBX_E_TIMEOUT, "the kernel '%s' was not ready within %d seconds",
				k->name, START_MS / 1000);
	if (k->session->link.lost)
		return sbx_session_fail_lost(k->session, err);
	sbx_kernel_describe_end(k);
	if (sbx_capture_finish(&k->b.capture[1], &said, err) < 0)
		return -(int)err->code;
	sbx_fail(err, SBX_E_UNAVAILABLE, "the kernel '%s' did not start: it %s: %.300s", k->name,
		 k->end, said.len > 0 ? said.data : "it said nothing");
	free(said.data);
	return -SBX_E_UNAVAILABLE;
}

static int await_ready(struct sbx_kernel *k, struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_kernel_watch w = {
		.cancel = cancel,
		.interrupts = sbx_kernel_interrupts(k, cancel),
		.deadline_ns = sbx_deadline_ns(START_MS),
	};
	int r = sbx_kernel_await(k, &w, err);

	return r < 0 || (!k->asked && sbx_kernel_is_running(k)) ? r : fail_start(k, &w, err);
}

/* A collection that is not finished makes its folder, on the way to the EXEC. */
static int make_folder(struct sbx_kernel *k, struct sbx_collection *c, struct sbx_error *err)
{
	int r = 0;

	if (k->folder.path == NULL)
		r = sbx_artifact_folder_init(&k->folder, k->session, err);
	return r < 0 ? r : sbx_collection_begin(c, k->session, &k->folder, err);
}

static int start_and_await(struct sbx_kernel *k, const char *support, const char *set,
			   struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_collection c = {0};
	int r = make_folder(k, &c, err);

	if (r == 0)
		r = start(k, support, set, cancel, err);
	if (r == 0)
		r = await_ready(k, cancel, err);
	sbx_collection_done(&c);
	return r;
}

int sbx_kernel_launch(struct sbx_kernel *k, const char *support, const char *set,
		      struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_error ignored;
	int r;

	/* A sandbox that is still being made would not come of it otherwise. */
	if (sbx_cancel_is_killed(cancel))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cancelled before the kernel '%s' started", k->name);
	sbx_kernel_bury(k);
	sbx_background_init(&k->b, k->session, &k->io);
	sbx_control_init(&k->control, sbx_kernel_on_message, k);
	k->b.program.control = &k->control;
	k->has_process = true;
	k->killed = false;
	k->asked = true;
	k->asked_id = 0;
	k->set = set;
	r = start_and_await(k, support, set, cancel, err);
	if (r == 0)
		return 0;
	if (!k->session->link.failed)
		sbx_kernel_kill(k, &ignored);
	sbx_kernel_bury(k);
	return r;
}

/* ---- end ---- */

void sbx_kernel_describe_end(struct sbx_kernel *k)
{
	const struct wire_exit *exit = &k->b.program.exit;

	if (k->control.fault != NULL)
		snprintf(k->end, sizeof(k->end), "was ended, because it sent %s", k->control.fault);
	else if (k->control.ended && exit->reason == WIRE_KILLED)
		snprintf(k->end, sizeof(k->end),
			 "was ended, because it closed its control socket (descriptor 3)");
	else if (k->b.out_of_memory)
		snprintf(k->end, sizeof(k->end), "was killed at the memory limit");
	else if (exit->reason == WIRE_CPU)
		snprintf(k->end, sizeof(k->end), "was killed at the CPU time limit");
	else if (exit->reason == WIRE_EXITED)
		snprintf(k->end, sizeof(k->end), "exited with code %u", exit->status);
	else
		snprintf(k->end, sizeof(k->end), "was killed by signal %u (%s)", exit->status,
			 sigabbrev_np((int)exit->status) ? sigabbrev_np((int)exit->status) : "?");
}

void sbx_kernel_bury(struct sbx_kernel *k)
{
	if (!k->has_process)
		return;
	sbx_background_done(&k->b);
	sbx_control_done(&k->control);
	sbx_buf_done(&k->answer.value);
	k->has_process = k->asked = false;
	k->set = NULL;
	set_alive(k, false);
}

int sbx_kernel_kill(struct sbx_kernel *k, struct sbx_error *err)
{
	struct sbx_kernel_watch w = {0};
	int r;

	if (!sbx_kernel_is_running(k))
		return 0;
	kill_it(k, &w);
	k->asked = true;
	k->asked_id = 0;
	r = sbx_kernel_await(k, &w, err);
	return r;
}
