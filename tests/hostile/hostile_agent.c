/* SPDX-License-Identifier: MIT */
/*
 * What an agent would be whose sandbox has fallen: it greets the host as the agent does and then
 * answers whatever comes with frames of its own choice. Run in the agent's place by
 * hostile_test.c; the environment variable SBX_HOSTILE says how it behaves:
 *
 *	SEED	answers by random numbers, half of them such as the host could expect
 *	silent	never says a word after READY
 *	lazy	says that programs have started, and nothing more
 *	empty	answers with a file, and then bytes of it without end and without a byte
 *	flood	sends output and file bytes without end and without credit
 *	kernel SEED	does as it should, but what it has for kernels is random
 *	late	its kernels answer when they are killed, and not before
 *	growing	its artifacts are small where they are listed, and large where they are read …
 *	swelling … and these where they are copied
 */
#include "fuzz/random.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STREAM_FD   3
#define ANSWERS_MAX 64 /* to one frame of the host */
#define FRAMES_MAX  4000

struct hostile {
	struct sbx_conn conn;
	uint32_t state;	  /* of the random numbers */
	uint32_t channel; /* that the host used last */
	size_t sent;
};

static uint32_t below(struct hostile *h, uint32_t n)
{
	return next(&h->state) % n;
}

/* ---- sending ---- */

static void flush(struct hostile *h)
{
	struct sbx_error err;

	while (sbx_conn_has_output(&h->conn)) {
		struct pollfd fd = {.fd = STREAM_FD, .events = POLLOUT};

		if (poll(&fd, 1, 10000) <= 0 || sbx_conn_flush(&h->conn, &err) < 0)
			_exit(0);
	}
}

static void send_frame(struct hostile *h, enum wire_type type, uint32_t channel, const void *data,
		       size_t len)
{
	struct sbx_error err;

	if (h->sent++ > FRAMES_MAX || sbx_conn_queue(&h->conn, type, channel, data, len, &err) < 0)
		_exit(0);
	flush(h);
}

static void send_buf(struct hostile *h, enum wire_type type, uint32_t channel, struct sbx_buf *b)
{
	send_frame(h, type, channel, b->data ? b->data : "", b->len);
	sbx_buf_done(b);
}

/* ---- answers that look right ---- */

static const char *const names[] = {
	"",	    "a",	"a/b",	   "../up",	 "/etc/hostile", "..",	"a/../../up",
	"a\nb",	    ".",	"a//b",	   "link/inside", "\x1b[2J",	 "a/",	"\xff\xfe",
	"escape",   "escape/x", "a/b/c/d", ".sbx-1",	 "-rf",
};

static void send_entry(struct hostile *h)
{
	static const char kinds[] = {WIRE_FILE, WIRE_FOLDER, WIRE_LINK, WIRE_OTHER, 'x'};
	static const uint64_t sizes[] = {0, 3, 100000, 1ull << 40, UINT64_MAX, INT64_MAX};
	struct sbx_buf b = SBX_BUF_INIT(4096);
	struct wire_entry e = {
		.kind = (uint8_t)kinds[below(h, below(h, 4) ? 2 : sizeof(kinds))],
		.mode = below(h, 010000),
		.size = sizes[below(h, sizeof(sizes) / sizeof(sizes[0]))],
		.mtime_ns = below(h, 2) ? UINT64_MAX : 0,
		.name = (char *)names[below(h, sizeof(names) / sizeof(names[0]))],
	};

	wire_entry_format(&b, &e);
	send_buf(h, WIRE_ENTRY, h->channel, &b);
}

static void send_data(struct hostile *h, enum wire_type type)
{
	static const char bytes[WIRE_PAYLOAD_MAX];

	send_frame(h, type, h->channel, bytes, below(h, below(h, 4) ? 100 : WIRE_PAYLOAD_MAX));
}

static void send_hole(struct hostile *h)
{
	static const uint64_t sizes[] = {0, 1, 65536, 1ull << 40, UINT64_MAX};
	struct sbx_buf b = SBX_BUF_INIT(64);

	wire_hole_format(&b, &(struct wire_hole){.bytes = sizes[below(h, 5)]});
	send_buf(h, WIRE_HOLE, h->channel, &b);
}

static void send_exit(struct hostile *h)
{
	struct sbx_buf b = SBX_BUF_INIT(256);
	struct wire_exit m = {
		.reason = below(h, WIRE_REASON_COUNT + 1),
		.status = below(h, 300),
		.killed = next(&h->state),
		.wall_ns = below(h, 2) ? UINT64_MAX : 1000,
		.user_us = UINT64_MAX,
		.max_rss_bytes = UINT64_MAX,
		.total = {below(h, 2) ? UINT64_MAX : 0, 5},
		.dropped = {UINT64_MAX, UINT64_MAX},
	};

	wire_exit_format(&b, &m);
	send_buf(h, WIRE_EXIT, h->channel, &b);
}

