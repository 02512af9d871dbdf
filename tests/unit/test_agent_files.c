/* SPDX-License-Identifier: MIT */
/* What the agent promises about files, seen through its stream. It runs as a plain child here. */
#include "base/auto.h"
#include "base/io.h"
#include "support/agent_client.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

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

#define UNREAD_ENOUGH (100 << 10) /* about what a stream holds of frames this small */

#define agent_test(function) cmocka_unit_test_setup_teardown(function, start, stop)

/* ---- questions ---- */

static uint32_t send_message(struct agent_client *c, enum wire_type type, struct sbx_buf *payload)
{
	agent_client_send(c, type, ++c->channel, payload->data, payload->len);
	sbx_buf_done(payload);
	return c->channel;
}

static uint32_t send_get(struct agent_client *c, const struct wire_get *m)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

	wire_get_format(&payload, m);
	return send_message(c, WIRE_GET, &payload);
}

/* Answers of all kinds, as text: "e f 6 name\n" for ENTRY, "d 5\n", "h 100\n". */
static void collect(struct agent_client *c, uint32_t channel, struct sbx_buf *story,
		    struct agent_run *run)
{
	struct wire_frame frame;
	struct wire_entry e;
	struct wire_hole h;
	bool over = false;

	agent_run_init(run, channel);
	while (!over) {
		assert_true(agent_client_next(c, &frame));
		if (frame.channel != channel)
			continue;
		if (frame.type == WIRE_ENTRY) {
			assert_true(wire_entry_parse(frame.payload, frame.len, &e));
			sbx_buf_printf(story, "e %c %llu %s\n", e.kind,
				       e.kind == WIRE_FILE ? (unsigned long long)e.size : 0, e.name);
			wire_entry_done(&e);
		} else if (frame.type == WIRE_HOLE) {
			assert_true(wire_hole_parse(frame.payload, frame.len, &h));
			sbx_buf_printf(story, "h %llu\n", (unsigned long long)h.bytes);
		} else if (frame.type == WIRE_DATA) {
			sbx_buf_printf(story, "d %zu\n", frame.len);
			agent_client_grant(c, channel, WIRE_FLOW_DATA, frame.len);
		} else if (frame.type == WIRE_ERROR) {
			struct wire_error m;

			assert_true(wire_error_parse(frame.payload, frame.len, &m));
			run->failed = true;
			run->code = m.code;
			snprintf(run->text, sizeof(run->text), "%s", m.text);
			wire_error_done(&m);
		}
		over = frame.type == WIRE_ERROR || frame.type == WIRE_CLOSE;
	}
}

static void assert_story(struct agent_client *c, uint32_t channel, const char *expected)
{
	auto_buf struct sbx_buf story = SBX_BUF_INIT(1 << 20);
	struct agent_run run;

	collect(c, channel, &story, &run);
	if (run.failed)
		fail_msg("%s", run.text);
	assert_string_equal(story.data, expected);
	agent_run_done(&run);
}

/* One that is done or refused: its code. */
static uint32_t outcome(struct agent_client *c, uint32_t channel)
{
	struct agent_run run;
	uint32_t code;

	agent_client_finish(c, channel, &run);
	code = run.failed ? run.code : 0;
	agent_run_done(&run);
	return code;
}

static uint32_t remove_path(struct agent_client *c, const char *path, bool deep)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

	wire_remove_format(&payload, &(struct wire_remove){.deep = deep, .path = (char *)path});
	return outcome(c, send_message(c, WIRE_REMOVE, &payload));
}

static uint32_t make_folder(struct agent_client *c, const char *path)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

	wire_mkdir_format(&payload, &(struct wire_mkdir){.mode = 0750, .path = (char *)path});
	return outcome(c, send_message(c, WIRE_MKDIR, &payload));
}

