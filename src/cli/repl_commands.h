/* SPDX-License-Identifier: MIT */
/* The state of a conversation, and its commands: lines that begin with a colon. */
#pragma once

#include "cli/gallery.h"
#include "cli/lines.h"
#include "cli/site.h"
#include "cli/target.h"

#include <limits.h>

#define REPL_TEXT_MAX ((size_t)16 << 20)

/* Text that grows, up to REPL_TEXT_MAX, and ends with a NUL that len does not count. */
struct repl_text {
	char *data;
	size_t len;
};

struct repl {
	struct settings *settings;
	struct job job; /* of each cell */
	struct site site;
	const struct sbx_language_info *language;
	struct lines *lines;
	struct repl_text cell; /* as far as it is typed */
	bool ended_blank;      /* its last line was empty */
	struct repl_text kept; /* cells that were sent, for :save and :history */
	bool leaving;
	int status;	  /* of the last cell */
	int killed_by;	  /* the signal that killed it, or 0 */
	char **libraries; /* that :lib added to the job's; owned */
	/* artifacts: */
	bool saves;
	bool folder_is_made;
	char folder[PATH_MAX];
	size_t artifact_count;
	struct gallery gallery;
};

bool repl_text_add(struct repl_text *text, const char *more);
void repl_text_clear(struct repl_text *text);
void repl_text_done(struct repl_text *text);

/* Keep a cell that is sent. */
void repl_keep_cell(struct repl *r, const char *code);

/* Do what a line such as ":reset" asks for. */
void repl_command(struct repl *r, char *line);

/* The version of the kernel's interpreter, or NULL; free() it. */
char *repl_version(const struct repl *r);

void repl_free_libraries(struct repl *r);
