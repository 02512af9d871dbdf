/* SPDX-License-Identifier: MIT */
#include "backend/native/trouble.h"

#include "base/auto.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A setting that forbids user namespaces when it has this value, to all users or to all but root. */
struct setting {
	const char *name; /* of the sysctl */
	const char *path;
	long forbids;
	bool spares_root;
	const char *cure;
};

static const struct setting settings[] = {
	{"user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", 0, false,
	 "sysctl -w user.max_user_namespaces=15000"},
	{"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", 0, true,
	 "sysctl -w kernel.unprivileged_userns_clone=1"},
	{"kernel.apparmor_restrict_unprivileged_userns",
	 "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1, true,
	 "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
};

#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

/* The number in a sysctl's file; false when this kernel has no such setting. */
static bool read_setting(const struct setting *s, long *ret)
{
	auto_close int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	*ret = strtol(text, NULL, 10);
	return true;
}

static bool forbids(const struct setting *s, long value)
{
	return value == s->forbids && (geteuid() != 0 || !s->spares_root);
}

const char *trouble_settings(char *ret_text, size_t size)
{
	const char *cure = NULL;
	size_t len = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		long value;

		if (!read_setting(&settings[i], &value) || len >= size)
			continue;
		len += (size_t)snprintf(ret_text + len, size - len, "%s%s=%ld", len > 0 ? ", " : "",
					settings[i].name, value);
		if (cure == NULL && forbids(&settings[i], value))
			cure = settings[i].cure;
	}
	return cure;
}

/* The setting that is the reason, named in err; 0 when none is. */
static int blame_setting(struct sbx_error *err)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		long value;

		if (!read_setting(&settings[i], &value) || !forbids(&settings[i], value))
			continue;
		return sbx_fail(err, SBX_E_DENIED,
				"user namespaces are forbidden: %s is %ld; an administrator allows them "
				"with: %s",
				settings[i].name, value, settings[i].cure);
	}
	return 0;
}

int trouble_clone(int sys_errno, struct sbx_error *err)
{
	int r = blame_setting(err);

	if (r < 0)
		return r;
	if (sys_errno == EPERM)
		return sbx_fail(err, SBX_E_DENIED,
				"user namespaces are forbidden here, by a security module or by the "
				"container that this runs in; allow clone3 with CLONE_NEWUSER there");
	if (sys_errno == ENOSPC || sys_errno == EUSERS)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"no more namespaces: a limit of /proc/sys/user (max_*_namespaces) is "
				"reached; raise it or close sandboxes");
	if (sys_errno == ENOSYS || sys_errno == EINVAL)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"this kernel lacks clone3 or one of the namespaces; Linux 5.12 or later "
				"is needed");
	return sbx_fail_errno(err, sys_errno, "cannot make the sandbox's namespaces");
}

static int trouble_stage(const struct child_failure *failure, struct sbx_error *err)
{
	switch (failure->step) {
	case CHILD_NETWORK:
		return trouble_clone(failure->sys_errno, err);
	case CHILD_LOOPBACK:
		return sbx_fail_errno(err, failure->sys_errno,
				      "cannot bring up the sandbox's loopback interface");
	case CHILD_USER:
		return sbx_fail_errno(err, failure->sys_errno, "cannot become the sandbox's root");
	case CHILD_CGROUP:
		return sbx_fail_errno(err, failure->sys_errno, "cannot enter the sandbox's cgroup");
	default:
		return sbx_fail_errno(err, failure->sys_errno, "cannot start the sandbox's agent");
	}
}

static int trouble_step(const struct plan *plan, size_t number, int sys_errno,
			struct sbx_error *err)
{
	auto_buf struct sbx_buf what = SBX_BUF_INIT(4096);
	bool denied = sys_errno == EPERM || sys_errno == EACCES;

	if (denied && blame_setting(err) < 0)
		return -(int)err->code;
	if (denied && plan->steps[number].kind == STEP_PROC)
		return sbx_fail(err, SBX_E_DENIED,
				"cannot mount a fresh /proc in the sandbox: parts of the host's /proc are "
				"covered, as in many containers; give the container an unmasked /proc "
				"(for Docker: --security-opt systempaths=unconfined)");
	plan_describe(&plan->steps[number], &what);
	return sbx_fail_errno(err, sys_errno, "cannot make the sandbox (step %zu, %.200s)",
			      number + 1, what.failed ? "" : what.data);
}

int trouble_child(const struct plan *plan, const struct child_failure *failure,
		  struct sbx_error *err)
{
	if (failure->step < 0 || (size_t)failure->step >= plan->count)
		return trouble_stage(failure, err);
	return trouble_step(plan, (size_t)failure->step, failure->sys_errno, err);
}