static uint32_t begin_put(struct agent_client *c, const char *path, enum wire_put_how how)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

	wire_put_format(&payload, &(struct wire_put){.mode = 0644,
						     .how = (uint8_t)how,
						     .size = UINT64_MAX,
						     .mtime_ns = 1000000000ull * 1000000000ull,
						     .path = (char *)path});
	return send_message(c, WIRE_PUT, &payload);
}

static void send_hole(struct agent_client *c, uint32_t channel, uint64_t bytes)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);

	wire_hole_format(&payload, &(struct wire_hole){.bytes = bytes});
	agent_client_send(c, WIRE_HOLE, channel, payload.data, payload.len);
}

static uint32_t put(struct agent_client *c, const char *path, const char *text,
		    enum wire_put_how how)
{
	uint32_t channel = begin_put(c, path, how);

	agent_client_send(c, WIRE_DATA, channel, text, strlen(text));
	agent_client_send(c, WIRE_FINISH, channel, NULL, 0);
	return outcome(c, channel);
}

static void sh(struct agent_client *c, const char *line, const char *expected)
{
	struct agent_run run;

	agent_client_shell(c, line, &run);
	assert_string_equal(run.out[1].data, "");
	assert_string_equal(run.out[0].data, expected);
	agent_run_done(&run);
}

/* ---- what is new ---- */

static uint64_t file_clock_ns(struct agent_client *c)
{
	struct wire_frame frame;
	struct wire_pong m;

	agent_client_send(c, WIRE_PING, 0, NULL, 0);
	assert_true(agent_client_next(c, &frame));
	assert_int_equal(frame.type, WIRE_PONG);
	assert_true(wire_pong_parse(frame.payload, frame.len, &m));
	return m.clock_ns;
}

/* Until the clock has moved on, so that what comes next is after all that was. */
static uint64_t next_tick_ns(struct agent_client *c)
{
	uint64_t before = file_clock_ns(c), now;

	do
		now = file_clock_ns(c);
	while (now == before);
	return now;
}

static uint32_t send_list(struct agent_client *c, const struct wire_list *m)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

	wire_list_format(&payload, m);
	return send_message(c, WIRE_LIST, &payload);
}

static void a_list_of_what_is_new_has_files_since_then_alone(void **state)
{
	struct agent_client *c = *state;
	struct wire_list m = {.deep = 1, .most = 10, .most_seen = 100, .path = (char *)""};
	auto_buf struct sbx_buf story = SBX_BUF_INIT(4096);
	struct agent_run run;

	sh(c, "mkdir d e f; echo 1 > d/old; echo 2 > d/changed; echo 3 > d/moved; echo 4 > d/touched", "");
	m.since_ns = next_tick_ns(c);
	collect(c, send_list(c, &m), &story, &run);
	assert_int_equal(story.len, 0);
	agent_run_done(&run);

	sh(c, "echo 22 > d/changed; mv d/moved e/; ln -s /etc/passwd l; mkfifo p; "
	      "touch -d 1999-01-01 d/touched", "");
	collect(c, send_list(c, &m), &story, &run);
	assert_non_null(strstr(story.data, "e f 3 d/changed\n"));
	assert_non_null(strstr(story.data, "e f 2 e/moved\n"));
	/* It has an old time now, but not the one that counts, which no program can set. */
	assert_non_null(strstr(story.data, "e f 2 d/touched\n"));
	assert_int_equal(story.len, strlen("e f 3 d/changed\ne f 2 e/moved\ne f 2 d/touched\n"));
	agent_run_done(&run);
}

static void a_file_that_was_put_is_no_newer_than_the_clock_after_it(void **state)
{
	struct agent_client *c = *state;
	struct wire_list m = {.deep = 1, .most = 10, .most_seen = 100, .path = (char *)""};

	for (int i = 0; i < 50; i++) {
		auto_buf struct sbx_buf story = SBX_BUF_INIT(4096);
		struct agent_run run;

		assert_int_equal(put(c, "f", "x", WIRE_PUT_REPLACE), 0);
		m.since_ns = file_clock_ns(c) + 1;
		collect(c, send_list(c, &m), &story, &run);
		assert_int_equal(story.len, 0);
		agent_run_done(&run);
	}
}

