/* SPDX-License-Identifier: MIT */
/* Requests about sessions as a whole: start, list, stop. */
#include "cli/holder_request.h"

#include "cli/holder_programs.h"
#include "cli/names.h"
#include "cli/trouble.h"
#include "cli/wishes.h"

#include <llmsandbox/container.h>
#include <llmsandbox/files.h>

#include <stdio.h>
#include <string.h>

#define NAME_TRIES 100

/* A name that has been given to a session which is not there yet: its image may be pulled. */
struct given {
	char name[NAME_SIZE];
	struct given *next;
};

/* ---- names ---- */

static bool is_taken(const struct hall *hall, const struct sbx_session_info *list, size_t count,
		     const char *name)
{
	for (const struct given *g = hall->given; g != NULL; g = g->next) {
		if (strcmp(g->name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].label, name) == 0)
			return true;
	}
	return false;
}

static int make_name(const struct hall *hall, const struct sbx_session_info *list, size_t count,
		     char ret[NAME_SIZE], struct sbx_error *err)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		if (name_make(ret) && !is_taken(hall, list, count, ret))
			return 0;
	}
	return cli_fail(err, SBX_E_UNAVAILABLE, "cannot find a name; give one");
}

/* The name that the request gives, or a new one; nobody else has it. */
static int choose_name(struct request *q, char ret[NAME_SIZE], struct sbx_error *err)
{
	auto_free char *name = paper_bytes(json_object_get(q->body, "session"));
	auto_free struct sbx_session_info *list = NULL;
	size_t count = 0;
	int r = sbx_registry_list(q->hall->registry, REQUEST_OWNER, &list, &count, err);

	if (r < 0)
		return r;
	if (name == NULL)
		return make_name(q->hall, list, count, ret, err);
	if (!name_is_good(name))
		return cli_fail(err, SBX_E_INVALID, "'%.64s' is no name of a session: " NAME_RULE,
				name);
	if (is_taken(q->hall, list, count, name))
		return cli_fail(err, SBX_E_INVALID,
				"there is a session '%s' already; "
				"'llm-sandbox session stop %s' ends it",
				name, name);
	snprintf(ret, NAME_SIZE, "%s", name);
	return 0;
}

static int give_name(struct request *q, struct given *given, struct sbx_error *err)
{
	int r;

	pthread_mutex_lock(&q->hall->naming);
	r = choose_name(q, given->name, err);
	if (r == 0) {
		given->next = q->hall->given;
		q->hall->given = given;
	}
	pthread_mutex_unlock(&q->hall->naming);
	return r;
}

/* The session has it now, or nobody. */
static void take_name_back(struct request *q, const struct given *given)
{
	struct given **at = &q->hall->given;

	pthread_mutex_lock(&q->hall->naming);
	while (*at != given)
		at = &(*at)->next;
	*at = given->next;
	pthread_mutex_unlock(&q->hall->naming);
}

/* ---- start ---- */

static int make_spec(struct request *q, struct settings *s, const char *language,
		     struct sbx_error *err)
{
	int r = settings_init(s, err);

	if (r == 0)
		r = wishes_apply(json_object_get(q->body, "options"), s, err);
	if (r == 0)
		r = settings_finish(s, err);
	if (r == 0 && language != NULL)
		r = sbx_spec_set_language(s->spec, language, err);
	return r;
}

/* A sandbox that will never be is the error of its first operation: here, and not later. */
static int greet(struct request *q, const char *id, struct sbx_error *err)
{
	struct sbx_file_info info;
	struct sbx_session *session;
	struct sbx_error ignored;
	int r = sbx_registry_acquire(q->hall->registry, REQUEST_OWNER, id, &session, err);

	if (r < 0)
		return r;
	r = sbx_session_stat_file(session, ".", &info, err);
	sbx_registry_release(q->hall->registry, session);
	if (r == 0)
		free(info.path);
	/* Whoever asked is gone, and nobody knows the name. */
	if (r < 0 || q->gone)
		sbx_registry_close(q->hall->registry, REQUEST_OWNER, id, &ignored);
	return r;
}

