/* SPDX-License-Identifier: MIT */
/*
 * The inside of a kernel, for the files that it is made of: kernel.c (what users call), cell.c (a
 * run that is a cell), kernel_process.c (its process, and waiting for its answers),
 * kernel_message.c (what they say to each other) and kernel_history.c.
 *
 * A kernel is a program in the background with a control socket. Two kinds of state:
 * what moves with the process belongs to whoever drives the link, which is whoever has the
 * session's turn, or the keeper; what any thread may ask is under the lock of sbx_kernels. A
 * kernel is added and removed with both, so that one of them is enough to look one up.
 */
#pragma once

#include "core/artifacts.h"
#include "core/background.h"
#include "core/kernels.h"
#include "lang/lang.h"

#include <llmsandbox/kernel.h>
#include <llmsandbox/result.h>

#define SBX_KERNEL_GRACE_MS 2000 /* that an interrupted cell gets, before its kernel is killed */

enum sbx_cell_status { SBX_CELL_OK, SBX_CELL_ERROR, SBX_CELL_EXIT, SBX_CELL_INTERRUPTED };

/* What has come of what a kernel was asked for last. */
struct sbx_answer {
	enum sbx_cell_status status;
	int exit_code;
	struct sbx_buf value; /* UTF-8; failed: none came */
	bool has_value;
};

struct sbx_history {
	struct sbx_cell *cells; /* oldest first; room for SBX_HISTORY_CELLS */
	size_t count, bytes;
};

struct sbx_kernel {
	/* Of whoever drives: */
	struct sbx_background b; /* first: its channel's owner is both */
	struct sbx_control control;
	struct sbx_io io;     /* the callbacks of the cell that runs */
	bool has_process;     /* b and control are of one that was started */
	bool killed;	      /* by us: nothing that it says counts any more */
	bool asked;	      /* it owes an answer: `ready`, or `done` with this id */
	uint32_t asked_id;    /* 0: ready */
	struct sbx_answer answer;
	const char *set; /* of libraries that it sees, or NULL */
	bool lost_state; /* it ended, nobody asked it to, and no result has said so */
	char end[128];	 /* how, as the end of "the kernel …" */
	struct sbx_artifact_folder folder; /* of all its lives */
	bool unseen; /* a cell may have shown something since it was looked at */

	/* Never changes: */
	struct sbx_session *session;
	const struct sbx_lang *lang;
	char name[64];

	/* Under the lock: */
	struct sbx_kernel *next;
	char version[32];
	bool alive;
	bool busy;	/* it has a cell … */
	bool running;	/* … and was sent its code: b can be signalled */
	bool discarded; /* restart or end asked for it while it had this cell */
	unsigned int interrupts; /* of this cell that were asked for, by sbx_kernel_interrupt() */
	uint32_t cells, starts;
	struct sbx_history history;
};

/* ---- kernel.c ---- */

/* With the session's turn: the one of this name, made when there is none; NULL: err says why. */
struct sbx_kernel *sbx_kernel_get(struct sbx_session *session, const char *name,
				  const struct sbx_lang *lang, struct sbx_error *err);

/* With the turn: forget it and its history; its process is over. */
void sbx_kernel_remove(struct sbx_kernel *k);

/* A language that has kernels, or NULL: err names those. */
const struct sbx_lang *sbx_kernel_language(const char *language, struct sbx_error *err);
int sbx_kernel_check_name(const char *name, struct sbx_error *err);

/* ---- kernel_process.c; all with the session's turn ---- */

struct sbx_kernel_watch {
	struct sbx_cancel *cancel; /* or NULL */
	unsigned int interrupts;   /* of it, and of the kernel, acted on so far */
	uint64_t begun_ns;	   /* when the cell's code was sent; 0: there is none */
	uint64_t again_ns;	   /* when an interrupt that may have been lost is sent again */
	uint64_t deadline_ns;	   /* then the kernel is interrupted; 0: none */
	uint64_t grace_ms;	   /* later it is killed */
	uint64_t kill_ns, give_up_ns;
	bool timed_out, cancelled; /* what happened to it */
	bool overdue;		   /* the agent did not end it, and we killed the sandbox */
};

/* Start its process and wait until it is ready. set: of libraries, or NULL. */
int sbx_kernel_launch(struct sbx_kernel *k, const char *support, const char *set,
		      struct sbx_cancel *cancel, struct sbx_error *err);

bool sbx_kernel_is_running(const struct sbx_kernel *k);

/* How often somebody wanted to interrupt the cell that it has, by either way. */
unsigned int sbx_kernel_interrupts(const struct sbx_kernel *k, const struct sbx_cancel *cancel);

/* Until it has answered, its process is over, or the stream has ended; heeds the watch. */
int sbx_kernel_await(struct sbx_kernel *k, struct sbx_kernel_watch *w, struct sbx_error *err);

/* Kill its process, if it runs, and forget it. */
int sbx_kernel_kill(struct sbx_kernel *k, struct sbx_error *err);

/* Say in k->end how its process has ended. */
void sbx_kernel_describe_end(struct sbx_kernel *k);

/* Forget a process that is over. */
void sbx_kernel_bury(struct sbx_kernel *k);

/* ---- kernel_message.c ---- */

struct sbx_kernel_cell {
	const char *code;
	size_t code_len;
	const char *name;
	bool silent;
};

/* Ask it to run a cell, or to forget all; the answer is cleared. */
int sbx_kernel_ask_run(struct sbx_kernel *k, const struct sbx_kernel_cell *cell,
		       struct sbx_error *err);
int sbx_kernel_ask_reset(struct sbx_kernel *k, struct sbx_error *err);

/* The taker of its messages; the owner is the kernel. */
sbx_control_fn sbx_kernel_on_message;

/* ---- kernel_history.c; under the lock ---- */

#define SBX_HISTORY_CELLS 1000

/* Remember a cell; without memory it is forgotten. */
void sbx_history_add(struct sbx_history *h, const struct sbx_cell *cell, size_t code_len);
void sbx_history_done(struct sbx_history *h);
