/* SPDX-License-Identifier: MIT */
/*
 * The engine client as a program, for tests that play the engine.
 *
 *	endpoint FLAVOR				where it would look, as JSON
 *	calls FLAVOR TIMEOUT_MS METHOD PATH...	one client, one call after the other: an answer a line
 *	clients FLAVOR COUNT [OTHER]		so many clients one after the other, each with one call;
 *						every second is of the other flavor
 *	stream FLAVOR PATH [raw] [half]		a stream between it and stdin/stdout: what came, and words
 *	give-up FLAVOR PATH			a call whose sandbox is ended when stdin ends
 *	owner | judge LABEL | left LABELS STATE LOCAL
 *	sweep FLAVOR
 *	leave FLAVOR ID...			containers that go by themselves, left until stdin ends
 *	lost FLAVOR				a name of ours that nobody has any more, then a sweep at the end of stdin
 *	forks COUNT				so many children of a process whose threads are at work
 *	fill FLAVOR IMAGE VERSION		the agent's volume of that version; its name
 *	sets FLAVOR ID...			the volume of each image's library sets, by a client each
 *	sweep-sets FLAVOR			the volumes of images that are gone
 *
 * Everything that can fail says "error CODE: sentence". At the end it must have no more descriptors
 * and children than connections that are kept; it says how many descriptors. No connection may be
 * inherited by a program that it starts.
 */
#include "backend/engine/container.h"
#include "backend/engine/known.h"
#include "backend/engine/labels.h"
#include "backend/engine/leaving.h"
#include "backend/engine/ours.h"
#include "backend/engine/owner.h"
#include "backend/engine/relay.h"
#include "backend/engine/removal.h"
#include "backend/engine/sets.h"
#include "backend/engine/endpoint.h"
#include "backend/engine/sweep.h"
#include "base/embedded.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct engine_flavor *flavor_of(const char *name)
{
	return strcmp(name, "podman") == 0 ? &engine_podman : &engine_docker;
}

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	return n;
}

/* Whoever has a connection to an engine may do with that engine what it likes, and keeps containers alive. */
static void check_inheritance(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_storage peer = {0};
		socklen_t len = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && len > sizeof(sa_family_t) &&
		    (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
			abort();
	}
}

static int say(const struct sbx_error *err)
{
	printf("error %s: %s\n", sbx_code_name(err->code), err->msg);
	return 1;
}

static int show_endpoint(char **args)
{
	struct engine_endpoint e;
	struct sbx_error err;
	json_t *o, *command = json_array();

	if (engine_endpoint_find(flavor_of(args[0]), &e, &err) < 0) {
		json_decref(command);
		return say(&err);
	}
	for (size_t i = 0; e.command != NULL && e.command[i] != NULL; i++)
		json_array_append_new(command, json_string(e.command[i]));
	o = json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:b, s:o}", "name", e.name, "source",
		      e.source, "url", e.url, "socket", e.socket_path, "ca", e.ca, "cert", e.cert, "key",
		      e.key, "verify", e.verify, "command", command);
	json_dumpf(o, stdout, JSON_COMPACT);
	json_decref(o);
	engine_endpoint_done(&e);
	return 0;
}

static int take_piece(const void *data, size_t len, void *userdata, struct sbx_error *err)
{
	(void)err;
	*(size_t *)userdata += len;
	fwrite(data, 1, len < 64 ? len : 64, stdout);
	return 0;
}

/* Zeros, which come but once. */
static ssize_t fill_piece(void *data, size_t len, void *userdata)
{
	size_t *left = userdata;

	len = len < *left ? len : *left;
	memset(data, 0, len);
	*left -= len;
	return (ssize_t)len;
}

static void call(struct engine_client *client, const char *method, const char *path, uint64_t timeout_ms)
{
	struct engine_request request = {.method = method, .path = path, .timeout_ms = timeout_ms};
	json_t *answer = NULL;
	struct sbx_error err;
	size_t pieces = 0, left = 300000;
	char *text;

	if (strstr(path, "filled") != NULL) {
		request.fill = fill_piece;
		request.fill_data = &left;
		request.raw_len = left;
	}
	if (strstr(path, "pieces") != NULL) {
		request.on_piece = take_piece;
		request.userdata = &pieces;
	}
	if (engine_call(client, &request, request.on_piece ? NULL : &answer, &err) < 0) {
		say(&err);
		return;
	}
	text = answer != NULL ? json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	printf("%s %s\n", engine_client_flavor(client)->name, text ? text : "nothing");
	json_decref(answer);
	free(text);
}

