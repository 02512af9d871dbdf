/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "cli/settings_container.h"
#include "cli/trouble.h"
#include "cli/value.h"
#include "cli/wishes.h"

#include <string.h>
#include <strings.h>

#define LIMIT(which, short_form)                                            \
	{                                                                   \
		.kind = OPTION_LIMIT, .group = GROUP_LIMITS, .limit = which, \
		.letter = short_form, .commands = FOR_SANDBOXES             \
	}
#define SETTING(field) offsetof(struct settings, field)
#define SERVER_TEXT(option, value, field, text)                                   \
	{                                                                         \
		.name = option, .argument = value, .kind = OPTION_TEXT,           \
		.offset = SETTING(field), .group = GROUP_SERVER,                  \
		.commands = FOR_MCP, .flag_only = true, .help = text              \
	}
#define CONTAINER_TEXT(option, value, field, text)                                \
	{                                                                         \
		.name = option, .argument = value, .kind = OPTION_TEXT,           \
		.offset = SETTING(field), .group = GROUP_SANDBOX,                 \
		.commands = FOR_SANDBOXES | FOR_LANGUAGES, .help = text           \
	}
#define CONTAINER_VALUE(option, value, function, which, text)                     \
	{                                                                         \
		.name = option, .argument = value, .kind = OPTION_VALUE,          \
		.set = function, .group = GROUP_SANDBOX,                          \
		.commands = which, .help = text                                   \
	}

