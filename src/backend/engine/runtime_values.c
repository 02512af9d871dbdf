/* SPDX-License-Identifier: MIT */
/* How each kind of value goes into the description of a container. */
#include "backend/engine/runtime_inside.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/path.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PROFILE_MAX (1u << 20)

/* Put what was made for the row in its place; takes made, which may be NULL without memory. */
static int put(const struct runtime_row *row, json_t *made, struct runtime_target *t,
	       struct sbx_error *err)
{
	if (json_object_set_new(row->in_host ? t->host : t->body, row->key, made) == 0)
		return 0;
	return sbx_fail_errno(err, ENOMEM, "cannot keep '%s' of runtime_configs", row->name);
}

static int fail_made(const struct runtime_row *row, json_t *made, const char *wanted,
		     struct sbx_error *err)
{
	json_decref(made);
	return runtime_fail(row, wanted, err);
}

/* ---- plain values ---- */

int runtime_refuse(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		   struct sbx_error *err)
{
	(void)value, (void)t;
	return sbx_fail(err, SBX_E_INVALID, "runtime_configs: '%s' cannot be set: %s", row->name,
			row->reason);
}

int runtime_only(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	if (!json_is_boolean(value))
		return runtime_fail(row, "true or false", err);
	if (row->only < 0 || json_is_true(value) == (row->only == 1))
		return 0;
	return runtime_refuse(row, value, t, err);
}

int runtime_flag(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	if (!json_is_boolean(value))
		return runtime_fail(row, "true or false", err);
	return put(row, json_boolean(json_is_true(value)), t, err);
}

int runtime_number(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		   struct sbx_error *err)
{
	if (!json_is_integer(value))
		return runtime_fail(row, "a whole number", err);
	return put(row, json_copy((json_t *)value), t, err);
}

int runtime_text(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	if (!json_is_string(value) || json_string_length(value) == 0)
		return runtime_fail(row, "a text", err);
	return put(row, json_copy((json_t *)value), t, err);
}

int runtime_bytes(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	int64_t bytes;
	int r = engine_runtime_bytes(row->name, value, &bytes, err);

	return r < 0 ? r : put(row, json_integer(bytes), t, err);
}

static bool is_list_of_texts(const json_t *value)
{
	json_t *item;
	size_t i;

	json_array_foreach(value, i, item) {
		if (!json_is_string(item) || json_string_length(item) == 0)
			return false;
	}
	return json_is_array(value);
}

int runtime_list(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	if (!is_list_of_texts(value))
		return runtime_fail(row, "a list of texts", err);
	return put(row, json_deep_copy(value), t, err);
}

/* ---- maps ---- */

/* "a=b" of the list as members of the object. */
static void add_pairs(json_t *object, const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *text = json_string_value(item), *equals = strchr(text, '=');
		auto_free char *key = strndup(text, (size_t)(equals - text));

		if (key != NULL)
			json_object_set_new(object, key, json_string(equals + 1));
	}
}

static int make_map(const struct runtime_row *row, const json_t *value, json_t **ret,
		    struct sbx_error *err)
{
	json_t *list = NULL;
	int r = engine_runtime_pairs(row->name, value, '=', &list, err);

	if (r < 0)
		return r;
	*ret = json_object();
	add_pairs(*ret, list);
	json_decref(list);
	return 0;
}

int runtime_map(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		struct sbx_error *err)
{
	json_t *made = NULL;
	int r = make_map(row, value, &made, err);

	return r < 0 ? r : put(row, made, t, err);
}

static bool has_own_label(const json_t *labels)
{
	const char *key;
	json_t *item;

	json_object_foreach((json_t *)labels, key, item) {
		if (strncmp(key, "llm-sandbox", 11) == 0)
			return true;
	}
	return false;
}

/* Ours stay: whoever sweeps finds our containers by them. */
int runtime_labels(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		   struct sbx_error *err)
{
	json_t *made = NULL, *ours = json_object_get(t->body, row->key);
	int r = make_map(row, value, &made, err);

	if (r < 0)
		return r;
	if (has_own_label(made))
		return fail_made(row, made, "without names that begin with 'llm-sandbox'", err);
	if (ours != NULL)
		json_object_update(made, ours);
	return put(row, made, t, err);
}

