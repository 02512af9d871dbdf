/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "complain.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#define FILE_MAX_BYTES (1 << 20)

struct reader {
	struct options *o;
	const char *path;
	yaml_document_t doc;
};

static int wrong(const struct reader *r, const yaml_node_t *node, const char *text)
{
	complain("%s, line %zu: %s", r->path, node->start_mark.line + 1, text);
	return -1;
}

/* Copies live as long as the program does: options point at them. */
static const char *scalar(const yaml_node_t *node)
{
	if (node == NULL || node->type != YAML_SCALAR_NODE)
		return NULL;
	return strndup((const char *)node->data.scalar.value, node->data.scalar.length);
}

static int read_env(struct reader *r, const yaml_node_t *map)
{
	yaml_node_pair_t *pair;

	if (map->type != YAML_MAPPING_NODE)
		return wrong(r, map, "'env' must be a mapping of names to values");
	for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		const char *name = scalar(yaml_document_get_node(&r->doc, pair->key));
		const char *value = scalar(yaml_document_get_node(&r->doc, pair->value));
		char *text = NULL;

		if (name == NULL || value == NULL || asprintf(&text, "%s=%s", name, value) < 0)
			return wrong(r, map, "a variable's name and value must be plain text");
		if (options_set(r->o, OPT_ENV, text, r->path) < 0)
			return -1;
	}
	return 0;
}

static int read_list(struct reader *r, enum option_id id, const yaml_node_t *list)
{
	yaml_node_item_t *item;

	if (list->type != YAML_SEQUENCE_NODE)
		return wrong(r, list, "this must be a list");
	for (item = list->data.sequence.items.start; item < list->data.sequence.items.top; item++) {
		const char *value = scalar(yaml_document_get_node(&r->doc, *item));

		if (value == NULL)
			return wrong(r, list, "every entry of this list must be plain text");
		if (options_set(r->o, id, value, r->path) < 0)
			return -1;
	}
	return 0;
}

static int read_flag(struct reader *r, enum option_id id, const char *value,
		     const yaml_node_t *node)
{
	if (strcmp(value, "true") == 0)
		return options_set(r->o, id, "", r->path);
	if (strcmp(value, "false") == 0)
		return 0;
	return wrong(r, node, "this must be true or false");
}

static int read_pair(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	const char *name = scalar(key), *near = NULL, *text;
	char message[160];
	int id = name ? options_find(name, &near) : -1;

	if (id < 0 || !option_rows[id].configurable) {
		snprintf(message, sizeof(message), "unknown key '%.64s'%s%s%s", name ? name : "",
			 near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
		return wrong(r, key, message);
	}
	if (id == OPT_ENV)
		return read_env(r, value);
	if (option_rows[id].kind == OPTION_LIST)
		return read_list(r, (enum option_id)id, value);
	text = scalar(value);
	if (text == NULL)
		return wrong(r, value, "this must be one plain value");
	if (option_rows[id].kind == OPTION_FLAG)
		return read_flag(r, (enum option_id)id, text, value);
	return options_set(r->o, (enum option_id)id, text, r->path);
}

static int read_document(struct reader *r)
{
	yaml_node_t *root = yaml_document_get_root_node(&r->doc);
	yaml_node_pair_t *pair;
	int result = 0;

	if (root == NULL)
		return 0;
	if (root->type != YAML_MAPPING_NODE)
		return wrong(r, root, "the file must be a mapping of option names to values");
	for (pair = root->data.mapping.pairs.start;
	     pair < root->data.mapping.pairs.top && result == 0; pair++)
		result = read_pair(r, yaml_document_get_node(&r->doc, pair->key),
				   yaml_document_get_node(&r->doc, pair->value));
	return result;
}

static int read_open(struct options *o, const char *path, FILE *file)
{
	struct reader r = {.o = o, .path = strdup(path)};
	yaml_parser_t parser;
	int result;

	if (r.path == NULL || !yaml_parser_initialize(&parser))
		return complain("no memory to read '%s'", path), -1;
	yaml_parser_set_input_file(&parser, file);
	if (yaml_parser_load(&parser, &r.doc)) {
		result = read_document(&r);
		yaml_document_delete(&r.doc);
	} else {
		complain("%s, line %zu: %s", path, parser.problem_mark.line + 1,
			 parser.problem ? parser.problem : "no YAML");
		result = -1;
	}
	yaml_parser_delete(&parser);
	return result;
}

int config_read(struct options *o, const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	int result;

	if (file == NULL)
		return complain("cannot read the configuration '%s': %s", path, strerror(errno)), -1;
	if (fstat(fileno(file), &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES) {
		complain("the configuration '%s' is no file of at most %d bytes", path,
			 FILE_MAX_BYTES);
		result = -1;
	} else {
		result = read_open(o, path, file);
	}
	fclose(file);
	return result;
}

static int read_if_there(struct options *o, const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : config_read(o, path);
}

int config_read_usual(struct options *o)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (read_if_there(o, "/etc/llm-sandbox/config.yaml") < 0)
		return -1;
	if (xdg != NULL && xdg[0] == '/')
		snprintf(path, sizeof(path), "%s/llm-sandbox/config.yaml", xdg);
	else if (home != NULL && home[0] == '/')
		snprintf(path, sizeof(path), "%s/.config/llm-sandbox/config.yaml", home);
	else
		return 0;
	return read_if_there(o, path);
}
