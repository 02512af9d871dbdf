/* SPDX-License-Identifier: MIT */
#include "core/toolchain.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/strv.h"
#include "base/cache.h"

#include <llmsandbox/language.h>
#include <llmsandbox/session.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- tools ---- */

/* Where a program is on SBX_LANG_PATH, and its file; false when it is nowhere. */
bool sbx_toolchain_find(const char *name, char ret_path[PATH_MAX], struct stat *ret_file)
{
	const char *folder = SBX_LANG_PATH;

	while (*folder != '\0') {
		size_t len = strcspn(folder, ":");

		snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)len, folder, name);
		if (stat(ret_path, ret_file) == 0 && S_ISREG(ret_file->st_mode) &&
		    (ret_file->st_mode & 0111) != 0)
			return true;
		folder += len + (folder[len] == ':');
	}
	return false;
}

int sbx_toolchain_check(const struct sbx_lang *lang, struct sbx_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; lang->tools[i] != NULL; i++) {
		if (!sbx_toolchain_find(lang->tools[i], path, &st))
			return sbx_fail(err, SBX_E_NOT_FOUND,
					"%s needs '%s', which is not installed; install it with: "
					"apt-get install %s",
					lang->info.id, lang->tools[i], lang->info.package);
	}
	return 0;
}

/* ---- versions on disk ---- */

/* What identifies the tool that was asked: any change of its file is another tool. */
static bool describe_tool(const struct sbx_lang *lang, char *ret, size_t size)
{
	char path[PATH_MAX];
	struct stat st;
	int n;

	if (!sbx_toolchain_find(lang->version[0], path, &st))
		return false;
	n = snprintf(ret, size, "%s %lld %lld.%09ld %llu\n", path, (long long)st.st_size,
		     (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		     (unsigned long long)st.st_ino);
	return n > 0 && (size_t)n < size;
}

static size_t version_length(const char *text)
{
	return strspn(text, "0123456789.");
}

/* The version that was told by this very tool before, or false. */
static bool recall_version(const struct sbx_lang *lang, char ret[SBX_VERSION_MAX])
{
	struct sbx_error ignored;
	auto_free char *text = NULL;
	auto_close int fd = sbx_cache_open(".", false);
	char tool[PATH_MAX + 128], name[64];
	size_t text_len, tool_len, len;

	if (fd < 0 || !describe_tool(lang, tool, sizeof(tool)))
		return false;
	snprintf(name, sizeof(name), "version-%s", lang->info.id);
	if (sbx_read_file(fd, name, sizeof(tool) + SBX_VERSION_MAX, &text, &text_len, &ignored) < 0)
		return false;
	tool_len = strlen(tool);
	if (text_len <= tool_len || memcmp(text, tool, tool_len) != 0)
		return false;
	len = version_length(text + tool_len);
	if (len == 0 || len >= SBX_VERSION_MAX || strcmp(text + tool_len + len, "\n") != 0 ||
	    text[tool_len] == '.')
		return false;
	memcpy(ret, text + tool_len, len);
	ret[len] = '\0';
	return true;
}

/* Best effort: what is not kept is asked again. */
static void keep_version(const struct sbx_lang *lang, const char *version)
{
	auto_close int folder_fd = sbx_cache_open(".", true);
	auto_close int fd = -1;
	char text[PATH_MAX + 128 + SBX_VERSION_MAX], name[64], temporary[96];
	size_t len;

	if (folder_fd < 0 || !describe_tool(lang, text, PATH_MAX + 128))
		return;
	len = strlen(text);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", version);
	snprintf(name, sizeof(name), "version-%s", lang->info.id);
	snprintf(temporary, sizeof(temporary), ".%s-%d", name, (int)gettid());

	unlinkat(folder_fd, temporary, 0);
	fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (sbx_write_all(fd, text, len) < 0 || renameat(folder_fd, temporary, folder_fd, name) < 0)
		unlinkat(folder_fd, temporary, 0);
}

/* ---- tools of an image ---- */

/* Links of an image lead within it. */
static bool find_in_root(int root_fd, const char *folder, const char *name, struct stat *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	while (*folder != '\0') {
		size_t len = strcspn(folder, ":");
		auto_close int fd = -1;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, name);
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode))
			return true;
		folder += len + (folder[len] == ':');
	}
	return false;
}

