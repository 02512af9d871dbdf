/* SPDX-License-Identifier: MIT */
/* One run in a session: the steps of a language, and what they came to. */
#include <llmsandbox/session.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/strv.h"
#include "core/artifacts.h"
#include "core/cell.h"
#include "core/container.h"
#include "core/env.h"
#include "core/operation.h"
#include "core/result.h"
#include "core/session.h"
#include "core/support.h"
#include "lang/lang.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CODE_MAX  (64u << 20)
#define FILE_MAX  (64u << 20)
#define FILES_MAX 1024u

/* ---- begin and end ---- */

/* The run's own time, else the spec's for executions, else the one for all; 0: none. */
static uint64_t find_timeout_ms(const struct sbx_spec *spec, const struct sbx_io *io)
{
	uint64_t ms = io->timeout_ms;

	if (ms == 0)
		ms = spec->limits[SBX_LIMIT_EXECUTION_MS];
	if (ms == 0)
		ms = spec->limits[SBX_LIMIT_WALL_MS];
	return ms == SBX_TIMEOUT_NONE ? 0 : ms;
}

/*
 * Before the session's turn, which putting the hooks in place takes. Where that fails, with a full
 * disk for example, the program is run all the same: the session's own trouble shows at its turn.
 */
static int prepare_artifacts(struct sbx_operation *op, struct sbx_error *err)
{
	if (!op->io->artifacts)
		return 0;
	op->artifacts.support = sbx_support_folder(op->s, err);
	return sbx_artifact_folder_init(&op->folder, op->s, err);
}

int sbx_operation_begin(struct sbx_operation *op, struct sbx_error *err)
{
	struct sbx_session *s = op->s;
	uint64_t start = sbx_now_ns();
	int r = sbx_session_begin_for(s, op->io->cancel, err);

	if (r < 0)
		return r;
	op->result = calloc(1, sizeof(*op->result));
	if (op->result == NULL) {
		sbx_session_end(s, 0, err);
		return sbx_fail_errno(err, ENOMEM, "cannot make a result");
	}
	op->result->timings.queue = sbx_now_ns() - start;
	op->deadline_ns = sbx_deadline_ns(find_timeout_ms(s->spec, op->io));
	s->greeting_ns = 0;
	if (s->runs++ > 0)
		sbx_session_usage_reset(s);
	sbx_exchange_init(&op->x, s, op->io);
	op->attempts = sbx_network_count(s);
	return sbx_network_start(s, err);
}

static int finish_result(struct sbx_operation *op, struct sbx_error *err)
{
	struct sbx_ending end = {
		.exit = &op->exit,
		.cancelled = op->x.cancelled,
		.out_of_memory = op->x.out_of_memory,
		.overdue = op->x.overdue,
		.lost = op->x.lost,
		.peak_memory_bytes = op->x.usage.peak_memory_bytes,
		.capture = {&op->x.capture[0], &op->x.capture[1]},
		.report = &op->s->report,
	};

	return sbx_result_finish(op->result, &end, err);
}

/* The backend may know more than that the sandbox has ended. */
static void say_loss(struct sbx_operation *op)
{
	const char *why = sbx_session_loss(op->s);

	if (why[0] != '\0')
		snprintf(op->result->message, sizeof(op->result->message),
			 "the sandbox has ended: %s; open a new session", why);
}

/* The program is over, one way or another: what did it show and make? */
static int collect(struct sbx_operation *op, struct sbx_error *err)
{
	struct sbx_cancel *cancel = op->x.cancelled ? NULL : op->io->cancel;

	if (op->collection.session == NULL)
		return 0;
	return sbx_collection_finish(&op->collection, op->result, cancel, err);
}

int sbx_operation_finish(struct sbx_operation *op, int r, struct sbx_result **ret,
			 struct sbx_error *err)
{
	uint64_t start = sbx_now_ns();

