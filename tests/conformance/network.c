/* SPDX-License-Identifier: MIT */
/*
 * The only way out: what rules let through, and everything that tries to get around them. Where
 * the user may, all of it happens in a network of the test's own (support/world.h), whose peers
 * are watched: a refusal counts only when the peer has seen nothing and the log has it.
 */
#include <llmsandbox/network.h>

#include "base/clock.h"
#include "support/sandbox.h"
#include "support/world.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the programs inside have in common ---- */

/*
 * ask(bytes): to the proxy, and all it answers. tunnel(host, port): the first line of the answer
 * to CONNECT, and the socket. socks(…): the reply's code, and the socket.
 */
static const char prelude[] =
	"import os, socket, struct, sys, threading, time\n"
	"P = int(os.environ['http_proxy'].rsplit(':', 1)[1])\n"
	"def dial(host='127.0.0.1'):\n"
	"    s = socket.create_connection((host, P)); s.settimeout(30); return s\n"
	"def rest(s):\n"
	"    data = b''\n"
	"    try:\n"
	"        while True:\n"
	"            piece = s.recv(65536)\n"
	"            if not piece: return data\n"
	"            data += piece\n"
	"    except ConnectionError: return data\n"
	"def ask(request):\n"
	"    s = dial(); s.sendall(request); return rest(s)\n"
	"def tunnel(host, port, head=b''):\n"
	"    s = dial(); s.sendall(b'CONNECT %s:%d HTTP/1.1\\r\\n%s\\r\\n' % (host.encode(), port, head))\n"
	"    got = b''\n"
	"    while not got.endswith(b'\\r\\n\\r\\n'):\n"
	"        c = s.recv(1)\n"
	"        if not c: break\n"
	"        got += c\n"
	"    return got.split(b'\\r\\n')[0].decode(), s\n"
	"def socks(address, port=0, command=1, methods=b'\\0'):\n"
	"    s = dial(); s.sendall(bytes([5, len(methods)]) + methods)\n"
	"    method = s.recv(2)\n"
	"    if method == b'\\5\\2': s.sendall(b'\\1\\4user\\4pass'); s.recv(2)\n"
	"    elif method != b'\\5\\0': return method[1], s\n"
	"    s.sendall(bytes([5, command, 0]) + address + struct.pack('>H', port))\n"
	"    answer = s.recv(10)\n"
	"    return (answer[1] if len(answer) > 1 else -1), s\n"
	"def v4(text): return b'\\1' + socket.inet_aton(text)\n"
	"def v6(text): return b'\\4' + socket.inet_pton(socket.AF_INET6, text)\n"
	"def name(text): return b'\\3' + bytes([len(text)]) + text.encode('latin-1')\n";

/* Run Python inside, behind the prelude. */
static const struct sbx_result *run(struct test_sandbox *t, const char *code)
{
	size_t size = sizeof(prelude) + strlen(code);
	char *whole = malloc(size);
	const struct sbx_result *r;

	assert_non_null(whole);
	snprintf(whole, size, "%s%s", prelude, code);
	r = test_run(t, "python", whole);
	free(whole);
	if (r->exit_code != 0)
		print_error("%s", r->errout.data);
	return r;
}

static void assert_output(const struct sbx_result *r, const char *text)
{
	if (strcmp(r->out.data, text) != 0)
		print_error("stdout: %s\nstderr: %s\n", r->out.data, r->errout.data);
	assert_string_equal(r->out.data, text);
}

/* The sandbox goes before its peers. */
static int teardown(void **state)
{
	int r = test_sandbox_teardown(state);

	world_close_peers();
	return r;
}

#define network_test(function) \
	cmocka_unit_test_setup_teardown(function, test_sandbox_setup, teardown)

/* ---- networks ---- */

static struct sbx_network *make(enum sbx_network_mode mode, const char *const *rules)
{
	struct sbx_network *network = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_network_new(mode, &network, &err), 0);
	for (size_t i = 0; rules != NULL && rules[i] != NULL; i++) {
		if (sbx_network_allow(network, rules[i], false, &err) < 0)
			fail_msg("%s", err.msg);
	}
	return network;
}

static void use(struct test_sandbox *t, struct sbx_network *network)
{
	struct sbx_error err;

	assert_int_equal(sbx_spec_set_network(t->spec, network, &err), 0);
	sbx_network_free(network);
}

/* Rules, as words and NULL. */
#define ALLOW(t, ...) \
	use(t, make(SBX_NETWORK_ALLOW, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}))

static void use_limits(struct test_sandbox *t, const struct sbx_network_limits *limits,
		       const char *const *rules)
{
	struct sbx_network *network = make(SBX_NETWORK_ALLOW, rules);

	sbx_network_set_limits(network, limits);
	use(t, network);
}

#define LIMIT(t, rule, ...) \
	use_limits(t, &(struct sbx_network_limits){__VA_ARGS__}, (const char *const[]){rule, NULL})

static const char *rule_of(const struct peer *p)
{
	static char text[32];

	snprintf(text, sizeof(text), "127.0.0.1:%u", peer_port(p));
	return text;
}

/* ---- the log ---- */

static size_t count(const struct sbx_result *r, enum sbx_egress_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r->egress_count; i++)
		n += r->egress[i].verdict == verdict;
	return n;
}

static const struct sbx_egress *find(const struct sbx_result *r, const char *host)
{
	for (size_t i = 0; i < r->egress_count; i++) {
		if (strcmp(r->egress[i].host, host) == 0)
			return &r->egress[i];
	}
	fail_msg("the log has nothing of '%s'", host);
	return NULL;
}

static void assert_logged(const struct sbx_result *r, const char *host,
			  enum sbx_egress_verdict verdict, const char *why)
{
	const struct sbx_egress *a = find(r, host);

	if (a->verdict != verdict || strstr(a->rule, why) == NULL)
		fail_msg("%s is logged as %s: %s", host, sbx_egress_verdict_name(a->verdict), a->rule);
}

static void need_world(void)
{
	if (!world_is_own())
		test_skip_promised("this user cannot make a network namespace");
}

/* ---- what is allowed ---- */

