/* SPDX-License-Identifier: MIT */
/* Requests that run something in a session. */
#include "cli/holder_request.h"

#include "cli/holder_programs.h"
#include "cli/note.h"
#include "cli/paper_artifacts.h"
#include "cli/trouble.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_PAUSE_NS 50000000L
#define CODE_MAX      (((size_t)64 << 20) + 1) /* so that the library says what is too large */

/* What the request says, taken apart; the strings are ours. */
struct work {
	bool is_code;
	char *code, *file_name, *kernel; /* kernel: NULL for a run of its own */
	size_t code_len;
	const char *language;
	char **args, **env, **libraries;
	struct sbx_io io;
};

static void work_done(struct work *w)
{
	free(w->code);
	free(w->file_name);
	free(w->kernel);
	paper_free_strings(w->args);
	paper_free_strings(w->env);
	paper_free_strings(w->libraries);
}

static void pass_stdout(const void *data, size_t len, void *userdata)
{
	request_send(userdata, POST_STDOUT, data, len);
}

static void pass_stderr(const void *data, size_t len, void *userdata)
{
	request_send(userdata, POST_STDERR, data, len);
}

static int take_code(struct request *q, struct work *w, struct sbx_error *err)
{
	int r = paper_take(request_fd(q, 0), CODE_MAX, &w->code, &w->code_len);

	if (r < 0)
		return cli_fail(err, SBX_E_INVALID, "cannot take the code: %s", strerror(-r));
	w->language = json_string_value(json_object_get(q->body, "language"));
	if (w->language == NULL)
		return cli_fail(err, SBX_E_INVALID, "the request has no 'language'");
	w->file_name = paper_bytes(json_object_get(q->body, "file_name"));
	w->kernel = paper_bytes(json_object_get(q->body, "kernel"));
	if (json_array_size(json_object_get(q->body, "libraries")) == 0)
		return 0;
	return request_list(q, "libraries", &w->libraries, err);
}

/* Into a zeroed *w, which the caller frees with work_done() also after a failure. */
static int take_work(struct request *q, struct work *w, struct sbx_error *err)
{
	bool streams = request_flag(q, "stream");
	int r = request_list(q, "args", &w->args, err);

	if (r == 0)
		r = request_list(q, "env", &w->env, err);
	if (r == 0 && w->is_code)
		r = take_code(q, w, err);
	w->io = (struct sbx_io){
		.use_stdin_fd = request_flag(q, "use_stdin"),
		.stdin_fd = request_fd(q, w->is_code ? 1 : 0),
		.env = (const char *const *)w->env,
		.timeout_ms = request_number(q, "timeout_ms"),
		.on_stdout = streams ? pass_stdout : NULL,
		.on_stderr = streams ? pass_stderr : NULL,
		.userdata = q,
		.cancel = q->cancel,
		.artifacts = request_flag(q, "artifacts"),
	};
	if (r == 0 && w->io.use_stdin_fd && w->io.stdin_fd < 0)
		return cli_fail(err, SBX_E_INVALID, "the request came without its stdin");
	return r;
}

static int do_work(struct sbx_session *session, const struct work *w, struct sbx_result **ret,
		   struct sbx_error *err)
{
	struct sbx_command command = {.argv = (const char *const *)w->args, .io = w->io};
	struct sbx_run run = {
		.language = w->language,
		.code = w->code,
		.code_len = w->code_len,
		.file_name = w->file_name,
		.args = w->kernel ? NULL : (const char *const *)w->args,
		.libraries = (const char *const *)w->libraries,
		.kernel = w->kernel,
		.io = w->io,
	};

	return w->is_code ? sbx_session_run(session, &run, ret, err)
			  : sbx_session_exec(session, &command, ret, err);
}

/* ---- the answer ---- */

static json_t *output_json(const struct sbx_output *o)
{
	return json_pack("{s:I, s:I, s:I, s:b}", "len", (json_int_t)o->len, "head_len",
			 (json_int_t)o->head_len, "total_bytes", (json_int_t)o->total_bytes,
			 "truncated", o->truncated);
}

static int attach_json(struct request *q, const struct sbx_result *result, struct sbx_error *err)
{
	auto_free char *text = NULL;
	int r = sbx_result_format_json(result, (int)request_number(q, "json_indent"), &text, err);

	return r < 0 ? r : request_attach(q, text, strlen(text), err);
}

static int attach_output(struct request *q, const struct sbx_result *result,
			 struct sbx_error *err)
{
	const struct sbx_output *out = &result->out, *errout = &result->errout;
	auto_free char *both = malloc(out->len + errout->len + 1);

