/* SPDX-License-Identifier: MIT */
#include "core/library_build.h"

#include "backend/backend.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "core/library_files.h"
#include "core/library_lines.h"
#include "core/library_set.h"
#include "core/package_config.h"
#include "core/package_hosts.h"
#include "core/session.h"

#include <llmsandbox/container.h>
#include <llmsandbox/files.h>
#include <llmsandbox/network.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PACKAGES_MAX  20000u
#define LIST_BYTES    (8u << 20)

/* One installation. */
struct installation {
	const struct sbx_build *build;
	const struct sbx_lang_install *install;
	struct sbx_spec *spec;
	struct sbx_network *network;
	struct sbx_session *session;
	struct sbx_package_config config;
	struct sbx_library_lines lines;
	char *set; /* the folder inside that the libraries go into */
	char **words;
	char **online_env, **offline_env;
	bool online; /* the network is there, and the configuration */
	struct sbx_built built;
};

/* ---- the sandbox ---- */

static int set_limits(struct sbx_spec *spec, struct sbx_error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct {
		enum sbx_limit limit;
		uint64_t value;
	} limits[] = {
		{SBX_LIMIT_CPU_MILLI, (uint64_t)(cpus < 1 ? 1 : cpus > 64 ? 64 : cpus) * 1000},
		{SBX_LIMIT_MEMORY_BYTES, SBX_SET_BYTES_MAX + (4ull << 30)}, /* files are in it too */
		{SBX_LIMIT_PROCESSES, 2048},
		{SBX_LIMIT_DISK_BYTES, SBX_SET_BYTES_MAX},
		{SBX_LIMIT_OPEN_FILES, 4096},
		{SBX_LIMIT_HEAD_BYTES, LIST_BYTES},
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && r == 0; i++)
		r = sbx_spec_set_limit(spec, limits[i].limit, limits[i].value, err);
	return r;
}

static uint64_t remaining_ms(const struct sbx_build *build)
{
	int ms = sbx_poll_ms(build->deadline_ns);

	return ms > 0 ? (uint64_t)ms : 1;
}

/* Of this machine the manager sees what it is set up with, and has told its hosts before. */
static int use_machine(struct installation *in, struct sbx_error *err)
{
	int r = sbx_package_hosts_show(in->install, in->spec, err);

	return r < 0 ? r : sbx_package_hosts_ask(in->build->lang, remaining_ms(in->build),
						 in->build->cancel, in->network, err);
}

/* An image has folders of its own for that; nothing is reached before its manager has told its hosts. */
static int use_image(struct installation *in, struct sbx_error *err)
{
	const struct sbx_tools *tools = in->build->tools;
	int r = 0;

	in->spec->backend = tools->backend;
	if (sbx_backend_has_own_tools(tools->backend))
		r = sbx_spec_set_pull(in->spec, SBX_PULL_NEVER, err);
	if (r == 0)
		r = sbx_spec_set_environment(in->spec, tools->environment, err);
	return r < 0 ? r : sbx_spec_set_image(in->spec, tools->image, err);
}

static int make_spec(struct installation *in, struct sbx_error *err)
{
	int r = sbx_spec_new(&in->spec, err);

	if (r < 0)
		return r;
	in->spec->no_libraries = true;
	r = sbx_spec_set_language(in->spec, "none", err);
	if (r == 0)
		r = set_limits(in->spec, err);
	if (r == 0)
		r = sbx_network_new(SBX_NETWORK_ALLOW, &in->network, err);
	if (r == 0)
		r = in->build->tools != NULL ? use_image(in, err) : use_machine(in, err);
	if (r == 0)
		r = sbx_spec_set_network(in->spec, in->network, err);
	return r;
}

/* The words of the row's word hook, one for each requirement. */
static char **make_words(const struct installation *in)
{
	const char *const *requirements = in->build->requirements;
	auto_strv char **words =
		calloc(sbx_strv_len((char *const *)requirements) + 1, sizeof(*words));
	char **ret = words;

	for (size_t i = 0; words != NULL && requirements[i] != NULL; i++) {
		auto_buf struct sbx_buf word = SBX_BUF_INIT(1024);

		if (in->install->word != NULL)
			in->install->word(requirements[i], &word);
		words[i] = sbx_buf_take(&word);
		if (words[i] == NULL)
			return NULL;
	}
	words = NULL;
	return ret;
}

static struct sbx_lang_values values(const struct installation *in)
{
	return (struct sbx_lang_values){
		.home = in->session->setup.workdir,
		.set = in->set,
		.final = in->build->final,
		.requirements = in->build->requirements,
		.words = (const char *const *)in->words,
		.proxy_port = in->session->network.proxy_port,
	};
}