static void a_rule_lets_programs_reach_a_host_in_three_ways(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "port = %u\n"
		 "get = b'GET /hello HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'\n"
		 "print(ask(b'GET http://127.0.0.1:%%d/hello HTTP/1.1\\r\\n\\r\\n' %% port)[-21:])\n"
		 "line, s = tunnel('127.0.0.1', port); s.sendall(get); print(line, rest(s)[-21:])\n"
		 "code, s = socks(v4('127.0.0.1'), port); s.sendall(get); print(code, rest(s)[-21:])\n"
		 "code, s = socks(name('127.0.0.1'), port); s.sendall(get); print(code, rest(s)[-21:])\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "b'hello from 127.0.0.1\\n'\n"
			 "HTTP/1.1 200 Connection established b'hello from 127.0.0.1\\n'\n"
			 "0 b'hello from 127.0.0.1\\n'\n0 b'hello from 127.0.0.1\\n'\n");
	assert_int_equal(count(r, SBX_EGRESS_ALLOWED), 4);
	assert_string_equal(r->egress[0].how, "http");
	assert_string_equal(r->egress[1].how, "connect");
	assert_string_equal(r->egress[2].how, "socks5");
	assert_string_equal(r->egress[1].address, "127.0.0.1");
	assert_string_equal(r->egress[1].rule, rule_of(p));
	assert_int_equal(r->egress[1].sent, 32);
	assert_true(r->egress[1].received > 21);
	assert_string_equal(r->network, "allow");
}

static void names_and_suffixes_are_resolved_outside(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_world();
	peer_open("192.0.2.1", 80);
	peer_open("2001:db8::1", 80);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	world_name("a.below.example", (const char *const[]){"2001:db8::1", NULL});
	ALLOW(t, "public.example", "*.below.example", "hosts-public.example");
	r = run(t, "for h in (b'public.example', b'PUBLIC.example.', b'a.below.example', b'below.example',\n"
		   "          b'hosts-public.example', b'nowhere.below.example'):\n"
		   "    print(ask(b'GET http://%s/hello HTTP/1.1\\r\\n\\r\\n' % h).split(b'\\n')[-2])\n");
	assert_non_null(strstr(r->out.data, "b'hello from 192.0.2.1'\nb'hello from 192.0.2.1'\n"
					    "b'hello from 2001:db8::1'\n"));
	assert_logged(r, "a.below.example", SBX_EGRESS_ALLOWED, "*.below.example");
	assert_logged(r, "below.example", SBX_EGRESS_DENIED, "no rule");
	assert_logged(r, "hosts-public.example", SBX_EGRESS_ALLOWED, "hosts-public.example");
	assert_logged(r, "nowhere.below.example", SBX_EGRESS_FAILED, "does not exist");
}

/* One address of the name has nobody on it. */
static void every_address_of_a_name_is_tried(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_world();
	peer_open("192.0.2.2", 80);
	world_name("two.example", (const char *const[]){"192.0.2.1", "192.0.2.2", "2001:db8::1", NULL});
	ALLOW(t, "two.example");
	r = run(t, "for i in range(4):\n"
		   "    print(ask(b'GET http://two.example/hello HTTP/1.1\\r\\n\\r\\n').split(b'\\n')[-2])\n");
	assert_output(r, "b'hello from 192.0.2.2'\nb'hello from 192.0.2.2'\n"
			 "b'hello from 192.0.2.2'\nb'hello from 192.0.2.2'\n");
	assert_string_equal(find(r, "two.example")->address, "192.0.2.2");
}

static void bytes_go_both_ways_and_each_side_may_end_first(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[512];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "line, s = tunnel('127.0.0.1', %u)\n"
		 "s.sendall(b'GET /late?done HTTP/1.1\\r\\n\\r\\n')\n"
		 "s.sendall(bytes(20 << 20)); s.shutdown(socket.SHUT_WR)\n"
		 "print(rest(s))\n"
		 "line, s = tunnel('127.0.0.1', %u)\n"
		 "s.sendall(b'GET /big?20000000 HTTP/1.1\\r\\n\\r\\n'); print(len(rest(s)) > 20000000)\n",
		 peer_port(p), peer_port(p));
	r = run(t, code);
	assert_output(r, "b'done'\nTrue\n");
	assert_true(r->egress[0].sent > 20 << 20);
	assert_true(r->egress[1].received > 20000000);
}

/* What a program has given to its socket is not lost with the program. */
static void what_was_sent_last_arrives_after_the_programs_end(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	uint64_t deadline_ns = sbx_deadline_ns(20000), sent = 0, total;
	struct sbx_error err;
	char code[256];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "line, s = tunnel('127.0.0.1', %u)\n"
		 "s.sendall(b'GET /late?done HTTP/1.1\\r\\n\\r\\n' + bytes(5 << 20)); os._exit(0)\n",
		 peer_port(p));
	run(t, code);
	while (sent <= 5 << 20 && sbx_now_ns() < deadline_ns) {
		struct sbx_egress *log = NULL;
		size_t count;

		assert_int_equal(sbx_session_egress(t->session, &log, &count, &total, &err), 0);
		assert_int_equal(count, 1);
		sent = log[0].sent;
		free(log);
		sched_yield();
	}
	assert_true(sent > 5 << 20);
}

/* In pieces of every size, so that copied and spliced ones take turns, and with a slow reader. */
static void bytes_arrive_as_they_were_sent(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "import hashlib, random\n"
		 "data = os.urandom(1 << 20) * 30; random.seed(1); same = []\n"
		 "def one():\n"
		 "    line, s = tunnel('127.0.0.1', %u); s.sendall(b'GET /echo HTTP/1.1\\r\\n\\r\\n')\n"
		 "    def send():\n"
		 "        at = 0\n"
		 "        while at < len(data):\n"
		 "            n = random.choice((1, 1000, 65536, 300000)); s.sendall(data[at:at+n]); at += n\n"
		 "        s.shutdown(socket.SHUT_WR)\n"
		 "    threading.Thread(target=send).start()\n"
		 "    h = hashlib.sha256()\n"
		 "    while True:\n"
		 "        piece = s.recv(random.choice((100, 70000, 1 << 20)))\n"
		 "        if not piece: break\n"
		 "        h.update(piece)\n"
		 "    same.append(h.digest() == hashlib.sha256(data).digest())\n"
		 "all = [threading.Thread(target=one) for i in range(3)]\n"
		 "for x in all: x.start()\n"
		 "for x in all: x.join()\n"
		 "print(same)\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "[True, True, True]\n");
	for (size_t i = 0; i < 3; i++) {
		assert_true(r->egress[i].sent > 30 << 20);
		assert_int_equal(r->egress[i].received, 30 << 20);
	}
}