static void send_credit(struct hostile *h)
{
	struct sbx_buf b = SBX_BUF_INIT(64);

	wire_credit_format(&b, &(struct wire_credit){
				       .flow = (uint8_t)below(h, 5),
				       .bytes = below(h, 2) ? WIRE_WINDOW : below(h, 100),
			       });
	send_buf(h, WIRE_CREDIT, h->channel, &b);
}

static void send_error(struct hostile *h)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);
	char text[2000];

	memset(text, '%', sizeof(text));
	text[1] = 'n';
	text[below(h, sizeof(text))] = '\0';
	text[sizeof(text) - 1] = '\0';
	wire_error_format(&b, &(struct wire_error){
				      .code = below(h, SBX_E_PROTOCOL + 2),
				      .sys_errno = next(&h->state),
				      .text = text,
			      });
	send_buf(h, WIRE_ERROR, below(h, 8) ? h->channel : 0, &b);
}

static void send_started(struct hostile *h)
{
	static const uint8_t pid[4] = {1};

	send_frame(h, WIRE_STARTED, h->channel, pid, sizeof(pid));
}

static void send_random(struct hostile *h)
{
	static const enum wire_type types[] = {
		WIRE_HELLO, WIRE_READY, WIRE_STARTED,	WIRE_STDOUT,  WIRE_EXIT,  WIRE_CREDIT,
		WIRE_ENTRY, WIRE_DATA,	WIRE_CLOSE,	WIRE_ERROR,   WIRE_PONG,  WIRE_HOLE,
		WIRE_FINISH, WIRE_LISTENING, WIRE_CONNECT};
	uint8_t payload[64];
	size_t len = below(h, sizeof(payload));
	uint32_t channel = h->channel;

	for (size_t i = 0; i < len; i++)
		payload[i] = (uint8_t)next(&h->state);
	if (below(h, 4) == 0)
		channel = WIRE_FROM_AGENT | below(h, 4);
	else if (below(h, 8) == 0)
		channel = next(&h->state);
	send_frame(h, types[below(h, sizeof(types) / sizeof(types[0]))], channel, payload, len);
}

/* What a kernel might say on its control socket, whole and in pieces. */
static void send_kernels_words(struct hostile *h)
{
	static const char *const words[] = {
		"{\"op\": \"ready\", \"language\": \"python\", \"version\": \"3\\u001b[2J\"}",
		"{\"op\": \"ready\", \"language\": \"python\", \"version\": \"3.0\"}",
		"{\"op\": \"result\", \"id\": 1, \"text\": \"\\u0000x\"}",
		"{\"op\": \"display\", \"id\": 1, \"number\": 4000000000}",
		"{\"op\": \"error\", \"id\": 1, \"name\": \"E\", \"message\": \"m\"}",
		"{\"op\": \"done\", \"id\": 1, \"status\": \"ok\", \"exit_code\": 0}",
		"{\"op\": \"done\", \"id\": 2, \"status\": \"exit\", \"exit_code\": 255}",
		"{\"op\": \"done\", \"id\": 1, \"status\": \"ok\"}",
		"[[[[[[",
		"",
	};
	const char *word = words[below(h, sizeof(words) / sizeof(words[0]))];
	struct sbx_buf b = SBX_BUF_INIT(4096);
	size_t cut;

	wire_put_string(&b, word, strlen(word));
	cut = below(h, 4) ? b.len : below(h, (uint32_t)b.len);
	send_frame(h, WIRE_DATA, h->channel, b.data, cut);
	sbx_buf_done(&b);
	if (below(h, 16) == 0)
		send_frame(h, WIRE_FINISH, h->channel, NULL, 0);
}

/* As long as it takes for a kernel to be ready. */
static void send_start_of_kernel(struct hostile *h)
{
	static const char ready[] =
		"{\"op\": \"ready\", \"language\": \"python\", \"version\": \"3.0\"}";
	struct sbx_buf b = SBX_BUF_INIT(4096);

	send_started(h);
	wire_put_string(&b, ready, strlen(ready));
	send_buf(h, WIRE_DATA, h->channel, &b);
}

static void send_garbage(struct hostile *h)
{
	uint8_t bytes[32];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)next(&h->state);
	if (write(STREAM_FD, bytes, sizeof(bytes)) < 0)
		_exit(0);
}

