/* SPDX-License-Identifier: MIT */
#include <llmsandbox/network.h>
#include <llmsandbox/spec.h>

#include "backend/backend.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "core/container.h"
#include "core/image_store.h"
#include "lang/lang.h"
#include "lang/support.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)
#define DAY_MS (24ull * 3600 * 1000)

static const struct sbx_limit_info limits[SBX_LIMIT_COUNT] = {
	[SBX_LIMIT_WALL_MS] = {"timeout", "wall-clock time of one run", SBX_UNIT_MS, 1, 7 * DAY_MS,
			       30000},
	[SBX_LIMIT_CPU_MS] = {"cpu-time", "CPU time of each process, 0 for none", SBX_UNIT_MS, 0,
			      7 * DAY_MS, 0},
	[SBX_LIMIT_CPU_MILLI] = {"cpus", "CPUs that all processes share", SBX_UNIT_MILLI, 10,
				 1024000, 1000},
	[SBX_LIMIT_MEMORY_BYTES] = {"memory", "memory of all processes, without swap",
				    SBX_UNIT_BYTES, 8 * MIB, 1024 * GIB, GIB},
	[SBX_LIMIT_PROCESSES] = {"processes", "processes and threads at one time", SBX_UNIT_COUNT,
				 1, 32768, 128},
	[SBX_LIMIT_DISK_BYTES] = {"disk", "space for all files the sandbox writes", SBX_UNIT_BYTES,
				  MIB, 1024 * GIB, 512 * MIB},
	[SBX_LIMIT_OPEN_FILES] = {"open-files", "open descriptors of one process", SBX_UNIT_COUNT,
				  16, 1048576, 256},
	[SBX_LIMIT_HEAD_BYTES] = {"output-head", "bytes kept from the start of each stream",
				  SBX_UNIT_BYTES, 0, GIB, MIB},
	[SBX_LIMIT_TAIL_BYTES] = {"output-tail", "bytes kept from the end of each stream",
				  SBX_UNIT_BYTES, 0, GIB, 256 * KIB},
	[SBX_LIMIT_EXECUTION_MS] = {"execution-timeout",
				    "wall-clock time of one run, before timeout; 0 for unset",
				    SBX_UNIT_MS, 0, 7 * DAY_MS, 0},
	[SBX_LIMIT_SESSION_MS] = {"session-timeout", "life of a session, 0 for none", SBX_UNIT_MS, 0,
				  7 * DAY_MS, 0},
	[SBX_LIMIT_ARTIFACTS] = {"artifact-count", "artifacts of one run", SBX_UNIT_COUNT, 0, 10000,
				 200},
	[SBX_LIMIT_ARTIFACT_BYTES] = {"artifact-bytes", "bytes of all artifacts of one run",
				      SBX_UNIT_BYTES, 0, 1024 * GIB, 100 * MIB},
};

const struct sbx_limit_info *sbx_limit_describe(enum sbx_limit limit)
{
	return (unsigned int)limit < SBX_LIMIT_COUNT ? &limits[limit] : NULL;
}

