/* SPDX-License-Identifier: MIT */
#include "cli/settings.h"

#include "cli/settings_container.h"
#include "cli/trouble.h"
#include "cli/value.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORKERS_MAX 256

int settings_init(struct settings *s, struct sbx_error *err)
{
	/* Who types a command types it again: what was pulled or built for it is wanted then. */
	*s = (struct settings){.keep_template = true};
	return sbx_spec_new(&s->spec, err);
}

static void free_mount(struct mount_wish *m)
{
	free(m->host);
	free(m->inside);
	free(m->where);
}

static void free_list(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

void settings_done(struct settings *s)
{
	for (size_t i = 0; i < s->mount_count; i++)
		free_mount(&s->mounts[i]);
	free(s->mounts);
	for (size_t i = 0; i < s->rule_count; i++) {
		free(s->rules[i].rule);
		free(s->rules[i].where);
	}
	free(s->rules);
	free(s->language);
	free(s->code);
	free(s->config);
	free(s->workdir);
	free(s->session);
	free(s->kernel);
	free(s->artifacts);
	free(s->image_backend);
	free(s->dockerfile);
	free(s->context);
	free(s->tag);
	json_decref(s->wishes);
	free(s->http);
	free(s->path);
	free(s->token_file);
	free(s->tls_cert);
	free(s->tls_key);
	free_list(s->libraries);
	free_list(s->origins);
	free_list(s->hosts);
	sbx_spec_free(s->spec);
}

/* ---- environment ---- */

int settings_assignment(const char *value, const char *where, char **ret, struct sbx_error *err)
{
	const char *ours = getenv(value);

	*ret = NULL;
	if (strchr(value, '=') != NULL) {
		*ret = strdup(value);
	} else if (ours == NULL) {
		return cli_fail(err, SBX_E_INVALID,
				"%s: '%.64s' is not set here; write NAME=value to give it a value",
				where, value);
	} else if (asprintf(ret, "%s=%s", value, ours) < 0) {
		*ret = NULL;
	}
	return *ret ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

int settings_add_env(struct settings *s, const char *value, const char *where,
		     struct sbx_error *err)
{
	auto_free char *assignment = NULL;
	int r = settings_assignment(value, where, &assignment, err);

	if (r < 0)
		return r;
	return sbx_spec_add_env(s->spec, assignment, err) < 0 ? cli_prefix(err, where) : 0;
}

/* ---- mounts ---- */

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

/* From the right: a host path may have colons in it, an inside path cannot. */
static bool split_mount(const char *value, struct mount_wish *ret)
{
	size_t len = strlen(value);
	const char *colon;

	ret->writable = ends_with(value, len, ":rw");
	if (ret->writable || ends_with(value, len, ":ro"))
		len -= 3;
	colon = memrchr(value, ':', len);
	if (colon == NULL || colon == value || colon[1] != '/' || colon + 1 == value + len)
		return false;
	ret->host = strndup(value, (size_t)(colon - value));
	ret->inside = strndup(colon + 1, (size_t)(value + len - colon) - 1);
	return true;
}

/* The place for a mount at this path: an earlier one's, emptied, or a new one; or NULL. */
static struct mount_wish *mount_slot(struct settings *s, const char *inside)
{
	struct mount_wish *grown;

	for (size_t i = 0; i < s->mount_count; i++) {
		if (strcmp(s->mounts[i].inside, inside) == 0) {
			free_mount(&s->mounts[i]);
			return &s->mounts[i];
		}
	}
	grown = realloc(s->mounts, (s->mount_count + 1) * sizeof(*grown));
	if (grown == NULL)
		return NULL;
	s->mounts = grown;
	return &s->mounts[s->mount_count++];
}

int settings_add_mount(struct settings *s, const char *value, const char *where,
		       struct sbx_error *err)
{
	struct mount_wish wish = {0}, *slot = NULL;

	if (!split_mount(value, &wish))
		return cli_fail(err, SBX_E_INVALID,
				"%s: '%.128s' is no mount; write HOST:INSIDE or HOST:INSIDE:rw with an "
				"absolute path inside",
				where, value);
	wish.where = strdup(where);
	if (wish.host != NULL && wish.inside != NULL && wish.where != NULL)
		slot = mount_slot(s, wish.inside);
	if (slot == NULL) {
		free_mount(&wish);
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	}
	*slot = wish;
	return 0;
}

/* ---- user ---- */

static bool parse_id(const char *text, char end, uint32_t *ret, const char **ret_end)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 9 || (text[len] != '\0' && text[len] != end))
		return false;
	*ret = (uint32_t)strtoul(text, NULL, 10);
	*ret_end = text + len;
	return true;
}

