/* SPDX-License-Identifier: MIT */
#include "cli/artifacts.h"

#include "cli/listing.h"
#include "cli/trouble.h"
#include "cli/utf8.h"
#include "cli/value.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

static int fail_folder(const char *folder, int error, struct sbx_error *err)
{
	return cli_fail(err, SBX_E_INVALID, "cannot make the folder '%.256s': %s", folder,
			strerror(error));
}

int artifacts_folder(const char *folder, char ret[PATH_MAX], struct sbx_error *err)
{
	auto_free char *path = strdup(folder);
	struct stat st;

	if (path == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	if (path[0] == '\0')
		return cli_fail(err, SBX_E_INVALID, "the folder for artifacts has no name");
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return fail_folder(path, errno, err);
		*slash = '/';
	}
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return fail_folder(path, errno, err);
	if (realpath(path, ret) == NULL || stat(ret, &st) < 0)
		return fail_folder(path, errno, err);
	if (!S_ISDIR(st.st_mode))
		return fail_folder(path, ENOTDIR, err);
	if (access(ret, W_OK | X_OK) < 0)
		return cli_fail(err, SBX_E_INVALID, "cannot write into the folder '%.256s': %s",
				folder, strerror(errno));
	return 0;
}

/* ---- names: the library cleans them, and this is where trusting it would end ---- */

bool artifacts_name_is_good(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX || name[0] == '.')
		return false;
	while (len > 0) {
		const unsigned char *p = (const unsigned char *)name;
		int n = utf8_length(p, len);

		if (n <= 0 || p[0] < 0x20 || p[0] == 0x7f || p[0] == '/' ||
		    (p[0] == 0xc2 && p[1] < 0xa0))
			return false;
		name += n;
		len -= (size_t)n;
	}
	return true;
}

/* ---- saving ---- */

/* What goes on in a kernel may write to it still; it is no reason to fill this machine's disk. */
static uint64_t most_bytes(const struct sbx_artifact *a)
{
	uint64_t room = (uint64_t)1 << 20;

	return a->size < UINT64_MAX / 2 - room ? 2 * a->size + room : UINT64_MAX;
}

static int save_one(const struct site *site, const struct sbx_artifact *a, const char *folder,
		    struct sbx_error *err)
{
	char to[PATH_MAX];
	int n;

	if (!artifacts_name_is_good(a->name))
		return cli_fail(err, SBX_E_DENIED, "'%s' is no name for a file", a->name);
	n = snprintf(to, sizeof(to), "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, a->name);
	if (n >= PATH_MAX)
		return cli_fail(err, SBX_E_INVALID, "'%s' has too long a path", a->name);
	return site_save(site, a->path, to, most_bytes(a), err);
}

bool artifacts_save(const struct site *site, const struct sbx_result *result, const char *folder,
		    bool *ret_saved)
{
	struct sbx_error err;
	bool good = true;

	for (size_t i = 0; i < result->artifact_count; i++) {
		ret_saved[i] = save_one(site, &result->artifacts[i], folder, &err) == 0;
		if (!ret_saved[i])
			cli_say("'%s' was not saved: %s", result->artifacts[i].name, err.msg);
		good &= ret_saved[i];
	}
	return good;
}

/* ---- telling ---- */

static int widest(const struct sbx_result *result, bool of_names)
{
	size_t most = 0;

	for (size_t i = 0; i < result->artifact_count; i++) {
		const struct sbx_artifact *a = &result->artifacts[i];
		size_t len = strlen(of_names ? a->name : a->mime_type);

		most = len > most ? len : most;
	}
	return (int)(most < 40 ? most : 40);
}

static void list_one(const struct sbx_artifact *a, int name_width, int type_width)
{
	auto_free char *name = listing_tame(a->name);
	auto_free char *type = listing_tame(a->mime_type);
	auto_free char *title = listing_tame(a->title);
	char size[VALUE_TEXT_MAX];

	value_round(a->size, size);
	dprintf(STDERR_FILENO, "%-*s  %-*s  %6s%s%s\n", name_width, name ? name : "?", type_width,
		type ? type : "?", size, title && title[0] ? "  " : "", title ? title : "");
}

void artifacts_list(const struct sbx_result *result, const char *folder)
{
	auto_free char *tame = listing_tame(folder);
	int name_width = widest(result, true), type_width = widest(result, false);

	if (result->artifact_count > 0)
		dprintf(STDERR_FILENO, "%zu artifact%s in %s:\n", result->artifact_count,
			result->artifact_count == 1 ? "" : "s", tame ? tame : "?");
	for (size_t i = 0; i < result->artifact_count; i++)
		list_one(&result->artifacts[i], name_width, type_width);
	if (result->artifacts_left_out > 0)
		cli_say("%u more artifact%s left out; --artifact-count and --artifact-bytes "
			"change how many may be",
			result->artifacts_left_out,
			result->artifacts_left_out == 1 ? " was" : "s were");
}

/* ---- JSON ---- */

static int index_of(const struct sbx_result *result, const char *name)
{
	for (size_t i = 0; name != NULL && i < result->artifact_count; i++) {
		if (strcmp(result->artifacts[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

static void add_path(json_t *object, const struct sbx_result *result, const char *folder,
		     const bool *saved)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	int n = index_of(result, name);

	/* A folder whose name is no UTF-8 is nothing that JSON can say. */
	if (n >= 0 && saved[n])
		json_object_set_new(object, "saved_as", json_sprintf("%s/%s", folder, name));
}

int artifacts_add_paths(const char *json, const struct sbx_result *result, const char *folder,
			const bool *saved, int indent, char **ret, struct sbx_error *err)
{
	json_t *root = json_loads(json, JSON_ALLOW_NUL, NULL), *object;
	char *text;
	size_t i;

	json_array_foreach (json_object_get(root, "artifacts"), i, object)
		add_path(object, result, folder, saved);
	text = root ? json_dumps(root, indent ? JSON_INDENT((size_t)indent) : 0) : NULL;
	json_decref(root);
	if (text == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "cannot add the files' paths to the result");
	*ret = text;
	return 0;
}
