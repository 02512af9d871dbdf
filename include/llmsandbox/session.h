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

/*
 * Send SIGINT to the program, as Ctrl-C in a terminal does. Async-signal-safe. A cell of a kernel
 * that is the first of its handle heeds what came before it, too: it is not run then.
 */
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
	/*
	 * 0: the spec's SBX_LIMIT_EXECUTION_MS, and where that is 0, its SBX_LIMIT_WALL_MS.
	 * SBX_TIMEOUT_NONE: none. A session's own time, SBX_LIMIT_SESSION_MS, ends it all the same.
	 */
	uint64_t timeout_ms;
	sbx_output_fn *on_stdout, *on_stderr; /* NULL: the result alone has the output */
	void *userdata;
	struct sbx_cancel *cancel; /* or NULL */
	bool artifacts; /* collect what it shows and makes: see artifact.h, and the result */
};

/* Code in one of the languages. */
struct sbx_run {
	const char *language; /* id or alias, any case */
	const void *code;     /* 1 byte to 64 MiB, no NUL byte, any encoding */
	size_t code_len;
	const char *file_name;	  /* what to call it inside, one component; NULL: "main.py" … */
	const char *const *args; /* of the program, NULL-terminated; or NULL */
	/* Libraries that it needs, NULL-terminated, or NULL; see library.h for how they are written. */
	const char *const *libraries;
	/*
	 * The kernel whose cell it is, or NULL: a program of its own; see kernel.h. file_name is
	 * then what tracebacks call the cell (NULL: "cell 1" …); args must be NULL, the code UTF-8 of
	 * at most 4 MiB, and io have no stdin and no env.
	 */
	const char *kernel;
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

/*
 * Run commands one after the other until one does not exit with 0; *ret is of the last one that
 * ran. Without any it is an empty result with exit code 0.
 */
SBX_API int sbx_session_exec_all(struct sbx_session *session, const struct sbx_command *commands,
				 size_t count, struct sbx_result **ret, struct sbx_error *err);

/*
 * A program that goes on in the background of a session, beside its other operations and after
 * them, until it ends, its time is over (io.timeout_ms; 0: none), or the session ends. Its output
 * is kept as that of a run is; callbacks, stdin_fd and artifacts of its io are not used. Its handle
 * may be used from any thread, by one at a time.
 */
struct sbx_process;

SBX_API int sbx_session_start(struct sbx_session *session, const struct sbx_command *command,
			      struct sbx_process **ret, struct sbx_error *err);

/*
 * Wait until it has ended, at most timeout_ms (0: only look; SBX_TIMEOUT_NONE: as long as it
 * takes). SBX_E_TIMEOUT: it still runs. What it came to is *ret, which the caller frees; every
 * call gives it anew.
 */
SBX_API int sbx_process_wait(struct sbx_process *process, uint64_t timeout_ms,
			     struct sbx_cancel *cancel, struct sbx_result **ret,
			     struct sbx_error *err);

/* The output that is kept so far, in *ret_out and *ret_err, whose data the caller frees. */
SBX_API int sbx_process_output(struct sbx_process *process, struct sbx_output *ret_out,
			       struct sbx_output *ret_err, struct sbx_error *err);

/* Send a signal to its process group; SIGKILL ends all that it started. No error when it is over. */
SBX_API int sbx_process_signal(struct sbx_process *process, int signo, struct sbx_error *err);

/* Kill it if it runs, and forget it. Before sbx_session_close(). NULL is allowed. */
SBX_API void sbx_process_free(struct sbx_process *process);

/* Destroy the sandbox with all that is in it; waits until nothing is left. NULL is allowed. */
SBX_API void sbx_session_close(struct sbx_session *session);

#ifdef __cplusplus
}
#endif

#endif
