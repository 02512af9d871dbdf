/* SPDX-License-Identifier: MIT */
/* A run that is a cell: it drives the link until its kernel has answered or ended. */
#include "core/cell.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "base/text.h"
#include "core/cancel.h"
#include "core/kernel_inside.h"
#include "core/operation.h"
#include "core/result.h"
#include "core/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SETTING_MS 5000 /* that taking libraries may take */

struct cell {
	struct sbx_operation op; /* exit is made up, unless the kernel's process has ended */
	const struct sbx_run *run;
	struct sbx_kernel *k;
	struct sbx_kernel_watch watch;
	const char *support;
	char name[300];	  /* what tracebacks call it */
	uint32_t number;
};

/* ---- what may be a cell ---- */

static bool is_utf8(const char *text, size_t len)
{
	auto_buf struct sbx_buf copy = SBX_BUF_INIT(3 * (len + 1));

	return sbx_text_append_utf8(&copy, text, len);
}

static int check(const struct cell *cell, struct sbx_error *err)
{
	const struct sbx_run *run = cell->run;
	int r = sbx_kernel_check_name(run->kernel, err);

	if (r == 0)
		r = sbx_check_code(run, err);
	if (r < 0)
		return r;
	if (run->code_len > SBX_CONTROL_MAX)
		return sbx_fail(err, SBX_E_LIMIT,
				"the code of a cell is larger than %u MiB; put data into a file",
				SBX_CONTROL_MAX >> 20);
	if (!is_utf8(run->code, run->code_len))
		return sbx_fail(err, SBX_E_INVALID, "the code of a cell must be UTF-8");
	if (run->args != NULL && run->args[0] != NULL)
		return sbx_fail(err, SBX_E_INVALID, "a cell of a kernel has no arguments");
	if (run->io.use_stdin_fd || run->io.stdin_len > 0)
		return sbx_fail(err, SBX_E_INVALID,
				"a cell of a kernel has no stdin; put the data into a file or the code");
	if (run->io.env != NULL && run->io.env[0] != NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"a cell of a kernel has no environment of its own; set variables in the "
				"code, or for the whole session");
	return 0;
}

/* ---- its kernel ---- */

static void set_busy(struct cell *cell, bool busy)
{
	struct sbx_kernels *kernels = &cell->op.s->kernels;

	pthread_mutex_lock(&kernels->lock);
	cell->k->busy = busy;
	cell->k->running = false;
	if (busy) {
		cell->k->discarded = false;
		cell->k->interrupts = 0;
		cell->number = ++cell->k->cells;
	}
	pthread_mutex_unlock(&kernels->lock);
}

/* From now on others may signal it. False when one wanted to interrupt it before. */
static bool begin_running(struct cell *cell)
{
	struct sbx_kernels *kernels = &cell->op.s->kernels;

	pthread_mutex_lock(&kernels->lock);
	cell->k->running = true;
	if (cell->k->discarded)
		sbx_background_signal(&cell->k->b, SIGKILL);
	pthread_mutex_unlock(&kernels->lock);
	return sbx_kernel_interrupts(cell->k, cell->op.io->cancel) == cell->watch.interrupts;
}

/*
 * A kernel that cells have changed may take for ever. An interrupt that ends this is one of the
 * cell too: begin_running() finds it.
 */
static int await_silent(struct cell *cell, const char *code, struct sbx_error *err)
{
	const struct sbx_kernel_cell setting = {
		.code = code, .code_len = strlen(code), .name = "libraries", .silent = true};
	struct sbx_kernel_watch watch = {
		.cancel = cell->watch.cancel,
		.interrupts = cell->watch.interrupts,
		.deadline_ns = sbx_deadline_ns(SETTING_MS),
		.grace_ms = SBX_KERNEL_GRACE_MS,
	};
	int r = sbx_kernel_ask_run(cell->k, &setting, err);

	if (r == 0)
		r = sbx_kernel_await(cell->k, &watch, err);
	cell->watch.cancelled = watch.cancelled;
	cell->watch.overdue = watch.overdue;
	return r;
}