static void a_list_ends_where_enough_was_looked_at(void **state)
{
	struct agent_client *c = *state;
	struct wire_list m = {.deep = 1, .most = 10, .most_seen = 3, .path = (char *)""};

	sh(c, "touch a b c", "");
	m.since_ns = next_tick_ns(c);
	assert_int_equal(outcome(c, send_list(c, &m)), 0);
	sh(c, "touch d", "");
	assert_int_equal(outcome(c, send_list(c, &m)), SBX_E_LIMIT);
}

/* ---- put ---- */

static void a_file_ends_where_the_host_says(void **state)
{
	struct agent_client *c = *state;

	assert_int_equal(put(c, "a/b", "hello", WIRE_PUT_REPLACE), 0);
	assert_int_equal(put(c, "a/c", "", WIRE_PUT_REPLACE), 0);
	sh(c, "cat a/b; stat -c ' %a %Y' a/b; stat -c %s a/c", "hello 644 1000000000\n0\n");
}

static void a_file_that_is_given_up_leaves_nothing(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel;

	assert_int_equal(put(c, "f", "old", WIRE_PUT_REPLACE), 0);
	channel = begin_put(c, "f", WIRE_PUT_REPLACE);
	agent_client_send(c, WIRE_DATA, channel, "new", 3);
	agent_client_send(c, WIRE_CLOSE, channel, NULL, 0);
	channel = begin_put(c, "f", WIRE_PUT_APPEND);
	agent_client_send(c, WIRE_DATA, channel, "new", 3);
	agent_client_send(c, WIRE_CLOSE, channel, NULL, 0);
	sh(c, "cat f; ls -A", "oldf\n");
}

static void files_may_follow_each_other_without_waiting(void **state)
{
	struct agent_client *c = *state;
	uint32_t last = 0;

	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "d/%d", i);
		last = begin_put(c, i == 50 ? "d" : name, WIRE_PUT_REPLACE);
		agent_client_send(c, WIRE_DATA, last, "x", 1);
		agent_client_send(c, WIRE_FINISH, last, NULL, 0);
	}
	assert_int_equal(outcome(c, last), 0);
	sh(c, "ls -A d | wc -l; ls -A", "99\nd\n");
}

static void a_hole_takes_no_space(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = begin_put(c, "sparse", WIRE_PUT_REPLACE);

	send_hole(c, channel, 1ull << 30);
	agent_client_send(c, WIRE_DATA, channel, "middle", 6);
	send_hole(c, channel, (1ull << 30) - 6);
	agent_client_send(c, WIRE_FINISH, channel, NULL, 0);
	assert_int_equal(outcome(c, channel), 0);
	sh(c, "stat -c %s sparse; [ $(stat -c %b sparse) -lt 1000 ] && echo sparse",
	   "2147483648\nsparse\n");
}

static void a_hole_is_sent_as_one(void **state)
{
	static const char head[] = "e f 2147483648 \nh 1073741824\nd ";
	auto_buf struct sbx_buf story = SBX_BUF_INIT(1 << 20);
	struct agent_client *c = *state;
	struct agent_run run;

	sh(c, "truncate -s 1G f; printf x >> f; truncate -s 2G f", "");
	collect(c, send_get(c, &(struct wire_get){.length = UINT64_MAX, .most = UINT64_MAX,
						  .path = (char *)"f"}),
		&story, &run);
	assert_false(run.failed);
	assert_memory_equal(story.data, head, sizeof(head) - 1);
	assert_non_null(strstr(story.data + sizeof(head), "\nh "));
	assert_true(story.len < 200);
	agent_run_done(&run);
}

static void a_hole_beyond_what_a_file_can_be_is_refused(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel = begin_put(c, "f", WIRE_PUT_REPLACE);

	send_hole(c, channel, INT64_MAX);
	send_hole(c, channel, INT64_MAX);
	assert_true(outcome(c, channel) != 0);
	channel = begin_put(c, "f", WIRE_PUT_REPLACE);
	send_hole(c, channel, UINT64_MAX);
	assert_true(outcome(c, channel) != 0);
	sh(c, "ls -A", "");
}

