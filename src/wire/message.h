/* SPDX-License-Identifier: MIT */
/*
 * What the frames mean: one struct per payload, format and parse side by side.
 *
 * A parse function returns false for anything that is not exactly one well-formed message; the
 * struct then holds nothing that must be freed. Where a struct owns memory, wire_X_done() frees.
 *
 *	host                              agent
 *	                             <--  HELLO               once, first
 *	SETUP                        -->  READY               once, before anything else
 *	PUT, DATA|HOLE..., FINISH    -->  CLOSE | ERROR       a file into the sandbox
 *	GET                          -->  (ENTRY, DATA|HOLE...)..., CLOSE | ERROR
 *	LIST                         -->  ENTRY..., CLOSE | ERROR
 *	STAT                         -->  ENTRY, CLOSE | ERROR
 *	REMOVE, MKDIR                -->  CLOSE | ERROR
 *	CLOSE                        -->                      the host gives a PUT, GET, LIST … up
 *	EXEC                         -->  STARTED, STDOUT/STDERR..., EXIT | ERROR
 *	                                  one at a time, and several in the background
 *	STDIN, STDIN_EOF, SIGNAL     -->                      while the EXEC lives
 *	DATA                        <-->  DATA..., FINISH     an EXEC's descriptor 3, with CONTROL
 *	CREDIT                      <-->  CREDIT              more bytes may be sent on that flow
 *	                             <--  USAGE               before EXIT, and when there are more kills
 *	PING                         -->  PONG                what the clock of files is there
 *	LISTEN                       -->  LISTENING | ERROR   the proxy of the sandbox
 *	OPENED | REFUSED            <--   CONNECT             one connection, on the agent's channel
 *	DATA, CREDIT, FINISH, CLOSE <-->                      while it is open
 *
 * Credit: each flow of an EXEC (STDIN, STDOUT, STDERR, DATA each way) starts with WIRE_WINDOW bytes,
 * DATA of a PUT or GET with WIRE_FILE_WINDOW at most, that of a connection with
 * WIRE_CONNECTION_WINDOW; the receiver grants more as it consumes. Sending beyond the credit is a protocol error. A connection
 * has two flows of DATA, one each way. FINISH ends one of them, both end the connection; CLOSE
 * cuts it, and what was on its way then is passed over. ENTRY and HOLE need no credit: who sends
 * them waits while much is queued.
 *
 * An EXEC with CONTROL gives the program one end of a stream socket pair as descriptor 3; DATA on its
 * channel is that socket's bytes. What the program had written to its stdout and stderr before it
 * wrote to the socket is sent before. FINISH says that the program has closed the socket, behind
 * all that came of it.
 *
 * One GET, LIST, PUT or REMOVE is under way at a time; the host may send the next PUT behind the
 * end of the one before without waiting for its answer. A PUT whose bytes have all come may be
 * ended by CLOSE too; CLOSE before that gives it up, and it has no answer.
 */
#pragma once

#include "wire/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* HELLO: the agent's facts, before SETUP. */
struct wire_hello {
	uint32_t version; /* WIRE_VERSION */
	uint32_t pid;	  /* in its own pid namespace: 1 where it is init */
	uint32_t uid;
};

/* What the agent fences a program in with; READY tells which of them the kernel granted. */
enum wire_fence {
	WIRE_FENCE_SECCOMP,
	WIRE_FENCE_LANDLOCK,
	WIRE_FENCE_CAPABILITIES, /* all dropped, also from the bounding set; securebits locked */
	WIRE_FENCE_NO_NEW_PRIVS,
	WIRE_FENCE_USER,   /* programs run as uid/gid of SETUP, not as the agent's */
	WIRE_FENCE_RLIMIT, /* every rlimit of SETUP was set */
	WIRE_FENCE_COUNT
};

#define WIRE_RLIMITS_MAX  16
#define WIRE_WRITABLE_MAX 64

struct wire_rlimit {
	uint32_t resource; /* RLIMIT_... of the kernel's ABI */
	uint64_t value;	   /* both soft and hard; lowered to the present hard limit */
};

/* SETUP: who programs are, and what fences them. */
struct wire_setup {
	uint32_t fences; /* bit set of 1 << enum wire_fence: those to put up */
	uint32_t uid, gid;
	uint64_t life_ms;		   /* after which the agent ends all; 0 = none */
	char *workdir;			   /* owned; existing folder, base of relative paths */
	char *writable[WIRE_WRITABLE_MAX]; /* owned; folders that Landlock lets be written */
	size_t writable_count;
	struct wire_rlimit rlimits[WIRE_RLIMITS_MAX];
	size_t rlimit_count;
};

/*
 * What a container was found to be before the agent put anything up. A limit of 0 could not be read,
 * one of UINT64_MAX is none. Elsewhere nobody looks: known is false, and all else 0.
 */
