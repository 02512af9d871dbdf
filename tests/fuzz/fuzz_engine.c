/* SPDX-License-Identifier: MIT */
/*
 * What the client of container engines reads, besides HTTP: hosts, names of images, Docker's files,
 * .dockerignore, runtime_configs, an image's variables, progress, and words. Whatever comes ends in
 * an outcome or an error, and no outcome has in it what has no place there.
 * Built with clang it is a libFuzzer target; with SBX_FUZZ_MAIN it puts inputs together itself.
 */
#include "random.h"

#include "backend/engine/auth.h"
#include "backend/engine/container.h"
#include "backend/engine/docker_context.h"
#include "backend/engine/endpoint.h"
#include "backend/engine/ignore.h"
#include "backend/engine/image.h"
#include "backend/engine/words.h"
#include "backend/image_env.h"
#include "base/strv.h"
#include "base/text.h"

#include <llmsandbox/container.h>

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

/* In memory where there is such a place: it is written very often. */
static char folder[64];

static void must(bool condition)
{
	if (!condition)
		abort();
}

static bool is_plain(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

/* ---- where it is ---- */

static void check_endpoint(const struct engine_flavor *flavor)
{
	struct engine_endpoint e, copy;
	struct sbx_error err;

	if (engine_endpoint_find(flavor, &e, &err) < 0)
		return;
	must(strncmp(e.url, "http://", 7) == 0 || strncmp(e.url, "https://", 8) == 0);
	must(is_plain(e.url) && strchr(e.url, '@') == NULL && strchr(e.url, '?') == NULL);
	if (e.command != NULL) {
		size_t at = 0;

		while (strcmp(e.command[at], "--") != 0)
			at++;
		must(e.command[at + 1][0] != '-');
		for (; e.command[at] != NULL; at++)
			must(strpbrk(e.command[at], " ;&|$`\"'\\\n<>()") == NULL);
	}
	must(engine_endpoint_copy(&e, &copy, &err) == 0);
	engine_endpoint_done(&copy);
	engine_endpoint_done(&e);
}

static void try_host(const char *text, size_t len)
{
	(void)len;
	setenv("DOCKER_HOST", text, 1);
	check_endpoint(&engine_docker);
	unsetenv("DOCKER_HOST");
	setenv("CONTAINER_HOST", text, 1);
	check_endpoint(&engine_podman);
}

static void write_config(const char *text, size_t len)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/config.json", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static void try_context(const char *text, size_t len)
{
	struct engine_docker_context c = {0};
	struct sbx_error err;

	write_config(text, len);
	if (engine_docker_context_find(&c, &err) == 0)
		engine_docker_context_done(&c);
}

static void try_login(const char *text, size_t len)
{
	struct sbx_error err;
	char *auth = NULL;

	write_config(text, len);
	if (engine_auth_find(NULL, "host.example/box", &auth, &err) == 0 && auth != NULL)
		must(is_plain(auth) && strpbrk(auth, "+/") == NULL);
	free(auth);
}

/* ---- images ---- */

static void try_image(const char *text, size_t len)
{
	struct sbx_spec *spec;

	(void)len;
	must(sbx_spec_new(&spec, NULL) == 0);
	if (text[0] != '/' && text[0] != '.' && sbx_spec_set_image(spec, text, NULL) == 0)
		must(strpbrk(text, "?&#%\\ \r\n") == NULL && strstr(text, "..") == NULL);
	if (sbx_spec_set_container(spec, text, NULL) == 0)
		must(strpbrk(text, "/?&#%\\ \r\n") == NULL);
	sbx_spec_free(spec);
}

static void try_env(const char *text, size_t len)
{
	json_t *list = json_loadb(text, len, JSON_DECODE_ANY, NULL);
	char **env = NULL;
	struct sbx_error err;

	if (sbx_image_env_make(list, "base", &env, &err) == 0) {
		for (size_t i = 0; env[i] != NULL; i++)
			must(strchr(env[i], '=') != NULL && env[i][0] != '=');
		sbx_strv_free(env);
	}
	json_decref(list);
}

static void try_configs(const char *text, size_t len)
{
	struct sbx_spec *spec;
	struct sbx_error err;
	json_t *made;

	(void)len;
	must(sbx_spec_new(&spec, NULL) == 0 && sbx_spec_set_backend(spec, "docker", NULL) == 0);
	if (sbx_spec_set_runtime_configs(spec, text, &err) == 0) {
		made = engine_container_describe(&engine_docker, spec, "x", &err);
		json_decref(made);
		made = engine_container_describe(&engine_podman, spec, "x", &err);
		json_decref(made);
	}
	sbx_spec_free(spec);
}

/* ---- .dockerignore ---- */

/* The same as it is written down, for patterns that are clean: it may take for ever. */
static bool fits(const char *pattern, const char *path)
{
	char want[512], have[512];
	size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");
	const char *pattern_rest = pattern + n + (pattern[n] == '/');
	const char *path_rest = path + m + (path[m] == '/');

	if (pattern[0] == '\0')
		return true;
	snprintf(want, sizeof(want), "%.*s", (int)n, pattern);
	snprintf(have, sizeof(have), "%.*s", (int)m, path);
	if (strncmp(want, "**", 2) == 0) {
		const char *behind = n == 2 ? pattern_rest : pattern + 1;

		if (behind[0] == '\0')
			return path[0] != '\0';
		return fits(behind, path) || (path[0] != '\0' && fits(pattern, path_rest));
	}
	return path[0] != '\0' && fnmatch(want, have, 0) == 0 && fits(pattern_rest, path_rest);
}

/* The first line is a path. */
static void try_ignore(const char *text, size_t len)
{
	struct engine_ignore ignore;
	struct sbx_error err;
	size_t end = strcspn(text, "\n");
	bool out = false;
	char path[512];

	(void)len;
	snprintf(path, sizeof(path), "%.*s", (int)end, text);
	if (strstr(path, "//") != NULL || path[0] == '/' ||
	    engine_ignore_parse(text + end, &ignore, &err) < 0)
		return;
	for (size_t i = 0; i < ignore.count && ignore.count < 8; i++) {
		must(ignore.patterns[i][0] != '/' && strstr(ignore.patterns[i], "//") == NULL);
		if (fits(ignore.patterns[i], path))
			out = !ignore.take_in[i];
	}
	if (ignore.count < 8)
		must(engine_ignore_has(&ignore, path) == out);
	engine_ignore_done(&ignore);
}

/* ---- what an engine says ---- */

static void count_line(struct engine_lines *lines, const json_t *object)
{
	must(object != NULL);
	lines->said_ns++;
}

static uint64_t count_lines(const char *text, size_t len, size_t step, char problem[512])
{
	struct sbx_spec *spec;
	struct engine_lines lines = {.line = count_line, .rest = SBX_BUF_INIT(4096)};
	struct sbx_error err;

	must(sbx_spec_new(&spec, NULL) == 0);
	lines.spec = spec;
	for (size_t at = 0; at < len; at += step)
		must(engine_lines_add(text + at, len - at < step ? len - at : step, &lines, &err) == 0);
	engine_lines_end(&lines);
	sbx_spec_free(spec);
	memcpy(problem, lines.problem, 512);
	return lines.said_ns;
}

static void try_lines(const char *text, size_t len)
{
	char whole[512], pieces[512];

	must(count_lines(text, len, len + 1, whole) == count_lines(text, len, 3, pieces));
	must(strcmp(whole, pieces) == 0);
}

static void try_words(const char *text, size_t len)
{
	for (size_t size = 1; size < 64; size += 9) {
		struct sbx_buf again = SBX_BUF_INIT(1024);
		char ret[64];

		engine_words_clean(text, len, ret, size);
		must(strlen(ret) < size && sbx_text_append_utf8(&again, ret, strlen(ret)));
		for (const char *c = ret; *c != '\0'; c++)
			must((unsigned char)*c >= ' ' && *c != 0x7f);
		sbx_buf_done(&again);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const char *text, size_t len) = {
		try_host, try_context, try_login, try_image, try_env, try_configs, try_ignore, try_lines,
		try_words,
	};
	char *text;

	if (size == 0)
		return 0;
	if (folder[0] == '\0') {
		snprintf(folder, sizeof(folder), "%s/sbx-fuzz-engine-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		must(mkdtemp(folder) != NULL);
		setenv("DOCKER_CONFIG", folder, 1);
		setenv("PATH", folder, 1); /* where there are no helpers */
	}
	text = malloc(size);
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	targets[data[0] % (sizeof(targets) / sizeof(targets[0]))](text, size - 1);
	free(text);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
static size_t add_text(uint8_t *ret, size_t size, size_t max, const char *text, uint32_t *state)
{
	for (; *text != '\0' && size < max; text++)
		ret[size++] = (uint8_t)(next(state) % 200 ? *text : (char)next(state));
	return size;
}

static const char *any_of(const char *const *list, size_t count, uint32_t *state)
{
	return list[next(state) % count];
}

#define ANY_OF(list, state) any_of(list, sizeof(list) / sizeof((list)[0]), state)

/* A value of JSON, nested a little. */
static size_t add_value(uint8_t *ret, size_t size, size_t max, int depth, uint32_t *state)
{
	static const char *const names[] = {
		"auths", "host.example", "https://host.example/v1/", "auth", "identitytoken", "credsStore",
		"credHelpers", "currentContext", "mem_limit", "cpu_quota", "cpu_period", "user", "volumes",
		"mounts", "type", "target", "bind", "mode", "tmpfs", "devices", "ulimits", "name", "soft",
		"hard", "ports", "80/tcp", "network_mode", "security_opt", "labels", "environment", "cap_add",
		"cap_drop", "gpus", "extra_hosts", "log_config", "platform", "pids_limit", "restart_policy",
		"status", "error", "errorDetail", "message", "id", "progressDetail", "stream", "privileged",
		"sysctls", "read_only", "working_dir", "shm_size", "device_requests", "x",
	};
	static const char *const values[] = {
		"null", "true", "0", "-1", "9223372036854775807", "1.5e300", "\"\"", "\"bTpw\"", "\"a=b\"",
		"\"/a:/b:ro\"", "\"/a\"", "\"a:b:c:d\"", "\"512m\"", "\"root\"", "\"1000:1000\"",
		"\"seccomp={}\"", "\"no-new-privileges:false\"", "\"PATH=/x\"", "\"VIRTUAL_ENV=/v\"", "\"bridge\"",
		"\"\\u001b[31m\"", "\"\\u009b\"", "{}", "[]", "\"all\"", "\"80\"",
	};
	bool object = next(state) % 2;

	if (depth == 0 || next(state) % 4 == 0)
		return add_text(ret, size, max, ANY_OF(values, state), state);
	size = add_text(ret, size, max, object ? "{" : "[", state);
	for (size_t i = next(state) % 4, first = i; i > 0; i--) {
		size = add_text(ret, size, max, i == first ? "" : ",", state);
		if (object) {
			size = add_text(ret, size, max, "\"", state);
			size = add_text(ret, size, max, ANY_OF(names, state), state);
			size = add_text(ret, size, max, "\":", state);
		}
		size = add_value(ret, size, max, depth - 1, state);
	}
	return add_text(ret, size, max, object ? "}" : "]", state);
}

static size_t make(uint8_t *ret, size_t max, uint32_t *state)
{
	static const char *const pieces[] = {
		"unix://", "tcp://", "http://", "https://", "ssh://", "npipe://", "/run/x.sock", "me", "@", ":", "2376",
		"box", "[::1]", "-o", "%", "/", "..", ".", "**", "*", "a", "b", "ab", "!", "#", "\n", "?", "[a]", "\\",
		"llm-sandbox/python", ":latest", "sha256:", " ", "\r\n", "\x1b[31m", "\xc2\x9b", "\xc3\xbc", "\xf0\x9f\x98\x80",
	};
	size_t size = 1, wanted = next(state) % 16;

	ret[0] = (uint8_t)(next(state) % 9);
	if (ret[0] == 1 || ret[0] == 2 || ret[0] == 4 || ret[0] == 5 || ret[0] == 7) {
		for (size_t lines = next(state) % 3 + 1; lines > 0; lines--) {
			size = add_value(ret, size, max, 4, state);
			size = add_text(ret, size, max, ret[0] == 7 ? "\n" : "", state);
		}
		return size;
	}
	for (size_t i = 0; i < wanted; i++)
		size = add_text(ret, size, max, ANY_OF(pieces, state), state);
	return size;
}

int main(int argc, char **argv)
{
	int r = fuzz_main(argc, argv, make);
	char path[96];

	snprintf(path, sizeof(path), "%s/config.json", folder);
	unlink(path);
	rmdir(folder);
	return r;
}
#endif
