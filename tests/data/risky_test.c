/* SPDX-License-Identifier: MIT */
/*
 * Programs that try to do harm, each in a fresh sandbox: whatever they do, nothing outside
 * changes and nothing from outside shows. None of them runs unless a harmless program has shown
 * that the sandbox hides files, processes and network, and the first touch stops the set.
 */
#include "data/outside.h"
#include "data/programs.h"
#include "support/sandbox.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIME_MS 5000

struct set {
	struct outside outside;
	struct programs programs;
	struct sbx_spec *spec;
	pthread_mutex_t lock; /* of the next */
	char complaint[640];  /* "" while all is well */
	size_t runs;
};

static bool run_in_session(const json_t *program, struct sbx_session *session,
			   struct sbx_result **ret, struct sbx_error *err)
{
	const char *code = program_text(program, "code");
	const char *argv[] = {"/bin/bash", "-c", code, NULL};
	struct sbx_command command = {.argv = argv, .io = {.timeout_ms = TIME_MS}};
	struct sbx_run run = {.language = "python",
			      .code = code,
			      .code_len = strlen(code),
			      .io = {.timeout_ms = TIME_MS}};

	if (strcmp(program_text(program, "language"), "bash") == 0)
		return sbx_session_exec(session, &command, ret, err) == 0;
	return sbx_session_run(session, &run, ret, err) == 0;
}

static bool shows(const struct sbx_output *o, const char *marker)
{
	return memmem(o->data, o->len, marker, strlen(marker)) != NULL;
}

/* What is wrong after this program, or NULL. */
static const char *judge(const struct set *set, const struct sbx_result *r)
{
	if (shows(&r->out, set->outside.marker) || shows(&r->errout, set->outside.marker))
		return "it shows what only the host has";
	return outside_touched(&set->outside);
}

static bool complain(struct set *set, const json_t *program, const char *what)
{
	if (set->complaint[0] == '\0')
		snprintf(set->complaint, sizeof(set->complaint), "%.100s: %s",
			 program_text(program, "id"), what);
	return false;
}

static bool run_program(const json_t *program, void *userdata)
{
	struct set *set = userdata;
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_error err;
	const char *wrong = NULL;
	bool well = true;

	if (sbx_session_open(set->spec, &session, &err) < 0 ||
	    !run_in_session(program, session, &result, &err))
		wrong = err.msg;
	sbx_session_close(session);
	pthread_mutex_lock(&set->lock);
	if (wrong == NULL)
		wrong = judge(set, result);
	if (wrong != NULL)
		well = complain(set, program, wrong);
	set->runs++;
	well = well && set->complaint[0] == '\0';
	pthread_mutex_unlock(&set->lock);
	sbx_result_free(result);
	return well;
}

/* ---- before ---- */

/* Exits 0 only when it sees nothing of the host. */
static const char harmless[] =
	"import os, socket, sys\n"
	"secret = sys.stdin.read()\n"
	"if os.path.exists(secret): sys.exit('sees a file of the host')\n"
	"if os.path.exists(os.path.dirname(secret)): sys.exit('sees a folder of the host')\n"
	"if len([p for p in os.listdir('/proc') if p.isdigit()]) > 5: sys.exit('sees processes')\n"
	"for port in (5758, 5389):\n"
	"    try: socket.create_connection(('127.0.0.1', port), 2)\n"
	"    except ConnectionRefusedError: continue\n"
	"    sys.exit('reaches the host')\n"
	"print('hidden')\n";

static void prove_that_it_hides(struct test_sandbox *t, const struct set *set)
{
	const struct sbx_result *r;

	t->io = (struct sbx_io){.stdin_data = set->outside.secret,
				.stdin_len = strlen(set->outside.secret)};
	r = test_run(t, "python", harmless);
	t->io = (struct sbx_io){0};
	if (r->exit_code != 0 || strcmp(r->out.data, "hidden\n") != 0)
		fail_msg("a harmless program is not isolated, so no risky one is run: %.300s",
			 r->errout.data);
	assert_null(outside_touched(&set->outside));
}

static bool have_what_it_takes(struct programs *programs)
{
	if (geteuid() != 0) {
		print_message("# skipped: only root can look at all that must not change\n");
		return false;
	}
	if (!programs_load(programs, "risky", "python") ||
	    !programs_load(programs, "risky", "bash")) {
		print_message("# skipped: ../shared/data/risky is not here\n");
		return false;
	}
	return true;
}

/* ---- the set ---- */

static void run_set(struct test_sandbox *t, size_t step)
{
	static struct set set;
	const char *see = "ls -A /tmp /sandbox /home/sandbox /dev/shm; cat /tmp/neighbour";
	const struct sbx_result *r;

	memset(&set, 0, sizeof(set));
	pthread_mutex_init(&set.lock, NULL);
	if (!have_what_it_takes(&set.programs)) {
		programs_done(&set.programs);
		skip();
	}
	/* The runtime folder and the like are made by a first sandbox; they stay. */
	set.spec = t->spec;
	test_shell(t, "echo mine > /tmp/neighbour");
	outside_prepare(&set.outside);
	prove_that_it_hides(t, &set);
	r = test_shell(t, see);

	programs_each(&set.programs, step, run_program, &set);
	assert_string_equal(set.complaint, "");
	assert_int_equal(set.runs, (set.programs.count + step - 1) / step);

	assert_string_equal(test_shell(t, see)->out.data, r->out.data);
	outside_compare(&set.outside);
	outside_done(&set.outside);
	programs_done(&set.programs);
}

static void risky_programs_change_nothing_outside(void **state)
{
	run_set(*state, test_size(7, 1, 1));
}

static void risky_programs_as_the_sandbox_root_change_nothing_outside(void **state)
{
	struct test_sandbox *t = *state;

	assert_int_equal(sbx_spec_set_user(t->spec, 0, 0, NULL), 0);
	run_set(t, test_size(13, 4, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(risky_programs_change_nothing_outside),
		sandbox_test(risky_programs_as_the_sandbox_root_change_nothing_outside),
	};

	census_begin();
	if (geteuid() == 0)
		outside_enter_network();
	return cmocka_run_group_tests_name("risky", tests, NULL, NULL);
}
