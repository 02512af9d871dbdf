/* SPDX-License-Identifier: MIT */
/* The program llm-sandbox-mcp: the sandbox's rows, served on stdin and stdout or over HTTP. */
#include "cli/command.h"
#include "cli/config.h"
#include "cli/files.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/start.h"
#include "cli/trouble.h"
#include "mcp/sandbox/sandbox.h"

#include <llmsandbox/version.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MAX      4096u
#define TOKEN_VARIABLE "LLM_SANDBOX_MCP_TOKEN"

/* ---- the token ---- */

/* Who can read the token can use the server. */
static int check_token_file(int fd, const char *path, struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot stat '%s': %s", path, strerror(errno));
	if (S_ISREG(st.st_mode) && (st.st_mode & 0007) != 0)
		return cli_fail(err, SBX_E_DENIED,
				"the token in '%s' can be read by everybody here; chmod 600 it",
				path);
	return 0;
}

static int read_token_file(const char *path, char **ret, struct sbx_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;
	int r;

	if (fd < 0)
		return cli_fail(err, SBX_E_NOT_FOUND, "cannot open '%s': %s", path,
				strerror(errno));
	r = check_token_file(fd, path, err);
	if (r == 0)
		r = file_read(fd, path, TOKEN_MAX, ret, &len, err);
	close(fd);
	return r;
}

static int check_token(char *token, const char *where, struct sbx_error *err)
{
	token[strcspn(token, "\r\n")] = '\0';
	for (const char *c = token; *c != '\0'; c++) {
		if (*c <= ' ' || *c > '~')
			return cli_fail(err, SBX_E_INVALID,
					"the token of %s has a character that no header can have",
					where);
	}
	if (token[0] == '\0')
		return cli_fail(err, SBX_E_INVALID, "the token of %s is empty", where);
	return 0;
}

/* *ret is NULL when there is to be none. */
static int get_token(const struct settings *s, char **ret, struct sbx_error *err)
{
	const char *variable = getenv(TOKEN_VARIABLE);
	int r;

	*ret = NULL;
	if (s->token_file != NULL) {
		r = read_token_file(s->token_file, ret, err);
		return r < 0 ? r : check_token(*ret, s->token_file, err);
	}
	if (variable == NULL)
		return 0;
	*ret = strdup(variable);
	if (*ret == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	unsetenv(TOKEN_VARIABLE);
	return check_token(*ret, TOKEN_VARIABLE, err);
}

/* ---- serving ---- */

static void say_where(const char *url, void *unused)
{
	(void)unused;
	dprintf(STDERR_FILENO, "llm-sandbox-mcp: serving at %s\n", url);
}

static int serve_http(struct mcp_server *server, const struct settings *s, struct sbx_error *err)
{
	auto_free char *token = NULL;
	struct mcp_http_options options = {
		.address = s->http,
		.path = s->path,
		.tls_cert_file = s->tls_cert,
		.tls_key_file = s->tls_key,
		.origins = (const char *const *)s->origins,
		.hosts = (const char *const *)s->hosts,
		.on_listen = say_where,
	};
	int r = get_token(s, &token, err);

	if (r < 0)
		return r;
	options.token = token;
	return mcp_serve_http(server, &options, err);
}

static int serve(struct mcp_sandbox *sandbox, const struct settings *s, struct sbx_error *err)
{
	struct mcp_server *server;
	struct mcp_face face;
	int r;

	mcp_sandbox_face(sandbox, &face);
	face.workers = (unsigned int)s->workers;
	r = mcp_server_new(&face, &server, err);
	if (r < 0)
		return r;
	r = s->http ? serve_http(server, s, err) : mcp_serve_stdio(server, err);
	mcp_server_free(server);
	return r;
}

/* An option of the HTTP server without it would be lost without a word. */
static int check(const struct settings *s, struct sbx_error *err)
{
	const struct {
		const char *name;
		const void *value;
	} needs_http[] = {
		{"path", s->path},	 {"token-file", s->token_file}, {"tls-cert", s->tls_cert},
		{"tls-key", s->tls_key}, {"allow-origin", s->origins},	{"allow-host", s->hosts},
	};

	for (size_t i = 0; s->http == NULL && i < sizeof(needs_http) / sizeof(needs_http[0]); i++) {
		if (needs_http[i].value != NULL)
			return cli_fail(err, SBX_E_INVALID, "--%s needs --http",
					needs_http[i].name);
	}
	if ((s->tls_cert == NULL) != (s->tls_key == NULL))
		return cli_fail(err, SBX_E_INVALID, "--tls-cert and --tls-key need each other");
	return 0;
}

/* Of the machine's and the user's configuration the limits hold here too, and nothing else. */
static int get_limits(struct settings *ret, struct sbx_error *err)
{
	int r = settings_init(ret, err);

	if (r == 0)
		r = config_load(NULL, ret, err);
	return r < 0 ? r : config_load_environment(ret, err);
}

/* For whoever runs the server: clients have no use for it. */
static void say_engine_line(const char *line, void *unused)
{
	(void)unused;
	cli_say("%s", line);
}

static int make_sandbox(const struct settings *s, const struct settings *limits,
			struct mcp_sandbox **ret, struct sbx_error *err)
{
	struct sbx_network *network;
	struct mcp_sandbox_options options = {
		.environment = (const char *const *)environ,
		.limits = limits->spec,
		.on_engine_line = say_engine_line};
	int r = settings_make_network(s, &network, err);

	if (r < 0)
		return r;
	options.network = network;
	r = mcp_sandbox_new(&options, ret, err);
	sbx_network_free(network);
	return r;
}

static int run(const struct settings *s)
{
	struct settings limits = {0};
	struct mcp_sandbox *sandbox;
	struct sbx_error err;
	int r;

	if (s->help)
		return help_command(STDOUT_FILENO, &cmd_mcp);
	if (s->version)
		return printf("llm-sandbox-mcp %s\n", sbx_version()) > 0 && fflush(stdout) == 0
			       ? 0
			       : STATUS_TROUBLE;
	if (check(s, &err) < 0 || get_limits(&limits, &err) < 0 ||
	    make_sandbox(s, &limits, &sandbox, &err) < 0) {
		settings_done(&limits);
		return cli_usage(&err, cmd_mcp.name);
	}
	r = serve(sandbox, s, &err);
	mcp_sandbox_free(sandbox);
	settings_done(&limits);
	if (r == 0)
		return 0;
	cli_say("%s", err.msg);
	return err.code == SBX_E_INVALID ? STATUS_USAGE : STATUS_TROUBLE;
}

static int check_rest(const struct invocation *inv, struct sbx_error *err)
{
	if (inv->rest[0] == NULL)
		return 0;
	return cli_fail(err, SBX_E_INVALID, "'%.64s' is no option", inv->rest[0]);
}

int main(int argc, char **argv)
{
	struct settings settings = {0};
	struct invocation inv = {0};
	struct sbx_error err;
	int status;

	start_program();
	if (parse_words(&cmd_mcp, argc, argv, &inv, &err) < 0 || check_rest(&inv, &err) < 0 ||
	    command_flags(&inv, &settings, &err) < 0)
		status = cli_usage(&err, cmd_mcp.name);
	else
		status = run(&settings);
	settings_done(&settings);
	free(inv.given);
	return status;
}