static void sixty_four_connections_work_at_once(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024];

	ALLOW(t, rule_of(p));
	test_set_limit(t, SBX_LIMIT_PROCESSES, 200);
	snprintf(code, sizeof(code),
		 "all = [tunnel('127.0.0.1', %u) for i in range(64)]\n"
		 "assert all[63][0].startswith('HTTP/1.1 200'), all[63][0]\n"
		 "print(tunnel('127.0.0.1', %u)[0])\n"
		 "for line, s in all: s.sendall(b'GET /big?300000 HTTP/1.1\\r\\n\\r\\n')\n"
		 "print(sum(len(rest(s)) > 300000 for line, s in all))\n",
		 peer_port(p), peer_port(p));
	r = run(t, code);
	assert_non_null(strstr(r->out.data, "HTTP/1.1 503 127.0.0.1"));
	assert_non_null(strstr(r->out.data, "64 connections at one time"));
	assert_non_null(strstr(r->out.data, "\n64\n"));
	assert_int_equal(count(r, SBX_EGRESS_ALLOWED), 64);
	assert_int_equal(count(r, SBX_EGRESS_FAILED), 1);
}

/* The stalled one never reads, the other end of another never speaks. */
static void slow_ones_stall_nobody_else(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "port = %u\n"
		 "deaf = [tunnel('127.0.0.1', port)[1] for i in range(8)]\n"
		 "for s in deaf: s.sendall(b'GET /big?100000000 HTTP/1.1\\r\\n\\r\\n')\n"
		 "mute = [tunnel('127.0.0.1', port)[1] for i in range(8)]\n"
		 "for s in mute: s.sendall(b'GET /stall HTTP/1.1\\r\\n\\r\\n')\n"
		 "half = [dial() for i in range(8)]\n"
		 "for s in half: s.sendall(b'GET http://')\n"
		 "for i in range(5):\n"
		 "    line, s = tunnel('127.0.0.1', port)\n"
		 "    s.sendall(b'GET /big?3000000 HTTP/1.1\\r\\n\\r\\n'); print(len(rest(s)) > 3000000)\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "True\nTrue\nTrue\nTrue\nTrue\n");
}

/* ---- what is refused ---- */

static void without_a_network_there_is_nothing(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_run(
		t, "python", "import os; print([v for v in os.environ if 'proxy' in v.lower()])");

	assert_output(r, "[]\n");
	assert_string_equal(r->network, "none");
	assert_int_equal(r->egress_count, 0);
}

static void a_refusal_says_why_and_what_to_do(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	ALLOW(t, "allowed.example", "*.other.example:8443");
	r = run(t, "a = ask(b'GET http://denied.example/ HTTP/1.1\\r\\n\\r\\n').decode()\n"
		   "print(a)\nprint(tunnel('denied.example', 443)[0])\n"
		   "print(tunnel('allowed.example', 25)[0])\n"
		   "print(socks(name('denied.example'), 443)[0])\n");
	assert_non_null(strstr(r->out.data, "HTTP/1.1 403 denied.example:80 is not allowed"));
	assert_non_null(strstr(r->out.data, "no rule allows denied.example port 80"));
	assert_non_null(strstr(r->out.data, "may reach: allowed.example, *.other.example:8443."));
	assert_non_null(strstr(r->out.data, "--allow denied.example\n"));
	assert_non_null(strstr(r->out.data, "the rule 'allowed.example' does not cover port 25"));
	assert_non_null(strstr(r->out.data, "\n2\n"));
	assert_int_equal(count(r, SBX_EGRESS_DENIED), 4);
}

static void every_spelling_of_loopback_is_refused(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p;
	const struct sbx_result *r;

	need_world();
	p = peer_open("127.0.0.1", 80);
	use(t, make(SBX_NETWORK_OPEN, NULL));
	r = run(t,
		"hosts = ['127.0.0.1', '127.1', '127.0.1', '0x7f.1', '0x7f000001', '2130706433', '0177.0.0.1',\n"
		"  '017700000001', '0', '0.0.0.0', '127.0.0.1.', '127.127.127.127', '00000177.1',\n"
		"  '0x0000007f.0.0.1', '0X7F.1', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]',\n"
		"  '[::127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]',\n"
		"  '[2001:0:7f00:1::80ff:fffe]', '[0:0:0:0:0:0:0:1]', '[::1%lo]', '[::1%25lo]', 'localhost',\n"
		"  'LOCALHOST', 'localhost.', '127.0.0.1%2e', '%31%32%37.0.0.1', '[fe80::1]',\n"
		"  '127.0.0.1\\t', '127。0。0。1', '１２７.0.0.1', '256.0.0.1', '127.0.0.1.1', '127.2.3', '0x',\n"
		"  '4294967297', '127..1', '①②⑦.0.0.1', '[::ffff:0:127.0.0.1]', '169.254.169.254']\n"
		"for h in hosts:\n"
		"    h = h.encode()\n"
		"    a = ask(b'GET http://%s/ HTTP/1.1\\r\\n\\r\\n' % h).split(b'\\r\\n')[0]\n"
		"    b = ask(b'CONNECT %s:80 HTTP/1.1\\r\\n\\r\\n' % h).split(b'\\r\\n')[0]\n"
		"    c = socks(b'\\3' + bytes([len(h)]) + h, 80)[0]\n"
		"    bad = [x for x in (a, b) if b' 403 ' not in x and b' 400 ' not in x]\n"
		"    if bad or c != 2: print(h, a, b, c)\n"
		"for a in (v4('127.0.0.1'), v4('0.0.0.0'), v6('::1'), v6('::'), v6('::ffff:127.0.0.1')):\n"
		"    if socks(a, 80)[0] != 2: print('socks', a)\n");
	assert_output(r, "");
	assert_int_equal(peer_visits(p), 0);
	assert_int_equal(r->egress_count, 45 * 3 + 5);
	assert_int_equal(count(r, SBX_EGRESS_DENIED) + count(r, SBX_EGRESS_FAILED), 45 * 3 + 5);
}

