/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include "cli/closest.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/trouble.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define CONFIG_MAX    (64u << 10)
#define SYSTEM_CONFIG "/etc/llm-sandbox/config.yaml"
#define PREFIX	      "LLM_SANDBOX_"
#define SERVER_PREFIX "LLM_SANDBOX_MCP_" /* the MCP server's, and no settings */

/* One file while it is read. */
struct reader {
	const char *path;
	yaml_document_t document;
	struct settings *settings;
	char where[200]; /* "path:line: key" of what is being set */
};

/* ---- YAML ---- */

static const char *scalar(const yaml_node_t *node)
{
	/* A NUL in a scalar would cut it short. */
	if (node == NULL || node->type != YAML_SCALAR_NODE ||
	    strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return NULL;
	return (const char *)node->data.scalar.value;
}

static void set_where(struct reader *r, const yaml_node_t *node, const char *key)
{
	snprintf(r->where, sizeof(r->where), "%.120s:%zu: %.48s", r->path,
		 node->start_mark.line + 1, key);
}

static int set_item(struct reader *r, const struct option_row *o, const yaml_node_t *node,
		    struct sbx_error *err)
{
	const char *value = scalar(node);

	if (value == NULL)
		return cli_fail(err, SBX_E_INVALID, "%s: must be %s", r->where,
				o->kind == OPTION_LIST ? "a list of texts" : "a single value");
	return option_set(o, r->settings, value, r->where, err);
}

static int set_sequence(struct reader *r, const struct option_row *o, const yaml_node_t *node,
			struct sbx_error *err)
{
	int result = 0;

	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     result == 0 && item < node->data.sequence.items.top; item++) {
		const yaml_node_t *value = yaml_document_get_node(&r->document, *item);

		set_where(r, value, option_key(o));
		result = set_item(r, o, value, err);
	}
	return result;
}

/* "NAME: value" as "NAME=value". */
static int set_mapping(struct reader *r, const struct option_row *o, const yaml_node_t *node,
		       struct sbx_error *err)
{
	int result = 0;

	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     result == 0 && pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(&r->document, pair->key);
		const char *name = scalar(key);
		const char *value = scalar(yaml_document_get_node(&r->document, pair->value));
		auto_free char *item = NULL;

		set_where(r, key, option_key(o));
		if (name == NULL || value == NULL)
			return cli_fail(err, SBX_E_INVALID, "%s: must map names to texts", r->where);
		if (asprintf(&item, "%s=%s", name, value) < 0) {
			item = NULL;
			return cli_fail(err, SBX_E_SYSTEM, "out of memory");
		}
		result = option_set(o, r->settings, item, r->where, err);
	}
	return result;
}

static int fail_unknown(const char *where, const char *key, struct sbx_error *err)
{
	struct closest closest = {.typed = key};
	const struct option_row *o;

	for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
		if (!o->flag_only)
			closest_offer(&closest, option_key(o));
	}
	return cli_fail(err, SBX_E_INVALID, "%s: there is no such setting%s", where,
			closest_hint(&closest, ""));
}

static int set_pair(struct reader *r, const yaml_node_pair_t *pair, struct sbx_error *err)
{
	const yaml_node_t *key_node = yaml_document_get_node(&r->document, pair->key);
	const yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
	const char *key = scalar(key_node);
	const struct option_row *o = key ? option_find_key(key) : NULL;

	set_where(r, key_node, key ? key : "(no text)");
	if (o == NULL)
		return fail_unknown(r->where, key ? key : "", err);
	if (o->kind == OPTION_LIST && value->type == YAML_SEQUENCE_NODE)
		return set_sequence(r, o, value, err);
	if (o->set == settings_add_env && value->type == YAML_MAPPING_NODE)
		return set_mapping(r, o, value, err);
	return set_item(r, o, value, err);
}

static int set_document(struct reader *r, struct sbx_error *err)
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->document);
	int result = 0;

	if (root == NULL) /* nothing but comments */
		return 0;
	if (root->type != YAML_MAPPING_NODE)
		return cli_fail(err, SBX_E_INVALID, "%s: must be a mapping of settings to values",
				r->path);
	for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     result == 0 && pair < root->data.mapping.pairs.top; pair++)
		result = set_pair(r, pair, err);
	return result;
}

static int read_yaml(const char *path, const char *text, size_t len, struct settings *s,
		     struct sbx_error *err)
{
	struct reader r = {.path = path, .settings = s};
	yaml_parser_t parser;
	int result;

