/* SPDX-License-Identifier: MIT */
/*
 * A session is one open sandbox: open it, run things in it, close it. Files stay between runs,
 * processes do not. Calls block. Sessions are independent of each other and may be used from
 * any thread; within one session one operation runs at a time and a second one waits.
 */
#ifndef LLMSANDBOX_SESSION_H
#define LLMSANDBOX_SESSION_H

#include <llmsandbox/error.h>
#include <llmsandbox/result.h>
#include <llmsandbox/spec.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_session;
struct sbx_cancel;

/*
 * A handle that stops a blocking call from another thread or from a signal handler. It may be
 * given to any number of calls; it must outlive them.
 */
SBX_API int sbx_cancel_new(struct sbx_cancel **ret, struct sbx_error *err);
SBX_API void sbx_cancel_free(struct sbx_cancel *cancel);

/* Send SIGINT to the program, as Ctrl-C in a terminal does. Async-signal-safe. */
SBX_API void sbx_cancel_interrupt(struct sbx_cancel *cancel);

/* Kill the program and all it started; the call returns SBX_CANCELLED. Async-signal-safe. */
SBX_API void sbx_cancel_kill(struct sbx_cancel *cancel);

/* A piece of output as it comes, on the thread that called run. Must not use the session. */
typedef void sbx_output_fn(const void *data, size_t len, void *userdata);

/* A file for a run to find. */
struct sbx_file {
	const char *name; /* in the work folder, "data/input.csv": no ".", "..", or slash at an end */
	const void *data; /* len bytes, at most 64 MiB; may be NULL when len is 0 */
	size_t len;
};

/* How a run meets the outside. Zero it, set what you need; nothing in it is kept. */
struct sbx_io {
	const void *stdin_data; /* stdin of the program; NULL: at its end from the start */
	size_t stdin_len;
	bool use_stdin_fd; /* read stdin_fd until its end instead, as the program asks for more */
	int stdin_fd;
	/*
	 * Put in the work folder before anything runs, in this order; folders are made, and what
	 * is there is replaced. They stay in the session. SBX_E_INVALID names one that may not be.
	 */
	const struct sbx_file *files;
	size_t file_count; /* at most 1024 */
	const char *const *env; /* "NAME=value" …, NULL; on top of the spec's; or NULL */
	uint64_t timeout_ms;	/* 0: the spec's SBX_LIMIT_WALL_MS */
	sbx_output_fn *on_stdout, *on_stderr; /* NULL: the result alone has the output */
	void *userdata;
	struct sbx_cancel *cancel; /* or NULL */
};

/* Code in one of the languages. */
struct sbx_run {
	const char *language; /* id or alias, any case */
	const void *code;     /* 1 byte to 64 MiB, no NUL byte, any encoding */
	size_t code_len;
	const char *file_name;	  /* what to call it inside, one component; NULL: "main.py" … */
	const char *const *args; /* of the program, NULL-terminated; or NULL */
	struct sbx_io io;
};

/* A program of the sandbox. */
struct sbx_command {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in the inside's PATH */
	const char *cwd;	 /* NULL: the work folder */
	struct sbx_io io;
};

/*
 * Make the sandbox. The spec must outlive the session. SBX_E_UNAVAILABLE or SBX_E_DENIED say
 * which setting of the machine forbids it and what to do. The sandbox may still be on its way
 * when this returns: then the first operation waits for it, and what went wrong is its error.
 */
SBX_API int sbx_session_open(const struct sbx_spec *spec, struct sbx_session **ret,
			     struct sbx_error *err);

/* Run code or a command; free *ret with sbx_result_free(). */
SBX_API int sbx_session_run(struct sbx_session *session, const struct sbx_run *run,
			    struct sbx_result **ret, struct sbx_error *err);
SBX_API int sbx_session_exec(struct sbx_session *session, const struct sbx_command *command,
			     struct sbx_result **ret, struct sbx_error *err);

/* Destroy the sandbox with all that is in it; waits until nothing is left. NULL is allowed. */
SBX_API void sbx_session_close(struct sbx_session *session);

#ifdef __cplusplus
}
#endif

#endif
