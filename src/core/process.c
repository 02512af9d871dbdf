/* SPDX-License-Identifier: MIT */
/*
 * Programs in the background of a session. Whoever drives the link handles their frames, so what
 * they have come to is guarded by the turn's lock, and its condition tells of each end.
 */
#include <llmsandbox/session.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "core/background.h"
#include "core/cancel.h"
#include "core/env.h"
#include "core/result.h"
#include "core/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define LOOK_MS 100 /* how often who waits looks whether it was cancelled */

struct sbx_process {
	struct sbx_background b; /* first: its channel's owner is both */
	struct sbx_process *next; /* of the session's */
	struct sbx_io io; /* stdin alone, copied */
	uint64_t attempts;  /* on the network, before it */
	atomic_ullong kill_by_ns; /* until when it must have ended; 0: there is no such time */
	atomic_bool killed; /* SIGKILL was asked for */
	bool overdue;	 /* it did not end in time, and we killed the sandbox */
	bool abandoned;	 /* nobody has the handle any more */
};

/* ---- on the thread that drives ---- */

static void unlink_process(struct sbx_process *p)
{
	struct sbx_process **at = &p->b.session->processes;

	while (*at != NULL && *at != p)
		at = &(*at)->next;
	if (*at == p)
		*at = p->next;
}

static void free_process(struct sbx_process *p)
{
	sbx_background_done(&p->b);
	free((void *)p->io.stdin_data);
	free(p);
}

/* True when nobody has the handle and the program is over: then it is gone after this. */
static bool reclaim(struct sbx_process *p)
{
	struct sbx_turn *turn = &p->b.session->turn;
	bool done;

	pthread_mutex_lock(&turn->lock);
	done = p->abandoned && p->b.program.is_over;
	if (done)
		unlink_process(p);
	pthread_mutex_unlock(&turn->lock);
	if (done)
		free_process(p);
	return done;
}

static int on_turn(struct sbx_channel *ch, struct sbx_error *err)
{
	struct sbx_process *p = ch->owner;

	return reclaim(p) ? 0 : sbx_background_turn(&p->b, err);
}

/* ---- start ---- */

static int check_command(const struct sbx_command *command, struct sbx_error *err)
{
	if (command->argv == NULL || command->argv[0] == NULL || command->argv[0][0] == '\0')
		return sbx_fail(err, SBX_E_INVALID, "there is no command to run: it is empty");
	if (command->io.use_stdin_fd || command->io.on_stdout != NULL ||
	    command->io.on_stderr != NULL || command->io.file_count > 0)
		return sbx_fail(err, SBX_E_INVALID,
				"'%.128s' cannot run in the background with files, callbacks or a stdin "
				"that is a descriptor",
				command->argv[0]);
	return 0;
}

static int make(struct sbx_session *s, const struct sbx_command *command, struct sbx_process **ret,
		struct sbx_error *err)
{
	struct sbx_process *p = calloc(1, sizeof(*p));
	void *data = command->io.stdin_len > 0 ? malloc(command->io.stdin_len) : NULL;

	if (p == NULL || (command->io.stdin_len > 0 && data == NULL)) {
		free(p);
		free(data);
		return sbx_fail_errno(err, ENOMEM, "cannot start '%.128s'", command->argv[0]);
	}
	if (data != NULL)
		memcpy(data, command->io.stdin_data, command->io.stdin_len);
	p->io = (struct sbx_io){.stdin_data = data, .stdin_len = command->io.stdin_len};
	sbx_background_init(&p->b, s, &p->io);
	*ret = p;
	return 0;
}

static int start(struct sbx_process *p, const struct sbx_command *command, struct sbx_error *err)
{
	struct sbx_session *s = p->b.session;
	uint64_t timeout_ms = command->io.timeout_ms;
	auto_strv char **env = NULL;
	struct sbx_env_sources sources = {.session = s, .extra = command->io.env};
	struct wire_exec exec = {
		.flags = WIRE_EXEC_BACKGROUND | WIRE_EXEC_FORWARD |
			 (command->io.stdin_data != NULL ? WIRE_EXEC_STDIN : 0u),
		.wall_ms = timeout_ms == SBX_TIMEOUT_NONE ? 0 : timeout_ms,
		.cpu_ms = s->spec->limits[SBX_LIMIT_CPU_MS],
		.cwd = (char *)(command->cwd ? command->cwd : ""),
		.argv = (char **)command->argv,
	};
	/* The environment names the proxy. */
	int r = sbx_network_start(s, err);

	if (r == 0)
		r = sbx_env_build(&sources, &env, err);
	if (r < 0)
		return r;
	exec.env = env;
	if (exec.wall_ms != 0)
		p->kill_by_ns = sbx_deadline_ns(exec.wall_ms < UINT64_MAX - SBX_GRACE_MS
							? exec.wall_ms + SBX_GRACE_MS
							: exec.wall_ms);
	r = sbx_background_start(&p->b, &exec, NULL, err);
	if (r == 0)
		p->b.program.channel.on_turn = on_turn;
	return r;
}

int sbx_session_start(struct sbx_session *session, const struct sbx_command *command,
		      struct sbx_process **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_process *p = NULL;
	int r;

	err = err ? err : &lent;
	r = check_command(command, err);
	if (r == 0)
		r = sbx_session_begin_for(session, command->io.cancel, err);
	if (r < 0)
		return r;
	r = make(session, command, &p, err);
	if (r == 0) {
		p->attempts = sbx_network_count(session);
		r = start(p, command, err);
	}
	if (r == 0) {
		pthread_mutex_lock(&session->turn.lock);
		p->next = session->processes;
		session->processes = p;
		pthread_mutex_unlock(&session->turn.lock);
		*ret = p;
	} else if (p != NULL) {
		free_process(p);
	}
	sbx_session_end(session, r, err);
	return r;
}

