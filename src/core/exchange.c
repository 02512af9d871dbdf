/* SPDX-License-Identifier: MIT */
#include "core/exchange.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/cancel.h"
#include "core/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS	   100	/* how often the memory limit is looked at */
#define GRACE_MS   5000 /* what the agent gets beyond the time limit before we end it all */
#define STDIN_SIZE 65536

void sbx_exchange_init(struct sbx_exchange *x, struct sbx_session *session,
		       const struct sbx_io *io)
{
	const struct sbx_spec *spec = session->spec;

	*x = (struct sbx_exchange){
		.session = session,
		.conn = &session->conn,
		.place = session->place,
		.io = io,
	};
	for (int i = 0; i < 2; i++)
		sbx_capture_init(&x->capture[i], spec->limits[SBX_LIMIT_HEAD_BYTES],
				 spec->limits[SBX_LIMIT_TAIL_BYTES]);
	if (x->io->cancel != NULL)
		x->interrupts = atomic_load(&x->io->cancel->interrupts);
	/* Nothing has run yet in a sandbox that is still being made. */
	if (session->greeted)
		sbx_place_usage(x->place, &x->usage);
	x->oom_kills = x->usage.oom_kills;
}

void sbx_exchange_done(struct sbx_exchange *x)
{
	for (int i = 0; i < 2; i++)
		sbx_capture_done(&x->capture[i]);
}

/* ---- what comes in ---- */

static int fail_from_agent(const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_error m;

	if (!wire_error_parse(frame->payload, frame->len, &m))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed ERROR");
	sbx_fail(err, (enum sbx_code)m.code, "%s", m.text);
	err->sys_errno = (int)m.sys_errno;
	wire_error_done(&m);
	return -(int)err->code;
}

static int on_output(struct sbx_exchange *x, int stream, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	sbx_output_fn *callback = stream == 0 ? x->io->on_stdout : x->io->on_stderr;
	struct wire_credit credit = {
		.flow = stream == 0 ? WIRE_FLOW_STDOUT : WIRE_FLOW_STDERR,
	};
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	size_t *consumed = &x->process.consumed[stream];

	sbx_capture_add(&x->capture[stream], frame->payload, frame->len);
	if (callback != NULL && frame->len > 0)
		callback(frame->payload, frame->len, x->io->userdata);

	*consumed += frame->len;
	if (*consumed < WIRE_WINDOW / 2)
		return 0;
	credit.bytes = (uint32_t)*consumed;
	*consumed = 0;
	wire_credit_format(&payload, &credit);
	return sbx_conn_queue(x->conn, WIRE_CREDIT, frame->channel, payload.data, payload.len, err);
}

static int on_program_exit(struct sbx_exchange *x, const struct wire_frame *frame, struct sbx_error *err)
{
	if (!wire_exit_parse(frame->payload, frame->len, &x->process.exit))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed EXIT");
	for (int i = 0; i < 2; i++)
		x->capture[i].total += x->process.exit.total[i];
	x->process.exited = true;
	return 0;
}

static int on_credit(struct sbx_exchange *x, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_credit credit;
	bool is_put = frame->channel == x->put.channel;
	size_t *flow = is_put ? &x->put.credit : &x->process.stdin_credit;

	if (!wire_credit_parse(frame->payload, frame->len, &credit) ||
	    credit.flow != (is_put ? WIRE_FLOW_DATA : WIRE_FLOW_STDIN) ||
	    credit.bytes > WIRE_WINDOW - *flow)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox granted credit it did not owe");
	*flow += credit.bytes;
	return 0;
}

static int on_process_frame(struct sbx_exchange *x, const struct wire_frame *frame,
			    struct sbx_error *err)
{
	if (frame->type == WIRE_STARTED)
		return 0;
	if (frame->type == WIRE_STDOUT || frame->type == WIRE_STDERR)
		return on_output(x, frame->type == WIRE_STDERR, frame, err);
	if (frame->type == WIRE_CREDIT)
		return on_credit(x, frame, err);
	if (frame->type == WIRE_EXIT)
		return on_program_exit(x, frame, err);
	if (frame->type == WIRE_ERROR)
		return fail_from_agent(frame, err);
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s while a program ran",
			wire_type_name(frame->type));
}

