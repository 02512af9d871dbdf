/* SPDX-License-Identifier: MIT */
/* What is seen inside: volumes, mounts, folders in memory, devices. */
#include "backend/engine/runtime_inside.h"

#include "base/auto.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

/* What the user puts at a place stands there instead of ours. */
static void make_room(struct runtime_target *t, const char *place)
{
	json_object_del(json_object_get(t->host, "Tmpfs"), place);
}

static bool is_place(const char *path)
{
	return path != NULL && sbx_path_is_clean(path) && strcmp(path, "/") != 0;
}

/* ---- volumes ---- */

/* Append "source:place[:mode]" when it is one. */
static bool add_bind(struct runtime_target *t, json_t *list, const char *bind)
{
	auto_free char *copy = strdup(bind);
	char *rest = copy, *source, *place;

	if (copy == NULL)
		return false;
	source = strsep(&rest, ":");
	place = rest ? strsep(&rest, ":") : NULL;
	if (source[0] == '\0' || !is_place(place))
		return false;
	make_room(t, place);
	return json_array_append_new(list, json_string(bind)) == 0;
}

/* What is not known may be what keeps a folder from being written. */
static bool is_known_volume(const json_t *how)
{
	static const char *const known[] = {"bind", "mode", "ro", "propagation"};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		count += json_object_get(how, known[i]) != NULL;
	return count == json_object_size(how);
}

/* "rw", "ro", or what the mode says; one of the two ways to say it. */
static const char *mode_of(const json_t *how)
{
	const json_t *mode = json_object_get(how, "mode"), *ro = json_object_get(how, "ro");

	if (mode != NULL && ro != NULL)
		return NULL;
	if (ro != NULL)
		return !json_is_boolean(ro) ? NULL : json_is_true(ro) ? "ro" : "rw";
	return mode != NULL ? json_string_value(mode) : "rw";
}

static bool add_volume(struct runtime_target *t, json_t *list, const char *source,
		       const json_t *how)
{
	const char *place = json_string_value(json_object_get(how, "bind")), *mode = mode_of(how);
	const json_t *propagation = json_object_get(how, "propagation");
	auto_free char *bind = NULL;

	if (place == NULL || mode == NULL || strchr(source, ':') != NULL || !is_known_volume(how) ||
	    (propagation != NULL && !json_is_string(propagation)) ||
	    asprintf(&bind, "%s:%s:%s%s%s", source, place, mode, propagation ? "," : "",
		     propagation ? json_string_value(propagation) : "") < 0)
		return false;
	return add_bind(t, list, bind);
}

int runtime_volumes(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_array();
	bool fine = json_is_object(value) || runtime_is_texts(value);
	const char *key;
	size_t i;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, item)
			fine = fine && add_volume(t, made, key, item);
	}
	json_array_foreach(value, i, item)
		fine = fine && add_bind(t, made, json_string_value(item));
	if (!fine)
		return runtime_fail_made(row, made,
					 "{\"SOURCE\": {\"bind\": \"/PLACE\", \"mode\": \"ro\"}} or a list "
					 "of \"SOURCE:/PLACE:MODE\"",
					 err);
	return runtime_put(row, made, t, err);
}

/* ---- mounts ---- */

/* How docker-py calls what the API has in an object of the mount. */
static const struct {
	const char *name, *group, *key;
} of_mounts[] = {
	{"DriverConfig", "VolumeOptions", "DriverConfig"},
	{"Labels", "VolumeOptions", "Labels"},
	{"NoCopy", "VolumeOptions", "NoCopy"},
	{"Propagation", "BindOptions", "Propagation"},
	{"Subpath", "VolumeOptions", "Subpath"},
	{"TmpfsMode", "TmpfsOptions", "Mode"},
	{"TmpfsSize", "TmpfsOptions", "SizeBytes"},
};

/* "64m" where the API wants a number. */
static json_t *member_of(const char *key, json_t *value)
{
	struct sbx_error ignored;
	int64_t bytes;

	if (strcmp(key, "SizeBytes") != 0)
		return json_incref(value);
	return engine_runtime_bytes("tmpfs_size", value, &bytes, &ignored) < 0 ? NULL
									       : json_integer(bytes);
}

static bool group_members(json_t *mount)
{
	bool fine = true;

	for (size_t i = 0; i < sizeof(of_mounts) / sizeof(of_mounts[0]); i++) {
		json_t *value = json_object_get(mount, of_mounts[i].name), *group;

		if (value == NULL)
			continue;
		group = json_object_get(mount, of_mounts[i].group);
		if (group == NULL && !json_is_null(value)) {
			group = json_object();
			json_object_set_new(mount, of_mounts[i].group, group);
		}
		if (!json_is_null(value))
			fine = json_object_set_new(group, of_mounts[i].key,
						   member_of(of_mounts[i].key, value)) == 0 && fine;
		json_object_del(mount, of_mounts[i].name);
	}
	return fine;
}

int runtime_mounts(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		   struct sbx_error *err)
{
	static const char wanted[] = "a list of objects with a 'type', a 'source' and a 'target'";
	json_t *made = runtime_objects_of(row, value, wanted, err), *item;
	bool fine = true;
	size_t i;

	if (made == NULL)
		return -(int)err->code;
	json_array_foreach(made, i, item) {
		const char *place = json_string_value(json_object_get(item, "Target"));

		/* As docker-py has it. */
		if (json_object_get(item, "Type") == NULL)
			json_object_set_new(item, "Type", json_string("volume"));
		fine = fine && is_place(place) && json_is_string(json_object_get(item, "Type")) &&
		       group_members(item);
		if (fine)
			make_room(t, place);
	}
	return fine ? runtime_put(row, made, t, err) : runtime_fail_made(row, made, wanted, err);
}

/* ---- folders in memory ---- */

int runtime_tmpfs(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_object();
	bool fine = json_is_object(value) || runtime_is_texts(value);
	const char *key;
	size_t i;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, item) {
			fine = fine && is_place(key) && json_is_string(item);
			json_object_set(made, key, item);
		}
	}
	json_array_foreach(value, i, item) {
		fine = fine && is_place(json_string_value(item));
		json_object_set_new(made, json_string_value(item) ?: "", json_string(""));
	}
	if (!fine)
		return runtime_fail_made(row, made, "{\"/PLACE\": \"size=64m\"} or a list of places", err);
	return runtime_put(row, made, t, err);
}

/* ---- devices ---- */

static json_t *device_of(const char *text)
{
	auto_free char *copy = text ? strdup(text) : NULL;
	char *rest = copy, *host, *inside, *rights;

	if (copy == NULL)
		return NULL;
	host = strsep(&rest, ":");
	inside = rest ? strsep(&rest, ":") : host;
	rights = rest ? rest : (char *)"rwm";
	if (host[0] != '/' || inside[0] != '/' || strspn(rights, "rwm") != strlen(rights))
		return NULL;
	return json_pack("{s:s, s:s, s:s}", "PathOnHost", host, "PathInContainer", inside,
			 "CgroupPermissions", rights);
}

int runtime_devices(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *made = json_array(), *item;
	bool fine = json_is_array(value);
	size_t i;

	json_array_foreach(value, i, item) {
		json_t *device = json_is_object(item) ? runtime_object_of(row, item, err)
						      : device_of(json_string_value(item));

		fine = json_array_append_new(made, device) == 0 && fine;
	}
	return fine ? runtime_put(row, made, t, err)
		    : runtime_fail_made(row, made, "a list of \"/dev/HOST:/dev/INSIDE:rwm\"", err);
}