int runtime_hosts(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	json_t *made = NULL;
	int r = engine_runtime_pairs(row->name, value, ':', &made, err);

	return r < 0 ? r : put(row, made, t, err);
}

/* ---- objects with the API's own names ---- */

/* "read_only" and "ReadOnly" are one. */
static json_t *with_api_names(const json_t *object)
{
	json_t *made = json_object(), *item;
	const char *key;

	json_object_foreach((json_t *)object, key, item) {
		char name[64];
		size_t len = 0;
		bool up = true;

		for (const char *c = key; *c != '\0' && len < sizeof(name) - 1; c++) {
			if (*c != '_')
				name[len++] = (char)(up ? toupper((unsigned char)*c) : *c);
			up = *c == '_';
		}
		name[len] = '\0';
		json_object_set(made, name, item);
	}
	return made;
}

static json_t *list_with_api_names(const json_t *value)
{
	json_t *made = json_array(), *item;
	size_t i;

	json_array_foreach(value, i, item) {
		if (!json_is_object(item)) {
			json_decref(made);
			return NULL;
		}
		json_array_append_new(made, with_api_names(item));
	}
	return made;
}

int runtime_objects(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *made = json_is_array(value) ? list_with_api_names(value) : NULL;

	return made ? put(row, made, t, err) : runtime_fail(row, "a list of objects", err);
}

int runtime_gpus(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	bool all = strcmp(json_string_value(value) ?: "", "all") == 0;
	json_int_t count = all ? -1 : json_integer_value(value);

	if (!all && (!json_is_integer(value) || count < -1 || count == 0))
		return runtime_fail(row, "\"all\" or how many", err);
	return put(row, json_pack("[{s:s, s:I, s:[[s]]}]", "Driver", "", "Count", count,
				  "Capabilities", "gpu"),
		   t, err);
}

int runtime_log(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		struct sbx_error *err)
{
	json_t *made = json_is_object(value) ? with_api_names(value) : NULL;

	if (!json_is_string(json_object_get(made, "Type")))
		return fail_made(row, made, "an object with a 'type'", err);
	return put(row, made, t, err);
}

/* Nothing is restarted; "no" may be said. */
int runtime_restart(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *made = json_is_object(value) ? with_api_names(value) : NULL;
	const char *name = json_string_value(json_object_get(made, "Name"));
	bool none = made != NULL && (name == NULL || name[0] == '\0' || strcmp(name, "no") == 0);

	json_decref(made);
	return none ? 0 : runtime_refuse(row, value, t, err);
}

/* ---- names in the request ---- */

/* They stand in the request's address, where container.c puts them. */
static bool is_plain_name(const char *text, const char *more)
{
	if (text == NULL || !isalnum((unsigned char)text[0]) || strlen(text) > 128)
		return false;
	for (; *text != '\0'; text++) {
		if (!isalnum((unsigned char)*text) && strchr(more, *text) == NULL)
			return false;
	}
	return true;
}

int runtime_name(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	(void)t;
	if (!is_plain_name(json_string_value(value), "_.-"))
		return runtime_fail(row, "a name of letters, digits, '_', '.' and '-'", err);
	return 0;
}

int runtime_platform(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		     struct sbx_error *err)
{
	(void)t;
	if (!is_plain_name(json_string_value(value), "_.-/"))
		return runtime_fail(row, "a platform like \"linux/amd64\"", err);
	return 0;
}

/* ---- what is seen inside ---- */

/* What the user puts at a place stands there instead of ours. */
static void make_room(struct runtime_target *t, const char *place)
{
	json_object_del(json_object_get(t->host, "Tmpfs"), place);
}

static bool is_place(const char *path)
{
	return path != NULL && sbx_path_is_clean(path) && strcmp(path, "/") != 0;
}

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

static bool add_volume(struct runtime_target *t, json_t *list, const char *source,
		       const json_t *how)
{
	const char *place = json_string_value(json_object_get(how, "bind"));
	const char *mode = json_string_value(json_object_get(how, "mode")) ?: "rw";
	auto_free char *bind = NULL;

	if (place == NULL || strchr(source, ':') != NULL ||
	    asprintf(&bind, "%s:%s:%s", source, place, mode) < 0) {
		return false;
	}
	return add_bind(t, list, bind);
}

