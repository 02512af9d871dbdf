/* SPDX-License-Identifier: MIT */
/* What the agent promises the host, seen through its stream. It runs as a plain child here. */
#include "base/auto.h"
#include "base/io.h"
#include "support/agent_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

/* ---- programs ---- */

static void a_program_runs_and_its_exit_code_is_told(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "echo out; echo err >&2; exit 7", &run);
	assert_int_equal(run.exit.reason, WIRE_EXITED);
	assert_int_equal(run.exit.status, 7);
	assert_string_equal(run.out[0].data, "out\n");
	assert_string_equal(run.out[1].data, "err\n");
	assert_int_equal(run.exit.total[0], 4);
	assert_int_equal(run.exit.dropped[0], 0);
	assert_int_equal(run.exit.killed, 0);
	assert_true(run.exit.wall_ns > 0);
	assert_true(run.exit.max_rss_bytes > 0);
	agent_run_done(&run);
}

static void a_signal_that_ended_a_program_is_told(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "kill -SEGV $$", &run);
	assert_int_equal(run.exit.reason, WIRE_SIGNALLED);
	assert_int_equal(run.exit.status, SIGSEGV);
	agent_run_done(&run);
}

/* Run argv, which does not start: its error. */
static void fail_to_start(struct agent_client *c, char **argv, struct agent_run *ret)
{
	char *line[4];
	struct wire_exec exec = agent_client_line(line, "");

	exec.argv = argv;
	agent_client_finish(c, agent_client_exec(c, &exec), ret);
	assert_true(ret->failed);
}

static void a_program_that_is_not_there_is_named(void **state)
{
	char *argv[] = {(char *)"no-such-program", NULL};
	struct agent_run run;

	fail_to_start(*state, argv, &run);
	assert_int_equal(run.code, SBX_E_NOT_FOUND);
	assert_string_equal(run.text, "no program 'no-such-program' in the sandbox's PATH");
	agent_run_done(&run);

	agent_client_shell(*state, "true", &run);
	agent_run_done(&run);
}

static void a_file_that_is_no_program_is_refused_with_the_reason(void **state)
{
	char *argv[] = {(char *)"/etc/passwd", NULL};
	struct agent_run run;

	fail_to_start(*state, argv, &run);
	assert_int_equal(run.code, SBX_E_SYSTEM);
	assert_non_null(strstr(run.text, "Permission denied"));
	agent_run_done(&run);
}

static void a_script_without_an_interpreter_line_runs_in_the_shell(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run;

	agent_client_finish(c, agent_client_put(c, "script", 0755, "echo \"$1\"\n", 10), &run);
	agent_run_done(&run);
	agent_client_shell(c, "exec ./script works", &run);
	assert_string_equal(run.out[0].data, "works\n");
	agent_run_done(&run);
}

static void an_argument_too_long_for_the_kernel_is_said_clearly(void **state)
{
	static char argument[1u << 20];
	char *argv[] = {(char *)"true", argument, NULL};
	struct agent_run run;

	memset(argument, 'a', sizeof(argument) - 1);
	fail_to_start(*state, argv, &run);
	assert_int_equal(run.code, SBX_E_LIMIT);
	agent_run_done(&run);
}

static void many_arguments_arrive_though_they_fill_many_frames(void **state)
{
	static char argument[60000];
	char *argv[4 + 16 + 1], *line[4];
	struct wire_exec exec = agent_client_line(line, "echo $#; printf %s \"$@\" | wc -c");
	struct agent_run run;

	memset(argument, 'a', sizeof(argument) - 1);
	memcpy(argv, line, 3 * sizeof(argv[0]));
	argv[3] = (char *)"sh";
	for (int i = 0; i < 16; i++)
		argv[4 + i] = argument;
	argv[20] = NULL;
	exec.argv = argv;
	agent_client_finish(*state, agent_client_exec(*state, &exec), &run);
	assert_false(run.failed);
	assert_string_equal(run.out[0].data, "16\n959984\n");
	agent_run_done(&run);
}

