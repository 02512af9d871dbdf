/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/environment.h"

#include "backend/spec.h"
#include "base/auto.h"
#include "base/error.h"
#include "egress/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A variable that is set: its row, its name (a row may have two), its value. */
struct given {
	const struct rule *rule;
	const char *name, *value;
};

typedef int rule_fn(const struct given *g, struct mcp_environment *e, struct sbx_error *err);

struct rule {
	const char *name;
	const char *otherwise;	  /* is looked at when name is not set, or NULL */
	bool blank_falls_through; /* a value of blanks is as good as none */
	rule_fn *apply;
	const char *reason; /* why it cannot be had here */
};

static rule_fn set_backend, set_memory, set_cpus, set_sessions, set_idle, set_lifetime, set_network,
	add_hosts, set_install, set_artifacts, set_structured, set_image, set_embed, set_answer,
	set_container_image, set_micromamba, set_pull, set_runtime, set_read_only, set_capabilities,
	set_privileged, set_security, set_network_mode, set_commit, set_keep_template, refuse;

static const struct rule rules[] = {
	{"BACKEND", NULL, true, set_backend, NULL},
	{"SANDBOX_MEM_LIMIT", "SANDBOX_MEMORY", true, set_memory, NULL},
	{"SANDBOX_CPU_COUNT", "SANDBOX_CPUS", false, set_cpus, NULL},
	{"SANDBOX_SESSIONS", NULL, true, set_sessions, NULL},
	{"SANDBOX_SESSION_IDLE", NULL, true, set_idle, NULL},
	{"SANDBOX_SESSION_LIFETIME", NULL, true, set_lifetime, NULL},
	{"SANDBOX_NETWORK", NULL, true, set_network, NULL},
	{"SANDBOX_ALLOW", NULL, true, add_hosts, NULL},
	{"SANDBOX_INSTALL", NULL, true, set_install, NULL},
	{"SANDBOX_ARTIFACTS", NULL, true, set_artifacts, NULL},
	{"SANDBOX_STRUCTURED", NULL, true, set_structured, NULL},
	{"SANDBOX_IMAGE_BYTES", NULL, true, set_image, NULL},
	{"SANDBOX_EMBED_BYTES", NULL, true, set_embed, NULL},
	{"SANDBOX_ANSWER_BYTES", NULL, true, set_answer, NULL},
	{"SANDBOX_IMAGE", NULL, true, set_container_image, NULL},
	{"SANDBOX_ENVIRONMENT", NULL, true, set_micromamba, NULL},
	{"SANDBOX_PULL", NULL, true, set_pull, NULL},
	{"SANDBOX_RUNTIME_CONFIGS", NULL, true, set_runtime, NULL},
	/* Natively the system's folders are read-only always, and capabilities are dropped always. */
	{"SANDBOX_READ_ONLY", NULL, false, set_read_only, NULL},
	{"SANDBOX_CAP_DROP", NULL, true, set_capabilities, NULL},
	{"SANDBOX_PRIVILEGED", NULL, false, set_privileged,
	 "the native backend gives no sandbox privileges"},
	{"SANDBOX_SECURITY_OPT", NULL, true, set_security,
	 "the native backend's own filters are always on"},
	{"SANDBOX_NETWORK_MODE", NULL, true, set_network_mode,
	 "a sandbox has no network of its own; SANDBOX_NETWORK says what it may reach"},
	{"COMMIT_CONTAINER", NULL, true, set_commit,
	 "the native backend has no images: a sandbox and all in it are gone after each call"},
	{"KEEP_TEMPLATE", NULL, true, set_keep_template, "the native backend makes no images to keep"},
	{"NAMESPACE", NULL, true, refuse, "only the kubernetes backend has namespaces"},
};

/* ---- values ---- */

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* The value without blanks around it; false when it does not fit. */
static bool trim(const char *text, char *ret, size_t size)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	if (len >= size)
		return false;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (strcasecmp(text, *words) == 0)
			return true;
	}
	return false;
}