int runtime_volumes(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_array();
	bool fine = json_is_object(value) || is_list_of_texts(value);
	const char *key;
	size_t i;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, item)
			fine = fine && add_volume(t, made, key, item);
	}
	json_array_foreach(value, i, item)
		fine = fine && add_bind(t, made, json_string_value(item));
	if (!fine)
		return fail_made(row, made,
				 "{\"SOURCE\": {\"bind\": \"/PLACE\", \"mode\": \"ro\"}} or a list of "
				 "\"SOURCE:/PLACE:MODE\"",
				 err);
	return put(row, made, t, err);
}

int runtime_mounts(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		   struct sbx_error *err)
{
	json_t *made = json_is_array(value) ? list_with_api_names(value) : NULL, *item;
	size_t i;

	json_array_foreach(made, i, item) {
		const char *place = json_string_value(json_object_get(item, "Target"));

		if (!is_place(place) || !json_is_string(json_object_get(item, "Type")))
			return fail_made(row, made, "a list of objects with a 'type' and a 'target'", err);
		make_room(t, place);
	}
	return made ? put(row, made, t, err)
		    : runtime_fail(row, "a list of objects with a 'type' and a 'target'", err);
}

int runtime_tmpfs(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_object();
	bool fine = json_is_object(value) || is_list_of_texts(value);
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
		return fail_made(row, made, "{\"/PLACE\": \"size=64m\"} or a list of places", err);
	return put(row, made, t, err);
}

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
		json_t *device = json_is_object(item) ? with_api_names(item)
						      : device_of(json_string_value(item));

		fine = json_array_append_new(made, device) == 0 && fine;
	}
	return fine ? put(row, made, t, err)
		    : fail_made(row, made, "a list of \"/dev/HOST:/dev/INSIDE:rwm\"", err);
}

/* ---- ulimits ---- */

/* What the user names takes the place of ours; the others stay. */
static void replace_ulimit(json_t *list, json_t *item)
{
	const char *name = json_string_value(json_object_get(item, "Name"));
	json_t *other;
	size_t i;

	json_array_foreach(list, i, other) {
		if (strcmp(json_string_value(json_object_get(other, "Name")) ?: "", name) == 0) {
			json_array_remove(list, i);
			break;
		}
	}
	json_array_append(list, item);
}

int runtime_ulimits(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_array();
	json_t *list = json_is_array(value) ? list_with_api_names(value) : NULL;
	bool fine = list != NULL;
	size_t i;

	json_array_foreach(list, i, item) {
		fine = fine && json_is_string(json_object_get(item, "Name")) &&
		       json_is_integer(json_object_get(item, "Soft")) &&
		       json_is_integer(json_object_get(item, "Hard"));
		if (fine)
			replace_ulimit(made, item);
	}
	json_decref(list);
	return fine ? put(row, made, t, err)
		    : fail_made(row, made, "a list of objects with 'name', 'soft' and 'hard'", err);
}

/* ---- ports ---- */

static json_t *port_of(const json_t *value)
{
	const json_t *port = json_is_array(value) ? json_array_get(value, 1) : value;
	const char *address = json_is_array(value) ? json_string_value(json_array_get(value, 0)) : "";
	json_t *text = json_is_string(port)    ? json_copy((json_t *)port)
		       : json_is_integer(port) ? json_sprintf("%" JSON_INTEGER_FORMAT,
							      json_integer_value(port))
		       : json_is_null(port)    ? json_string("")
					       : NULL;

	if (text == NULL || address == NULL) {
		json_decref(text);
		return NULL;
	}
	return json_pack("{s:s, s:o}", "HostIp", address, "HostPort", text);
}

/* 8080, ["127.0.0.1", 8080], or a list of several numbers. */
static json_t *ports_of(const json_t *value)
{
	bool several = json_is_array(value) && !json_is_string(json_array_get(value, 0));
	json_t *made = json_array(), *item;
	bool fine = true;
	size_t i;

	if (!several)
		fine = json_array_append_new(made, port_of(value)) == 0;
	else
		json_array_foreach(value, i, item)
			fine = json_array_append_new(made, port_of(item)) == 0 && fine;
	if (fine)
		return made;
	json_decref(made);
	return NULL;
}

