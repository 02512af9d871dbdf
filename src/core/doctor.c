/* SPDX-License-Identifier: MIT */
#include <llmsandbox/doctor.h>

#include "backend/backend.h"
#include "base/auto.h"
#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/language.h>
#include <llmsandbox/session.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define FINDINGS_MAX 48

struct examination {
	struct sbx_finding *list;
	size_t count;
	bool usable;
};

__attribute__((format(printf, 5, 6))) static void
find(struct examination *e, const char *name, enum sbx_health health, const char *advice,
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

static void examine_kernel(struct examination *e)
{
	struct utsname uts;
	unsigned int major = 0, minor = 0;
	bool recent;

	uname(&uts);
	sscanf(uts.release, "%u.%u", &major, &minor);
	recent = major > 5 || (major == 5 && minor >= 12);
	find(e, "kernel", recent ? SBX_HEALTH_OK : SBX_HEALTH_BAD,
	     recent ? "" : "Linux 5.12 or later is needed", "Linux %s %s", uts.release, uts.machine);
}

static void examine_sandbox_line(struct examination *e, const struct sbx_isolation *line)
{
	bool missing = line->status == SBX_MISSING;

	find(e, line->name, missing ? SBX_HEALTH_WEAK : SBX_HEALTH_OK, missing ? line->detail : "",
	     "%s", missing ? "missing" : line->detail);
}

/* The main job itself: what holds in a real sandbox of this machine is what counts. */
static void examine_sandbox(struct examination *e)
{
	const char *const argv[] = {"/bin/sh", "-c", "exit 7", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;
	int r = sbx_spec_new(&spec, &err);

	if (r == 0)
		r = sbx_session_open(spec, &session, &err);
	if (r == 0)
		r = sbx_session_exec(session, &command, &result, &err);
	if (r < 0) {
		find(e, "native sandbox", SBX_HEALTH_BAD, "see the reason beside it", "%.250s", err.msg);
	} else {
		e->usable = result->exit_code == 7;
		find(e, "native sandbox", e->usable ? SBX_HEALTH_OK : SBX_HEALTH_BAD, "",
		     "a program ran in one and ended with %d", result->exit_code);
		for (size_t i = 0; i < result->isolation_count; i++)
			examine_sandbox_line(e, &result->isolation[i]);
	}
	sbx_result_free(result);
	sbx_session_close(session);
	sbx_spec_free(spec);
}

static void examine_language(struct examination *e, const struct sbx_lang *lang)
{
	auto_free char *version = NULL;
	struct sbx_error err;
	char advice[96];

	if (sbx_language_version(lang->info.id, &version, &err) == 0) {
		find(e, lang->info.id, SBX_HEALTH_OK, "", "%s %s", lang->info.title, version);
		return;
	}
	snprintf(advice, sizeof(advice), "apt-get install %s", lang->info.package);
	find(e, lang->info.id, SBX_HEALTH_WEAK, err.code == SBX_E_NOT_FOUND ? advice : "", "%.250s",
	     err.msg);
}

int sbx_doctor(struct sbx_finding **ret, bool *ret_usable, struct sbx_error *err)
{
	struct sbx_error lent;
	struct examination e = {.list = calloc(FINDINGS_MAX, sizeof(*e.list))};
	const struct sbx_lang *lang;

	err = err ? err : &lent;
	if (e.list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot examine this machine");
	examine_kernel(&e);
	examine_sandbox(&e);
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++)
		examine_language(&e, lang);
	*ret = e.list;
	*ret_usable = e.usable;
	return (int)e.count;
}