static bool has_set(const struct sbx_kernel *k)
{
	return !k->asked && k->answer.status == SBX_CELL_OK;
}

static bool wants_libraries(const struct sbx_run *run)
{
	return run->libraries != NULL && run->libraries[0] != NULL;
}

/* A set that the kernel does not see yet. */
static int show_set(struct cell *cell, struct sbx_error *err)
{
	struct sbx_kernel *k = cell->k;
	const struct sbx_lang_values values = {.set = cell->op.set, .dir = cell->op.s->setup.workdir};
	auto_strv char **code = NULL;
	int r;

	if (cell->op.set == NULL || cell->op.set == k->set)
		return 0;
	/* Who asks for nothing gets along with what was there. */
	if (k->lang->kernel->use_set == NULL && !wants_libraries(cell->run))
		return 0;
	if (k->lang->kernel->use_set == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"the kernel '%s' was started before these libraries were installed, and "
				"%s cannot take them while it runs: restart the kernel",
				k->name, k->lang->info.title);
	code = sbx_lang_expand(SBX_ARGV(k->lang->kernel->use_set), &values, NULL);
	if (code == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot use a set of libraries");
	r = await_silent(cell, code[0], err);
	if (r == 0 && has_set(k))
		k->set = cell->op.set;
	return r;
}

/* One that has ended since its last cell, with nobody knowing. */
static void note_loss(struct sbx_kernel *k)
{
	if (!k->has_process || k->lost_state)
		return;
	sbx_kernel_describe_end(k);
	k->lost_state = true;
}

/* This result tells, unless it has something else to tell: then the next one does. */
static void tell_loss(struct cell *cell)
{
	struct sbx_operation *op = &cell->op;
	struct sbx_kernel *k = cell->k;

	if (!k->lost_state || (op->message[0] != '\0' && !op->result->kernel_ended))
		return;
	if (!op->result->kernel_ended)
		snprintf(op->message, sizeof(op->message),
			 "the kernel %s before this cell, and was started anew without its state",
			 k->end);
	k->lost_state = false;
}

/* With the turn: a kernel that runs, and sees the libraries. */
static int have_kernel(struct cell *cell, struct sbx_error *err)
{
	struct sbx_operation *op = &cell->op;
	struct sbx_kernel *k = cell->k;
	uint64_t start = sbx_operation_clock_ns(op), took;
	int r = 0;

	if (!sbx_kernel_is_running(k)) {
		note_loss(k);
		r = sbx_kernel_launch(k, cell->support, op->set, op->io->cancel, err);
	}
	if (r == 0)
		r = show_set(cell, err);
	/* A cell's time begins when there is somebody to run it. */
	took = sbx_operation_clock_ns(op) - start;
	op->result->timings.install += took;
	if (op->deadline_ns != 0)
		op->deadline_ns += took;
	return r;
}

/* ---- running it ---- */

/* What threads of the kernel wrote since its last cell belongs to this one. */
static int tell_earlier_output(struct cell *cell, struct sbx_error *err)
{
	sbx_output_fn *callbacks[] = {cell->op.io->on_stdout, cell->op.io->on_stderr};

	for (int i = 0; i < 2; i++) {
		struct sbx_output earlier;
		int r;

		if (callbacks[i] == NULL || cell->k->b.capture[i].added == 0)
			continue;
		r = sbx_capture_finish(&cell->k->b.capture[i], &earlier, err);
		if (r < 0)
			return r;
		callbacks[i](earlier.data, earlier.len, cell->op.io->userdata);
		free(earlier.data);
	}
	return 0;
}

static void connect_callbacks(struct cell *cell, bool connected)
{
	const struct sbx_io *io = cell->op.io;

	cell->k->io = (struct sbx_io){0};
	if (!connected)
		return;
	cell->k->io.on_stdout = io->on_stdout;
	cell->k->io.on_stderr = io->on_stderr;
	cell->k->io.userdata = io->userdata;
}

/* What earlier cells have shown whose artifacts nobody wanted, and threads since, is not this one's. */
static int pass_over_earlier(struct cell *cell, struct sbx_error *err)
{
	struct sbx_result *nobodys = sbx_result_empty();
	struct sbx_collection c = {0};
	int r;

	if (nobodys == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a result");
	r = sbx_collection_begin(&c, cell->op.s, &cell->k->folder, err);
	while (r == 0 && !c.marked && !cell->op.s->link.lost)
		r = sbx_link_await(&cell->op.s->link, cell->op.io->cancel, err);
	if (r == 0)
		r = sbx_collection_finish(&c, nobodys, cell->op.io->cancel, err);
	sbx_collection_done(&c);
	sbx_result_free(nobodys);
	return r;
}

/* The collection is finished with the operation. */
static int begin_collection(struct cell *cell, struct sbx_error *err)
{
	int r = 0;

	if (!cell->op.io->artifacts) {
		cell->k->unseen = true;
		return 0;
	}
	if (cell->k->unseen)
		r = pass_over_earlier(cell, err);
	cell->k->unseen = false;
	return r < 0 ? r : sbx_collection_begin(&cell->op.collection, cell->op.s, &cell->k->folder, err);
}

static int run_code(struct cell *cell, struct sbx_error *err)
{
	const struct sbx_run *run = cell->run;
	struct sbx_kernel_cell what = {
		.code = run->code, .code_len = run->code_len, .name = cell->name};
	int r = tell_earlier_output(cell, err);

	if (r == 0)
		r = begin_collection(cell, err);
	if (r < 0)
		return r;
	cell->k->b.oom_kills = cell->op.x.oom_kills;
	cell->watch.begun_ns = sbx_now_ns();
	cell->watch.deadline_ns = cell->op.deadline_ns;
	connect_callbacks(cell, true);
	r = sbx_kernel_ask_run(cell->k, &what, err);
	if (r == 0)
		r = sbx_kernel_await(cell->k, &cell->watch, err);
	connect_callbacks(cell, false);
	cell->op.result->timings.run = sbx_now_ns() - cell->watch.begun_ns;
	return r;
}

/* ---- what it came to ---- */

static const char *ending(const struct cell *cell)
{
	if (cell->watch.timed_out)
		return "the time limit was reached and the cell did not heed the interrupt: the kernel "
		       "was ended";
	if (cell->watch.cancelled)
		return "the cell was cancelled and its kernel was ended";
	return NULL;
}

/* The kernel's process is over. */
static void describe_loss(struct cell *cell, bool discarded)
{
	struct sbx_operation *op = &cell->op;
	static const char rest[] = "its state is gone, the next cell starts it anew";

	op->result->kernel_ended = true;
	if (ending(cell) != NULL)
		snprintf(op->message, sizeof(op->message), "%s; %s", ending(cell), rest);
	else if (discarded)
		snprintf(op->message, sizeof(op->message),
			 "the kernel was ended or restarted while the cell ran; its state is gone");
	else
		snprintf(op->message, sizeof(op->message), "the kernel %s; %s", cell->k->end, rest);
}

static void take_end_of_process(struct cell *cell)
{
	struct sbx_operation *op = &cell->op;
	struct sbx_kernel *k = cell->k;
	bool discarded;

	pthread_mutex_lock(&op->s->kernels.lock);
	discarded = k->discarded;
	pthread_mutex_unlock(&op->s->kernels.lock);

	op->exit = k->b.program.exit;
	op->exit.wall_ns = op->result->timings.run;
	op->x.out_of_memory = k->b.out_of_memory;
	op->x.cancelled = cell->watch.cancelled || discarded;
	op->result->processes_killed = op->exit.killed;
	if (op->exit.reason == WIRE_KILLED && cell->watch.timed_out)
		op->exit.reason = WIRE_TIMEOUT;
	else if (op->exit.reason == WIRE_KILLED && !op->x.cancelled)
		op->exit.reason = WIRE_SIGNALLED;
	sbx_kernel_describe_end(k);
	describe_loss(cell, discarded);
}

static void take_answer(struct cell *cell)
{
	struct sbx_operation *op = &cell->op;

	op->exit = (struct wire_exit){
		.reason = WIRE_EXITED,
		.status = (uint32_t)cell->k->answer.exit_code,
		.wall_ns = op->result->timings.run,
	};
	if (!cell->watch.timed_out)
		return;
	op->exit.reason = WIRE_TIMEOUT;
	op->exit.status = SIGINT;
	snprintf(op->message, sizeof(op->message),
		 "the time limit was reached and the cell was interrupted after %.1f seconds; the "
		 "kernel's state is kept",
		 (double)op->exit.wall_ns / 1e9);
}

/* As the language's own shell shows it: behind the output, on a line of its own. */
static int show_value(struct cell *cell, struct sbx_error *err)
{
	struct sbx_answer *answer = &cell->k->answer;
	struct sbx_capture *out = &cell->k->b.capture[0];
	const struct sbx_io *io = cell->op.io;

	if (!answer->has_value)
		return 0;
	sbx_buf_append(&answer->value, "\n", 1);
	sbx_capture_add(out, answer->value.data, answer->value.len);
	if (io->on_stdout != NULL)
		io->on_stdout(answer->value.data, answer->value.len, io->userdata);
	answer->value.data[--answer->value.len] = '\0';
	cell->op.result->value = sbx_buf_take(&answer->value);
	return cell->op.result->value ? 0 : sbx_fail_errno(err, ENOMEM, "cannot keep a value");
}

/* The output so far becomes the result's, and what comes from now on is the next cell's. */
static void take_output(struct cell *cell)
{
	const uint64_t *limits = cell->op.s->spec->limits;

	for (int i = 0; i < 2; i++) {
		struct sbx_capture *theirs = &cell->k->b.capture[i];

		sbx_capture_done(&cell->op.x.capture[i]);
		cell->op.x.capture[i] = *theirs;
		sbx_capture_init(theirs, limits[SBX_LIMIT_HEAD_BYTES], limits[SBX_LIMIT_TAIL_BYTES]);
	}
}

static void remember(struct cell *cell)
{
	struct sbx_kernels *kernels = &cell->op.s->kernels;
	const struct sbx_cell past = {
		.number = cell->number,
		.code = (char *)cell->run->code,
		.value = cell->op.result->value,
		.exit_code = cell->op.exit.reason == WIRE_EXITED ? (int)cell->op.exit.status
								   : 128 + (int)cell->op.exit.status,
		.run_ns = cell->op.result->timings.run,
	};

	pthread_mutex_lock(&kernels->lock);
	sbx_history_add(&cell->k->history, &past, cell->run->code_len);
	pthread_mutex_unlock(&kernels->lock);
}

static int take_outcome(struct cell *cell, struct sbx_error *err)
{
	struct sbx_kernel *k = cell->k;
	int r = 0;

	cell->op.x.lost = cell->op.s->link.lost;
	cell->op.x.overdue = cell->watch.overdue && !cell->watch.cancelled;
	if (!k->asked) {
		take_answer(cell);
		r = show_value(cell, err);
	} else if (k->b.program.is_over) {
		take_end_of_process(cell);
	} else {
		cell->op.x.cancelled = cell->watch.cancelled;
		cell->op.result->kernel_ended = true;
	}
	take_output(cell);
	if (r == 0)
		remember(cell);
	if (!sbx_kernel_is_running(k))
		sbx_kernel_bury(k);
	return r;
}

/* ---- the whole of it ---- */

static void set_name(struct cell *cell)
{
	if (cell->run->file_name != NULL)
		snprintf(cell->name, sizeof(cell->name), "%s", cell->run->file_name);
	else
		snprintf(cell->name, sizeof(cell->name), "cell %u", cell->number);
}

static bool is_cancelled(const struct cell *cell)
{
	return sbx_cancel_is_killed(cell->op.io->cancel);
}

/* It was interrupted, or cancelled, before there was anything to end. */
static void leave_out(struct cell *cell)
{
	bool cancelled = is_cancelled(cell);

	cell->op.x.cancelled = cancelled;
	cell->op.exit = cancelled ? (struct wire_exit){.reason = WIRE_KILLED, .status = SIGKILL}
				  : (struct wire_exit){.reason = WIRE_EXITED, .status = 130};
	snprintf(cell->op.message, sizeof(cell->op.message),
		 "%s before the cell's code began; it did not run",
		 cancelled ? "cancelled" : "interrupted");
}

static int run_in_kernel(struct cell *cell, struct sbx_error *err)
{
	int r = 0;

	set_busy(cell, true);
	set_name(cell);
	/* A kernel is killed for a cell that runs in it, and for no other. */
	if (!is_cancelled(cell))
		r = have_kernel(cell, err);
	if (r == 0 && !is_cancelled(cell) && begin_running(cell)) {
		r = run_code(cell, err);
		if (r == 0)
			r = take_outcome(cell, err);
	} else if (r == 0) {
		leave_out(cell);
	}
	if (r == 0)
		tell_loss(cell);
	set_busy(cell, false);
	return r;
}

static int run_cell(struct cell *cell, struct sbx_error *err)
{
	struct sbx_operation *op = &cell->op;
	uint64_t start = sbx_operation_clock_ns(op);
	int r;

	cell->k = sbx_kernel_get(op->s, cell->run->kernel, op->lang, err);
	if (cell->k == NULL)
		return -(int)err->code;
	r = sbx_operation_put_files(op, err);
	op->result->timings.install = sbx_operation_clock_ns(op) - start;
	if (r == 0 && !op->x.lost)
		r = run_in_kernel(cell, err);
	/* One that never was, for want of its interpreter or a file, is none of the session's. */
	if (cell->k->starts == 0)
		sbx_kernel_remove(cell->k);
	return r;
}

/*
 * Who has a handle for one cell alone may interrupt it at any time, also in the moment before we
 * look; of a handle that is used again what came between two cells is for neither.
 */
static unsigned int earlier_interrupts(struct sbx_cancel *cancel)
{
	if (cancel == NULL || !atomic_exchange(&cancel->had_cell, true))
		return 0;
	return atomic_load(&cancel->interrupts);
}

int sbx_cell_run(struct sbx_session *session, const struct sbx_lang *lang,
		 const struct sbx_run *run, struct sbx_result **ret, struct sbx_error *err)
{
	struct cell cell = {
		.op = {.s = session, .io = &run->io, .lang = lang},
		.run = run,
		.watch = {.cancel = run->io.cancel, .grace_ms = SBX_KERNEL_GRACE_MS},
	};
	int r;

	if (sbx_kernel_language(lang->info.id, err) == NULL)
		return -(int)err->code;
	cell.watch.interrupts = earlier_interrupts(run->io.cancel);
	r = check(&cell, err);
	if (r == 0)
		r = sbx_operation_use_libraries(&cell.op, run, err);
	if (r < 0)
		return r;
	cell.support = sbx_support_folder(session, err);
	if (cell.support == NULL)
		return -(int)err->code;
	r = sbx_operation_begin(&cell.op, err);
	if (cell.op.result == NULL)
		return r;
	if (r == 0)
		r = run_cell(&cell, err);
	return sbx_operation_finish(&cell.op, r, ret, err);
}
