/* SPDX-License-Identifier: MIT */
#include <llmsandbox/doctor.h>

#include "backend/native/cgroup.h"
#include "backend/native/ids.h"
#include "backend/native/trouble.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/io.h"
#include "core/toolchain.h"
#include "lang/lang.h"

#include <llmsandbox/image.h>
#include <llmsandbox/language.h>
#include <llmsandbox/session.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define FINDINGS_MAX 64

struct examination {
	struct sbx_finding *list;
	size_t count;
	bool usable;
};

__attribute__((format(printf, 5, 6))) static void
add(struct examination *e, const char *name, enum sbx_health health, const char *advice,
    const char *fmt, ...)
{
	struct sbx_finding *f = &e->list[e->count];
	va_list ap;

	if (e->count == FINDINGS_MAX)
		return;
	e->count++;
	snprintf(f->name, sizeof(f->name), "%s", name);
	snprintf(f->advice, sizeof(f->advice), "%s", advice);
	f->health = health;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

/* ---- trying things in a child: it returns 0 or an errno ---- */

/* What the child did: 0, its errno, or ECHILD when it could not be started or died. */
static int try_in_child(int (*child_try)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(child_try());
	if (pid < 0)
		return ECHILD;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return ECHILD;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

/* Become root of a new user namespace; files made by an unmapped user fail (EOVERFLOW). */
static int child_enter_namespaces(int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char uid_map[32], gid_map[32];
	int r;

	if (unshare(CLONE_NEWUSER | flags) < 0)
		return errno;
	snprintf(uid_map, sizeof(uid_map), "0 %u 1", uid);
	snprintf(gid_map, sizeof(gid_map), "0 %u 1", gid);
	r = sbx_write_control(AT_FDCWD, "/proc/self/uid_map", uid_map);
	if (r == 0)
		r = sbx_write_control(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r == 0)
		r = sbx_write_control(AT_FDCWD, "/proc/self/gid_map", gid_map);
	return -r;
}

static int child_try_user_namespace(void)
{
	return child_enter_namespaces(0);
}

static int child_try_overlay(void)
{
	int r = child_enter_namespaces(CLONE_NEWNS);

	if (r != 0)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 || mkdir("/tmp/low", 0755) < 0 ||
	    mkdir("/tmp/up", 0755) < 0 || mkdir("/tmp/work", 0755) < 0 ||
	    mkdir("/tmp/all", 0755) < 0 ||
	    mount("overlay", "/tmp/all", "overlay", 0,
		  "lowerdir=/tmp/low,upperdir=/tmp/up,workdir=/tmp/work,userxattr") < 0)
		return errno;
	return 0;
}

static int child_mount_proc(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? errno : 0;
}

static int child_try_proc(void)
{
	int r = child_enter_namespaces(CLONE_NEWNS | CLONE_NEWPID);

	if (r != 0)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	return try_in_child(child_mount_proc);
}

static int child_try_memfd(void)
{
	char *const argv[] = {(char *)"true", NULL};
	char *const env[] = {NULL};
	int fd = memfd_create("doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int program = open("/usr/bin/true", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || program < 0 || fstat(program, &st) < 0)
		return errno;
	if (sendfile(fd, program, NULL, (size_t)st.st_size) != st.st_size)
		return EIO;
	syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
	return errno;
}

/* ---- one function per row ---- */

static void look_at_kernel(struct examination *e, const char *name)
{
	unsigned int major = 0, minor = 0;
	struct utsname uts;
	bool recent;

	uname(&uts);
	sscanf(uts.release, "%u.%u", &major, &minor);
	recent = major > 5 || (major == 5 && minor >= 12);
	add(e, name, recent ? SBX_HEALTH_OK : SBX_HEALTH_BAD,
	    recent ? "" : "install a kernel of 5.12 or later", "%s %.64s %.32s", uts.sysname,
	    uts.release, uts.machine);
}

static void look_at_user_namespaces(struct examination *e, const char *name)
{
	int r = try_in_child(child_try_user_namespace);
	char text[160];
	const char *cure = trouble_settings(text, sizeof(text));

	if (r == 0)
		add(e, name, SBX_HEALTH_OK, "", "allowed (%s)", text);
	else
		add(e, name, SBX_HEALTH_BAD,
		    cure ? cure
			 : "allow clone and unshare with CLONE_NEWUSER in the security module or container "
			   "that this runs in",
		    "cannot be made: %s (%s)", strerror(r), text);
}

static void look_at_cgroups(struct examination *e, const char *name)
{
	const char *layout = cgroup_layout();

	if (strcmp(layout, "none") == 0)
		add(e, name, SBX_HEALTH_WEAK, "mount -t cgroup2 none /sys/fs/cgroup",
		    "none at /sys/fs/cgroup: limits hold for each process alone");
	else
		add(e, name, SBX_HEALTH_OK, "", "layout %s", layout);
}

static void look_at_seccomp(struct examination *e, const char *name)
{
	uint32_t action = SECCOMP_RET_ERRNO;
	bool has = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;

	add(e, name, has ? SBX_HEALTH_OK : SBX_HEALTH_BAD,
	    has ? "" : "use a kernel with CONFIG_SECCOMP_FILTER", "%s",
	    has ? "filters are available" : "this kernel has no filters");
}

static void look_at_landlock(struct examination *e, const char *name)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0)
		add(e, name, SBX_HEALTH_OK, "", "version %ld of its interface", abi);
	else
		add(e, name, SBX_HEALTH_WEAK,
		    "a kernel of 5.13 or later with landlock in its lsm= boot option gives a second "
		    "fence around files",
		    "not available: %s", strerror(errno));
}