static int on_put_frame(struct sbx_exchange *x, const struct wire_frame *frame,
			struct sbx_error *err)
{
	if (frame->type == WIRE_CREDIT)
		return on_credit(x, frame, err);
	x->put.channel = 0;
	if (frame->type == WIRE_CLOSE)
		return 0;
	if (frame->type == WIRE_ERROR) {
		/* Told when the program that may run meanwhile has ended, so that the stream stays in step. */
		fail_from_agent(frame, &x->put_error);
		return 0;
	}
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s while it took a file",
			wire_type_name(frame->type));
}

static int on_frame(struct sbx_exchange *x, const struct wire_frame *frame, struct sbx_error *err)
{
	if (frame->channel == 0 && frame->type == WIRE_ERROR)
		return fail_from_agent(frame, err);
	if (frame->channel != 0 && frame->channel == x->put.channel)
		return on_put_frame(x, frame, err);
	if (frame->channel != 0 && frame->channel == x->process.channel && !x->process.exited)
		return on_process_frame(x, frame, err);
	/* Acknowledgements and credit of what is over already. */
	if (frame->type == WIRE_CREDIT || frame->type == WIRE_CLOSE)
		return 0;
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s out of turn",
			wire_type_name(frame->type));
}

/* ---- what goes out ---- */

/* Queue as much of the file as there is credit for, and its end. */
static int feed_put(struct sbx_exchange *x, struct sbx_error *err)
{
	struct sbx_transfer *put = &x->put;
	int r = 0;

	while (r == 0 && put->channel != 0 && put->at < put->len && put->credit > 0) {
		size_t n = put->len - put->at;

		n = n < put->credit ? n : put->credit;
		n = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
		r = sbx_conn_queue(x->conn, WIRE_DATA, put->channel, put->data + put->at, n, err);
		put->at += n;
		put->credit -= n;
		if (r == 0 && put->at == put->len)
			r = sbx_conn_queue(x->conn, WIRE_CLOSE, put->channel, NULL, 0, err);
	}
	return r;
}

static int queue_stdin(struct sbx_exchange *x, const void *data, size_t len, struct sbx_error *err)
{
	x->process.stdin_credit -= len;
	return sbx_conn_queue(x->conn, WIRE_STDIN, x->process.channel, data, len, err);
}

static int end_stdin(struct sbx_exchange *x, struct sbx_error *err)
{
	x->process.stdin_open = false;
	return sbx_conn_queue(x->conn, WIRE_STDIN_EOF, x->process.channel, NULL, 0, err);
}

static int feed_stdin_data(struct sbx_exchange *x, struct sbx_error *err)
{
	struct sbx_process *p = &x->process;
	int r = 0;

	while (r == 0 && p->stdin_at < x->io->stdin_len && p->stdin_credit > 0) {
		size_t n = x->io->stdin_len - p->stdin_at;

		n = n < p->stdin_credit ? n : p->stdin_credit;
		n = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
		r = queue_stdin(x, (const char *)x->io->stdin_data + p->stdin_at, n, err);
		p->stdin_at += n;
	}
	if (r == 0 && p->stdin_at == x->io->stdin_len)
		r = end_stdin(x, err);
	return r;
}

/* The descriptor is readable: take a piece, or its end; an error on it counts as its end. */
static int feed_stdin_fd(struct sbx_exchange *x, struct sbx_error *err)
{
	char piece[STDIN_SIZE];
	size_t most = x->process.stdin_credit;
	ssize_t n = read(x->io->stdin_fd, piece, most < sizeof(piece) ? most : sizeof(piece));

	if (n > 0)
		return queue_stdin(x, piece, (size_t)n, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return end_stdin(x, err);
}

static bool wants_stdin_fd(const struct sbx_exchange *x)
{
	return x->process.stdin_open && x->io->use_stdin_fd && x->process.stdin_credit > 0;
}

static int send_signal(struct sbx_exchange *x, uint32_t signo, enum wire_scope scope,
		       struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);

	wire_signal_format(&payload, &(struct wire_signal){.signo = signo, .scope = (uint8_t)scope});
	return sbx_conn_queue(x->conn, WIRE_SIGNAL, x->process.channel, payload.data, payload.len,
			      err);
}

/* ---- what the host watches ---- */

