/* SPDX-License-Identifier: MIT */
#include "backend/engine/client_inside.h"

#include "backend/engine/known.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define ANSWER_MAX	(16u << 20)
#define HEADS_MAX	(64u << 10)
#define STANDARD_MS	60000
#define PING_MS		10000
#define LONG_MS		120000 /* a call that may take longer is watched */
#define SILENT_NS	(30 * SBX_NS_PER_S)
#define PROGRAM_MS	30000 /* a ping that has to wait for the ssh program */
#define OLDEST_VERSION	41 /* of 1.x: the first that has all that we use */
#define NEWEST_VERSION	45 /* the last that we know */

/* One request under way. */
struct call {
	struct engine_client *client;
	const struct engine_request *request;
	struct sbx_buf answer;
	struct sbx_error *err;
	bool stopped;	/* by on_piece; err is filled */
	bool given_up;	/* by whoever is watched */
	bool deaf;	/* the engine answers nothing else either */
	uint64_t heard_ns; /* when something moved last */
	curl_off_t moved;  /* how much had */
	size_t heads;	/* bytes of headers so far */
	bool podman;
	char version[16], type[64], place[128], server[64]; /* headers */
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

	if (call->request->on_piece == NULL || engine_status(call->client) >= 300) {
		sbx_buf_append(&call->answer, data, len);
		return call->answer.failed ? 0 : len;
	}
	call->stopped = call->request->on_piece(data, len, call->request->userdata, call->err) < 0;
	return call->stopped ? 0 : len;
}

static void note_header(struct call *call, const char *line)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} rows[] = {
		{"Api-Version:", call->version, sizeof(call->version)},
		{"Content-Type:", call->type, sizeof(call->type)},
		{"Location:", call->place, sizeof(call->place)},
		{"Server:", call->server, sizeof(call->server)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].name);

		if (strncasecmp(line, rows[i].name, len) == 0)
			engine_words_clean(line + len, strlen(line + len), rows[i].to, rows[i].size);
	}
	call->podman |= strncasecmp(line, "Libpod-API-Version:", 19) == 0;
}

static size_t on_header(char *data, size_t size, size_t count, void *userdata)
{
	struct call *call = userdata;
	size_t len = size * count;
	char line[256];

	/* Those of 1xx answers count as well, so that there is an end to them. */
	call->heads += len;
	snprintf(line, sizeof(line), "%.*s", (int)len, data);
	note_header(call, line);
	return call->heads > HEADS_MAX ? 0 : len;
}

/* What removes something is done all the same, and what makes a container: who else would know of it? */
static bool may_be_given_up(const struct engine_request *q)
{
	static const char creation[] = "/containers/create";

	return strcmp(q->method, "DELETE") != 0 && strncmp(q->path, creation, sizeof(creation) - 1) != 0;
}

/* By another connection: this one is for what takes so long. */
static bool is_deaf(const struct engine_client *client)
{
	struct engine_request ping = {.method = "HEAD", .path = "/_ping", .timeout_ms = PING_MS};
	struct engine_client *other = NULL;
	struct sbx_error ignored;
	int r = engine_client_open_again(client, &other, &ignored);

	if (r == 0)
		r = engine_call(other, &ping, NULL, &ignored);
	engine_client_close(other);
	return r < 0;
}

/* A pull or a build may be silent for long, and has a limit of its own: is there still somebody? */
static bool has_gone_deaf(struct call *call, curl_off_t moved)
{
	if (call->request->timeout_ms <= LONG_MS)
		return false;
	if (moved != call->moved || call->heard_ns == 0) {
		call->moved = moved;
		call->heard_ns = sbx_now_ns();
	}
	if (sbx_now_ns() - call->heard_ns < SILENT_NS)
		return false;
	call->heard_ns = sbx_now_ns();
	return is_deaf(call->client);
}

static bool has_hung_up(const struct engine_client *client)
{
	struct pollfd fd = {.fd = client->watch_fd};

	return fd.fd >= 0 && poll(&fd, 1, 0) > 0 && (fd.revents & (POLLHUP | POLLERR));
}

bool engine_client_is_given_up(const struct engine_client *client)
{
	return client->is_given_up != NULL && client->is_given_up(client->give_up_data);
}

static int on_progress(void *userdata, curl_off_t to_come, curl_off_t come, curl_off_t to_go, curl_off_t gone)
{
	struct call *call = userdata;
	const struct engine_client *client = call->client;

	(void)to_come, (void)to_go;
	call->given_up = has_hung_up(client) ||
			 (may_be_given_up(call->request) && engine_client_is_given_up(client));
	call->deaf = !call->given_up && has_gone_deaf(call, come + gone);
	return call->given_up || call->deaf;
}