static int make_calls(char **args)
{
	struct engine_client *client;
	struct sbx_error err;

	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	for (char **a = args + 2; a[0] != NULL && a[1] != NULL; a += 2)
		call(client, a[0], a[1], strtoull(args[1], NULL, 10));
	engine_client_close(client);
	return 0;
}

static int make_clients(char **args)
{
	for (int i = 0; i < atoi(args[1]); i++) {
		const char *calls[] = {args[2] && i % 2 ? args[2] : args[0], "5000", "GET", "/info", NULL};

		if (make_calls((char **)calls) != 0)
			return 1;
	}
	return 0;
}

/* ---- streams ---- */

static void *run_relay(void *arg)
{
	struct engine_relay *relay = arg;

	engine_relay_run(relay);
	shutdown(relay->fd, SHUT_RDWR);
	return NULL;
}

/* stdin to the session's end, then what comes from there: its length and its beginning. */
static void converse(int fd, bool half)
{
	char data[65536];
	ssize_t n;
	size_t total = 0;

	while ((n = read(STDIN_FILENO, data, sizeof(data))) > 0)
		(void)!send(fd, data, (size_t)n, MSG_NOSIGNAL);
	if (half)
		shutdown(fd, SHUT_WR);
	while ((n = read(fd, data, sizeof(data))) > 0) {
		if (total == 0)
			printf("%.*s", (int)(n < 200 ? n : 200), data);
		total += (size_t)n;
	}
	printf("\n%zu bytes\n", total);
}

static void relay(struct engine_stream *stream, bool raw, bool half)
{
	struct engine_relay relay = {.stream = stream, .raw = raw};
	char words[ENGINE_WORDS_MAX];
	pthread_t thread;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		abort();
	relay.fd = fds[1];
	pthread_create(&thread, NULL, run_relay, &relay);
	check_inheritance();
	converse(fds[0], half);
	close(fds[0]);
	pthread_join(thread, NULL);
	engine_stream_close(stream);
	close(fds[1]);
	printf("words '%s'%s\n", engine_relay_words(&relay, words), relay.malformed ? " malformed" : "");
}

static int open_stream(char **args)
{
	bool raw = false, half = false;
	struct engine_client *client;
	struct engine_stream *stream;
	struct sbx_error err;
	int r;

	for (char **a = args + 2; *a != NULL; a++) {
		raw |= strcmp(*a, "raw") == 0;
		half |= strcmp(*a, "half") == 0;
	}
	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	r = engine_stream_open(client, args[1], NULL, &stream, &err);
	if (r == 0)
		relay(stream, raw, half);
	else
		say(&err);
	engine_client_close(client);
	return r < 0;
}

/* ---- giving up ---- */

static void *hang_up(void *fd)
{
	char c;

	(void)!read(STDIN_FILENO, &c, 1);
	shutdown(*(int *)fd, SHUT_RDWR);
	return NULL;
}

static int give_up(char **args)
{
	struct engine_client *client;
	struct sbx_error err;
	pthread_t thread;
	int fds[2];

	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		abort();
	pthread_create(&thread, NULL, hang_up, &fds[0]);
	engine_client_watch(client, fds[1]);
	call(client, "POST", args[1], 60000);
	pthread_join(thread, NULL);
	engine_client_close(client);
	close(fds[0]);
	close(fds[1]);
	return 0;
}

/* ---- owners ---- */

static int show_owner(char **args)
{
	char owner[ENGINE_OWNER_MAX];

	(void)args;
	puts(engine_owner_format(owner));
	/* It lives until it is told. */
	fflush(stdout);
	return getchar() == EOF ? 0 : 1;
}

static int judge(char **args)
{
	static const char *const names[] = {"unknown", "runs", "gone", "earlier"};

	puts(names[engine_owner_judge(args[0])]);
	return 0;
}

static int is_left(char **args)
{
	json_t *labels = json_loads(args[0], 0, NULL);

	puts(engine_labels_are_left_behind(labels, args[1], strcmp(args[2], "local") == 0) ? "left" : "kept");
	json_decref(labels);
	return 0;
}

