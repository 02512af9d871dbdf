/* SPDX-License-Identifier: MIT */
#include "cli/mcp_install.h"

#include "cli/mcp_entry.h"
#include "cli/replace.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKUPS_TRIED 8

/* One change of one file. */
struct job {
	const struct mcp_request *request;
	struct splice_place place;
	char path[4096];
	struct replace_file file;
	struct text text; /* the new content; data NULL: nothing to change */
	bool had_entry;
};

static int find_path(const struct mcp_request *request, char ret[4096], struct sbx_error *err)
{
	if (request->file == NULL)
		return mcp_client_path(request->client, request->scope, ret, err);
	if (snprintf(ret, 4096, "%s", request->file) >= 4096)
		return cli_fail(err, SBX_E_INVALID, "the path of --file is too long");
	return 0;
}

/* ---- printing ---- */

/* A whole file with nothing else in it; where it goes is said beside it. */
static int print_entry(const struct mcp_request *request, struct sbx_error *err)
{
	const struct splice_place place = {request->client->table, request->name};
	struct text empty = {(char[]){""}, 0}, text = {0};
	auto_free char *entry = NULL;
	struct sbx_error ignored;
	char path[4096];
	int r = mcp_entry_make(request, &entry, err);

	if (r == 0)
		r = request->client->format->set(&empty, &place, entry, &text, err);
	if (r < 0)
		return r;
	if (isatty(STDERR_FILENO) && find_path(request, path, &ignored) == 0)
		dprintf(STDERR_FILENO, "For %s:\n", path);
	fputs(text.data, stdout);
	free(text.data);
	return 0;
}

/* ---- the new content ---- */

/* In whatever spelling. */
static bool has_entry(const struct splice_format *format, const struct text *text,
		      const struct splice_place *place)
{
	struct text without = {0};
	struct sbx_error ignored;
	bool has = format->remove(text, place, &without, &ignored) == 0 && without.data != NULL;

	free(without.data);
	return has;
}

static int add(struct job *job, struct sbx_error *err)
{
	const struct splice_format *format = job->request->client->format;
	auto_free char *entry = NULL;
	int r = mcp_entry_make(job->request, &entry, err);

	job->had_entry = has_entry(format, &job->file.text, &job->place);
	return r < 0 ? r : format->set(&job->file.text, &job->place, entry, &job->text, err);
}

/* Would putting this entry into the backup give the file as it is now? */
static bool led_to_now(const struct job *job, const struct text *backup, const char *entry)
{
	const struct splice_format *format = job->request->client->format;
	struct text now = {0};
	struct sbx_error err;
	bool same;

	if (has_entry(format, backup, &job->place) ||
	    format->set(backup, &job->place, entry, &now, &err) < 0)
		return false;
	same = now.data != NULL && now.len == job->file.text.len &&
	       memcmp(now.data, job->file.text.data, now.len) == 0;
	free(now.data);
	return same;
}

/*
 * Where only we have changed the file since a backup, that is what it was, to the byte. Without
 * one, an empty table that we made ourselves cannot be told from one that was there before.
 */
static void prefer_backup(struct job *job)
{
	auto_free char *entry = job->request->client->format->get(&job->file.text, &job->place);
	struct text backup;

	if (entry == NULL)
		return;
	for (size_t i = 0; i < BACKUPS_TRIED && replace_read_backup(&job->file, i, &backup); i++) {
		if (led_to_now(job, &backup, entry)) {
			free(job->text.data);
			job->text = backup;
			return;
		}
		free(backup.data);
	}
}

static int take_away(struct job *job, struct sbx_error *err)
{
	const struct splice_format *format = job->request->client->format;
	int r = format->remove(&job->file.text, &job->place, &job->text, err);

	if (r == 0 && job->text.data != NULL)
		prefer_backup(job);
	return r;
}

/* ---- the change ---- */

static void say_nothing_to_change(const struct job *job)
{
	if (job->request->remove)
		printf("Nothing to remove: there is no '%s' in %s\n", job->request->name, job->path);
	else
		printf("Nothing to change: '%s' is in %s already\n", job->request->name, job->path);
}

static void say_done(const struct job *job)
{
	const struct mcp_request *request = job->request;
	const char *verb = "Added", *where = "to";

	if (request->remove) {
		verb = "Removed";
		where = "from";
	} else if (job->had_entry) {
		verb = "Replaced";
		where = "in";
	} else if (!job->file.exists) {
		verb = "Wrote";
		where = "into the new file";
	}
	printf("%s '%s' %s %s\n", verb, request->name, where, job->path);
	if (!request->remove)
		puts(request->client->next);
}

static int commit(const struct job *job, struct sbx_error *err)
{
	bool is_private = job->request->scope == MCP_SCOPE_USER;
	char backup[4200];
	int r;

	if (job->file.exists) {
		r = replace_backup(&job->file, backup, err);
		if (r < 0)
			return r;
		printf("Kept the file as it was as %s\n", backup);
	}
	return replace_commit(&job->file, &job->text, is_private, err);
}

static int change(struct job *job, struct sbx_error *err)
{
	int r = job->request->remove ? take_away(job, err) : add(job, err);

	if (r < 0)
		return cli_prefix(err, job->path);
	if (job->text.data == NULL) {
		say_nothing_to_change(job);
		return 0;
	}
	r = commit(job, err);
	if (r == 0)
		say_done(job);
	return r;
}

static int install(const struct mcp_request *request, struct sbx_error *err)
{
	struct job job = {.request = request, .place = {request->client->table, request->name}};
	int r = find_path(request, job.path, err);

	if (r == 0)
		r = replace_open(job.path, &job.file, err);
	if (r == 0)
		r = change(&job, err);
	replace_close(&job.file);
	free(job.text.data);
	return r;
}

int mcp_install(int argc, char **argv)
{
	struct mcp_request request;
	struct sbx_error err;
	int r;

	if (mcp_request_parse(argc, argv, &request, &err) < 0) {
		cli_say("%s", err.msg);
		dprintf(STDERR_FILENO, "See 'llm-sandbox mcp install --help'.\n");
		return STATUS_USAGE;
	}
	if (request.help)
		return mcp_request_help();
	r = request.print ? print_entry(&request, &err) : install(&request, &err);
	if (r < 0) {
		cli_say("%s", err.msg);
		return STATUS_TROUBLE;
	}
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}
