/* SPDX-License-Identifier: MIT */
/*
 * Where a program's output goes: our stdout and stderr, as the program wrote it, made safe
 * when that is a terminal, or as JSON lines. The first failed write decides: nothing more is
 * written, the run is cancelled, and `failed` tells why.
 */
#pragma once

#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#include <llmsandbox/session.h>

struct output {
	struct stream {
		struct output *output;
		const char *name; /* "stdout" */
		int fd;
		bool safe; /* a terminal, and not --raw */
		struct terminal terminal;
		unsigned char held[4]; /* JSON: the beginning of a character */
		size_t held_len;
	} streams[2];
	bool json;
	bool midline; /* the last byte written was no line feed */
	int failed; /* errno of a write, or 0 */
	const struct reach *reach; /* of the run, or NULL */
};

void output_init(struct output *o, const struct settings *s);

/* Callbacks of struct sbx_io; userdata is the struct output. */
sbx_output_fn output_stdout, output_stderr;

/* Both streams of a result that was not streamed, and a word about what was left out. */
void output_result(struct output *o, const struct sbx_result *result);

/* What waits for more, and the reset of colours. */
void output_finish(struct output *o);

/* Text of our own on stdout, JSON for example. */
void output_text(struct output *o, const char *text);