static int sweep(char **args)
{
	struct engine_client *client;
	struct sbx_error err;
	int r;

	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	r = engine_sweep(client, &err);
	engine_client_close(client);
	if (r < 0)
		return say(&err);
	printf("%d removed\n", r);
	return 0;
}

static int leave(char **args)
{
	struct engine_client *client;
	struct sbx_error err;

	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	for (char **id = args + 1; *id != NULL; id++) {
		struct engine_container container = {.asked = NULL};

		engine_ours_add(container.session);
		snprintf(container.id, sizeof(container.id), "%s", *id);
		engine_removal_leave(client, &container, false);
	}
	engine_client_close(client);
	return getchar() == EOF ? 0 : 1;
}

/* Says its owner's label, a name that it has and one that it has no more. */
static int lose(char **args)
{
	char owner[ENGINE_OWNER_MAX], kept[ENGINE_SESSION_MAX], lost[ENGINE_SESSION_MAX];

	engine_ours_add(kept);
	engine_ours_add(lost);
	engine_ours_remove(lost);
	printf("%s %s %s\n", engine_owner_format(owner), kept, lost);
	fflush(stdout);
	(void)!getchar();
	return sweep(args);
}

static int fill(char **args)
{
	const struct sbx_embedded_file none = {0};
	const struct sbx_spec spec = {.embedded = &none, .embedded_version = args[2]};
	char name[ENGINE_VOLUME_MAX];
	struct engine_client *client;
	struct sbx_error err;
	int r;

	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	r = engine_volume_fill(client, &spec, args[1], &err);
	engine_volume_name(&spec, name);
	engine_client_close(client);
	if (r < 0)
		return say(&err);
	puts(name);
	return 0;
}

/* ---- forks ---- */

static void use_all(void)
{
	char name[ENGINE_SESSION_MAX];

	engine_known_set("x", &engine_docker, "1.41");
	engine_ours_add(name);
	engine_leaving_begin();
	engine_leaving_end();
	engine_ours_remove(name);
	engine_known_get("x");
}

static void *keep_using(void *stop)
{
	while (!atomic_load((atomic_bool *)stop))
		use_all();
	return NULL;
}

/* Children of a program whose threads are at work all the time: one that finds a lock taken for good is ended. */
static int make_forks(char **args)
{
	atomic_bool stop = false;
	pthread_t threads[2];
	int stuck = 0, status;

	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, keep_using, &stop);
	for (int i = 0; i < atoi(args[0]) && stuck == 0; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(5);
			use_all();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			stuck++;
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d stuck\n", stuck);
	return 0;
}

/* ---- the volumes of library sets ---- */

static int make_sets(char **args)
{
	struct engine_client *client;
	struct sbx_error err;
	int r = 0;

	for (char **id = args + 1; r == 0 && *id != NULL; id++) {
		if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
			return say(&err);
		r = engine_sets_make(client, *id, &err);
		engine_client_close(client);
	}
	return r < 0 ? say(&err) : 0;
}

static int sweep_sets(char **args)
{
	struct engine_client *client;
	struct sbx_error err;

	if (engine_client_open(&client, flavor_of(args[0]), &err) < 0)
		return say(&err);
	engine_sets_sweep(client);
	engine_client_close(client);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		int (*run)(char **args);
	} rows[] = {
		{"endpoint", 1, show_endpoint}, {"calls", 2, make_calls}, {"clients", 2, make_clients},
		{"stream", 2, open_stream}, {"give-up", 2, give_up}, {"owner", 0, show_owner},
		{"judge", 1, judge}, {"left", 3, is_left}, {"sweep", 1, sweep}, {"leave", 2, leave},
		{"lost", 1, lose},
		{"fill", 3, fill}, {"forks", 1, make_forks}, {"sets", 2, make_sets},
		{"sweep-sets", 1, sweep_sets},
	};
	int before;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, argv[1]) != 0 || argc - 2 < rows[i].args)
			continue;
		before = count_descriptors();
		int r = rows[i].run(argv + 2);

		check_inheritance();
		printf("\ndescriptors %d\n", count_descriptors() - before);
		return r;
	}
	return 2;
}
