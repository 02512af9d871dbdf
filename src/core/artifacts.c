/* SPDX-License-Identifier: MIT */
/* The folders that hooks write to, and what a session keeps about artifacts. */
#include "core/artifacts.h"

#include "base/auto.h"
#include "base/buf.h"
#include "core/session.h"
#include "core/support.h"
#include "core/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_MAX 900000u /* beyond it a folder begins with 1 again, so that there is room */

const char *sbx_artifact_kind_name(enum sbx_artifact_kind kind)
{
	static const char *const names[] = {
		[SBX_ARTIFACT_PLOT] = "plot",
		[SBX_ARTIFACT_DISPLAY] = "display",
		[SBX_ARTIFACT_FILE] = "file",
	};

	return (unsigned int)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "file";
}

/* ---- folders ---- */

int sbx_artifact_folder_init(struct sbx_artifact_folder *folder, struct sbx_session *session,
			     struct sbx_error *err)
{
	auto_free char *base = sbx_artifacts_folder(session);

	*folder = (struct sbx_artifact_folder){0};
	if (base == NULL ||
	    asprintf(&folder->path, "%s/%u", base, atomic_fetch_add(&session->artifacts.folders, 1) + 1) < 0) {
		folder->path = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name a folder for artifacts");
	}
	return 0;
}

void sbx_artifact_folder_done(struct sbx_artifact_folder *folder)
{
	free(folder->path);
	free(folder->taken);
	*folder = (struct sbx_artifact_folder){0};
}

uint32_t sbx_artifact_first(const struct sbx_session *session)
{
	uint32_t next = session->artifacts.numbers + 1;

	return next < FIRST_MAX ? next : 1;
}

/* ---- files that are no change ---- */

/* FNV-1a. Who makes two names collide hides a file of its own from the list of its changes. */
static uint64_t hash_path(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *path != '\0'; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
	return hash;
}

void sbx_artifacts_note_put(struct sbx_session *session, const char *path, uint64_t size)
{
	struct sbx_session_artifacts *a = &session->artifacts;
	char absolute[PATH_MAX];
	struct sbx_error ignored;

	if (path[0] != '/' &&
	    sbx_inside_join(session->setup.workdir, path, absolute, &ignored) < 0)
		return;
	if (a->recent == NULL)
		a->recent = calloc(SBX_RECENT_MAX, sizeof(*a->recent));
	if (a->recent == NULL)
		return;
	a->recent[a->recent_at++ % SBX_RECENT_MAX] = (struct sbx_recent){
		.path_hash = hash_path(path[0] == '/' ? path : absolute),
		.size = size,
	};
}

static bool contains(const struct sbx_recent *list, size_t count, const struct sbx_recent *file)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].path_hash == file->path_hash &&
		    (list[i].size == file->size || list[i].size == SBX_RECENT_ANY))
			return true;
	}
	return false;
}

bool sbx_artifacts_is_known(const struct sbx_session *session, const char *path, uint64_t size,
			    uint64_t ctime_ns)
{
	const struct sbx_session_artifacts *a = &session->artifacts;
	struct sbx_recent file = {.path_hash = hash_path(path), .size = size};
	size_t recent = a->recent_at < SBX_RECENT_MAX ? a->recent_at : SBX_RECENT_MAX;

	if (contains(a->recent, recent, &file))
		return true;
	return ctime_ns == a->newest_ns && contains(a->newest, a->newest_count, &file);
}

void sbx_artifacts_note_seen(struct sbx_session *session, const char *path, uint64_t size,
			     uint64_t ctime_ns)
{
	struct sbx_session_artifacts *a = &session->artifacts;

	if (ctime_ns < a->newest_ns)
		return;
	if (ctime_ns > a->newest_ns)
		a->newest_count = 0;
	a->newest_ns = ctime_ns;
	if (a->newest == NULL)
		a->newest = calloc(SBX_RECENT_MAX, sizeof(*a->newest));
	if (a->newest == NULL || a->newest_count == SBX_RECENT_MAX)
		return;
	a->newest[a->newest_count++] = (struct sbx_recent){hash_path(path), size};
}

void sbx_session_artifacts_done(struct sbx_session_artifacts *a)
{
	free(a->recent);
	free(a->newest);
}

/* ---- clear ---- */

static int no_entry(void *owner, const struct wire_entry *entry, struct sbx_error *err)
{
	(void)owner, (void)entry;
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox told of a file that it was not asked for");
}

static int remove_folder(struct sbx_session *session, const char *path, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	const struct sbx_sink sink = {no_entry, sbx_sink_no_data, sbx_sink_no_hole, NULL};
	struct sbx_question q = {.type = WIRE_REMOVE, .payload = &payload, .sink = &sink};
	int r;

	wire_remove_format(&payload, &(struct wire_remove){.deep = true, .path = (char *)path});
	r = sbx_fetch_held(session, &q, err);
	return r < 0 && err->code == SBX_E_NOT_FOUND ? 0 : r;
}

int sbx_session_clear_artifacts(struct sbx_session *session, struct sbx_error *err)
{
	auto_free char *base = sbx_artifacts_folder(session);
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (base == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name the folder for artifacts");
	r = sbx_session_begin(session, err);
	if (r < 0)
		return r;
	r = remove_folder(session, base, err);
	if (r == 0) {
		session->artifacts.numbers = 0;
		session->artifacts.clearings++;
	}
	sbx_session_end(session, r, err);
	return r < 0 ? sbx_wrap(err, "cannot clear the artifacts") : 0;
}