static const char *const yes_words[] = {"true", "1", "yes", "on", NULL};
static const char *const no_words[] = {"false", "0", "no", "off", NULL};

static int read_flag(const struct given *g, bool *ret, struct sbx_error *err)
{
	char value[16];
	bool fits = trim(g->value, value, sizeof(value));

	if (!fits || (!is_one_of(value, yes_words) && !is_one_of(value, no_words)))
		return sbx_fail(err, SBX_E_INVALID,
				"%s must be one of: true, false, 1, 0, yes, no, on, off", g->name);
	*ret = is_one_of(value, yes_words);
	return 0;
}

/* A decimal number, "2" or "0.5", and what is behind it. */
static bool read_number(const char *text, double *ret, const char **ret_end)
{
	size_t whole = strspn(text, "0123456789"), len = whole;

	if (text[len] == '.')
		len += 1 + strspn(text + len + 1, "0123456789");
	if (whole == 0 || len > 32)
		return false;
	*ret = strtod(text, NULL);
	*ret_end = text + len;
	return true;
}

/* Call check for each item of a comma list that is not blank. */
static int for_each_item(const struct given *g, struct mcp_environment *e,
			 int (*check)(const struct given *g, struct mcp_environment *e,
				      const char *item, struct sbx_error *err),
			 struct sbx_error *err)
{
	auto_free char *copy = strdup(g->value);
	char *rest = copy, *word, item[280];
	int r = 0;

	if (copy == NULL)
		return sbx_fail(err, SBX_E_SYSTEM, "out of memory");
	while (r == 0 && (word = strsep(&rest, ",")) != NULL) {
		if (is_blank(word))
			continue;
		if (!trim(word, item, sizeof(item)))
			return sbx_fail(err, SBX_E_INVALID, "%s: '%.64s…' is too long", g->name,
					word);
		r = check(g, e, item, err);
	}
	return r;
}

static int refuse(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	(void)e;
	return sbx_fail(err, SBX_E_INVALID, "%s=%.64s cannot be had: %s; unset it", g->name,
			g->value, g->rule->reason);
}

/* ---- what is applied ---- */

static int set_backend(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	char value[sizeof(e->backend)];
	bool fits = trim(g->value, value, sizeof(value));

	for (char *c = value; fits && *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	if (fits && strcmp(value, "kubernetes") == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"BACKEND=kubernetes is not in this version; set it to native, docker or podman");
	memcpy(e->backend, fits ? value : "(too long)", fits ? sizeof(value) : 11);
	return 0;
}

struct suffix {
	const char *text;
	double factor;
};

static bool find_factor(const char *text, double *ret)
{
	static const struct suffix suffixes[] = {
		{"", 1},
		{"b", 1},
		{"k", 1024.0},
		{"kb", 1024.0},
		{"m", 1048576.0},
		{"mb", 1048576.0},
		{"g", 1073741824.0},
		{"gb", 1073741824.0},
		{"t", 1099511627776.0},
		{"tb", 1099511627776.0},
	};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcasecmp(suffixes[i].text, text) == 0) {
			*ret = suffixes[i].factor;
			return true;
		}
	}
	return false;
}

static int check_range(const struct given *g, enum sbx_limit limit, double value,
		       struct sbx_error *err)
{
	const struct sbx_limit_info *info = sbx_limit_describe(limit);

	if (value < (double)info->least || value > (double)info->most)
		return sbx_fail(err, SBX_E_INVALID, "%s=%.64s is out of range", g->name, g->value);
	return 0;
}

static int read_size(const struct given *g, const char *example, double *ret, struct sbx_error *err)
{
	char value[64];
	const char *end;
	double number, factor;

	if (!trim(g->value, value, sizeof(value)) || !read_number(value, &number, &end) ||
	    !find_factor(end, &factor))
		return sbx_fail(err, SBX_E_INVALID, "%s=%.64s is no size; write it as %s", g->name,
				g->value, example);
	*ret = number * factor;
	return 0;
}