int runtime_ports(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	json_t *made = json_object(), *exposed = json_object(), *item;
	bool fine = json_is_object(value);
	const char *key;

	if (fine) {
		json_object_foreach((json_t *)value, key, item) {
			auto_free char *port = NULL;

			if (asprintf(&port, "%s%s", key, strchr(key, '/') ? "" : "/tcp") < 0) {
				port = NULL;
				fine = false;
				continue;
			}
			fine = isdigit((unsigned char)key[0]) &&
			       json_object_set_new(made, port, ports_of(item)) == 0 && fine;
			json_object_set_new(exposed, port, json_object());
		}
	}
	json_object_set_new(t->body, "ExposedPorts", exposed);
	return fine ? put(row, made, t, err)
		    : fail_made(row, made, "{\"80/tcp\": 8080} or {\"80/tcp\": [\"127.0.0.1\", 8080]}",
				err);
}

/* ---- capabilities ---- */

/* The agent needs a few until it drops them; they stay. */
int runtime_cap_add(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key);
	json_t *made = ours ? json_deep_copy(ours) : json_array();

	if (!is_list_of_texts(value))
		return fail_made(row, made, "a list of names of capabilities", err);
	json_array_extend(made, (json_t *)value);
	return put(row, made, t, err);
}

/* All are dropped anyway: what is named adds nothing, and only an empty list means fewer. */
int runtime_cap_drop(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		     struct sbx_error *err)
{
	if (!is_list_of_texts(value))
		return runtime_fail(row, "a list of names of capabilities", err);
	return json_array_size(value) == 0 ? put(row, json_array(), t, err) : 0;
}

/* ---- security options ---- */

/* Remove what was there of the same kind. */
static void drop_options(json_t *list, const char *kind)
{
	size_t len = strlen(kind);

	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text != NULL && strncmp(text, kind, len) == 0)
			json_array_remove(list, i);
	}
}

/* The text of a profile that is named by its file, where the engine takes no path. */
static int inline_profile(const char *path, json_t *list, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;
	int r = sbx_read_file(AT_FDCWD, path, PROFILE_MAX, &text, &len, err);

	if (r < 0)
		return sbx_wrap(err, "runtime_configs: the profile of 'security_opt'");
	json_array_append_new(list, json_sprintf("seccomp=%s", text));
	return 0;
}

static int add_seccomp(const struct runtime_target *t, const char *profile, json_t *list,
		       struct sbx_error *err)
{
	drop_options(list, "seccomp=");
	if (t->flavor != NULL && t->flavor->seccomp_inline && profile[0] == '/')
		return inline_profile(profile, list, err);
	json_array_append_new(list, json_sprintf("seccomp=%s", profile));
	return 0;
}

static int add_security(const struct runtime_row *row, const struct runtime_target *t,
			const char *text, json_t *list, struct sbx_error *err)
{
	static const char privileges[] = "no-new-privileges";
	size_t len = sizeof(privileges) - 1;

	if (strncmp(text, privileges, len) == 0) {
		const char *value = text[len] == ':' || text[len] == '=' ? text + len + 1 : "true";

		drop_options(list, privileges);
		if (strcmp(value, "false") != 0)
			json_array_append_new(list, json_string(privileges));
		return 0;
	}
	/* docker-py's older texts have a colon. */
	if (strncmp(text, "seccomp=", 8) == 0 || strncmp(text, "seccomp:", 8) == 0)
		return add_seccomp(t, text + 8, list, err);
	if (strncmp(text, "apparmor", 8) == 0 || strncmp(text, "label", 5) == 0 ||
	    strncmp(text, "systempaths=", 12) == 0 || strncmp(text, "mask=", 5) == 0 ||
	    strncmp(text, "unmask=", 7) == 0) {
		json_array_append_new(list, json_string(text));
		return 0;
	}
	return runtime_fail(row, "a list of no-new-privileges, seccomp=…, apparmor=… and label=…", err);
}

int runtime_security(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		     struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_array();
	int r = 0;
	size_t i;

	if (!is_list_of_texts(value))
		return fail_made(row, made, "a list of texts", err);
	json_array_foreach(value, i, item) {
		r = r < 0 ? r : add_security(row, t, json_string_value(item), made, err);
	}
	if (r < 0) {
		json_decref(made);
		return r;
	}
	return put(row, made, t, err);
}