/* ---- the handle ---- */

static struct timespec earlier_of(uint64_t deadline_ns, uint64_t look_ns)
{
	uint64_t at = deadline_ns != 0 && deadline_ns < look_ns ? deadline_ns : look_ns;

	return sbx_timespec(at);
}

/* The agent had its time to end it. */
static bool is_overdue(const struct sbx_process *p)
{
	const struct sbx_session *s = p->b.session;
	uint64_t now = sbx_now_ns();

	return (p->kill_by_ns != 0 && now >= p->kill_by_ns) ||
	       (s->ends_ns != 0 && now >= s->ends_ns + SBX_GRACE_MS * SBX_NS_PER_MS);
}

/* With the turn's lock held. */
static void kill_overdue(struct sbx_process *p)
{
	if (p->b.program.is_over || p->overdue || !is_overdue(p))
		return;
	p->overdue = true;
	sbx_place_kill(p->b.session->place);
}

/* With the turn's lock held: until it is over, the sandbox gone, the time over, or cancelled. */
static void await_end(struct sbx_process *p, uint64_t deadline_ns, struct sbx_cancel *cancel)
{
	struct sbx_turn *turn = &p->b.session->turn;

	/* Also for who does not wait at all, but looks again and again. */
	kill_overdue(p);
	while (!p->b.program.is_over && !p->b.session->broken && !sbx_cancel_is_killed(cancel) &&
	       (deadline_ns == 0 || sbx_now_ns() < deadline_ns)) {
		struct timespec until = earlier_of(deadline_ns, sbx_deadline_ns(LOOK_MS));

		pthread_cond_timedwait(&turn->changed, &turn->lock, &until);
		kill_overdue(p);
	}
}

static int describe_end(struct sbx_process *p, struct sbx_result *result, struct sbx_error *err)
{
	struct sbx_ending end = {
		.exit = &p->b.program.exit,
		.cancelled = p->b.program.exit.reason == WIRE_KILLED ||
			     (p->killed && !p->b.program.is_over),
		.overdue = p->overdue && !p->b.program.is_over,
		.out_of_memory = p->b.out_of_memory,
		.lost = !p->b.program.is_over,
		.capture = {&p->b.capture[0], &p->b.capture[1]},
		.report = &p->b.session->report,
	};

	int r;

	if (p->b.program.is_over)
		sbx_result_add_cost(result, &p->b.program.exit);
	result->timings.run = p->b.program.exit.wall_ns;
	r = sbx_result_finish(result, &end, err);
	return r < 0 ? r : sbx_network_finish(p->b.session, p->attempts, result, err);
}

int sbx_process_wait(struct sbx_process *p, uint64_t timeout_ms, struct sbx_cancel *cancel,
		     struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_turn *turn = &p->b.session->turn;
	uint64_t deadline_ns = timeout_ms == SBX_TIMEOUT_NONE ? 0
			       : timeout_ms == 0	      ? sbx_now_ns()
							      : sbx_deadline_ns(timeout_ms);
	struct sbx_result *result = calloc(1, sizeof(*result));
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (result == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a result");
	pthread_mutex_lock(&turn->lock);
	await_end(p, deadline_ns, cancel);
	if (p->b.program.is_over || p->b.session->broken)
		r = describe_end(p, result, err);
	else
		r = sbx_fail(err, SBX_E_TIMEOUT, "the program in the background still runs");
	pthread_mutex_unlock(&turn->lock);
	if (r == 0)
		*ret = result;
	else
		sbx_result_free(result);
	return r;
}

int sbx_process_output(struct sbx_process *p, struct sbx_output *ret_out,
		       struct sbx_output *ret_err, struct sbx_error *err)
{
	struct sbx_turn *turn = &p->b.session->turn;
	struct sbx_output out = {0};
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	pthread_mutex_lock(&turn->lock);
	r = sbx_capture_finish(&p->b.capture[0], &out, err);
	if (r == 0)
		r = sbx_capture_finish(&p->b.capture[1], ret_err, err);
	pthread_mutex_unlock(&turn->lock);
	if (r == 0)
		*ret_out = out;
	else
		free(out.data);
	return r;
}

int sbx_process_signal(struct sbx_process *p, int signo, struct sbx_error *err)
{
	struct sbx_error lent;

	if (signo < 1 || signo > 63)
		return sbx_fail(err ? err : &lent, SBX_E_INVALID, "there is no signal %d", signo);
	if (signo == SIGKILL && !atomic_exchange(&p->killed, true))
		p->kill_by_ns = sbx_deadline_ns(SBX_GRACE_MS);
	sbx_background_signal(&p->b, signo);
	return 0;
}

void sbx_process_free(struct sbx_process *p)
{
	struct sbx_session *s = p ? p->b.session : NULL;

	if (p == NULL)
		return;
	atomic_fetch_or(&p->b.signals, 1ull << SIGKILL);
	/* It may be gone as soon as the lock is given back. */
	pthread_mutex_lock(&s->turn.lock);
	p->abandoned = true;
	pthread_mutex_unlock(&s->turn.lock);
	sbx_link_wake(&s->link);
}

void sbx_processes_free(struct sbx_session *s)
{
	struct sbx_process *next;

	for (struct sbx_process *p = s->processes; p != NULL; p = next) {
		next = p->next;
		if (p->abandoned)
			free_process(p);
	}
	s->processes = NULL;
}
