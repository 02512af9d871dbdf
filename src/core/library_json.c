/* SPDX-License-Identifier: MIT */
#include "core/library_json.h"

#include "base/strv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define ID_ROOM	     32
#define PACKAGES_MAX 20000u
#define REQUIRED_MAX 4096u

void sbx_library_set_free(struct sbx_library_set *set)
{
	if (set == NULL)
		return;
	for (size_t i = 0; i < set->package_count; i++) {
		free(set->packages[i].name);
		free(set->packages[i].version);
		free(set->packages[i].hash);
	}
	free(set->packages);
	sbx_strv_free(set->requirements);
	free(set->id);
	free(set->language);
	free(set->tool_chain);
	free(set->image);
	free(set->backend);
	free(set->engine);
	free(set);
}

static char **copy_list(const char *const *list)
{
	size_t count = sbx_strv_len((char *const *)list);
	char **copy = calloc(count + 1, sizeof(*copy));

	for (size_t i = 0; copy != NULL && i < count; i++) {
		copy[i] = strdup(list[i]);
		if (copy[i] == NULL) {
			sbx_strv_free(copy);
			return NULL;
		}
	}
	return copy;
}

bool sbx_set_is_elsewhere(const struct sbx_library_set *set)
{
	return set->engine[0] != '\0';
}

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

struct sbx_library_set *sbx_set_new(const char *language, const char *tool_chain,
				    const struct sbx_set_home *home, const char *const *requirements,
				    size_t packages)
{
	struct sbx_library_set *set = calloc(1, sizeof(*set));

	if (set == NULL)
		return NULL;
	set->id = calloc(1, ID_ROOM);
	set->language = strdup(language);
	set->tool_chain = strdup(tool_chain);
	set->image = copy_text(home->image);
	set->backend = copy_text(home->backend);
	set->engine = copy_text(home->engine);
	set->requirements = copy_list(requirements);
	set->packages = calloc(packages + 1, sizeof(*set->packages));
	if (set->id == NULL || set->language == NULL || set->tool_chain == NULL ||
	    set->image == NULL || set->backend == NULL || set->engine == NULL ||
	    set->requirements == NULL || set->packages == NULL) {
		sbx_library_set_free(set);
		return NULL;
	}
	return set;
}

char *sbx_set_to_json(const struct sbx_library_set *set, const char *name)
{
	json_t *requirements = json_array(), *packages = json_array(), *object;
	char *text;

	for (size_t i = 0; set->requirements[i] != NULL; i++)
		json_array_append_new(requirements, json_string(set->requirements[i]));
	for (size_t i = 0; i < set->package_count; i++) {
		const struct sbx_package *p = &set->packages[i];

		json_array_append_new(packages, json_pack("[s, s, s]", p->name, p->version, p->hash));
	}
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I}", "folder", name, "language",
			   set->language, "tool_chain", set->tool_chain, "image", set->image, "backend",
			   set->backend, "engine", set->engine, "requirements", requirements,
			   "packages", packages, "bytes", (json_int_t)set->bytes, "made",
			   (json_int_t)set->made);
	text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
	json_decref(object);
	return text;
}

static bool read_packages(json_t *packages, struct sbx_library_set *set)
{
	size_t i;
	json_t *item;

	json_array_foreach(packages, i, item) {
		struct sbx_package *p = &set->packages[set->package_count];
		const char *name, *version, *hash;

		if (json_unpack(item, "[s, s, s]", &name, &version, &hash) < 0)
			return false;
		set->package_count++;
		p->name = strdup(name);
		p->version = strdup(version);
		p->hash = strdup(hash);
		if (p->name == NULL || p->version == NULL || p->hash == NULL)
			return false;
	}
	return true;
}

/* Strings of a JSON array, borrowed; NULL when it is none, or too long. */
static const char **borrow_list(json_t *array)
{
	size_t count = json_array_size(array), i;
	const char **list = count <= REQUIRED_MAX ? calloc(count + 1, sizeof(*list)) : NULL;
	json_t *item;

	json_array_foreach(array, i, item) {
		if (list == NULL || !json_is_string(item)) {
			free(list);
			return NULL;
		}
		list[i] = json_string_value(item);
	}
	return list;
}

static bool from_object(json_t *object, struct sbx_library_set **ret, char ret_name[33])
{
	const char *name, *language, *tool_chain, **list;
	struct sbx_set_home home = {0};
	json_t *requirements, *packages;
	json_int_t bytes, made;
	struct sbx_library_set *set;

	/* Those of a machine's own need not say so. */
	if (json_unpack(object, "{s:s, s:s, s:s, s?s, s?s, s?s, s:o, s:o, s:I, s:I}", "folder", &name,
			"language", &language, "tool_chain", &tool_chain, "image", &home.image,
			"backend", &home.backend, "engine", &home.engine, "requirements", &requirements,
			"packages", &packages, "bytes", &bytes, "made", &made) < 0 ||
	    strlen(name) > 32 || json_array_size(packages) > PACKAGES_MAX || bytes < 0 || made < 0)
		return false;
	list = borrow_list(requirements);
	set = list ? sbx_set_new(language, tool_chain, &home, list, json_array_size(packages)) : NULL;
	free(list);
	if (set == NULL || !read_packages(packages, set)) {
		sbx_library_set_free(set);
		return false;
	}
	set->bytes = (uint64_t)bytes;
	set->made = (uint64_t)made;
	strcpy(ret_name, name);
	*ret = set;
	return true;
}

bool sbx_set_from_json(const char *text, size_t len, struct sbx_library_set **ret,
		       char ret_name[33])
{
	json_t *object = json_loadb(text, len, 0, NULL);
	bool good = object != NULL && from_object(object, ret, ret_name);

	json_decref(object);
	return good;
}