static void names_that_lead_inside_are_refused(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *loopback, *private, *metadata;
	const struct sbx_result *r;

	need_world();
	loopback = peer_open("127.0.0.1", 80);
	private = peer_open("10.1.1.1", 80);
	metadata = peer_open("169.254.169.254", 80);
	peer_open("192.0.2.1", 80);
	world_name("loop.example", (const char *const[]){"127.0.0.1", NULL});
	world_name("ten.example", (const char *const[]){"10.1.1.1", NULL});
	world_name("meta.example", (const char *const[]){"169.254.169.254", NULL});
	world_name("mapped.example", (const char *const[]){"::ffff:10.1.1.1", NULL});
	world_name("ula.example", (const char *const[]){"fd00::1", NULL});
	world_name("mixed.example", (const char *const[]){"10.1.1.1", "192.0.2.1", NULL});
	ALLOW(t, "*.example:80", "169.254.0.0/16", "0.0.0.0/0:80");
	r = run(t, "for n in ('loop', 'ten', 'meta', 'mapped', 'ula', 'hosts-private', 'mixed'):\n"
		   "    print(n, ask(b'GET http://%s.example/hello HTTP/1.1\\r\\n\\r\\n' % n.encode())[9:12])\n"
		   "for h in (b'169.254.169.254', b'10.1.1.1'):\n"
		   "    print(ask(b'GET http://%s/hello HTTP/1.1\\r\\n\\r\\n' % h)[9:12])\n");
	assert_output(r, "loop b'403'\nten b'403'\nmeta b'403'\nmapped b'403'\nula b'403'\n"
			 "hosts-private b'403'\nmixed b'200'\nb'403'\nb'403'\n");
	assert_logged(r, "meta.example", SBX_EGRESS_DENIED, "metadata");
	assert_logged(r, "ten.example", SBX_EGRESS_DENIED, "RFC 1918");
	assert_string_equal(find(r, "mixed.example")->address, "192.0.2.1");
	assert_int_equal(peer_visits(loopback) + peer_visits(private) + peer_visits(metadata), 0);
}

static void a_rule_may_let_a_name_be_private(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_network *network;
	struct peer *metadata;
	const struct sbx_result *r;
	struct sbx_error err;

	need_world();
	peer_open("10.1.1.1", 80);
	metadata = peer_open("169.254.169.254", 80);
	world_name("ten.example", (const char *const[]){"10.1.1.1", NULL});
	world_name("meta.example", (const char *const[]){"169.254.169.254", NULL});
	network = make(SBX_NETWORK_ALLOW, (const char *const[]){"10.1.0.0/16", NULL});
	assert_int_equal(sbx_network_allow(network, "ten.example", true, &err), 0);
	assert_int_equal(sbx_network_allow(network, "meta.example", true, &err), 0);
	use(t, network);
	r = run(t, "for h in (b'ten.example', b'10.1.1.1', b'meta.example'):\n"
		   "    print(ask(b'GET http://%s/hello HTTP/1.1\\r\\n\\r\\n' % h)[9:12])\n");
	assert_output(r, "b'200'\nb'200'\nb'403'\n");
	assert_int_equal(peer_visits(metadata), 0);
}

static void rebinding_leads_nowhere(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *good, *bad;
	const struct sbx_result *r;

	need_world();
	good = peer_open("192.0.2.1", 80);
	bad = peer_open("127.0.0.1", 80);
	world_rebind("rebind.example", "192.0.2.1", "127.0.0.1");
	ALLOW(t, "rebind.example");
	r = run(t, "for i in range(3):\n"
		   "    print(ask(b'GET http://rebind.example/hello HTTP/1.1\\r\\n\\r\\n')[9:12])\n");
	assert_output(r, "b'200'\nb'403'\nb'403'\n");
	assert_int_equal(peer_visits(good), 1);
	assert_int_equal(peer_visits(bad), 0);
}

static void a_redirect_to_a_private_address_is_refused(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p, *private;
	const struct sbx_result *r;

	need_world();
	p = peer_open("192.0.2.1", 80);
	private = peer_open("10.1.1.1", 80);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example");
	r = run(t, "import urllib.request, urllib.error\n"
		   "for to in ('10.1.1.1/', '169.254.169.254/latest/', '[::ffff:10.1.1.1]/'):\n"
		   "    try: urllib.request.urlopen('http://public.example/to?http://' + to); print('got it')\n"
		   "    except urllib.error.HTTPError as e: print(e.code)\n");
	assert_output(r, "403\n403\n403\n");
	assert_logged(r, "10.1.1.1", SBX_EGRESS_DENIED, "private");
	assert_int_equal(peer_visits(private), 0);
	assert_int_equal(peer_visits(p), 3);
}

static void mail_is_refused_unless_a_rule_names_its_port(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *mail;
	const struct sbx_result *r;

	need_world();
	mail = peer_open("192.0.2.1", 25);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	use(t, make(SBX_NETWORK_OPEN, NULL));
	r = run(t, "print(tunnel('public.example', 25)[0][9:12], tunnel('192.0.2.1', 25)[0][9:12])\n"
		   "print(socks(v4('192.0.2.1'), 25)[0], tunnel('192.0.2.1', 0)[0][9:12])\n");
	assert_output(r, "403 403\n2 400\n");
	assert_int_equal(count(r, SBX_EGRESS_DENIED), 4);
	assert_int_equal(peer_visits(mail), 0);
}

static void open_means_public_addresses_alone(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *private;
	const struct sbx_result *r;

	need_world();
	peer_open("192.0.2.1", 8081);
	private = peer_open("10.1.1.1", 8081);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	world_name("ten.example", (const char *const[]){"10.1.1.1", NULL});
	use(t, make(SBX_NETWORK_OPEN, NULL));
	r = run(t, "for h in (b'public.example', b'192.0.2.1', b'ten.example', b'10.1.1.1'):\n"
		   "    print(ask(b'GET http://%s:8081/hello HTTP/1.1\\r\\n\\r\\n' % h)[9:12])\n");
	assert_output(r, "b'200'\nb'200'\nb'403'\nb'403'\n");
	assert_int_equal(peer_visits(private), 0);
}

/* ---- tricks of HTTP ---- */

