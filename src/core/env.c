/* SPDX-License-Identifier: MIT */
#include "core/env.h"

#include "backend/spec.h"
#include "base/auto.h"
#include "base/strv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct env {
	char **list; /* room for SBX_ENV_MAX entries and the NULL */
	size_t count;
};

/* Add or replace; takes assignment, which the caller made with malloc(). 0 or -code. */
static int set(struct env *env, char *assignment, struct sbx_error *err)
{
	const char *equals = assignment ? strchr(assignment, '=') : NULL;
	size_t len, i = 0;

	if (assignment == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build the environment");
	if (equals == NULL || equals == assignment) {
		sbx_fail(err, SBX_E_INVALID, "'%.64s' is no variable; write NAME=value", assignment);
		free(assignment);
		return -SBX_E_INVALID;
	}
	len = (size_t)(equals - assignment) + 1;
	while (i < env->count && strncmp(env->list[i], assignment, len) != 0)
		i++;
	if (i == SBX_ENV_MAX) {
		free(assignment);
		return sbx_fail(err, SBX_E_LIMIT, "more than %d environment variables", SBX_ENV_MAX);
	}
	if (i == env->count)
		env->count++;
	free(env->list[i]);
	env->list[i] = assignment;
	return 0;
}

static int set_pair(struct env *env, const char *name, const char *value, struct sbx_error *err)
{
	char *text = NULL;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		text = NULL;
	return set(env, text, err);
}

static int set_list(struct env *env, const char *const *list, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; list != NULL && list[i] != NULL && r == 0; i++)
		r = set(env, strdup(list[i]), err);
	return r;
}

static bool is_writable(const struct wire_setup *setup, const char *path)
{
	for (size_t i = 0; i < setup->writable_count; i++) {
		if (strcmp(setup->writable[i], path) == 0)
			return true;
	}
	return false;
}

/* The image's variables are below ours; but its tools are where its own PATH says. */
static int set_standard(struct env *env, const struct sbx_env_sources *from, struct sbx_error *err)
{
	const struct wire_setup *setup = &from->session->setup;
	int r = set_list(env, sbx_session_image_env(from->session), err);
	const char *const pairs[][2] = {
		{"PATH", sbx_session_tool_path(from->session)},
		{"HOME", is_writable(setup, "/home/sandbox") ? "/home/sandbox" : setup->workdir},
		{"TMPDIR", sbx_session_scratch(from->session)},
		{"USER", "sandbox"},
		{"LOGNAME", "sandbox"},
		{"LANG", "C.UTF-8"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && r == 0; i++)
		r = set_pair(env, pairs[i][0], pairs[i][1], err);
	return r;
}

/*
 * ALL_PROXY names the HTTP side of the proxy, although SOCKS5 is on the same port: some HTTP
 * clients look at it and fail at once when they have no SOCKS library.
 */
static int set_proxy(struct env *env, const struct sbx_env_sources *from, struct sbx_error *err)
{
	static const char *const names[] = {
		"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
	};
	static const char none[] = "localhost,127.0.0.1,::1";
	unsigned int port = from->session->network.proxy_port;
	char url[64], maven[256];
	int r = 0;

	if (port == 0)
		return 0;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	snprintf(maven, sizeof(maven),
		 "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%u -Dhttps.proxyHost=127.0.0.1 "
		 "-Dhttps.proxyPort=%u",
		 port, port);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r == 0; i++)
		r = set_pair(env, names[i], url, err);
	if (r == 0)
		r = set_pair(env, "no_proxy", none, err);
	if (r == 0)
		r = set_pair(env, "NO_PROXY", none, err);
	/* Node heeds the variables above only where this one is set (from version 22.21 on). */
	if (r == 0)
		r = set_pair(env, "NODE_USE_ENV_PROXY", "1", err);
	return r < 0 ? r : set_pair(env, "MAVEN_OPTS", maven, err);
}

