/* SPDX-License-Identifier: MIT */
#include "backend/engine/client_inside.h"

#include "base/auto.h"
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ANSWER_MAX	(16u << 20)
#define STANDARD_MS	60000
#define CONNECT_MS	10000
#define OLDEST_VERSION	41 /* of 1.x: the first that has all that we use */
#define NEWEST_VERSION	45 /* the last that we know */

/* One request under way. */
struct call {
	struct engine_client *client;
	const struct engine_request *request;
	struct sbx_buf answer;
	struct sbx_error *err;
	bool stopped; /* by on_piece; err is filled */
	char version[16];
};

const char *engine_client_title(const struct engine_client *client, char ret[256])
{
	snprintf(ret, 256, "the %s engine at %s", client->flavor->title, client->endpoint.name);
	return ret;
}

/* ---- what comes ---- */

static size_t on_body(char *data, size_t size, size_t count, void *userdata)
{
	struct call *call = userdata;
	size_t len = size * count;

	if (call->request->on_piece == NULL || engine_status(call->client) >= 400) {
		sbx_buf_append(&call->answer, data, len);
		return call->answer.failed ? 0 : len;
	}
	call->stopped = call->request->on_piece(data, len, call->request->userdata, call->err) < 0;
	return call->stopped ? 0 : len;
}

static size_t on_header(char *data, size_t size, size_t count, void *userdata)
{
	static const char name[] = "Api-Version:";
	struct call *call = userdata;
	size_t len = size * count;
	char line[64];

	snprintf(line, sizeof(line), "%.*s", (int)len, data);
	if (strncasecmp(line, name, sizeof(name) - 1) == 0)
		sscanf(line + sizeof(name) - 1, " %15[0-9.]", call->version);
	return len;
}

/* ---- a call ---- */

void engine_client_prepare(const struct engine_client *client, CURL *easy)
{
	const struct engine_endpoint *e = &client->endpoint;
	const struct engine_curl *curl = client->curl;

	curl->reset(easy);
	if (e->socket_path != NULL)
		curl->setopt(easy, CURLOPT_UNIX_SOCKET_PATH, e->socket_path);
	/* What is configured for the web is not for an engine. */
	curl->setopt(easy, CURLOPT_PROXY, "");
	curl->setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl->setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl->setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl->setopt(easy, CURLOPT_SSL_VERIFYPEER, e->verify ? 1L : 0L);
	curl->setopt(easy, CURLOPT_SSL_VERIFYHOST, e->verify ? 2L : 0L);
	if (e->ca != NULL)
		curl->setopt(easy, CURLOPT_CAINFO, e->ca);
	if (e->cert != NULL)
		curl->setopt(easy, CURLOPT_SSLCERT, e->cert);
	if (e->key != NULL)
		curl->setopt(easy, CURLOPT_SSLKEY, e->key);
}

static void set_body(struct call *call, const char *json, struct curl_slist **headers)
{
	const struct engine_request *q = call->request;
	const struct engine_curl *curl = call->client->curl;
	const void *data = json != NULL ? json : q->raw;
	size_t len = json != NULL ? strlen(json) : q->raw_len;
	char type[128];

	if (data == NULL && strcmp(q->method, "POST") != 0 && strcmp(q->method, "PUT") != 0)
		return;
	snprintf(type, sizeof(type), "Content-Type: %s",
		 q->raw_type != NULL && json == NULL ? q->raw_type : "application/json");
	*headers = curl->slist_append(*headers, type);
	/* No body is asked to be announced and waited for. */
	*headers = curl->slist_append(*headers, "Expect:");
	curl->setopt(call->client->easy, CURLOPT_POSTFIELDS, data != NULL ? data : "");
	curl->setopt(call->client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
}

static CURLcode perform(struct call *call, const char *url, const char *json)
{
	const struct engine_request *q = call->request;
	const struct engine_curl *curl = call->client->curl;
	CURL *easy = call->client->easy;
	struct curl_slist *headers = NULL;
	char auth[4096];
	long status = 0;
	CURLcode code;

	engine_client_prepare(call->client, easy);
	curl->setopt(easy, CURLOPT_URL, url);
	set_body(call, json, &headers);
	if (q->auth != NULL && snprintf(auth, sizeof(auth), "X-Registry-Auth: %s", q->auth) < (int)sizeof(auth))
		headers = curl->slist_append(headers, auth);
	curl->setopt(easy, CURLOPT_CUSTOMREQUEST, q->method);
	curl->setopt(easy, CURLOPT_NOBODY, strcmp(q->method, "HEAD") == 0 ? 1L : 0L);
	curl->setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl->setopt(easy, CURLOPT_TIMEOUT_MS, (long)(q->timeout_ms ? q->timeout_ms : STANDARD_MS));
	curl->setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl->setopt(easy, CURLOPT_WRITEDATA, call);
	curl->setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl->setopt(easy, CURLOPT_HEADERDATA, call);
	code = curl->perform(easy);
	curl->getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	call->client->status = (unsigned int)status;
	curl->slist_free_all(headers);
	return code;
}

static int fail_transport(struct call *call, CURLcode code, struct sbx_error *err)
{
	const struct engine_client *client = call->client;
	const struct engine_request *q = call->request;
	char title[256];

	engine_client_title(client, title);
	if (call->stopped)
		return -(int)err->code;
	if (call->answer.failed)
		return sbx_fail(err, SBX_E_LIMIT, "%s answered %s %.128s with more than %u MiB", title,
				q->method, q->path, ANSWER_MAX >> 20);
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "there is no answer from %s (%s); %s", title,
				client->curl->strerror(code), client->flavor->start_hint);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return sbx_fail(err, SBX_E_TIMEOUT, "%s did not answer %s %.128s in time", title,
				q->method, q->path);
	return sbx_fail(err, SBX_E_UNAVAILABLE, "the connection to %s broke at %s %.128s: %s", title,
			q->method, q->path, client->curl->strerror(code));
}