static void new_and_append_do_as_they_say(void **state)
{
	struct agent_client *c = *state;

	assert_int_equal(put(c, "f", "one", WIRE_PUT_NEW), 0);
	assert_int_equal(put(c, "f", "two", WIRE_PUT_NEW), SBX_E_INVALID);
	assert_int_equal(put(c, "f", "two", WIRE_PUT_APPEND), 0);
	assert_int_equal(put(c, "g", "new", WIRE_PUT_APPEND), 0);
	sh(c, "cat f g; ln -s f link; mkfifo fifo", "onetwonew");
	assert_int_equal(put(c, "link", "x", WIRE_PUT_APPEND), SBX_E_DENIED);
	assert_true(put(c, "fifo", "x", WIRE_PUT_APPEND) != 0);
	assert_int_equal(put(c, "link", "x", WIRE_PUT_NEW), SBX_E_INVALID);
	sh(c, "cat f", "onetwo");
}

static void paths_that_climb_are_refused(void **state)
{
	static const char *const paths[] = {"..", "../x", "a/../../x", "/..", "a//b", "a/", "./a"};
	struct agent_client *c = *state;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(put(c, paths[i], "x", WIRE_PUT_REPLACE), SBX_E_INVALID);
		assert_int_equal(make_folder(c, paths[i]), SBX_E_INVALID);
		assert_int_equal(remove_path(c, paths[i], true), SBX_E_INVALID);
	}
	sh(c, "ls -A", "");
}

/* ---- get ---- */

static void a_part_of_a_file_is_given(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run;

	assert_int_equal(put(c, "f", "0123456789", WIRE_PUT_REPLACE), 0);
	agent_client_finish(c, send_get(c, &(struct wire_get){.offset = 3, .length = 4,
							      .most = 100, .path = (char *)"f"}),
			    &run);
	assert_string_equal(run.out[0].data, "3456");
	agent_run_done(&run);
	agent_client_finish(c, send_get(c, &(struct wire_get){.offset = UINT64_MAX,
							      .length = UINT64_MAX,
							      .most = 100, .path = (char *)"f"}),
			    &run);
	assert_false(run.failed);
	assert_string_equal(run.out[0].data, "");
	agent_run_done(&run);
}

static void a_tree_comes_in_one_answer_each_folder_first(void **state)
{
	struct agent_client *c = *state;
	struct wire_get all = {
		.deep = true, .length = UINT64_MAX, .most = UINT64_MAX, .path = (char *)"t"};

	sh(c, "mkdir -p t/a; echo hello > t/a/f", "");
	assert_story(c, send_get(c, &all), "e d 0 \ne d 0 a\ne f 6 a/f\nd 6\n");
	sh(c, "rm t/a/f; ln -s /etc t/a/link; mkfifo t/a/link/x 2>&- ; true", "");
	assert_story(c, send_get(c, &all), "e d 0 \ne d 0 a\ne l 0 a/link\n");
	all.path = (char *)"/proc";
	assert_int_equal(outcome(c, send_get(c, &all)), SBX_E_INVALID);
}

static void a_get_that_is_given_up_is_over(void **state)
{
	struct agent_client *c = *state;
	uint32_t channel;

	sh(c, "head -c 3000000 /dev/zero > big", "");
	for (int i = 0; i < 20; i++) {
		channel = send_get(c, &(struct wire_get){.length = UINT64_MAX, .most = UINT64_MAX,
							 .path = (char *)"big"});
		agent_client_send(c, WIRE_CLOSE, channel, NULL, 0);
	}
	assert_int_equal(put(c, "next", "x", WIRE_PUT_NEW), 0);
}

