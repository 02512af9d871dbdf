/* SPDX-License-Identifier: MIT */
/* What all copies share: paths inside, and the meter that counts and limits. */
#include "core/transfer.h"

#include "base/error.h"
#include "core/cancel.h"

#include <stdio.h>
#include <string.h>

/* ---- paths inside ---- */

static int refuse_dots(const char *path, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_DENIED,
			"the path '%.256s' has a '..'; name the file from the work folder or from '/'",
			path);
}

int sbx_inside_path(const char *path, char ret[PATH_MAX], struct sbx_error *err)
{
	size_t at = 0;

	if (path == NULL)
		return sbx_fail(err, SBX_E_INVALID, "there is no path inside the sandbox");
	if (path[0] == '/')
		ret[at++] = '/';
	for (const char *name = path; *name != '\0';) {
		size_t len = strcspn(name, "/");

		if (len == 2 && memcmp(name, "..", 2) == 0)
			return refuse_dots(path, err);
		if (len > NAME_MAX || at + 1 + len >= PATH_MAX)
			return sbx_fail(err, SBX_E_INVALID, "the path '%.64s…' is too long", path);
		if (len > 0 && !(len == 1 && name[0] == '.')) {
			if (at > 0 && ret[at - 1] != '/')
				ret[at++] = '/';
			memcpy(ret + at, name, len);
			at += len;
		}
		name += len + (name[len] == '/');
	}
	ret[at] = '\0';
	return 0;
}

int sbx_inside_join(const char *folder, const char *below, char ret[PATH_MAX],
		    struct sbx_error *err)
{
	bool needs_slash = folder[0] != '\0' && strcmp(folder, "/") != 0 && below[0] != '\0';
	int len = snprintf(ret, PATH_MAX, "%s%s%s", folder, needs_slash ? "/" : "", below);

	if (len < 0 || len >= PATH_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "the path of '%.256s' inside is too long", below);
	return 0;
}

/* ---- the meter ---- */

void sbx_meter_init(struct sbx_meter *m, const struct sbx_copy *how)
{
	static const struct sbx_copy nothing;

	*m = (struct sbx_meter){.how = how ? how : &nothing};
}

static int tell(const struct sbx_meter *m, const char *path, struct sbx_error *err)
{
	const struct sbx_copy *how = m->how;

	if (how->progress == NULL ||
	    how->progress(m->report.bytes, m->total, path, how->userdata))
		return 0;
	return sbx_fail(err, SBX_E_UNAVAILABLE, "the copy was stopped at '%.256s'", path);
}

/* What is left out counts too, or a tree of nothing else would have no end. */
static int check_count(const struct sbx_meter *m, struct sbx_error *err)
{
	uint64_t most = m->how->most_files ? m->how->most_files : SBX_FILES_STANDARD;

	if (m->report.files + m->report.folders + m->report.left_out < most)
		return 0;
	return sbx_fail(err, SBX_E_LIMIT,
			"there are more than %llu files and folders, which is the most allowed",
			(unsigned long long)most);
}

int sbx_meter_entry(struct sbx_meter *m, bool is_folder, const char *path, struct sbx_error *err)
{
	int r = check_count(m, err);

	if (r < 0)
		return r;
	if (is_folder)
		m->report.folders++;
	else
		m->report.files++;
	return tell(m, path, err);
}

int sbx_meter_bytes(struct sbx_meter *m, uint64_t bytes, const char *path, struct sbx_error *err)
{
	uint64_t most = m->how->most_bytes ? m->how->most_bytes : UINT64_MAX;

	if (bytes > most - m->report.bytes)
		return sbx_fail(err, SBX_E_LIMIT,
				"with '%.256s' it is more than %llu bytes, which is the most allowed",
				path, (unsigned long long)most);
	m->report.bytes += bytes;
	return tell(m, path, err);
}

int sbx_meter_leave_out(struct sbx_meter *m, const char *path, struct sbx_error *err)
{
	int r = check_count(m, err);

	if (r == 0 && m->report.left_out++ == 0)
		snprintf(m->report.first_left_out, sizeof(m->report.first_left_out), "%s", path);
	return r;
}

int sbx_copy_cancelled(struct sbx_cancel *cancel, struct sbx_error *err)
{
	if (!sbx_cancel_is_killed(cancel))
		return 0;
	return sbx_fail(err, SBX_E_UNAVAILABLE, "the copy was cancelled");
}