static void a_program_starts_clean(void **state)
{
	struct agent_run run;

	agent_client_shell(*state,
			   "for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done; umask; "
			   "tr '\\0' '\\n' < /proc/$$/environ",
			   &run);
	assert_string_equal(run.out[0].data, "0\n1\n2\n0022\n"
					     "PATH=/usr/local/bin:/usr/bin:/bin\n");
	agent_run_done(&run);

	agent_client_shell(*state, "exec grep -E '^Sig(Blk|Ign)' /proc/self/status", &run);
	assert_string_equal(run.out[0].data, "SigBlk:\t0000000000000000\n"
					     "SigIgn:\t0000000000000000\n");
	agent_run_done(&run);
}

static void one_program_runs_at_a_time(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "read line; echo $line");
	struct agent_run run, second;
	uint32_t channel;

	exec.flags |= WIRE_EXEC_STDIN;
	channel = agent_client_exec(c, &exec);
	agent_client_finish(c, agent_client_exec(c, &exec), &second);
	assert_true(second.failed);
	assert_int_equal(second.code, SBX_E_UNAVAILABLE);
	agent_client_send(c, WIRE_STDIN, channel, "still here\n", 11);
	agent_run_init(&run, channel);
	run.stdin_credit -= 11;
	while (!agent_run_take(c, &run, true))
		;
	assert_string_equal(run.out[0].data, "still here\n");
	agent_run_done(&second);
	agent_run_done(&run);
}

static void a_working_folder_may_be_named(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "pwd");
	struct agent_run run;

	exec.cwd = (char *)"/usr";
	agent_client_finish(c, agent_client_exec(c, &exec), &run);
	assert_string_equal(run.out[0].data, "/usr\n");
	agent_run_done(&run);

	exec.cwd = (char *)"missing";
	agent_client_finish(c, agent_client_exec(c, &exec), &run);
	assert_true(run.failed);
	assert_non_null(strstr(run.text, "missing"));
	agent_run_done(&run);
}

/* ---- the process tree ---- */

/* Starts a process that left its session and parent, ignores what it can, and holds the pipes. */
#define RUNAWAY                                                                     \
	"(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > runaway.tmp; "            \
	"mv runaway.tmp runaway; while :; do sleep 100; done' &); "                 \
	"while [ ! -e runaway ]; do sleep 0.01; done; "

static pid_t runaway_pid(const struct agent_client *c)
{
	auto_close int folder_fd = open(c->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_free char *text = NULL;
	struct sbx_error err;
	size_t len;

	assert_int_equal(sbx_read_file(folder_fd, "runaway", 32, &text, &len, &err), 0);
	return (pid_t)strtol(text, NULL, 10);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void a_timeout_kills_the_whole_process_tree(void **state)
{
	char *argv[4];
	struct wire_exec exec =
		agent_client_line(argv, RUNAWAY "trap '' TERM; while :; do sleep 100; done");
	struct agent_run run;

	exec.wall_ms = 1500;
	agent_client_finish(*state, agent_client_exec(*state, &exec), &run);
	assert_int_equal(run.exit.reason, WIRE_TIMEOUT);
	assert_true(run.exit.wall_ns >= 1500000000u);
	assert_true(is_gone(runaway_pid(*state)));
	agent_run_done(&run);
}

static void what_a_program_leaves_behind_is_killed(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, RUNAWAY "echo done", &run);
	assert_int_equal(run.exit.reason, WIRE_EXITED);
	assert_int_equal(run.exit.status, 0);
	assert_string_equal(run.out[0].data, "done\n");
	assert_true(is_gone(runaway_pid(*state)));
	agent_run_done(&run);
}

/* Here, as with one single user id, a program can kill its supervisor. */
static void nothing_outlives_a_background_program_that_killed_its_supervisor(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, RUNAWAY "kill -9 $PPID; sleep 1000");
	struct agent_run run;

	exec.flags |= WIRE_EXEC_BACKGROUND;
	agent_client_finish(c, agent_client_exec(c, &exec), &run);
	assert_int_equal(run.exit.reason, WIRE_SIGNALLED);
	assert_true(is_gone(runaway_pid(c)));
	agent_run_done(&run);
}

static void processes_that_had_to_be_killed_are_counted(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "for i in 1 2 3 4 5 6 7 8; do sleep 100 & done", &run);
	assert_int_equal(run.exit.killed, 8);
	agent_run_done(&run);
}