static bool add_tool(int root_fd, const char *path, const char *name, struct sbx_sha256 *hash)
{
	char text[256];
	struct stat st;

	if (!find_in_root(root_fd, path, name, &st))
		return false;
	snprintf(text, sizeof(text), "%.64s %llu %lld %lld.%09ld %lld.%09ld", name,
		 (unsigned long long)st.st_ino, (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
		 st.st_ctim.tv_nsec);
	sbx_sha256_add(hash, text, strlen(text) + 1);
	return true;
}

int sbx_toolchain_key(const struct sbx_lang *lang, const char *root, const char *path,
		      char ret[SBX_SHA256_HEX], struct sbx_error *err)
{
	auto_close int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sbx_sha256 hash = SBX_SHA256_INIT;

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the image '%.200s'", root);
	sbx_sha256_add(&hash, root, strlen(root) + 1);
	sbx_sha256_add(&hash, path, strlen(path) + 1);
	for (size_t i = 0; lang->tools[i] != NULL; i++) {
		if (!add_tool(fd, path, lang->tools[i], &hash))
			return sbx_fail(err, SBX_E_NOT_FOUND, "the image has no tool chain for %s",
					lang->info.title);
	}
	if (!add_tool(fd, path, lang->install->tool, &hash))
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"libraries of %s are installed by '%s', which is not in the image (on Debian: "
				"apt-get install %s)",
				lang->info.title, lang->install->tool, lang->install->package);
	sbx_sha256_hex(&hash, ret);
	return 0;
}

/* ---- asking the tool ---- */

bool sbx_toolchain_parse_version(const char *text, char ret[SBX_VERSION_MAX])
{
	const char *start = strpbrk(text, "0123456789");
	size_t len;

	if (start == NULL)
		return false;
	len = version_length(start);
	while (start[len - 1] == '.')
		len--;
	if (len >= SBX_VERSION_MAX)
		return false;
	memcpy(ret, start, len);
	ret[len] = '\0';
	return true;
}

static int run_in_sandbox(const struct sbx_spec *spec, const struct sbx_command *command,
			  struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_session *session = NULL;
	int r = sbx_session_open(spec, &session, err);

	if (r < 0)
		return r;
	r = sbx_session_exec(session, command, ret, err);
	sbx_session_close(session);
	return r;
}

int sbx_toolchain_ask_in(struct sbx_session *session, const struct sbx_lang *lang,
			 char ret[SBX_VERSION_MAX], struct sbx_error *err)
{
	const struct sbx_command command = {.argv = lang->version};
	struct sbx_result *result = NULL;
	bool found;
	int r = sbx_session_exec(session, &command, &result, err);

	if (r < 0)
		return sbx_wrap(err, "cannot ask %s for its version", lang->version[0]);
	/* java and older tools answer on stderr. */
	found = result->exit_code == 0 && (sbx_toolchain_parse_version(result->out.data, ret) ||
					   sbx_toolchain_parse_version(result->errout.data, ret));
	if (!found)
		sbx_fail(err, SBX_E_UNAVAILABLE, "%s does not tell its version (exit code %d): %.160s",
			 lang->version[0], result->exit_code, result->errout.data);
	sbx_result_free(result);
	return found ? 0 : -SBX_E_UNAVAILABLE;
}

/* In a sandbox of this machine. */
static int ask(const struct sbx_lang *lang, char ret[SBX_VERSION_MAX], struct sbx_error *err)
{
	struct sbx_session *session = NULL;
	struct sbx_spec *spec = NULL;
	int r = sbx_spec_new(&spec, err);

	if (r < 0)
		return r;
	r = sbx_session_open(spec, &session, err);
	if (r == 0)
		r = sbx_toolchain_ask_in(session, lang, ret, err);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return r;
}

