/* SPDX-License-Identifier: MIT */
#include "cli/mcp_request.h"

#include "cli/closest.h"
#include "cli/trouble.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

struct option_row {
	const char *name, *argument, *help; /* argument NULL: a flag */
	char letter;
	size_t offset; /* in struct mcp_request: of a text or a bool */
};

#define FIELD(field) offsetof(struct mcp_request, field)

static const struct option_row rows[] = {
	{"client", "CLIENT", "who shall use the server, see below", 'c', FIELD(client_name)},
	{"scope", "user|project", "for you everywhere (default), or in this folder", 's',
	 FIELD(scope_name)},
	{"name", "NAME", "name of the entry (default llm-sandbox)", 'n', FIELD(name)},
	{"file", "FILE", "change this file instead of the client's", 'f', FIELD(file)},
	{"url", "URL", "a server that runs elsewhere, instead of a program", 'u', FIELD(url)},
	{"token-env", "VARIABLE", "variable of the client that has the token for URL", 0,
	 FIELD(token_env)},
	{"print", NULL, "print the entry and change nothing", 'p', FIELD(print)},
	{"remove", NULL, "remove the entry", 'r', FIELD(remove)},
	{"help", NULL, "print this help", 'h', FIELD(help)},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define LONG_BASE 256

/* ---- help ---- */

/* A path as people write it, with "~" for the home folder. */
static void print_path(const char *path)
{
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;

	if (len > 1 && strncmp(path, home, len) == 0 && path[len] == '/')
		printf("~%s\n", path + len);
	else
		printf("%s\n", path);
}

static void print_clients(void)
{
	const struct mcp_client *c;

	puts("\nClients and their files");
	for (size_t i = 0; (c = mcp_client_at(i)) != NULL; i++) {
		struct sbx_error err;
		char path[4096];

		if (mcp_client_path(c, MCP_SCOPE_USER, path, &err) < 0)
			snprintf(path, sizeof(path), "%s", c->user);
		printf("  %-15s ", c->name);
		print_path(path);
		if (c->project != NULL)
			printf("  %-15s %s in a project\n", "", c->project);
	}
}

int mcp_request_help(void)
{
	puts("Make an MCP client start our server.\n\n"
	     "Usage: llm-sandbox mcp install --client CLIENT [OPTIONS] [-- ARGUMENTS]\n\n"
	     "Writes one entry into the client's configuration: this program by its absolute\n"
	     "path, the word 'mcp', and ARGUMENTS. All else in the file stays as it is, byte\n"
	     "for byte, and what the file was is kept beside it as FILE.bak-DATE-TIME. An\n"
	     "entry of the same name is replaced as a whole. A file that does not exist is\n"
	     "made; one with an error in it is not touched.\n\n"
	     "Options");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct option_row *o = &rows[i];
		char left[64];

		snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->argument ? " " : "", o->argument ? o->argument : "");
		printf("%-29s %s\n", left, o->help);
	}
	print_clients();
	puts("\nExamples\n"
	     "  llm-sandbox mcp install --client claude-code\n"
	     "  llm-sandbox mcp install --client vscode --scope project\n"
	     "  llm-sandbox mcp install --client codex --url http://127.0.0.1:8080/mcp \\\n"
	     "      --token-env SANDBOX_TOKEN\n"
	     "  llm-sandbox mcp install --client cursor --remove");
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

/* ---- parsing ---- */

static void make_grammar(struct option longs[ROW_COUNT + 1], char shorts[2 * ROW_COUNT + 3])
{
	char *p = shorts;

	*p++ = '+'; /* what follows the options is for the server */
	*p++ = ':';
	for (size_t i = 0; i < ROW_COUNT; i++) {
		longs[i] = (struct option){rows[i].name,
					   rows[i].argument ? required_argument : no_argument, NULL,
					   LONG_BASE + (int)i};
		if (rows[i].letter != '\0')
			*p++ = rows[i].letter;
		if (rows[i].letter != '\0' && rows[i].argument != NULL)
			*p++ = ':';
	}
	longs[ROW_COUNT] = (struct option){0};
	*p = '\0';
}

static const struct option_row *row_of(int c)
{
	if (c >= LONG_BASE)
		return &rows[c - LONG_BASE];
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].letter == c && c != 0)
			return &rows[i];
	}
	return NULL;
}