static void the_end_of_the_stream_kills_the_whole_process_tree(void **state)
{
	struct agent_client c;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, RUNAWAY "echo up; sleep 100");
	struct agent_run run;
	pid_t pid;

	(void)state;
	agent_client_start(&c);
	agent_run_init(&run, agent_client_exec(&c, &exec));
	while (run.out[0].len == 0)
		agent_run_take(&c, &run, true);
	pid = runaway_pid(&c);
	assert_false(is_gone(pid));
	agent_client_stop(&c);
	assert_true(is_gone(pid));
	agent_run_done(&run);
}

static void a_signal_reaches_the_program_and_its_children(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec =
		agent_client_line(argv, "trap 'echo got it; exit 5' INT; echo up; "
					"while :; do sleep 0.01; done");
	struct agent_run run;

	agent_run_init(&run, agent_client_exec(c, &exec));
	while (run.out[0].len == 0)
		agent_run_take(c, &run, true);
	agent_client_signal(c, run.channel, SIGINT, WIRE_SCOPE_GROUP);
	while (!agent_run_take(c, &run, true))
		;
	assert_int_equal(run.exit.reason, WIRE_EXITED);
	assert_int_equal(run.exit.status, 5);
	assert_string_equal(run.out[0].data, "up\ngot it\n");
	agent_run_done(&run);
}

static void a_kill_ends_the_tree_and_says_so(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, RUNAWAY "echo up; sleep 100");
	struct agent_run run;

	agent_run_init(&run, agent_client_exec(c, &exec));
	while (run.out[0].len == 0)
		agent_run_take(c, &run, true);
	agent_client_signal(c, run.channel, SIGKILL, WIRE_SCOPE_TREE);
	while (!agent_run_take(c, &run, true))
		;
	assert_int_equal(run.exit.reason, WIRE_KILLED);
	assert_true(is_gone(runaway_pid(c)));
	agent_run_done(&run);
}

static void the_cpu_limit_ends_a_program_that_spins(void **state)
{
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "while :; do :; done");
	struct agent_run run;

	exec.cpu_ms = 1000;
	exec.wall_ms = 50000;
	agent_client_finish(*state, agent_client_exec(*state, &exec), &run);
	assert_int_equal(run.exit.reason, WIRE_CPU);
	/* The limit counts whole ticks, which on a busy machine run ahead of the time used. */
	assert_true(run.exit.user_us + run.exit.system_us >= 300000);
	agent_run_done(&run);
}

static void a_program_without_streams_runs_on(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "exec <&- >&- 2>&-; sleep 0.05; exit 3", &run);
	assert_int_equal(run.exit.reason, WIRE_EXITED);
	assert_int_equal(run.exit.status, 3);
	agent_run_done(&run);
}

/* ---- output ---- */

static void of_20_mb_of_output_head_and_tail_are_kept(void **state)
{
	/* 2,500,000 lines of eight bytes. */
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "seq 1000000 3499999");
	struct agent_run run;

	exec.flags = 0;
	exec.head_bytes = 8000;
	exec.tail_bytes = 4000;
	agent_client_finish(*state, agent_client_exec(*state, &exec), &run);
	assert_int_equal(run.exit.total[0], 20000000);
	assert_int_equal(run.exit.dropped[0], 20000000 - 12000);
	assert_int_equal(run.out[0].len, 12000);
	assert_memory_equal(run.out[0].data, "1000000\n1000001\n", 16);
	assert_memory_equal(run.out[0].data + 7992, "1000999\n3499500\n", 16);
	assert_memory_equal(run.out[0].data + 11992, "3499999\n", 8);
	agent_run_done(&run);
}

static void a_program_is_not_slowed_by_a_host_that_takes_no_output(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "seq 1000000 3499999; touch finished");
	struct agent_run run;

	exec.flags = 0;
	exec.tail_bytes = 1u << 20;
	agent_run_init(&run, agent_client_exec(c, &exec));
	/* The first window of the tail comes once the program is over; the rest needs credit. */
	while (run.out[0].len < WIRE_WINDOW)
		assert_false(agent_run_take(c, &run, false));
	agent_client_grant(c, run.channel, WIRE_FLOW_STDOUT, WIRE_WINDOW);
	while (!agent_run_take(c, &run, true))
		;
	assert_int_equal(run.out[0].len, 1u << 20);
	assert_memory_equal(run.out[0].data + (1u << 20) - 8, "3499999\n", 8);
	agent_run_done(&run);
}