int settings_set_user(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err)
{
	uint32_t uid, gid;
	const char *end;
	bool good = parse_id(value, ':', &uid, &end);

	gid = good ? uid : 0;
	if (good && *end == ':')
		good = parse_id(end + 1, '\0', &gid, &end);
	if (!good)
		return cli_fail(err, SBX_E_INVALID,
				"%s: '%.64s' is no user; write UID or UID:GID, numbers from 0 to 65534",
				where, value);
	return sbx_spec_set_user(s->spec, uid, gid, err) < 0 ? cli_prefix(err, where) : 0;
}

/* ---- network ---- */

int settings_set_network(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err)
{
	if (!sbx_network_mode_parse(value, &s->network))
		return cli_fail(err, SBX_E_INVALID,
				"%s: '%.64s' is none of: none, allow, packages, open", where, value);
	s->network_given = true;
	return 0;
}

static int add_rule(struct settings *s, const char *value, bool may_be_private, const char *where,
		    struct sbx_error *err)
{
	struct rule_wish wish = {strdup(value), may_be_private, strdup(where)}, *grown = NULL;

	if (wish.rule != NULL && wish.where != NULL)
		grown = realloc(s->rules, (s->rule_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(wish.rule);
		free(wish.where);
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	}
	s->rules = grown;
	s->rules[s->rule_count++] = wish;
	return 0;
}

int settings_add_allow(struct settings *s, const char *value, const char *where,
		       struct sbx_error *err)
{
	return add_rule(s, value, false, where, err);
}

int settings_add_allow_private(struct settings *s, const char *value, const char *where,
			       struct sbx_error *err)
{
	return add_rule(s, value, true, where, err);
}

static const struct sbx_limit_info bytes_range = {.unit = SBX_UNIT_BYTES, .most = 1ull << 50};
static const struct sbx_limit_info count_range = {.unit = SBX_UNIT_COUNT, .least = 1, .most = 4096};

int settings_set_network_bytes(struct settings *s, const char *value, const char *where,
			       struct sbx_error *err)
{
	int r = value_parse(&bytes_range, value, &s->network_limits.bytes, err);

	return r < 0 ? cli_prefix(err, where) : 0;
}

int settings_set_network_rate(struct settings *s, const char *value, const char *where,
			      struct sbx_error *err)
{
	int r = value_parse(&bytes_range, value, &s->network_limits.bytes_per_second, err);

	return r < 0 ? cli_prefix(err, where) : 0;
}

int settings_set_connections(struct settings *s, const char *value, const char *where,
			     struct sbx_error *err)
{
	uint64_t count;
	int r = value_parse(&count_range, value, &count, err);