static enum sbx_code code_of(unsigned int status)
{
	switch (status) {
	case 400:
		return SBX_E_INVALID;
	case 401:
	case 403:
		return SBX_E_DENIED;
	case 404:
		return SBX_E_NOT_FOUND;
	default:
		return SBX_E_UNAVAILABLE;
	}
}

/* Its own words: {"message": "…"}, Podman has "cause" beside it; else the text as it is. */
static int fail_status(struct call *call, const json_t *answer, struct sbx_error *err)
{
	unsigned int status = call->client->status;
	const char *message = json_string_value(json_object_get(answer, "message"));
	char title[256];

	if (message == NULL)
		message = call->answer.data ? call->answer.data : "it gave no reason";
	return sbx_fail(err, code_of(status), "%s refused (%u): %.700s",
			engine_client_title(call->client, title), status, message);
}

static int finish(struct call *call, json_t **ret, struct sbx_error *err)
{
	const char *text = call->answer.data;
	json_t *answer = text ? json_loadb(text, call->answer.len, JSON_DECODE_ANY, NULL) : NULL;
	unsigned int status = call->client->status;

	if (status >= 400 && status != call->request->accept) {
		int r = fail_status(call, answer, err);

		json_decref(answer);
		return r;
	}
	if (ret != NULL)
		*ret = answer;
	else
		json_decref(answer);
	return 0;
}

static int call_once(struct call *call, json_t **ret, struct sbx_error *err)
{
	const struct engine_request *q = call->request;
	struct engine_client *client = call->client;
	auto_free char *url = NULL, *json = NULL;
	CURLcode code;

	call->err = err;
	if (asprintf(&url, "%s%s%s%s", client->endpoint.url, client->version[0] ? "/v" : "",
		     client->version, q->path) < 0)
		url = NULL;
	if (q->body != NULL)
		json = json_dumps(q->body, JSON_COMPACT);
	if (url == NULL || (q->body != NULL && json == NULL))
		return sbx_fail_errno(err, ENOMEM, "cannot ask the engine for %.128s", q->path);
	code = perform(call, url, json);
	return code != CURLE_OK ? fail_transport(call, code, err) : finish(call, ret, err);
}

/* ---- the version ---- */

static int negotiate(struct engine_client *client, struct sbx_error *err)
{
	struct engine_request ping = {.method = "GET", .path = "/_ping", .timeout_ms = CONNECT_MS};
	struct call call = {
		.client = client, .request = &ping, .answer = SBX_BUF_INIT(ANSWER_MAX)};
	unsigned int major = 0, minor = 0;
	char title[256];
	int r = call_once(&call, NULL, err);

	sbx_buf_done(&call.answer);
	if (r < 0)
		return r;
	if (sscanf(call.version, "%u.%u", &major, &minor) != 2 || major != 1 || minor < OLDEST_VERSION)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"%s speaks API version '%.15s', and 1.%d is the oldest that will do; update it",
				engine_client_title(client, title), call.version, OLDEST_VERSION);
	snprintf(client->version, sizeof(client->version), "1.%u",
		 minor < NEWEST_VERSION ? minor : NEWEST_VERSION);
	return 0;
}

int engine_call(struct engine_client *client, const struct engine_request *request, json_t **ret,
		struct sbx_error *err)
{
	struct call call = {
		.client = client, .request = request, .answer = SBX_BUF_INIT(ANSWER_MAX)};
	int r = call_once(&call, ret, err);

	sbx_buf_done(&call.answer);
	return r;
}

unsigned int engine_status(const struct engine_client *client)
{
	long status = 0;

	/* While an answer comes in, its head has been read already. */
	client->curl->getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
	return (unsigned int)status;
}

const struct engine_flavor *engine_client_flavor(const struct engine_client *client)
{
	return client->flavor;
}

/* ---- open and close ---- */

static int open_client(struct engine_client *client, struct sbx_error *err)
{
	int r;

	client->curl = engine_curl_load(err);
	if (client->curl == NULL)
		return -(int)err->code;
	r = engine_endpoint_find(client->flavor, &client->endpoint, err);
	if (r < 0)
		return r;
	client->easy = client->curl->init();
	if (client->easy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot speak to an engine");
	return negotiate(client, err);
}

int engine_client_open(struct engine_client **ret, const struct engine_flavor *flavor,
		       struct sbx_error *err)
{
	struct engine_client *client = calloc(1, sizeof(*client));
	int r;

	if (client == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot speak to an engine");
	client->flavor = flavor;
	r = open_client(client, err);
	if (r < 0)
		engine_client_close(client);
	else
		*ret = client;
	return r;
}

void engine_client_close(struct engine_client *client)
{
	if (client == NULL)
		return;
	if (client->easy != NULL)
		client->curl->cleanup(client->easy);
	engine_endpoint_done(&client->endpoint);
	free(client);
}