static void without_credit_no_output_is_sent(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "yes");
	struct wire_frame frame;
	struct agent_run run;

	agent_run_init(&run, agent_client_exec(c, &exec));
	while (run.out[0].len < WIRE_WINDOW)
		assert_false(agent_run_take(c, &run, false));
	assert_int_equal(run.out[0].len, WIRE_WINDOW);
	/* What the agent had to send before its answer would stand before it. */
	agent_client_send(c, WIRE_PING, 0, NULL, 0);
	assert_true(agent_client_next(c, &frame));
	assert_int_equal(frame.type, WIRE_PONG);

	agent_client_grant(c, run.channel, WIRE_FLOW_STDOUT, 1000);
	while (run.out[0].len < WIRE_WINDOW + 1000)
		assert_false(agent_run_take(c, &run, false));
	assert_int_equal(run.out[0].len, WIRE_WINDOW + 1000);
	agent_client_signal(c, run.channel, SIGKILL, WIRE_SCOPE_TREE);
	agent_client_grant(c, run.channel, WIRE_FLOW_STDOUT, WIRE_WINDOW);
	while (!agent_run_take(c, &run, true))
		;
	agent_run_done(&run);
}

/*
 * Together they may have more credit than the agent has room for: a host that is busy elsewhere
 * holds them back, and loses nothing.
 */
static void programs_that_write_much_wait_for_a_host_that_does_not_listen(void **state)
{
	struct agent_client *c = *state;
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "yes & yes >&2; wait");
	struct pollfd end = {.fd = c->conn.fd};
	struct agent_run runs[WIRE_BACKGROUND_MAX];

	exec.flags |= WIRE_EXEC_BACKGROUND | WIRE_EXEC_FORWARD;
	for (size_t i = 0; i < WIRE_BACKGROUND_MAX; i++)
		agent_run_init(&runs[i], agent_client_exec(c, &exec));
	assert_int_equal(poll(&end, 1, 2000), 0);
	for (size_t i = 0; i < WIRE_BACKGROUND_MAX; i++)
		agent_client_signal(c, runs[i].channel, SIGKILL, WIRE_SCOPE_TREE);
	for (size_t over = 0; over < WIRE_BACKGROUND_MAX;) {
		struct wire_frame frame;

		assert_true(agent_client_next(c, &frame));
		over += frame.type == WIRE_EXIT;
		if (frame.type == WIRE_STDOUT || frame.type == WIRE_STDERR)
			agent_client_grant(c, frame.channel,
					   frame.type == WIRE_STDOUT ? WIRE_FLOW_STDOUT : WIRE_FLOW_STDERR,
					   frame.len);
	}
	for (size_t i = 0; i < WIRE_BACKGROUND_MAX; i++)
		agent_run_done(&runs[i]);
}

/* Programs of one user can open each other's pipes: what is written there later is nobody's. */
static void a_program_ends_though_another_one_writes_to_its_output(void **state)
{
	struct agent_client *c = *state;
	char *front_argv[4], *back_argv[4];
	struct wire_exec front = agent_client_line(
		front_argv, "echo $$ > new; mv new pid; until test -e held; do sleep 0.02; done");
	struct wire_exec back = agent_client_line(
		back_argv, "until test -e pid; do sleep 0.02; done; exec 3> /proc/$(cat pid)/fd/1; "
			   "touch held; exec yes >&3");
	struct agent_run run;

	back.flags |= WIRE_EXEC_BACKGROUND;
	agent_client_exec(c, &back);
	agent_run_init(&run, agent_client_exec(c, &front));
	while (!agent_run_take(c, &run, true))
		assert_true(run.out[0].len < 512u << 20); /* of seconds, on a busy machine */
	assert_false(run.failed);
	assert_int_equal(run.exit.reason, WIRE_EXITED);
	agent_run_done(&run);
}

static void forwarded_output_of_two_streams_is_whole(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "seq 1000000 2999999 & seq 1000000 2999999 >&2; wait", &run);
	assert_int_equal(run.out[0].len, 16000000);
	assert_int_equal(run.out[1].len, 16000000);
	assert_int_equal(run.exit.dropped[0] + run.exit.dropped[1], 0);
	assert_memory_equal(run.out[0].data, run.out[1].data, 16000000);
	agent_run_done(&run);
}

