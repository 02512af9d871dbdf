/* SPDX-License-Identifier: MIT */
/* Tests of sessions: whatever a test started has ended when the next one begins. */
#pragma once

#include "cli/driver.h"

#define session_test(function) \
	cmocka_unit_test_setup_teardown(function, cli_setup, session_teardown)

/* Ends all sessions and waits for the holder's end. */
int session_teardown(void **state);

/* Start sessions of these names, apart by spaces. */
void start_sessions(struct cli_state *t, const char *names);

/* Run a script and compare what it prints. */
void assert_script(struct cli_state *t, const char *script, const char *out);
