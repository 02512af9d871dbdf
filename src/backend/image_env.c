/* SPDX-License-Identifier: MIT */
#include "backend/image_env.h"

#include "base/auto.h"
#include "base/strv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define STANDARD_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define STANDARD_ROOT "/opt/conda"
#define MORE	      3 /* variables beside the image's own */
#define VARIABLES_MAX 4096

static const char *find(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env != NULL; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	}
	return NULL;
}

/* Takes text, "NAME=value", which may be NULL without memory; there is room for it. */
static int put(char **env, char *text, struct sbx_error *err)
{
	size_t i, len;

	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the image's variables");
	len = strcspn(text, "=") + 1;
	for (i = 0; env[i] != NULL && strncmp(env[i], text, len) != 0; i++)
		;
	free(env[i]);
	env[i] = text;
	return 0;
}

static char *joined(const char *name, const char *value)
{
	char *text = NULL;

	return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

static bool has_folder(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	for (; *path != '\0'; path += strcspn(path, ":"), path += *path == ':') {
		if (strcspn(path, ":") == len && strncmp(path, folder, len) == 0)
			return true;
	}
	return false;
}

static int prefer(char **env, const char *prefix, struct sbx_error *err)
{
	const char *path = find(env, "PATH") ?: STANDARD_PATH;
	auto_free char *folder = NULL;
	char *text = NULL;

	if (asprintf(&folder, "%s/bin", prefix) < 0)
		return put(env, folder = NULL, err);
	if (has_folder(path, folder))
		return 0;
	if (asprintf(&text, "PATH=%s:%s", folder, path) < 0)
		text = NULL;
	return put(env, text, err);
}

static int enter_mamba(char **env, const char *name, struct sbx_error *err)
{
	const char *root = find(env, "MAMBA_ROOT_PREFIX") ?: STANDARD_ROOT;
	auto_free char *prefix = NULL;
	int r;

	if (strcmp(name, "base") == 0)
		prefix = strdup(root);
	else if (asprintf(&prefix, "%s/envs/%s", root, name) < 0)
		prefix = NULL;
	if (prefix == NULL)
		return put(env, NULL, err);
	r = put(env, joined("CONDA_PREFIX", prefix), err);
	if (r == 0)
		r = put(env, joined("CONDA_DEFAULT_ENV", name), err);
	return r < 0 ? r : prefer(env, prefix, err);
}

int sbx_image_env_make(const json_t *list, const char *environment, char ***ret,
		       struct sbx_error *err)
{
	auto_strv char **env = calloc(json_array_size(list) + MORE + 1, sizeof(*env));
	const char *venv;
	json_t *item;
	int r = env ? 0 : sbx_fail_errno(err, ENOMEM, "cannot keep the image's variables");
	size_t i;

	if (json_array_size(list) > VARIABLES_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "the image sets more than %d variables", VARIABLES_MAX);

	json_array_foreach(list, i, item) {
		const char *text = json_string_value(item);

		if (r == 0 && text != NULL && text[0] != '=' && strchr(text, '=') != NULL)
			r = put(env, strdup(text), err);
	}
	venv = r == 0 ? find(env, "VIRTUAL_ENV") : NULL;
	if (r == 0 && venv != NULL && venv[0] == '/')
		r = prefer(env, venv, err);
	if (r == 0 && environment != NULL)
		r = enter_mamba(env, environment, err);
	if (r == 0)
		*ret = take_ptr(env);
	return r;
}
