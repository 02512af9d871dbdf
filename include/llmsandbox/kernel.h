/* SPDX-License-Identifier: MIT */
/*
 * Live kernels: interpreters of a session that remember. A run with run.kernel set is a cell of
 * the kernel of that name, which is started at its first cell and keeps variables, imports and
 * functions until the session ends. A session may have several, of several languages: Python (with
 * IPython's magics and rich display where it is installed), JavaScript, Ruby, R and Java.
 *
 * What comes of a cell is a result like that of any run. The value of its last expression is
 * result.value, and is shown at the end of its stdout as the language's own shell would (R shows values
 * itself, as it comes to them: of R there is the output alone). The exit
 * code is 0, 1 after an exception, 130 when it was interrupted, or that of exit(), which ends the
 * cell and not the kernel: its state is kept. A cell whose time is over is interrupted, reason is
 * SBX_TIMEOUT, and the state survives. A kernel that does not heed that within two seconds, and one
 * whose process ended (a crash, the memory limit, os._exit()), is started anew by its next cell, and
 * the result says so: kernel_ended, and message. When it ended between two cells, the message of
 * the next one does.
 *
 * A cell's time begins when its kernel is ready. CPU times and block I/O of a cell are not known and
 * 0, memory is that of the whole sandbox; SBX_LIMIT_CPU_MS is of the kernel's process in all its life.
 * What threads and processes that a cell left running write afterwards comes with the next cell.
 * They go on until the kernel ends.
 *
 * Of run.io a cell has files, callbacks, artifacts, a timeout and a cancel handle. It has no stdin
 * (reading it finds its end) and no env: variables are the kernel's, which has those of the spec and
 * the network as they were at its start. Libraries of the session (run.libraries and
 * sbx_session_install()) are there from the next cell on; what was imported already stays as it is.
 * A kernel of Java sees those that were installed before its start; a cell that names others is
 * refused until it is restarted.
 *
 * A kernel is called by its name: 1 to 63 letters, digits, '-', '_' and '.'. Any thread may call
 * any of these.
 */
#ifndef LLMSANDBOX_KERNEL_H
#define LLMSANDBOX_KERNEL_H

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SBX_KERNELS_MAX 8 /* of one session */

struct sbx_session;
struct sbx_cancel;

struct sbx_kernel_info {
	char name[64];
	const char *language; /* id; never freed */
	char version[32];     /* of the interpreter, or "" before its first start */
	bool alive;	      /* its process runs: the next cell finds its state */
	bool busy;	      /* a cell runs */
	uint32_t cells;	      /* that it was given, in all its lives */
	uint32_t starts;      /* of its process */
};

/* One cell that a kernel was given. */
struct sbx_cell {
	uint32_t number; /* from 1 */
	char *code;	 /* UTF-8 where it was, NUL-terminated; a long one is cut at 64 KiB; owned */
	char *value;	 /* of its last expression, or NULL; cut at 4 KiB; owned */
	int exit_code;
	uint64_t run_ns;
};

/* Languages that have kernels: an id is looked up as for runs. Any thread. */
SBX_API bool sbx_language_has_kernel(const char *language);

/*
 * Start one before its first cell; no error when it runs. SBX_E_INVALID: a name that may not be,
 * or that a kernel of another language has. SBX_E_NOT_FOUND: no kernels for this language, or its
 * interpreter is not installed. SBX_E_LIMIT: more than SBX_KERNELS_MAX.
 */
SBX_API int sbx_kernel_start(struct sbx_session *session, const char *name, const char *language,
			     struct sbx_cancel *cancel, struct sbx_error *err);

/* End the cell that runs as Ctrl-C would; the state survives. No error when none runs. */
SBX_API int sbx_kernel_interrupt(struct sbx_session *session, const char *name,
				 struct sbx_error *err);

/*
 * End its process, with a cell that runs, and start another: the state is gone. A cell of another
 * kernel that runs in the session is waited for, as sbx_kernel_reset() and _end() do.
 */
SBX_API int sbx_kernel_restart(struct sbx_session *session, const char *name,
			       struct sbx_error *err);

/* Forget its variables, imports and functions; the process goes on where the language can. */
SBX_API int sbx_kernel_reset(struct sbx_session *session, const char *name, struct sbx_error *err);

/* End it and forget it, with its history. */
SBX_API int sbx_kernel_end(struct sbx_session *session, const char *name, struct sbx_error *err);

/* All of the session, oldest first; free() *ret. */
SBX_API int sbx_kernel_list(struct sbx_session *session, struct sbx_kernel_info **ret,
			    size_t *ret_count, struct sbx_error *err);

/*
 * Its last cells, oldest first, of the 1000 that are kept (in 16 MiB); free with
 * sbx_cells_free().
 */
SBX_API int sbx_kernel_history(struct sbx_session *session, const char *name,
			       struct sbx_cell **ret, size_t *ret_count, struct sbx_error *err);
SBX_API void sbx_cells_free(struct sbx_cell *cells, size_t count);

#ifdef __cplusplus
}
#endif

#endif