static void the_name_dev_stdout_works(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "echo a > /dev/stdout; echo b > /dev/stderr", &run);
	assert_string_equal(run.out[0].data, "a\n");
	assert_string_equal(run.out[1].data, "b\n");
	agent_run_done(&run);
}

/* ---- stdin ---- */

static uint32_t start_reader(struct agent_client *c, const char *line)
{
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, line);

	exec.flags |= WIRE_EXEC_STDIN;
	return agent_client_exec(c, &exec);
}

/* Send len bytes as credit allows. */
static void feed(struct agent_client *c, struct agent_run *run, size_t len)
{
	static char piece[WIRE_PAYLOAD_MAX];

	memset(piece, 'x', sizeof(piece));
	while (len > 0) {
		size_t n = len < sizeof(piece) ? len : sizeof(piece);

		while (run->stdin_credit == 0)
			assert_false(agent_run_take(c, run, true));
		n = n < run->stdin_credit ? n : run->stdin_credit;
		run->stdin_credit -= n;
		agent_client_send(c, WIRE_STDIN, run->channel, piece, n);
		len -= n;
	}
}

static void stdin_arrives_whole_and_ends(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run;

	agent_run_init(&run, start_reader(c, "wc -c"));
	feed(c, &run, 5000000);
	agent_client_send(c, WIRE_STDIN_EOF, run.channel, NULL, 0);
	while (!agent_run_take(c, &run, true))
		;
	assert_string_equal(run.out[0].data, "5000000\n");
	agent_run_done(&run);
}

static void a_program_that_closed_its_stdin_loses_it_and_nothing_stops(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run;

	agent_run_init(&run, start_reader(c, "exec <&-; echo closed; sleep 100"));
	while (run.out[0].len == 0)
		agent_run_take(c, &run, true);
	feed(c, &run, 2000000);
	agent_client_signal(c, run.channel, SIGKILL, WIRE_SCOPE_TREE);
	while (!agent_run_take(c, &run, true))
		;
	assert_int_equal(run.exit.reason, WIRE_KILLED);
	agent_run_done(&run);
}

static void without_stdin_a_program_reads_its_end(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "wc -c", &run);
	assert_string_equal(run.out[0].data, "0\n");
	agent_run_done(&run);
}

/* ---- files ---- */

/* GET or LIST to its end. */
static void ask(struct agent_client *c, enum wire_type type, const char *path, uint64_t most,
		struct agent_run *ret)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);

	if (type == WIRE_GET)
		wire_get_format(&payload, &(struct wire_get){.length = UINT64_MAX, .most = most,
							     .path = (char *)path});
	else
		wire_list_format(&payload, &(struct wire_list){.most = most,
							     .most_seen = UINT64_MAX,
							     .path = (char *)path});
	agent_client_send(c, type, ++c->channel, payload.data, payload.len);
	agent_client_finish(c, c->channel, ret);
}

static void put(struct agent_client *c, const char *path, uint32_t mode, const char *text)
{
	struct agent_run run;

	agent_client_finish(c, agent_client_put(c, path, mode, text, strlen(text)), &run);
	if (run.failed)
		fail_msg("%s", run.text);
	agent_run_done(&run);
}

static void a_file_that_was_put_is_there_with_its_mode(void **state)
{
	struct agent_run run;

	put(*state, "a/b/c.txt", 0750, "hello");
	agent_client_shell(*state, "cat a/b/c.txt; stat -c ' %a' a/b/c.txt; ls -A a/b", &run);
	assert_string_equal(run.out[0].data, "hello 750\nc.txt\n");
	agent_run_done(&run);
}

static void a_large_file_comes_back_as_it_is(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run, sum;

	agent_client_shell(c, "seq 1000000 1999999 > big; cksum < big", &sum);
	ask(c, WIRE_GET, "big", 8000000, &run);
	assert_false(run.failed);
	assert_string_equal(run.names.data, "f \n");
	assert_int_equal(run.out[0].len, 8000000);
	assert_memory_equal(run.out[0].data + 7999992, "1999999\n", 8);
	agent_run_done(&sum);
	agent_run_done(&run);
}