static int set_memory(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	double bytes = 0;

	if (read_size(g, "512m or 2g", &bytes, err) < 0 ||
	    check_range(g, SBX_LIMIT_MEMORY_BYTES, bytes, err) < 0)
		return -(int)err->code;
	e->memory_bytes = (uint64_t)bytes;
	return 0;
}

/* SANDBOX_CPU_COUNT is a whole number, SANDBOX_CPUS any. */
static int set_cpus(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	bool whole = strcmp(g->name, g->rule->name) == 0;
	char value[64];
	const char *end;
	double number;

	if (!trim(g->value, value, sizeof(value)) || !read_number(value, &number, &end) ||
	    *end != '\0' || number <= 0 || (whole && strchr(value, '.') != NULL))
		return sbx_fail(err, SBX_E_INVALID, "%s must be a %s greater than 0", g->name,
				whole ? "whole number" : "number");
	if (check_range(g, SBX_LIMIT_CPU_MILLI, number * 1000, err) < 0)
		return -(int)err->code;
	e->cpu_milli = (uint64_t)(number * 1000 + 0.5);
	return 0;
}

/* ---- sessions ---- */

#define SESSIONS_MOST 10000
#define SECONDS_MOST  (7.0 * 24 * 3600)

/* A whole number from 1. */
static int read_whole(const struct given *g, double most, uint64_t *ret, struct sbx_error *err)
{
	char value[64];
	const char *end;
	double number;

	if (!trim(g->value, value, sizeof(value)) || !read_number(value, &number, &end) ||
	    *end != '\0' || strchr(value, '.') != NULL || number < 1 || number > most)
		return sbx_fail(err, SBX_E_INVALID, "%s must be a whole number from 1 to %.0f", g->name,
				most);
	*ret = (uint64_t)number;
	return 0;
}

static int set_sessions(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	uint64_t number = 0;
	int r = read_whole(g, SESSIONS_MOST, &number, err);

	e->sessions = (size_t)number;
	return r;
}

static int set_seconds(const struct given *g, uint64_t *ret_ms, struct sbx_error *err)
{
	int r = read_whole(g, SECONDS_MOST, ret_ms, err);

	*ret_ms *= 1000;
	return r;
}

static int set_idle(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return set_seconds(g, &e->idle_ms, err);
}

static int set_lifetime(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return set_seconds(g, &e->lifetime_ms, err);
}

/* ---- network ---- */

static int set_network(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	enum sbx_network_mode mode;
	char value[16];

	if (!trim(g->value, value, sizeof(value)) || !sbx_network_mode_parse(value, &mode))
		return sbx_fail(err, SBX_E_INVALID, "%s must be one of: none, allow, packages, open",
				g->name);
	return sbx_network_new(mode, &e->network, err);
}

static int add_host(const struct given *g, struct mcp_environment *e, const char *item,
		    struct sbx_error *err)
{
	int r = sbx_network_allow(e->network, item, false, err);

	return r < 0 ? sbx_wrap(err, "%s", g->name) : 0;
}

/* Hosts alone mean that these may be reached; after SANDBOX_NETWORK, which stands before. */
static int add_hosts(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	int r = e->network ? 0 : sbx_network_new(SBX_NETWORK_ALLOW, &e->network, err);

	return r < 0 ? r : for_each_item(g, e, add_host, err);
}

/* ---- libraries ---- */

static int set_install(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	char value[16];
	bool on = false;

	if (trim(g->value, value, sizeof(value)) && strcasecmp(value, "offline") == 0) {
		e->install = MCP_INSTALL_OFFLINE;
		return 0;
	}
	if (read_flag(g, &on, err) < 0)
		return sbx_fail(err, SBX_E_INVALID, "%s must be one of: on, off, offline", g->name);
	e->install = on ? MCP_INSTALL_ON : MCP_INSTALL_OFF;
	return 0;
}

/* ---- what an answer has ---- */

static int set_artifacts(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return read_flag(g, &e->artifacts, err);
}

static int set_structured(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return read_flag(g, &e->structured, err);
}

