/* SPDX-License-Identifier: MIT */
#include "core/toolchain.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/io.h"

#include <llmsandbox/session.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define VERSION_MAX 64

/* ---- where tools are ---- */

/* The tool's path in SBX_LANG_PATH and its file's state, or false. */
static bool find_tool(const char *tool, char *ret_path, size_t size, struct stat *st)
{
	const char *at = SBX_LANG_PATH;

	for (;;) {
		size_t len = strcspn(at, ":");

		snprintf(ret_path, size, "%.*s/%s", (int)len, at, tool);
		if (access(ret_path, X_OK) == 0 && stat(ret_path, st) == 0 && S_ISREG(st->st_mode))
			return true;
		if (at[len] == '\0')
			return false;
		at += len + 1;
	}
}

int sbx_toolchain_check(const struct sbx_lang *lang, struct sbx_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; lang->tools[i] != NULL; i++) {
		if (!find_tool(lang->tools[i], path, sizeof(path), &st))
			return sbx_fail(err, SBX_E_NOT_FOUND,
					"%s needs '%s', which is not installed; on Debian: "
					"apt-get install %s",
					lang->info.title, lang->tools[i], lang->info.package);
	}
	return 0;
}

/* What tells one installed tool from another: a new version is another file. */
static bool tool_key(const struct sbx_lang *lang, char *ret, size_t size)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (!find_tool(lang->tools[0], path, sizeof(path), &st) || realpath(path, real) == NULL)
		return false;
	snprintf(ret, size, "%s %llu %llu %lld.%09ld", real, (unsigned long long)st.st_ino,
		 (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return true;
}

/* ---- the folder of what is remembered ---- */

static bool cache_folder(char *ret, size_t size)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (geteuid() == 0)
		snprintf(ret, size, "/var/cache/llm-sandbox");
	else if (xdg != NULL && xdg[0] == '/')
		snprintf(ret, size, "%s/llm-sandbox", xdg);
	else if (home != NULL && home[0] == '/')
		snprintf(ret, size, "%s/.cache/llm-sandbox", home);
	else
		return false;
	return true;
}