/* ---- a call ---- */

static struct curl_slist *add_header(const struct call *call, struct curl_slist *headers,
				     const char *name, const char *value)
{
	auto_free char *line = NULL;

	if (asprintf(&line, "%s: %s", name, value) < 0)
		return headers;
	return call->client->curl->slist_append(headers, line) ?: headers;
}

static size_t fill_body(char *data, size_t size, size_t count, void *userdata)
{
	const struct engine_request *q = userdata;
	ssize_t n = q->fill(data, size * count, q->fill_data);

	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

static struct curl_slist *set_body(struct call *call, const char *json, struct curl_slist *headers)
{
	const struct engine_request *q = call->request;
	const struct engine_curl *curl = call->client->curl;
	const void *data = json != NULL ? json : q->raw;
	size_t len = json != NULL ? strlen(json) : q->raw_len;

	if (data == NULL && strcmp(q->method, "POST") != 0 && strcmp(q->method, "PUT") != 0)
		return headers;
	headers = add_header(call, headers, "Content-Type",
			     q->raw_type != NULL && json == NULL ? q->raw_type : "application/json");
	/* No body is asked to be announced and waited for. */
	headers = curl->slist_append(headers, "Expect:") ?: headers;
	if (q->fill != NULL) {
		/* A kept one may have been closed meanwhile, and what has gone into it cannot be had again. */
		curl->setopt(call->client->line->easy, CURLOPT_FRESH_CONNECT, 1L);
		curl->setopt(call->client->line->easy, CURLOPT_POST, 1L);
		curl->setopt(call->client->line->easy, CURLOPT_READFUNCTION, fill_body);
		curl->setopt(call->client->line->easy, CURLOPT_READDATA, q);
	} else {
		curl->setopt(call->client->line->easy, CURLOPT_POSTFIELDS, data != NULL ? data : "");
	}
	curl->setopt(call->client->line->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	return headers;
}

static void set_answer(struct call *call)
{
	const struct engine_curl *curl = call->client->curl;
	CURL *easy = call->client->line->easy;

	curl->setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl->setopt(easy, CURLOPT_WRITEDATA, call);
	curl->setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl->setopt(easy, CURLOPT_HEADERDATA, call);
	curl->setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl->setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl->setopt(easy, CURLOPT_XFERINFODATA, call);
}

static CURLcode perform(struct call *call, const char *url, const char *json)
{
	const struct engine_request *q = call->request;
	const struct engine_curl *curl = call->client->curl;
	struct engine_line *line = call->client->line;
	struct curl_slist *headers = NULL;
	struct engine_quiet quiet;
	long status = 0;
	CURLcode code;

	engine_line_prepare(call->client, line);
	curl->setopt(line->easy, CURLOPT_URL, url);
	headers = set_body(call, json, headers);
	if (q->auth != NULL)
		headers = add_header(call, headers, "X-Registry-Auth", q->auth);
	curl->setopt(line->easy, CURLOPT_CUSTOMREQUEST, q->method);
	curl->setopt(line->easy, CURLOPT_NOBODY, strcmp(q->method, "HEAD") == 0 ? 1L : 0L);
	curl->setopt(line->easy, CURLOPT_HTTPHEADER, headers);
	curl->setopt(line->easy, CURLOPT_TIMEOUT_MS,
		     (long)(q->timeout_ms ? q->timeout_ms : STANDARD_MS));
	set_answer(call);
	engine_quiet_begin(&quiet);
	code = curl->perform(line->easy);
	engine_quiet_end(&quiet);
	curl->getinfo(line->easy, CURLINFO_RESPONSE_CODE, &status);
	call->client->status = (unsigned int)status;
	call->client->broken |= code != CURLE_OK;
	curl->slist_free_all(headers);
	return code;
}

static bool is_connecting(CURLcode code)
{
	return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
	       code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
	       code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE ||
	       code == CURLE_SSL_ISSUER_ERROR;
}

/* For messages: what is behind the question mark is ours, and long. */
static int path_len(const char *path)
{
	size_t len = strcspn(path, "?");

	return (int)(len < 128 ? len : 128);
}

/* Who does not like a certificate of ours says so with an alert at best, after we believe to be connected. */
static const char *advise_tls(const struct engine_client *client)
{
	if (client->version[0] != '\0' || strncmp(client->endpoint.url, "https:", 6) != 0)
		return "";
	return client->endpoint.cert == NULL
		       ? "; it may want a certificate of yours (cert.pem and key.pem)"
		       : "; it may not take your certificate: look at who signed cert.pem, and until when it is good";
}

static int fail_transport(struct call *call, CURLcode code, struct sbx_error *err)
{
	const struct engine_client *client = call->client;
	const struct engine_request *q = call->request;
	const char *detail = client->line->detail;
	char title[256], words[256];

	engine_client_title(client, title);
	if (call->stopped)
		return -(int)err->code;
	if (call->given_up)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "%s %.128s was given up: the sandbox was ended",
				q->method, q->path);
	if (call->answer.failed)
		return sbx_fail(err, SBX_E_LIMIT, "%s answered %s %.128s with more than %u MiB", title,
				q->method, q->path, ANSWER_MAX >> 20);
	if (call->heads > HEADS_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "%s answered %s %.128s with more than %u KiB of headers",
				title, q->method, q->path, HEADS_MAX >> 10);
	if (call->deaf)
		return sbx_fail(err, SBX_E_TIMEOUT,
				"%s has stopped answering in the middle of %s %.*s: is it busy, or stuck? Look at "
				"it, or restart it",
				title, q->method, path_len(q->path), q->path);
	if (code == CURLE_OPERATION_TIMEDOUT) {
		engine_known_suspect(client->key);
		return sbx_fail(err, SBX_E_TIMEOUT,
				"%s did not answer %s %.*s within %g s: is it busy, or stuck?", title,
				q->method, path_len(q->path), q->path,
				(double)(q->timeout_ms ? q->timeout_ms : STANDARD_MS) / 1000);
	}
	/* The ssh program connects while the first question waits. */
	if (is_connecting(code) || (client->endpoint.command != NULL &&
				    (client->version[0] == '\0' || client->line->words[0] != '\0')))
		return engine_line_fail(client, client->line, code, err);
	if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
		return sbx_fail(err, SBX_E_PROTOCOL,
				"what listens at %s does not speak HTTP, so it is no container engine; look at %s",
				client->endpoint.name, client->endpoint.source);
	/* What was asked for may have come to be all the same. */
	if (strcmp(q->method, "GET") != 0)
		engine_known_suspect(client->key);
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"the connection to %s broke at %s %.*s: %s%s; has it been restarted? Then try again", title,
			q->method, path_len(q->path), q->path,
			detail[0] ? engine_words_clean(detail, strlen(detail), words, sizeof(words))
				  : client->curl->strerror(code),
			advise_tls(client));
}