static void requests_that_two_readers_read_differently_are_refused(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[4096];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "u = b'http://127.0.0.1:%u/x'; a = b'127.0.0.1:%u'\n"
		 "bad = [\n"
		 " b'POST ' + u + b' HTTP/1.1\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n',\n"
		 " b'POST ' + u + b' HTTP/1.1\\r\\nContent-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\n',\n"
		 " b'POST ' + u + b' HTTP/1.1\\r\\nContent-Length: +5\\r\\n\\r\\n',\n"
		 " b'POST ' + u + b' HTTP/1.1\\r\\nContent-Length: 5, 5\\r\\n\\r\\n',\n"
		 " b'POST ' + u + b' HTTP/1.1\\r\\nTransfer-Encoding: xchunked\\r\\n\\r\\n',\n"
		 " b'POST ' + u + b' HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\nTransfer-Encoding: identity\\r\\n\\r\\n',\n"
		 " b'POST ' + u + b' HTTP/1.0\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nHost: a\\r\\nHost: b\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nX: a\\r\\n folded\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\n X: a\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nX : a\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nX: a\\nY: b\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nX: a\\rY: b\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nX: a\\0b\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\nX: a\\n\\n',\n"
		 " b'GET ' + u + b'\\r\\n\\r\\n', b'GET  ' + u + b' HTTP/1.1\\r\\n\\r\\n', b'GET ' + u + b' HTTP/2.0\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1 x\\r\\n\\r\\n', b'GET ' + u + b'#f HTTP/1.1\\r\\n\\r\\n',\n"
		 " b'GET http://user@' + a + b'/ HTTP/1.1\\r\\n\\r\\n', b'GET http://u:p@' + a + b'/ HTTP/1.1\\r\\n\\r\\n',\n"
		 " b'GET ftp://' + a + b'/ HTTP/1.1\\r\\n\\r\\n', b'GET https://' + a + b'/ HTTP/1.1\\r\\n\\r\\n',\n"
		 " b'GET / HTTP/1.1\\r\\nHost: ' + a + b'\\r\\n\\r\\n', b'GET http:///x HTTP/1.1\\r\\n\\r\\n',\n"
		 " b'CONNECT ' + a + b' HTTP/1.1\\r\\nContent-Length: 5\\r\\n\\r\\n',\n"
		 " b'CONNECT ' + a + b' HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n',\n"
		 " b'CONNECT 127.0.0.1 HTTP/1.1\\r\\n\\r\\n', b'CONNECT 127.0.0.1:+80 HTTP/1.1\\r\\n\\r\\n',\n"
		 " b'CONNECT user@' + a + b' HTTP/1.1\\r\\n\\r\\n', b'CONNECT 127.0.0.1:99999 HTTP/1.1\\r\\n\\r\\n',\n"
		 " b'GET ' + u + b' HTTP/1.1\\r\\nX: ' + b'y' * 17000 + b'\\r\\n\\r\\n',\n"
		 "]\n"
		 "for b in bad:\n"
		 "    line = ask(b).split(b'\\r\\n')[0]\n"
		 "    if line[9:12] not in (b'400', b'431', b'501'): print(b, line)\n"
		 "print(len(bad))\n",
		 peer_port(p), peer_port(p));
	r = run(t, code);
	assert_output(r, "33\n");
	assert_int_equal(count(r, SBX_EGRESS_DENIED), 33);
	assert_non_null(strstr(r->egress[0].rule, "both a Content-Length and a Transfer-Encoding"));
	assert_int_equal(peer_visits(p), 0);
}

static void the_host_field_is_what_was_judged(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024], head[1024], wanted[512];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "ask(b'GET http://127.0.0.1:%u/hello?a=b HTTP/1.1\\r\\nHost: other.example\\r\\nX: kept\\r\\n'\n"
		 "    b'Proxy-Authorization: secret\\r\\nProxy-Connection: keep-alive\\r\\nTE: trailers\\r\\n'\n"
		 "    b'Connection: keep-alive, X-Hop\\r\\nX-Hop: gone\\r\\nUpgrade: h2c\\r\\n\\r\\n')\n",
		 peer_port(p));
	r = run(t, code);
	assert_int_equal(r->exit_code, 0);
	snprintf(wanted, sizeof(wanted),
		 "GET /hello?a=b HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX: kept\r\nConnection: close\r\n\r\n",
		 peer_port(p));
	peer_head(p, head, sizeof(head));
	assert_string_equal(head, wanted);
}

static void one_request_is_all_that_a_kept_connection_gets(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[2048], head[16384];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "u = b'http://127.0.0.1:%u/hello'\n"
		 "second = b'GET http://denied.example/ HTTP/1.1\\r\\nSecond: 1\\r\\n\\r\\n'\n"
		 "print(ask(b'GET ' + u + b' HTTP/1.1\\r\\n\\r\\n' + second).count(b'HTTP/1.1'))\n"
		 "print(ask(b'POST ' + u + b' HTTP/1.1\\r\\nContent-Length: 3\\r\\n\\r\\nabc' + second).count(b'HTTP/1.1'))\n"
		 "print(ask(b'POST ' + u + b' HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n3\\r\\nabc\\r\\n0\\r\\n\\r\\n'\n"
		 "          + second).count(b'HTTP/1.1'))\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "1\n1\n1\n");
	peer_head(p, head, sizeof(head));
	assert_null(strstr(head, "Second"));
}

static void broken_chunks_are_not_passed_on(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "h = b'POST http://127.0.0.1:%u/hello HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'\n"
		 "for b in (b'3\\nabc\\r\\n0\\r\\n\\r\\n', b'0x3\\r\\nabc\\r\\n', b'\\r\\n', b'3\\r\\nabcd\\r\\n', b'-1\\r\\n'):\n"
		 "    print(len(ask(h + b)))\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "0\n0\n0\n0\n0\n");
}

/* ---- SOCKS ---- */

static void socks_serves_connect_alone(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[2048];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "port = %u\n"
		 "print(socks(v4('127.0.0.1'), port, 2)[0], socks(v4('127.0.0.1'), port, 3)[0])\n"
		 "print(socks(b'\\x09abcd', port)[0], socks(v4('127.0.0.1'), port, 1, b'\\1')[0])\n"
		 "print(socks(v4('127.0.0.1'), port, 1, b'\\2')[0], socks(v4('127.0.0.1'), port, 1, b'\\2\\0')[0])\n"
		 "print(socks(name('127.0.0.1\\0.allowed.example'), port)[0])\n"
		 "s = dial(); s.sendall(b'\\4\\1' + struct.pack('>H', port) + b'\\x7f\\0\\0\\1\\0'); print(rest(s))\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "7 7\n8 255\n0 0\n2\nb''\n");
	assert_int_equal(count(r, SBX_EGRESS_ALLOWED), 2);
	assert_int_equal(count(r, SBX_EGRESS_DENIED), 6);
}

/* ---- TLS ---- */

/* hello(name): a ClientHello of Python's own making; cut into records of `size` bytes. */
static const char tls[] =
	"import ssl\n"
	"def hello(name, size=16384):\n"
	"    c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE\n"
	"    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()\n"
	"    b = c.wrap_bio(i, o, server_hostname=name)\n"
	"    try: b.do_handshake()\n"
	"    except ssl.SSLWantReadError: pass\n"
	"    h = o.read()[5:]\n"
	"    return b''.join(b'\\x16\\3\\1' + struct.pack('>H', len(h[k:k+size])) + h[k:k+size]\n"
	"                    for k in range(0, len(h), size))\n"
	"def say(host, data, port=443, piece=1 << 20):\n"
	"    line, s = tunnel(host, port)\n"
	"    try:\n"
	"        for k in range(0, len(data), piece): s.sendall(data[k:k+piece])\n"
	"    except ConnectionError: pass\n"
	"    return rest(s)\n";

static const struct sbx_result *run_tls(struct test_sandbox *t, const char *code)
{
	char whole[8192];

	snprintf(whole, sizeof(whole), "%s%s", tls, code);
	return run(t, whole);
}