static void send_answer(struct hostile *h)
{
	switch (below(h, 17)) {
	case 0:
	case 1:
		send_entry(h);
		break;
	case 2:
	case 3:
		send_data(h, WIRE_DATA);
		break;
	case 4:
		send_data(h, below(h, 2) ? WIRE_STDOUT : WIRE_STDERR);
		break;
	case 5:
		send_hole(h);
		break;
	case 6:
		send_credit(h);
		break;
	case 7:
		send_exit(h);
		break;
	case 8:
		send_error(h);
		break;
	case 9:
	case 10:
		send_started(h);
		break;
	case 11:
		send_frame(h, WIRE_CLOSE, h->channel, NULL, 0);
		break;
	case 12:
		send_random(h);
		break;
	case 13:
	case 14:
		send_kernels_words(h);
		break;
	case 15:
		send_start_of_kernel(h);
		break;
	default:
		if (below(h, 40) == 0)
			send_garbage(h);
		break;
	}
}

/* ---- behaviours ---- */

static void answer_at_random(struct hostile *h)
{
	uint32_t count = below(h, ANSWERS_MAX);

	for (uint32_t i = 0; i < count; i++)
		send_answer(h);
	if (below(h, 50) == 0)
		_exit(0);
}

static _Noreturn void flood(struct hostile *h)
{
	for (;;) {
		send_entry(h);
		send_data(h, WIRE_DATA);
		send_data(h, WIRE_STDOUT);
	}
}

static _Noreturn void send_nothing(struct hostile *h)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);

	wire_entry_format(&b, &(struct wire_entry){.kind = WIRE_FILE, .size = 3, .name = (char *)""});
	send_buf(h, WIRE_ENTRY, h->channel, &b);
	for (;; h->sent = 0)
		send_frame(h, WIRE_DATA, h->channel, "", 0);
}

static void send_pong(struct hostile *h)
{
	struct sbx_buf b = SBX_BUF_INIT(64);

	wire_pong_format(&b, &(struct wire_pong){.clock_ns = next(&h->state)});
	send_buf(h, WIRE_PONG, h->channel, &b);
}

/* All is well, but for what the programs have to say. */
static void play_kernels(struct hostile *h, enum wire_type type)
{
	if (type == WIRE_PING)
		send_pong(h);
	if (type == WIRE_MKDIR || type == WIRE_LIST || type == WIRE_REMOVE || type == WIRE_FINISH)
		send_frame(h, WIRE_CLOSE, h->channel, NULL, 0);
	if (type == WIRE_EXEC)
		send_start_of_kernel(h);
	for (uint32_t n = below(h, 6); type == WIRE_DATA && n > 0; n--) {
		send_kernels_words(h);
		if (below(h, 4) == 0)
			send_data(h, WIRE_STDOUT);
	}
	if (type == WIRE_SIGNAL && below(h, 4) != 0)
		send_exit(h);
}

static void send_word(struct hostile *h, const char *word)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);

	wire_put_string(&b, word, strlen(word));
	send_buf(h, WIRE_DATA, h->channel, &b);
}

static void send_end(struct hostile *h, uint32_t reason, uint32_t status)
{
	struct sbx_buf b = SBX_BUF_INIT(256);

	wire_exit_format(&b, &(struct wire_exit){.reason = reason, .status = status});
	send_buf(h, WIRE_EXIT, h->channel, &b);
}

/* What every agent has an answer for. */
static void answer_as_it_should(struct hostile *h, enum wire_type type)
{
	if (type == WIRE_PING)
		send_pong(h);
	if (type == WIRE_MKDIR || type == WIRE_REMOVE || type == WIRE_FINISH)
		send_frame(h, WIRE_CLOSE, h->channel, NULL, 0);
}

static void answer_late(struct hostile *h, const struct wire_frame *frame)
{
	struct wire_signal m;

	answer_as_it_should(h, frame->type);
	if (frame->type == WIRE_LIST)
		send_frame(h, WIRE_CLOSE, h->channel, NULL, 0);
	if (frame->type == WIRE_EXEC)
		send_start_of_kernel(h);
	if (frame->type != WIRE_SIGNAL || !wire_signal_parse(frame->payload, frame->len, &m) ||
	    m.signo != SIGKILL)
		return;
	send_word(h, "{\"op\": \"done\", \"id\": 1, \"status\": \"ok\", \"exit_code\": 0}");
	send_end(h, WIRE_KILLED, SIGKILL);
}

static void send_file(struct hostile *h, const char *name, uint64_t size)
{
	struct sbx_buf b = SBX_BUF_INIT(4096);

	wire_entry_format(&b, &(struct wire_entry){.kind = WIRE_FILE,
						   .size = size,
						   .ctime_ns = UINT64_MAX,
						   .name = (char *)name});
	send_buf(h, WIRE_ENTRY, h->channel, &b);
}

