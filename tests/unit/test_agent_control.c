/* SPDX-License-Identifier: MIT */
/* The control socket of a program in the background: bytes both ways, behind the output. */
#include "base/auto.h"
#include "support/agent_client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int start(void **state)
{
	struct agent_client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -1;
	agent_client_start(c);
	*state = c;
	return 0;
}

static int stop(void **state)
{
	agent_client_stop(*state);
	free(*state);
	return 0;
}

static uint32_t start_controlled(struct agent_client *c, const char *line)
{
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, line);

	exec.flags |= WIRE_EXEC_BACKGROUND | WIRE_EXEC_CONTROL;
	return agent_client_exec(c, &exec);
}

/* What has come of a program so far, in one view of its frames. */
struct seen {
	size_t out;	  /* bytes of its stdout */
	size_t out_then;  /* of them, those that had come when the last DATA came */
	char said[256];	  /* on its socket, the first of it */
	size_t said_len;  /* all of it */
	bool finished, exited;
	int status;
};

static void take(struct seen *s, const struct wire_frame *frame)
{
	struct wire_exit exit;

	if (frame->type == WIRE_STDOUT)
		s->out += frame->len;
	if (frame->type == WIRE_DATA) {
		size_t at = s->said_len < sizeof(s->said) - 1 ? s->said_len : sizeof(s->said) - 1;
		size_t room = sizeof(s->said) - 1 - at;

		assert_false(s->finished);
		memcpy(s->said + at, frame->payload, frame->len < room ? frame->len : room);
		s->said_len += frame->len;
		s->out_then = s->out;
	}
	s->finished |= frame->type == WIRE_FINISH;
	if (frame->type != WIRE_EXIT)
		return;
	assert_true(wire_exit_parse(frame->payload, frame->len, &exit));
	s->exited = true;
	s->status = (int)exit.status;
}

/* One frame of the channel; what it carried is granted again unless it may not be. */
static void see(struct agent_client *c, uint32_t channel, struct seen *s, bool grant_output)
{
	struct wire_frame frame;
	enum wire_type type;
	size_t len;

	assert_true(agent_client_next(c, &frame));
	if (frame.channel != channel)
		return;
	take(s, &frame);
	type = frame.type;
	len = frame.len;
	if (type == WIRE_DATA)
		agent_client_grant(c, channel, WIRE_FLOW_DATA, len);
	if (type == WIRE_STDOUT && grant_output)
		agent_client_grant(c, channel, WIRE_FLOW_STDOUT, len);
}

static void what_the_host_sends_arrives_on_descriptor_3_and_is_answered_there(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(c, "read line <&3; echo \"got $line\" >&3; exit 7");
	struct seen s = {0};

	agent_client_send(c, WIRE_DATA, channel, "a word\n", 7);
	while (!s.exited)
		see(c, channel, &s, true);
	assert_string_equal(s.said, "got a word\n");
	assert_true(s.finished);
	assert_int_equal(s.status, 7);
}

static void other_programs_have_no_descriptor_3(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(c, "read line <&3");
	struct agent_run run;

	agent_client_shell(c, "ls /proc/self/fd", &run);
	assert_null(strstr(run.out[0].data, "4\n"));
	agent_run_done(&run);
	agent_client_signal(c, channel, SIGKILL, WIRE_SCOPE_TREE);
}

static void what_was_written_before_a_word_comes_before_it(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(
		c, "for i in 1 2 3 4 5; do head -c 1000000 /dev/zero; echo $i >&3; read next <&3; done");
	struct seen s = {0};

	for (size_t i = 1; i <= 5; i++) {
		while (s.said_len < 2 * i)
			see(c, channel, &s, true);
		assert_int_equal(s.out_then, 1000000 * i);
		agent_client_send(c, WIRE_DATA, channel, "\n", 1);
	}
	while (!s.exited)
		see(c, channel, &s, true);
	assert_string_equal(s.said, "1\n2\n3\n4\n5\n");
}

static void a_word_waits_for_the_credit_of_the_output_before_it(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(
		c, "head -c 300000 /dev/zero; echo word >&3; : > written; read next <&3");
	struct agent_run other;
	struct seen s = {0};

	while (s.out < WIRE_WINDOW)
		see(c, channel, &s, false);
	/* When this has run the word has been there for the agent to send. */
	agent_client_finish(c, start_controlled(c, "until test -e written; do :; done"), &other);
	agent_run_done(&other);
	assert_int_equal(s.said_len, 0);
	agent_client_grant(c, channel, WIRE_FLOW_STDOUT, WIRE_WINDOW);
	while (s.said_len == 0)
		see(c, channel, &s, false);
	assert_int_equal(s.out_then, 300000);
}