static int act_on_cancel(struct sbx_exchange *x, struct sbx_error *err)
{
	struct sbx_cancel *cancel = x->io->cancel;
	int r = 0;

	if (cancel == NULL)
		return 0;
	if (!x->cancelled && atomic_load(&cancel->killed)) {
		x->cancelled = true;
		return send_signal(x, SIGKILL, WIRE_SCOPE_TREE, err);
	}
	while (r == 0 && x->interrupts != atomic_load(&cancel->interrupts)) {
		x->interrupts++;
		r = send_signal(x, SIGINT, WIRE_SCOPE_GROUP, err);
	}
	return r;
}

/* One process over the memory limit ends the whole program, not just itself. */
static int act_on_memory(struct sbx_exchange *x, struct sbx_error *err)
{
	sbx_place_usage(x->place, &x->usage);
	if (x->out_of_memory || x->usage.oom_kills <= x->oom_kills)
		return 0;
	x->out_of_memory = true;
	if (x->process.exited || x->lost)
		return 0;
	return send_signal(x, SIGKILL, WIRE_SCOPE_TREE, err);
}

/* ---- the loop ---- */

/* All that is whole of what has been read. */
static int act_on_frames(struct sbx_exchange *x, struct sbx_error *err)
{
	struct wire_frame frame;
	int r = 0;

	while (r == 0 && (r = sbx_conn_next(x->conn, &frame, err)) > 0)
		r = on_frame(x, &frame, err);
	if (r == 0 && x->conn->eof)
		x->lost = true;
	return r;
}

static int take_frames(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = sbx_conn_fill(x->conn, err);

	return r < 0 ? r : act_on_frames(x, err);
}

/* The first turn of a session's first operation; more may have come with the greeting. */
static int await_greeting(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = sbx_session_greet(x->session, err);

	return r < 0 ? r : act_on_frames(x, err);
}

/* Forget a wake-up: what was asked for stands in the handle's counters. */
static void drain(int eventfd)
{
	uint64_t ignored;

	if (read(eventfd, &ignored, sizeof(ignored)) < 0)
		return;
}

/* Wait for something to happen until deadline_ns (0: none) and act on it. */
static int turn(struct sbx_exchange *x, uint64_t deadline_ns, struct sbx_error *err)
{
	struct pollfd fds[3] = {
		sbx_conn_poll(x->conn),
		{.fd = x->io->cancel ? x->io->cancel->eventfd : -1, .events = POLLIN},
		{.fd = wants_stdin_fd(x) ? x->io->stdin_fd : -1, .events = POLLIN},
	};
	int timeout = sbx_poll_ms(deadline_ns), r = 0;

	if (!x->session->greeted)
		return await_greeting(x, err);
	if (timeout < 0 || timeout > TICK_MS)
		timeout = TICK_MS;
	if (poll(fds, 3, timeout) < 0 && errno != EINTR)
		return sbx_fail_errno(err, errno, "cannot wait for the sandbox");

	if (fds[1].revents)
		drain(fds[1].fd);
	if (fds[2].revents)
		r = feed_stdin_fd(x, err);
	if (r == 0 && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		r = take_frames(x, err);
	if (r == 0)
		r = feed_put(x, err);
	if (r == 0 && x->process.channel != 0)
		r = act_on_cancel(x, err);
	if (r == 0)
		r = sbx_conn_flush(x->conn, err);
	return r;
}

static uint32_t new_channel(struct sbx_exchange *x)
{
	uint32_t *next = &x->session->next_channel;

	*next += 1;
	if (*next == 0)
		*next = 1;
	return *next;
}

/* The agent's refusal of a file, told once. */
static int put_failure(struct sbx_exchange *x, struct sbx_error *err)
{
	if (x->put_error.code == SBX_OK)
		return 0;
	*err = x->put_error;
	x->put_error.code = SBX_OK;
	return -(int)err->code;
}

/* Finish the file under way: all sent, though perhaps not yet acknowledged. */
static int finish_sending(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && !x->lost && x->put.channel != 0 && x->put.at < x->put.len)
		r = turn(x, 0, err);
	return r;
}

/* One file at a time: the one before must be acknowledged. */
static int await_acknowledgement(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && !x->lost && x->put.channel != 0)
		r = turn(x, 0, err);
	return r;
}

int sbx_exchange_settle(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = await_acknowledgement(x, err);

	return r < 0 ? r : put_failure(x, err);
}

