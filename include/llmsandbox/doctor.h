/* SPDX-License-Identifier: MIT */
/* What this machine offers a sandbox, line by line, and what to do about what is missing. */
#ifndef LLMSANDBOX_DOCTOR_H
#define LLMSANDBOX_DOCTOR_H

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sbx_health {
	SBX_HEALTH_OK,
	SBX_HEALTH_WEAK, /* sandboxes work with less; advice says how to get more */
	SBX_HEALTH_BAD,	 /* sandboxes cannot work */
};

struct sbx_finding {
	char name[32];	  /* "user namespaces" */
	char detail[256]; /* what was found */
	char advice[256]; /* what to do, or "" */
	enum sbx_health health;
};

/*
 * Look at everything; makes and runs sandboxes to be sure. Returns how many findings there are
 * and sets *ret, which the caller frees with free(); negative without memory. *ret_usable tells
 * whether the main job, running code in a native sandbox, works.
 */
SBX_API int sbx_doctor(struct sbx_finding **ret, bool *ret_usable, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