	op->result->timings.create = op->s->create_ns;
	op->s->create_ns = 0;
	/* What ended the sandbox may be that its time is over: then that is the answer. */
	if (r == 0 && op->x.lost && !op->x.cancelled)
		r = sbx_session_check(op->s, err);
	if (r == 0)
		r = finish_result(op, err);
	if (r == 0 && op->result->reason == SBX_LOST)
		say_loss(op);
	if (op->message[0] != '\0')
		memcpy(op->result->message, op->message, sizeof(op->message));
	if (r == 0)
		r = collect(op, err);
	if (r == 0)
		r = sbx_network_finish(op->s, op->attempts, op->result, err);
	sbx_collection_done(&op->collection);
	sbx_exchange_done(&op->x);
	sbx_session_end(op->s, r, err);

	free(op->src);
	free(op->build);
	sbx_artifact_folder_done(&op->folder);
	op->result->timings.collect = sbx_now_ns() - start;
	if (r == 0)
		*ret = take_ptr(op->result);
	sbx_result_free(op->result);
	return r;
}

uint64_t sbx_operation_clock_ns(const struct sbx_operation *op)
{
	return sbx_now_ns() - op->s->greeting_ns;
}

/* ---- one program ---- */

/* Milliseconds left of the run's time, at least 1, or 0 for no limit; the making of the sandbox takes none of it. */
static uint64_t remaining_ms(const struct sbx_operation *op)
{
	int ms;

	if (op->deadline_ns == 0)
		return 0;
	ms = sbx_poll_ms(op->deadline_ns + op->s->greeting_ns);
	return ms > 0 ? (uint64_t)ms : 1;
}

static int exec_step(struct sbx_operation *op, char **argv, const char *cwd, bool with_stdin,
		     struct sbx_error *err)
{
	const struct sbx_spec *spec = op->s->spec;
	bool has_stdin = with_stdin && (op->io->use_stdin_fd || op->io->stdin_data != NULL);
	bool streams = op->io->on_stdout != NULL || op->io->on_stderr != NULL;
	size_t room[2] = {sbx_capture_room(&op->x.capture[0]), sbx_capture_room(&op->x.capture[1])};
	auto_strv char **env = NULL;
	struct sbx_env_sources sources = {
		.session = op->s,
		.lang = op->lang,
		.values = &op->values,
		.extra = op->io->env,
		.artifacts = &op->artifacts,
	};
	struct wire_exec exec = {
		.flags = (has_stdin ? WIRE_EXEC_STDIN : 0u) | (streams ? WIRE_EXEC_FORWARD : 0u),
		.wall_ms = remaining_ms(op),
		.cpu_ms = spec->limits[SBX_LIMIT_CPU_MS],
		.head_bytes = room[0] > room[1] ? room[0] : room[1],
		.tail_bytes = spec->limits[SBX_LIMIT_TAIL_BYTES],
		.cwd = (char *)cwd,
		.argv = argv,
	};
	int r = sbx_env_build(&sources, &env, err);

	if (r < 0)
		return r;
	exec.env = env;
	r = sbx_exchange_exec(&op->x, &exec, &op->exit, err);
	if (r == 0 && !op->x.lost)
		sbx_result_add_cost(op->result, &op->exit);
	return r;
}

/* The step that counts: what it shows and makes is collected. */
static int begin_collection(struct sbx_operation *op, struct sbx_error *err)
{
	if (!op->io->artifacts)
		return 0;
	op->artifacts.folder = op->folder.path;
	op->artifacts.first = sbx_artifact_first(op->s);
	return sbx_collection_begin(&op->collection, op->s, &op->folder, err);
}

/* The first program of a session may start a moment before we hear that the sandbox is ready. */
static void set_run_time(struct sbx_operation *op, uint64_t start)
{
	uint64_t here = sbx_operation_clock_ns(op) - start, inside = op->exit.wall_ns;

	op->result->timings.run = here > inside ? here : inside;
}

static bool succeeded(const struct sbx_operation *op)
{
	return !op->x.lost && op->exit.reason == WIRE_EXITED && op->exit.status == 0;
}

/* ---- the caller's files ---- */

/* Where the file goes; NULL, and err says why, when it may go nowhere. The caller frees it. */
static char *place_file(const struct sbx_operation *op, const struct sbx_file *file,
			struct sbx_error *err)
{
	auto_free char *path = NULL;