struct wire_surroundings {
	bool known;
	bool seccomp;	     /* a filter is up */
	bool read_only_root;
	uint64_t memory_bytes, processes, cpu_milli; /* of its cgroup */
	uint64_t disk_bytes;			     /* of the largest of its folders in memory */
	uint64_t capabilities;			     /* the bounding set */
	uint32_t interfaces; /* that are up, beside loopbacks; UINT32_MAX: could not be read */
	uint32_t host_uid; /* SETUP's uid in the user namespace around it; UINT32_MAX: none */
};

/* READY: errno per fence that was asked for; 0 = up. ENOSYS = the kernel has no such thing. */
struct wire_ready {
	uint32_t fence_errno[WIRE_FENCE_COUNT];
	char kernel[65]; /* uname release */
	struct wire_surroundings surroundings;
};

enum wire_exec_flags {
	WIRE_EXEC_STDIN = 1,   /* a pipe; without it stdin is /dev/null */
	WIRE_EXEC_FORWARD = 2, /* send every byte of output, cut nothing */
	WIRE_EXEC_BACKGROUND = 4, /* beside others and after them; WIRE_BACKGROUND_MAX at one time */
	WIRE_EXEC_CONTROL = 8,	  /* a socket to the host as descriptor 3; only in the background */
};

#define WIRE_BACKGROUND_MAX 16
#define WIRE_STRINGS_MAX 65536 /* argv or env entries */

/* EXEC: one program. Output: see capture rules in agent/output.h. */
struct wire_exec {
	uint32_t flags;
	uint64_t wall_ms; /* 0 = none */
	uint64_t cpu_ms;  /* 0 = none; of each process */
	uint64_t head_bytes, tail_bytes; /* kept per stream where FORWARD is off */
	char *cwd;			 /* owned; "" = workdir */
	char **argv;			 /* owned, NULL-terminated, at least one */
	char **env;			 /* owned, NULL-terminated "K=V" */
};

enum wire_reason {
	WIRE_EXITED,	/* status = exit code */
	WIRE_SIGNALLED, /* status = signal number */
	WIRE_TIMEOUT,	/* wall_ms was over; the tree was killed */
	WIRE_CPU,	/* cpu_ms was over */
	WIRE_KILLED,	/* SIGNAL with the whole tree as its scope */
	WIRE_REASON_COUNT
};

/* EXIT: the program is gone, and so is every process it left behind. */
struct wire_exit {
	uint32_t reason; /* enum wire_reason */
	uint32_t status;
	uint32_t killed; /* processes that had to be killed at the end */
	uint64_t wall_ns;
	uint64_t user_us, system_us;
	uint64_t max_rss_bytes;	   /* largest process */
	uint64_t read_bytes, write_bytes; /* block I/O */
	uint64_t total[2];	   /* bytes the program wrote to stdout, stderr */
	uint64_t dropped[2];	   /* of these, never sent: between head and tail */
};

enum wire_scope {
	WIRE_SCOPE_GROUP, /* the program's process group */
	WIRE_SCOPE_TREE,  /* everything in the sandbox; signo must be SIGKILL */
};

struct wire_signal {
	uint32_t signo;
	uint8_t scope;
};

enum wire_flow { WIRE_FLOW_STDIN, WIRE_FLOW_STDOUT, WIRE_FLOW_STDERR, WIRE_FLOW_DATA };

struct wire_credit {
	uint8_t flow;
	uint32_t bytes;
};

enum wire_put_how {
	WIRE_PUT_REPLACE, /* as a whole, when all of it has come */
	WIRE_PUT_NEW,	  /* refused when there is something of that name */
	WIRE_PUT_APPEND,  /* at the end of a file that is there; its mode stays */
	WIRE_PUT_COUNT
};

/*
 * PUT: make a regular file, and its parent folders. size = bytes of DATA and HOLE to come at
 * most; FINISH ends the file where it is.
 */
struct wire_put {
	uint32_t mode; /* permission bits only */
	uint8_t how;   /* enum wire_put_how */
	uint64_t size;
	uint64_t mtime_ns; /* 0: now */
	char *path;	   /* owned */
};

/*
 * GET: a file, or with `deep` a folder with all below it, each folder before what is in it. The
 * ENTRY of a regular file is followed by its bytes, which may be fewer than its size when it
 * shrank; other ENTRYs by none. What cannot be read comes as WIRE_OTHER where `deep` is set.
 */
struct wire_get {
	uint8_t deep;
	uint64_t offset, length; /* which bytes of a file; UINT64_MAX = all behind offset */
	uint64_t most;		 /* SBX_E_LIMIT when a file is larger */
	char *path;		 /* owned */
};

/*
 * LIST: what is in a folder, with `deep` also what is below; SBX_E_LIMIT behind so many entries, or
 * when so many were looked at. since_ns: only regular files that were made, written or renamed
 * then or later (ctime, by the clock of PONG), and never what lies below a link.
 */