static void a_file_larger_than_the_host_takes_is_refused(void **state)
{
	struct agent_run run;

	put(*state, "file", 0644, "12345");
	ask(*state, WIRE_GET, "file", 4, &run);
	assert_true(run.failed);
	assert_non_null(strstr(run.text, "file"));
	agent_run_done(&run);
}

static void only_regular_files_are_given(void **state)
{
	static const char *const names[] = {"fifo", "link", "folder", "/dev/zero",
					    "/proc/self/status", "missing"};
	struct agent_run run;

	agent_client_shell(*state, "mkfifo fifo; mkdir folder; ln -s /etc/passwd link", &run);
	agent_run_done(&run);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask(*state, WIRE_GET, names[i], 1000000, &run);
		if (!run.failed)
			fail_msg("'%s' was given", names[i]);
		agent_run_done(&run);
	}
}

static void a_planted_link_is_replaced_and_not_followed(void **state)
{
	struct agent_run run;

	agent_client_shell(*state, "echo safe > target; ln -s target link", &run);
	agent_run_done(&run);
	put(*state, "link", 0644, "new");
	agent_client_shell(*state, "cat target link; [ ! -L link ]", &run);
	assert_int_equal(run.exit.status, 0);
	assert_string_equal(run.out[0].data, "safe\nnew");
	agent_run_done(&run);
}

static void a_file_that_cannot_be_put_is_named_and_nothing_stops(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run;

	put(c, "file", 0644, "x");
	agent_client_finish(c, agent_client_put(c, "file/below", 0644, "data", 4), &run);
	assert_true(run.failed);
	assert_non_null(strstr(run.text, "file/below"));
	agent_run_done(&run);

	/* The folder is there already, which shows only at the very end. */
	agent_client_shell(c, "mkdir taken", &run);
	agent_run_done(&run);
	agent_client_finish(c, agent_client_put(c, "taken", 0644, "data", 4), &run);
	assert_true(run.failed);
	agent_run_done(&run);

	agent_client_shell(c, "ls -A", &run);
	assert_string_equal(run.out[0].data, "file\ntaken\n");
	agent_run_done(&run);
}

static void a_folder_is_listed_up_to_the_limit(void **state)
{
	struct agent_run run;

	put(*state, "d/file", 0644, "");
	agent_client_shell(*state, "mkdir d/sub; ln -s / d/link", &run);
	agent_run_done(&run);
	ask(*state, WIRE_LIST, "d", 3, &run);
	assert_false(run.failed);
	assert_non_null(strstr(run.names.data, "f file\n"));
	assert_non_null(strstr(run.names.data, "d sub\n"));
	assert_non_null(strstr(run.names.data, "l link\n"));
	agent_run_done(&run);

	ask(*state, WIRE_LIST, "d", 2, &run);
	assert_true(run.failed);
	assert_int_equal(run.code, SBX_E_LIMIT);
	agent_run_done(&run);
}

static void all_of_a_run_may_be_sent_at_once(void **state)
{
	struct agent_client c;
	auto_buf struct sbx_buf setup = SBX_BUF_INIT(4096);
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "cat main.txt");
	struct agent_run run;

	(void)state;
	agent_client_start_bare(&c);
	wire_setup_format(&setup, &(struct wire_setup){.uid = geteuid(), .gid = getegid(),
						       .workdir = c.folder});
	agent_client_send(&c, WIRE_SETUP, 0, setup.data, setup.len);
	agent_client_put(&c, "main.txt", 0644, "in order", 8);
	agent_client_finish(&c, agent_client_exec(&c, &exec), &run);
	assert_string_equal(run.out[0].data, "in order");
	agent_run_done(&run);
	agent_client_stop(&c);
}

/* ---- a host that breaks the protocol ---- */

static void late_messages_of_a_channel_that_is_over_are_ignored(void **state)
{
	struct agent_client *c = *state;
	struct agent_run run;

	agent_client_shell(c, "true", &run);
	agent_client_grant(c, run.channel, WIRE_FLOW_STDOUT, 1);
	agent_client_signal(c, run.channel, SIGTERM, WIRE_SCOPE_GROUP);
	agent_client_send(c, WIRE_STDIN, run.channel, "x", 1);
	agent_client_send(c, WIRE_STDIN_EOF, run.channel, NULL, 0);
	agent_client_send(c, WIRE_DATA, 4000, "x", 1);
	agent_client_send(c, WIRE_CLOSE, 4000, NULL, 0);
	agent_run_done(&run);
	agent_client_shell(c, "echo well", &run);
	assert_string_equal(run.out[0].data, "well\n");
	agent_run_done(&run);
}