/* Our own proxy may lead to this machine's loopback, where a mirror can be. */
static char **make_env(const struct installation *in, const char *const *more)
{
	static const char *const direct[] = {"NO_PROXY=", "no_proxy=", NULL};
	struct sbx_lang_values v = values(in);
	auto_strv char **env = sbx_lang_expand(in->install->env, &v, direct);

	return env ? sbx_lang_expand((const char *const *)env, &v, more) : NULL;
}

static int open_sandbox(struct installation *in, struct sbx_error *err)
{
	int r = make_spec(in, err);

	if (r == 0)
		r = sbx_session_open(in->spec, &in->session, err);
	if (r == 0)
		sbx_libraries_watch(in->build->owner, in->session);
	if (r == 0)
		r = sbx_package_config_read(in->install, in->session->setup.workdir, &in->config, err);
	if (r == 0 && in->build->tools != NULL)
		r = sbx_package_config_add_trust(in->install, in->session->setup.workdir, &in->config,
						 err);
	if (r < 0)
		return r;
	in->online = true;
	if (asprintf(&in->set, "%s/set", sbx_session_scratch(in->session)) < 0)
		in->set = NULL;
	in->words = make_words(in);
	return in->set && in->words ? 0 : sbx_fail_errno(err, ENOMEM, "cannot install libraries");
}

/* Once a program has run, because only then the proxy's port is known. */
static int make_envs(struct installation *in, struct sbx_error *err)
{
	if (in->online_env != NULL)
		return 0;
	in->online_env = make_env(in, (const char *const *)in->config.env);
	in->offline_env = make_env(in, NULL);
	return in->online_env && in->offline_env
		       ? 0
		       : sbx_fail_errno(err, ENOMEM, "cannot install libraries");
}

/* ---- one program ---- */

/* A program of the installation. */
struct program {
	const char *const *argv;
	bool online; /* it gets the configuration */
	bool list;   /* its output is what is wanted, and no progress */
	const struct sbx_file *files; /* put before */
	size_t file_count;
};

/* What it came to; the result is the caller's. */
static int run(struct installation *in, const struct program *p, struct sbx_result **ret,
	       struct sbx_error *err)
{
	struct sbx_command command = {
		.argv = p->argv,
		.io = {
			.env = (const char *const *)(p->online ? in->online_env : in->offline_env),
			.files = p->files,
			.file_count = p->file_count,
			.timeout_ms = remaining_ms(in->build),
			.on_stdout = p->list ? NULL : sbx_library_lines_out,
			.on_stderr = p->list ? NULL : sbx_library_lines_err,
			.userdata = &in->lines,
			.cancel = in->build->cancel,
		},
	};

	sbx_library_lines_next(&in->lines);
	return sbx_session_exec(in->session, &command, ret, err);
}

static bool succeeded(const struct sbx_result *result)
{
	return result->reason == SBX_EXITED && result->exit_code == 0;
}

/* A host that the installer wanted and that its configuration does not have explains much. */
static const char *refused_host(const struct sbx_result *result)
{
	for (size_t i = 0; i < result->egress_count; i++) {
		if (result->egress[i].verdict == SBX_EGRESS_DENIED)
			return result->egress[i].host;
	}
	return NULL;
}

static bool is_over(const struct sbx_build *build)
{
	return build->owner != NULL && atomic_load(&build->owner->ended);
}

static int explain(struct installation *in, const struct sbx_result *result, struct sbx_error *err)
{
	const char *manager = in->install->manager, *host = refused_host(result);

	if (is_over(in->build))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the session that it was for has ended");
	if (result->reason == SBX_CANCELLED)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the installation was cancelled");
	if (result->reason == SBX_TIMEOUT)
		return sbx_fail(err, SBX_E_TIMEOUT, "%s took longer than the time it had: %s", manager,
				sbx_library_lines_why(&in->lines));
	if (result->reason == SBX_MEMORY || result->reason == SBX_LOST)
		return sbx_fail(err, SBX_E_DENIED, "%s did not come to its end: %s", manager,
				result->message);
	return sbx_fail(err, SBX_E_DENIED, "%s failed (exit code %d): %s%s%s%s", manager,
			result->exit_code, sbx_library_lines_why(&in->lines),
			host ? " (it wanted to reach '" : "", host ? host : "",
			host ? "', which it is not set up to use)" : "");
}

/* ---- what was installed ---- */

static int take_list(struct installation *in, char *text, struct sbx_error *err)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		struct sbx_lang_package package, *grown;

		if (!in->install->parse(line, &package))
			continue;
		if (in->built.package_count == PACKAGES_MAX)
			return sbx_fail(err, SBX_E_LIMIT, "more than %u packages", PACKAGES_MAX);
		grown = realloc(in->built.packages, (in->built.package_count + 1) * sizeof(*grown));
		if (grown == NULL)
			return sbx_fail_errno(err, ENOMEM, "cannot list what was installed");
		in->built.packages = grown;
		in->built.packages[in->built.package_count++] = package;
	}
	return 0;
}