/* ---- the answer ---- */

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

static json_t *parse(const char *text, size_t len)
{
	return text != NULL ? json_loadb(text, len, JSON_DECODE_ANY, NULL) : NULL;
}

/* Its own words: {"message": "…"}, Podman has "cause" beside it; else the text as it is. */
int engine_client_refused(const struct engine_client *client, unsigned int status, const char *text,
			  size_t len, struct sbx_error *err)
{
	json_t *answer = parse(text, len);
	const char *message = json_string_value(json_object_get(answer, "message"));
	char title[256], words[ENGINE_WORDS_MAX];

	if (message != NULL)
		engine_words_clean(message, strlen(message), words, sizeof(words));
	else
		engine_words_clean(text ? text : "", text ? len : 0, words, sizeof(words));
	json_decref(answer);
	if (strstr(words, "Minimum supported API version") != NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"%s is too new for this program, which knows API versions 1.%d to 1.%d: %s",
				engine_client_title(client, title), OLDEST_VERSION, NEWEST_VERSION, words);
	return sbx_fail(err, code_of(status), "%s refused (%u): %s", engine_client_title(client, title),
			status, words[0] ? words : "it gave no reason");
}

static int fail_redirect(const struct call *call, struct sbx_error *err)
{
	char title[256];

	return sbx_fail(err, SBX_E_PROTOCOL,
			"%s answered %s %.128s with a redirect to '%s', which is not followed; name that in %s "
			"if it is right",
			engine_client_title(call->client, title), call->request->method,
			call->request->path, call->place, call->client->asked->host_variable);
}

static int fail_json(const struct call *call, struct sbx_error *err)
{
	char title[256];

	return sbx_fail(err, SBX_E_PROTOCOL,
			"%s answered %s %.128s with something that is not well-formed JSON (%s)",
			engine_client_title(call->client, title), call->request->method,
			call->request->path, call->type[0] ? call->type : "of no type");
}

