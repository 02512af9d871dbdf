/* SPDX-License-Identifier: MIT */
/* The agent alone, as a plain child at the other end of a socket pair: files, and hostile frames. */
#include "wire/conn.h"
#include "wire/message.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 10000

struct agent {
	pid_t pid;
	struct sbx_conn conn;
	char workdir[32];
};

static struct sbx_error err;

static void queue(struct agent *a, enum wire_type type, uint32_t channel, const void *data,
		  size_t len)
{
	assert_int_equal(sbx_conn_queue(&a->conn, type, channel, data, len, &err), 0);
	assert_int_equal(sbx_conn_flush(&a->conn, &err), 0);
}

/* The next frame, or false at the end of the stream. */
static bool next_frame(struct agent *a, struct wire_frame *ret)
{
	int r;

	while ((r = sbx_conn_next(&a->conn, ret, &err)) == 0 && !a->conn.eof) {
		struct pollfd fd = sbx_conn_poll(&a->conn);

		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		assert_int_equal(sbx_conn_fill(&a->conn, &err), 0);
	}
	assert_true(r >= 0);
	return r > 0;
}

static struct wire_frame expect(struct agent *a, enum wire_type type, uint32_t channel)
{
	struct wire_frame f;

	assert_true(next_frame(a, &f));
	assert_string_equal(wire_type_name(f.type), wire_type_name(type));
	assert_int_equal(f.channel, channel);
	return f;
}

static int start(void **state)
{
	const char *program = getenv("SBX_TEST_AGENT");
	struct agent *a = calloc(1, sizeof(*a));
	int fds[2];

	if (a == NULL || program == NULL)
		return -1;
	strcpy(a->workdir, "/tmp/sbx-agent-XXXXXX");
	if (mkdtemp(a->workdir) == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	a->pid = fork();
	if (a->pid == 0) {
		dup2(fds[1], 3);
		execl(program, program, NULL);
		_exit(99);
	}
	close(fds[1]);
	sbx_conn_init(&a->conn, fds[0], 'a');
	*state = a;
	return 0;
}

/* The end of the stream ends the agent. */
static int stop(void **state)
{
	struct agent *a = *state;
	int status;

	close(a->conn.fd);
	if (waitpid(a->pid, &status, 0) != a->pid || !WIFEXITED(status))
		return -1;
	sbx_conn_done(&a->conn);
	free(a);
	return 0;
}

static void set_up(struct agent *a)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);
	struct wire_setup m = {.workdir = a->workdir, .uid = getuid(), .gid = getgid()};

	wire_setup_format(&b, &m);
	expect(a, WIRE_HELLO, 0);
	queue(a, WIRE_SETUP, 0, b.data, b.len);
	expect(a, WIRE_READY, 0);
	sbx_buf_done(&b);
}

static void ask_path(struct agent *a, enum wire_type type, uint32_t channel, const char *path)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);

	wire_path_format(&b, &(struct wire_path){.most = 1000, .path = (char *)path});
	queue(a, type, channel, b.data, b.len);
	sbx_buf_done(&b);
}

static void put(struct agent *a, uint32_t channel, const char *path, const char *text)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);

	wire_put_format(&b, &(struct wire_put){
				    .mode = 0640, .size = strlen(text), .path = (char *)path});
	queue(a, WIRE_PUT, channel, b.data, b.len);
	if (text[0] != '\0')
		queue(a, WIRE_DATA, channel, text, strlen(text));
	queue(a, WIRE_CLOSE, channel, NULL, 0);
	sbx_buf_done(&b);
}

static void remove_files(struct agent *a)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/sub/f", a->workdir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/sub", a->workdir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/link", a->workdir);
	unlink(path);
	assert_int_equal(rmdir(a->workdir), 0);
}

