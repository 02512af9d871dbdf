/* SPDX-License-Identifier: MIT */
/* The process that holds sessions: who may reach it, when it comes and goes, what it survives. */
#include "cli/post.h"
#include "cli/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un address_of(const struct cli_state *t)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char folder[80];

	runtime_folder(t, folder, sizeof(folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/holder.sock", folder);
	return address;
}

/* A connection to the holder, or -1. */
static int reach_at(const struct sockaddr_un *address)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(sock >= 0);
	if (connect(sock, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return sock;
	close(sock);
	return -1;
}

static int reach(const struct cli_state *t)
{
	struct sockaddr_un address = address_of(t);

	return reach_at(&address);
}

static pid_t holder_pid(const struct cli_state *t)
{
	int sock = reach(t);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	assert_true(sock >= 0);
	assert_int_equal(getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	close(sock);
	return peer.pid;
}

/* The holder has its lock until it is gone. */
static void await_end(struct cli_state *t)
{
	assert_status(shell(t, "flock -w 60 $RUNTIME/holder.lock true"), 0);
}

static void it_has_nothing_of_who_started_it(void **state)
{
	struct cli_state *t = *state;
	char script[512];

	assert_status(shell(t, "exec 7< /etc/passwd; llm-sandbox session start a"), 0);
	snprintf(script, sizeof(script),
		 "cd /proc/%d; readlink cwd; ls -l fd | grep -c passwd; readlink fd/0 fd/1 fd/2; "
		 "ps -o tty= -p %d; test $(ps -o sid= -p %d) != $(ps -o sid= -p $$) && echo apart",
		 holder_pid(t), holder_pid(t), holder_pid(t));
	assert_script(t, script, "/\n0\n/dev/null\n/dev/null\n/dev/null\n?\napart\n");
}

static void starts_at_once_start_one(void **state)
{
	assert_script(
		*state,
		"for i in 1 2 3 4 5 6; do llm-sandbox session start s$i & done | sort | tr '\\n' ' "
		"'; "
		"wait; llm-sandbox session list --json | grep -c '\"name\"'\n"
		"for i in 1 2 3 4; do llm-sandbox session start same 2>/dev/null & done; wait\n",
		"s1 s2 s3 s4 s5 s6 6\nsame\n");
}

static void without_sessions_it_ends(void **state)
{
	struct cli_state *t = *state;

	assert_status(shell(t, "llm-sandbox session start a --holder-idle 100ms && "
			       "llm-sandbox session stop a"),
		      0);
	await_end(t);
	assert_int_equal(reach(t), -1);
	assert_status(
		shell(t, "llm-sandbox session start a --holder-idle 100ms --idle-timeout 100ms"),
		0);
	await_end(t);
	start_sessions(t, "a");
}

static void a_killed_one_takes_its_sessions_along(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	start_sessions(t, "a");
	kill(holder_pid(t), SIGKILL);
	await_end(t);
	r = program(t, (struct call){0}, "exec", "-S", "a", "--", "true", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "no session is open");
	/* Its socket is still there, and in nobody's way. */
	start_sessions(t, "a");
	assert_script(t, "llm-sandbox exec -S a -- echo again", "again\n");
}

static void a_term_signal_ends_it_with_all(void **state)
{
	struct cli_state *t = *state;
	struct sockaddr_un address = address_of(t);

	start_sessions(t, "a b");
	kill(holder_pid(t), SIGTERM);
	await_end(t);
	assert_true(access(address.sun_path, F_OK) < 0);
}

static void a_folder_that_others_can_write_is_refused(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	start_sessions(t, "a");
	assert_status(shell(t, "chmod 777 $RUNTIME"), 0);
	r = program(t, (struct call){0}, "exec", "-S", "a", "--", "true", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "can be written by somebody else");
	assert_status(program(t, (struct call){0}, "session", "start", "b", NULL), 125);
	assert_status(shell(t, "chmod 700 $RUNTIME"), 0);
	if (geteuid() != 0)
		return;
	assert_status(shell(t, "chown 65534 $RUNTIME"), 0);
	assert_status(program(t, (struct call){0}, "exec", "-S", "a", "--", "true", NULL), 125);
	assert_status(shell(t, "chown 0 $RUNTIME"), 0);
}

/* Even where the folder's own lock fails: the other end is looked at. */
static void another_user_is_hung_up_on(void **state)
{
	struct cli_state *t = *state;
	struct sockaddr_un address = address_of(t);
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("only root can be another user\n");
		skip();
	}
	start_sessions(t, "a");
	assert_status(shell(t, "chmod 711 $RUNTIME; chmod 777 $RUNTIME/holder.sock"), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;
		int sock = setuid(65534) == 0 ? reach_at(&address) : -1;

		_exit(sock < 0 ? 2 : recv(sock, &byte, 1, 0) > 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_status(shell(t, "chmod 700 $RUNTIME"), 0);
}

/* ---- what is no client ---- */

/* Send bytes and a descriptor, or none. */
static void send_raw(int sock, const void *data, size_t len, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)data, len};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	assert_true(sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0);
}

/* The first byte of what comes, or 0 for the end; what came with it is in ret. */
static char receive_raw(int sock, char *ret, size_t size)
{
	char control[CMSG_SPACE(4 * sizeof(int))], byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct pollfd pfd = {.fd = sock, .events = POLLIN};
	struct cmsghdr *c;
	int fd;

	assert_int_equal(poll(&pfd, 1, 30000), 1);
	if (recvmsg(sock, &msg, 0) <= 0)
		return 0;
	c = CMSG_FIRSTHDR(&msg);
	assert_non_null(c);
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	memset(ret, 0, size);
	assert_true(pread(fd, ret, size - 1, 0) >= 0);
	close(fd);
	return byte;
}

static char ask_raw(const struct cli_state *t, const char *paper, char *ret, size_t size)
{
	int sock = reach(t), fd = memfd_create("paper", MFD_CLOEXEC);
	char first;

	assert_true(sock >= 0 && fd >= 0);
	assert_int_equal(write(fd, paper, strlen(paper)), strlen(paper));
	send_raw(sock, "R", 1, fd);
	close(fd);
	first = receive_raw(sock, ret, size);
	close(sock);
	return first;
}

static void garbage_is_refused_and_does_no_harm(void **state)
{
	static const char *const papers[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"do\": 1}",
		"{\"do\": \"run\"}",
		"{\"do\": \"nothing\", \"version\": \"0.1.0\", \"protocol\": 2}",
		"{\"do\": \"run\", \"version\": \"0.1.0\", \"protocol\": 2, \"session\": \"a\"}",
		"{\"do\": \"run\", \"version\": \"0.1.0\", \"protocol\": 2, \"session\": \"a\", "
		"\"args\": [], \"env\": [], \"use_stdin\": true, \"language\": \"python\"}",
		"{\"do\": \"exec\", \"version\": \"0.1.0\", \"protocol\": 2, \"session\": \"a\", "
		"\"args\": [], \"env\": []}",
		"{\"do\": \"exec\", \"version\": \"0.1.0\", \"protocol\": 2, \"session\": \"a\", "
		"\"args\": [\"\\u4e2d\"], \"env\": [1]}",
		"{\"do\": \"start\", \"version\": \"0.1.0\", \"protocol\": 2, \"options\": "
		"[[\"x\"]]}",
		"{\"do\": \"start\", \"version\": \"0.1.0\", \"protocol\": 2, \"options\": "
		"[[\"memory\", \"many\", \"here\"]]}",
		"{\"do\": \"put\", \"version\": \"0.1.0\", \"protocol\": 2, \"session\": \"a\"}",
		"{\"do\": \"read\", \"version\": \"0.1.0\", \"protocol\": 2, \"session\": \"a\"}",
	};
	struct cli_state *t = *state;
	char answer[2048];
	int sock;

	start_sessions(t, "a");
	for (size_t i = 0; i < sizeof(papers) / sizeof(papers[0]); i++) {
		assert_int_equal(ask_raw(t, papers[i], answer, sizeof(answer)), 'A');
		assert_contains(answer, "\"error\"");
	}
	sock = reach(t);
	send_raw(sock, "Rxxxx", 5, -1); /* a request without its paper */
	assert_int_equal(receive_raw(sock, answer, sizeof(answer)), 'A');
	close(sock);
	for (int i = 0; i < 4; i++) {
		sock = reach(t);
		send_raw(sock, &"\0xAO"[i], 1, STDIN_FILENO);
		assert_int_equal(receive_raw(sock, answer, sizeof(answer)), 0);
		close(sock);
	}
	/* A pipe instead of a file in memory must not make it wait. */
	sock = reach(t);
	{
		int fds[2];

		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		send_raw(sock, "R", 1, fds[0]);
		assert_int_equal(receive_raw(sock, answer, sizeof(answer)), 'A');
		close(fds[0]);
		close(fds[1]);
	}
	close(sock);
	assert_script(t, "llm-sandbox exec -S a -- echo still there", "still there\n");
}

/* Ctrl-C may come when the holder has answered and reads no more. */
static void an_answer_is_taken_although_the_holder_did_not_read_our_last_words(void **state)
{
	struct post_out kill = {.type = POST_KILL};
	struct post_out answer = {.type = POST_ANSWER, .payload = "x", .len = 1};
	struct post post;
	int socks[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
	assert_int_equal(post_send(socks[0], &kill, -1), 0);
	assert_int_equal(post_send(socks[1], &answer, -1), 0);
	close(socks[1]);
	assert_int_equal(post_receive(socks[0], &post), 1);
	assert_int_equal(post.type, POST_ANSWER);
	post_done(&post);
	assert_int_equal(post_receive(socks[0], &post), 0);
	close(socks[0]);
}

static void another_version_is_told_so(void **state)
{
	struct cli_state *t = *state;
	char answer[2048];

	start_sessions(t, "a");
	ask_raw(t, "{\"do\": \"sessions\", \"version\": \"9.9.9\", \"protocol\": 2}", answer,
		sizeof(answer));
	assert_contains(answer, "this is 9.9.9");
	assert_contains(answer, "session stop --all");
	ask_raw(t, "{\"do\": \"stop\", \"all\": true, \"version\": \"9.9.9\", \"protocol\": 9}",
		answer, sizeof(answer));
	assert_contains(answer, "\"stopped\":[\"a\"]");
}

static void more_guests_than_there_is_room_for_do_no_harm(void **state)
{
	struct cli_state *t = *state;
	int socks[200];

	start_sessions(t, "a");
	for (size_t i = 0; i < 200; i++)
		socks[i] = reach(t);
	for (size_t i = 0; i < 200; i++)
		close(socks[i]);
	assert_script(t, "llm-sandbox exec -S a -- echo still there", "still there\n");
}

int holder_group(void)
{
	const struct CMUnitTest tests[] = {
		session_test(it_has_nothing_of_who_started_it),
		session_test(starts_at_once_start_one),
		session_test(without_sessions_it_ends),
		session_test(a_killed_one_takes_its_sessions_along),
		session_test(a_term_signal_ends_it_with_all),
		session_test(a_folder_that_others_can_write_is_refused),
		session_test(another_user_is_hung_up_on),
		session_test(garbage_is_refused_and_does_no_harm),
		cmocka_unit_test(an_answer_is_taken_although_the_holder_did_not_read_our_last_words),
		session_test(another_version_is_told_so),
		session_test(more_guests_than_there_is_room_for_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
