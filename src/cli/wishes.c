/* SPDX-License-Identifier: MIT */
#include "cli/wishes.h"

#include "cli/paper.h"
#include "cli/settings_container.h"
#include "cli/trouble.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_of_sandbox(const struct option_row *o)
{
	return !o->flag_only && (o->group == GROUP_LIMITS || o->group == GROUP_SANDBOX ||
				 o->group == GROUP_NETWORK);
}

/* "HOST:INSIDE" with an absolute HOST, or a file. */
static int resolve_path(const char *value, char **ret, struct sbx_error *err)
{
	char here[PATH_MAX];

	if (value[0] == '/' || getcwd(here, sizeof(here)) == NULL)
		*ret = strdup(value);
	else if (asprintf(ret, "%s/%s", here, value) < 0)
		*ret = NULL;
	return *ret ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

static int resolve(const struct option_row *o, const char *value, const char *where, char **ret,
		   struct sbx_error *err)
{
	if (o->set == settings_add_env)
		return settings_assignment(value, where, ret, err);
	if (o->set == settings_add_mount)
		return resolve_path(value, ret, err);
	if (strcmp(option_name(o), "dockerfile") == 0 || strcmp(option_name(o), "context") == 0 ||
	    (o->set == settings_set_image && value[0] == '.'))
		return resolve_path(value, ret, err);
	if (o->set == settings_add_runtime_config)
		return settings_runtime_config(value, where, ret, err);
	*ret = strdup(value ? value : "true");
	return *ret ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

int wishes_note(struct settings *s, const struct option_row *o, const char *value,
		const char *where, struct sbx_error *err)
{
	auto_free char *resolved = NULL;
	json_t *wish;
	int r;

	if (s->wishes == NULL || !is_of_sandbox(o))
		return 0;
	r = resolve(o, value, where, &resolved, err);
	if (r < 0)
		return r;
	wish = json_pack("[s, o, o]", option_name(o), paper_text(resolved), paper_text(where));
	if (json_array_append_new(s->wishes, wish) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	return 0;
}

int wishes_apply(const json_t *wishes, struct settings *s, struct sbx_error *err)
{
	const json_t *wish;
	size_t i;

	json_array_foreach (wishes, i, wish) {
		const char *name = json_string_value(json_array_get(wish, 0));
		auto_free char *value = paper_bytes(json_array_get(wish, 1));
		auto_free char *where = paper_bytes(json_array_get(wish, 2));
		const struct option_row *o = name ? option_find(name) : NULL;
		int r;

		if (o == NULL || !is_of_sandbox(o) || value == NULL || where == NULL)
			return cli_fail(err, SBX_E_INVALID, "the request has a malformed option");
		r = option_set(o, s, value, where, err);
		if (r < 0)
			return r;
	}
	return 0;
}