	if (r < 0)
		return cli_prefix(err, where);
	s->network_limits.connections = (uint32_t)count;
	return 0;
}

/* ---- sessions ---- */

#define DAY_MS (24ull * 3600 * 1000)

static const struct sbx_limit_info idle = {
	.unit = SBX_UNIT_MS, .least = 1, .most = 30 * DAY_MS, .standard = 3600 * 1000};

static int set_idle(uint64_t *ret, const char *value, const char *where, struct sbx_error *err)
{
	if (strcasecmp(value, "none") == 0)
		*ret = SBX_TIMEOUT_NONE;
	else if (value_parse(&idle, value, ret, err) < 0)
		return cli_prefix(err, where);
	return 0;
}

int settings_set_idle(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err)
{
	return set_idle(&s->idle_ms, value, where, err);
}

int settings_set_holder_idle(struct settings *s, const char *value, const char *where,
			     struct sbx_error *err)
{
	return set_idle(&s->holder_idle_ms, value, where, err);
}

/* ---- the MCP server ---- */

static int append(char ***list, const char *value, const char *where, struct sbx_error *err)
{
	size_t n = 0;
	char **grown;

	if (value[0] == '\0')
		return cli_fail(err, SBX_E_INVALID, "%s: is empty", where);
	while (*list != NULL && (*list)[n] != NULL)
		n++;
	grown = realloc(*list, (n + 2) * sizeof(*grown));
	if (grown == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	*list = grown;
	grown[n] = strdup(value);
	grown[n + 1] = NULL;
	return grown[n] ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

int settings_add_origin(struct settings *s, const char *value, const char *where,
			struct sbx_error *err)
{
	return append(&s->origins, value, where, err);
}

int settings_add_host(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err)
{
	return append(&s->hosts, value, where, err);
}

/* ---- libraries ---- */

int settings_add_library(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err)
{
	return append(&s->libraries, value, where, err);
}

int settings_set_library_cache(struct settings *s, const char *value, const char *where,
			       struct sbx_error *err)
{
	static const struct sbx_limit_info range = {.name = "library-cache", .unit = SBX_UNIT_BYTES,
						    .most = 1ull << 50};
	uint64_t bytes;
	char text[32];

	(void)s;
	if (value_parse(&range, value, &bytes, err) < 0)
		return cli_prefix(err, where);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	if (setenv("LLM_SANDBOX_LIBRARY_CACHE", text, 1) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	return 0;
}

int settings_set_workers(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err)
{
	size_t len = strspn(value, "0123456789");

	s->workers = len > 0 && len <= 3 && value[len] == '\0' ? strtoul(value, NULL, 10) : 0;
	if (s->workers < 1 || s->workers > WORKERS_MAX)
		return cli_fail(err, SBX_E_INVALID, "%s: '%.64s' is no number from 1 to %d", where,
				value, WORKERS_MAX);
	return 0;
}

/* ---- the end ---- */

static int add_mounts(struct settings *s, struct sbx_error *err)
{
	for (size_t i = 0; i < s->mount_count; i++) {
		const struct mount_wish *m = &s->mounts[i];

		if (sbx_spec_add_mount(s->spec, m->host, m->inside, m->writable, err) < 0)
			return cli_prefix(err, m->where);
	}
	return 0;
}

static int fill_network(const struct settings *s, struct sbx_network *network,
			struct sbx_error *err)
{
	for (size_t i = 0; i < s->rule_count; i++) {
		const struct rule_wish *w = &s->rules[i];

		if (sbx_network_allow(network, w->rule, w->may_be_private, err) < 0)
			return cli_prefix(err, w->where);
	}
	sbx_network_set_limits(network, &s->network_limits);
	return 0;
}

/* A rule is checked also where there is to be no network: it may be misspelt. */
int settings_make_network(const struct settings *s, struct sbx_network **ret, struct sbx_error *err)
{
	struct sbx_network *network;
	int r;

	*ret = NULL;
	if (!s->network_given && s->rule_count == 0)
		return 0;
	r = sbx_network_new(s->network_given ? s->network : SBX_NETWORK_ALLOW, &network, err);
	if (r < 0)
		return r;
	r = fill_network(s, network, err);
	if (r == 0)
		*ret = network;
	else
		sbx_network_free(network);
	return r;
}

static int set_network(struct settings *s, struct sbx_error *err)
{
	struct sbx_network *network;
	int r = settings_make_network(s, &network, err);

	if (r < 0 || network == NULL)
		return r;
	r = sbx_spec_set_network(s->spec, network, err);
	sbx_network_free(network);
	return r;
}

int settings_finish(struct settings *s, struct sbx_error *err)
{
	int r = add_mounts(s, err);

	if (r == 0 && s->spec != NULL)
		r = settings_finish_container(s, err);
	/* Which folders there are depends on the backend. */
	if (r == 0 && s->workdir != NULL)
		r = sbx_spec_set_workdir(s->spec, s->workdir, err);
	return r < 0 ? r : set_network(s, err);
}
