/* SPDX-License-Identifier: MIT */
/* The options of container engines. */
#include "cli/settings.h"

#include "cli/settings_container.h"
#include "cli/trouble.h"

#include <llmsandbox/container.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CONFIG_MAX (1u << 20)

static int check(int r, const char *where, struct sbx_error *err)
{
	return r < 0 ? cli_prefix(err, where) : 0;
}

/* What auto comes to depends on the options that are still to come. */
int settings_set_backend(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err)
{
	s->any_backend = strcmp(value, "auto") == 0;
	return s->any_backend ? 0 : check(sbx_spec_set_backend(s->spec, value, err), where, err);
}

int settings_set_image(struct settings *s, const char *value, const char *where,
		       struct sbx_error *err)
{
	return check(sbx_spec_set_image(s->spec, value, err), where, err);
}

int settings_set_container(struct settings *s, const char *value, const char *where,
			   struct sbx_error *err)
{
	return check(sbx_spec_set_container(s->spec, value, err), where, err);
}

int settings_set_environment(struct settings *s, const char *value, const char *where,
			     struct sbx_error *err)
{
	return check(sbx_spec_set_environment(s->spec, value, err), where, err);
}

static const char *const policies[] = {
	[SBX_PULL_MISSING] = "missing",
	[SBX_PULL_ALWAYS] = "always",
	[SBX_PULL_NEVER] = "never",
};

int settings_set_pull(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err)
{
	for (int i = 0; i < 3; i++) {
		if (strcasecmp(value, policies[i]) == 0)
			return check(sbx_spec_set_pull(s->spec, (enum sbx_pull)i, err), where, err);
	}
	return cli_fail(err, SBX_E_INVALID, "%s: '%.64s' is not missing, always or never", where, value);
}

/* A flag, or a tag. */
int settings_set_commit(struct settings *s, const char *value, const char *where,
			struct sbx_error *err)
{
	bool off = value != NULL && (strcmp(value, "false") == 0 || strcmp(value, "no") == 0);
	bool on = value == NULL || strcmp(value, "true") == 0 || strcmp(value, "yes") == 0;

	return check(sbx_spec_set_commit(s->spec, !off, on || off ? NULL : value, err), where, err);
}

/* A flag; in the environment and in files also true and false. */
int settings_drop_template(struct settings *s, const char *value, const char *where,
			   struct sbx_error *err)
{
	bool off = value != NULL && (strcmp(value, "false") == 0 || strcmp(value, "no") == 0);

	if (value != NULL && !off && strcmp(value, "true") != 0 && strcmp(value, "yes") != 0)
		return cli_fail(err, SBX_E_INVALID, "%s: '%.64s' is neither true nor false", where, value);
	s->keep_template = off;
	return 0;
}

/* ---- runtime_configs ---- */

static int read_file(const char *path, const char *where, char **ret, struct sbx_error *err)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(CONFIG_MAX + 1) : NULL;
	size_t len = text ? fread(text, 1, CONFIG_MAX + 1, f) : 0;
	int error = f == NULL || text == NULL ? errno : ferror(f) ? EIO : 0;

	if (f != NULL)
		fclose(f);
	if (error != 0 || len > CONFIG_MAX) {
		free(text);
		return cli_fail(err, SBX_E_INVALID, "%s: cannot read '%.256s': %s", where, path,
				error ? strerror(error) : "it is larger than 1 MiB");
	}
	text[len] = '\0';
	*ret = text;
	return 0;
}

int settings_runtime_config(const char *value, const char *where, char **ret, struct sbx_error *err)
{
	if (value[0] == '@')
		return read_file(value + 1, where, ret, err);
	*ret = strdup(value);
	return *ret ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

int settings_add_runtime_config(struct settings *s, const char *value, const char *where,
				struct sbx_error *err)
{
	char *json = NULL;
	int r = settings_runtime_config(value, where, &json, err);

	if (r == 0)
		r = check(sbx_spec_set_runtime_configs(s->spec, json, err), where, err);
	free(json);
	return r;
}

/* ---- all of it ---- */

static void say(const char *line, void *unused)
{
	(void)unused;
	cli_say("%s", line);
}

int settings_finish_container(struct settings *s, struct sbx_error *err)
{
	int r = 0;

	if (s->tag != NULL && s->dockerfile == NULL)
		return cli_fail(err, SBX_E_INVALID, "--tag needs --dockerfile, whose image it names");
	if (s->context != NULL && s->dockerfile == NULL)
		return cli_fail(err, SBX_E_INVALID, "--context needs --dockerfile, which is built with it");
	if (s->dockerfile != NULL)
		r = sbx_spec_set_dockerfile(s->spec, s->dockerfile, s->tag, err);
	if (r == 0 && s->context != NULL)
		r = sbx_spec_set_build_context(s->spec, s->context, err);
	sbx_spec_keep_template(s->spec, s->keep_template);
	if (s->skip_setup)
		sbx_spec_skip_environment_setup(s->spec, true);
	sbx_spec_on_progress(s->spec, say, NULL);
	if (r == 0 && s->any_backend)
		r = sbx_spec_set_backend(s->spec, "auto", err);
	return r;
}
