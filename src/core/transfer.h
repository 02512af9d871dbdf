/* SPDX-License-Identifier: MIT */
/*
 * Files over a session's link: what comes (sbx_fetch) and what goes (sbx_sender). Both hold
 * the session's turn from their beginning to their end, and keep no more than a window of bytes.
 *
 * What the agent says is hostile. A fetch checks that it is what was asked for: no more entries,
 * no bytes without a file, none beyond its size. Anything else ends the session.
 */
#pragma once

#include "core/link.h"

#include <llmsandbox/files.h>

#include <limits.h>
#include <sys/types.h>

#define SBX_FILES_STANDARD 1000000u /* most_files, when it is 0 */

/*
 * A path inside as the agent wants it: absolute or not, without empty and "." components; "" is
 * the work folder, "/" the root. ".." is SBX_E_DENIED.
 */
int sbx_inside_path(const char *path, char ret[PATH_MAX], struct sbx_error *err);

/* The path of something below it; SBX_E_LIMIT when that is too long. */
int sbx_inside_join(const char *folder, const char *below, char ret[PATH_MAX],
		    struct sbx_error *err);

/* ---- how far a copy is ---- */

/* What all that is copied is counted in, and held against what the caller allows. */
struct sbx_meter {
	const struct sbx_copy *how; /* never NULL */
	struct sbx_copy_report report;
	uint64_t total; /* bytes, when known */
};

void sbx_meter_init(struct sbx_meter *m, const struct sbx_copy *how);

/* Count, tell the caller's callback, and fail when that is too much or is to stop. */
int sbx_meter_entry(struct sbx_meter *m, bool is_folder, const char *path, struct sbx_error *err);
int sbx_meter_bytes(struct sbx_meter *m, uint64_t bytes, const char *path, struct sbx_error *err);
int sbx_meter_leave_out(struct sbx_meter *m, const char *path, struct sbx_error *err);

/* Whether the caller's handle asks for an end: SBX_E_UNAVAILABLE. */
int sbx_copy_cancelled(struct sbx_cancel *cancel, struct sbx_error *err);

/* ---- what comes ---- */

/* Who takes it. An error stops the fetch and is what it comes to; the session goes on. */
struct sbx_sink {
	int (*entry)(void *owner, const struct wire_entry *entry, struct sbx_error *err);
	int (*data)(void *owner, const void *data, size_t len, struct sbx_error *err);
	int (*hole)(void *owner, uint64_t bytes, struct sbx_error *err);
	void *owner;
};

/* Of sinks that take names alone. */
int sbx_sink_no_data(void *owner, const void *data, size_t len, struct sbx_error *err);
int sbx_sink_no_hole(void *owner, uint64_t bytes, struct sbx_error *err);

/* One question: a GET, LIST, STAT, REMOVE or MKDIR with its payload. */
struct sbx_question {
	enum wire_type type;
	const struct sbx_buf *payload;
	uint64_t entries_max; /* that may come */
	uint64_t bytes_max;   /* of one file, that may come */
	const struct sbx_sink *sink;
	struct sbx_cancel *cancel; /* or NULL */
	uint64_t deadline_ns;	   /* then it is given up: SBX_E_TIMEOUT; 0: none */
};

/* Ask, and give the sink what comes, until the answer is complete. Takes the session's turn. */
int sbx_fetch(struct sbx_session *session, const struct sbx_question *q, struct sbx_error *err);

/* The same by somebody who has the turn. */
int sbx_fetch_held(struct sbx_session *session, const struct sbx_question *q,
		   struct sbx_error *err);

/* GET a file, or a folder with all below it, whole; inside is a path of sbx_inside_path(). */
int sbx_fetch_tree(struct sbx_session *session, char *inside, const struct sbx_sink *sink,
		   struct sbx_cancel *cancel, struct sbx_error *err);

/* ---- what goes ---- */

#define SBX_SENDER_SLOTS 32 /* files and folders that are sent and not yet acknowledged */

struct sbx_sender;

struct sbx_sender_slot {
	struct sbx_channel ch;
	struct sbx_sender *sender;
	size_t credit;
	bool busy; /* no answer yet */
};

/*
 *	r = sbx_sender_begin(&s, session, cancel, err);
 *	r = sbx_sender_file(&s, &(struct wire_put){.path = path, …}, err);
 *	room = sbx_sender_room(&s, &len, err);    fill in n of len bytes of it
 *	r = sbx_sender_commit(&s, n, err);        and so on, and then
 *	r = sbx_sender_end_file(&s, err);
 *	r = sbx_sender_end(&s, r, err);           always, once begun
 *
 * A refusal of the agent fails the next call, whichever that is.
 */
struct sbx_sender {
	struct sbx_session *session;
	struct sbx_cancel *cancel;
	struct sbx_sender_slot slots[SBX_SENDER_SLOTS];
	struct sbx_sender_slot *file; /* whose bytes are being sent */
	struct sbx_error refusal;     /* the first one; SBX_OK: none */
};

/* Take the session's turn. When that fails there is nothing to end. */
int sbx_sender_begin(struct sbx_sender *s, struct sbx_session *session, struct sbx_cancel *cancel,
		     struct sbx_error *err);

/* A folder; or a file, whose size is set by what is sent. */
int sbx_sender_folder(struct sbx_sender *s, const char *path, uint32_t mode,
		      struct sbx_error *err);
int sbx_sender_file(struct sbx_sender *s, const struct wire_put *put, struct sbx_error *err);

/* Where the next bytes of the file go: at least one, *ret_len at most. NULL: an error. */
char *sbx_sender_room(struct sbx_sender *s, size_t *ret_len, struct sbx_error *err);
int sbx_sender_commit(struct sbx_sender *s, size_t len, struct sbx_error *err);
/* At most `most` bytes of a file, many of them without a copy: *ret_len of them, 0 at its end. */
int sbx_sender_from_file(struct sbx_sender *s, int fd, uint64_t offset, uint64_t most,
			 size_t *ret_len, struct sbx_error *err);
int sbx_sender_data(struct sbx_sender *s, const void *data, size_t len, struct sbx_error *err);
int sbx_sender_hole(struct sbx_sender *s, uint64_t bytes, struct sbx_error *err);
int sbx_sender_end_file(struct sbx_sender *s, struct sbx_error *err);

/* Wait until all is acknowledged, or after an error give up what is under way; returns r or that. */
int sbx_sender_end(struct sbx_sender *s, int r, struct sbx_error *err);
