/* SPDX-License-Identifier: MIT */
#include "agent/program.h"

#include "agent/pipes.h"
#include "agent/send.h"
#include "agent/spawn.h"
#include "base/clock.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* ---- start ---- */

/* Pipes and process: the program runs, or err says why not. */
static int launch(struct program *p, const struct agent_spawn *s,
		  struct agent_supervisors *supervisors, struct sbx_error *err)
{
	pid_t pid = -1;
	int r;

	if (s->exec->flags & WIRE_EXEC_BACKGROUND)
		return supervisor_start(&p->supervisor, s, supervisors, &p->tree, err);
	r = agent_spawn(s, &pid, err);
	if (r < 0)
		return r;
	agent_tree_init(&p->tree, supervisors, pid);
	supervisors->front = true;
	return 0;
}

static int launch_in_pipes(struct program *p, const struct wire_exec *exec,
			   const struct agent_fence *fence, struct agent_supervisors *supervisors,
			   struct agent_pipes *pipes, struct sbx_error *err)
{
	struct agent_spawn s = {.fence = fence, .exec = exec};
	int r = agent_pipes_open(pipes, exec->flags, fence);

	if (r < 0)
		return sbx_fail_errno(err, -r, "cannot make pipes for '%.128s'", exec->argv[0]);
	memcpy(s.fds, pipes->theirs, sizeof(s.fds));
	r = launch(p, &s, supervisors, err);
	agent_pipes_close_theirs(pipes);
	if (r < 0)
		agent_pipes_close_ours(pipes);
	return r;
}

void program_start(struct program *p, struct sbx_conn *conn, uint32_t channel,
		   const struct wire_exec *exec, const struct agent_fence *fence,
		   struct agent_supervisors *supervisors)
{
	static const enum wire_type types[2] = {WIRE_STDOUT, WIRE_STDERR};
	struct sbx_buf payload = SBX_BUF_INIT(16);
	struct agent_pipes pipes;
	struct sbx_error err;

	if (p->channel != 0) {
		send_error(conn, channel, SBX_E_UNAVAILABLE, 0, "another program is running");
		return;
	}
	*p = (struct program){
		.usage = p->usage,
		.start_ns = sbx_now_ns(),
		.cpu_ms = exec->cpu_ms,
		.has_control = (exec->flags & WIRE_EXEC_CONTROL) != 0,
		.supervisor = {.fd = -1},
	};
	if (launch_in_pipes(p, exec, fence, supervisors, &pipes, &err) < 0) {
		send_failure(conn, channel, &err);
		return;
	}
	p->channel = channel;
	p->deadline_ns = sbx_deadline_ns(exec->wall_ms);
	input_init(&p->input, pipes.ours[0], WIRE_FLOW_STDIN);
	control_init(&p->control, pipes.ours[3]);
	for (int i = 0; i < 2; i++)
		output_init(&p->outputs[i], pipes.ours[1 + i], types[i],
			    (exec->flags & WIRE_EXEC_FORWARD) != 0, exec->head_bytes,
			    exec->tail_bytes);

