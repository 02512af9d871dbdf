/* SPDX-License-Identifier: MIT */
#include "support/agent_client.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define IN_MOST	    (256u << 10) /* bytes kept while writing */
#define DEADLINE_MS 60000 /* of everything: only a broken agent comes near it */

static char *const environment[] = {(char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

/* ---- start and end ---- */

static _Noreturn void child_main(int fd)
{
	const char *agent = getenv("SBX_TEST_AGENT");

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (fd == 3)
		fcntl(fd, F_SETFD, 0);
	else if (dup2(fd, 3) < 0)
		_exit(127);
	execl(agent, agent, (char *)NULL);
	_exit(127);
}

void agent_client_start_bare(struct agent_client *c)
{
	struct wire_frame frame;
	struct wire_hello hello;
	int fds[2];

	assert_non_null(getenv("SBX_TEST_AGENT"));
	*c = (struct agent_client){.folder = "/tmp/sbx-agent-XXXXXX"};
	assert_non_null(mkdtemp(c->folder));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0)
		child_main(fds[1]);
	close(fds[1]);
	sbx_conn_init(&c->conn, fds[0], 'a');

	assert_true(agent_client_next(c, &frame));
	assert_int_equal(frame.type, WIRE_HELLO);
	assert_true(wire_hello_parse(frame.payload, frame.len, &hello));
	assert_int_equal(hello.version, WIRE_VERSION);
	assert_int_equal(hello.pid, c->pid);
}

void agent_client_start(struct agent_client *c)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(65536);
	struct wire_setup setup = {.uid = geteuid(), .gid = getegid()};
	struct wire_frame frame;
	struct wire_ready ready;

	agent_client_start_bare(c);
	setup.workdir = c->folder;
	wire_setup_format(&payload, &setup);
	agent_client_send(c, WIRE_SETUP, 0, payload.data, payload.len);
	assert_true(agent_client_next(c, &frame));
	assert_int_equal(frame.type, WIRE_READY);
	assert_true(wire_ready_parse(frame.payload, frame.len, &ready));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void agent_client_stop(struct agent_client *c)
{
	int status = -1;

	close(c->conn.fd);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_true(WIFEXITED(status));
	sbx_conn_done(&c->conn);
	assert_int_equal(nftw(c->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0);
}

/* ---- frames ---- */

/* Wait for events on the stream. */
static short wait_for(struct agent_client *c, short events)
{
	struct pollfd fd = {.fd = c->conn.fd, .events = events};

	assert_int_equal(poll(&fd, 1, DEADLINE_MS), 1);
	return fd.revents;
}

/* Write all; what the agent sends meanwhile is kept, so that neither waits for the other. */
static void flush(struct agent_client *c)
{
	struct sbx_error err;

	while (sbx_conn_has_output(&c->conn)) {
		bool has_room = c->conn.in.len - c->conn.in_at < IN_MOST;

		if (wait_for(c, has_room ? POLLIN | POLLOUT : POLLOUT) & POLLIN)
			assert_int_equal(sbx_conn_fill(&c->conn, &err), 0);
		assert_int_equal(sbx_conn_flush(&c->conn, &err), 0);
	}
	/* An agent that does not listen any more may have said why: the reader finds the end. */
	c->conn.out.len = c->conn.out_at = 0;
	c->conn.eof = false;
}

void agent_client_send(struct agent_client *c, enum wire_type type, uint32_t channel,
		       const void *payload, size_t len)
{
	struct sbx_error err;

	assert_int_equal(sbx_conn_queue(&c->conn, type, channel, payload, len, &err), 0);
	flush(c);
}

void agent_client_send_raw(struct agent_client *c, const void *data, size_t len)
{
	sbx_buf_append(&c->conn.out, data, len);
	flush(c);
}

bool agent_client_next(struct agent_client *c, struct wire_frame *ret)
{
	struct sbx_error err;
	int r;

	while ((r = sbx_conn_next(&c->conn, ret, &err)) == 0) {
		if (c->conn.eof)
			return false;
		wait_for(c, POLLIN);
		assert_int_equal(sbx_conn_fill(&c->conn, &err), 0);
	}
	assert_true(r > 0);
	return true;
}

bool agent_client_ends_with(struct agent_client *c, enum sbx_code code)
{
	struct wire_frame frame;
	bool told = false;

	while (agent_client_next(c, &frame)) {
		struct wire_error m;

		if (frame.channel != 0 || frame.type != WIRE_ERROR)
			continue;
		assert_true(wire_error_parse(frame.payload, frame.len, &m));
		told = m.code == code;
		wire_error_done(&m);
	}
	return told;
}

/* ---- messages ---- */

void agent_client_grant(struct agent_client *c, uint32_t channel, enum wire_flow flow, size_t n)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_credit m = {.flow = (uint8_t)flow, .bytes = (uint32_t)n};

	wire_credit_format(&payload, &m);
	agent_client_send(c, WIRE_CREDIT, channel, payload.data, payload.len);
}

void agent_client_signal(struct agent_client *c, uint32_t channel, int signo,
			 enum wire_scope scope)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_signal m = {.signo = (uint32_t)signo, .scope = (uint8_t)scope};

	wire_signal_format(&payload, &m);
	agent_client_send(c, WIRE_SIGNAL, channel, payload.data, payload.len);
}

