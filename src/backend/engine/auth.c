/* SPDX-License-Identifier: MIT */
#include "backend/engine/auth.h"

#include "backend/engine/docker_context.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFIG_MAX (1u << 20)
#define ANSWER_MAX 65536u
#define LOGIN_MAX  32768u
#define HELPER_MS  30000

extern char **environ;

/* ---- the file ---- */

static int read_config(json_t **ret, struct sbx_error *err)
{
	auto_free char *folder = engine_docker_context_folder(), *path = NULL, *text = NULL;
	auto_close int fd = -1;
	json_error_t where;
	size_t len;

	*ret = NULL;
	if (folder == NULL)
		return 0;
	if (asprintf(&path, "%s/config.json", folder) < 0) {
		path = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot find the registry's log-in");
	}
	/* A link is followed: the folder is the user's own. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot find the registry's log-in: cannot open '%.256s'",
				      path);
	if (sbx_read_stream(fd, path, CONFIG_MAX, &text, &len, err) < 0)
		return sbx_wrap(err, "cannot find the registry's log-in");
	*ret = json_loadb(text, len, 0, &where);
	/* What jansson says of it has a piece of the file, which may be a secret. */
	if (*ret == NULL)
		return sbx_fail(err, SBX_E_INVALID, "'%.256s' is not well-formed JSON (line %d)", path,
				where.line);
	return 0;
}

/* ---- which registry ---- */

struct registry {
	char name[256];	  /* "" for none */
	bool is_standard; /* the engine says that it is, of an image that names none */
};

/* "https://host/v1/": under such a key log-ins of the standard registry are kept, and of no other today. */
static bool is_standard_key(const char *text)
{
	static const char scheme[] = "https://", path[] = "/v1/";
	size_t len;

	if (strncmp(text, scheme, strlen(scheme)) != 0)
		return false;
	text += strlen(scheme);
	len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:");
	return len > 0 && strcmp(text + len, path) == 0;
}

/*
 * What an image of no registry is of is for the engine to say. One that is hostile would name the
 * registry whose log-in it wants: nothing but the key of a standard one is believed.
 */
static void ask_standard(struct engine_client *client, struct registry *ret)
{
	struct sbx_error ignored;
	json_t *info = NULL;
	const char *address;

	if (engine_call(client, &(struct engine_request){.method = "GET", .path = "/info"}, &info,
			&ignored) == 0) {
		address = json_string_value(json_object_get(info, "IndexServerAddress"));
		if (address != NULL && strlen(address) < sizeof(ret->name) && is_standard_key(address))
			snprintf(ret->name, sizeof(ret->name), "%s", address);
	}
	ret->is_standard = true;
	json_decref(info);
}

/* A first component with a dot or a port, or "localhost", names a registry. */
static void find_registry(struct engine_client *client, const char *image, struct registry *ret)
{
	size_t len = strcspn(image, "/");
	bool has_mark = memchr(image, '.', len) != NULL || memchr(image, ':', len) != NULL;

	*ret = (struct registry){0};
	if (image[len] == '/' && (has_mark || strncmp(image, "localhost/", 10) == 0))
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)len, image);
	else
		ask_standard(client, ret);
}

/* The same host, whatever scheme and path are around it. */
static bool is_same_host(const char *a, const char *b)
{
	const char *scheme;
	size_t len;

	scheme = strstr(a, "://");
	a = scheme ? scheme + 3 : a;
	scheme = strstr(b, "://");
	b = scheme ? scheme + 3 : b;
	len = strcspn(a, "/");
	return len == strcspn(b, "/") && strncmp(a, b, len) == 0;
}

/* Whether what is kept under this key is for the registry: of one that the engine has named, for no other. */
static bool is_for(const char *key, const struct registry *registry)
{
	return registry->is_standard ? strcmp(key, registry->name) == 0
				     : is_same_host(key, registry->name);
}

/* ---- a helper ---- */

static bool is_program_name(const char *name)
{
	if (name[0] == '\0' || name[0] == '-' || strlen(name) > 64)
		return false;
	for (; *name != '\0'; name++) {
		if (!isalnum((unsigned char)*name) && strchr("-_.", *name) == NULL)
			return false;
	}
	return true;
}