	wire_put_u32(&payload, (uint32_t)p->tree.program);
	send_bytes(conn, WIRE_STARTED, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}

/* ---- the end of the tree ---- */

/* Nothing of it is left after this but bytes in its pipes. */
static void finish_tree(struct program *p)
{
	p->end_ns = sbx_now_ns();
	agent_tree_end(&p->tree);
	supervisor_done(&p->supervisor);
	p->over = true;
}

static void end_by_force(struct program *p, enum wire_reason reason)
{
	p->reason = reason;
	/* What a supervisor knows of its program it tells no more. */
	if (p->tree.supervisor != 0) {
		p->tree.program_ended = true;
		p->tree.program_status = SIGKILL;
	}
	finish_tree(p);
}

/* ---- messages ---- */

static int take_signal(struct program *p, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_signal m;

	if (!wire_signal_parse(frame->payload, frame->len, &m) ||
	    (m.scope == WIRE_SCOPE_TREE && m.signo != SIGKILL))
		return sbx_fail(err, SBX_E_PROTOCOL, "malformed SIGNAL");
	if (p->over)
		return 0;
	if (m.scope == WIRE_SCOPE_GROUP) {
		kill(-p->tree.program, (int)m.signo);
		return 0;
	}
	end_by_force(p, WIRE_KILLED);
	return 0;
}

static int take_credit(struct program *p, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_credit m;
	struct output *o;

	if (!wire_credit_parse(frame->payload, frame->len, &m) || m.flow == WIRE_FLOW_STDIN ||
	    (m.flow == WIRE_FLOW_DATA && !p->has_control))
		return sbx_fail(err, SBX_E_PROTOCOL, "malformed CREDIT");
	if (m.flow == WIRE_FLOW_DATA)
		return control_grant(&p->control, m.bytes, err);
	o = &p->outputs[m.flow - WIRE_FLOW_STDOUT];
	if (m.bytes > WIRE_WINDOW - o->credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "more CREDIT than a window");
	o->credit += m.bytes;
	return 0;
}

int program_take(struct program *p, const struct wire_frame *frame, struct sbx_error *err)
{
	if (frame->type == WIRE_SIGNAL)
		return take_signal(p, frame, err);
	if (frame->type == WIRE_CREDIT)
		return take_credit(p, frame, err);
	if (frame->type == WIRE_STDIN_EOF) {
		input_end(&p->input);
		return 0;
	}
	if (frame->type == WIRE_STDIN && input_add(&p->input, frame->payload, frame->len))
		return 0;
	if (frame->type == WIRE_DATA && p->has_control &&
	    input_add(&p->control.in, frame->payload, frame->len))
		return 0;
	return sbx_fail(err, SBX_E_PROTOCOL, "%s is out of turn or beyond its credit",
			wire_type_name(frame->type));
}

/* ---- the end ---- */

void program_reap(struct program *p)
{
	agent_tree_reap(&p->tree);
	if (p->channel != 0 && !p->over && p->tree.program_ended)
		finish_tree(p);
}

static bool hit_cpu_limit(const struct program *p)
{
	int status = p->tree.program_status;
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (p->cpu_ms == 0)
		return false;
	return signo == SIGXCPU ||
	       (signo == SIGKILL && p->tree.program_cpu_us / 1000 >= p->cpu_ms);
}

static enum wire_reason find_reason(const struct program *p)
{
	if (p->reason != WIRE_EXITED)
		return p->reason;
	if (hit_cpu_limit(p))
		return WIRE_CPU;
	return WIFSIGNALED(p->tree.program_status) ? WIRE_SIGNALLED : WIRE_EXITED;
}

static void send_exit(struct program *p, struct sbx_conn *conn)
{
	struct sbx_buf payload = SBX_BUF_INIT(256);
	int status = p->tree.program_status;
	bool signalled = WIFSIGNALED(status);
	struct wire_exit m = {
		.reason = (uint32_t)find_reason(p),
		.status = (uint32_t)(signalled ? WTERMSIG(status) : WEXITSTATUS(status)),
		.killed = p->tree.killed,
		.wall_ns = p->end_ns - p->start_ns,
		.user_us = p->tree.cost.user_us,
		.system_us = p->tree.cost.system_us,
		.max_rss_bytes = p->tree.cost.max_rss_bytes,
		.read_bytes = p->tree.cost.read_bytes,
		.write_bytes = p->tree.cost.write_bytes,
	};

	for (int i = 0; i < 2; i++) {
		m.total[i] = p->outputs[i].total;
		m.dropped[i] = p->outputs[i].dropped;
	}
	/* A program that a kill of ours met after its own exit has no signal to tell. */
	if (m.reason != WIRE_EXITED && !signalled)
		m.status = SIGKILL;
	usage_tell(p->usage, conn, true);
	wire_exit_format(&payload, &m);
	send_bytes(conn, WIRE_EXIT, p->channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}

/* ---- the loop's part ---- */

void program_poll(const struct program *p, const struct sbx_conn *conn,
		  struct pollfd fds[PROGRAM_POLLFDS])
{
	for (int i = 0; i < PROGRAM_POLLFDS; i++)
		fds[i] = (struct pollfd){.fd = -1};
	if (p->channel == 0)
		return;
	if (p->supervisor.fd >= 0)
		fds[3] = (struct pollfd){.fd = p->supervisor.fd, .events = POLLIN};
	if (input_wants_write(&p->input))
		fds[0] = (struct pollfd){.fd = p->input.fd, .events = POLLOUT};
	for (int i = 0; i < 2; i++) {
		if (output_wants_read(&p->outputs[i], conn))
			fds[1 + i] = (struct pollfd){.fd = p->outputs[i].fd, .events = POLLIN};
	}
	fds[4] = control_poll(&p->control, conn);
}

/* The end of a background program comes by its supervisor. */
static void heed_supervisor(struct program *p)
{
	if (p->over || p->supervisor.fd < 0)
		return;
	supervisor_read(&p->supervisor, &p->tree);
	if (p->tree.program_ended)
		finish_tree(p);
}

static void heed_deadline(struct program *p)
{
	if (p->over || p->deadline_ns == 0 || sbx_now_ns() < p->deadline_ns)
		return;
	end_by_force(p, WIRE_TIMEOUT);
}

void program_pump(struct program *p, struct sbx_conn *conn)
{
	if (p->channel == 0)
		return;
	heed_supervisor(p);
	heed_deadline(p);
	input_pump(&p->input, conn, p->channel);
	for (int i = 0; i < 2; i++)
		output_pump(&p->outputs[i], conn, p->channel, p->over);
	control_pump(&p->control, conn, p->channel, p->outputs, p->over);
	if (!p->over || !output_is_finished(&p->outputs[0]) ||
	    !output_is_finished(&p->outputs[1]) || !control_is_finished(&p->control))
		return;

	send_exit(p, conn);
	input_done(&p->input);
	control_done(&p->control);
	for (int i = 0; i < 2; i++)
		output_done(&p->outputs[i]);
	p->channel = 0;
}
