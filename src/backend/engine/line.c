/* SPDX-License-Identifier: MIT */
/* One connection to an engine, as libcurl has it, and why there is none. */
#include "backend/engine/client_inside.h"

#include "base/auto.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 10000

struct engine_line *engine_line_new(const struct engine_curl *curl)
{
	struct engine_line *line = calloc(1, sizeof(*line));

	if (line == NULL)
		return NULL;
	for (size_t i = 0; i < ENGINE_LINE_CHILDREN; i++)
		line->children[i].fd = -1;
	line->easy = curl->init();
	if (line->easy == NULL) {
		free(line);
		line = NULL;
	}
	return line;
}

void engine_line_free(const struct engine_curl *curl, struct engine_line *line)
{
	struct engine_quiet quiet;

	if (line == NULL)
		return;
	engine_quiet_begin(&quiet);
	curl->cleanup(line->easy);
	engine_quiet_end(&quiet);
	free(line);
}

/* ---- signals ---- */

static bool sigpipe_is_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
}

void engine_quiet_begin(struct engine_quiet *quiet)
{
	sigset_t sigpipe;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	quiet->was_pending = sigpipe_is_pending();
	pthread_sigmask(SIG_BLOCK, &sigpipe, &quiet->before);
}

void engine_quiet_end(const struct engine_quiet *quiet)
{
	const struct timespec now = {0};
	sigset_t sigpipe;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	/* It was not there before, so it is ours to forget. */
	if (!quiet->was_pending && sigpipe_is_pending()) {
		while (sigtimedwait(&sigpipe, NULL, &now) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

/*
 * libcurl's own may be inherited by every program that is started: which could then do with the engine
 * what it likes, and would keep a container alive whose owner is gone.
 */
static curl_socket_t open_socket(void *userdata, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)userdata, (void)purpose;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- over a program ---- */

static curl_socket_t open_child(void *userdata, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct engine_line *line = userdata;
	struct sbx_error err;

	(void)purpose, (void)address;
	for (size_t i = 0; i < ENGINE_LINE_CHILDREN; i++) {
		auto_close int fd = -1;

		if (line->children[i].fd >= 0)
			continue;
		line->words[0] = '\0';
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return CURL_SOCKET_BAD;
		if (engine_ssh_start(line->command, &line->door, fd, &line->children[i], &err) < 0) {
			snprintf(line->words, sizeof(line->words), "%s", err.msg);
			return CURL_SOCKET_BAD;
		}
		return take_fd(fd);
	}
	return CURL_SOCKET_BAD;
}

static int close_child(void *userdata, curl_socket_t fd)
{
	struct engine_line *line = userdata;

	close(fd);
	for (size_t i = 0; i < ENGINE_LINE_CHILDREN; i++) {
		if (line->children[i].fd != fd)
			continue;
		engine_ssh_end(&line->children[i], line->words);
		/* Where the program never came to open it. */
		unlink(line->door.path);
	}
	return 0;
}

static void prepare_program(const struct engine_client *client, struct engine_line *line)
{
	const struct engine_curl *curl = client->curl;

	if (line->door.path[0] == '\0')
		engine_door_name(&line->door);
	line->command = client->endpoint.command;
	curl->setopt(line->easy, CURLOPT_UNIX_SOCKET_PATH, line->door.path);
	curl->setopt(line->easy, CURLOPT_OPENSOCKETFUNCTION, open_child);
	curl->setopt(line->easy, CURLOPT_OPENSOCKETDATA, line);
	curl->setopt(line->easy, CURLOPT_CLOSESOCKETFUNCTION, close_child);
	curl->setopt(line->easy, CURLOPT_CLOSESOCKETDATA, line);
}

/* ---- any ---- */

static void prepare_tls(const struct engine_endpoint *e, const struct engine_curl *curl, CURL *easy)
{
	curl->setopt(easy, CURLOPT_SSL_VERIFYPEER, e->verify ? 1L : 0L);
	curl->setopt(easy, CURLOPT_SSL_VERIFYHOST, e->verify ? 2L : 0L);
	if (e->ca != NULL)
		curl->setopt(easy, CURLOPT_CAINFO, e->ca);
	if (e->cert != NULL)
		curl->setopt(easy, CURLOPT_SSLCERT, e->cert);
	if (e->key != NULL)
		curl->setopt(easy, CURLOPT_SSLKEY, e->key);
}

void engine_line_prepare(const struct engine_client *client, struct engine_line *line)
{
	const struct engine_endpoint *e = &client->endpoint;
	const struct engine_curl *curl = client->curl;
	CURL *easy = line->easy;

	curl->reset(easy);
	line->detail[0] = '\0';
	curl->setopt(easy, CURLOPT_ERRORBUFFER, line->detail);
	curl->setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	if (e->socket_path != NULL)
		curl->setopt(easy, CURLOPT_UNIX_SOCKET_PATH, e->socket_path);
	if (e->command != NULL)
		prepare_program(client, line);
	/* What is configured for the web is not for an engine. */
	curl->setopt(easy, CURLOPT_PROXY, "");
	curl->setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl->setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl->setopt(easy, CURLOPT_MAXCONNECTS, 1L);
	curl->setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl->setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	prepare_tls(e, curl, easy);
}

/* ---- why there is none ---- */

static int fail_permission(const struct engine_client *client, struct sbx_error *err)
{
	const char *path = client->endpoint.socket_path;
	struct group group, *found = NULL;
	char names[4096], title[256];
	struct stat st;

	engine_client_title(client, title);
	if (stat(path, &st) == 0 && st.st_gid != 0 && (st.st_mode & S_IWGRP) != 0 &&
	    getgrgid_r(st.st_gid, &group, names, sizeof(names), &found) == 0 && found != NULL)
		return sbx_fail(err, SBX_E_DENIED,
				"you may not use %s: permission denied; it is for the group '%s': join that "
				"(usermod -aG %s, then log in anew), or let %s name an engine of your own",
				title, group.gr_name, group.gr_name, client->asked->host_variable);
	return sbx_fail(err, SBX_E_DENIED,
			"you may not use %s: permission denied; it is for its owner alone: let %s name an "
			"engine of your own",
			title, client->asked->host_variable);
}

static int fail_tls(const struct engine_client *client, const struct engine_line *line,
		    CURLcode code, struct sbx_error *err)
{
	char title[256], words[256];

	return sbx_fail(err, SBX_E_DENIED,
			"TLS with %s failed: %s; look at ca.pem, cert.pem and key.pem of %s",
			engine_client_title(client, title),
			line->detail[0] ? engine_words_clean(line->detail, strlen(line->detail), words,
							     sizeof(words))
					: client->curl->strerror(code),
			client->endpoint.ca != NULL ? client->endpoint.ca : "DOCKER_CERT_PATH");
}

int engine_line_fail(const struct engine_client *client, const struct engine_line *line,
		     CURLcode code, struct sbx_error *err)
{
	const char *reason = client->curl->strerror(code);
	char title[256];
	long sys_errno = 0;

	engine_client_title(client, title);
	client->curl->getinfo(line->easy, CURLINFO_OS_ERRNO, &sys_errno);
	if (client->endpoint.command != NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "there is no answer from %s (%s): %s", title,
				client->endpoint.source,
				line->words[0] ? line->words
					       : "the ssh program ended without a word; is the engine's "
						 "command line installed there?");
	if (client->endpoint.socket_path != NULL && (sys_errno == EACCES || sys_errno == EPERM))
		return fail_permission(client, err);
	if (code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
	    code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE ||
	    code == CURLE_SSL_ISSUER_ERROR)
		return fail_tls(client, line, code, err);
	if (sys_errno != 0)
		reason = strerror((int)sys_errno);
	return sbx_fail(err, SBX_E_UNAVAILABLE, "there is no answer from %s (%s): %s; %s", title,
			client->endpoint.source, reason, client->asked->start_hint);
}