typedef void hostile_fn(struct agent_client *c);

static void send_overlong(struct agent_client *c)
{
	static const uint8_t header[4] = {0xff, 0xff, 0xff, 0x7f};

	agent_client_send_raw(c, header, sizeof(header));
}

static void send_wrong_direction(struct agent_client *c)
{
	agent_client_send(c, WIRE_STDOUT, 1, "x", 1);
}

static void send_unknown_type(struct agent_client *c)
{
	uint8_t header[WIRE_HEADER_SIZE];

	wire_header_format(header, 99, 1, 0);
	agent_client_send_raw(c, header, sizeof(header));
}

static void send_setup_again(struct agent_client *c)
{
	auto_buf struct sbx_buf setup = SBX_BUF_INIT(4096);

	wire_setup_format(&setup, &(struct wire_setup){.workdir = c->folder});
	agent_client_send(c, WIRE_SETUP, 0, setup.data, setup.len);
}

static void send_malformed_exec(struct agent_client *c)
{
	agent_client_send(c, WIRE_EXEC, 9, "12345678", 8);
}

static void send_exec_on_channel_0(struct agent_client *c)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(4096);
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, "true");

	wire_exec_format(&payload, &exec);
	agent_client_send(c, WIRE_EXEC, 0, payload.data, payload.len);
}

static void send_interrupted_message(struct agent_client *c)
{
	uint8_t header[WIRE_HEADER_SIZE];

	wire_header_format(header, WIRE_EXEC | WIRE_MORE, 9, 0);
	agent_client_send_raw(c, header, sizeof(header));
	agent_client_send(c, WIRE_PING, 0, NULL, 0);
}

static void send_endless_message(struct agent_client *c)
{
	static uint8_t frame[WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX];

	wire_header_format(frame, WIRE_EXEC | WIRE_MORE, 9, WIRE_PAYLOAD_MAX);
	for (unsigned int i = 0; i <= WIRE_MESSAGE_MAX / WIRE_PAYLOAD_MAX; i++)
		agent_client_send_raw(c, frame, sizeof(frame));
}

static void send_stdin_beyond_credit(struct agent_client *c)
{
	static char piece[WIRE_PAYLOAD_MAX];
	uint32_t channel = start_reader(c, "sleep 100");

	/* A window, and what the pipe may have taken of it. */
	for (unsigned int i = 0; i <= 1 + WIRE_WINDOW / WIRE_PAYLOAD_MAX; i++)
		agent_client_send(c, WIRE_STDIN, channel, piece, sizeof(piece));
}

static void send_too_much_credit(struct agent_client *c)
{
	uint32_t channel = start_reader(c, "sleep 100");

	agent_client_grant(c, channel, WIRE_FLOW_STDOUT, UINT32_MAX);
}

static void send_kill_of_the_tree_by_another_signal(struct agent_client *c)
{
	uint32_t channel = start_reader(c, "sleep 100");

	agent_client_signal(c, channel, SIGSTOP, WIRE_SCOPE_TREE);
}

static void send_more_data_than_announced(struct agent_client *c)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(4096);

	wire_put_format(&payload, &(struct wire_put){.size = 1, .path = (char *)"x"});
	agent_client_send(c, WIRE_PUT, 9, payload.data, payload.len);
	agent_client_send(c, WIRE_DATA, 9, "xx", 2);
}