static void look_at_overlay(struct examination *e, const char *name)
{
	int r = try_in_child(child_try_overlay);

	if (r == 0)
		add(e, name, SBX_HEALTH_OK, "", "can be mounted in a user namespace");
	else
		add(e, name, SBX_HEALTH_WEAK,
		    r == ENODEV ? "modprobe overlay" : "a kernel of 5.11 or later allows it",
		    "cannot be mounted in a user namespace: %s", strerror(r));
}

static void look_at_subordinate_ids(struct examination *e, const char *name)
{
	struct passwd entry, *user = NULL;
	char buf[4096], advice[256];

	if (geteuid() == 0) {
		add(e, name, SBX_HEALTH_OK, "", "not needed by root, which has ids for each sandbox");
		return;
	}
	if (access("/usr/bin/newuidmap", X_OK) < 0) {
		add(e, name, SBX_HEALTH_WEAK, "apt-get install uidmap",
		    "newuidmap is not installed: programs share their user with the agent");
		return;
	}
	if (getpwuid_r(geteuid(), &entry, buf, sizeof(buf), &user) != 0 || user == NULL) {
		add(e, name, SBX_HEALTH_WEAK, "", "the user %u has no name", geteuid());
		return;
	}
	if (ids_have_subordinate()) {
		add(e, name, SBX_HEALTH_OK, "", "granted in /etc/subuid and /etc/subgid");
		return;
	}
	snprintf(advice, sizeof(advice),
		 "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %.64s",
		 user->pw_name);
	add(e, name, SBX_HEALTH_WEAK, advice,
	    "none for '%.64s': programs share their user with the agent", user->pw_name);
}

static void look_at_proc(struct examination *e, const char *name)
{
	int r = try_in_child(child_try_proc);

	if (r == 0)
		add(e, name, SBX_HEALTH_OK, "", "can be mounted fresh");
	else
		add(e, name, SBX_HEALTH_BAD,
		    "give the container that this runs in an unmasked /proc (for Docker: "
		    "--security-opt systempaths=unconfined)",
		    "cannot be mounted fresh: %s", strerror(r));
}

static void look_at_memfd(struct examination *e, const char *name)
{
	int r = try_in_child(child_try_memfd);

	if (r == 0)
		add(e, name, SBX_HEALTH_OK, "", "programs start from memory files");
	else
		add(e, name, SBX_HEALTH_BAD, "sysctl -w vm.memfd_noexec=0",
		    "programs do not start from memory files: %s", strerror(r));
}

