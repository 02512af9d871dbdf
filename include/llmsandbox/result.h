/* SPDX-License-Identifier: MIT */
/*
 * What a run came to. A program that fails, crashes or hits a limit is a result; only our own
 * failures are errors. The library allocates results and the caller frees them; the struct only
 * ever grows at its end.
 */
#ifndef LLMSANDBOX_RESULT_H
#define LLMSANDBOX_RESULT_H

#include <llmsandbox/artifact.h>
#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sbx_reason {
	SBX_EXITED,    /* by itself, with exit_code */
	SBX_SIGNALLED, /* by a signal that no limit of ours sent */
	SBX_TIMEOUT,   /* the wall-clock limit */
	SBX_CPU_LIMIT, /* the CPU time limit */
	SBX_MEMORY,    /* the memory limit */
	SBX_CANCELLED, /* sbx_cancel_kill() */
	SBX_LOST       /* the sandbox itself went away; message says what is known */
};

enum sbx_phase { SBX_PHASE_RUN, SBX_PHASE_COMPILE };

/* One output stream, exact bytes: the head, then (when something was dropped) the tail. */
struct sbx_output {
	char *data;	      /* len bytes and a NUL that len does not count */
	size_t len;	      /* bytes kept */
	size_t head_len;      /* of these, the first part; == len when nothing was dropped */
	uint64_t total_bytes; /* bytes the program wrote */
	bool truncated;	      /* total_bytes > len */
};

/* All in nanoseconds of wall-clock time. */
struct sbx_timings {
	uint64_t queue;	  /* waiting for another operation of the session */
	uint64_t create;  /* making the sandbox; of the session's first run only */
	uint64_t install; /* putting code and caches in place */
	uint64_t compile; /* the compiler */
	uint64_t run;	  /* the program */
	uint64_t collect; /* from its end to this result */
};

enum sbx_isolation_status { SBX_ENFORCED, SBX_MISSING, SBX_OFF };

/* One line of the isolation report. */
struct sbx_isolation {
	char name[32];	   /* "seccomp" */
	char detail[160];  /* enforced: how; missing or off: why */
	enum sbx_isolation_status status;
};

enum sbx_egress_verdict {
	SBX_EGRESS_ALLOWED, /* and connected */
	/*
	 * By a rule or by the want of one; no packet was sent to it. (Where a server may speak first,
	 * on another port than 443, a connection was made before TLS asked for another name there; it
	 * was cut, and nothing the program said was passed on.)
	 */
	SBX_EGRESS_DENIED,
	SBX_EGRESS_FAILED   /* allowed, but the name, the peer or a limit failed it */
};

/* One attempt to reach something. */
struct sbx_egress {
	uint64_t started_ms; /* since the session was opened */
	char how[8];	     /* "connect", "http", "socks5" */
	char host[256];	     /* as the program asked; cut where its space ends */
	uint16_t port;
	char address[64]; /* what it was connected to, or "" */
	enum sbx_egress_verdict verdict;
	char rule[256];	  /* the rule that allowed it, or the reason of the refusal or failure */
	uint64_t sent, received; /* bytes, as far as it has come */
};

struct sbx_result {
	int exit_code; /* of the program, or 128 + signal; of the compiler in that phase */
	int signal;    /* the signal that ended it, or 0 */
	enum sbx_reason reason;
	enum sbx_phase phase; /* the one that decided: compile = the program was never run */
	/* For a limit, SBX_LOST, lost artifacts or a kernel that ended: one sentence; else "". */
	char message[256];
	struct sbx_output out, errout; /* of all phases, in order */
	struct sbx_timings timings;
	uint64_t cpu_user_us, cpu_system_us; /* of all processes of all phases */
	uint64_t peak_memory_bytes;	     /* whole sandbox where a cgroup tells, else largest process */
	uint64_t read_bytes, write_bytes;    /* block I/O */
	uint32_t processes_killed;	     /* left running at the end, and killed */
	const struct sbx_isolation *isolation; /* owned by the result */
	size_t isolation_count;
	struct sbx_egress *egress; /* attempts that began during the run, oldest first; owned */
	size_t egress_count;
	const char *network; /* the session's mode at its end: "none", "allow" …; never freed */
	/* Of a run that wanted them (io.artifacts); owned, in the order they were made. */
	struct sbx_artifact *artifacts;
	size_t artifact_count;
	uint32_t artifacts_left_out; /* beyond SBX_LIMIT_ARTIFACTS and SBX_LIMIT_ARTIFACT_BYTES */
	struct sbx_change *changes;  /* files that it made or wrote, by path; owned */
	size_t change_count;
	bool changes_truncated; /* there were more */
	/* Of a cell of a kernel: */
	char *value;	   /* of its last expression, as text, UTF-8; or NULL; owned */
	bool kernel_ended; /* its state is gone: message says why; the next cell starts it anew */
};

/* NULL is allowed. */
SBX_API void sbx_result_free(struct sbx_result *result);

/*
 * The result as one JSON object (RFC 8259, UTF-8, exit_code, stdout and stderr first; bytes that
 * are no UTF-8 become U+FFFD and the exact bytes are added in base64 as stdout_base64 or
 * stderr_base64). artifacts, artifacts_left_out, changed_files, changed_files_truncated, value and
 * kernel_ended are there when there is something to say. indent = spaces per level, 0 for one
 * line. free() *ret.
 */
SBX_API int sbx_result_format_json(const struct sbx_result *result, int indent, char **ret,
				   struct sbx_error *err);

/* Stable names, such as "exited", "compile", "enforced"; never NULL. Any thread. */
SBX_API const char *sbx_reason_name(enum sbx_reason reason);
SBX_API const char *sbx_phase_name(enum sbx_phase phase);
SBX_API const char *sbx_isolation_status_name(enum sbx_isolation_status status);

#ifdef __cplusplus
}
#endif

#endif