static int get_version(const struct sbx_lang *lang, char ret[SBX_VERSION_MAX], struct sbx_error *err)
{
	int r = sbx_toolchain_check(lang, err);

	if (r < 0 || recall_version(lang, ret))
		return r;
	r = ask(lang, ret, err);
	if (r == 0)
		keep_version(lang, ret);
	return r;
}

static int find_language(const char *id, const struct sbx_lang **ret, struct sbx_error *err)
{
	*ret = id ? sbx_lang_find(id) : NULL;
	if (*ret == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no language '%.64s'", id ? id : "");
	return 0;
}

int sbx_language_version(const char *id, char **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	const struct sbx_lang *lang;
	char version[SBX_VERSION_MAX];
	char *copy;
	int r;

	err = err ? err : &lent;
	r = find_language(id, &lang, err);
	if (r == 0)
		r = get_version(lang, version, err);
	if (r < 0)
		return r;
	copy = strdup(version);
	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep a version");
	*ret = copy;
	return 0;
}

/* ---- warm caches ---- */

static void name_cache(const struct sbx_lang *lang, const char *version, char *ret, size_t size)
{
	snprintf(ret, size, "%s-%s", lang->info.id, version);
}

static bool cache_exists(int folder_fd, const char *name)
{
	struct stat st;

	return fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && sbx_cache_is_ours(&st);
}

int sbx_toolchain_cache_path(const struct sbx_lang *lang, char **ret)
{
	auto_close int fd = -1;
	char folder[PATH_MAX], version[SBX_VERSION_MAX], name[96];
	char *path;

	*ret = NULL;
	if (lang->cache == NULL || !recall_version(lang, version) || !sbx_cache_path(folder))
		return 0;
	fd = sbx_cache_open("toolchains", false);
	name_cache(lang, version, name, sizeof(name));
	if (fd < 0 || !cache_exists(fd, name))
		return 0;
	if (asprintf(&path, "%s/toolchains/%s", folder, name) < 0)
		return -SBX_E_SYSTEM;
	*ret = path;
	return 0;
}

/* Files and folders of our own that nobody changes any more; anything else is no cache. */
static int seal_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)at;
	if (type != FTW_F && type != FTW_D)
		return EINVAL;
	if (type == FTW_F && (!S_ISREG(st->st_mode) || st->st_nlink != 1))
		return EINVAL;
	if (lchown(path, geteuid(), getegid()) < 0)
		return errno;
	if (chmod(path, type == FTW_D || (st->st_mode & 0100) ? 0755 : 0444) < 0)
		return errno;
	return 0;
}

static int set_generous_limits(struct sbx_spec *spec, struct sbx_error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct {
		enum sbx_limit limit;
		uint64_t value;
	} limits[] = {
		{SBX_LIMIT_WALL_MS, 900000},
		{SBX_LIMIT_CPU_MILLI, (uint64_t)(cpus < 1 ? 1 : cpus > 64 ? 64 : cpus) * 1000},
		{SBX_LIMIT_MEMORY_BYTES, 4ull << 30},
		{SBX_LIMIT_PROCESSES, 2048},
		{SBX_LIMIT_DISK_BYTES, 2ull << 30},
		{SBX_LIMIT_OPEN_FILES, 4096},
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && r == 0; i++)
		r = sbx_spec_set_limit(spec, limits[i].limit, limits[i].value, err);
	return r;
}