static const struct option_row rows[] = {
	{.name = "language", .letter = 'l', .argument = "LANGUAGE", .kind = OPTION_TEXT,
	 .offset = SETTING(language), .flag_only = true, .commands = FOR_RUN | FOR_START | FOR_REPL | FOR_LIB_ADD,
	 .help = "language of the code; without it, guessed from the file name, or any"},
	{.name = "code", .letter = 'c', .argument = "CODE", .kind = OPTION_TEXT,
	 .offset = SETTING(code), .flag_only = true, .commands = FOR_RUN,
	 .help = "the code itself, instead of a file"},

	{.name = "lib", .letter = 'L', .argument = "NAME", .kind = OPTION_LIST,
	 .set = settings_add_library, .group = GROUP_LIBRARIES, .commands = FOR_RUN | FOR_REPL,
	 .list_key = "libraries",
	 .help = "library that the code needs, as its package manager writes it: 'requests>=2'"},
	{.name = "offline", .kind = OPTION_FLAG, .offset = SETTING(offline), .group = GROUP_LIBRARIES,
	 .commands = FOR_RUN | FOR_REPL | FOR_LIB_ADD, .help = "install nothing; fail when a library is missing"},
	{.name = "library-cache", .argument = "SIZE", .kind = OPTION_VALUE,
	 .set = settings_set_library_cache, .group = GROUP_LIBRARIES, .commands = FOR_RUN | FOR_REPL | FOR_LIB_ADD,
	 .help = "space for all sets; the longest unused go first (default 5G)"},

	{.name = "session", .letter = 'S', .argument = "NAME", .kind = OPTION_TEXT,
	 .offset = SETTING(session), .flag_only = true, .group = GROUP_SESSION,
	 .commands = FOR_RUNS | FOR_REPL | FOR_KERNEL | FOR_KERNEL_LIST,
	 .help = "run in this session instead of a fresh sandbox; see 'session start'"},
	{.name = "kernel", .letter = 'k', .argument = "NAME", .kind = OPTION_TEXT,
	 .offset = SETTING(kernel), .flag_only = true, .group = GROUP_SESSION,
	 .commands = FOR_RUN | FOR_REPL,
	 .help = "run as a cell of this kernel of the session, which keeps its state"},
	{.name = "background", .letter = 'b', .kind = OPTION_FLAG, .offset = SETTING(background),
	 .flag_only = true, .group = GROUP_SESSION, .commands = FOR_EXEC,
	 .help = "with --session: print a number and let it run; see 'session logs'"},
	{.name = "wait", .letter = 'w', .kind = OPTION_FLAG, .offset = SETTING(waits),
	 .flag_only = true, .group = GROUP_SESSION, .commands = FOR_LOGS,
	 .help = "wait for its end, and end as it did"},
	{.name = "idle-timeout", .argument = "TIME", .kind = OPTION_VALUE, .set = settings_set_idle,
	 .group = GROUP_SESSION, .commands = FOR_START,
	 .help = "end the session when it is not used for so long (default 1h), or none"},
	{.name = "holder-idle", .argument = "TIME", .kind = OPTION_VALUE,
	 .set = settings_set_holder_idle, .group = GROUP_SESSION, .commands = FOR_START | FOR_HOLDER,
	 .help = "how long the process that holds sessions stays without any (default 1m)"},
	{.name = "all", .letter = 'a', .kind = OPTION_FLAG, .offset = SETTING(all), .flag_only = true,
	 .group = GROUP_SESSION, .commands = FOR_STOP, .help = "all sessions"},

	{.kind = OPTION_LIMIT, .group = GROUP_LIMITS, .limit = SBX_LIMIT_WALL_MS, .letter = 't',
	 .commands = FOR_SANDBOXES, .per_run = true},
	LIMIT(SBX_LIMIT_EXECUTION_MS, 0),
	{.kind = OPTION_LIMIT, .group = GROUP_LIMITS, .limit = SBX_LIMIT_SESSION_MS,
	 .commands = FOR_SANDBOXES},
	LIMIT(SBX_LIMIT_CPU_MS, 0),
	LIMIT(SBX_LIMIT_CPU_MILLI, 0),
	LIMIT(SBX_LIMIT_MEMORY_BYTES, 'm'),
	LIMIT(SBX_LIMIT_PROCESSES, 0),
	LIMIT(SBX_LIMIT_DISK_BYTES, 0),
	LIMIT(SBX_LIMIT_OPEN_FILES, 0),
	LIMIT(SBX_LIMIT_HEAD_BYTES, 0),
	LIMIT(SBX_LIMIT_TAIL_BYTES, 0),
	LIMIT(SBX_LIMIT_ARTIFACTS, 0),
	LIMIT(SBX_LIMIT_ARTIFACT_BYTES, 0),

	{.name = "env", .letter = 'e', .argument = "NAME[=VALUE]", .kind = OPTION_LIST,
	 .set = settings_add_env, .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES, .per_run = true,
	 .help = "environment variable of the program; NAME alone takes our value"},
	{.name = "mount", .letter = 'v', .argument = "HOST:INSIDE[:rw]", .kind = OPTION_LIST,
	 .set = settings_add_mount, .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES,
	 .list_key = "mounts",
	 .help = "show a file or folder of this machine inside, read-only unless :rw"},
	{.name = "user", .letter = 'u', .argument = "UID[:GID]", .kind = OPTION_VALUE,
	 .set = settings_set_user, .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES,
	 .help = "user and group inside (default 1000:1000)"},
	{.name = "workdir", .letter = 'w', .argument = "FOLDER", .kind = OPTION_TEXT,
	 .offset = SETTING(workdir), .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES,
	 .help = "work folder inside (default /sandbox)"},
	{.name = "backend", .argument = "NAME", .kind = OPTION_VALUE,
	 .set = settings_set_backend, .group = GROUP_SANDBOX, .commands = FOR_TOOLS,
	 .help = "how the sandbox is made: native (default), docker, podman, micromamba or auto"},
	CONTAINER_VALUE("image", "IMAGE", settings_set_image, FOR_TOOLS,
			"root of the sandbox: a name of 'image list', a folder, or an engine's image"),
	CONTAINER_TEXT("dockerfile", "FILE", dockerfile,
		       "build the image from this file, with the folder that it is in"),
	CONTAINER_TEXT("context", "FOLDER", context,
		       "build with this folder, and not the one that the file is in"),
	CONTAINER_TEXT("tag", "IMAGE", tag, "what the image that is built is called"),
	CONTAINER_VALUE("pull", "POLICY", settings_set_pull, FOR_TOOLS,
			"when an image is pulled: missing (default), always or never"),
	CONTAINER_VALUE("container", "ID", settings_set_container, FOR_SANDBOXES | FOR_LANGUAGES,
			"run in this container, which is there already and stays"),
	CONTAINER_VALUE("environment", "NAME", settings_set_environment, FOR_TOOLS,
			"environment of micromamba or conda in the image that tools are found in"),
	{.name = "runtime-config", .argument = "JSON|@FILE", .kind = OPTION_LIST,
	 .set = settings_add_runtime_config, .group = GROUP_SANDBOX,
	 .commands = FOR_SANDBOXES | FOR_LANGUAGES,
	 .list_key = "runtime-configs",
	 .help = "ask the engine for more: an object with docker-py's names, \"mem_limit\""},
	{.name = "keep-template", .kind = OPTION_FLAG, .offset = SETTING(keep_template),
	 .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES | FOR_LANGUAGES,
	 .help = "keep an image that was pulled or built for this (default)"},
	{.name = "no-keep-template", .kind = OPTION_VALUE, .set = settings_drop_template,
	 .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES | FOR_LANGUAGES,
	 .help = "remove it at the end, unless it was there before"},
	{.name = "commit", .argument = "[=TAG]", .kind = OPTION_VALUE, .set = settings_set_commit,
	 .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES,
	 .help = "keep the container as an image at its end, under a fresh name or TAG"},
	{.name = "skip-environment-setup", .kind = OPTION_FLAG, .offset = SETTING(skip_setup),
	 .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES,
	 .help = "only what the image has: no libraries can be installed"},
	{.name = "backend", .argument = "NAME", .kind = OPTION_TEXT, .offset = SETTING(image_backend),
	 .flag_only = true, .group = GROUP_SANDBOX, .commands = FOR_IMAGES,
	 .help = "whose images: native (default), docker or podman"},
	{.name = "config", .argument = "FILE", .kind = OPTION_TEXT, .offset = SETTING(config),
	 .flag_only = true, .group = GROUP_SANDBOX, .commands = FOR_TOOLS,
	 .help = "read this configuration file instead of the usual ones"},
	{.name = "dry-run", .kind = OPTION_FLAG, .offset = SETTING(dry_run), .flag_only = true,
	 .group = GROUP_SANDBOX, .commands = FOR_SANDBOXES,
	 .help = "print how the sandbox would be made, and stop"},

	{.name = "network", .argument = "MODE", .kind = OPTION_VALUE, .set = settings_set_network,
	 .group = GROUP_NETWORK, .commands = FOR_SANDBOXES | FOR_MCP,
	 .help = "what may be reached: none (default), allow, packages or open"},
	{.name = "allow", .argument = "HOST[:PORT]", .kind = OPTION_LIST, .set = settings_add_allow,
	 .group = GROUP_NETWORK, .commands = FOR_SANDBOXES | FOR_MCP,
	 .help = "let the sandbox reach this host, or *.HOST, at 80 and 443 or PORT"},
	{.name = "allow-private", .argument = "HOST[:PORT]", .kind = OPTION_LIST,
	 .set = settings_add_allow_private, .group = GROUP_NETWORK, .commands = FOR_SANDBOXES | FOR_MCP,
	 .help = "the same, also where the name leads to a private address"},
	{.name = "network-bytes", .argument = "SIZE", .kind = OPTION_VALUE,
	 .set = settings_set_network_bytes, .group = GROUP_NETWORK, .commands = FOR_SANDBOXES | FOR_MCP,
	 .help = "most bytes both ways (default none)"},
	{.name = "network-rate", .argument = "SIZE", .kind = OPTION_VALUE,
	 .set = settings_set_network_rate, .group = GROUP_NETWORK, .commands = FOR_SANDBOXES | FOR_MCP,
	 .help = "most bytes a second, all connections together (default none)"},
	{.name = "connections", .argument = "COUNT", .kind = OPTION_VALUE,
	 .set = settings_set_connections, .group = GROUP_NETWORK, .commands = FOR_SANDBOXES | FOR_MCP,
	 .help = "connections at one time (default 64)"},

	SERVER_TEXT("http", "ADDRESS", http,
		    "serve HTTP at HOST:PORT, PORT of this machine alone, or unix:PATH"),
	SERVER_TEXT("path", "PATH", path, "path of the endpoint (default /mcp)"),
	SERVER_TEXT("token-file", "FILE", token_file,
		    "bearer token that requests must have; or the variable LLM_SANDBOX_MCP_TOKEN"),
	SERVER_TEXT("tls-cert", "FILE", tls_cert, "serve HTTPS with this certificate (PEM)"),
	SERVER_TEXT("tls-key", "FILE", tls_key, "key of the certificate (PEM)"),
	{.name = "allow-origin", .argument = "ORIGIN", .kind = OPTION_LIST,
	 .set = settings_add_origin, .group = GROUP_SERVER, .commands = FOR_MCP, .flag_only = true,
	 .help = "let web pages of this origin in, besides those of this machine"},
	{.name = "allow-host", .argument = "NAME", .kind = OPTION_LIST, .set = settings_add_host,
	 .group = GROUP_SERVER, .commands = FOR_MCP, .flag_only = true,
	 .help = "name that clients may call this server by, besides localhost"},
	{.name = "workers", .argument = "COUNT", .kind = OPTION_VALUE, .set = settings_set_workers,
	 .group = GROUP_SERVER, .commands = FOR_MCP, .flag_only = true,
	 .help = "calls that run at one time; more wait (default 8)"},

	{.name = "json", .letter = 'j', .kind = OPTION_FLAG, .offset = SETTING(json),
	 .group = GROUP_OUTPUT,
	 .commands = FOR_RUNS | FOR_START | FOR_LANGUAGES | FOR_DOCTOR | FOR_VERSION | FOR_LIST |
		     FOR_LS | FOR_LIB_ADD | FOR_LIB_LIST | FOR_KERNEL_LIST |
		     FOR_IMAGE_BUILD | FOR_IMAGE_IMPORT | FOR_IMAGE_LIST,
	 .help = "print JSON on stdout and nothing else"},
	{.name = "stream", .letter = 's', .kind = OPTION_FLAG, .offset = SETTING(stream),
	 .group = GROUP_OUTPUT, .commands = FOR_RUNS,
	 .help = "pass output on as it comes, all of it; with --json as JSON lines"},
	{.name = "artifacts", .letter = 'A', .argument = "FOLDER", .kind = OPTION_TEXT,
	 .offset = SETTING(artifacts), .flag_only = true, .group = GROUP_OUTPUT,
	 .commands = FOR_RUNS | FOR_REPL,
	 .help = "save the plots and files that it shows or makes in this folder, and list them"},
	{.name = "show", .kind = OPTION_FLAG, .offset = SETTING(show), .group = GROUP_OUTPUT,
	 .commands = FOR_RUNS | FOR_REPL,
	 .help = "show plots in the terminal, where it can show pictures"},
	{.name = "long", .letter = 'l', .kind = OPTION_FLAG, .offset = SETTING(longer),
	 .flag_only = true, .group = GROUP_OUTPUT, .commands = FOR_LS,
	 .help = "kind and permissions, size and time of each"},
	{.name = "recursive", .letter = 'R', .kind = OPTION_FLAG, .offset = SETTING(deep),
	 .flag_only = true, .group = GROUP_OUTPUT, .commands = FOR_LS,
	 .help = "what is in folders too"},
	{.name = "recursive", .letter = 'r', .kind = OPTION_FLAG, .offset = SETTING(deep),
	 .flag_only = true, .group = GROUP_OUTPUT, .commands = FOR_CP,
	 .help = "accepted; a folder is always copied with all that is in it"},
	{.name = "raw", .kind = OPTION_FLAG, .offset = SETTING(raw), .group = GROUP_OUTPUT,
	 .commands = FOR_RUNS | FOR_REPL | FOR_CAT | FOR_CP | FOR_LOGS,
	 .help = "let the program's escape sequences reach your terminal"},
	{.name = "help", .letter = 'h', .kind = OPTION_FLAG, .offset = SETTING(help),
	 .flag_only = true, .group = GROUP_OUTPUT, .commands = FOR_ALL, .help = "print this help"},
	{.name = "version", .kind = OPTION_FLAG, .offset = SETTING(version), .flag_only = true,
	 .group = GROUP_OUTPUT, .commands = FOR_MCP, .help = "print the version"},
	{.name = "options", .kind = OPTION_FLAG, .offset = SETTING(options), .flag_only = true,
	 .hidden = true, .group = GROUP_OUTPUT, .commands = FOR_HELP,
	 .help = "print every option of every command, one a line, for programs"},
};

