/* SPDX-License-Identifier: MIT */
#include "cli/away.h"
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/listing.h"
#include "cli/signals.h"
#include "cli/spool.h"
#include "cli/trouble.h"
#include "cli/value.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- progress ---- */

struct meter {
	bool shown;
};

/* One line that the next one takes the place of: \r, and ESC [ K clears to the line's end. */
static void show_progress(const struct post_progress *progress, const char *path, void *userdata)
{
	struct meter *meter = userdata;
	auto_free char *tame = listing_tame(path);
	char done[VALUE_TEXT_MAX], total[VALUE_TEXT_MAX];

	value_round(progress->done, done);
	value_round(progress->total, total);
	meter->shown = true;
	dprintf(STDERR_FILENO, "\r%s%s%s %.40s\033[K", done, progress->total ? " of " : "",
		progress->total ? total : "", tame ? tame : "");
}

/* ---- the copy ---- */

static void tell_left_out(const json_t *report)
{
	auto_free char *first = paper_bytes(json_object_get(report, "first_left_out"));
	auto_free char *tame = listing_tame(first ? first : "");
	long long count = json_integer_value(json_object_get(report, "left_out"));

	if (count > 0)
		cli_say("left out %lld that %s no regular file%s or folder%s, such as '%s'", count,
			count == 1 ? "is" : "are", count == 1 ? "" : "s", count == 1 ? "" : "s",
			tame ? tame : "?");
}

static int copy(const struct settings *s, json_t *request)
{
	struct meter meter = {0};
	struct client_io io = {.on_progress = show_progress, .userdata = &meter};
	struct client client;
	struct answer answer;
	struct sbx_error err;
	int r = client_connect(&client, &err);

	if (r < 0) {
		json_decref(request);
		return execute_fail(s, &err);
	}
	json_object_set_new(request, "progress", json_boolean(isatty(STDERR_FILENO)));
	r = client_ask(&client, request, NULL, 0, &io, &answer, &err);
	client_close(&client);
	if (meter.shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	if (r < 0)
		return execute_fail(s, &err);
	tell_left_out(answer.body);
	answer_done(&answer);
	return 0;
}

/* ---- in ---- */

static json_t *put_request(const struct away *to, const char *from, const char *base)
{
	bool nowhere = strcmp(to->path, ".") == 0;
	json_t *q = client_request("put", to->name);

	json_object_set_new(q, "from", paper_text(from));
	json_object_set_new(q, "to", paper_text(nowhere ? "" : to->path));
	if (base != NULL)
		json_object_set_new(q, "base", paper_text(base));
	return q;
}

/* A signal ends us, and leaves no file behind. */
static void drop_spool(void *userdata)
{
	spool_done(userdata);
	_exit(STATUS_SIGNAL + SIGINT);
}

static int put_stdin(const struct settings *s, const struct away *to)
{
	struct spool spool = {0};
	struct reach reach = {drop_spool, drop_spool, &spool};
	struct sbx_error err;
	int status;

	signals_connect(&reach);
	if (spool_take(STDIN_FILENO, &spool, &err) < 0)
		return execute_fail(s, &err);
	status = copy(s, put_request(to, spool.path, NULL));
	signals_disconnect();
	spool_done(&spool);
	return status;
}

/* "." and "folder/." are what is in the folder, which then has no name of its own. */
static bool names_contents(const char *path)
{
	size_t len = strlen(path);

	return strcmp(path, ".") == 0 || (len >= 2 && strcmp(path + len - 2, "/.") == 0);
}

static int put(const struct settings *s, const char *from, const struct away *to)
{
	char real[PATH_MAX];
	struct sbx_error err;
	bool contents = names_contents(from);
	json_t *request;

	if (strcmp(from, "-") == 0)
		return put_stdin(s, to);
	if (realpath(from, real) == NULL) {
		cli_fail(&err, SBX_E_INVALID, "cannot open '%.256s': %s", from, strerror(errno));
		return execute_fail(s, &err);
	}
	request = put_request(to, real, contents ? NULL : basename(real));
	if (contents && strcmp(to->path, ".") == 0)
		json_object_set_new(request, "to", paper_text("."));
	return copy(s, request);
}

/* ---- out ---- */

static int get_to_stdout(const struct settings *s, const char *word)
{
	struct output output;
	struct sbx_error err;
	int r;

	output_init(&output, s);
	r = away_read(word, &output, &err);
	output_finish(&output);
	if (output.failed)
		return execute_output_status(&output);
	return r < 0 ? execute_fail(s, &err) : 0;
}

/* The last component of a path inside, or the session's name where it has none. */
static void away_base(const struct away *from, char *ret, size_t size)
{
	size_t len = strlen(from->path);
	const char *base;

	while (len > 1 && from->path[len - 1] == '/')
		len--;
	base = memrchr(from->path, '/', len);
	base = base ? base + 1 : from->path;
	len -= (size_t)(base - from->path);
	if (len == 0 || (len == 1 && base[0] == '.') || (len == 2 && memcmp(base, "..", 2) == 0))
		snprintf(ret, size, "%s", from->name);
	else
		snprintf(ret, size, "%.*s", (int)len, base);
}

/* As cp(1): into a folder that is there, else to that very path. The folder must be there. */
static int local_target(const struct away *from, const char *to, char ret[PATH_MAX],
			struct sbx_error *err)
{
	char folder[PATH_MAX], real[PATH_MAX], base[NAME_MAX + 1];
	struct stat st;
	bool into = stat(to, &st) == 0 && S_ISDIR(st.st_mode);
	const char *slash = strrchr(to, '/');
	int n;

	if (to[0] == '\0')
		return cli_fail(err, SBX_E_INVALID, "the target has no name");
	if (into || (slash != NULL && slash[1] == '\0')) {
		snprintf(folder, sizeof(folder), "%s", to);
		away_base(from, base, sizeof(base));
	} else {
		snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - to) + 1 : 1,
			 slash ? to : ".");
		snprintf(base, sizeof(base), "%s", slash ? slash + 1 : to);
	}
	if (realpath(folder, real) == NULL)
		return cli_fail(err, SBX_E_INVALID, "cannot open the folder '%.256s': %s", folder,
				strerror(errno));
	n = snprintf(ret, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
	return n < PATH_MAX ? 0 : cli_fail(err, SBX_E_INVALID, "'%.128s' is too long", to);
}

