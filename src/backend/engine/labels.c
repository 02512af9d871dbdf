/* SPDX-License-Identifier: MIT */
#include "backend/engine/labels.h"

#include "backend/engine/owner.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#define TIME_FORMAT "%Y-%m-%dT%H:%M:%SZ"
#define NEW_S	    600

static void name_session(char ret[33])
{
	unsigned char bytes[16] = {0};

	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

json_t *engine_labels(const char *purpose, const char *session)
{
	char owner[ENGINE_OWNER_MAX], started[32], name[33];
	time_t now = time(NULL);
	struct tm utc;

	strftime(started, sizeof(started), TIME_FORMAT, gmtime_r(&now, &utc));
	if (session == NULL) {
		name_session(name);
		session = name;
	}
	return json_pack("{s:s, s:s, s:s, s:s}", ENGINE_LABEL, purpose, ENGINE_LABEL_OWNER,
			 engine_owner_format(owner), ENGINE_LABEL_STARTED, started,
			 ENGINE_LABEL_SESSION, session);
}

static const char *label(const json_t *labels, const char *name)
{
	return json_string_value(json_object_get(labels, name)) ?: "";
}

static bool is_old(const char *started)
{
	struct tm utc = {0};
	const char *end = strptime(started, TIME_FORMAT, &utc);

	return end != NULL && *end == '\0' && time(NULL) - timegm(&utc) > NEW_S;
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

bool engine_labels_are_left_behind(const json_t *labels, const char *state, bool local)
{
	enum engine_owner_state owner = engine_owner_judge(label(labels, ENGINE_LABEL_OWNER));
	const char *purpose = label(labels, ENGINE_LABEL);

	if ((strcmp(purpose, "session") != 0 && strcmp(purpose, "carrier") != 0) || owner == ENGINE_OWNER_UNKNOWN ||
	    owner == ENGINE_OWNER_RUNS)
		return false;
	if (owner == ENGINE_OWNER_GONE && local)
		return true;
	return is_at_rest(state) && is_old(label(labels, ENGINE_LABEL_STARTED));
}