static int run_fill(const struct sbx_lang *lang, const struct sbx_spec *spec, struct sbx_error *err)
{
	struct sbx_lang_values values = {
		.build = lang->cache->inside,
		.memory_mb = (unsigned long)(sbx_spec_get_limit(spec, SBX_LIMIT_MEMORY_BYTES) >> 20),
		.cpus = (unsigned long)(sbx_spec_get_limit(spec, SBX_LIMIT_CPU_MILLI) / 1000),
	};
	static const char *const nothing[] = {NULL};
	auto_strv char **argv = sbx_lang_expand(lang->cache->fill, &values, NULL);
	auto_strv char **env =
		sbx_lang_expand(lang->cache->env ? lang->cache->env : nothing, &values, NULL);
	struct sbx_command command = {
		.argv = (const char *const *)argv,
		.io.env = (const char *const *)env,
	};
	struct sbx_result *result = NULL;
	int r;

	if (argv == NULL || env == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	r = run_in_sandbox(spec, &command, &result, err);
	if (r == 0 && (result->reason != SBX_EXITED || result->exit_code != 0))
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "'%s' failed (%s, exit code %d): %.200s", argv[0],
			     sbx_reason_name(result->reason), result->exit_code,
			     result->errout.data);
	sbx_result_free(result);
	return r;
}

static int fill(const struct sbx_lang *lang, const char *staging, struct sbx_error *err)
{
	struct sbx_spec *spec = NULL;
	int r = sbx_spec_new(&spec, err);

	if (r < 0)
		return r;
	r = set_generous_limits(spec, err);
	if (r == 0)
		r = sbx_spec_add_mount(spec, staging, lang->cache->inside, true, err);
	if (r == 0)
		r = run_fill(lang, spec, err);
	sbx_spec_free(spec);
	return r;
}

/* The folder while it is made; who holds the lock may remove one that was left half-built. */
static int make_staging(const char *staging, struct sbx_error *err)
{
	sbx_remove_tree(staging);
	if (mkdir(staging, 0755) < 0)
		return sbx_fail_errno(err, errno, "cannot make the folder '%s'", staging);
	return 0;
}

static int publish(const char *staging, const char *final, struct sbx_error *err)
{
	int r = nftw(staging, seal_entry, 16, FTW_PHYS | FTW_MOUNT);

	if (r != 0)
		return sbx_fail_errno(err, r > 0 ? r : errno, "cannot use what is in '%s'", staging);
	if (rename(staging, final) < 0)
		return sbx_fail_errno(err, errno, "cannot make the folder '%s'", final);
	return 0;
}

/* Wait for others who make the same, and keep them waiting until *ret is closed. */
static int lock_caches(int folder_fd, int *ret, struct sbx_error *err)
{
	auto_close int fd = openat(folder_fd, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the lock of the tool chains' caches");
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return sbx_fail_errno(err, errno, "cannot lock the tool chains' caches");
	}
	*ret = take_fd(fd);
	return 0;
}

static int make_cache(const struct sbx_lang *lang, const char *name, struct sbx_error *err)
{
	auto_close int folder_fd = sbx_cache_open("toolchains", true);
	auto_close int lock_fd = -1;
	char folder[PATH_MAX], staging[PATH_MAX + 128], final[PATH_MAX + 128];
	int r;

	if (folder_fd < 0 || !sbx_cache_path(folder))
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"there is no cache folder that this user can write and others cannot");
	if (cache_exists(folder_fd, name))
		return 0;
	r = lock_caches(folder_fd, &lock_fd, err);
	if (r < 0 || cache_exists(folder_fd, name))
		return r;
	snprintf(staging, sizeof(staging), "%s/toolchains/.new", folder);
	snprintf(final, sizeof(final), "%s/toolchains/%s", folder, name);

	r = make_staging(staging, err);
	if (r == 0)
		r = fill(lang, staging, err);
	if (r == 0)
		r = publish(staging, final, err);
	if (r < 0)
		sbx_remove_tree(staging);
	return r;
}

int sbx_language_prepare(const char *id, struct sbx_error *err)
{
	struct sbx_error lent;
	const struct sbx_lang *lang;
	char version[SBX_VERSION_MAX], name[96];
	int r;

	err = err ? err : &lent;
	r = find_language(id, &lang, err);
	if (r < 0 || lang->cache == NULL)
		return r;
	r = get_version(lang, version, err);
	if (r < 0)
		return r;
	name_cache(lang, version, name, sizeof(name));
	r = make_cache(lang, name, err);
	return r < 0 ? sbx_wrap(err, "cannot make the warm cache of %s", lang->info.title) : 0;
}