static int set_size(const struct given *g, size_t *ret, struct sbx_error *err)
{
	double bytes = 0;

	if (read_size(g, "512k or 2m", &bytes, err) < 0)
		return -(int)err->code;
	if (bytes > MCP_ANSWER_MOST)
		return sbx_fail(err, SBX_E_INVALID, "%s=%.64s is more than %d MiB", g->name, g->value,
				MCP_ANSWER_MOST >> 20);
	*ret = (size_t)bytes;
	return 0;
}

static int set_image(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return set_size(g, &e->image_bytes, err);
}

static int set_embed(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return set_size(g, &e->embed_bytes, err);
}

static int set_answer(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return set_size(g, &e->answer_bytes, err);
}

/* ---- of container engines ---- */

/* auto may come to an engine: what is asked of one then makes it one. */
static bool is_native(const struct mcp_environment *e)
{
	return strcmp(e->backend, "native") == 0 || strcmp(e->backend, "fake") == 0;
}

static int refuse_native(const struct given *g, const struct mcp_environment *e,
			 struct sbx_error *err)
{
	if (!is_native(e))
		return 0;
	return sbx_fail(err, SBX_E_INVALID,
			"%s=%.64s cannot be had: it is of container engines; set BACKEND, or unset it",
			g->name, g->value);
}

static int set_name(const struct given *g, char *ret, size_t size, struct sbx_error *err)
{
	return trim(g->value, ret, size) ? 0
					 : sbx_fail(err, SBX_E_INVALID, "%s is too long", g->name);
}

/* The native backend has images too. */
static int set_container_image(const struct given *g, struct mcp_environment *e,
			       struct sbx_error *err)
{
	return set_name(g, e->image, sizeof(e->image), err);
}

static int set_micromamba(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	/* It is of an image, which an engine always has. */
	int r = e->image[0] == '\0' ? refuse_native(g, e, err) : 0;

	return r < 0 ? r : set_name(g, e->micromamba, sizeof(e->micromamba), err);
}

static int set_pull(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	static const char *const policies[] = {"missing", "always", "never"};
	char value[16] = "";
	int r = refuse_native(g, e, err);

	for (int i = 0; r == 0 && i < 3; i++) {
		if (trim(g->value, value, sizeof(value)) && strcasecmp(value, policies[i]) == 0) {
			e->pull = (enum sbx_pull)i;
			return 0;
		}
	}
	return r < 0 ? r : sbx_fail(err, SBX_E_INVALID, "%s must be one of: missing, always, never",
				    g->name);
}

/* Keep it among the runtime_configs; takes value. */
static int add_runtime(const struct given *g, struct mcp_environment *e, const char *name,
		       json_t *value, struct sbx_error *err)
{
	if (e->runtime == NULL)
		e->runtime = json_object();
	return json_object_set_new(e->runtime, name, value) == 0
		       ? 0
		       : sbx_fail_errno(err, ENOMEM, "cannot keep %s", g->name);
}

static int set_runtime(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	json_error_t where;
	int r = refuse_native(g, e, err);

	if (r < 0)
		return r;
	e->runtime = json_loads(g->value, JSON_REJECT_DUPLICATES, &where);
	return json_is_object(e->runtime)
		       ? 0
		       : sbx_fail(err, SBX_E_INVALID, "%s is no JSON object: %.120s", g->name, where.text);
}

static int set_read_only(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	bool on = false;
	int r = read_flag(g, &on, err);

	return r < 0 || is_native(e) ? r : add_runtime(g, e, "read_only", json_boolean(on), err);
}

static int check_capability(const struct given *g, struct mcp_environment *e, const char *item,
			    struct sbx_error *err)
{
	(void)e;
	for (const char *c = item; *c != '\0'; c++) {
		if (!isalpha((unsigned char)*c) && *c != '_')
			return sbx_fail(err, SBX_E_INVALID, "%s: '%.64s' is no capability", g->name,
					item);
	}
	return 0;
}

/* All are dropped anyway. */
static int set_capabilities(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return for_each_item(g, e, check_capability, err);
}