/* Only what is missing is worth a line; the whole report is in every result. */
static void add_missing_isolation(struct examination *e, const struct sbx_result *result)
{
	for (size_t i = 0; i < result->isolation_count; i++) {
		const struct sbx_isolation *line = &result->isolation[i];

		if (line->status == SBX_MISSING)
			add(e, line->name, SBX_HEALTH_WEAK, "", "missing in a sandbox: %s", line->detail);
	}
}

static int run_true(struct sbx_session *session, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_command command = {.argv = SBX_ARGV("/usr/bin/true")};

	return sbx_session_exec(session, &command, ret, err);
}

/* The main job itself. */
static void look_at_sandbox(struct examination *e, const char *name)
{
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;
	int r = sbx_spec_new(&spec, &err);

	if (r == 0)
		r = sbx_session_open(spec, &session, &err);
	if (r == 0)
		r = run_true(session, &result, &err);
	if (r < 0) {
		add(e, name, SBX_HEALTH_BAD, "mend what is bad above", "%.250s", err.msg);
	} else if (result->reason != SBX_EXITED || result->exit_code != 0) {
		add(e, name, SBX_HEALTH_BAD, "", "/usr/bin/true failed in it (%s, exit code %d)",
		    sbx_reason_name(result->reason), result->exit_code);
	} else {
		e->usable = true;
		add(e, name, SBX_HEALTH_OK, "", "made and used in %.1f ms",
		    (double)(result->timings.create + result->timings.run) / 1e6);
		add_missing_isolation(e, result);
	}
	sbx_result_free(result);
	sbx_session_close(session);
	sbx_spec_free(spec);
}

static void look_at_language(struct examination *e, const struct sbx_lang *lang)
{
	auto_free char *version = NULL;
	struct sbx_error err;
	char advice[128];

	if (sbx_language_version(lang->info.id, &version, &err) == 0) {
		add(e, lang->info.id, SBX_HEALTH_OK, "", "%s %s", lang->info.title, version);
		return;
	}
	snprintf(advice, sizeof(advice), "apt-get install %s", lang->info.package);
	add(e, lang->info.id, SBX_HEALTH_WEAK, err.code == SBX_E_NOT_FOUND ? advice : "", "%.250s",
	    err.msg);
}

static void look_at_languages(struct examination *e, const char *name)
{
	const struct sbx_lang *lang;

	(void)name; /* each language has a line of its own */
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++)
		look_at_language(e, lang);
}

/* Nothing needs them, so nothing is weak without. */
static void look_at_images(struct examination *e, const char *name)
{
	struct sbx_image **images = NULL;
	char path[PATH_MAX];
	struct sbx_error err;
	struct stat st;
	size_t count = 0;
	bool can_make = sbx_toolchain_find("mmdebstrap", path, &st);

	if (sbx_image_list("native", &images, &count, &err) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++)
		sbx_image_free(images[i]);
	free(images);
	add(e, name, SBX_HEALTH_OK, "", "%zu of the native backend; %s", count,
	    can_make ? "mmdebstrap is here to make more"
		     : "mmdebstrap, which makes them, is not installed (apt-get install mmdebstrap)");
}

static const struct {
	const char *name;
	void (*look)(struct examination *e, const char *name);
} checks[] = {
	{"kernel", look_at_kernel},
	{"user namespaces", look_at_user_namespaces},
	{"cgroups", look_at_cgroups},
	{"seccomp", look_at_seccomp},
	{"landlock", look_at_landlock},
	{"overlay", look_at_overlay},
	{"subordinate ids", look_at_subordinate_ids},
	{"proc", look_at_proc},
	{"memory files", look_at_memfd},
	{"a sandbox", look_at_sandbox},
	{"images", look_at_images},
	{"languages", look_at_languages},
};

int sbx_doctor(struct sbx_finding **ret, bool *ret_usable, struct sbx_error *err)
{
	struct sbx_error lent;
	struct examination e = {.list = calloc(FINDINGS_MAX, sizeof(*e.list))};

	err = err ? err : &lent;
	if (e.list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot examine this machine");
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		checks[i].look(&e, checks[i].name);
	*ret = e.list;
	*ret_usable = e.usable;
	return (int)e.count;
}