const struct option_row *option_at(size_t n)
{
	return n < sizeof(rows) / sizeof(rows[0]) ? &rows[n] : NULL;
}

const char *option_name(const struct option_row *o)
{
	return o->kind == OPTION_LIMIT ? sbx_limit_describe(o->limit)->name : o->name;
}

const char *option_key(const struct option_row *o)
{
	return o->list_key ? o->list_key : option_name(o);
}

const char *option_help(const struct option_row *o)
{
	return o->kind == OPTION_LIMIT ? sbx_limit_describe(o->limit)->summary : o->help;
}

const char *option_argument(const struct option_row *o)
{
	return o->kind == OPTION_LIMIT ? value_argument(sbx_limit_describe(o->limit)->unit)
				       : o->argument;
}

const struct option_row *option_find(const char *name)
{
	const struct option_row *o;

	for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
		if (strcmp(option_name(o), name) == 0)
			return o;
	}
	return NULL;
}

const struct option_row *option_find_key(const char *key)
{
	const struct option_row *o;

	for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
		if (!o->flag_only && strcmp(option_key(o), key) == 0)
			return o;
	}
	return NULL;
}

/* ---- setting ---- */

static int set_flag(bool *flag, const char *value, const char *where, struct sbx_error *err)
{
	static const char *const words[2][4] = {{"false", "no", "off", "0"},
						{"true", "yes", "on", "1"}};

	for (int on = 0; on < 2; on++) {
		for (int i = 0; i < 4; i++) {
			if (strcasecmp(value, words[on][i]) == 0) {
				*flag = on;
				return 0;
			}
		}
	}
	return cli_fail(err, SBX_E_INVALID, "%s: '%.64s' is neither true nor false", where, value);
}