/* The agent must neither block nor fall out of step, whatever happens to the file. */
static void a_file_that_shrinks_while_it_is_sent_ends(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(
		argv, "while :; do head -c 2000000 /dev/zero > f; : > f; done");
	uint32_t program = agent_client_exec(c, &exec);

	for (int i = 0; i < 100; i++) {
		struct agent_run run;
		uint32_t channel =
			send_get(c, &(struct wire_get){.length = UINT64_MAX, .most = UINT64_MAX,
						       .path = (char *)"f"});

		agent_client_finish(c, channel, &run);
		assert_true(run.out[0].len <= 2000000);
		agent_run_done(&run);
	}
	agent_client_signal(c, program, SIGKILL, WIRE_SCOPE_TREE);
	assert_int_equal(outcome(c, program), 0);
}

/* ---- look, make, remove ---- */

static void stat_tells_of_a_link_and_not_of_what_it_leads_to(void **state)
{
	struct agent_client *c = *state;
	static const char *const paths[] = {"link", "file", "folder", "."};
	static const char *const stories[] = {"e l 0 \n", "e f 2 \n", "e d 0 \n", "e d 0 \n"};

	sh(c, "echo x > file; ln -s file link; mkdir folder", "");
	for (int i = 0; i < 4; i++) {
		struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

		wire_path_format(&payload, &(struct wire_path){.path = (char *)paths[i]});
		assert_story(c, send_message(c, WIRE_STAT, &payload), stories[i]);
	}
}

static void a_tree_is_removed_however_deep_and_closed_it_is(void **state)
{
	struct agent_client *c = *state;

	sh(c,
	   "python3 -c '\n"
	   "import os\n"
	   "os.mkdir(\"d\"); os.chdir(\"d\")\n"
	   "for i in range(10000):\n"
	   "    os.mkdir(\"x\"); open(\"f\", \"w\").close(); os.chdir(\"x\")\n'\n"
	   "mkdir -p e/a/b/c keep; touch e/a/b/c/f e/a/f keep/f; ln -s ../../keep e/a/link\n"
	   "chmod 0 e/a/b/c; chmod 555 e/a/b e/a; chmod 111 e",
	   "");
	assert_int_equal(remove_path(c, "d", false), SBX_E_INVALID);
	assert_int_equal(remove_path(c, "d", true), 0);
	assert_int_equal(remove_path(c, "e", true), 0);
	assert_int_equal(remove_path(c, "e", true), SBX_E_NOT_FOUND);
	sh(c, "find . | sort", ".\n./keep\n./keep/f\n");
}

static void the_work_folder_is_emptied_and_stays(void **state)
{
	struct agent_client *c = *state;

	sh(c, "mkdir -p a/b; touch a/b/f g", "");
	assert_int_equal(remove_path(c, "", false), SBX_E_INVALID);
	assert_int_equal(remove_path(c, "/", true), SBX_E_SYSTEM);
	assert_int_equal(remove_path(c, c->folder, true), 0);
	sh(c, "find .", ".\n");
}

/* While a program moves folders out of the tree and links into it, nothing else goes away. */
static void a_removal_is_not_led_astray(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(
		argv, "touch ready; while :; do mkdir -p d/a/b/c d/x; touch d/a/b/c/f d/x/f;"
		      "ln -s ../../keep d/a/l; mv d/x d/y; ln -s ../keep d/x; mv d/a/b away;"
		      "ln -s ../../keep d/a/b; mv away d/; done 2>/dev/null");
	uint32_t program;

	sh(c, "mkdir -p keep/deep; touch keep/f keep/deep/f d", "");
	program = agent_client_exec(c, &exec);
	for (int i = 0; i < 300; i++)
		remove_path(c, "d", true);
	agent_client_signal(c, program, SIGKILL, WIRE_SCOPE_TREE);
	assert_int_equal(outcome(c, program), 0);
	sh(c, "find keep | sort", "keep\nkeep/deep\nkeep/deep/f\nkeep/f\n");
}