struct wire_list {
	uint8_t deep;
	uint64_t most, most_seen;
	uint64_t since_ns; /* 0: all */
	char *path; /* owned */
};

/* STAT: of a file itself, also where it is a link. */
struct wire_path {
	char *path; /* owned */
};

/* REMOVE: a file, a link or an empty folder; with `deep` a folder and all below it. */
struct wire_remove {
	uint8_t deep;
	char *path; /* owned */
};

/* MKDIR: a folder and its parents; no error when it is there. */
struct wire_mkdir {
	uint32_t mode;
	char *path; /* owned */
};

/* HOLE: so many zero bytes, at least one, that are not stored. */
struct wire_hole {
	uint64_t bytes;
};

enum wire_entry_kind { WIRE_FILE = 'f', WIRE_FOLDER = 'd', WIRE_LINK = 'l', WIRE_OTHER = 'o' };

/* ENTRY: one file; name is its path below what was asked for, "" where it is that itself. */
struct wire_entry {
	uint8_t kind;
	uint32_t mode;
	uint64_t size;
	uint64_t mtime_ns, ctime_ns;
	char *name; /* owned */
};

/* PONG: what a file made now would be stamped with (ctime); no file made before has a later one. */
struct wire_pong {
	uint64_t clock_ns;
};

/* USAGE: what the sandbox's own cgroup counts, where the agent can read it. */
struct wire_usage {
	uint64_t peak_memory_bytes; /* so far; 0: not known */
	uint64_t oom_kills;	    /* processes that the memory limit has killed since the agent began */
};

/* ERROR: the operation on this channel failed; on channel 0 the connection is over. */
struct wire_error {
	uint32_t code; /* enum sbx_code */
	uint32_t sys_errno;
	char *text; /* owned; one sentence */
};

/* LISTEN asks for a port of the sandbox's loopback, 0: any; LISTENING says which it is. */
struct wire_port {
	uint16_t port;
};

/* How a program asked for a connection. */
enum wire_how { WIRE_HOW_CONNECT, WIRE_HOW_HTTP, WIRE_HOW_SOCKS5, WIRE_HOW_COUNT };

#define WIRE_HOST_MAX  255
#define WIRE_FAULT_MAX 255

/*
 * CONNECT: a program wants a connection. With a fault it is told for the log alone: the agent
 * itself refused what was no proper request, the channel is not used, and no answer comes.
 */
struct wire_connect {
	uint8_t how;
	uint16_t port;
	char *host;  /* owned; a name or an address as the program wrote it, 1 to WIRE_HOST_MAX bytes */
	char *fault; /* owned; "" or why the agent refused it */
};

/* Why there is no connection, as far as HTTP and SOCKS5 have different answers. */
enum wire_refusal {
	WIRE_REFUSED_DENIED,  /* the rules do not allow it */
	WIRE_REFUSED_NAME,    /* the name leads nowhere */
	WIRE_REFUSED_PEER,    /* the peer refused, or cannot be reached */
	WIRE_REFUSED_TIMEOUT, /* no answer in time */
	WIRE_REFUSED_LIMIT,   /* a limit of the session's network */
	WIRE_REFUSED_COUNT
};

/* REFUSED: the channel is over. */
struct wire_refused {
	uint32_t kind;
	char *text; /* owned; for a person or a model: what, why, what to do; its first line is a sum */
};

#define WIRE_MESSAGES(X) \
	X(hello)         \
	X(setup)         \
	X(ready)         \
	X(exec)          \
	X(exit)          \
	X(signal)        \
	X(credit)        \
	X(put)           \
	X(get)           \
	X(list)          \
	X(path)          \
	X(remove)        \
	X(mkdir)         \
	X(hole)          \
	X(entry)         \
	X(pong)          \
	X(usage)         \
	X(error)         \
	X(port)          \
	X(connect)       \
	X(refused)

#define X(name)                                                                \
	void wire_##name##_format(struct sbx_buf *b, const struct wire_##name *m); \
	bool wire_##name##_parse(const void *payload, size_t len, struct wire_##name *ret);
WIRE_MESSAGES(X)
#undef X

void wire_setup_done(struct wire_setup *m);
void wire_exec_done(struct wire_exec *m);
void wire_put_done(struct wire_put *m);
void wire_get_done(struct wire_get *m);
void wire_list_done(struct wire_list *m);
void wire_path_done(struct wire_path *m);
void wire_remove_done(struct wire_remove *m);
void wire_mkdir_done(struct wire_mkdir *m);
void wire_entry_done(struct wire_entry *m);
void wire_error_done(struct wire_error *m);
void wire_connect_done(struct wire_connect *m);
void wire_refused_done(struct wire_refused *m);