static int open_session(struct request *q, struct settings *s, const char *language,
			struct sbx_session_info *ret, struct sbx_error *err)
{
	struct given given;
	struct sbx_registry_open how = {
		.label = given.name,
		.language = language,
		.owner = REQUEST_OWNER,
		.idle_ms = request_number(q, "idle_ms"),
	};
	int r = give_name(q, &given, err);

	if (r < 0)
		return r;
	/* Until it is open; whoever asked may not want it any more while its image is pulled. */
	sbx_spec_set_cancel(s->spec, q->cancel);
	how.spec = s->spec;
	s->spec = NULL;
	r = sbx_registry_open(q->hall->registry, &how, ret, err);
	take_name_back(q, &given);
	return r;
}

static int start(struct request *q, struct sbx_error *err)
{
	const char *language = json_string_value(json_object_get(q->body, "language"));
	struct sbx_session_info info;
	struct settings s;
	int r = make_spec(q, &s, language, err);

	if (r == 0)
		r = open_session(q, &s, language, &info, err);
	settings_done(&s);
	if (r == 0)
		r = greet(q, info.id, err);
	if (r < 0)
		return r;
	json_object_set_new(q->answer, "name", json_string(info.label));
	json_object_set_new(q->answer, "id", json_string(info.id));
	return 0;
}

/* ---- list ---- */

static json_t *time_json(uint64_t ms)
{
	return ms == SBX_TIMEOUT_NONE ? json_null() : json_integer((json_int_t)ms);
}

static json_t *info_json(const struct request *q, const struct sbx_session_info *info)
{
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:o, s:o, s:I, s:b, s:o}", "name", info->label,
			 "id", info->id, "language", info->language[0] ? info->language : NULL,
			 "created", (json_int_t)info->created, "idle_ms", (json_int_t)info->idle_ms,
			 "expires_in_ms", time_json(info->expires_in_ms), "lifetime_left_ms",
			 time_json(info->lifetime_left_ms), "operations",
			 (json_int_t)info->operations, "busy", info->busy, "processes",
			 programs_list(q->hall->programs, info->id));
}

static int list_sessions(struct request *q, struct sbx_error *err)
{
	auto_free struct sbx_session_info *list = NULL;
	json_t *array = json_array();
	size_t count = 0;
	int r = sbx_registry_list(q->hall->registry, REQUEST_OWNER, &list, &count, err);

	for (size_t i = 0; r == 0 && i < count; i++)
		json_array_append_new(array, info_json(q, &list[i]));
	json_object_set_new(q->answer, "sessions", array);
	return r;
}

/* ---- stop ---- */

static int stop_all(struct request *q, struct sbx_error *err)
{
	auto_free struct sbx_session_info *list = NULL;
	json_t *stopped = json_array();
	struct sbx_error ignored;
	size_t count = 0;
	int r = sbx_registry_list(q->hall->registry, REQUEST_OWNER, &list, &count, err);

	for (size_t i = 0; r == 0 && i < count; i++) {
		/* One that ended by itself meanwhile has ended. */
		sbx_registry_close(q->hall->registry, REQUEST_OWNER, list[i].id, &ignored);
		json_array_append_new(stopped, json_string(list[i].label));
	}
	json_object_set_new(q->answer, "stopped", stopped);
	q->hall->asked_to_end = true;
	return r;
}

static int stop(struct request *q, struct sbx_error *err)
{
	auto_free char *name = NULL;
	int r;

	if (request_flag(q, "all"))
		return stop_all(q, err);
	r = request_text(q, "session", &name, err);
	if (r == 0)
		r = sbx_registry_close(q->hall->registry, REQUEST_OWNER, name, err);
	if (r == -(int)SBX_E_NOT_FOUND)
		request_suggest(q, name, err);
	return r;
}

const struct request_row session_requests[] = {
	{"start", start}, {"sessions", list_sessions}, {"stop", stop}, {0}};