static int start_helper(const char *program, int fd, pid_t *ret)
{
	char *argv[] = {(char *)program, (char *)"get", NULL};
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	r = posix_spawnp(ret, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* Say the registry, and read what comes until the end, HELPER_MS at most, and no more than it may be. */
static void talk(int fd, const char *registry, struct sbx_buf *answer)
{
	char data[4096];
	ssize_t n = send(fd, registry, strlen(registry), MSG_NOSIGNAL);
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint64_t deadline_ns = sbx_deadline_ns(HELPER_MS);

	if (n != (ssize_t)strlen(registry))
		return;
	shutdown(fd, SHUT_WR);
	while (!answer->failed && poll(&poll_fd, 1, sbx_poll_ms(deadline_ns)) > 0 &&
	       (n = read(fd, data, sizeof(data))) > 0)
		sbx_buf_append(answer, data, (size_t)n);
}

static int run_helper(const char *name, const char *registry, json_t **ret, struct sbx_error *err)
{
	auto_buf struct sbx_buf answer = SBX_BUF_INIT(ANSWER_MAX);
	char program[128];
	int fds[2], status = 0, r;
	pid_t pid;

	if (!is_program_name(name))
		return sbx_fail(err, SBX_E_INVALID, "'%.64s' is no name of a credential helper", name);
	snprintf(program, sizeof(program), "docker-credential-%s", name);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return sbx_fail_errno(err, errno, "cannot talk to '%s'", program);
	r = start_helper(program, fds[1], &pid);
	close(fds[1]);
	if (r == 0) {
		talk(fds[0], registry, &answer);
		kill(pid, SIGKILL); /* it has said all, or is late */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fds[0]);
	if (r != 0)
		return sbx_fail_errno(err, r, "cannot start the credential helper '%s'", program);
	/* Whoever has not logged in there is told so in words, and is nobody. */
	*ret = answer.data && !answer.failed ? json_loadb(answer.data, answer.len, 0, NULL) : NULL;
	return 0;
}

static int ask_helper(const char *name, const char *registry, json_t **ret, struct sbx_error *err)
{
	json_t *answer = NULL;
	const char *user, *secret;
	int r = run_helper(name, registry, &answer, err);

	if (r < 0)
		return r;
	user = json_string_value(json_object_get(answer, "Username"));
	secret = json_string_value(json_object_get(answer, "Secret"));
	/* A name like this says that the secret is a token. */
	if (user != NULL && secret != NULL && strcmp(user, "<token>") == 0)
		*ret = json_pack("{s:s, s:s}", "identitytoken", secret, "serveraddress", registry);
	else if (user != NULL && secret != NULL)
		*ret = json_pack("{s:s, s:s, s:s}", "username", user, "password", secret,
				 "serveraddress", registry);
	json_decref(answer);
	return 0;
}

/* ---- what the file itself has ---- */

static json_t *decode(const json_t *entry, const char *registry)
{
	const char *auth = json_string_value(json_object_get(entry, "auth"));
	const char *token = json_string_value(json_object_get(entry, "identitytoken"));
	auto_buf struct sbx_buf text = SBX_BUF_INIT(LOGIN_MAX);
	char *colon;

	if (token != NULL && token[0] != '\0')
		return json_pack("{s:s, s:s}", "identitytoken", token, "serveraddress", registry);
	if (auth == NULL || !sbx_text_decode_base64(&text, auth, strlen(auth)) || text.failed ||
	    text.data == NULL)
		return NULL;
	colon = strchr(text.data, ':');
	if (colon == NULL)
		return NULL;
	*colon = '\0';
	return json_pack("{s:s, s:s, s:s}", "username", text.data, "password", colon + 1,
			 "serveraddress", registry);
}

/* What a store has of a registry that the user has named it gives; of others, what the file says is there. */
static bool may_be_stored(const json_t *config, const struct registry *registry)
{
	return !registry->is_standard ||
	       json_object_get(json_object_get(config, "auths"), registry->name) != NULL;
}

static int find_login(const json_t *config, const struct registry *registry, json_t **ret,
		      struct sbx_error *err)
{
	const json_t *helpers = json_object_get(config, "credHelpers");
	const char *store = json_string_value(json_object_get(config, "credsStore")), *key;
	json_t *entry;

	json_object_foreach((json_t *)helpers, key, entry) {
		if (is_for(key, registry) && json_is_string(entry))
			return ask_helper(json_string_value(entry), registry->name, ret, err);
	}
	if (store != NULL && store[0] != '\0')
		return may_be_stored(config, registry) ? ask_helper(store, registry->name, ret, err) : 0;
	json_object_foreach(json_object_get(config, "auths"), key, entry) {
		if (*ret == NULL && is_for(key, registry))
			*ret = decode(entry, registry->name);
	}
	return 0;
}

/* In a header: base64 with the letters of RFC 4648 section 5. */
static int encode(const json_t *login, char **ret, struct sbx_error *err)
{
	auto_buf struct sbx_buf out = SBX_BUF_INIT(ANSWER_MAX);
	auto_free char *text = json_dumps(login, JSON_COMPACT);

	if (text != NULL)
		sbx_text_append_base64(&out, text, strlen(text));
	for (size_t i = 0; i < out.len; i++)
		out.data[i] = out.data[i] == '+' ? '-' : out.data[i] == '/' ? '_' : out.data[i];
	*ret = text != NULL ? sbx_buf_take(&out) : NULL;
	return *ret == NULL ? sbx_fail_errno(err, ENOMEM, "cannot log in") : 0;
}

int engine_auth_find(struct engine_client *client, const char *image, char **ret,
		     struct sbx_error *err)
{
	json_t *config, *login = NULL;
	struct registry registry;
	int r = read_config(&config, err);

	*ret = NULL;
	if (r < 0 || config == NULL)
		return r;
	find_registry(client, image, &registry);
	if (registry.name[0] != '\0')
		r = find_login(config, &registry, &login, err);
	if (r == 0 && login != NULL)
		r = encode(login, ret, err);
	json_decref(login);
	json_decref(config);
	return r;
}