static int set_privileged(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	bool on = false;
	int r = read_flag(g, &on, err);

	if (r < 0 || !on)
		return r;
	return is_native(e) ? refuse(g, e, err) : add_runtime(g, e, "privileged", json_true(), err);
}

static int add_security(const struct given *g, struct mcp_environment *e, const char *item,
			struct sbx_error *err)
{
	static const char *const given_anyway[] = {"no-new-privileges", "no-new-privileges:true",
						   "no-new-privileges=true", NULL};

	if (is_one_of(item, given_anyway))
		return 0;
	if (is_native(e))
		return sbx_fail(err, SBX_E_INVALID, "%s: '%.64s' cannot be had: %s; leave it out",
				g->name, item, g->rule->reason);
	if (json_object_get(e->runtime, "security_opt") == NULL &&
	    add_runtime(g, e, "security_opt", json_array(), err) < 0)
		return -(int)err->code;
	json_array_append_new(json_object_get(e->runtime, "security_opt"), json_string(item));
	return 0;
}

static int set_security(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	return for_each_item(g, e, add_security, err);
}

static int set_network_mode(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	char value[128];

	if (trim(g->value, value, sizeof(value)) && strcmp(value, "none") == 0)
		return 0;
	if (is_native(e))
		return refuse(g, e, err);
	return add_runtime(g, e, "network_mode", json_string(value), err);
}

/* The original's other flags: whatever is not a yes is a no. */
static bool says_yes(const struct given *g)
{
	char value[16];

	return trim(g->value, value, sizeof(value)) && is_one_of(value, yes_words);
}

static int set_commit(const struct given *g, struct mcp_environment *e, struct sbx_error *err)
{
	e->commit = says_yes(g);
	return e->commit && is_native(e) ? refuse(g, e, err) : 0;
}

static int set_keep_template(const struct given *g, struct mcp_environment *e,
			     struct sbx_error *err)
{
	e->keep_template = says_yes(g);
	return e->keep_template && is_native(e) ? refuse(g, e, err) : 0;
}

/* ---- all of it ---- */

static const char *find_variable(const char *const *variables, const char *name)
{
	size_t len = strlen(name);

	for (; *variables != NULL; variables++) {
		if (strncmp(*variables, name, len) == 0 && (*variables)[len] == '=')
			return *variables + len + 1;
	}
	return NULL;
}

static bool find_given(const char *const *variables, const struct rule *rule, struct given *ret)
{
	const char *const names[] = {rule->name, rule->otherwise};

	for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
		const char *value = find_variable(variables, names[i]);

		if (value == NULL || (rule->blank_falls_through && is_blank(value)))
			continue;
		*ret = (struct given){.rule = rule, .name = names[i], .value = value};
		return true;
	}
	return false;
}

/* A call says these by itself, or they are of no use to it. */
static bool is_of_the_call(enum sbx_limit limit)
{
	return limit == SBX_LIMIT_WALL_MS || limit == SBX_LIMIT_EXECUTION_MS ||
	       limit == SBX_LIMIT_HEAD_BYTES || limit == SBX_LIMIT_TAIL_BYTES;
}

static int copy_limits(const struct sbx_spec *limits, struct sbx_spec *spec, struct sbx_error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && limits != NULL && i < SBX_LIMIT_COUNT; i++) {
		enum sbx_limit limit = (enum sbx_limit)i;

		if (!is_of_the_call(limit))
			r = sbx_spec_set_limit(spec, limit, sbx_spec_get_limit(limits, limit), err);
	}
	return r;
}

/* What is said of all sandboxes is the most that a call may ask for too. */
static void set_most(uint64_t *most, const struct sbx_spec *limits, enum sbx_limit limit)
{
	uint64_t value = sbx_spec_get_limit(limits, limit);
	bool is_none = (limits->container.unlimited & 1u << limit) != 0;

	if (*most == 0 && !is_none && value != sbx_limit_describe(limit)->standard)
		*most = value;
}