/* ---- the steps ---- */

/* From now on nothing is reached, and nothing of the configuration is to be found. */
static int go_offline(struct installation *in, struct sbx_error *err)
{
	const char *argv[SBX_CONFIG_FILES_MAX + 4] = {"rm", "-f", "--"};
	char *paths[SBX_CONFIG_FILES_MAX] = {NULL};
	struct sbx_result *result = NULL;
	struct sbx_network *none = NULL;
	size_t count = in->config.file_count;
	int r = sbx_network_new(SBX_NETWORK_NONE, &none, err);

	if (r == 0)
		r = sbx_session_set_network(in->session, none, err);
	sbx_network_free(none);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (asprintf(&paths[i], "%s/%s", in->session->setup.workdir,
			     in->config.files[i].name) < 0) {
			paths[i] = NULL;
			r = sbx_fail_errno(err, ENOMEM, "cannot name a file");
		}
		argv[3 + i] = paths[i];
	}
	if (r == 0 && count > 0) {
		r = run(in, &(struct program){.argv = argv}, &result, err);
		if (r == 0 && !succeeded(result))
			r = sbx_fail(err, SBX_E_SYSTEM, "cannot remove the configuration of %s",
				     in->install->manager);
	}
	sbx_result_free(result);
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	in->online = r != 0;
	return r;
}

/* Whether a step that is still to come is online. */
static bool more_online(const struct sbx_lang_step *step)
{
	for (; step->argv != NULL; step++) {
		if (step->flags & SBX_STEP_ONLINE)
			return true;
	}
	return false;
}

static int allow_more(struct installation *in, char *text, struct sbx_error *err)
{
	/* What an image's manager knows of credentials goes where they belong, and nowhere else. */
	if (in->build->tools != NULL && sbx_package_config_has_secret(&in->config))
		return 0;
	sbx_package_hosts_more(in->install, text, in->network);
	return sbx_session_set_network(in->session, in->network, err);
}

/* *ret_tried: what a step with TRY came to. */
static int run_step(struct installation *in, const struct sbx_lang_step *step, bool *ret_tried,
		    struct sbx_error *err)
{
	struct sbx_lang_values v = values(in);
	auto_strv char **argv = sbx_lang_expand(step->argv, &v, NULL);
	struct program program = {
		.argv = (const char *const *)argv,
		.online = (step->flags & SBX_STEP_ONLINE) != 0,
		.list = (step->flags & (SBX_STEP_LIST | SBX_STEP_HOSTS)) != 0,
	};
	struct sbx_result *result = NULL;
	int r;

	if (argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	if (in->online && !more_online(step)) {
		r = go_offline(in, err);
		if (r < 0)
			return r;
	}
	r = run(in, &program, &result, err);
	if (r < 0)
		return r;
	if (step->flags & SBX_STEP_TRY)
		*ret_tried = succeeded(result);
	if (result->reason == SBX_CANCELLED || result->reason == SBX_LOST ||
	    (!succeeded(result) && !(step->flags & (SBX_STEP_MAY_FAIL | SBX_STEP_TRY))))
		r = explain(in, result, err);
	else if (step->flags & SBX_STEP_LIST)
		r = take_list(in, result->out.data, err);
	else if (step->flags & SBX_STEP_HOSTS)
		r = allow_more(in, result->out.data, err);
	sbx_result_free(result);
	return r;
}

/* The folder, the configuration and the project's file are there before anything else. */
static int prepare(struct installation *in, struct sbx_error *err)
{
	auto_buf struct sbx_buf project = SBX_BUF_INIT(1u << 20);
	const char *argv[] = {"mkdir", "-p", in->set, NULL};
	struct sbx_file files[SBX_CONFIG_FILES_MAX + 1];
	struct sbx_result *result = NULL;
	size_t count = in->config.file_count;
	int r;

	memcpy(files, in->config.files, count * sizeof(files[0]));
	if (in->install->project != NULL) {
		in->install->write_project(in->build->requirements, &project);
		if (project.failed)
			return sbx_fail_errno(err, ENOMEM, "cannot write a project's file");
		files[count++] = (struct sbx_file){in->install->project, project.data, project.len};
	}
	r = run(in, &(struct program){.argv = argv, .files = files, .file_count = count}, &result, err);
	if (r == 0 && !succeeded(result))
		r = explain(in, result, err);
	sbx_result_free(result);
	return r;
}

/* ---- an image's tools ---- */

/* Whether a program is in a folder of PATH; a link to one counts. */
static bool has_tool(struct installation *in, const char *name)
{
	const char *folder = sbx_session_tool_path(in->session);

	while (*folder != '\0') {
		size_t len = strcspn(folder, ":");
		struct sbx_file_info info;
		struct sbx_error ignored;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, name);
		if (path[0] == '/' && sbx_session_stat_file(in->session, path, &info, &ignored) == 0) {
			free(info.path);
			return true;
		}
		folder += len + (folder[len] == ':');
	}
	return false;
}

