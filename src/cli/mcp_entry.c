/* SPDX-License-Identifier: MIT */
#include "cli/mcp_entry.h"

#include "cli/trouble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- our own path ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* folder/name with the folder made absolute; false when that is not the program at exe. */
static bool try_path(const char *folder, size_t len, const char *name, const char *exe,
		     char ret[4096])
{
	char relative[4096], absolute[4096];

	if (len >= sizeof(relative))
		return false;
	memcpy(relative, folder, len);
	strcpy(relative + len, "");
	if (realpath(len ? relative : ".", absolute) == NULL)
		return false;
	return snprintf(ret, 4096, "%s/%s", strcmp(absolute, "/") ? absolute : "", name) < 4096 &&
	       is_same_file(ret, exe);
}

static bool find_in_path(const char *name, const char *exe, char ret[4096])
{
	const char *path = getenv("PATH");

	while (path != NULL && *path != '\0') {
		size_t len = strcspn(path, ":");

		if (path[0] == '/' && try_path(path, len, name, exe, ret))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/*
 * The name that we were started by rather than what it links to: package managers put a link
 * into bin/ whose target carries the version, and the next one would not be found.
 */
static int own_path(char ret[4096], struct sbx_error *err)
{
	const char *name = program_invocation_name, *slash = strrchr(name, '/');
	const char *exe = "/proc/self/exe";
	ssize_t n;

	if (slash != NULL && try_path(name, (size_t)(slash - name) + 1, slash + 1, exe, ret))
		return 0;
	if (slash == NULL && find_in_path(name, exe, ret))
		return 0;
	n = readlink(exe, ret, 4095);
	if (n <= 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot find out where this program is: %s",
				strerror(errno));
	ret[n] = '\0';
	if (access(ret, X_OK) < 0)
		return cli_fail(err, SBX_E_NOT_FOUND, "this program is not at '%.300s' any more", ret);
	return 0;
}

/* ---- entries ---- */

static int fail_text(struct sbx_error *err)
{
	return cli_fail(err, SBX_E_INVALID,
			"the path of this program or an argument is not valid UTF-8");
}

static int make_local(const struct mcp_request *request, json_t *entry, struct sbx_error *err)
{
	json_t *args = json_pack("[s]", "mcp");
	char path[4096];
	int r = own_path(path, err), bad = 0;

	if (r < 0) {
		json_decref(args);
		return r;
	}
	for (char **arg = request->args; *arg != NULL; arg++)
		bad |= json_array_append_new(args, json_string(*arg));
	if (request->client->local_type != NULL)
		bad |= json_object_set_new(entry, "type", json_string(request->client->local_type));
	bad |= json_object_set_new(entry, "command", json_string(path));
	bad |= json_object_set_new(entry, "args", args);
	return bad ? fail_text(err) : 0;
}

static json_t *make_headers(const struct mcp_request *request)
{
	const struct mcp_client *c = request->client;
	json_t *value = json_sprintf("%s%s%s", c->token_before, request->token_env, c->token_after);

	return json_pack("{s:o}", "Authorization", value);
}

static int make_remote(const struct mcp_request *request, json_t *entry, struct sbx_error *err)
{
	const struct mcp_client *c = request->client;
	int bad = 0;

	if (c->remote_type != NULL)
		bad |= json_object_set_new(entry, "type", json_string(c->remote_type));
	bad |= json_object_set_new(entry, "url", json_string(request->url));
	if (request->token_env != NULL && c->token_key != NULL)
		bad |= json_object_set_new(entry, c->token_key, json_string(request->token_env));
	else if (request->token_env != NULL)
		bad |= json_object_set_new(entry, "headers", make_headers(request));
	return bad ? fail_text(err) : 0;
}

int mcp_entry_make(const struct mcp_request *request, char **ret, struct sbx_error *err)
{
	json_t *entry = json_object();
	char *text = NULL;
	int r = request->url ? make_remote(request, entry, err) : make_local(request, entry, err);

	if (r == 0)
		text = request->client->format->format(entry);
	json_decref(entry);
	if (r == 0 && text == NULL)
		r = cli_fail(err, SBX_E_SYSTEM, "out of memory");
	if (r == 0)
		*ret = text;
	return r;
}