void mcp_environment_set_limits(struct mcp_environment *e, const struct sbx_spec *limits)
{
	e->limits = limits;
	set_most(&e->memory_bytes, limits, SBX_LIMIT_MEMORY_BYTES);
	set_most(&e->cpu_milli, limits, SBX_LIMIT_CPU_MILLI);
}

static int set_container(const struct mcp_environment *e, struct sbx_spec *spec,
			 struct sbx_error *err)
{
	char *json = e->runtime ? json_dumps(e->runtime, JSON_COMPACT) : NULL;
	int r = 0;

	if (e->runtime != NULL && json == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep runtime_configs");
	if (json != NULL)
		r = sbx_spec_set_runtime_configs(spec, json, err);
	free(json);
	if (r == 0 && e->image[0] != '\0')
		r = sbx_spec_set_image(spec, e->image, err);
	if (r == 0 && e->micromamba[0] != '\0')
		r = sbx_spec_set_environment(spec, e->micromamba, err);
	if (r == 0)
		r = sbx_spec_set_pull(spec, e->pull, err);
	if (r == 0)
		r = sbx_spec_set_commit(spec, e->commit, NULL, err);
	sbx_spec_keep_template(spec, e->keep_template);
	sbx_spec_on_progress(spec, e->on_engine_line, NULL);
	return r;
}

int mcp_environment_make_spec(const struct mcp_environment *environment, struct sbx_spec **ret,
			      struct sbx_error *err)
{
	struct sbx_spec *spec;
	int r = sbx_spec_new(&spec, err);

	if (r < 0)
		return r;
	/* What auto comes to depends on what is asked of containers, and the rest on the backend. */
	if (strcmp(environment->backend, "auto") != 0)
		r = sbx_spec_set_backend(spec, environment->backend, err);
	/* What containers are to have goes before what all sandboxes have. */
	if (r == 0)
		r = copy_limits(environment->limits, spec, err);
	if (r == 0)
		r = set_container(environment, spec, err);
	if (r == 0 && strcmp(environment->backend, "auto") == 0)
		r = sbx_spec_set_backend(spec, environment->backend, err);
	if (r == 0 && environment->memory_bytes != 0)
		r = sbx_spec_set_limit(spec, SBX_LIMIT_MEMORY_BYTES, environment->memory_bytes,
				       err);
	if (r == 0 && environment->cpu_milli != 0)
		r = sbx_spec_set_limit(spec, SBX_LIMIT_CPU_MILLI, environment->cpu_milli, err);
	if (r < 0) {
		sbx_spec_free(spec);
		return r;
	}
	*ret = spec;
	return 0;
}

int mcp_environment_set_network(struct mcp_environment *e, const struct sbx_network *network,
				struct sbx_error *err)
{
	struct sbx_network *copy = sbx_network_copy(network);

	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep a network");
	sbx_network_free(e->network);
	e->network = copy;
	return 0;
}

void mcp_environment_done(struct mcp_environment *e)
{
	sbx_network_free(e->network);
	e->network = NULL;
	json_decref(e->runtime);
	e->runtime = NULL;
}

int mcp_environment_read(const char *const *variables, struct mcp_environment *ret,
			 struct sbx_error *err)
{
	struct mcp_environment e = {
		.backend = "native",
		.keep_template = true,
		.artifacts = true,
		.structured = true,
		.image_bytes = MCP_IMAGE_BYTES,
		.embed_bytes = MCP_EMBED_BYTES,
		.answer_bytes = MCP_ANSWER_BYTES,
	};
	struct sbx_spec *spec;
	struct given given;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (find_given(variables, &rules[i], &given))
			r = rules[i].apply(&given, &e, err);
	}
	/* A spec knows which backends there are. */
	if (r == 0)
		r = mcp_environment_make_spec(&e, &spec, err);
	if (r < 0) {
		mcp_environment_done(&e);
		return r;
	}
	set_most(&e.memory_bytes, spec, SBX_LIMIT_MEMORY_BYTES);
	set_most(&e.cpu_milli, spec, SBX_LIMIT_CPU_MILLI);
	sbx_spec_free(spec);
	*ret = e;
	return 0;
}