static void tls_for_another_name_is_cut_before_any_packet(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p;
	const struct sbx_result *r;

	need_world();
	p = peer_open("192.0.2.1", 443);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	world_name("other.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example");
	r = run_tls(t, "for size in (16384, 50, 1):\n"
		       "    print(say('public.example', hello('denied.example', size)))\n"
		       "    print(say('public.example', hello('denied.example', size), piece=100))\n"
		       "print(say('public.example', b'\\x16\\3\\1\\xff\\xff' + bytes(100)))\n"
		       "print(say('public.example', b'\\x16\\3\\1\\0\\5\\2\\0\\0\\1\\0'))\n"
		       "print(say('public.example', hello('10.1.1.1')))\n");
	assert_non_null(strstr(r->out.data, "b''\nb''\nb''\nb''\nb''\nb''\nb''\nb''\n"));
	assert_logged(r, "public.example", SBX_EGRESS_DENIED, "TLS asks for 'denied.example' there");
	assert_int_equal(count(r, SBX_EGRESS_DENIED), 8);
	/* An address is no server name in TLS: the last one was sent without any, and let through. */
	assert_int_equal(peer_visits(p), 1);
}

static void tls_for_the_right_name_goes_through(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_world();
	peer_open("192.0.2.1", 443);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example", "also.example");
	r = run_tls(t, "print(say('public.example', hello('public.example')))\n"
		       "print(say('PUBLIC.example.', hello('public.example', 7), piece=64))\n"
		       "print(say('public.example', hello('also.example')))\n"
		       "print(say('public.example', b'no tls at all'))\n");
	assert_output(r, "b'seen'\nb'seen'\nb'seen'\nb'seen'\n");
	assert_int_equal(count(r, SBX_EGRESS_ALLOWED), 4);
}

static void tls_on_another_port_is_checked_before_it_is_passed_on(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p;
	const struct sbx_result *r;
	char head[64];

	need_world();
	p = peer_open("192.0.2.1", 8443);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example:8443");
	r = run_tls(t, "print(say('public.example', hello('denied.example'), 8443))\n");
	assert_output(r, "b''\n");
	peer_head(p, head, sizeof(head));
	assert_string_equal(head, "");
	r = run_tls(t, "print(say('public.example', hello('public.example'), 8443))\n");
	assert_output(r, "b'seen'\n");
}

/* ---- ways around the proxy ---- */

static void there_is_no_other_way_out(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p, *six;
	const struct sbx_result *r;
	unsigned int asked;

	test_need_isolation("programs are in this machine's own network");
	need_world();
	p = peer_open("192.0.2.1", 80);
	six = peer_open("2001:db8::1", 80);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example", "192.0.2.1", "[2001:db8::1]");
	asked = world_questions();
	r = run(t,
		"def attempt(what, f):\n"
		"    try: f(); print(what, 'worked')\n"
		"    except OSError as e: pass\n"
		"for a in ('192.0.2.1', '127.0.0.1', '10.1.1.1', '169.254.169.254'):\n"
		"    attempt(a, lambda: socket.create_connection((a, 80), 2))\n"
		"for a in ('2001:db8::1', '::1', 'fd00::1', '::ffff:192.0.2.1'):\n"
		"    attempt(a, lambda: socket.create_connection((a, 80), 2))\n"
		"for h in ('public.example', 'hosts-public.example'):\n"
		"    attempt('name', lambda: socket.getaddrinfo(h, 80))\n"
		"def udp(a):\n"
		"    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)\n"
		"    s.sendto(b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6public\\7example\\0\\0\\1\\0\\1', (a, 53)); s.recv(512)\n"
		"for a in ('127.0.0.1', '192.0.2.1', '127.0.0.53'): attempt('udp ' + a, lambda: udp(a))\n"
		"attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))\n"
		"attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))\n"
		"attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300))\n"
		"attempt('sctp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))\n"
		"attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))\n"
		"print([l for l in open('/etc/resolv.conf') if l.startswith('nameserver') and '127.0.0.1' not in l])\n");
	assert_output(r, "[]\n");
	assert_int_equal(peer_visits(p) + peer_visits(six), 0);
	assert_int_equal(world_questions(), asked);
	assert_true(test_is_enforced(r, "network"));
}

static void the_proxy_and_loopback_of_the_sandbox_have_ipv6(void **state)
{
	struct test_sandbox *t = *state;

	ALLOW(t, "allowed.example");
	assert_output(run(t, "s = dial('::1'); s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); print(rest(s)[9:12])\n"
			     "l = socket.create_server(('::1', 0), family=socket.AF_INET6)\n"
			     "socket.create_connection(l.getsockname()[:2]); print('own')\n"),
		      "b'400'\nown\n");
}

/* ---- change ---- */

struct change {
	struct sbx_session *session;
	struct peer *peer;
	const char *rule; /* what is allowed from then on; NULL: nothing */
	pid_t child;
};

/* As soon as the peer has been asked for something. */
static void *change_rules(void *arg)
{
	struct change *c = arg;
	struct sbx_network *network = make(c->rule ? SBX_NETWORK_ALLOW : SBX_NETWORK_NONE,
					   (const char *const[]){c->rule, NULL});
	uint64_t deadline_ns = sbx_deadline_ns(20000);
	struct sbx_error err;
	char head[16] = "";

	while (head[0] == '\0' && sbx_now_ns() < deadline_ns) {
		sched_yield();
		peer_head(c->peer, head, sizeof(head));
	}
	sbx_session_set_network(c->session, network, &err);
	sbx_network_free(network);
	return NULL;
}

static void new_rules_cut_what_they_do_not_allow(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0), *q = peer_open("127.0.0.1", 0);
	struct change change = {.peer = p};
	const struct sbx_result *r;
	char code[1024], second[32];
	pthread_t thread;

	snprintf(second, sizeof(second), "%s", rule_of(q));
	ALLOW(t, rule_of(p), second);
	change.session = test_session(t);
	change.rule = second;
	pthread_create(&thread, NULL, change_rules, &change);
	snprintf(code, sizeof(code),
		 "line, stays = tunnel('127.0.0.1', %u)\n"
		 "line, s = tunnel('127.0.0.1', %u); s.sendall(b'GET /drip HTTP/1.1\\r\\n\\r\\n')\n"
		 "print(len(rest(s)) < 1000000)\n"
		 "print(tunnel('127.0.0.1', %u)[0][9:12])\n"
		 "stays.sendall(b'GET /hello HTTP/1.1\\r\\n\\r\\n'); print(rest(stays)[-21:])\n",
		 peer_port(q), peer_port(p), peer_port(p));
	r = run(t, code);
	pthread_join(thread, NULL);
	assert_output(r, "True\n403\nb'hello from 127.0.0.1\\n'\n");
	assert_int_equal(r->egress[1].verdict, SBX_EGRESS_FAILED);
	assert_non_null(strstr(r->egress[1].rule, "the rules do not allow it any more"));
}

