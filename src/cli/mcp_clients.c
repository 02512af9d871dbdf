/* SPDX-License-Identifier: MIT */
#include "cli/mcp_clients.h"

#include "cli/closest.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/*
 * Sources: the clients' own documentation of MCP (Claude Code "Connect to tools via MCP", VS
 * Code "MCP configuration reference", Cursor "Model Context Protocol", Codex "config.toml").
 */
static const struct mcp_client clients[] = {
	{
		.name = "claude-code",
		.title = "Claude Code",
		.format = &json_splice,
		.table = "mcpServers",
		.user = "~/.claude.json",
		.home_variable = "CLAUDE_CONFIG_DIR",
		.project = ".mcp.json",
		.local_type = "stdio",
		.remote_type = "http",
		.token_before = "Bearer ${",
		.token_after = "}",
		.next = "Start Claude Code anew; '/mcp' in it lists the server.",
	},
	{
		.name = "claude-desktop",
		.title = "Claude Desktop",
		.format = &json_splice,
		.table = "mcpServers",
		.user = "@/Claude/claude_desktop_config.json",
		.user_darwin = "~/Library/Application Support/Claude/claude_desktop_config.json",
		.no_remote = "add the URL in it, under Settings, Connectors",
		.next = "Quit Claude Desktop and start it again; Settings, Developer lists the server.",
	},
	{
		.name = "cursor",
		.title = "Cursor",
		.format = &json_splice,
		.table = "mcpServers",
		.user = "~/.cursor/mcp.json",
		.project = ".cursor/mcp.json",
		.local_type = "stdio",
		.token_before = "Bearer ${env:",
		.token_after = "}",
		.next = "Cursor lists the server in its settings, under MCP.",
	},
	{
		.name = "vscode",
		.title = "VS Code",
		.format = &json_splice,
		.table = "servers",
		.user = "@/Code/User/mcp.json",
		.user_darwin = "~/Library/Application Support/Code/User/mcp.json",
		.project = ".vscode/mcp.json",
		.local_type = "stdio",
		.remote_type = "http",
		.token_before = "Bearer ${env:",
		.token_after = "}",
		.next = "The command 'MCP: List Servers' of VS Code shows the server.",
	},
	{
		.name = "codex",
		.title = "Codex",
		.format = &toml_splice,
		.table = "mcp_servers",
		.user = "~/.codex/config.toml",
		.home_variable = "CODEX_HOME",
		.project = ".codex/config.toml",
		.token_key = "bearer_token_env_var",
		.next = "Start Codex anew; '/mcp' in it, or 'codex mcp list', shows the server.",
	},
};

const struct mcp_client *mcp_client_at(size_t n)
{
	return n < sizeof(clients) / sizeof(clients[0]) ? &clients[n] : NULL;
}

int mcp_client_find(const char *name, const struct mcp_client **ret, struct sbx_error *err)
{
	struct closest closest = {.typed = name};
	const struct mcp_client *c;
	char list[128] = "";

	for (size_t i = 0; (c = mcp_client_at(i)) != NULL; i++) {
		size_t len = strlen(list);

		if (strcmp(c->name, name) == 0) {
			*ret = c;
			return 0;
		}
		closest_offer(&closest, c->name);
		snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", c->name);
	}
	return cli_fail(err, SBX_E_INVALID, "there is no client '%.64s'%s (clients: %s)", name,
			closest_hint(&closest, ""), list);
}

/* ---- paths ---- */

static int join(const char *folder, const char *more, const char *rest, char ret[4096],
		struct sbx_error *err)
{
	int n = snprintf(ret, 4096, "%s%s/%s", folder, more, rest);

	return n < 4096 ? 0 : cli_fail(err, SBX_E_INVALID, "the path to '%s' is too long", rest);
}

/* An absolute path from the environment; others are as good as none. */
static const char *folder_variable(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value != NULL && value[0] == '/' ? value : NULL;
}

static int expand(const char *path, char ret[4096], struct sbx_error *err)
{
	const char *home = folder_variable("HOME"), *config = folder_variable("XDG_CONFIG_HOME");

	if (path[0] == '@' && config != NULL)
		return join(config, "", path + 2, ret, err);
	if (home == NULL)
		return cli_fail(err, SBX_E_INVALID,
				"HOME is not set; name the configuration with --file FILE");
	return join(home, path[0] == '@' ? "/.config" : "", path + 2, ret, err);
}

static const char *user_path(const struct mcp_client *client)
{
	struct utsname name;
	bool darwin = uname(&name) == 0 && strcmp(name.sysname, "Darwin") == 0;

	return darwin && client->user_darwin ? client->user_darwin : client->user;
}

int mcp_client_path(const struct mcp_client *client, enum mcp_scope scope, char ret[4096],
		    struct sbx_error *err)
{
	const char *folder = folder_variable(client->home_variable), *user = user_path(client);

	if (scope == MCP_SCOPE_PROJECT && client->project == NULL)
		return cli_fail(err, SBX_E_INVALID, "%s has no configuration per project",
				client->title);
	if (scope == MCP_SCOPE_PROJECT) {
		snprintf(ret, 4096, "%s", client->project);
		return 0;
	}
	if (folder != NULL)
		return join(folder, "", strrchr(user, '/') + 1, ret, err);
	return expand(user, ret, err);
}
