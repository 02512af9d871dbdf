/* SPDX-License-Identifier: MIT */
/*
 * The upgrade of a request to a raw stream. libcurl makes the connection, whatever it goes over, and
 * the few lines of HTTP on it are said here.
 */
#include "backend/engine/client_inside.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HEAD_MAX   16384
#define HEADS_MAX  8 /* answers of 1xx before the one that counts, and that one */
#define WORDS_MAX  16384
#define UPGRADE_MS 30000
#define LOOK_MS	   200 /* how often it is looked whether anybody waits still */

struct engine_stream {
	struct engine_client *client;
	struct engine_line *line;
	int fd;
	bool framed;	     /* the engine says so */
	struct sbx_buf early; /* what came behind the head */
	size_t early_at;
};

/* ---- bytes ---- */

int engine_stream_fd(const struct engine_stream *s)
{
	return s->fd;
}

static ssize_t result_of(CURLcode code, size_t n)
{
	if (code == CURLE_AGAIN)
		return -EAGAIN;
	return code == CURLE_OK ? (ssize_t)n : -EIO;
}

static ssize_t receive(struct engine_stream *s, void *data, size_t len)
{
	struct engine_quiet quiet;
	CURLcode code;
	size_t n = 0;

	engine_quiet_begin(&quiet);
	code = s->client->curl->recv(s->line->easy, data, len, &n);
	engine_quiet_end(&quiet);
	return result_of(code, n);
}

ssize_t engine_stream_read(struct engine_stream *s, void *data, size_t len)
{
	size_t n = s->early.len - s->early_at;

	if (n == 0)
		return receive(s, data, len);
	n = n < len ? n : len;
	memcpy(data, s->early.data + s->early_at, n);
	s->early_at += n;
	return (ssize_t)n;
}

ssize_t engine_stream_write(struct engine_stream *s, const void *data, size_t len)
{
	struct engine_quiet quiet;
	CURLcode code;
	size_t n = 0;

	engine_quiet_begin(&quiet);
	code = s->client->curl->send(s->line->easy, data, len, &n);
	engine_quiet_end(&quiet);
	return result_of(code, n);
}

void engine_stream_shutdown(struct engine_stream *s)
{
	if (strncmp(s->client->endpoint.url, "https:", 6) != 0)
		shutdown(s->fd, SHUT_WR);
}

void engine_stream_hang_up(struct engine_stream *s)
{
	shutdown(s->fd, SHUT_RDWR);
}

bool engine_stream_is_framed(const struct engine_stream *s)
{
	return s->framed;
}

/* ---- the upgrade ---- */

static int wait_for(struct engine_stream *s, short events, uint64_t deadline_ns, struct sbx_error *err)
{
	struct pollfd fd = {.fd = s->fd, .events = events};
	char title[256];

	do {
		uint64_t look_ns = sbx_deadline_ns(LOOK_MS);
		int n = poll(&fd, 1, sbx_poll_ms(look_ns < deadline_ns ? look_ns : deadline_ns));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return sbx_fail_errno(err, errno, "cannot wait for a stream of the engine");
		if (engine_client_is_given_up(s->client))
			return sbx_fail(err, SBX_E_UNAVAILABLE,
					"the stream of a container was given up: the sandbox was ended");
	} while (sbx_now_ns() < deadline_ns);
	return sbx_fail(err, SBX_E_TIMEOUT, "%s did not open a stream in time",
			engine_client_title(s->client, title));
}

static int fail_stream(struct engine_stream *s, struct sbx_error *err)
{
	char title[256];

	return sbx_fail(err, SBX_E_UNAVAILABLE, "%s closed a stream that was being opened",
			engine_client_title(s->client, title));
}