	if (both == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	memcpy(mempcpy(both, out->data, out->len), errout->data, errout->len);
	return request_attach(q, both, out->len + errout->len, err);
}

static int tell_result(struct request *q, const struct sbx_result *result, struct sbx_error *err)
{
	json_t *a = q->answer;
	char note[NOTE_SIZE];

	note_network(result, note);
	json_object_set_new(a, "note", paper_text(note));
	json_object_set_new(a, "exit_code", json_integer(result->exit_code));
	json_object_set_new(a, "reason", json_integer(result->reason));
	json_object_set_new(a, "message", paper_text(result->message));
	json_object_set_new(a, "kernel_ended", json_boolean(result->kernel_ended));
	json_object_set_new(a, "artifacts", paper_artifacts(result));
	json_object_set_new(a, "artifacts_left_out", json_integer(result->artifacts_left_out));
	json_object_set_new(a, "stdout", output_json(&result->out));
	json_object_set_new(a, "stderr", output_json(&result->errout));
	if (json_object_get(q->body, "json_indent") != NULL)
		return attach_json(q, result, err);
	return request_flag(q, "stream") ? 0 : attach_output(q, result, err);
}

/* ---- the requests ---- */

/* A session that was ended under its program says why, which is more than that it is gone. */
static int explain(struct request *q, const struct sbx_session *session, int r,
		   struct sbx_error *err)
{
	struct sbx_error why;
	int ended = sbx_registry_check(q->hall->registry, session, &why);

	if (ended < 0)
		*err = why;
	return ended < 0 ? ended : r;
}

static int work_in_session(struct request *q, const struct work *w, struct sbx_error *err)
{
	struct sbx_session *session;
	struct sbx_result *result = NULL;
	int r = request_acquire(q, &session, err);

	if (r < 0)
		return r;
	r = do_work(session, w, &result, err);
	/* Who ends a session also cancels what runs in it, and either may be noticed first. */
	if (r < 0 || result->reason == SBX_LOST || result->reason == SBX_CANCELLED)
		r = explain(q, session, r, err);
	request_release(q, session);
	if (r == 0)
		r = tell_result(q, result, err);
	sbx_result_free(result);
	return r;
}

static int serve(struct request *q, bool is_code, struct sbx_error *err)
{
	struct work w = {.is_code = is_code};
	int r = take_work(q, &w, err);

	if (r == 0)
		r = work_in_session(q, &w, err);
	work_done(&w);
	return r;
}

static int serve_run(struct request *q, struct sbx_error *err)
{
	return serve(q, true, err);
}

static int serve_exec(struct request *q, struct sbx_error *err)
{
	return serve(q, false, err);
}

/* ---- in the background ---- */

static int serve_spawn(struct request *q, struct sbx_error *err)
{
	char id[REQUEST_ID_SIZE];
	struct work w = {0};
	struct sbx_command command;
	unsigned int number;
	int r = request_session_id(q, id, err);

	if (r == 0)
		r = take_work(q, &w, err);
	command = (struct sbx_command){
		.argv = (const char *const *)w.args,
		.io = {.env = w.io.env, .timeout_ms = w.io.timeout_ms, .cancel = q->cancel},
	};
	if (r == 0)
		r = programs_start(q->hall->programs, id, &command, &number, err);
	if (r == 0)
		json_object_set_new(q->answer, "process", json_integer(number));
	work_done(&w);
	return r;
}

static int take_process(struct request *q, char ret_session[REQUEST_ID_SIZE],
			unsigned int *ret_number, struct sbx_error *err)
{
	uint64_t number = request_number(q, "process");

	*ret_number = number <= UINT32_MAX ? (unsigned int)number : 0;
	return request_session_id(q, ret_session, err);
}

/* Until it is over, or nobody waits any more. */
static void await_process(struct request *q, const char *session, unsigned int number)
{
	struct timespec pause = {.tv_nsec = WAIT_PAUSE_NS};

	while (!q->gone && !programs_is_over(q->hall->programs, session, number))
		nanosleep(&pause, NULL);
}

static int serve_logs(struct request *q, struct sbx_error *err)
{
	char session[REQUEST_ID_SIZE];
	struct program_state state;
	struct sbx_result view = {0};
	unsigned int number;
	int r = take_process(q, session, &number, err);

	if (r == 0 && request_flag(q, "wait"))
		await_process(q, session, number);
	if (r == 0)
		r = programs_look(q->hall->programs, session, number, &state, err);
	if (r < 0)
		return r;
	view.exit_code = state.exit_code;
	view.reason = state.reason;
	memcpy(view.message, state.message, sizeof(view.message));
	view.out = state.out;
	view.errout = state.errout;
	json_object_set_new(q->answer, "running", json_boolean(state.running));
	r = tell_result(q, &view, err);
	program_state_done(&state);
	return r;
}

static int serve_kill(struct request *q, struct sbx_error *err)
{
	char session[REQUEST_ID_SIZE];
	unsigned int number;
	int r = take_process(q, session, &number, err);

	return r < 0 ? r : programs_kill(q->hall->programs, session, number, err);
}

const struct request_row run_requests[] = {{"run", serve_run},	 {"exec", serve_exec},
					   {"spawn", serve_spawn}, {"logs", serve_logs},
					   {"kill", serve_kill}, {0}};
