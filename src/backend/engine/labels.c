/* SPDX-License-Identifier: MIT */
#include "backend/engine/labels.h"

#include "backend/engine/ours.h"
#include "backend/engine/owner.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TIME_FORMAT "%Y-%m-%dT%H:%M:%S"
#define NEW_S	    600

const char *engine_labels_now(char ret[ENGINE_TIME_MAX])
{
	time_t now = time(NULL);
	struct tm utc;

	strftime(ret, ENGINE_TIME_MAX, TIME_FORMAT "Z", gmtime_r(&now, &utc));
	return ret;
}

/* Engines give fractions of seconds, and the offset of their own time. */
int64_t engine_labels_age_s(const char *text)
{
	struct tm utc = {0};
	const char *end = strptime(text, TIME_FORMAT, &utc);
	long offset;

	if (end != NULL && *end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	end = end != NULL ? strptime(end, "%z", &utc) : NULL;
	if (end == NULL || *end != '\0')
		return -1;
	offset = utc.tm_gmtoff;
	return (int64_t)(time(NULL) - (timegm(&utc) - offset));
}

json_t *engine_labels(const char *purpose, const char *session)
{
	char owner[ENGINE_OWNER_MAX], started[ENGINE_TIME_MAX];
	json_t *o = json_pack("{s:s, s:s, s:s}", ENGINE_LABEL, purpose, ENGINE_LABEL_OWNER,
			      engine_owner_format(owner), ENGINE_LABEL_STARTED,
			      engine_labels_now(started));

	if (session != NULL)
		json_object_set_new(o, ENGINE_LABEL_SESSION, json_string(session));
	return o;
}

static const char *label(const json_t *labels, const char *name)
{
	return json_string_value(json_object_get(labels, name)) ?: "";
}

static bool is_old(const char *started)
{
	return engine_labels_age_s(started) > NEW_S;
}

static bool is_at_rest(const char *state)
{
	static const char *const states[] = {"created", "exited", "dead", "configured", "initialized",
					     "stopped"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcasecmp(state, states[i]) == 0)
			return true;
	}
	return false;
}

static bool is_of_ours(const char *purpose)
{
	return strcmp(purpose, "session") == 0 || strcmp(purpose, "carrier") == 0;
}

/* This very process is the owner, and knows. */
static bool is_lost(const json_t *labels)
{
	char me[ENGINE_OWNER_MAX];

	return strcmp(label(labels, ENGINE_LABEL_OWNER), engine_owner_format(me)) == 0 &&
	       engine_ours_is_lost(label(labels, ENGINE_LABEL_SESSION));
}

bool engine_labels_are_left_behind(const json_t *labels, const char *state, bool local)
{
	enum engine_owner_state owner = engine_owner_judge(label(labels, ENGINE_LABEL_OWNER));

	if (!is_of_ours(label(labels, ENGINE_LABEL)) || owner == ENGINE_OWNER_UNKNOWN)
		return false;
	if (owner == ENGINE_OWNER_RUNS)
		return is_lost(labels);
	if (owner == ENGINE_OWNER_GONE && local)
		return true;
	return is_at_rest(state) && is_old(label(labels, ENGINE_LABEL_STARTED));
}