/* A process that our user forked, and that executes nothing, has all our descriptors open. */
static void *change_rules_with_a_child(void *arg)
{
	struct change *c = arg;
	uint64_t deadline_ns = sbx_deadline_ns(20000);

	while (peer_visits(c->peer) == 0 && sbx_now_ns() < deadline_ns)
		sched_yield();
	c->child = fork();
	if (c->child == 0) {
		alarm(60); /* if we crash */
		pause();
		_exit(0);
	}
	return change_rules(c);
}

static void a_connection_that_was_cut_is_forgotten_though_another_process_has_it(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	struct change change = {.peer = p};
	const struct sbx_result *r;
	char code[512];
	pthread_t thread;

	ALLOW(t, rule_of(p));
	change.session = test_session(t);
	pthread_create(&thread, NULL, change_rules_with_a_child, &change);
	snprintf(code, sizeof(code),
		 "line, s = tunnel('127.0.0.1', %u); s.sendall(b'GET /drip HTTP/1.1\\r\\n\\r\\n')\n"
		 "print(len(rest(s)) < 1000000)\n"
		 "for i in range(100):\n"
		 "    answer = tunnel('127.0.0.1', %u)[0][9:12]; time.sleep(0.002)\n"
		 "print(answer)\n",
		 peer_port(p), peer_port(p));
	r = run(t, code);
	pthread_join(thread, NULL);
	kill(change.child, SIGKILL);
	waitpid(change.child, NULL, 0);
	assert_output(r, "True\n403\n");
}

static void a_session_without_a_network_can_get_one(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	struct sbx_network *network;
	struct sbx_error err;
	char code[256];

	test_shell(t, "true");
	network = make(SBX_NETWORK_ALLOW, (const char *const[]){rule_of(p), NULL});
	assert_int_equal(sbx_session_set_network(t->session, network, &err), 0);
	sbx_network_free(network);
	snprintf(code, sizeof(code), "print(tunnel('127.0.0.1', %u)[0][9:12])\n", peer_port(p));
	assert_output(run(t, code), "200\n");
	assert_int_equal(sbx_session_set_network(t->session, NULL, &err), 0);
	r = run(t, code);
	assert_output(r, "403\n");
	assert_int_equal(r->egress_count, 1);
	assert_string_equal(r->egress[0].rule, "the network is off");
}

/* ---- limits ---- */

static void bytes_of_a_session_are_limited(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[512];

	LIMIT(t, rule_of(p), .bytes = 1000000);
	snprintf(code, sizeof(code),
		 "line, s = tunnel('127.0.0.1', %u); s.sendall(b'GET /big?5000000 HTTP/1.1\\r\\n\\r\\n')\n"
		 "print(900000 < len(rest(s)) <= 1000000)\nprint(tunnel('127.0.0.1', %u)[0][9:12])\n",
		 peer_port(p), peer_port(p));
	r = run(t, code);
	assert_output(r, "True\n503\n");
	assert_int_equal(r->egress[0].sent + r->egress[0].received, 1000000);
	assert_non_null(strstr(r->egress[0].rule, "used up its bytes"));
}

static void the_rate_is_limited(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[512];

	LIMIT(t, rule_of(p), .bytes_per_second = 1000000);
	snprintf(code, sizeof(code),
		 "start = time.monotonic()\n"
		 "line, s = tunnel('127.0.0.1', %u); s.sendall(b'GET /big?1000000 HTTP/1.1\\r\\n\\r\\n')\n"
		 "n = len(rest(s)); took = time.monotonic() - start\n"
		 "print(n > 1000000, took > 0.85, took < 10)\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "True True True\n");
}

static void a_connection_without_a_byte_is_cut(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[512];

	LIMIT(t, rule_of(p), .idle_timeout_ms = 200);
	snprintf(code, sizeof(code),
		 "line, s = tunnel('127.0.0.1', %u); s.sendall(b'GET /stall HTTP/1.1\\r\\n\\r\\n')\n"
		 "print(len(rest(s)) < 100)\n",
		 peer_port(p));
	r = run(t, code);
	assert_output(r, "True\n");
	assert_non_null(strstr(r->egress[0].rule, "no byte moved"));
}

static void a_peer_that_is_not_there_is_told(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[256];

	ALLOW(t, rule_of(p));
	snprintf(code, sizeof(code),
		 "print(tunnel('127.0.0.1', %u)[0]); print(socks(v4('127.0.0.1'), %u)[0])\n",
		 peer_port(p), peer_port(p));
	peer_close(p);
	r = run(t, code);
	assert_non_null(strstr(r->out.data, "HTTP/1.1 502"));
	assert_non_null(strstr(r->out.data, "Connection refused"));
	assert_non_null(strstr(r->out.data, "\n5\n"));
	assert_int_equal(count(r, SBX_EGRESS_FAILED), 2);
}

/* ---- the log ---- */

static void the_log_is_bounded_and_clean(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_egress *list;
	const struct sbx_result *r;
	struct sbx_error err;
	uint64_t total;
	size_t n;

	ALLOW(t, "allowed.example");
	r = run(t, "for i in range(1200): tunnel('n%d.example' % i, 443)[1].close()\n"
		   "socks(name('\\x1b[31m\\r\\nInjected: 1\\x7f'), 443); socks(name('x' * 255), 443)\n");
	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->egress_count, 1000);
	assert_string_equal(r->egress[0].host, "n202.example");
	assert_string_equal(r->egress[998].host, "?[31m??Injected: 1?");
	assert_int_equal(strlen(r->egress[999].host), 255);
	assert_int_equal(sbx_session_egress(t->session, &list, &n, &total, &err), 0);
	assert_int_equal(n, 1000);
	assert_int_equal(total, 1202);
	free(list);
	assert_int_equal(test_shell(t, "true")->egress_count, 0);
}

static void the_result_as_json_has_the_attempts(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err;
	char *json = NULL;

	ALLOW(t, "allowed.example");
	assert_int_equal(
		sbx_result_format_json(run(t, "tunnel('denied.example', 443)\n"), 0, &json, &err), 0);
	assert_non_null(strstr(json, "\"network\": {\"mode\": \"allow\", \"attempts\": [{"));
	assert_non_null(strstr(json, "\"host\": \"denied.example\", \"port\": 443"));
	assert_non_null(strstr(json, "\"verdict\": \"denied\""));
	free(json);
}