	if (file->len > FILE_MAX) {
		sbx_fail(err, SBX_E_LIMIT, "the file '%.128s' is larger than %u MiB", file->name,
			 FILE_MAX >> 20);
		return NULL;
	}
	if (asprintf(&path, "%s/%s", op->s->setup.workdir, file->name) < 0) {
		path = NULL;
		sbx_fail_errno(err, ENOMEM, "cannot name the file '%.128s'", file->name);
		return NULL;
	}
	/* A slash at its start or end, or an empty name, makes an empty component too. */
	if (!sbx_path_is_clean(path)) {
		sbx_fail(err, SBX_E_INVALID,
			 "the file name '%.128s' is no relative path below the work folder; write it "
			 "as 'data/input.csv'",
			 file->name);
		return NULL;
	}
	if (op->src != NULL && strcmp(path, op->src) == 0) {
		sbx_fail(err, SBX_E_INVALID, "the file '%.128s' has the name of the code's own file",
			 file->name);
		return NULL;
	}
	return take_ptr(path);
}

int sbx_operation_put_files(struct sbx_operation *op, struct sbx_error *err)
{
	const struct sbx_io *io = op->io;
	int r = 0;

	if (io->file_count > FILES_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "%zu files are more than %u", io->file_count,
				FILES_MAX);
	for (size_t i = 0; r == 0 && !op->x.lost && i < io->file_count; i++) {
		auto_free char *path = place_file(op, &io->files[i], err);

		if (path == NULL)
			return -(int)err->code;
		r = sbx_exchange_put(&op->x, path, io->files[i].data, io->files[i].len, err);
		if (r == 0)
			r = sbx_exchange_settle(&op->x, err);
	}
	return r;
}

/* ---- the steps of a language ---- */

int sbx_check_code(const struct sbx_run *run, struct sbx_error *err)
{
	if (run->code == NULL || run->code_len == 0)
		return sbx_fail(err, SBX_E_INVALID, "there is no code to run: it is empty");
	if (run->code_len > CODE_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "the code is larger than %u MiB", CODE_MAX >> 20);
	if (memchr(run->code, '\0', run->code_len) != NULL)
		return sbx_fail(err, SBX_E_INVALID, "the code has a NUL byte at offset %zu",
				(size_t)((const char *)memchr(run->code, '\0', run->code_len) -
					 (const char *)run->code));
	if (run->file_name != NULL && !sbx_path_is_component(run->file_name))
		return sbx_fail(err, SBX_E_INVALID, "'%.128s' is no file name", run->file_name);
	return 0;
}