static void much_comes_whole_though_the_program_ends_at_once(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(c, "head -c 3000000 /dev/zero >&3; echo out");
	struct seen s = {0};

	while (!s.exited)
		see(c, channel, &s, true);
	assert_int_equal(s.said_len, 3000000);
	assert_int_equal(s.out, 4);
}

static void a_program_that_closes_it_goes_on_and_the_host_is_told(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(c, "echo last >&3; exec 3>&-; read x; sleep 1000");
	struct seen s = {0};

	while (!s.finished)
		see(c, channel, &s, true);
	assert_string_equal(s.said, "last\n");
	assert_false(s.exited);
	/* Nobody reads this any more. */
	agent_client_send(c, WIRE_DATA, channel, "x", 1);
	agent_client_signal(c, channel, SIGKILL, WIRE_SCOPE_TREE);
	while (!s.exited)
		see(c, channel, &s, true);
}

static void a_program_that_writes_without_end_is_ended_all_the_same(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = start_controlled(c, "yes >&3 & yes & wait");
	struct seen s = {0};

	while (s.said_len < 1000000)
		see(c, channel, &s, true);
	agent_client_signal(c, channel, SIGKILL, WIRE_SCOPE_TREE);
	while (!s.exited)
		see(c, channel, &s, true);
	assert_true(s.finished);
}

/* ---- a host that breaks the protocol ---- */

static void send_data_beyond_credit(struct agent_client *c)
{
	static char piece[WIRE_PAYLOAD_MAX];
	uint32_t channel = start_controlled(c, "sleep 100");

	/* More than two windows: the socket has taken some of it. */
	for (unsigned int i = 0; i <= 2 * WIRE_WINDOW / WIRE_PAYLOAD_MAX; i++)
		agent_client_send(c, WIRE_DATA, channel, piece, sizeof(piece));
}

static void send_too_much_credit(struct agent_client *c)
{
	uint32_t channel = start_controlled(c, "sleep 100");

	agent_client_grant(c, channel, WIRE_FLOW_DATA, 1);
}

static void send_finish(struct agent_client *c)
{
	agent_client_send(c, WIRE_FINISH, start_controlled(c, "sleep 100"), NULL, 0);
}

static uint32_t start_plain(struct agent_client *c)
{
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "sleep 100");

	return agent_client_exec(c, &exec);
}

static void send_data_to_a_program_without(struct agent_client *c)
{
	agent_client_send(c, WIRE_DATA, start_plain(c), "x", 1);
}

static void send_credit_to_a_program_without(struct agent_client *c)
{
	agent_client_grant(c, start_plain(c), WIRE_FLOW_DATA, 0);
}

static void ask_for_one_in_the_foreground(struct agent_client *c)
{
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "true");

	exec.flags |= WIRE_EXEC_CONTROL;
	agent_client_exec(c, &exec);
}

static void a_host_that_breaks_the_protocol_is_told_and_left(void **state)
{
	static void (*const attacks[])(struct agent_client *) = {
		send_data_beyond_credit,	send_too_much_credit,
		send_finish,			send_data_to_a_program_without,
		send_credit_to_a_program_without, ask_for_one_in_the_foreground,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		struct agent_client c;

		agent_client_start(&c);
		attacks[i](&c);
		if (!agent_client_ends_with(&c, SBX_E_PROTOCOL))
			fail_msg("attack %zu was not told of", i);
		agent_client_stop(&c);
	}
}

#define WITH_AGENT(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_AGENT(what_the_host_sends_arrives_on_descriptor_3_and_is_answered_there),
		WITH_AGENT(other_programs_have_no_descriptor_3),
		WITH_AGENT(what_was_written_before_a_word_comes_before_it),
		WITH_AGENT(a_word_waits_for_the_credit_of_the_output_before_it),
		WITH_AGENT(much_comes_whole_though_the_program_ends_at_once),
		WITH_AGENT(a_program_that_closes_it_goes_on_and_the_host_is_told),
		WITH_AGENT(a_program_that_writes_without_end_is_ended_all_the_same),
		cmocka_unit_test(a_host_that_breaks_the_protocol_is_told_and_left),
	};

	return cmocka_run_group_tests_name("agent control", tests, NULL, NULL);
}