static int set_template(struct env *env, const char *const *template,
			const struct sbx_lang_values *values, struct sbx_error *err)
{
	auto_strv char **list = NULL;

	if (template == NULL)
		return 0;
	list = sbx_lang_expand(template, values, NULL);
	if (list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build the environment");
	return set_list(env, (const char *const *)list, err);
}

/* A command of no language may be a program of any: it finds what the session uses of each. */
static int set_all_libraries(struct env *env, const struct sbx_env_sources *from,
			     struct sbx_error *err)
{
	const struct sbx_lang *lang;
	int r = 0;

	for (size_t i = 0; r == 0 && (lang = sbx_lang_at(i)) != NULL; i++) {
		struct sbx_lang_values values = {
			.dir = from->session->setup.workdir,
			.set = sbx_libraries_folder(from->session, lang),
		};

		if (values.set != NULL)
			r = set_template(env, lang->install->use_env, &values, err);
	}
	return r;
}

static int set_language(struct env *env, const struct sbx_env_sources *from, struct sbx_error *err)
{
	int r;

	if (from->lang == NULL)
		return set_all_libraries(env, from, err);
	r = set_template(env, from->lang->env, from->values, err);
	if (r == 0 && from->values->set != NULL)
		r = set_template(env, from->lang->install->use_env, from->values, err);
	return r;
}

/* ---- artifacts ---- */

static const char *find(const struct env *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->count; i++) {
		if (strncmp(env->list[i], name, len) == 0 && env->list[i][len] == '=')
			return env->list[i] + len + 1;
	}
	return NULL;
}

static int set_hook(struct env *env, const struct sbx_lang_hook *hook, const char *support,
		    struct sbx_error *err)
{
	const struct sbx_lang_values values = {.support = support};
	auto_strv char **value = sbx_lang_expand(SBX_ARGV(hook->value), &values, NULL);
	const char *before = find(env, hook->name);
	auto_free char *joined = NULL;
	int r = 0;

	if (value == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build the environment");
	if (before != NULL && hook->keep_as != NULL)
		r = set_pair(env, hook->keep_as, before, err);
	if (r < 0 || before == NULL || before[0] == '\0' || hook->separator == NULL)
		return r < 0 ? r : set_pair(env, hook->name, value[0], err);
	if (asprintf(&joined, "%s%s%s", value[0], hook->separator, before) < 0) {
		joined = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot build the environment");
	}
	return set_pair(env, hook->name, joined, err);
}

/* Of all languages: a program of one may start another, and shows what that draws too. */
static int set_hooks(struct env *env, const char *support, struct sbx_error *err)
{
	const struct sbx_lang *lang;
	int r = 0;

	for (size_t i = 0; r == 0 && (lang = sbx_lang_at(i)) != NULL; i++) {
		for (const struct sbx_lang_hook *hook = lang->hooks;
		     r == 0 && hook != NULL && hook->name != NULL; hook++)
			r = set_hook(env, hook, support, err);
	}
	return r;
}

static int set_artifacts(struct env *env, const struct sbx_artifact_env *a, struct sbx_error *err)
{
	char first[16];
	int r;

	if (a == NULL || a->folder == NULL || a->support == NULL)
		return 0;
	snprintf(first, sizeof(first), "%u", a->first);
	r = set_pair(env, "LLM_SANDBOX_ARTIFACTS", a->folder, err);
	if (r == 0)
		r = set_pair(env, "LLM_SANDBOX_ARTIFACTS_FIRST", first, err);
	return r < 0 ? r : set_hooks(env, a->support, err);
}

int sbx_env_build(const struct sbx_env_sources *from, char ***ret, struct sbx_error *err)
{
	auto_strv char **list = calloc(SBX_ENV_MAX + 1, sizeof(*list));
	struct env env = {.list = list};
	int r;

	if (list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build the environment");
	r = set_standard(&env, from, err);
	if (r == 0)
		r = set_proxy(&env, from, err);
	if (r == 0)
		r = set_language(&env, from, err);
	if (r == 0)
		r = set_list(&env, (const char *const *)from->session->spec->env, err);
	if (r == 0)
		r = set_list(&env, from->extra, err);
	/* Last: hooks go around what was set before. */
	if (r == 0)
		r = set_artifacts(&env, from->artifacts, err);
	if (r == 0)
		*ret = take_ptr(list);
	return r;
}
