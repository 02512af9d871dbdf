/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/execute.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "mcp/sandbox/answer.h"
#include "mcp/sandbox/inside.h"
#include "mcp/sandbox/install.h"
#include "mcp/sandbox/lease.h"
#include "mcp/sandbox/watch.h"
#include "mcp/sandbox/wishes.h"

#include <llmsandbox/language.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The arguments as the library takes them; strings belong to the JSON. */
struct request {
	const char **args;	/* NULL-terminated, or NULL; owned */
	struct sbx_file *files; /* owned */
	struct sbx_io io;
	size_t max_output;
	struct mcp_watch *watch;
	struct mcp_installed installed;
	struct mcp_show show; /* what it showed and made */
};

/* ---- arguments ---- */

static int read_args(const json_t *list, struct request *ret, struct sbx_error *err)
{
	size_t i;
	json_t *item;

	if (!json_is_array(list))
		return 0;
	ret->args = calloc(json_array_size(list) + 1, sizeof(*ret->args));
	if (ret->args == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the arguments");
	json_array_foreach(list, i, item)
	{
		ret->args[i] = json_string_value(item);
		if (strlen(ret->args[i]) != json_string_length(item))
			return sbx_fail(err, SBX_E_INVALID, "args[%zu] has a NUL character", i);
	}
	return 0;
}

static int read_files(json_t *map, struct request *ret, struct sbx_error *err)
{
	struct sbx_file *file;
	const char *name;
	json_t *text;

	if (!json_is_object(map) || json_object_size(map) == 0)
		return 0;
	file = ret->files = calloc(json_object_size(map), sizeof(*file));
	if (file == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the files");
	json_object_foreach(map, name, text) *file++ = (struct sbx_file){
		.name = name, .data = json_string_value(text), .len = json_string_length(text)};
	ret->io.files = ret->files;
	ret->io.file_count = json_object_size(map);
	return 0;
}

static int read_request(const json_t *arguments, struct request *ret, struct sbx_error *err)
{
	const json_t *input = json_object_get(arguments, "stdin");
	int r;

	ret->max_output = (size_t)json_integer_value(json_object_get(arguments, "max_output"));
	ret->io.timeout_ms =
		1000 * (uint64_t)json_integer_value(json_object_get(arguments, "timeout"));
	ret->io.stdin_data = json_string_value(input);
	ret->io.stdin_len = json_string_length(input);
	r = read_args(json_object_get(arguments, "args"), ret, err);
	return r < 0 ? r : read_files(json_object_get(arguments, "files"), ret, err);
}

/* ---- the run ---- */

static int run_code(struct mcp_call *call, struct sbx_session *session,
		    const struct mcp_execution *execution, const struct request *request,
		    struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_run run = {
		.language = execution->language,
		.code = execution->code,
		.code_len = execution->code_len,
		.args = request->args,
		.kernel = execution->kernel,
		.io = request->io,
	};
	int r;

	/* Who cancels a cell wants it to end, and not the variables of those before. */
	mcp_call_cancel_gently(call, execution->kernel != NULL);
	if (execution->kernel != NULL && mcp_call_is_cancelled(call))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cancelled");
	r = sbx_session_run(session, &run, ret, err);
	mcp_call_cancel_gently(call, false);
	return r;
}

static int run_command(struct sbx_session *session, const struct mcp_execution *execution,
		       const struct request *request, struct sbx_result **ret,
		       struct sbx_error *err)
{
	/* What follows the line is $0, and then $1 and so on. */
	static const char *const shell[] = {"/bin/sh", "-c"};
	size_t count = 0, n = 0;
	auto_free const char **argv = NULL;
	struct sbx_command command = {.io = request->io};

	while (request->args != NULL && request->args[count] != NULL)
		count++;
	argv = calloc(count + 5, sizeof(*argv));
	if (argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	argv[n++] = shell[0];
	argv[n++] = shell[1];
	argv[n++] = execution->code;
	argv[n++] = "sh";
	for (size_t i = 0; i < count; i++)
		argv[n++] = request->args[i];
	command.argv = argv;
	return sbx_session_exec(session, &command, ret, err);
}

/* Without it the language is slower and nothing else, so a failure is no matter here. */
static void prepare(const char *language)
{
	struct sbx_error ignored;

	if (language != NULL)
		sbx_language_prepare(language, &ignored);
}

/* The time until the sandbox was there is none of the installer's. */
static int install(struct mcp_call *call, struct sbx_session *session,
		   const struct mcp_execution *execution, struct request *request, uint64_t *ret_ns,
		   struct sbx_error *err)
{
	int r = mcp_session_await(session, err);
	uint64_t begin = sbx_now_ns();

	if (r == 0)
		r = mcp_install_libraries(call, session, execution->language, execution->libraries,
					  request->watch, &request->installed, err);
	*ret_ns = sbx_now_ns() - begin;
	return r;
}

static int run_program(struct mcp_call *call, struct sbx_session *session,
		       const struct mcp_execution *execution, struct request *request,
		       struct sbx_result **ret, struct sbx_error *err)
{
	uint64_t install_ns = 0;
	int r = 0;

	if (execution->language == NULL)
		return run_command(session, execution, request, ret, err);
	if (json_array_size(execution->libraries) > 0)
		r = install(call, session, execution, request, &install_ns, err);
	if (r == 0)
		r = run_code(call, session, execution, request, ret, err);
	if (r == 0)
		(*ret)->timings.install += install_ns;
	return r;
}

/* session_id: of one that stays, or NULL. */
static int run_it(struct mcp_call *call, struct sbx_session *session, const char *session_id,
		  const struct mcp_execution *execution, struct request *request,
		  struct sbx_result **ret, struct sbx_error *err)
{
	int r = run_program(call, session, execution, request, ret, err);

	if (r == 0)
		mcp_show_gather(&request->show, call, session, session_id, *ret);
	return r;
}

static int run_in_fresh_sandbox(struct mcp_call *call, const struct mcp_execution *execution,
				const json_t *arguments, struct request *request,
				struct sbx_result **ret, struct sbx_error *err)
{
	const struct mcp_environment *environment =
		&((const struct mcp_sandbox *)mcp_call_userdata(call))->environment;
	struct sbx_session *session;
	struct sbx_spec *spec;
	/* A shell may start any language. */
	int r = mcp_make_spec(environment, arguments, execution->language, request->max_output,
			      &spec, err);

	if (r < 0)
		return r;
	sbx_spec_use_libraries(spec, json_array_size(execution->libraries) > 0);
	sbx_spec_set_cancel(spec, mcp_call_cancel(call));
	r = sbx_session_open(spec, &session, err);
	if (r == 0) {
		r = run_it(call, session, NULL, execution, request, ret, err);
		sbx_session_close(session);
	}
	sbx_spec_free(spec);
	return r;
}

static int run_in_session(struct mcp_call *call, const struct mcp_execution *execution,
			  const json_t *arguments, struct request *request, struct sbx_result **ret,
			  struct sbx_error *err)
{
	struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_result *result = NULL;
	struct mcp_lease lease;
	int r = mcp_refuse_wishes(arguments, err);

	if (r == 0)
		r = mcp_lease_begin(&lease, call, arguments, err);
	if (r < 0)
		return r;
	r = run_it(call, lease.session, lease.id, execution, request, &result, err);
	r = mcp_lease_end_run(&lease, r, result, err);
	if (r < 0) {
		mcp_show_done(&request->show);
		sbx_result_free(result);
		return r;
	}
	mcp_shelf_add(&sandbox->shelf, lease.id, result);
	*ret = result;
	return 0;
}

static int run_watched(struct mcp_call *call, const struct mcp_execution *execution,
		       const json_t *arguments, struct request *request, struct sbx_result **ret,
		       struct sbx_error *err)
{
	bool in_session = json_is_string(json_object_get(arguments, "session_id"));
	struct mcp_watch watch;
	int r;

	mcp_watch_begin(&watch, call);
	request->watch = &watch;
	request->io.cancel = mcp_call_cancel(call);
	request->io.on_stdout = watch.on_stdout;
	request->io.on_stderr = watch.on_stderr;
	request->io.userdata = &watch;
	request->io.artifacts =
		((const struct mcp_sandbox *)mcp_call_userdata(call))->environment.artifacts;
	prepare(execution->language);
	r = in_session ? run_in_session(call, execution, arguments, request, ret, err)
		       : run_in_fresh_sandbox(call, execution, arguments, request, ret, err);
	mcp_watch_end(&watch);
	return r;
}

int mcp_execute(struct mcp_call *call, const struct mcp_execution *execution,
		const json_t *arguments, struct sbx_error *err)
{
	struct sbx_result *result = NULL;
	struct request request = {0};
	int r = read_request(arguments, &request, err);

	if (r == 0)
		r = run_watched(call, execution, arguments, &request, &result, err);
	if (r == 0)
		r = mcp_answer(call,
			       &(struct mcp_ran){.result = result,
						 .max_output = request.max_output,
						 .libraries = request.installed.versions,
						 .kernel = execution->kernel,
						 .show = &request.show},
			       err);
	mcp_show_done(&request.show);
	mcp_installed_done(&request.installed);
	sbx_result_free(result);
	free(request.args);
	free(request.files);
	return r;
}