uint32_t agent_client_exec(struct agent_client *c, const struct wire_exec *exec)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_MESSAGE_MAX);

	wire_exec_format(&payload, exec);
	agent_client_send(c, WIRE_EXEC, ++c->channel, payload.data, payload.len);
	return c->channel;
}

/* For files within the first window. */
uint32_t agent_client_put(struct agent_client *c, const char *path, uint32_t mode,
			  const void *data, size_t len)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct wire_put put = {.mode = mode, .size = len, .path = (char *)path};
	const char *at = data;
	uint32_t channel = ++c->channel;

	assert_true(len <= WIRE_WINDOW);
	wire_put_format(&payload, &put);
	agent_client_send(c, WIRE_PUT, channel, payload.data, payload.len);
	while (len > 0) {
		size_t n = len < WIRE_PAYLOAD_MAX ? len : WIRE_PAYLOAD_MAX;

		agent_client_send(c, WIRE_DATA, channel, at, n);
		at += n;
		len -= n;
	}
	agent_client_send(c, WIRE_CLOSE, channel, NULL, 0);
	return channel;
}

/* ---- runs ---- */

void agent_run_init(struct agent_run *run, uint32_t channel)
{
	*run = (struct agent_run){
		.channel = channel,
		.out = {SBX_BUF_INIT(64u << 20), SBX_BUF_INIT(64u << 20)},
		.names = SBX_BUF_INIT(1u << 20),
		.stdin_credit = WIRE_WINDOW,
	};
	for (int i = 0; i < 2; i++)
		sbx_buf_puts(&run->out[i], "");
	sbx_buf_puts(&run->names, "");
}

void agent_run_done(struct agent_run *run)
{
	for (int i = 0; i < 2; i++)
		sbx_buf_done(&run->out[i]);
	sbx_buf_done(&run->names);
}

static void take_bytes(struct agent_client *c, struct agent_run *run,
		       const struct wire_frame *frame, bool grant)
{
	enum wire_flow flow = frame->type == WIRE_DATA	 ? WIRE_FLOW_DATA
			      : frame->type == WIRE_STDERR ? WIRE_FLOW_STDERR
							   : WIRE_FLOW_STDOUT;

	sbx_buf_append(&run->out[flow == WIRE_FLOW_STDERR], frame->payload, frame->len);
	assert_false(run->out[flow == WIRE_FLOW_STDERR].failed);
	if (grant)
		agent_client_grant(c, run->channel, flow, frame->len);
}

static void take_entry(struct agent_run *run, const struct wire_frame *frame)
{
	struct wire_entry m;

	assert_true(wire_entry_parse(frame->payload, frame->len, &m));
	sbx_buf_printf(&run->names, "%c %s\n", m.kind, m.name);
	wire_entry_done(&m);
}

static void take_error(struct agent_run *run, const struct wire_frame *frame)
{
	struct wire_error m;

	assert_true(wire_error_parse(frame->payload, frame->len, &m));
	run->failed = true;
	run->code = m.code;
	snprintf(run->text, sizeof(run->text), "%s", m.text);
	wire_error_done(&m);
}

static void take_credit(struct agent_run *run, const struct wire_frame *frame)
{
	struct wire_credit m;

	assert_true(wire_credit_parse(frame->payload, frame->len, &m));
	if (m.flow != WIRE_FLOW_STDIN)
		return;
	run->stdin_credit += m.bytes;
	assert_true(run->stdin_credit <= WIRE_WINDOW);
}

bool agent_run_take(struct agent_client *c, struct agent_run *run, bool grant)
{
	struct wire_frame frame;

	assert_true(agent_client_next(c, &frame));
	if (frame.channel != run->channel)
		return false;
	if (frame.type == WIRE_STDOUT || frame.type == WIRE_STDERR || frame.type == WIRE_DATA)
		take_bytes(c, run, &frame, grant);
	if (frame.type == WIRE_ENTRY)
		take_entry(run, &frame);
	if (frame.type == WIRE_CREDIT)
		take_credit(run, &frame);
	if (frame.type == WIRE_ERROR)
		take_error(run, &frame);
	if (frame.type == WIRE_EXIT)
		assert_true(wire_exit_parse(frame.payload, frame.len, &run->exit));
	return frame.type == WIRE_ERROR || frame.type == WIRE_EXIT || frame.type == WIRE_CLOSE;
}

void agent_client_finish(struct agent_client *c, uint32_t channel, struct agent_run *ret)
{
	agent_run_init(ret, channel);
	while (!agent_run_take(c, ret, true))
		;
}

struct wire_exec agent_client_line(char *argv[4], const char *line)
{
	argv[0] = (char *)"sh";
	argv[1] = (char *)"-c";
	argv[2] = (char *)line;
	argv[3] = NULL;
	return (struct wire_exec){
		.flags = WIRE_EXEC_FORWARD,
		.cwd = (char *)"",
		.argv = argv,
		.env = (char **)environment,
	};
}

void agent_client_shell(struct agent_client *c, const char *line, struct agent_run *ret)
{
	char *argv[4];
	struct wire_exec exec = agent_client_line(argv, line);

	agent_client_finish(c, agent_client_exec(c, &exec), ret);
	if (ret->failed)
		fail_msg("'%s' did not start: %s", line, ret->text);
}