static int set_text(char **text, const char *value, struct sbx_error *err)
{
	char *copy = strdup(value);

	if (copy == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	free(*text);
	*text = copy;
	return 0;
}

static int set_limit(const struct option_row *o, struct settings *s, const char *text,
		     const char *where, struct sbx_error *err)
{
	uint64_t value;
	int r = value_parse_limit(o->limit, text, &value, err);

	if (r == 0 && value == 0 && o->limit == SBX_LIMIT_WALL_MS) /* unset: as if it was not given */
		return 0;
	if (r < 0 || sbx_spec_set_limit(s->spec, o->limit, value, err) < 0)
		return cli_prefix(err, where);
	return 0;
}

static int set(const struct option_row *o, struct settings *s, const char *value,
	       const char *where, struct sbx_error *err)
{
	void *field = (char *)s + o->offset;

	switch (o->kind) {
	case OPTION_FLAG:
		return set_flag(field, value ? value : "true", where, err);
	case OPTION_TEXT:
		return set_text(field, value, err);
	case OPTION_LIMIT:
		return set_limit(o, s, value, where, err);
	case OPTION_VALUE:
	case OPTION_LIST:
		break;
	}
	return o->set(s, value, where, err);
}

int option_set(const struct option_row *o, struct settings *s, const char *value,
	       const char *where, struct sbx_error *err)
{
	int r = set(o, s, value, where, err);

	return r < 0 ? r : wishes_note(s, o, value, where, err);
}