int sbx_spec_new(struct sbx_spec **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	auto_free struct sbx_spec *spec = calloc(1, sizeof(*spec));

	err = err ? err : &lent;
	if (spec == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a spec");
	spec->backend = sbx_backend_default();
	for (int i = 0; i < SBX_LIMIT_COUNT; i++)
		spec->limits[i] = limits[i].standard;
	spec->uid = spec->gid = 1000;
	spec->embedded = sbx_support_files;
	spec->embedded_version = sbx_support_version;
	spec->workdir = strdup("/sandbox");
	if (spec->workdir == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a spec");
	*ret = take_ptr(spec);
	return 0;
}

void sbx_spec_free(struct sbx_spec *spec)
{
	if (spec == NULL)
		return;
	for (size_t i = 0; i < spec->env_count; i++)
		free(spec->env[i]);
	free(spec->env);
	for (size_t i = 0; i < spec->mount_count; i++) {
		free(spec->mounts[i].host);
		free(spec->mounts[i].inside);
	}
	free(spec->workdir);
	sbx_container_done(&spec->container);
	sbx_network_free(spec->network);
	free(spec);
}

int sbx_spec_set_limit(struct sbx_spec *spec, enum sbx_limit limit, uint64_t value,
		       struct sbx_error *err)
{
	struct sbx_error lent;
	const struct sbx_limit_info *info = sbx_limit_describe(limit);

	err = err ? err : &lent;
	if (info == NULL)
		return sbx_fail(err, SBX_E_INVALID, "there is no limit number %d", (int)limit);
	if (value == SBX_TIMEOUT_NONE &&
	    (limit == SBX_LIMIT_WALL_MS || limit == SBX_LIMIT_EXECUTION_MS)) {
		spec->limits[limit] = value;
		return 0;
	}
	if (value < info->least || value > info->most)
		return sbx_fail(err, SBX_E_INVALID,
				"the limit '%s' cannot be %llu; it goes from %llu to %llu",
				info->name, (unsigned long long)value,
				(unsigned long long)info->least, (unsigned long long)info->most);
	spec->limits[limit] = value;
	spec->container.unlimited &= ~(1u << limit);
	return 0;
}

uint64_t sbx_spec_get_limit(const struct sbx_spec *spec, enum sbx_limit limit)
{
	return (unsigned int)limit < SBX_LIMIT_COUNT ? spec->limits[limit] : 0;
}

/* ---- environment ---- */

/* Where the variable of this assignment stands in the list, or the list's end. */
static size_t find_variable(const struct sbx_spec *spec, const char *assignment, size_t name_len)
{
	size_t i = 0;

	while (i < spec->env_count && strncmp(spec->env[i], assignment, name_len + 1) != 0)
		i++;
	return i;
}

int sbx_spec_add_env(struct sbx_spec *spec, const char *assignment, struct sbx_error *err)
{
	struct sbx_error lent;
	const char *equals = strchr(assignment, '=');
	auto_free char *copy = NULL;
	char **grown;
	size_t at;

	err = err ? err : &lent;
	if (equals == NULL || equals == assignment)
		return sbx_fail(err, SBX_E_INVALID, "'%.64s' is no variable; write NAME=value",
				assignment);
	at = find_variable(spec, assignment, (size_t)(equals - assignment));
	if (at >= SBX_ENV_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "more than %d environment variables", SBX_ENV_MAX);

	copy = strdup(assignment);
	grown = copy ? realloc(spec->env, (spec->env_count + 2) * sizeof(*grown)) : NULL;
	if (grown == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep a variable");
	spec->env = grown;
	if (at == spec->env_count)
		spec->env_count++;
	else
		free(spec->env[at]);
	spec->env[at] = take_ptr(copy);
	spec->env[spec->env_count] = NULL;
	return 0;
}

/* ---- mounts, user, work folder ---- */

/* What a mount must not hide, with everything below it. */
static const char *const protected_paths[] = {"/proc", "/dev", "/sys",	 "/usr",   "/bin",
					      "/sbin", "/lib", "/lib32", "/lib64", "/etc",
					      "/run",  "/var"};

static int check_inside(const char *inside, struct sbx_error *err)
{
	if (!sbx_path_is_clean(inside) || strcmp(inside, "/") == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"cannot mount at '%.128s': the path inside must be absolute, without "
				"'.' and '..', and not '/'",
				inside);
	for (size_t i = 0; i < sizeof(protected_paths) / sizeof(protected_paths[0]); i++) {
		if (sbx_path_is_below(inside, protected_paths[i]))
			return sbx_fail(err, SBX_E_INVALID,
					"cannot mount at '%.128s': '%s' belongs to the sandbox",
					inside, protected_paths[i]);
	}
	return 0;
}

int sbx_spec_add_mount(struct sbx_spec *spec, const char *host, const char *inside, bool writable,
		       struct sbx_error *err)
{
	struct sbx_error lent;
	auto_free char *resolved = NULL;
	auto_free char *copy = NULL;
	int r;

	err = err ? err : &lent;
	if (spec->mount_count == SBX_MOUNTS_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "more than %d mounts", SBX_MOUNTS_MAX);
	r = check_inside(inside, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < spec->mount_count; i++) {
		if (strcmp(spec->mounts[i].inside, inside) == 0)
			return sbx_fail(err, SBX_E_INVALID, "two mounts at '%.128s'", inside);
	}
	resolved = realpath(host, NULL);
	if (resolved == NULL && errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"cannot mount '%.200s': there is no such file or folder", host);
	if (resolved == NULL)
		return sbx_fail_errno(err, errno, "cannot mount '%.200s'", host);
	copy = strdup(inside);
	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep a mount");

	spec->mounts[spec->mount_count++] = (struct sbx_mount){
		.host = take_ptr(resolved),
		.inside = take_ptr(copy),
		.writable = writable,
	};
	return 0;
}

int sbx_spec_set_user(struct sbx_spec *spec, uint32_t uid, uint32_t gid, struct sbx_error *err)
{
	struct sbx_error lent;

	err = err ? err : &lent;
	if (uid > 65534 || gid > 65534)
		return sbx_fail(err, SBX_E_INVALID, "user %u:%u is not within 0 to 65534", uid, gid);
	spec->uid = uid;
	spec->gid = gid;
	free(spec->container.user);
	spec->container.user = NULL;
	return 0;
}

bool sbx_spec_may_work_in(const struct sbx_spec *spec, const char *path)
{
	if (sbx_path_is_below(path, "/sandbox") || sbx_path_is_below(path, "/tmp") ||
	    sbx_path_is_below(path, "/home/sandbox"))
		return true;
	for (size_t i = 0; i < spec->mount_count; i++) {
		if (spec->mounts[i].writable && sbx_path_is_below(path, spec->mounts[i].inside))
			return true;
	}
	return false;
}

int sbx_spec_set_workdir(struct sbx_spec *spec, const char *path, struct sbx_error *err)
{
	struct sbx_error lent;
	char *copy;

	err = err ? err : &lent;
	if (!sbx_path_is_clean(path) || strlen(path) >= PATH_MAX)
		return sbx_fail(err, SBX_E_INVALID,
				"the work folder '%.128s' must be absolute, without '.' and '..'", path);
	if (!sbx_backend_has_own_tools(spec->backend) && !sbx_spec_may_work_in(spec, path))
		return sbx_fail(err, SBX_E_INVALID,
				"the work folder '%.128s' must be in /sandbox, /tmp, /home/sandbox or "
				"a writable mount",
				path);
	copy = strdup(path);
	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the work folder");
	free(spec->workdir);
	spec->workdir = copy;
	return 0;
}

int sbx_spec_set_language(struct sbx_spec *spec, const char *language, struct sbx_error *err)
{
	const struct sbx_lang *lang = language ? sbx_lang_find(language) : NULL;
	struct sbx_error lent;

	if (language != NULL && lang == NULL && strcmp(language, "none") != 0)
		return sbx_fail(err ? err : &lent, SBX_E_NOT_FOUND,
				"there is no language '%.64s'; 'llm-sandbox languages' lists them", language);
	spec->language = lang != NULL ? lang->info.id : language ? "none" : NULL;
	return 0;
}

void sbx_spec_use_libraries(struct sbx_spec *spec, bool use)
{
	spec->no_libraries = !use;
}

void sbx_spec_use_support(struct sbx_spec *spec, bool use)
{
	spec->use_support = use;
}

int sbx_spec_print_plan(const struct sbx_spec *spec, char **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	auto_buf struct sbx_buf out = SBX_BUF_INIT(MIB);
	struct sbx_spec copy = *spec;
	auto_free char *root = NULL;
	int r;

	err = err ? err : &lent;
	r = sbx_container_check(spec, err);
	if (r == 0 && sbx_backend_has_own_tools(spec->backend))
		r = sbx_container_choose(&copy, err);
	else if (r == 0 && spec->container.image != NULL)
		r = sbx_image_find_root(spec->container.image, &root, err);
	copy.root = root;
	if (r == 0)
		r = sbx_backend_print_plan(&copy, &out, err);
	sbx_container_free_choices(&copy);
	if (r < 0)
		return r;
	*ret = sbx_buf_take(&out);
	if (*ret == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot print the plan");
	return 0;
}
