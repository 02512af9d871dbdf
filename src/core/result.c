/* SPDX-License-Identifier: MIT */
#include "core/result.h"

#include "base/auto.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const reason_names[] = {
	[SBX_EXITED] = "exited",	[SBX_SIGNALLED] = "signalled", [SBX_TIMEOUT] = "timeout",
	[SBX_CPU_LIMIT] = "cpu-time",	[SBX_MEMORY] = "memory",       [SBX_CANCELLED] = "cancelled",
	[SBX_LOST] = "lost",
};

const char *sbx_reason_name(enum sbx_reason reason)
{
	if ((unsigned int)reason >= sizeof(reason_names) / sizeof(reason_names[0]))
		return "unknown";
	return reason_names[reason];
}

const char *sbx_phase_name(enum sbx_phase phase)
{
	return phase == SBX_PHASE_COMPILE ? "compile" : "run";
}

const char *sbx_isolation_status_name(enum sbx_isolation_status status)
{
	static const char *const names[] = {
		[SBX_ENFORCED] = "enforced", [SBX_MISSING] = "missing", [SBX_OFF] = "off"};

	return (unsigned int)status < sizeof(names) / sizeof(names[0]) ? names[status] : "unknown";
}

struct sbx_result *sbx_result_empty(void)
{
	struct sbx_result *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->out.data = calloc(1, 1);
	r->errout.data = calloc(1, 1);
	if (r->out.data != NULL && r->errout.data != NULL)
		return r;
	sbx_result_free(r);
	return NULL;
}

void sbx_result_add_cost(struct sbx_result *result, const struct wire_exit *exit)
{
	result->cpu_user_us += exit->user_us;
	result->cpu_system_us += exit->system_us;
	result->read_bytes += exit->read_bytes;
	result->write_bytes += exit->write_bytes;
	result->processes_killed += exit->killed;
	if (exit->max_rss_bytes > result->peak_memory_bytes)
		result->peak_memory_bytes = exit->max_rss_bytes;
}

static enum sbx_reason find_reason(const struct sbx_ending *x)
{
	static const enum sbx_reason reasons[] = {
		[WIRE_EXITED] = SBX_EXITED,	[WIRE_SIGNALLED] = SBX_SIGNALLED,
		[WIRE_TIMEOUT] = SBX_TIMEOUT,	[WIRE_CPU] = SBX_CPU_LIMIT,
		[WIRE_KILLED] = SBX_CANCELLED,
	};

	const struct wire_exit *exit = x->exit;

	if (x->cancelled && (x->lost || exit->reason == WIRE_KILLED))
		return SBX_CANCELLED;
	if (x->overdue)
		return SBX_TIMEOUT;
	/* A program may catch the loss of one process and go on: then it exited by itself. */
	if (x->out_of_memory && (x->lost || exit->reason != WIRE_EXITED))
		return SBX_MEMORY;
	return x->lost ? SBX_LOST : reasons[exit->reason];
}

static void set_message(struct sbx_result *r, const struct wire_exit *exit)
{
	static const char *const texts[] = {
		[SBX_TIMEOUT] = "the time limit was reached and the program was killed",
		[SBX_CPU_LIMIT] = "the CPU time limit was reached and the program was killed",
		[SBX_MEMORY] = "the memory limit was reached and the program was killed",
		[SBX_CANCELLED] = "the run was cancelled and the program was killed",
		[SBX_LOST] = "the sandbox ended unexpectedly; open a new session",
	};
	bool known = (unsigned int)r->reason < sizeof(texts) / sizeof(texts[0]) &&
		     texts[r->reason] != NULL;

	if (known && r->reason == SBX_TIMEOUT && exit->wall_ns > 0)
		snprintf(r->message, sizeof(r->message), "%s after %.1f seconds", texts[r->reason],
			 (double)exit->wall_ns / 1e9);
	else if (known)
		snprintf(r->message, sizeof(r->message), "%s", texts[r->reason]);
}

static void set_end(struct sbx_result *r, const struct sbx_ending *x)
{
	const struct wire_exit *exit = x->exit;
	bool by_signal = x->lost || exit->reason != WIRE_EXITED;

	r->reason = find_reason(x);
	if (by_signal)
		r->signal = x->lost || exit->status == 0 ? SIGKILL : (int)exit->status;
	r->exit_code = by_signal ? 128 + r->signal : (int)exit->status;
	set_message(r, exit);
}

static int copy_report(struct sbx_result *r, const struct sbx_report *report,
		       struct sbx_error *err)
{
	size_t size = report->count * sizeof(report->lines[0]);
	struct sbx_isolation *lines = malloc(size ? size : 1);

	if (lines == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the isolation report");
	memcpy(lines, report->lines, size);
	r->isolation = lines;
	r->isolation_count = report->count;
	return 0;
}

int sbx_result_finish(struct sbx_result *result, const struct sbx_ending *end,
		      struct sbx_error *err)
{
	int r;

	set_end(result, end);
	if (end->peak_memory_bytes > 0)
		result->peak_memory_bytes = end->peak_memory_bytes;
	r = sbx_capture_finish(end->capture[0], &result->out, err);
	if (r == 0)
		r = sbx_capture_finish(end->capture[1], &result->errout, err);
	if (r == 0)
		r = copy_report(result, end->report, err);
	return r;
}

void sbx_result_free(struct sbx_result *result)
{
	if (result == NULL)
		return;
	free(result->out.data);
	free(result->errout.data);
	free((void *)result->isolation);
	free(result->egress);
	for (size_t i = 0; i < result->artifact_count; i++) {
		free(result->artifacts[i].path);
		free(result->artifacts[i].chart);
	}
	free(result->artifacts);
	for (size_t i = 0; i < result->change_count; i++)
		free(result->changes[i].path);
	free(result->changes);
	free(result->value);
	free(result);
}