static void a_folder_is_made_with_its_parents_and_through_no_link(void **state)
{
	struct agent_client *c = *state;

	assert_int_equal(make_folder(c, "a/b"), 0);
	assert_int_equal(make_folder(c, "a/b"), 0);
	sh(c, "stat -c %a a/b; ln -s a link; touch f", "750\n");
	assert_true(make_folder(c, "link/x") != 0);
	assert_true(make_folder(c, "link") != 0);
	assert_int_equal(make_folder(c, "f"), SBX_E_INVALID);
	sh(c, "find a", "a\na/b\n");
}

/* ---- a host that breaks the protocol ---- */

static void send_data_without_a_file(struct agent_client *c)
{
	uint32_t channel;

	channel = send_get(c, &(struct wire_get){.deep = true, .length = UINT64_MAX,
						 .most = UINT64_MAX, .path = (char *)"/usr"});
	agent_client_send(c, WIRE_DATA, channel, "x", 1);
}

/* What it says of this comes behind an answer that it cannot get rid of for now. */
static void send_data_into_a_full_stream(struct agent_client *c)
{
	uint32_t channel;
	int unread = 0;

	channel = send_get(c, &(struct wire_get){.deep = true, .length = UINT64_MAX,
						 .most = UINT64_MAX, .path = (char *)"/usr"});
	while (unread < UNREAD_ENOUGH) {
		assert_int_equal(ioctl(c->conn.fd, FIONREAD, &unread), 0);
		sched_yield();
	}
	agent_client_send(c, WIRE_DATA, channel, "x", 1);
}

static void send_malformed_hole(struct agent_client *c)
{
	uint32_t channel = begin_put(c, "f", WIRE_PUT_REPLACE);

	agent_client_send(c, WIRE_HOLE, channel, "12345678901", 11);
}

static void send_hole_beyond_the_size(struct agent_client *c)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	uint32_t channel;

	wire_put_format(&payload, &(struct wire_put){.size = 10, .path = (char *)"f"});
	channel = send_message(c, WIRE_PUT, &payload);
	send_hole(c, channel, 11);
}

static void send_malformed_get(struct agent_client *c)
{
	agent_client_send(c, WIRE_GET, 9, "12345", 5);
}

static void send_stat_on_channel_0(struct agent_client *c)
{
	agent_client_send(c, WIRE_STAT, 0, "\1\0\0\0a", 5);
}

static void a_host_that_breaks_the_protocol_is_told_and_left(void **state)
{
	static void (*const attacks[])(struct agent_client *) = {
		send_data_without_a_file,
		send_data_into_a_full_stream,
		send_malformed_hole,
		send_hole_beyond_the_size,
		send_malformed_get,
		send_stat_on_channel_0,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(a_list_of_what_is_new_has_files_since_then_alone),
		agent_test(a_file_that_was_put_is_no_newer_than_the_clock_after_it),
		agent_test(a_list_ends_where_enough_was_looked_at),
		agent_test(a_file_ends_where_the_host_says),
		agent_test(a_file_that_is_given_up_leaves_nothing),
		agent_test(files_may_follow_each_other_without_waiting),
		agent_test(a_hole_takes_no_space),
		agent_test(a_hole_is_sent_as_one),
		agent_test(a_hole_beyond_what_a_file_can_be_is_refused),
		agent_test(new_and_append_do_as_they_say),
		agent_test(paths_that_climb_are_refused),
		agent_test(a_part_of_a_file_is_given),
		agent_test(a_tree_comes_in_one_answer_each_folder_first),
		agent_test(a_get_that_is_given_up_is_over),
		agent_test(a_file_that_shrinks_while_it_is_sent_ends),
		agent_test(stat_tells_of_a_link_and_not_of_what_it_leads_to),
		agent_test(a_tree_is_removed_however_deep_and_closed_it_is),
		agent_test(the_work_folder_is_emptied_and_stays),
		agent_test(a_removal_is_not_led_astray),
		agent_test(a_folder_is_made_with_its_parents_and_through_no_link),
		cmocka_unit_test(a_host_that_breaks_the_protocol_is_told_and_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