static void the_report_names_the_rules(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_need_isolation("programs are in this machine's own network");
	ALLOW(t, "a.example", "b.example:8443");
	r = test_shell(t, "true");
	for (size_t i = 0; i < r->isolation_count; i++) {
		if (strcmp(r->isolation[i].name, "network") == 0)
			assert_string_equal(r->isolation[i].detail,
					    "through the proxy alone: a.example, b.example:8443");
	}
}

/* ---- hostile clients inside ---- */

static void a_flood_of_clients_ends_nothing(void **state)
{
	struct test_sandbox *t = *state;
	struct peer *p = peer_open("127.0.0.1", 0);
	const struct sbx_result *r;
	char code[1024];

	ALLOW(t, rule_of(p));
	test_set_limit(t, SBX_LIMIT_OPEN_FILES, 1024);
	snprintf(code, sizeof(code),
		 "import random\n"
		 "linger = struct.pack('ii', 1, 0)\n"
		 "for i in range(600):\n"
		 "    s = dial(); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)\n"
		 "    s.send(random.choice([b'C', b'CONNECT 127.0.0.1:%u HTTP/1.1\\r\\n\\r\\n', b'\\5\\1\\0', b'\\0', b'\\x16\\3']))\n"
		 "    s.close()\n"
		 "idle = [dial() for i in range(200)]\n"
		 "print(tunnel('127.0.0.1', %u)[0][9:12])\n",
		 peer_port(p), peer_port(p));
	r = run(t, code);
	assert_output(r, "200\n");
}

/* ---- the clients that people use ---- */

static void real_clients_find_the_proxy(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_world();
	peer_open("192.0.2.1", 80);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example");
	t->io.timeout_ms = 120000;
	test_set_limit(t, SBX_LIMIT_OPEN_FILES, 1024);
	r = test_shell(t, "command -v curl");
	if (!test_has_image() || r->exit_code == 0) {
		r = test_shell(t, "curl -sS http://public.example/hello; curl -sS http://denied.example/ | head -1");
		assert_non_null(strstr(r->out.data, "hello from 192.0.2.1\ndenied.example:80 is not allowed"));
	}
	r = test_run(t, "python", "import urllib.request as u\n"
				  "print(u.urlopen('http://public.example/hello').read())\n"
				  "try: u.urlopen('https://denied.example/')\n"
				  "except Exception as e: print(e)\n");
	assert_non_null(strstr(r->out.data, "b'hello from 192.0.2.1\\n'\n"));
	assert_non_null(strstr(r->out.data, "403 denied.example:443 is not allowed"));
	r = test_run(t, "ruby", "require 'net/http'; puts Net::HTTP.get(URI('http://public.example/hello'))\n");
	assert_output(r, "hello from 192.0.2.1\n");
}

static void compiled_clients_find_the_proxy(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_world();
	peer_open("192.0.2.1", 80);
	world_name("public.example", (const char *const[]){"192.0.2.1", NULL});
	ALLOW(t, "public.example");
	t->io.timeout_ms = 200000;
	test_set_limit(t, SBX_LIMIT_OPEN_FILES, 4096);
	test_set_limit(t, SBX_LIMIT_PROCESSES, 512);
	r = test_run(t, "java", "import java.net.*; import java.net.http.*;\n"
				"class Main { public static void main(String[] a) throws Exception {\n"
				"System.out.print(new String(new URL(\"http://public.example/hello\").openStream().readAllBytes()));\n"
				"System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(\n"
				" URI.create(\"http://public.example/hello\")).build(), HttpResponse.BodyHandlers.ofString()).body());\n"
				"} }\n");
	assert_output(r, "hello from 192.0.2.1\nhello from 192.0.2.1\n");
	assert_string_equal(r->errout.data, "");
	r = test_run(t, "go", "package main\nimport (\"io\"; \"net/http\"; \"os\")\n"
			      "func main() { r, err := http.Get(\"http://public.example/hello\")\n"
			      "if err != nil { panic(err) }\nio.Copy(os.Stdout, r.Body) }\n");
	assert_output(r, "hello from 192.0.2.1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		network_test(a_rule_lets_programs_reach_a_host_in_three_ways),
		network_test(names_and_suffixes_are_resolved_outside),
		network_test(every_address_of_a_name_is_tried),
		network_test(bytes_go_both_ways_and_each_side_may_end_first),
		network_test(what_was_sent_last_arrives_after_the_programs_end),
		network_test(bytes_arrive_as_they_were_sent),
		network_test(sixty_four_connections_work_at_once),
		network_test(slow_ones_stall_nobody_else),
		network_test(without_a_network_there_is_nothing),
		network_test(a_refusal_says_why_and_what_to_do),
		network_test(every_spelling_of_loopback_is_refused),
		network_test(names_that_lead_inside_are_refused),
		network_test(a_rule_may_let_a_name_be_private),
		network_test(rebinding_leads_nowhere),
		network_test(a_redirect_to_a_private_address_is_refused),
		network_test(mail_is_refused_unless_a_rule_names_its_port),
		network_test(open_means_public_addresses_alone),
		network_test(requests_that_two_readers_read_differently_are_refused),
		network_test(the_host_field_is_what_was_judged),
		network_test(one_request_is_all_that_a_kept_connection_gets),
		network_test(broken_chunks_are_not_passed_on),
		network_test(socks_serves_connect_alone),
		network_test(tls_for_another_name_is_cut_before_any_packet),
		network_test(tls_for_the_right_name_goes_through),
		network_test(tls_on_another_port_is_checked_before_it_is_passed_on),
		network_test(there_is_no_other_way_out),
		network_test(the_proxy_and_loopback_of_the_sandbox_have_ipv6),
		network_test(new_rules_cut_what_they_do_not_allow),
		network_test(a_connection_that_was_cut_is_forgotten_though_another_process_has_it),
		network_test(a_session_without_a_network_can_get_one),
		network_test(bytes_of_a_session_are_limited),
		network_test(the_rate_is_limited),
		network_test(a_connection_without_a_byte_is_cut),
		network_test(a_peer_that_is_not_there_is_told),
		network_test(the_log_is_bounded_and_clean),
		network_test(the_result_as_json_has_the_attempts),
		network_test(the_report_names_the_rules),
		network_test(a_flood_of_clients_ends_nothing),
		network_test(real_clients_find_the_proxy),
		network_test(compiled_clients_find_the_proxy),
	};

	world_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
