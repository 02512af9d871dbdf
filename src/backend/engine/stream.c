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

#define HEAD_MAX   16384
#define UPGRADE_MS 30000

struct engine_stream {
	struct engine_client *client;
	CURL *easy;
	int fd;
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

ssize_t engine_stream_read(struct engine_stream *s, void *data, size_t len)
{
	size_t n = s->early.len - s->early_at;

	if (n == 0) {
		CURLcode code = s->client->curl->recv(s->easy, data, len, &n);

		return result_of(code, n);
	}
	n = n < len ? n : len;
	memcpy(data, s->early.data + s->early_at, n);
	s->early_at += n;
	return (ssize_t)n;
}

ssize_t engine_stream_write(struct engine_stream *s, const void *data, size_t len)
{
	size_t n = 0;
	CURLcode code = s->client->curl->send(s->easy, data, len, &n);

	return result_of(code, n);
}

/* ---- the upgrade ---- */

static int wait_for(struct engine_stream *s, short events, uint64_t deadline_ns, struct sbx_error *err)
{
	struct pollfd fd = {.fd = s->fd, .events = events};
	char title[256];

	if (poll(&fd, 1, sbx_poll_ms(deadline_ns)) > 0)
		return 0;
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

/* Until the empty line; what comes behind it is the stream's. */
static int read_head(struct engine_stream *s, struct sbx_buf *head, uint64_t deadline_ns,
		     struct sbx_error *err)
{
	char data[4096], *end;

	while (head->data == NULL || (end = strstr(head->data, "\r\n\r\n")) == NULL) {
		ssize_t n = engine_stream_read(s, data, sizeof(data));
		int r = n == -EAGAIN ? wait_for(s, POLLIN, deadline_ns, err) : 0;

		if (r < 0)
			return r;
		if (n == 0 || (n < 0 && n != -EAGAIN))
			return fail_stream(s, err);
		if (n > 0)
			sbx_buf_append(head, data, (size_t)n);
		if (head->failed)
			return fail_stream(s, err);
	}
	end += 4;
	sbx_buf_append(&s->early, end, head->len - (size_t)(end - head->data));
	head->len = (size_t)(end - head->data);
	return 0;
}

static int check_head(struct engine_stream *s, const char *head, struct sbx_error *err)
{
	unsigned int status = 0;
	char title[256];

	if (sscanf(head, "HTTP/1.%*u %u", &status) == 1 && (status == 101 || status == 200))
		return 0;
	return sbx_fail(err, status == 404 ? SBX_E_NOT_FOUND : SBX_E_UNAVAILABLE,
			"%s refused a stream (%u): %.512s", engine_client_title(s->client, title), status,
			s->early.data ? s->early.data : "it gave no reason");
}

static int upgrade(struct engine_stream *s, const char *path, const json_t *body,
		   struct sbx_error *err)
{
	uint64_t deadline_ns = sbx_deadline_ns(UPGRADE_MS);
	auto_buf struct sbx_buf request = SBX_BUF_INIT(1u << 20), head = SBX_BUF_INIT(HEAD_MAX);
	auto_free char *json = body ? json_dumps(body, JSON_COMPACT) : NULL;
	int r;

	sbx_buf_printf(&request,
		       "POST /v%s%s HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
		       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		       s->client->version, path, json ? strlen(json) : 0, json ? json : "");
	if (request.failed || (body != NULL && json == NULL))
		return sbx_fail_errno(err, ENOMEM, "cannot open a stream of the engine");
	r = send_all(s, request.data, request.len, deadline_ns, err);
	if (r == 0)
		r = read_head(s, &head, deadline_ns, err);
	return r < 0 ? r : check_head(s, head.data, err);
}

static int connect_stream(struct engine_stream *s, struct sbx_error *err)
{
	const struct engine_curl *curl = s->client->curl;
	curl_socket_t fd = CURL_SOCKET_BAD;
	char title[256];
	CURLcode code;

	engine_client_prepare(s->client, s->easy);
	curl->setopt(s->easy, CURLOPT_URL, s->client->endpoint.url);
	curl->setopt(s->easy, CURLOPT_CONNECT_ONLY, 1L);
	code = curl->perform(s->easy);
	if (code == CURLE_OK)
		code = curl->getinfo(s->easy, CURLINFO_ACTIVESOCKET, &fd);
	if (code != CURLE_OK || fd == CURL_SOCKET_BAD)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "there is no answer from %s (%s); %s",
				engine_client_title(s->client, title), curl->strerror(code),
				s->client->flavor->start_hint);
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
	s->easy = client->curl->init();
	r = s->easy == NULL ? sbx_fail_errno(err, ENOMEM, "cannot open a stream of the engine")
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
	if (s->easy != NULL)
		s->client->curl->cleanup(s->easy);
	sbx_buf_done(&s->early);
	free(s);
}
