/* SPDX-License-Identifier: MIT */
/* How each kind of value goes into the description of a container. */
#include "backend/engine/runtime_inside.h"

#include "base/auto.h"
#include "base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PROFILE_MAX (1u << 20)

int runtime_put(const struct runtime_row *row, json_t *made, struct runtime_target *t,
		struct sbx_error *err)
{
	if (json_object_set_new(row->in_host ? t->host : t->body, row->key, made) == 0)
		return 0;
	return sbx_fail_errno(err, ENOMEM, "cannot keep '%s' of runtime_configs", row->name);
}

int runtime_fail_made(const struct runtime_row *row, json_t *made, const char *wanted,
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
	return runtime_put(row, json_boolean(json_is_true(value)), t, err);
}

int runtime_number(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		   struct sbx_error *err)
{
	if (!json_is_integer(value))
		return runtime_fail(row, "a whole number", err);
	return runtime_put(row, json_copy((json_t *)value), t, err);
}

int runtime_text(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	if (!json_is_string(value) || json_string_length(value) == 0)
		return runtime_fail(row, "a text", err);
	return runtime_put(row, json_copy((json_t *)value), t, err);
}

int runtime_bytes(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	int64_t bytes;
	int r = engine_runtime_bytes(row->name, value, &bytes, err);

	return r < 0 ? r : runtime_put(row, json_integer(bytes), t, err);
}

bool runtime_is_texts(const json_t *value)
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
	if (!runtime_is_texts(value))
		return runtime_fail(row, "a list of texts", err);
	return runtime_put(row, json_deep_copy(value), t, err);
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

	return r < 0 ? r : runtime_put(row, made, t, err);
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
		return runtime_fail_made(row, made, "without names that begin with 'llm-sandbox'", err);
	if (ours != NULL)
		json_object_update(made, ours);
	return runtime_put(row, made, t, err);
}

int runtime_hosts(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		  struct sbx_error *err)
{
	json_t *made = NULL;
	int r = engine_runtime_pairs(row->name, value, ':', &made, err);

	return r < 0 ? r : runtime_put(row, made, t, err);
}

/* ---- objects with the API's own names ---- */

static void format_api_name(const char *key, char *ret, size_t size)
{
	size_t len = 0;
	bool up = true;

	for (; *key != '\0' && len < size - 1; key++) {
		if (*key != '_')
			ret[len++] = (char)(up ? toupper((unsigned char)*key) : *key);
		up = *key == '_';
	}
	ret[len] = '\0';
}

/* Engines do not tell the cases of letters apart: "device_ids" is DeviceIDs. */
static bool is_member(const char *members, const char *name)
{
	size_t len = strlen(name);

	for (; members != NULL && *members != '\0'; members += strspn(members, " ")) {
		size_t this = strcspn(members, " ");

		if (this == len && strncasecmp(members, name, len) == 0)
			return true;
		members += this;
	}
	return members == NULL;
}

json_t *runtime_object_of(const struct runtime_row *row, const json_t *object, struct sbx_error *err)
{
	json_t *made = json_object(), *item;
	const char *key;
	char name[64];

	json_object_foreach((json_t *)object, key, item) {
		format_api_name(key, name, sizeof(name));
		if (!is_member(row->members, name)) {
			sbx_fail(err, SBX_E_INVALID, "runtime_configs: '%s' has no '%.64s'; it has: %s",
				 row->name, key, row->members);
			json_decref(made);
			return NULL;
		}
		json_object_set(made, name, item);
	}
	return made;
}

json_t *runtime_objects_of(const struct runtime_row *row, const json_t *list, const char *wanted,
			   struct sbx_error *err)
{
	json_t *made = json_array(), *item;
	bool fine = json_is_array(list);
	size_t i;

	if (!fine)
		runtime_fail(row, wanted, err);
	json_array_foreach(list, i, item) {
		if (fine && !json_is_object(item)) {
			runtime_fail(row, wanted, err);
			fine = false;
		}
		fine = fine && json_array_append_new(made, runtime_object_of(row, item, err)) == 0;
	}
	if (fine)
		return made;
	json_decref(made);
	return NULL;
}