static void a_file_goes_in_and_comes_out(void **state)
{
	struct agent *a = *state;
	struct wire_entry e;
	struct wire_frame f;

	set_up(a);
	put(a, 1, "sub/f", "hello");
	expect(a, WIRE_CLOSE, 1);

	ask_path(a, WIRE_GET, 2, "sub/f");
	f = expect(a, WIRE_ENTRY, 2);
	assert_true(wire_entry_parse(f.payload, f.len, &e));
	assert_int_equal(e.kind, WIRE_FILE);
	assert_int_equal(e.mode, 0640);
	assert_int_equal(e.size, 5);
	wire_entry_done(&e);
	f = expect(a, WIRE_DATA, 2);
	assert_int_equal(f.len, 5);
	assert_memory_equal(f.payload, "hello", 5);
	expect(a, WIRE_CLOSE, 2);

	ask_path(a, WIRE_LIST, 3, ".");
	f = expect(a, WIRE_ENTRY, 3);
	assert_true(wire_entry_parse(f.payload, f.len, &e));
	assert_int_equal(e.kind, WIRE_FOLDER);
	assert_string_equal(e.name, "sub");
	wire_entry_done(&e);
	expect(a, WIRE_CLOSE, 3);
	remove_files(a);
}

static void links_devices_and_missing_files_do_not_come_out(void **state)
{
	const char *const paths[] = {"link", "no/such", "/dev/zero", "/proc/self/mem", "."};
	struct agent *a = *state;
	char link[64];

	set_up(a);
	snprintf(link, sizeof(link), "%s/link", a->workdir);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ask_path(a, WIRE_GET, 10 + i, paths[i]);
		expect(a, WIRE_ERROR, 10 + i);
	}
	remove_files(a);
}

static void a_planted_link_is_replaced_and_not_followed(void **state)
{
	struct agent *a = *state;
	char link[64], target[64] = "/tmp/sbx-target-XXXXXX";
	struct stat st;

	set_up(a);
	close(mkstemp(target));
	snprintf(link, sizeof(link), "%s/link", a->workdir);
	assert_int_equal(symlink(target, link), 0);
	put(a, 1, "link", "written");
	expect(a, WIRE_CLOSE, 1);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(target);
	remove_files(a);
}

/* Each of these ends the connection: ERROR on channel 0, then the end of the stream. */
static void expect_goodbye(struct agent *a)
{
	struct wire_frame f;

	while (next_frame(a, &f))
		assert_true(f.type == WIRE_ERROR || f.type == WIRE_HELLO);
	/* Nothing half written is left in it. */
	assert_int_equal(rmdir(a->workdir), 0);
}

static void work_before_setup_ends_the_connection(void **state)
{
	struct agent *a = *state;

	ask_path(a, WIRE_GET, 1, "x");
	expect_goodbye(a);
}

static void garbage_ends_the_connection(void **state)
{
	struct agent *a = *state;

	assert_int_equal(send(a->conn.fd, "\xff\xff\xff\xff garbage", 12, MSG_NOSIGNAL), 12);
	expect_goodbye(a);
}

static void more_data_than_was_promised_ends_the_connection(void **state)
{
	struct agent *a = *state;
	struct sbx_buf b = SBX_BUF_INIT(4096);

	set_up(a);
	wire_put_format(&b, &(struct wire_put){.mode = 0600, .size = 1, .path = (char *)"f"});
	queue(a, WIRE_PUT, 1, b.data, b.len);
	queue(a, WIRE_DATA, 1, "too much", 8);
	sbx_buf_done(&b);
	expect_goodbye(a);
}

#define agent_test(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(a_file_goes_in_and_comes_out),
		agent_test(links_devices_and_missing_files_do_not_come_out),
		agent_test(a_planted_link_is_replaced_and_not_followed),
		agent_test(work_before_setup_ends_the_connection),
		agent_test(garbage_ends_the_connection),
		agent_test(more_data_than_was_promised_ends_the_connection),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("agent", tests, NULL, NULL);
}