static void a_host_that_breaks_the_protocol_is_told_and_left(void **state)
{
	static hostile_fn *const attacks[] = {
		send_overlong,	       send_wrong_direction,
		send_unknown_type,     send_setup_again,
		send_malformed_exec,   send_exec_on_channel_0,
		send_interrupted_message, send_endless_message,
		send_stdin_beyond_credit, send_too_much_credit,
		send_kill_of_the_tree_by_another_signal, send_more_data_than_announced,
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

static void nothing_is_served_before_setup(void **state)
{
	struct agent_client c;

	(void)state;
	agent_client_start_bare(&c);
	agent_client_put(&c, "x", 0644, "x", 1);
	assert_true(agent_client_ends_with(&c, SBX_E_PROTOCOL));
	agent_client_stop(&c);
}

/* xorshift64: the same bytes in every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void random_bytes_end_the_connection_and_nothing_else(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct agent_client c;
		uint64_t noise[512];

		for (size_t i = 0; i < 512; i++)
			noise[i] = next_random(&seed);
		/* A length that is possible, so that the rest is looked at too. */
		((uint8_t *)noise)[1] = (uint8_t)(round & 3);
		((uint8_t *)noise)[2] = ((uint8_t *)noise)[3] = 0;
		agent_client_start(&c);
		agent_client_send_raw(&c, noise, sizeof(noise));
		shutdown(c.conn.fd, SHUT_WR);
		agent_client_ends_with(&c, SBX_E_PROTOCOL);
		agent_client_stop(&c);
	}
}

#define WITH_AGENT(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_AGENT(a_program_runs_and_its_exit_code_is_told),
		WITH_AGENT(a_signal_that_ended_a_program_is_told),
		WITH_AGENT(a_program_that_is_not_there_is_named),
		WITH_AGENT(a_file_that_is_no_program_is_refused_with_the_reason),
		WITH_AGENT(a_script_without_an_interpreter_line_runs_in_the_shell),
		WITH_AGENT(an_argument_too_long_for_the_kernel_is_said_clearly),
		WITH_AGENT(many_arguments_arrive_though_they_fill_many_frames),
		WITH_AGENT(a_program_starts_clean),
		WITH_AGENT(one_program_runs_at_a_time),
		WITH_AGENT(a_working_folder_may_be_named),
		WITH_AGENT(a_timeout_kills_the_whole_process_tree),
		WITH_AGENT(what_a_program_leaves_behind_is_killed),
		WITH_AGENT(nothing_outlives_a_background_program_that_killed_its_supervisor),
		WITH_AGENT(processes_that_had_to_be_killed_are_counted),
		cmocka_unit_test(the_end_of_the_stream_kills_the_whole_process_tree),
		WITH_AGENT(a_signal_reaches_the_program_and_its_children),
		WITH_AGENT(a_kill_ends_the_tree_and_says_so),
		WITH_AGENT(the_cpu_limit_ends_a_program_that_spins),
		WITH_AGENT(a_program_without_streams_runs_on),
		WITH_AGENT(of_20_mb_of_output_head_and_tail_are_kept),
		WITH_AGENT(a_program_is_not_slowed_by_a_host_that_takes_no_output),
		WITH_AGENT(without_credit_no_output_is_sent),
		WITH_AGENT(programs_that_write_much_wait_for_a_host_that_does_not_listen),
		WITH_AGENT(a_program_ends_though_another_one_writes_to_its_output),
		WITH_AGENT(forwarded_output_of_two_streams_is_whole),
		WITH_AGENT(the_name_dev_stdout_works),
		WITH_AGENT(stdin_arrives_whole_and_ends),
		WITH_AGENT(a_program_that_closed_its_stdin_loses_it_and_nothing_stops),
		WITH_AGENT(without_stdin_a_program_reads_its_end),
		WITH_AGENT(a_file_that_was_put_is_there_with_its_mode),
		WITH_AGENT(a_large_file_comes_back_as_it_is),
		WITH_AGENT(a_file_larger_than_the_host_takes_is_refused),
		WITH_AGENT(only_regular_files_are_given),
		WITH_AGENT(a_planted_link_is_replaced_and_not_followed),
		WITH_AGENT(a_file_that_cannot_be_put_is_named_and_nothing_stops),
		WITH_AGENT(a_folder_is_listed_up_to_the_limit),
		cmocka_unit_test(all_of_a_run_may_be_sent_at_once),
		WITH_AGENT(late_messages_of_a_channel_that_is_over_are_ignored),
		cmocka_unit_test(a_host_that_breaks_the_protocol_is_told_and_left),
		cmocka_unit_test(nothing_is_served_before_setup),
		cmocka_unit_test(random_bytes_end_the_connection_and_nothing_else),
	};

	return cmocka_run_group_tests_name("agent", tests, NULL, NULL);
}