static int finish(struct call *call, json_t **ret, struct sbx_error *err)
{
	unsigned int status = call->client->status;
	json_t *answer = NULL;

	if (status >= 400 && status != call->request->accept)
		return engine_client_refused(call->client, status, call->answer.data, call->answer.len,
					     err);
	/* 304: what was asked for is so already. */
	if (status >= 300 && status < 400 && status != 304 && status != call->request->accept)
		return fail_redirect(call, err);
	if (ret == NULL)
		return 0;
	answer = parse(call->answer.data, call->answer.len);
	if (answer == NULL && call->answer.len > 0)
		return fail_json(call, err);
	*ret = answer;
	return 0;
}

/* What callers put together of names that a user gave must not become lines of HTTP. */
static bool is_sendable(const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

static int call_once(struct call *call, json_t **ret, struct sbx_error *err)
{
	const struct engine_request *q = call->request;
	struct engine_client *client = call->client;
	auto_free char *url = NULL, *json = NULL;
	CURLcode code;

	call->err = err;
	if (!is_sendable(q->path) || !is_sendable(q->auth))
		return sbx_fail(err, SBX_E_INVALID, "'%.200s' cannot be asked of an engine", q->path);
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

static int fail_version(const struct call *call, struct sbx_error *err)
{
	char title[256];

	if (call->version[0] == '\0')
		return sbx_fail(err, SBX_E_PROTOCOL,
				"what answers at %s is no container engine (%s%s): it names no API version; "
				"look at %s",
				call->client->endpoint.name, call->server[0] ? "it calls itself " : "nameless",
				call->server, call->client->endpoint.source);
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"%s speaks API version '%.15s', and 1.%d is the oldest that will do; update it",
			engine_client_title(call->client, title), call->version, OLDEST_VERSION);
}

static int take_version(struct call *call, struct sbx_error *err)
{
	struct engine_client *client = call->client;
	unsigned int major = 0, minor = 0;

	if (call->version[0] != '\0')
		client->flavor = call->podman ? &engine_podman : &engine_docker;
	if (sscanf(call->version, "%u.%u", &major, &minor) != 2 || major != 1 || minor < OLDEST_VERSION)
		return fail_version(call, err);
	snprintf(client->version, sizeof(client->version), "1.%u",
		 minor < NEWEST_VERSION ? minor : NEWEST_VERSION);
	engine_known_set(client->key, client->flavor, client->version);
	return 0;
}

/* It says so itself, and in the plain. */
static int fail_plain(const struct engine_client *client, struct sbx_error *err)
{
	char title[256];

	return sbx_fail(err, SBX_E_INVALID,
			"%s wants TLS, and %s asks for none%s", engine_client_title(client, title),
			client->endpoint.source,
			client->asked->contexts ? "; set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder "
						  "with ca.pem, cert.pem and key.pem"
						: "");
}

static int negotiate(struct engine_client *client, struct sbx_error *err)
{
	struct engine_request ping = {
		.method = "GET",
		.path = "/_ping",
		.timeout_ms = client->endpoint.command != NULL ? PROGRAM_MS : PING_MS,
	};
	struct call call = {
		.client = client, .request = &ping, .answer = SBX_BUF_INIT(ANSWER_MAX)};
	bool wants_tls;
	int r;

	client->version[0] = '\0';
	r = call_once(&call, NULL, err);
	wants_tls = client->status == 400 && call.answer.data != NULL &&
		    strstr(call.answer.data, "HTTP request to an HTTPS server") != NULL;
	sbx_buf_done(&call.answer);
	if (r < 0 && wants_tls)
		return fail_plain(client, err);
	/* A web server's 404 is less of an answer than that it is one. */
	if (r < 0 && call.version[0] == '\0' && client->status >= 300 && client->status < 500)
		return fail_version(&call, err);
	return r < 0 ? r : take_version(&call, err);
}

/* An engine that was replaced by another one since its version was asked for says so. */
static bool is_of_version(const struct call *call)
{
	return call->client->status == 400 && call->answer.data != NULL &&
	       strstr(call->answer.data, "supported API version") != NULL;
}

int engine_call(struct engine_client *client, const struct engine_request *request, json_t **ret,
		struct sbx_error *err)
{
	int r;

	for (int i = 0;; i++) {
		struct call call = {
			.client = client, .request = request, .answer = SBX_BUF_INIT(ANSWER_MAX)};
		bool again;

		r = call_once(&call, ret, err);
		again = r < 0 && i == 0 && is_of_version(&call);
		sbx_buf_done(&call.answer);
		if (!again)
			return r;
		r = negotiate(client, err);
		if (r < 0)
			return r;
	}
}

const json_t *engine_find(const json_t *list, const char *key, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		if (strcmp(json_string_value(json_object_get(item, key)) ?: "", text) == 0)
			return item;
	}
	return NULL;
}