/* Only we may have written what we believe. */
static int open_cache_folder(bool make)
{
	char path[PATH_MAX];
	auto_close int fd = -1;
	struct stat st;

	if (!cache_folder(path, sizeof(path)))
		return -ENOENT;
	if (make) {
		char *last = strrchr(path, '/');

		*last = '\0';
		mkdir(path, 0755);
		*last = '/';
		mkdir(path, 0755);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	return take_fd(fd);
}

static bool is_version(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len < VERSION_MAX && strspn(text, "0123456789.") == len && text[0] != '.';
}

/* The remembered version for this very tool; free() it. NULL: none. */
static char *recall_version(const struct sbx_lang *lang)
{
	auto_close int folder = open_cache_folder(false);
	auto_free char *text = NULL;
	char key[PATH_MAX + 128], name[64];
	struct sbx_error ignored;
	char *line;
	size_t len;

	if (folder < 0 || !tool_key(lang, key, sizeof(key)))
		return NULL;
	snprintf(name, sizeof(name), "version-%s", lang->info.id);
	if (sbx_read_file(folder, name, sizeof(key) + VERSION_MAX, &text, &len, &ignored) < 0)
		return NULL;
	line = strchr(text, '\n');
	if (line == NULL)
		return NULL;
	*line++ = '\0';
	if (strcmp(text, key) != 0 || !is_version(line))
		return NULL;
	return strdup(line);
}

/* Best effort: without it the tool is asked again next time. */
static void remember_version(const struct sbx_lang *lang, const char *version)
{
	auto_close int folder = open_cache_folder(true);
	auto_close int fd = -1;
	char key[PATH_MAX + 128], name[64], temp[96];

	if (folder < 0 || !tool_key(lang, key, sizeof(key)))
		return;
	snprintf(name, sizeof(name), "version-%s", lang->info.id);
	snprintf(temp, sizeof(temp), ".%s.%d", name, (int)getpid());
	fd = openat(folder, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (dprintf(fd, "%s\n%s", key, version) < 0 || renameat(folder, temp, folder, name) < 0)
		unlinkat(folder, temp, 0);
}

/* ---- asking a tool ---- */

/* Run argv in a sandbox made for it, with one writable mount or none. */
static int run_apart(const char *const *argv, const char *const *env, const char *writable,
		     const char *inside, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_command command = {.argv = argv, .io = {.env = env}};
	struct sbx_session *session = NULL;
	struct sbx_spec *spec = NULL;
	int r = sbx_spec_new(&spec, err);

	if (r == 0 && writable != NULL) {
		r = sbx_spec_add_mount(spec, writable, inside, true, err);
		if (r == 0)
			r = sbx_spec_set_limit(spec, SBX_LIMIT_WALL_MS, 600000, err);
		if (r == 0)
			r = sbx_spec_set_limit(spec, SBX_LIMIT_MEMORY_BYTES, 4ull << 30, err);
		if (r == 0)
			r = sbx_spec_set_limit(spec, SBX_LIMIT_CPU_MILLI, 64000, err);
		if (r == 0)
			r = sbx_spec_set_limit(spec, SBX_LIMIT_PROCESSES, 1024, err);
	}
	if (r == 0)
		r = sbx_session_open(spec, &session, err);
	if (r == 0)
		r = sbx_session_exec(session, &command, ret, err);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return r;
}

/* The first number with dots in what a tool printed: "openjdk 17.0.15" is 17.0.15. */
static bool parse_version(const char *text, char ret[VERSION_MAX])
{
	for (; *text != '\0'; text++) {
		size_t len = strspn(text, "0123456789.");

		if (len >= 3 && len < VERSION_MAX && memchr(text, '.', len) != NULL && *text != '.') {
			memcpy(ret, text, len);
			ret[len] = '\0';
			while (len > 0 && ret[len - 1] == '.')
				ret[--len] = '\0';
			return true;
		}
		if (len > 0)
			text += len - 1;
	}
	return false;
}

static int ask_version(const struct sbx_lang *lang, char ret[VERSION_MAX], struct sbx_error *err)
{
	/* go wants to know where its cache would be before it tells its version. */
	const char *const env[] = {"GOCACHE=/tmp/go", "GOTOOLCHAIN=local", NULL};
	struct sbx_result *result;
	bool found;
	int r = run_apart(lang->version, env, NULL, NULL, &result, err);

	if (r < 0)
		return sbx_wrap(err, "cannot ask %s for its version", lang->info.title);
	found = parse_version(result->out.data, ret) || parse_version(result->errout.data, ret);
	sbx_result_free(result);
	if (!found)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "'%s' does not tell its version",
				lang->version[0]);
	return 0;
}

static int get_version(const struct sbx_lang *lang, char **ret, struct sbx_error *err)
{
	char version[VERSION_MAX];
	int r = sbx_toolchain_check(lang, err);

	if (r < 0)
		return r;
	*ret = recall_version(lang);
	if (*ret != NULL)
		return 0;
	r = ask_version(lang, version, err);
	if (r < 0)
		return r;
	remember_version(lang, version);
	*ret = strdup(version);
	return *ret ? 0 : sbx_fail_errno(err, ENOMEM, "cannot keep a version");
}

static int find_language(const char *id, const struct sbx_lang **ret, struct sbx_error *err)
{
	*ret = sbx_lang_find(id);
	if (*ret == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no language '%.64s'", id);
	return 0;
}

int sbx_language_version(const char *id, char **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	const struct sbx_lang *lang;
	int r;

	err = err ? err : &lent;
	r = find_language(id, &lang, err);
	return r < 0 ? r : get_version(lang, ret, err);
}

/* ---- warm caches ---- */

static int cache_path(const struct sbx_lang *lang, const char *version, const char *suffix,
		      char **ret)
{
	char folder[PATH_MAX / 2];

	if (!cache_folder(folder, sizeof(folder)))
		return -ENOENT;
	if (asprintf(ret, "%s/toolchains/%s-%s%s", folder, lang->info.id, version, suffix) < 0) {
		*ret = NULL;
		return -ENOMEM;
	}
	return 0;
}

int sbx_toolchain_cache_path(const struct sbx_lang *lang, char **ret)
{
	auto_free char *version = recall_version(lang);
	auto_free char *path = NULL;
	struct stat st;

	*ret = NULL;
	if (version == NULL || cache_path(lang, version, "", &path) < 0)
		return 0;
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		*ret = take_ptr(path);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Fill the staging folder in a sandbox and give it its name when it is whole. */
static int fill_cache(const struct sbx_lang *lang, const char *staging, const char *path,
		      struct sbx_error *err)
{
	struct sbx_result *result = NULL;
	int r;

	remove_tree(staging);
	if (mkdir(staging, 0755) < 0)
		return sbx_fail_errno(err, errno, "cannot make '%s'", staging);
	r = run_apart(lang->cache->fill, lang->cache->env, staging, lang->cache->inside, &result, err);
	if (r == 0 && result->exit_code != 0)
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "cannot warm the cache of %s: %.300s",
			     lang->info.title, result->errout.data);
	sbx_result_free(result);
	if (r == 0 && rename(staging, path) < 0)
		r = sbx_fail_errno(err, errno, "cannot keep '%s'", path);
	if (r < 0)
		remove_tree(staging);
	return r;
}

/* One builder at a time; who waited finds the folder made. */
static int make_cache(const struct sbx_lang *lang, const char *version, struct sbx_error *err)
{
	auto_close int folder = open_cache_folder(true);
	auto_close int lock = -1;
	auto_free char *path = NULL;
	auto_free char *staging = NULL;
	struct stat st;

	if (folder < 0)
		return sbx_fail_errno(err, -folder, "cannot open the cache folder");
	if (mkdirat(folder, "toolchains", 0755) < 0 && errno != EEXIST)
		return sbx_fail_errno(err, errno, "cannot make the folder of warm caches");
	if (cache_path(lang, version, "", &path) < 0 || cache_path(lang, version, ".new", &staging) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot name a warm cache");
	lock = openat(folder, "toolchains", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return sbx_fail_errno(err, errno, "cannot lock the folder of warm caches");
	if (lstat(path, &st) == 0)
		return 0;
	return fill_cache(lang, staging, path, err);
}

int sbx_language_prepare(const char *id, struct sbx_error *err)
{
	struct sbx_error lent;
	const struct sbx_lang *lang;
	auto_free char *path = NULL;
	auto_free char *version = NULL;
	int r;

	err = err ? err : &lent;
	r = find_language(id, &lang, err);
	if (r < 0 || lang->cache == NULL)
		return r;
	sbx_toolchain_cache_path(lang, &path);
	if (path != NULL)
		return 0;
	r = get_version(lang, &version, err);
	return r < 0 ? r : make_cache(lang, version, err);
}