	if (!yaml_parser_initialize(&parser))
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (yaml_parser_load(&parser, &r.document)) {
		result = set_document(&r, err);
		yaml_document_delete(&r.document);
	} else {
		result = cli_fail(err, SBX_E_INVALID, "%s:%zu: is no YAML: %s", path,
				  parser.problem_mark.line + 1,
				  parser.problem ? parser.problem : "malformed");
	}
	yaml_parser_delete(&parser);
	return result;
}

/* ---- files ---- */

/* Who can write our configuration decides what the sandbox sees of this machine. */
static int check_owner(int fd, const char *path, struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot stat '%s': %s", path, strerror(errno));
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & S_IWOTH))
		return cli_fail(err, SBX_E_DENIED,
				"'%s' is not read: others than you and root can write it", path);
	return 0;
}

static int load_file(const char *path, bool optional, struct settings *s, struct sbx_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free char *text = NULL;
	size_t len = 0;
	int r;

	if (fd < 0 && optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (fd < 0)
		return cli_fail(err, SBX_E_NOT_FOUND, "cannot open '%s': %s", path, strerror(errno));
	r = optional ? check_owner(fd, path, err) : 0;
	if (r == 0)
		r = file_read(fd, path, CONFIG_MAX + 1, &text, &len, err);
	close(fd);
	if (r < 0)
		return r;
	if (len > CONFIG_MAX)
		return cli_fail(err, SBX_E_LIMIT, "'%s' is larger than %u KiB", path,
				CONFIG_MAX >> 10);
	return read_yaml(path, text, len, s, err);
}

static int load_user_file(struct settings *s, struct sbx_error *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[4096];
	int n = 0;

	/* The XDG base directory specification: a relative path is to be ignored. */
	if (xdg != NULL && xdg[0] == '/')
		n = snprintf(path, sizeof(path), "%s/llm-sandbox/config.yaml", xdg);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/.config/llm-sandbox/config.yaml", home);
	if (n <= 0 || (size_t)n >= sizeof(path))
		return 0;
	return load_file(path, true, s, err);
}

int config_load(const char *path, struct settings *s, struct sbx_error *err)
{
	int r;

	if (path != NULL)
		return load_file(path, false, s, err);
	r = load_file(SYSTEM_CONFIG, true, s, err);
	return r < 0 ? r : load_user_file(s, err);
}

/* ---- environment ---- */

/* "LLM_SANDBOX_OPEN_FILES=…" gives "open-files". */
static void variable_key(const char *name, size_t len, char ret[64])
{
	size_t i;

	for (i = 0; i < len && i < 63; i++)
		ret[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
	ret[i] = '\0';
}

static const struct option_row *variable_option(const char *key)
{
	const struct option_row *o = option_find(key);

	if (o == NULL)
		o = option_find_key(key); /* LLM_SANDBOX_MOUNTS */
	return o != NULL && !o->flag_only ? o : NULL;
}

static int set_lines(const struct option_row *o, const char *value, struct settings *s,
		     const char *where, struct sbx_error *err)
{
	auto_free char *copy = strdup(value);
	char *rest = copy, *line;
	int r = 0;

	if (copy == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	while (r == 0 && (line = strsep(&rest, "\n")) != NULL) {
		if (line[0] != '\0')
			r = option_set(o, s, line, where, err);
	}
	return r;
}

static int set_variable(const char *variable, struct settings *s, struct sbx_error *err)
{
	const char *equals = strchr(variable, '=');
	const char *name = variable + strlen(PREFIX);
	const struct option_row *o;
	char key[64], where[128];

	if (equals == NULL || equals[1] == '\0') /* empty is as good as not set */
		return 0;
	snprintf(where, sizeof(where), "%.*s", (int)(equals - variable), variable);
	variable_key(name, (size_t)(equals - name), key);
	o = variable_option(key);
	if (o == NULL)
		return fail_unknown(where, key, err);
	if (o->kind == OPTION_LIST)
		return set_lines(o, equals + 1, s, where, err);
	return option_set(o, s, equals + 1, where, err);
}

int config_load_environment(struct settings *s, struct sbx_error *err)
{
	int r = 0;

	for (char **variable = environ; r == 0 && *variable != NULL; variable++) {
		if (strncmp(*variable, PREFIX, strlen(PREFIX)) == 0 &&
		    strncmp(*variable, SERVER_PREFIX, strlen(SERVER_PREFIX)) != 0)
			r = set_variable(*variable, s, err);
	}
	return r;
}
