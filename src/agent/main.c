/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include "agent/send.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOODBYE_MS 1000

/* No pipe of a program may get one of the numbers that are its own 0, 1, 2. */
static bool fill_standard_fds(void)
{
	for (int fd = 0; fd < AGENT_STREAM_FD; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return false;
	}
	return true;
}

/*
 * Where an engine starts us, the stream comes as stdin and stdout. They move to the places that the
 * stream has elsewhere, and what we or others may write by mistake goes nowhere.
 */
static bool move_stdio(void)
{
	int null;

	if (dup2(STDIN_FILENO, AGENT_STREAM_FD) < 0 || dup2(STDOUT_FILENO, AGENT_STREAM_FD + 1) < 0)
		return false;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < AGENT_STREAM_FD; fd++) {
		if (null < 0)
			close(fd);
		else
			dup2(null, fd);
	}
	if (null > AGENT_STREAM_FD + 1)
		close(null);
	return sbx_set_nonblock(AGENT_STREAM_FD + 1, true) == 0;
}

/*
 * Our own descriptors end with every exec; nobody inside may look into us. Whoever started us may
 * have ignored signals: that would be inherited by programs, and SIGCHLD would hide their end. And
 * Ctrl-C in its terminal is for it to act on: the kernel sends that to a whole process group, and a
 * supervisor that died of it would take its program along.
 */
static int guard_self(void)
{
	if (!fill_standard_fds())
		return -errno;
	for (int fd = AGENT_STREAM_FD; fd <= AGENT_STREAM_FD + 1; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		signal(signo, signo == SIGPIPE ? SIG_IGN : SIG_DFL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	agent_tree_adopt();
	setsid();
	return sbx_set_nonblock(AGENT_STREAM_FD, true);
}

static int open_signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void say_hello(struct agent *a)
{
	struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_hello m = {
		.version = WIRE_VERSION,
		.pid = (uint32_t)getpid(),
		.uid = geteuid(),
	};

	wire_hello_format(&payload, &m);
	send_bytes(&a->conn, WIRE_HELLO, 0, payload.data, payload.len);
	sbx_buf_done(&payload);
}

static int read_frames(struct agent *a, struct sbx_error *err)
{
	struct wire_frame frame;
	int r = sbx_conn_fill(&a->conn, err);

	while (r == 0 && (r = sbx_conn_next(&a->conn, &frame, err)) > 0)
		r = agent_dispatch(a, &frame, err);
	return r;
}

static void read_signals(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signal_fd, &info, sizeof(info)) > 0)
		;
	programs_reap(&a->programs);
}

/* Of two deadlines, of which 0 is none. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static int wait_ms(const struct agent *a)
{
	uint64_t deadline_ns = earlier(programs_deadline_ns(&a->programs),
				       proxy_deadline_ns(&a->proxy));

	if (transfer_wants_turn(&a->transfer, &a->conn))
		return 0;
	deadline_ns = earlier(deadline_ns, a->life_ends_ns);
	if (programs_run_in_front(&a->programs))
		deadline_ns = earlier(deadline_ns, usage_deadline_ns(&a->usage));
	return sbx_poll_ms(deadline_ns);
}

static int turn(struct agent *a, struct sbx_error *err)
{
	struct pollfd fds[3 + PROGRAMS_POLLFDS + PROXY_POLLFDS] = {
		sbx_conn_poll(&a->conn),
		{.fd = a->signal_fd, .events = POLLIN},
		sbx_conn_poll_out(&a->conn),
	};
	size_t count = 3 + programs_poll(&a->programs, &a->conn, fds + 3);
	struct pollfd *proxy_fds = fds + count;
	int r = 0;

	count += proxy_poll(&a->proxy, &a->conn, proxy_fds);
	if (poll(fds, count, wait_ms(a)) < 0)
		return errno == EINTR ? 0 : sbx_fail_errno(err, errno, "cannot wait");
	if (fds[1].revents)
		read_signals(a);
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		r = read_frames(a, err);
	if (r < 0)
		return r;
	if (programs_run_in_front(&a->programs))
		usage_tell(&a->usage, &a->conn, false);
	programs_pump(&a->programs, &a->conn);
	proxy_pump(&a->proxy, &a->conn, proxy_fds);
	transfer_pump(&a->transfer, &a->conn);
	return sbx_conn_flush(&a->conn, err);
}

static bool is_over(const struct agent *a)
{
	return a->conn.eof || (a->life_ends_ns != 0 && sbx_now_ns() >= a->life_ends_ns);
}

/*
 * Tell the host why, behind all that is on its way to it. It may be reading that still; it is not
 * waited for longer than GOODBYE_MS.
 */
static void say_goodbye(struct agent *a, const struct sbx_error *err)
{
	uint64_t deadline_ns = sbx_now_ns() + GOODBYE_MS * 1000000ull;
	struct sbx_error ignored;

	send_failure(&a->conn, 0, err);
	while (sbx_conn_flush(&a->conn, &ignored) == 0 && sbx_conn_has_output(&a->conn)) {
		int out_fd = a->conn.out_fd < 0 ? a->conn.fd : a->conn.out_fd;
		struct pollfd fd = {.fd = out_fd, .events = POLLOUT};

		if (poll(&fd, 1, sbx_poll_ms(deadline_ns)) == 0 || sbx_now_ns() >= deadline_ns)
			return;
	}
}

static void open_stream(struct agent *a, bool in_pipes)
{
	if (in_pipes)
		sbx_conn_init_pipes(&a->conn, AGENT_STREAM_FD, AGENT_STREAM_FD + 1, 'h');
	else
		sbx_conn_init(&a->conn, AGENT_STREAM_FD, 'h');
}

/*
 * Folders in memory that are for programs, until they are the user's own (see dispatch.c). A runtime gives a tmpfs the mode of the folder that it hides,
 * whatever mode was asked for.
 */
static void open_folders(char **paths)
{
	for (; *paths != NULL; paths++)
		chmod(*paths, 01777);
}

/*
 * With --stdio the stream is stdin and stdout, else descriptor 3. Behind it are --guest (see guest.h), or
 * folders to open.
 */
int main(int argc, char **argv)
{
	static struct agent agent;
	bool in_pipes = argc >= 2 && strcmp(argv[1], "--stdio") == 0;
	struct sbx_error err;
	int r;

	if (argc == 3 && strcmp(argv[2], "--guest") == 0)
		guest_arrive(&agent.guest, argv[0]);
	else if (in_pipes)
		open_folders((agent.folders = argv + 2));
	agent.in_container = in_pipes && !agent.guest.is_guest;
	if ((in_pipes && !move_stdio()) || guard_self() < 0)
		return 1;
	open_stream(&agent, in_pipes);
	agent.joined = (struct sbx_buf)SBX_BUF_INIT(WIRE_MESSAGE_MAX);
	agent.fence.landlock_fd = -1;
	usage_init(&agent.usage);
	if (in_pipes)
		usage_open(&agent.usage, agent.guest.is_guest);
	programs_init(&agent.programs, &agent.usage);
	proxy_init(&agent.proxy);
	agent.signal_fd = open_signal_fd();
	if (agent.signal_fd < 0)
		return 1;
	say_hello(&agent);
	r = sbx_conn_flush(&agent.conn, &err);
	while (r == 0 && !is_over(&agent))
		r = turn(&agent, &err);
	transfer_abort(&agent.transfer);
	proxy_done(&agent.proxy);
	programs_end(&agent.programs);
	guest_leave(&agent.guest, &agent.fence);
	if (r < 0)
		say_goodbye(&agent, &err);
	return 0;
}