int sbx_exchange_put(struct sbx_exchange *x, const char *path, const void *data, size_t len,
		     struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct wire_put put = {.mode = 0644, .size = len, .path = (char *)path};
	int r = await_acknowledgement(x, err);

	if (r < 0 || x->lost)
		return r;

	x->put = (struct sbx_transfer){
		.channel = new_channel(x), .data = data, .len = len, .credit = WIRE_WINDOW};
	wire_put_format(&payload, &put);
	if (payload.failed)
		return sbx_fail(err, SBX_E_INVALID, "the file name '%.64s…' is too long", path);
	r = sbx_conn_queue(x->conn, WIRE_PUT, x->put.channel, payload.data, payload.len, err);
	if (r == 0 && len == 0)
		r = sbx_conn_queue(x->conn, WIRE_CLOSE, x->put.channel, NULL, 0, err);
	if (r == 0)
		r = feed_put(x, err);
	if (r == 0)
		r = finish_sending(x, err);
	return r < 0 ? r : put_failure(x, err);
}

static int start_process(struct sbx_exchange *x, const struct wire_exec *exec,
			 struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_MESSAGE_MAX);
	int r;

	x->process = (struct sbx_process){
		.channel = new_channel(x),
		.stdin_credit = WIRE_WINDOW,
		.stdin_open = (exec->flags & WIRE_EXEC_STDIN) != 0,
	};
	wire_exec_format(&payload, exec);
	if (payload.failed)
		return sbx_fail(err, SBX_E_LIMIT,
				"arguments and environment together are larger than %u bytes",
				WIRE_MESSAGE_MAX);
	r = sbx_conn_queue(x->conn, WIRE_EXEC, x->process.channel, payload.data, payload.len, err);
	return r < 0 ? r : sbx_conn_flush(x->conn, err);
}

/* Until it exited or the sandbox is lost; afterwards no frame of it is to come. */
static int run_process(struct sbx_exchange *x, uint64_t deadline_ns, struct sbx_error *err)
{
	uint64_t next_look = sbx_deadline_ns(TICK_MS);
	int r = 0;

	while (r == 0 && !x->process.exited && !x->lost) {
		if (x->process.stdin_open && !x->io->use_stdin_fd)
			r = feed_stdin_data(x, err);
		if (r == 0)
			r = turn(x, deadline_ns, err);
		if (r == 0 && sbx_now_ns() >= next_look) {
			r = act_on_memory(x, err);
			next_look = sbx_deadline_ns(TICK_MS);
		}
		if (deadline_ns != 0 && sbx_now_ns() >= deadline_ns && !x->overdue) {
			x->overdue = true;
			sbx_place_kill(x->place);
		}
	}
	return r;
}

int sbx_exchange_exec(struct sbx_exchange *x, const struct wire_exec *exec, struct wire_exit *ret,
		      struct sbx_error *err)
{
	int r = start_process(x, exec, err);

	if (r == 0)
		r = run_process(x, exec->wall_ms ? sbx_deadline_ns(exec->wall_ms + GRACE_MS) : 0,
				err);
	if (r == 0)
		r = act_on_memory(x, err);
	if (r == 0 && !x->lost)
		*ret = x->process.exit;
	x->process.channel = 0;
	return r < 0 ? r : put_failure(x, err);
}

int sbx_exchange_expect(struct sbx_conn *conn, enum wire_type type, uint64_t timeout_ms,
			struct wire_frame *ret, struct sbx_error *err)
{
	uint64_t deadline_ns = sbx_deadline_ns(timeout_ms);
	int r;

	while ((r = sbx_conn_next(conn, ret, err)) == 0 && !conn->eof) {
		struct pollfd fd = sbx_conn_poll(conn);

		if (poll(&fd, 1, sbx_poll_ms(deadline_ns)) == 0)
			return sbx_fail(err, SBX_E_TIMEOUT,
					"the sandbox did not start within %llu seconds",
					(unsigned long long)timeout_ms / 1000);
		r = sbx_conn_flush(conn, err);
		if (r == 0 && fd.revents & ~POLLOUT)
			r = sbx_conn_fill(conn, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (r == 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the sandbox ended while it started");
	if (ret->type == WIRE_ERROR)
		return fail_from_agent(ret, err);
	if (ret->type != type || ret->channel != 0)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s and not %s",
				wire_type_name(ret->type), wire_type_name(type));
	return 0;
}