/* What fails in an image without the manager says little; an image can have it in some other way, too. */
static int explain_image(struct installation *in, int r, struct sbx_error *err)
{
	const struct sbx_tools *tools = in->build->tools;

	if (r == 0 || tools == NULL || in->session == NULL || in->session->broken || is_over(in->build) ||
	    (err->code != SBX_E_DENIED && err->code != SBX_E_NOT_FOUND && err->code != SBX_E_UNAVAILABLE) ||
	    has_tool(in, in->install->tool))
		return r;
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"libraries of %s are installed by '%s', which is not in the image '%.80s'; make an "
			"image that has it (on Debian: apt-get install %s), or the libraries themselves",
			in->build->lang->info.title, in->install->tool, tools->title, in->install->package);
}

static int ask_version(struct installation *in, struct sbx_error *err)
{
	struct sbx_result *result = NULL;
	int r = run(in, &(struct program){.argv = in->build->lang->version, .list = true}, &result, err);

	if (r < 0)
		return r;
	if (!sbx_toolchain_parse_version(result->out.data, in->built.version) &&
	    !sbx_toolchain_parse_version(result->errout.data, in->built.version))
		in->built.version[0] = '\0';
	sbx_result_free(result);
	return 0;
}

/* Until now the network has no rule, so that nothing can be reached. */
static int ask_hosts(struct installation *in, struct sbx_error *err)
{
	struct sbx_lang_values v = values(in);
	auto_strv char **argv = sbx_lang_expand(in->install->hosts, &v, NULL);
	struct program program = {
		.argv = (const char *const *)argv, .online = true, .list = true};
	struct sbx_result *result = NULL;
	int r;

	if (argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	r = run(in, &program, &result, err);
	if (r < 0)
		return r;
	r = sbx_package_hosts_read(in->build->lang, &in->config, result, in->network, err);
	sbx_result_free(result);
	return r < 0 ? r : sbx_session_set_network(in->session, in->network, err);
}

static int meet_image(struct installation *in, struct sbx_error *err)
{
	int r = make_envs(in, err);

	if (r == 0)
		r = ask_version(in, err);
	return r < 0 ? r : ask_hosts(in, err);
}

static int run_steps(struct installation *in, struct sbx_error *err)
{
	bool tried = false;
	int r = prepare(in, err);

	if (r == 0 && in->build->tools != NULL)
		r = meet_image(in, err);
	if (r == 0)
		r = make_envs(in, err);
	for (const struct sbx_lang_step *step = in->install->steps; step->argv != NULL && r == 0; step++) {
		if (!(step->flags & SBX_STEP_RETRY) || !tried)
			r = run_step(in, step, &tried, err);
	}
	return r;
}

/* ---- out of the sandbox ---- */

static int copy_out(struct installation *in, const char *to, struct sbx_error *err)
{
	struct sbx_copy how = {
		.cancel = in->build->cancel,
		.most_bytes = SBX_SET_BYTES_MAX,
		.most_files = SBX_SET_FILES_MAX,
	};
	struct sbx_copy_report report = {0};
	char text[400];
	int r = sbx_session_get(in->session, in->set, to, &how, &report, err);

	if (r == 0 && report.left_out > 0 && in->build->on_progress != NULL) {
		int len = snprintf(text, sizeof(text),
				   "%llu links and special files were left out, one of them '%.200s'\n",
				   (unsigned long long)report.left_out, report.first_left_out);

		in->build->on_progress(text, (size_t)len, in->build->userdata);
	}
	return r;
}

static void done(struct installation *in)
{
	sbx_libraries_watch(in->build->owner, NULL);
	sbx_session_close(in->session);
	sbx_network_free(in->network);
	sbx_spec_free(in->spec);
	sbx_package_config_done(&in->config);
	sbx_library_lines_done(&in->lines);
	sbx_strv_free(in->words);
	sbx_strv_free(in->online_env);
	sbx_strv_free(in->offline_env);
	free(in->set);
	free(in->built.packages);
}

int sbx_library_build(const struct sbx_build *build, const char *to, struct sbx_built *ret,
		      struct sbx_error *err)
{
	struct installation in = {.build = build, .install = build->lang->install};
	int r;

	sbx_library_lines_init(&in.lines, in.install, build->on_progress, build->userdata);
	r = open_sandbox(&in, err);
	if (r == 0)
		r = explain_image(&in, run_steps(&in, err), err);
	if (r == 0)
		r = copy_out(&in, to, err);
	if (r == 0) {
		*ret = in.built;
		in.built.packages = NULL;
	}
	done(&in);
	return r;
}