unsigned int engine_status(const struct engine_client *client)
{
	long status = 0;

	/* While an answer comes in, its head has been read already. */
	client->curl->getinfo(client->line->easy, CURLINFO_RESPONSE_CODE, &status);
	return (unsigned int)status;
}

const struct engine_flavor *engine_client_flavor(const struct engine_client *client)
{
	return client->flavor;
}

bool engine_client_is_local(const struct engine_client *client)
{
	return client->endpoint.socket_path != NULL;
}

bool engine_client_is_private(const struct engine_client *client)
{
	return engine_endpoint_is_private(&client->endpoint);
}

const char *engine_client_address(const struct engine_client *client)
{
	return client->endpoint.name;
}

bool engine_client_owner(const struct engine_client *client, uid_t *ret)
{
	struct stat st;

	if (client->endpoint.socket_path == NULL || stat(client->endpoint.socket_path, &st) < 0)
		return false;
	*ret = st.st_uid;
	return true;
}

const char *engine_client_key(const struct engine_client *client)
{
	return client->key;
}

void engine_client_give_up_when(struct engine_client *client, bool (*is_given_up)(const void *userdata),
				const void *userdata)
{
	client->is_given_up = is_given_up;
	client->give_up_data = userdata;
}

void engine_client_watch(struct engine_client *client, int fd)
{
	client->watch_fd = fd;
}

/* ---- open and close ---- */

/* Two programs at one host are two engines. */
static int name_key(struct engine_client *client, struct sbx_error *err)
{
	const struct engine_endpoint *e = &client->endpoint;
	auto_buf struct sbx_buf key = SBX_BUF_INIT(1u << 20);

	sbx_buf_printf(&key, "%s %s %s %s %s %d", e->name, e->url, e->ca ?: "", e->cert ?: "",
		       e->key ?: "", e->verify);
	for (size_t i = 0; e->command != NULL && e->command[i] != NULL; i++)
		sbx_buf_printf(&key, " %s", e->command[i]);
	client->key = sbx_buf_take(&key);
	return client->key != NULL ? 0 : sbx_fail_errno(err, ENOMEM, "cannot speak to an engine");
}

static int connect_client(struct engine_client *client, struct sbx_error *err)
{
	struct engine_known known;

	client->line = engine_known_take(client->key) ?: engine_line_new(client->curl);
	if (client->line == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot speak to an engine");
	known = engine_known_get(client->key);
	if (known.flavor == NULL)
		return negotiate(client, err);
	client->flavor = known.flavor;
	memcpy(client->version, known.version, sizeof(client->version));
	return 0;
}

/* The endpoint becomes the client's, also where this fails. */
static int open_client(const struct engine_flavor *flavor, struct engine_endpoint *endpoint,
		       struct engine_client **ret, struct sbx_error *err)
{
	struct engine_client *client = calloc(1, sizeof(*client));
	int r;

	if (client == NULL) {
		engine_endpoint_done(endpoint);
		return sbx_fail_errno(err, ENOMEM, "cannot speak to an engine");
	}
	client->asked = client->flavor = flavor;
	client->endpoint = *endpoint;
	client->watch_fd = -1;
	client->curl = engine_curl_load(err);
	r = client->curl != NULL ? name_key(client, err) : -(int)err->code;
	if (r == 0)
		r = connect_client(client, err);
	if (r < 0)
		engine_client_close(client);
	else
		*ret = client;
	return r;
}

int engine_client_open(struct engine_client **ret, const struct engine_flavor *flavor,
		       struct sbx_error *err)
{
	struct engine_endpoint endpoint;
	int r = engine_endpoint_find(flavor, &endpoint, err);

	return r < 0 ? r : open_client(flavor, &endpoint, ret, err);
}

int engine_client_open_again(const struct engine_client *client, struct engine_client **ret,
			     struct sbx_error *err)
{
	struct engine_endpoint endpoint;
	int r = engine_endpoint_copy(&client->endpoint, &endpoint, err);

	return r < 0 ? r : open_client(client->asked, &endpoint, ret, err);
}

void engine_client_close(struct engine_client *client)
{
	if (client == NULL)
		return;
	if (client->line != NULL && (client->broken || !engine_known_keep(client->key, client->line)))
		engine_line_free(client->curl, client->line);
	engine_endpoint_done(&client->endpoint);
	free(client->key);
	free(client);
}
