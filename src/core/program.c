/* SPDX-License-Identifier: MIT */
#include "core/program.h"

#include "base/auto.h"

#include <errno.h>
#include <unistd.h>

#define STDIN_SIZE 65536

/* ---- what comes in ---- */

static int grant(struct sbx_program *p, int stream, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_credit credit = {
		.flow = stream == 0 ? WIRE_FLOW_STDOUT : WIRE_FLOW_STDERR,
		.bytes = (uint32_t)p->consumed[stream],
	};

	p->consumed[stream] = 0;
	wire_credit_format(&payload, &credit);
	return sbx_link_queue(p->link, WIRE_CREDIT, p->channel.id, payload.data, payload.len, err);
}

static int on_output(struct sbx_program *p, int stream, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	sbx_output_fn *callback = NULL;

	if (p->io != NULL)
		callback = stream == 0 ? p->io->on_stdout : p->io->on_stderr;
	sbx_capture_add(p->capture[stream], frame->payload, frame->len);
	if (callback != NULL && frame->len > 0)
		callback(frame->payload, frame->len, p->io->userdata);
	p->consumed[stream] += frame->len;
	return p->consumed[stream] < WIRE_WINDOW / 2 ? 0 : grant(p, stream, err);
}

static int on_exit_frame(struct sbx_program *p, const struct wire_frame *frame,
			 struct sbx_error *err)
{
	if (!wire_exit_parse(frame->payload, frame->len, &p->exit))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed EXIT");
	for (int i = 0; i < 2; i++)
		p->capture[i]->total += p->exit.total[i];
	p->is_over = true;
	return 0;
}

static int on_credit(struct sbx_program *p, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_credit credit;

	if (!wire_credit_parse(frame->payload, frame->len, &credit) ||
	    credit.flow != WIRE_FLOW_STDIN || credit.bytes > WIRE_WINDOW - p->stdin_credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox granted credit it did not owe");
	p->stdin_credit += credit.bytes;
	return 0;
}

static int on_refusal(struct sbx_program *p, const struct wire_frame *frame, struct sbx_error *err)
{
	p->is_over = true;
	sbx_link_refusal(frame, &p->refusal);
	if (p->refusal.code != SBX_E_PROTOCOL)
		return 0;
	*err = p->refusal;
	return -SBX_E_PROTOCOL;
}

static int on_frame(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_program *p = ch->owner;

	if (p->is_over)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s after a program's end",
				wire_type_name(frame->type));
	if (frame->type == WIRE_STARTED)
		return 0;
	if (p->control != NULL && sbx_control_wants(frame))
		return sbx_control_take(p->control, p->link, frame, err);
	if (frame->type == WIRE_STDOUT || frame->type == WIRE_STDERR)
		return on_output(p, frame->type == WIRE_STDERR, frame, err);
	if (frame->type == WIRE_CREDIT)
		return on_credit(p, frame, err);
	if (frame->type == WIRE_EXIT)
		return on_exit_frame(p, frame, err);
	if (frame->type == WIRE_ERROR)
		return on_refusal(p, frame, err);
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s while a program ran",
			wire_type_name(frame->type));
}

/* ---- start and end ---- */

int sbx_program_start(struct sbx_program *p, const struct wire_exec *exec, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_MESSAGE_MAX);

	p->channel = (struct sbx_channel){.on_frame = on_frame, .owner = p};
	p->is_over = false;
	p->exit = (struct wire_exit){0};
	p->refusal.code = SBX_OK;
	p->stdin_at = p->consumed[0] = p->consumed[1] = 0;
	p->stdin_credit = WIRE_WINDOW;
	p->stdin_open = (exec->flags & WIRE_EXEC_STDIN) != 0;
	wire_exec_format(&payload, exec);
	if (payload.failed)
		return sbx_fail(err, SBX_E_LIMIT,
				"arguments and environment together are larger than %u bytes",
				WIRE_MESSAGE_MAX);
	sbx_link_add(p->link, &p->channel);
	return sbx_link_queue(p->link, WIRE_EXEC, p->channel.id, payload.data, payload.len, err);
}

void sbx_program_done(struct sbx_program *p)
{
	if (p->link != NULL)
		sbx_link_remove(p->link, &p->channel);
}

/* ---- stdin and signals ---- */

static int queue_stdin(struct sbx_program *p, const void *data, size_t len, struct sbx_error *err)
{
	p->stdin_credit -= len;
	return sbx_link_queue(p->link, WIRE_STDIN, p->channel.id, data, len, err);
}

static int end_stdin(struct sbx_program *p, struct sbx_error *err)
{
	p->stdin_open = false;
	return sbx_link_queue(p->link, WIRE_STDIN_EOF, p->channel.id, NULL, 0, err);
}

static int feed_data(struct sbx_program *p, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && p->stdin_at < p->io->stdin_len && p->stdin_credit > 0) {
		size_t n = p->io->stdin_len - p->stdin_at;

		n = n < p->stdin_credit ? n : p->stdin_credit;
		n = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
		r = queue_stdin(p, (const char *)p->io->stdin_data + p->stdin_at, n, err);
		p->stdin_at += n;
	}
	if (r == 0 && p->stdin_at == p->io->stdin_len)
		r = end_stdin(p, err);
	return r;
}

/* The descriptor is readable: take a piece, or its end; an error on it counts as its end. */
static int feed_fd(struct sbx_program *p, struct sbx_error *err)
{
	char piece[STDIN_SIZE];
	size_t most = p->stdin_credit < sizeof(piece) ? p->stdin_credit : sizeof(piece);
	ssize_t n = read(p->io->stdin_fd, piece, most);

	if (n > 0)
		return queue_stdin(p, piece, (size_t)n, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return end_stdin(p, err);
}

int sbx_program_feed(struct sbx_program *p, struct sbx_wait *wait, struct sbx_error *err)
{
	int r = 0;

	if (p->control != NULL && !p->is_over)
		r = sbx_control_feed(p->control, p->link, p->channel.id, err);
	if (r < 0)
		return r;

	if (p->stdin_open && !p->is_over && !p->io->use_stdin_fd)
		r = feed_data(p, err);
	else if (p->stdin_open && !p->is_over && wait->input_ready)
		r = feed_fd(p, err);
	wait->input_ready = false;
	wait->wants_input = p->stdin_open && !p->is_over && p->io->use_stdin_fd &&
			    p->stdin_credit > 0;
	wait->input_fd = wait->wants_input ? p->io->stdin_fd : -1;
	return r;
}

int sbx_program_signal(struct sbx_program *p, uint32_t signo, enum wire_scope scope,
		       struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);

	wire_signal_format(&payload, &(struct wire_signal){.signo = signo, .scope = (uint8_t)scope});
	return sbx_link_queue(p->link, WIRE_SIGNAL, p->channel.id, payload.data, payload.len, err);
}
