/* SPDX-License-Identifier: MIT */
/*
 * One error travels up the call chain: a stable code for programs, a sentence for people.
 *
 * The struct is flat and belongs to the caller. It needs no free(), costs no allocation when
 * memory is short, and a child process can hand it to its parent in a single write().
 */
#ifndef LLMSANDBOX_ERROR_H
#define LLMSANDBOX_ERROR_H

#include <llmsandbox/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sbx_code {
	SBX_OK = 0,
	SBX_E_INVALID,	   /* the caller asked for something malformed */
	SBX_E_DENIED,	   /* a policy or the kernel's configuration said no */
	SBX_E_NOT_FOUND,   /* no such session, backend, language, file */
	SBX_E_TIMEOUT,	   /* the operation itself (not the user's program) took too long */
	SBX_E_LIMIT,	   /* something is larger than a limit of ours */
	SBX_E_UNAVAILABLE, /* cannot serve now; trying later may help */
	SBX_E_SYSTEM,	   /* a system call failed; see sys_errno */
	SBX_E_PROTOCOL,	   /* the other end of the stream broke the protocol */
};

struct sbx_error {
	enum sbx_code code;
	int sys_errno; /* errno of SBX_E_SYSTEM, else 0 */
	char msg[512]; /* one sentence, NUL-terminated, cut where the buffer ends */
};

/* The stable name of a code, such as "invalid"; never NULL. Any thread. */
SBX_API const char *sbx_code_name(enum sbx_code code);

#ifdef __cplusplus
}
#endif

#endif
