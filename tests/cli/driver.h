/* SPDX-License-Identifier: MIT */
/*
 * Runs the real program as a user would, in a clean environment and a folder of its own, and
 * keeps what came of it until the test's end.
 *
 *	const struct ran *r = program(t, (struct call){.in = "print(1)"}, "run", "-l", "python", NULL);
 *
 * SBX_TEST_PROGRAM names another program than the one that was built; SBX_TEST_BACKEND chooses
 * the backend.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RAN_MAX 64

/* How it is started; all zero is: stdin at its end, output into files. */
struct call {
	const char *in; /* what stdin gives */
	size_t in_len;	/* 0: all of the string */
	const char *const *env; /* more of it, NULL-terminated */
	const char *cwd;	/* NULL: the test's folder */
	bool no_stdin;		/* descriptor 0 is closed */
	bool no_reader;		/* stdout is a pipe that nobody reads */
	bool terminal;		/* stdout and stderr are one terminal; out has both */
};

struct ran {
	int status; /* of the exit, or 128 + signal */
	char *out, *err;
	size_t out_len, err_len;
};

struct cli_state {
	char folder[64];
	struct ran ran[RAN_MAX];
	size_t count;
};

#define cli_test(function) cmocka_unit_test_setup_teardown(function, cli_setup, cli_teardown)

int cli_setup(void **state);
int cli_teardown(void **state);

const struct ran *program(struct cli_state *t, struct call call, ...) __attribute__((sentinel));

/* The same for an argv whose first word is looked up in a PATH with llm-sandbox in it. */
const struct ran *command(struct cli_state *t, struct call call, char *const *argv);

/* A bash script with llm-sandbox in its PATH and the runtime folder in $RUNTIME. */
const struct ran *shell(struct cli_state *t, const char *script);

/* Once, before all: as root, a runtime folder that nobody else has a holder of sessions in. */
void own_runtime(void);
void runtime_folder(const struct cli_state *t, char *ret, size_t size);

/* Set the environment of all tests, and more of it; of a child, before it executes a program. */
void child_environment(const struct cli_state *t, const char *const *more);

/* Write a file into the test's folder; the path is valid until the next call. */
const char *write_file(struct cli_state *t, const char *name, const void *data, size_t len);

/* A file of the source, as a string that the caller frees. */
char *read_source(const char *name);

bool is_fake(void);

void assert_contains(const char *text, const char *part);
void assert_status(const struct ran *r, int status);

/* The lists of the files beside this one. */
int run_group(void);
int input_group(void);
int config_group(void);
int documents_group(void);
int install_group(void);
int session_group(void);
int holder_group(void);
int copy_group(void);
int network_group(void);
int background_group(void);
int artifacts_group(void);
int show_group(void);
int repl_group(void);
int kernel_group(void);
