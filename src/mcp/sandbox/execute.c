/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/execute.h"

#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/answer.h"
#include "mcp/sandbox/clip.h"
#include "mcp/sandbox/inside.h"
#include "mcp/sandbox/watch.h"

#include <llmsandbox/language.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a client may ask for when the environment does not say. */
#define MEMORY_MOST    (4ull << 30)
#define CPU_MILLI_MOST 4000u

/* The arguments as the library takes them; strings belong to the JSON. */
struct request {
	const char **args;	/* NULL-terminated, or NULL; owned */
	struct sbx_file *files; /* owned */
	struct sbx_io io;
	size_t max_output;
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

/* ---- limits ---- */

static int set_memory(struct sbx_spec *spec, const struct mcp_environment *e, const json_t *value,
		      struct sbx_error *err)
{
	uint64_t most = e->memory_bytes ? e->memory_bytes : MEMORY_MOST, wanted;

	if (!json_is_integer(value))
		return 0;
	wanted = (uint64_t)json_integer_value(value) << 20;
	if (wanted > most)
		return sbx_fail(err, SBX_E_LIMIT, "memory_mb: this server gives at most %llu",
				(unsigned long long)(most >> 20));
	return sbx_spec_set_limit(spec, SBX_LIMIT_MEMORY_BYTES, wanted, err);
}

static int set_cpus(struct sbx_spec *spec, const struct mcp_environment *e, const json_t *value,
		    struct sbx_error *err)
{
	uint64_t most = e->cpu_milli ? e->cpu_milli : CPU_MILLI_MOST, wanted;

	if (!json_is_number(value))
		return 0;
	wanted = (uint64_t)(json_number_value(value) * 1000 + 0.5);
	if (wanted > most)
		return sbx_fail(err, SBX_E_LIMIT, "cpus: this server gives at most %g",
				(double)most / 1000);
	return sbx_spec_set_limit(spec, SBX_LIMIT_CPU_MILLI, wanted, err);
}

static int make_spec(const struct mcp_environment *e, const struct mcp_execution *execution,
		     const json_t *arguments, size_t max_output, struct sbx_spec **ret,
		     struct sbx_error *err)
{
	struct sbx_spec *spec;
	int r = mcp_environment_make_spec(e, &spec, err);

	if (r < 0)
		return r;
	r = set_memory(spec, e, json_object_get(arguments, "memory_mb"), err);
	if (r == 0)
		r = set_cpus(spec, e, json_object_get(arguments, "cpus"), err);
	if (r == 0)
		r = sbx_spec_set_limit(spec, SBX_LIMIT_HEAD_BYTES, mcp_clip_head_bytes(max_output),
				       err);
	if (r == 0)
		r = sbx_spec_set_limit(spec, SBX_LIMIT_TAIL_BYTES, mcp_clip_tail_bytes(max_output),
				       err);
	/* A shell may start any of them. */
	if (r == 0 && execution->language != NULL)
		r = sbx_spec_set_language(spec, execution->language, err);
	if (r < 0) {
		sbx_spec_free(spec);
		return r;
	}
	*ret = spec;
	return 0;
}

/* ---- the run ---- */

static int run_code(struct sbx_session *session, const struct mcp_execution *execution,
		    const struct request *request, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_run run = {
		.language = execution->language,
		.code = execution->code,
		.code_len = execution->code_len,
		.args = request->args,
		.io = request->io,
	};

	return sbx_session_run(session, &run, ret, err);
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

static int run_in_sandbox(const struct sbx_spec *spec, const struct mcp_execution *execution,
			  const struct request *request, struct sbx_result **ret,
			  struct sbx_error *err)
{
	struct sbx_session *session;
	int r;

	prepare(execution->language);
	r = sbx_session_open(spec, &session, err);
	if (r < 0)
		return r;
	r = execution->language ? run_code(session, execution, request, ret, err)
				: run_command(session, execution, request, ret, err);
	sbx_session_close(session);
	return r;
}

static int run_watched(struct mcp_call *call, const struct sbx_spec *spec,
		       const struct mcp_execution *execution, struct request *request,
		       struct sbx_result **ret, struct sbx_error *err)
{
	struct mcp_watch watch;
	int r;

	mcp_watch_begin(&watch, call);
	request->io.cancel = mcp_call_cancel(call);
	request->io.on_stdout = watch.on_stdout;
	request->io.on_stderr = watch.on_stderr;
	request->io.userdata = &watch;
	r = run_in_sandbox(spec, execution, request, ret, err);
	mcp_watch_end(&watch);
	return r;
}

static int run_request(struct mcp_call *call, const struct mcp_execution *execution,
		       const json_t *arguments, struct request *request, struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	int r = make_spec(&sandbox->environment, execution, arguments, request->max_output, &spec,
			  err);

	if (r == 0)
		r = run_watched(call, spec, execution, request, &result, err);
	if (r == 0)
		r = mcp_answer(call, result, request->max_output, execution->libraries, err);
	sbx_result_free(result);
	sbx_spec_free(spec);
	return r;
}

int mcp_execute(struct mcp_call *call, const struct mcp_execution *execution,
		const json_t *arguments, struct sbx_error *err)
{
	struct request request = {0};
	int r = read_request(arguments, &request, err);

	if (r == 0)
		r = run_request(call, execution, arguments, &request, err);
	free(request.args);
	free(request.files);
	return r;
}
