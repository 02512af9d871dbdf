/* SPDX-License-Identifier: MIT */
#include "spec_from.h"

#include "complain.h"
#include "config.h"
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const struct sbx_error *err)
{
	complain("%s", err->msg);
	return -1;
}

static int apply_limit(struct sbx_spec *spec, const struct options *o, enum option_id id)
{
	const struct sbx_limit_info *info = sbx_limit_describe(option_rows[id].limit);
	char least[32], most[32];
	struct sbx_error err;
	uint64_t value;

	if (o->value[id] == NULL)
		return 0;
	if (value_parse(o->value[id], info->unit, &value) &&
	    sbx_spec_set_limit(spec, option_rows[id].limit, value, &err) == 0)
		return 0;
	value_format(info->least, info->unit, least, sizeof(least));
	value_format(info->most, info->unit, most, sizeof(most));
	complain("%s cannot be '%.64s'; it goes from %s to %s", o->origin[id], o->value[id], least,
		 most);
	return -1;
}

static int apply_env(struct sbx_spec *spec, const struct options *o)
{
	struct sbx_error err;

	for (size_t i = 0; i < o->env_count; i++) {
		const char *text = o->env[i];
		char *joined = NULL;
		int r;

		if (strchr(text, '=') == NULL && getenv(text) != NULL &&
		    asprintf(&joined, "%s=%s", text, getenv(text)) < 0)
			return complain("no memory"), -1;
		if (strchr(text, '=') == NULL && joined == NULL)
			return complain("--env %.64s: our environment has no such variable", text), -1;
		r = sbx_spec_add_env(spec, joined ? joined : text, &err);
		free(joined);
		if (r < 0)
			return refuse(&err);
	}
	return 0;
}

/* HOST:INSIDE, HOST:INSIDE:rw, HOST:INSIDE:ro */
static int apply_mount(struct sbx_spec *spec, const char *text)
{
	char *copy = strdup(text), *inside, *mode;
	bool writable = false;
	struct sbx_error err;
	int r = 0;

	inside = copy ? strchr(copy, ':') : NULL;
	if (inside == NULL) {
		complain("--mount '%.128s' is not HOST:INSIDE or HOST:INSIDE:rw", text);
		free(copy);
		return -1;
	}
	*inside++ = '\0';
	mode = strchr(inside, ':');
	if (mode != NULL) {
		*mode++ = '\0';
		writable = strcmp(mode, "rw") == 0;
		if (!writable && strcmp(mode, "ro") != 0) {
			complain("--mount '%.128s': the mode is rw or ro", text);
			r = -1;
		}
	}
	if (r == 0 && sbx_spec_add_mount(spec, copy, inside, writable, &err) < 0)
		r = refuse(&err);
	free(copy);
	return r;
}

static int apply_user(struct sbx_spec *spec, const char *text)
{
	unsigned int uid, gid;
	struct sbx_error err;
	int end = 0, n;

	if (text == NULL)
		return 0;
	n = sscanf(text, "%u%n:%u%n", &uid, &end, &gid, &end);
	if (n < 1 || text[end] != '\0' || text[0] == '-')
		return complain("--user '%.64s' is not UID or UID:GID, in numbers", text), -1;
	if (n == 1)
		gid = uid;
	return sbx_spec_set_user(spec, uid, gid, &err) < 0 ? refuse(&err) : 0;
}

static int apply(struct sbx_spec *spec, const struct options *o)
{
	struct sbx_error err;
	int r = 0;

	if (o->value[OPT_BACKEND] && sbx_spec_set_backend(spec, o->value[OPT_BACKEND], &err) < 0)
		return refuse(&err);
	for (int i = 0; i < OPT_COUNT && r == 0; i++) {
		if (option_rows[i].kind == OPTION_LIMIT)
			r = apply_limit(spec, o, (enum option_id)i);
	}
	if (r == 0)
		r = apply_env(spec, o);
	for (size_t i = 0; i < o->mount_count && r == 0; i++)
		r = apply_mount(spec, o->mounts[i]);
	if (r == 0)
		r = apply_user(spec, o->value[OPT_USER]);
	if (r == 0 && o->value[OPT_WORKDIR] &&
	    sbx_spec_set_workdir(spec, o->value[OPT_WORKDIR], &err) < 0)
		return refuse(&err);
	return r;
}

/* Flags must be known before the files are read (--config), but count after them. */
static int gather(unsigned int command, int argc, char **argv, struct options *o, bool *ret_ended)
{
	static struct options flags;
	int first = options_parse(&flags, command, argc, argv, ret_ended);
	int r = 0;

	if (first < 0 || flags.value[OPT_HELP] != NULL)
		return first < 0 ? -1 : 0;
	r = flags.value[OPT_CONFIG] ? config_read(o, flags.value[OPT_CONFIG])
				    : config_read_usual(o);
	if (r == 0)
		r = options_from_environment(o);
	if (r == 0)
		r = options_parse(o, command, argc, argv, ret_ended);
	return r;
}

int spec_from_command(unsigned int command, int argc, char **argv, struct options *o,
		      struct sbx_spec **ret, bool *ret_ended)
{
	int first = gather(command, argc, argv, o, ret_ended);
	struct sbx_error err;

	if (first <= 0)
		return first;
	if (sbx_spec_new(ret, &err) < 0)
		return refuse(&err);
	return apply(*ret, o) < 0 ? -1 : first;
}