static int inspect(struct sbx_operation *op, const struct sbx_run *run, struct sbx_error *err)
{
	const char *why = NULL;
	const char *name = run->file_name ? run->file_name : op->lang->file_name;

	if (op->lang->inspect != NULL &&
	    !op->lang->inspect(run->code, run->code_len, &op->source, &why))
		return sbx_fail(err, SBX_E_INVALID, "this is no %s program: %s",
				op->lang->info.title, why);
	if (op->source.file_name[0] != '\0')
		name = op->source.file_name;

	if (asprintf(&op->src, "%s/%s", op->s->setup.workdir, name) < 0)
		op->src = NULL;
	if (asprintf(&op->build, "%s/.llm-sandbox-%u", sbx_session_scratch(op->s), op->s->runs) < 0)
		op->build = NULL;
	if (op->src == NULL || op->build == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name the source file");
	return 0;
}

void sbx_operation_set_limits(const struct sbx_session *s, struct sbx_lang_values *ret)
{
	const uint64_t *limits = s->spec->limits;
	uint64_t cpus = limits[SBX_LIMIT_CPU_MILLI] / 1000;

	*ret = (struct sbx_lang_values){
		.dir = s->setup.workdir,
		.memory_mb = (unsigned long)(limits[SBX_LIMIT_MEMORY_BYTES] >> 20),
		.cpus = cpus > 0 ? (unsigned long)cpus : 1,
		.proxy_port = s->network.proxy_port,
	};
}

static void set_values(struct sbx_operation *op)
{
	sbx_operation_set_limits(op->s, &op->values);
	op->values.src = op->src;
	op->values.build = op->build;
	op->values.main = op->source.main;
	op->values.set = op->set;
}

static int run_template(struct sbx_operation *op, const char *const *template,
			const char *const *args, bool with_stdin, struct sbx_error *err)
{
	auto_strv char **argv = sbx_lang_expand(template, &op->values, args);

	if (argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	return exec_step(op, argv, "", with_stdin, err);
}

/* A file in the build folder makes the folder; compilers want it to be there. */
static int make_build_folder(struct sbx_operation *op, struct sbx_error *err)
{
	auto_free char *marker = NULL;

	if (asprintf(&marker, "%s/.made", op->build) < 0) {
		marker = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name the build folder");
	}
	return sbx_exchange_put(&op->x, marker, "", 0, err);
}

/* Whether the language's warm cache is shown in this very sandbox. */
static bool has_cache(const struct sbx_operation *op)
{
	const struct sbx_lang *lang;

	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		if (lang == op->lang)
			return (op->s->caches & 1u << i) != 0;
	}
	return false;
}

static int install(struct sbx_operation *op, const struct sbx_run *run, struct sbx_error *err)
{
	uint64_t start = sbx_operation_clock_ns(op);
	bool compiled = op->lang->compile != NULL;
	int r = sbx_operation_put_files(op, err);

	if (r == 0 && compiled)
		r = make_build_folder(op, err);
	if (r == 0)
		r = sbx_exchange_put(&op->x, op->src, run->code, run->code_len, err);
	if (r == 0 && !op->x.lost && op->set != NULL && op->lang->install->use_before != NULL)
		r = run_template(op, op->lang->install->use_before, NULL, false, err);
	if (r == 0 && compiled && has_cache(op)) {
		const char *const *const *use = op->lang->cache->use;

		/* Without the cache the compiler is slower and nothing else: its outcome is no matter. */
		for (size_t i = 0; r == 0 && !op->x.lost && use != NULL && use[i] != NULL; i++)
			r = run_template(op, use[i], NULL, false, err);
	}
	op->result->timings.install = sbx_operation_clock_ns(op) - start;
	return r;
}

static int compile(struct sbx_operation *op, struct sbx_error *err)
{
	uint64_t start = sbx_operation_clock_ns(op);
	const char *const *with_set = op->set ? op->lang->install->use_compile : NULL;
	int r = run_template(op, with_set ? with_set : op->lang->compile, NULL, false, err);

	op->result->timings.compile = sbx_operation_clock_ns(op) - start;
	if (!succeeded(op))
		op->result->phase = SBX_PHASE_COMPILE;
	return r;
}

static int run_program(struct sbx_operation *op, const struct sbx_run *run, struct sbx_error *err)
{
	uint64_t start = sbx_operation_clock_ns(op);
	const char *const *with_set = op->set ? op->lang->install->use_run : NULL;
	int r = begin_collection(op, err);

	if (r == 0)
		r = run_template(op, with_set ? with_set : op->lang->run, run->args, true, err);
	set_run_time(op, start);
	return r;
}

int sbx_explain_missing_tool(const struct sbx_session *session, const struct sbx_lang *lang, int r,
			     struct sbx_error *err)
{
	const struct sbx_spec *spec = session->spec;
	const char *name = sbx_place_image_name(session->place) ?: spec->container.image;

	if (r == 0 || err->code != SBX_E_NOT_FOUND)
		return r;
	if (name != NULL)
		return sbx_explain_lacking_image(spec, name, lang, err);
	sbx_wrap(err, "%s is not installed (on Debian: apt-get install %s)", lang->info.title,
		 lang->info.package);
	return r;
}

/* The work folder may be one of this machine's, and somebody else's. */
static int explain_folder(const struct sbx_operation *op, int r, struct sbx_error *err)
{
	const struct sbx_spec *spec = op->s->spec;

	if (r == 0 || !op->x.put_failed || (err->sys_errno != EACCES && err->sys_errno != EROFS))
		return r;
	return sbx_wrap(err,
			"the work folder '%s' cannot be written by user %u, who programs are; where a folder "
			"of this machine is shown there, show it writable and choose its owner (--user)",
			spec->workdir, spec->uid);
}

static int run_steps(struct sbx_operation *op, const struct sbx_run *run, struct sbx_error *err)
{
	int r = inspect(op, run, err);

	if (r < 0)
		return r;
	set_values(op);
	r = install(op, run, err);
	if (r == 0 && !op->x.lost && op->lang->compile != NULL)
		r = compile(op, err);
	if (r == 0 && !op->x.lost && op->result->phase == SBX_PHASE_RUN)
		r = run_program(op, run, err);
	r = sbx_explain_missing_tool(op->s, op->lang, r, err);
	return explain_folder(op, r, err);
}

/* Before the session's turn: an installation takes its time, and nothing of this session's. */
int sbx_operation_use_libraries(struct sbx_operation *op, const struct sbx_run *run,
				struct sbx_error *err)
{
	struct sbx_install how = {.cancel = run->io.cancel};
	int r = sbx_libraries_use(op->s, op->lang, run->libraries, &how, &op->set, err);

	return r < 0 ? sbx_wrap(err, "cannot install the libraries") : 0;
}

int sbx_session_run(struct sbx_session *session, const struct sbx_run *run,
		    struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_operation op = {.s = session, .io = &run->io};
	int r;

	err = err ? err : &lent;
	op.lang = run->language ? sbx_lang_find(run->language) : NULL;
	if (op.lang == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"there is no language '%.64s'; there are python, java, javascript, cpp, "
				"go, ruby and r",
				run->language ? run->language : "");
	if (run->kernel != NULL)
		return sbx_cell_run(session, op.lang, run, ret, err);
	r = sbx_check_code(run, err);
	if (r == 0)
		r = sbx_operation_use_libraries(&op, run, err);
	if (r == 0)
		r = prepare_artifacts(&op, err);
	if (r < 0)
		return r;
	r = sbx_operation_begin(&op, err);
	if (op.result == NULL) {
		sbx_artifact_folder_done(&op.folder);
		return r;
	}
	if (r == 0)
		r = run_steps(&op, run, err);
	return sbx_operation_finish(&op, r, ret, err);
}

int sbx_session_exec(struct sbx_session *session, const struct sbx_command *command,
		     struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_operation op = {.s = session, .io = &command->io};
	uint64_t start;
	int r;

	err = err ? err : &lent;
	if (command->argv == NULL || command->argv[0] == NULL || command->argv[0][0] == '\0')
		return sbx_fail(err, SBX_E_INVALID, "there is no command to run: it is empty");
	r = prepare_artifacts(&op, err);
	if (r < 0)
		return r;
	r = sbx_operation_begin(&op, err);
	if (op.result == NULL) {
		sbx_artifact_folder_done(&op.folder);
		return r;
	}
	start = sbx_operation_clock_ns(&op);
	if (r == 0)
		r = sbx_operation_put_files(&op, err);
	op.result->timings.install = sbx_operation_clock_ns(&op) - start;
	start = sbx_operation_clock_ns(&op);
	if (r == 0 && !op.x.lost)
		r = begin_collection(&op, err);
	if (r == 0 && !op.x.lost)
		r = exec_step(&op, (char **)command->argv, command->cwd ? command->cwd : "", true, err);
	set_run_time(&op, start);
	return sbx_operation_finish(&op, r, ret, err);
}

static bool has_failed(const struct sbx_result *result)
{
	return result->reason != SBX_EXITED || result->exit_code != 0;
}

int sbx_session_exec_all(struct sbx_session *session, const struct sbx_command *commands,
			 size_t count, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_result *last = NULL;
	struct sbx_error lent;

	err = err ? err : &lent;
	for (size_t i = 0; i < count && (last == NULL || !has_failed(last)); i++) {
		sbx_result_free(take_ptr(last));
		if (sbx_session_exec(session, &commands[i], &last, err) < 0)
			return -(int)err->code;
	}
	if (last == NULL)
		last = sbx_result_empty();
	if (last == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a result");
	*ret = last;
	return 0;
}