static int send_all(struct engine_stream *s, const char *data, size_t len, uint64_t deadline_ns,
		    struct sbx_error *err)
{
	while (len > 0) {
		ssize_t n = engine_stream_write(s, data, len);
		int r = n == -EAGAIN ? wait_for(s, POLLOUT, deadline_ns, err) : 0;

		if (r < 0)
			return r;
		if (n < 0 && n != -EAGAIN)
			return fail_stream(s, err);
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* One more piece of what comes, into a buffer that says when it is too much. */
static int read_piece(struct engine_stream *s, struct sbx_buf *to, uint64_t deadline_ns,
		      struct sbx_error *err)
{
	char data[4096];
	ssize_t n = engine_stream_read(s, data, sizeof(data));
	int r = n == -EAGAIN ? wait_for(s, POLLIN, deadline_ns, err) : 0;

	if (r < 0)
		return r;
	if (n == 0 || (n < 0 && n != -EAGAIN))
		return fail_stream(s, err);
	if (n > 0)
		sbx_buf_append(to, data, (size_t)n);
	return to->failed ? fail_stream(s, err) : 0;
}

/* Until the empty line; what comes behind it is left for the next to read. */
static int read_head(struct engine_stream *s, struct sbx_buf *head, uint64_t deadline_ns,
		     struct sbx_error *err)
{
	char *end;
	int r;

	while (head->len == 0 || (end = memmem(head->data, head->len, "\r\n\r\n", 4)) == NULL) {
		r = read_piece(s, head, deadline_ns, err);
		if (r < 0)
			return r;
	}
	end += 4;
	sbx_buf_consume(&s->early, s->early_at);
	s->early_at = 0;
	sbx_buf_append(&s->early, end, head->len - (size_t)(end - head->data));
	head->len = (size_t)(end - head->data);
	*end = '\0';
	return s->early.failed ? fail_stream(s, err) : 0;
}

/* The value of a header, cleaned; "" when there is none. */
static const char *header(const char *head, const char *name, char *ret, size_t size)
{
	const char *at = strcasestr(head, name);

	return engine_words_clean(at ? at + strlen(name) : "", at ? strcspn(at + strlen(name), "\r\n") : 0,
				  ret, size);
}

static unsigned int status_of(const char *head)
{
	unsigned int status = 0;

	return sscanf(head, "HTTP/1.%*1u %3u", &status) == 1 ? status : 0;
}

/* The words of a refusal are its body; as much as comes, and is announced. */
static int refused(struct engine_stream *s, const char *head, unsigned int status,
		   uint64_t deadline_ns, struct sbx_error *err)
{
	auto_buf struct sbx_buf body = SBX_BUF_INIT(WORDS_MAX);
	struct sbx_error ignored;
	char length[16], *from;
	size_t wanted;

	header(head, "\r\nContent-Length:", length, sizeof(length));
	wanted = strtoul(length, NULL, 10);
	wanted = wanted < WORDS_MAX / 2 ? wanted : WORDS_MAX / 2;
	while (body.len < wanted || s->early.len > s->early_at) {
		if (read_piece(s, &body, deadline_ns, &ignored) < 0)
			break;
	}
	/* In chunks, it begins with the size of the first. */
	from = body.data != NULL ? strchr(body.data, '{') : NULL;
	from = from != NULL && wanted == 0 ? from : body.data;
	return engine_client_refused(s->client, status, from,
				     from ? body.len - (size_t)(from - body.data) : 0, err);
}

static int no_stream(const struct engine_stream *s, const char *head, struct sbx_error *err)
{
	char title[256], type[64];

	header(head, "\r\nContent-Type:", type, sizeof(type));
	return sbx_fail(err, SBX_E_PROTOCOL,
			"%s did not make a stream of the connection (its answer is %s); is there a proxy "
			"between that cannot upgrade one?",
			engine_client_title(s->client, title), type[0] ? type : "of no type");
}

/* 200 is an upgrade as well, by engines that were not asked for one by name. */
static int check_head(struct engine_stream *s, const char *head, uint64_t deadline_ns,
		      struct sbx_error *err)
{
	unsigned int status = status_of(head);
	char type[64], encoding[32], title[256];

	header(head, "\r\nContent-Type:", type, sizeof(type));
	header(head, "\r\nTransfer-Encoding:", encoding, sizeof(encoding));
	if (status == 0)
		return sbx_fail(err, SBX_E_PROTOCOL, "%s answered with something that is not HTTP",
				engine_client_title(s->client, title));
	if (status >= 300)
		return refused(s, head, status, deadline_ns, err);
	if ((status != 101 && status != 200) || encoding[0] != '\0' ||
	    (type[0] != '\0' && strncmp(type, "application/vnd.docker.", 23) != 0))
		return no_stream(s, head, err);
	s->framed = strcmp(type, "application/vnd.docker.multiplexed-stream") == 0;
	return 0;
}

/* The answer behind those that only say that there will be one. */
static int read_answer(struct engine_stream *s, uint64_t deadline_ns, struct sbx_error *err)
{
	for (int i = 0; i < HEADS_MAX; i++) {
		auto_buf struct sbx_buf head = SBX_BUF_INIT(HEAD_MAX);
		unsigned int status;
		int r = read_head(s, &head, deadline_ns, err);

		if (r < 0)
			return r;
		status = status_of(head.data);
		if (status < 100 || status > 199 || status == 101)
			return check_head(s, head.data, deadline_ns, err);
	}
	return fail_stream(s, err);
}

/* Behind the scheme, "host:port", and the path that all paths begin with. */
static const char *authority(const struct engine_stream *s, size_t *ret_len)
{
	const char *at = strstr(s->client->endpoint.url, "://") + 3;

	*ret_len = strcspn(at, "/");
	return at;
}

static int upgrade(struct engine_stream *s, const char *path, const json_t *body,
		   struct sbx_error *err)
{
	uint64_t deadline_ns = sbx_deadline_ns(UPGRADE_MS);
	auto_buf struct sbx_buf request = SBX_BUF_INIT(1u << 20);
	auto_free char *json = body ? json_dumps(body, JSON_COMPACT) : NULL;
	size_t len;
	const char *host = authority(s, &len);
	int r;

	sbx_buf_printf(&request,
		       "POST %s/v%s%s HTTP/1.1\r\nHost: %.*s\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
		       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		       host + len, s->client->version, path, (int)len, host, json ? strlen(json) : 0,
		       json ? json : "");
	if (request.failed || (body != NULL && json == NULL))
		return sbx_fail_errno(err, ENOMEM, "cannot open a stream of the engine");
	r = send_all(s, request.data, request.len, deadline_ns, err);
	return r < 0 ? r : read_answer(s, deadline_ns, err);
}

static int connect_stream(struct engine_stream *s, struct sbx_error *err)
{
	const struct engine_curl *curl = s->client->curl;
	curl_socket_t fd = CURL_SOCKET_BAD;
	struct engine_quiet quiet;
	CURLcode code;

	engine_line_prepare(s->client, s->line);
	curl->setopt(s->line->easy, CURLOPT_URL, s->client->endpoint.url);
	curl->setopt(s->line->easy, CURLOPT_CONNECT_ONLY, 1L);
	engine_quiet_begin(&quiet);
	code = curl->perform(s->line->easy);
	engine_quiet_end(&quiet);
	if (code == CURLE_OK)
		code = curl->getinfo(s->line->easy, CURLINFO_ACTIVESOCKET, &fd);
	if (code != CURLE_OK || fd == CURL_SOCKET_BAD)
		return engine_line_fail(s->client, s->line, code, err);
	s->fd = (int)fd;
	return 0;
}

int engine_stream_open(struct engine_client *client, const char *path, const json_t *body,
		       struct engine_stream **ret, struct sbx_error *err)
{
	struct engine_stream *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot open a stream of the engine");
	s->client = client;
	s->early = (struct sbx_buf)SBX_BUF_INIT(1u << 20);
	s->line = engine_line_new(client->curl);
	r = s->line == NULL ? sbx_fail_errno(err, ENOMEM, "cannot open a stream of the engine")
			    : connect_stream(s, err);
	if (r == 0)
		r = upgrade(s, path, body, err);
	if (r < 0)
		engine_stream_close(s);
	else
		*ret = s;
	return r;
}

void engine_stream_close(struct engine_stream *s)
{
	if (s == NULL)
		return;
	engine_line_free(s->client->curl, s->line);
	sbx_buf_done(&s->early);
	free(s);
}