/* The list of a folder of hooks; the one of the work folder is of all below it. */
static void list_small(struct hostile *h, const struct wire_frame *frame)
{
	struct wire_list m;

	if (!wire_list_parse(frame->payload, frame->len, &m))
		_exit(0);
	for (int i = 1; !m.deep && i <= 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%06d.png", i);
		send_file(h, name, 1);
	}
	wire_list_done(&m);
	send_frame(h, WIRE_CLOSE, h->channel, NULL, 0);
}

/* With a hole of that size; only the first bytes are asked for where one is looked at. */
static void send_swollen(struct hostile *h, bool whole)
{
	struct sbx_buf b = SBX_BUF_INIT(64);

	send_file(h, "", whole ? 1ull << 36 : 1);
	if (!whole) {
		send_frame(h, WIRE_DATA, h->channel, "x", 1);
		return;
	}
	wire_hole_format(&b, &(struct wire_hole){.bytes = 1ull << 36});
	send_buf(h, WIRE_HOLE, h->channel, &b);
}

static void read_large(struct hostile *h, const char *how, const struct wire_frame *frame)
{
	struct wire_get m;

	if (!wire_get_parse(frame->payload, frame->len, &m))
		_exit(0);
	if (strstr(m.path, ".meta") != NULL) {
		send_file(h, "", 2);
		send_frame(h, WIRE_DATA, h->channel, "{}", 2);
	} else if (strcmp(how, "swelling") == 0) {
		send_swollen(h, m.length > 1u << 20);
	} else {
		send_file(h, "", 1ull << 40);
	}
	wire_get_done(&m);
	send_frame(h, WIRE_CLOSE, h->channel, NULL, 0);
}

static void answer_growing(struct hostile *h, const char *how, const struct wire_frame *frame)
{
	answer_as_it_should(h, frame->type);
	if (frame->type == WIRE_EXEC) {
		send_started(h);
		send_end(h, WIRE_EXITED, 0);
	}
	if (frame->type == WIRE_LIST)
		list_small(h, frame);
	if (frame->type == WIRE_GET)
		read_large(h, how, frame);
}

static void answer(struct hostile *h, const char *how, const struct wire_frame *frame)
{
	enum wire_type type = frame->type;

	if (strcmp(how, "late") == 0) {
		answer_late(h, frame);
		return;
	}
	if (strcmp(how, "growing") == 0 || strcmp(how, "swelling") == 0) {
		answer_growing(h, how, frame);
		return;
	}
	if (strncmp(how, "kernel", 6) == 0) {
		play_kernels(h, type);
		return;
	}
	if (strcmp(how, "silent") == 0)
		return;
	if (strcmp(how, "lazy") == 0) {
		if (type == WIRE_EXEC)
			send_started(h);
		return;
	}
	if (strcmp(how, "empty") == 0)
		send_nothing(h);
	if (strcmp(how, "flood") == 0)
		flood(h);
	answer_at_random(h);
}

/* ---- as the agent does ---- */

static void greet(struct hostile *h)
{
	struct sbx_buf b = SBX_BUF_INIT(256);
	struct wire_ready ready = {.kernel = "hostile"};

	wire_hello_format(&b, &(struct wire_hello){.version = WIRE_VERSION, .pid = 1});
	send_buf(h, WIRE_HELLO, 0, &b);
	b = (struct sbx_buf)SBX_BUF_INIT(256);
	wire_ready_format(&b, &ready);
	send_buf(h, WIRE_READY, 0, &b);
}

int main(void)
{
	const char *how = getenv("SBX_HOSTILE");
	static struct hostile h;
	struct wire_frame frame;
	struct sbx_error err;

	how = how ? how : "1";
	h.state = (uint32_t)strtoul(strncmp(how, "kernel", 6) == 0 ? how + 6 : how, NULL, 10);
	sbx_conn_init(&h.conn, STREAM_FD, 'h');
	greet(&h);
	while (!h.conn.eof) {
		struct pollfd fd = {.fd = STREAM_FD, .events = POLLIN};

		if (poll(&fd, 1, -1) < 0 || sbx_conn_fill(&h.conn, &err) < 0)
			break;
		while (sbx_conn_next(&h.conn, &frame, &err) > 0) {
			if (frame.channel != 0)
				h.channel = frame.channel;
			if (frame.type != WIRE_SETUP && !frame.more)
				answer(&h, how, &frame);
		}
	}
	return 0;
}