static int fail_option(int c, const char *word, struct sbx_error *err)
{
	const struct option_row *o = row_of(optopt);
	struct closest closest;
	char name[64];

	if (o != NULL && c == ':')
		return cli_fail(err, SBX_E_INVALID, "--%s needs a value: --%s %s", o->name, o->name,
				o->argument);
	if (o != NULL)
		return cli_fail(err, SBX_E_INVALID, "--%s takes no value", o->name);
	if (optopt != 0)
		return cli_fail(err, SBX_E_INVALID, "there is no option '-%c'", optopt);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	closest = (struct closest){.typed = name};
	for (size_t i = 0; i < ROW_COUNT; i++)
		closest_offer(&closest, rows[i].name);
	return cli_fail(err, SBX_E_INVALID, "there is no option '--%s'%s", name,
			closest_hint(&closest, "--"));
}

static void set_field(struct mcp_request *request, const struct option_row *o)
{
	void *field = (char *)request + o->offset;

	if (o->argument != NULL)
		*(const char **)field = optarg;
	else
		*(bool *)field = true;
}

static int parse_options(int argc, char **argv, struct mcp_request *request, struct sbx_error *err)
{
	struct option longs[ROW_COUNT + 1];
	char shorts[2 * ROW_COUNT + 3];
	int c;

	make_grammar(longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: begin anew, with our '+' */
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(c, argv[optind > 1 ? optind - 1 : 1], err);
		set_field(request, row_of(c));
	}
	request->args = argv + optind;
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0 && !request->help)
		return cli_fail(err, SBX_E_INVALID,
				"'%.64s' is no option; arguments for the server stand behind '--'",
				argv[optind]);
	return 0;
}

/* ---- checks ---- */

/* What all clients take as a name, and TOML without quotes. */
static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return len > 0 && len <= 64 && name[len] == '\0';
}

static bool is_variable(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len > 0 && len <= 128 && name[len] == '\0' && (name[0] < '0' || name[0] > '9');
}

static bool is_url(const char *url)
{
	size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;

	for (const char *p = url; *p != '\0'; p++) {
		if (*p <= ' ' || *p == 0x7f || *p == '"' || *p == '\\')
			return false;
	}
	return scheme > 0 && url[scheme] != '\0' && url[scheme] != '/' && strlen(url) < 2048;
}

static int set_scope(struct mcp_request *request, struct sbx_error *err)
{
	const char *scope = request->scope_name ? request->scope_name : "user";

	request->scope = strcmp(scope, "project") == 0 ? MCP_SCOPE_PROJECT : MCP_SCOPE_USER;
	if (request->scope == MCP_SCOPE_USER && strcmp(scope, "user") != 0)
		return cli_fail(err, SBX_E_INVALID, "--scope: '%.64s' is neither user nor project",
				scope);
	return 0;
}

static int check_remote(const struct mcp_request *request, struct sbx_error *err)
{
	if (request->token_env != NULL && request->url == NULL)
		return cli_fail(err, SBX_E_INVALID, "--token-env is for --url");
	if (request->url == NULL)
		return 0;
	if (request->args[0] != NULL)
		return cli_fail(err, SBX_E_INVALID,
				"a server at --url is not started by us and takes no arguments");
	if (!is_url(request->url))
		return cli_fail(err, SBX_E_INVALID, "--url: '%.200s' is no http or https URL",
				request->url);
	if (request->token_env != NULL && !is_variable(request->token_env))
		return cli_fail(err, SBX_E_INVALID, "--token-env: '%.64s' is no name of a variable",
				request->token_env);
	if (request->client->no_remote != NULL)
		return cli_fail(err, SBX_E_INVALID, "%s starts programs only from its file; %s",
				request->client->title, request->client->no_remote);
	return 0;
}

static int check(struct mcp_request *request, struct sbx_error *err)
{
	int r;

	if (request->client_name == NULL)
		return cli_fail(err, SBX_E_INVALID,
				"which client? Write --client CLIENT; --help lists them");
	r = mcp_client_find(request->client_name, &request->client, err);
	if (r == 0)
		r = set_scope(request, err);
	if (r < 0)
		return r;
	if (!is_name(request->name))
		return cli_fail(err, SBX_E_INVALID,
				"--name: '%.64s' must be 1 to 64 of letters, digits, '-' and '_'",
				request->name);
	if (request->remove && (request->print || request->url != NULL || request->args[0] != NULL))
		return cli_fail(err, SBX_E_INVALID,
				"--remove goes with --client, --scope, --name and --file only");
	return check_remote(request, err);
}

int mcp_request_parse(int argc, char **argv, struct mcp_request *ret, struct sbx_error *err)
{
	struct mcp_request request = {.name = "llm-sandbox"};
	int r = parse_options(argc, argv, &request, err);

	if (r == 0 && !request.help)
		r = check(&request, err);
	if (r == 0)
		*ret = request;
	return r;
}