int runtime_objects(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *made = runtime_objects_of(row, value, "a list of objects", err);

	return made ? runtime_put(row, made, t, err) : -(int)err->code;
}

int runtime_gpus(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		 struct sbx_error *err)
{
	bool all = strcmp(json_string_value(value) ?: "", "all") == 0;
	json_int_t count = all ? -1 : json_integer_value(value);

	if (!all && (!json_is_integer(value) || count < -1 || count == 0))
		return runtime_fail(row, "\"all\" or how many", err);
	return runtime_put(row, json_pack("[{s:s, s:I, s:[[s]]}]", "Driver", "", "Count", count,
				  "Capabilities", "gpu"),
		   t, err);
}

int runtime_log(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		struct sbx_error *err)
{
	json_t *made;

	if (!json_is_object(value))
		return runtime_fail(row, "an object with a 'type'", err);
	made = runtime_object_of(row, value, err);
	if (made == NULL)
		return -(int)err->code;
	if (!json_is_string(json_object_get(made, "Type")))
		return runtime_fail_made(row, made, "an object with a 'type'", err);
	return runtime_put(row, made, t, err);
}

/* Nothing is restarted; "no" may be said. */
int runtime_restart(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *made = json_is_object(value) ? runtime_object_of(row, value, err) : NULL;
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
	static const char wanted[] = "a list of objects with 'name', 'soft' and 'hard'";
	json_t *ours = json_object_get(t->host, row->key), *item;
	json_t *made = ours ? json_deep_copy(ours) : json_array();
	json_t *list = runtime_objects_of(row, value, wanted, err);
	bool fine = list != NULL;
	size_t i;

	if (list == NULL) {
		json_decref(made);
		return -(int)err->code;
	}

	json_array_foreach(list, i, item) {
		fine = fine && json_is_string(json_object_get(item, "Name")) &&
		       json_is_integer(json_object_get(item, "Soft")) &&
		       json_is_integer(json_object_get(item, "Hard"));
		if (fine)
			replace_ulimit(made, item);
	}
	json_decref(list);
	return fine ? runtime_put(row, made, t, err) : runtime_fail_made(row, made, wanted, err);
}

/* ---- ports ---- */

static json_t *port_of(const json_t *value)
{
	const json_t *port = json_is_array(value) ? json_array_get(value, 1) : value;
	const char *address = json_is_array(value) ? json_string_value(json_array_get(value, 0)) : "";
	json_t *text = json_is_string(port)    ? json_copy((json_t *)port)
		       : json_is_integer(port) ? json_sprintf("%" JSON_INTEGER_FORMAT,
							      json_integer_value(port))
		       : port == NULL || json_is_null(port) ? json_string("")
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
	return fine ? runtime_put(row, made, t, err)
		    : runtime_fail_made(row, made, "{\"80/tcp\": 8080} or {\"80/tcp\": [\"127.0.0.1\", 8080]}",
				err);
}

/* ---- capabilities ---- */

/* The agent needs a few until it drops them; they stay. */
int runtime_cap_add(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		    struct sbx_error *err)
{
	json_t *ours = json_object_get(t->host, row->key);
	json_t *made = ours ? json_deep_copy(ours) : json_array();

	if (!runtime_is_texts(value))
		return runtime_fail_made(row, made, "a list of names of capabilities", err);
	json_array_extend(made, (json_t *)value);
	return runtime_put(row, made, t, err);
}

/* All are dropped anyway: what is named adds nothing, and only an empty list means fewer. */
int runtime_cap_drop(const struct runtime_row *row, const json_t *value, struct runtime_target *t,
		     struct sbx_error *err)
{
	if (!runtime_is_texts(value))
		return runtime_fail(row, "a list of names of capabilities", err);
	return json_array_size(value) == 0 ? runtime_put(row, json_array(), t, err) : 0;
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

	if (!runtime_is_texts(value))
		return runtime_fail_made(row, made, "a list of texts", err);
	json_array_foreach(value, i, item) {
		r = r < 0 ? r : add_security(row, t, json_string_value(item), made, err);
	}
	if (r < 0) {
		json_decref(made);
		return r;
	}
	return runtime_put(row, made, t, err);
}