/* "NAME:folder/." is what is in the folder, and goes into the folder `to` itself. */
static int get_target(const struct away *from, const char *to, char ret[PATH_MAX],
		      struct sbx_error *err)
{
	bool contents = names_contents(from->path) && strcmp(from->path, ".") != 0;

	if (contents && realpath(to, ret) != NULL)
		return 0;
	return local_target(from, to, ret, err);
}

static int get(const struct settings *s, const char *word, const struct away *from, const char *to)
{
	char target[PATH_MAX];
	struct sbx_error err;
	json_t *request;

	if (strcmp(to, "-") == 0)
		return get_to_stdout(s, word);
	if (get_target(from, to, target, &err) < 0)
		return execute_fail(s, &err);
	request = client_request("get", from->name);
	json_object_set_new(request, "from", paper_text(from->path));
	json_object_set_new(request, "to", paper_text(target));
	return copy(s, request);
}

/* ---- the command ---- */

static int copy_with(const struct settings *s, const char *from, const char *to)
{
	struct away source, target;
	struct sbx_error ignored, err;
	bool out = away_parse(from, &source, &ignored) == 0;
	bool in = away_parse(to, &target, &ignored) == 0;

	if (out && !in)
		return get(s, from, &source, to);
	if (in && !out)
		return put(s, from, &target);
	cli_fail(&err, SBX_E_INVALID,
		 "one side must be NAME:PATH, a file of a session, and the other a file here%s",
		 in ? "; for one with a colon in its name write ./FILE" : "");
	return cli_usage(&err, "cp");
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (inv->rest[0] != NULL && inv->rest[1] != NULL && inv->rest[2] == NULL)
		return copy_with(&settings, inv->rest[0], inv->rest[1]);
	cli_fail(&err, SBX_E_INVALID, "from where to where? Write SOURCE and TARGET");
	return cli_usage(&err, inv->command->name);
}

const struct command cmd_cp = {
	.name = "cp",
	.bit = FOR_CP,
	.arguments = "[OPTIONS] SOURCE TARGET",
	.summary = "copy files into a session or out of it",
	.mixes = true,
	.text = "One side is NAME:PATH, a file or folder of a session, the other one of this\n"
		"machine, or - for stdin or stdout. A folder is copied with all below it, into\n"
		"TARGET when that is a folder, else as TARGET; SOURCE/. is what is in it. Links\n"
		"and special files do not come out of a session, and are counted.\n",
	.run = run,
};
