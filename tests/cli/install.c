/* SPDX-License-Identifier: MIT */
/* `mcp install`: what is written into the files of five clients, and above all what is not. */
#include "cli/driver.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define EDIT "edit.json"

struct client {
	const char *name, *file, *project, *table;
};

static const struct client clients[] = {
	{"claude-code", ".claude.json", ".mcp.json", "mcpServers"},
	{"claude-desktop", "config/Claude/claude_desktop_config.json", NULL, "mcpServers"},
	{"cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"},
	{"vscode", "config/Code/User/mcp.json", ".vscode/mcp.json", "servers"},
	{"codex", ".codex/config.toml", ".codex/config.toml", NULL},
};

#define EACH(c) const struct client *c = clients; c < clients + 5; c++

/* ---- files ---- */

static const char *in_folder(struct cli_state *t, const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", t->folder, name);
	return path[turn];
}

static char *read_back(struct cli_state *t, const char *name, size_t *ret_len)
{
	FILE *f = fopen(in_folder(t, name), "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(f);
	assert_non_null(text);
	*ret_len = fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	return text;
}

static void assert_file(struct cli_state *t, const char *name, const char *want, size_t want_len)
{
	size_t len;
	char *text = read_back(t, name, &len);

	if (len != want_len || memcmp(text, want, len) != 0)
		print_message("wanted:\n%s\nis:\n%s\n", want, text);
	assert_int_equal(len, want_len);
	assert_memory_equal(text, want, len);
	free(text);
}

static size_t count_backups(struct cli_state *t, const char *name)
{
	char pattern[300];
	size_t count;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.bak-*", in_folder(t, name));
	count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return count;
}

/* ---- runs ---- */

static const struct ran *install(struct cli_state *t, const char *client, const char *file,
				 const char *more)
{
	return program(t, (struct call){0}, "mcp", "install", "--client", client, "--file", file, more,
		       NULL);
}

/* The program's path in entries: the link in the test's folder, which PATH leads to. */
static void fill_in(struct cli_state *t, const char *with_mark, char *ret, size_t size)
{
	const char *mark = strstr(with_mark, "@@");

	if (mark == NULL)
		snprintf(ret, size, "%s", with_mark);
	else
		snprintf(ret, size, "%.*s%s/bin/llm-sandbox%s", (int)(mark - with_mark), with_mark,
			 t->folder, mark + 2);
}

struct splice_case {
	const char *client, *before, *after; /* @@ in after: our path */
};

/* Install, again, remove: the file is as wanted, then the same, then as before. */
static void check_splice(struct cli_state *t, const struct splice_case *c)
{
	char want[4096];
	const struct ran *r;

	fill_in(t, c->after, want, sizeof(want));
	write_file(t, EDIT, c->before, strlen(c->before));
	r = install(t, c->client, EDIT, NULL);
	assert_status(r, 0);
	assert_file(t, EDIT, want, strlen(want));
	r = install(t, c->client, EDIT, NULL);
	assert_status(r, 0);
	assert_contains(r->out, "Nothing to change");
	assert_file(t, EDIT, want, strlen(want));
	assert_int_equal(count_backups(t, EDIT), 1);
	r = install(t, c->client, EDIT, "--remove");
	assert_status(r, 0);
	assert_file(t, EDIT, c->before, strlen(c->before));
}

static void remove_backups(struct cli_state *t)
{
	char text[300];
	char *argv[] = {(char *)"sh", (char *)"-c", text, NULL};

	snprintf(text, sizeof(text), "rm -f -- %s.bak-*", in_folder(t, EDIT));
	assert_status(command(t, (struct call){0}, argv), 0);
}

static void check_splices(struct cli_state *t, const struct splice_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		check_splice(t, &cases[i]);
		remove_backups(t);
	}
}

#define CHECK(cases) check_splices(*state, cases, sizeof(cases) / sizeof(cases[0]))

/* ---- cases ---- */

#define ENTRY(in)                                                                    \
	"{\n" in "  \"command\": \"@@\",\n" in "  \"args\": [\"mcp\"]\n" in "}"

static void other_members_stay_as_they_are(void **state)
{
	static const struct splice_case cases[] = {
		{"claude-desktop", "{\n  \"theme\": \"dark\"\n}\n",
		 "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"llm-sandbox\": " ENTRY("    ")
			 "\n  }\n}\n"},
		{"claude-desktop", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  },\n  \"b\": 1e3\n}",
		 "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    \"llm-sandbox\": " ENTRY(
			 "    ") "\n  },\n  \"b\": 1e3\n}"},
		{"claude-desktop", "{}", "{\n  \"mcpServers\": {\n    \"llm-sandbox\": " ENTRY("    ") "\n  }\n}"},
		{"claude-desktop", "{\n    \"mcpServers\": {}\n}\n",
		 "{\n    \"mcpServers\": {\n        \"llm-sandbox\": {\n            \"command\": \"@@\",\n"
		 "            \"args\": [\"mcp\"]\n        }\n    }\n}\n"},
		{"claude-desktop", "{\"z\":1,\"a\":[1, 2 ]}",
		 "{\"z\":1,\"a\":[1, 2 ],\"mcpServers\":{\"llm-sandbox\":{\"command\":\"@@\",\"args\":[\"mcp\"]}}}"},
		{"claude-desktop", "", "{\n  \"mcpServers\": {\n    \"llm-sandbox\": " ENTRY("    ") "\n  }\n}\n"},
		{"claude-desktop", "\xef\xbb\xbf{\n  \"x\": \"\xc3\xbc\\ud83d\"\n}",
		 "\xef\xbb\xbf{\n  \"x\": \"\xc3\xbc\\ud83d\",\n  \"mcpServers\": {\n    \"llm-sandbox\": " ENTRY(
			 "    ") "\n  }\n}"},
	};

	CHECK(cases);
}

static void tabs_and_line_ends_are_the_files_own(void **state)
{
	static const struct splice_case cases[] = {
		{"claude-desktop", "{\r\n\t\"a\": 1\r\n}\r\n",
		 "{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"llm-sandbox\": {\r\n\t\t\t\"command\": \"@@\",\r\n"
		 "\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}\r\n"},
		{"codex", "model = \"x\"\r\n",
		 "model = \"x\"\r\n\r\n[mcp_servers.llm-sandbox]\r\ncommand = \"@@\"\r\nargs = [\"mcp\"]\r\n"},
	};

	CHECK(cases);
}

static void comments_and_trailing_commas_stay(void **state)
{
	static const struct splice_case cases[] = {
		{"claude-desktop",
		 "// mine\n{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    /* \"b\": {}, */\n  },\n}\n",
		 "// mine\n{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    /* \"b\": {}, */\n"
		 "    \"llm-sandbox\": " ENTRY("    ") ",\n  },\n}\n"},
		{"claude-desktop", "{\n  \"mcpServers\": {\n    \"a\": {} // last\n    // end\n  }\n}\n",
		 "{\n  \"mcpServers\": {\n    \"a\": {}, // last\n    // end\n    \"llm-sandbox\": " ENTRY(
			 "    ") "\n  }\n}\n"},
		{"claude-desktop", "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
		 "{\n  \"mcpServers\": {\n    // none yet\n    \"llm-sandbox\": " ENTRY("    ")
			 "\n  }\n}\n"},
		{"claude-desktop", "// nothing yet\n",
		 "// nothing yet\n{\n  \"mcpServers\": {\n    \"llm-sandbox\": " ENTRY("    ") "\n  }\n}\n"},
	};

	CHECK(cases);
}

static void vs_code_has_a_table_of_its_own_name(void **state)
{
	static const struct splice_case cases[] = {
		{"vscode", "{\n\t\"inputs\": [], // asked\n\t\"servers\": {},\n}\n",
		 "{\n\t\"inputs\": [], // asked\n\t\"servers\": {\n\t\t\"llm-sandbox\": {\n\t\t\t\"type\": \"stdio\",\n"
		 "\t\t\t\"command\": \"@@\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t},\n}\n"},
	};

	CHECK(cases);
}

#define TABLE "[mcp_servers.llm-sandbox]\ncommand = \"@@\"\nargs = [\"mcp\"]\n"

static void toml_tables_strings_and_comments_stay(void **state)
{
	static const struct splice_case cases[] = {
		{"codex", "", TABLE},
		{"codex", "model = \"x\"\n", "model = \"x\"\n\n" TABLE},
		{"codex", "model = \"x\"\n\n", "model = \"x\"\n\n" TABLE},
		{"codex", "a = 1", "a = 1\n\n[mcp_servers.llm-sandbox]\ncommand = \"@@\"\nargs = [\"mcp\"]"},
		{"codex", "s = \"\"\"\n[mcp_servers.llm-sandbox]\n\"\"\" # no table\nt = '''\n'x'''\n",
		 "s = \"\"\"\n[mcp_servers.llm-sandbox]\n\"\"\" # no table\nt = '''\n'x'''\n\n" TABLE},
		{"codex", "[mcp_servers.a]\nargs = [\n  \"]\", # ]\n]\n[mcp_servers.a.env]\nX = { y = \"}\" }\n",
		 "[mcp_servers.a]\nargs = [\n  \"]\", # ]\n]\n[mcp_servers.a.env]\nX = { y = \"}\" }\n\n" TABLE},
		{"codex", "# only words\nd = 1979-05-27 07:32:00Z\n",
		 "# only words\nd = 1979-05-27 07:32:00Z\n\n" TABLE},
	};

	CHECK(cases);
}

struct replace_case {
	const char *client, *before, *replaced, *removed;
};

/* Entries that are there already, in all spellings: replaced, and removed. */
static void other_spellings_of_the_entry_are_found(void **state)
{
	static const struct replace_case cases[] = {
		{"codex", "a = 1\n[mcp_servers.\"llm-sandbox\"] # ours\ncommand = 'old'\n\n[mcp_servers . llm-sandbox.env]\nX = 1\n\n# next\n[z]\n",
		 "a = 1\n" TABLE "\n# next\n[z]\n", "a = 1\n\n# next\n[z]\n"},
		{"codex", "[mcp_servers]\nllm-sandbox = { command = \"old\" }\nb.command = \"x\"\n",
		 "[mcp_servers]\nb.command = \"x\"\n\n" TABLE, "[mcp_servers]\nb.command = \"x\"\n"},
		{"codex", "mcp_servers.'llm-sandbox'.command = 'old'\nx = 1\n", "x = 1\n\n" TABLE, "x = 1\n"},
		{"claude-desktop", "{\"mcpServers\": {\"llm\\u002dsandbox\": {\"command\": \"old\"}, \"b\": {}}}",
		 "{\"mcpServers\": {\"llm\\u002dsandbox\": {\"command\": \"@@\", \"args\": [\"mcp\"]}, \"b\": {}}}",
		 "{\"mcpServers\": {\"b\": {}}}"},
		{"claude-desktop", "{\n  \"mcpServers\": {\n    // ours\n    \"llm-sandbox\": 1, \"b\": {} }\n}\n",
		 "{\n  \"mcpServers\": {\n    // ours\n    \"llm-sandbox\": " ENTRY("    ") ", \"b\": {} }\n}\n",
		 "{\n  \"mcpServers\": {\n    // ours\n    \"b\": {} }\n}\n"},
		{"claude-desktop", "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    \"llm-sandbox\": {}}\n}\n",
		 "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    \"llm-sandbox\": " ENTRY("    ") "}\n}\n",
		 "{\n  \"mcpServers\": {\n    \"a\": {} // a\n    }\n}\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct replace_case *c = &cases[i];
		char want[4096];

		write_file(*state, EDIT, c->before, strlen(c->before));
		assert_status(install(*state, c->client, EDIT, "--remove"), 0);
		assert_file(*state, EDIT, c->removed, strlen(c->removed));
		write_file(*state, EDIT, c->before, strlen(c->before));
		assert_contains(install(*state, c->client, EDIT, NULL)->out, "Replaced 'llm-sandbox'");
		fill_in(*state, c->replaced, want, sizeof(want));
		assert_file(*state, EDIT, want, strlen(want));
	}
}

struct bad_case {
	const char *client, *text, *sentence;
};

static void a_malformed_file_is_not_touched(void **state)
{
	static const struct bad_case bad[] = {
		{"cursor", "{\n  \"a\": 1\n  \"b\": 2\n}", "edit.json: line 3: no valid JSON"},
		{"cursor", "{\n\"a\": \"x\n}", "line 2: no valid JSON: a text has no end"},
		{"cursor", "{} /* x\n", "line 1: no valid JSON: a comment has no end"},
		{"cursor", "{}\n{}", "line 2: no valid JSON"},
		{"cursor", "[\n]", "line 1: no JSON object"},
		{"cursor", "{\"a\": [,]}", "no valid JSON"},
		{"cursor", "{\"a\": \"\xff\"}", "no valid JSON"},
		{"cursor", "{\n\"mcpServers\": []}", "line 2: 'mcpServers' is no object"},
		{"cursor", "{\"mcpServers\": {},\n\"mcpServers\": {}}", "line 2: 'mcpServers' is there twice"},
		{"codex", "a = 1\nb = \n", "edit.json: line 2: no valid TOML: a value is missing"},
		{"codex", "a = 1\n\n[x\n", "line 3: no valid TOML: a header has no end"},
		{"codex", "a = \"\"\"\nx\n", "no valid TOML: a text of many lines has no end"},
		{"codex", "a = hello\n", "line 1: no valid TOML: a value is neither"},
		{"codex", "a = 1 b = 2\n", "line 1: no valid TOML: something stands behind the value"},
		{"codex", "\nmcp_servers = { }\n", "line 2: 'mcp_servers' is no plain table"},
		{"codex", "[mcp_servers.llm-sandbox]\n[a]\n[mcp_servers.llm-sandbox]\n",
		 "line 3: 'llm-sandbox' is there twice"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ran *r;

		write_file(*state, EDIT, bad[i].text, strlen(bad[i].text));
		r = install(*state, bad[i].client, EDIT, NULL);
		assert_status(r, 125);
		assert_contains(r->err, bad[i].sentence);
		assert_file(*state, EDIT, bad[i].text, strlen(bad[i].text));
	}
	assert_int_equal(count_backups(*state, EDIT), 0);
}

static void hostile_nesting_is_refused(void **state)
{
	static const char *const openers[] = {"{\"a\":", "[", "a = [[[["};
	static const char *const names[] = {"cursor", "cursor", "codex"};

	for (size_t i = 0; i < 3; i++) {
		size_t size = 1 << 20, len = 0;
		char *text = calloc(1, size + 16);
		const struct ran *r;

		assert_non_null(text);
		strcpy(text, i == 2 ? "a = " : "");
		for (len = strlen(text); len < size; len += strlen(openers[i == 2 ? 1 : i]))
			strcpy(text + len, openers[i == 2 ? 1 : i]);
		write_file(*state, EDIT, text, len);
		free(text);
		r = install(*state, names[i], EDIT, NULL);
		assert_status(r, 125);
		assert_contains(r->err, "nested too deeply");
	}
}

static void a_huge_file_is_refused(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	write_file(t, EDIT, "{}", 2);
	assert_int_equal(truncate(in_folder(t, EDIT), 10 << 20), 0);
	r = install(t, "cursor", EDIT, NULL);
	assert_status(r, 125);
	assert_contains(r->err, "larger than 8 MiB");
	assert_int_equal(count_backups(t, EDIT), 0);
}

/* ---- the clients' own files ---- */

static void check_entry(struct cli_state *t, const struct client *c, const char *file)
{
	json_t *root = json_load_file(in_folder(t, file), 0, NULL), *entry;

	entry = json_object_get(json_object_get(root, c->table), "llm-sandbox");
	assert_string_equal(json_string_value(json_object_get(entry, "command")),
			    in_folder(t, "bin/llm-sandbox"));
	assert_string_equal(json_string_value(json_array_get(json_object_get(entry, "args"), 0)), "mcp");
	json_decref(root);
}

static void every_client_gets_a_fresh_file(void **state)
{
	struct cli_state *t = *state;

	for (EACH(c)) {
		const struct ran *r =
			program(t, (struct call){0}, "mcp", "install", "--client", c->name, NULL);
		struct stat st;

		assert_status(r, 0);
		assert_contains(r->out, "into the new file");
		assert_contains(r->out, c->file);
		assert_int_equal(stat(in_folder(t, c->file), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_int_equal(count_backups(t, c->file), 0);
		if (c->table != NULL)
			check_entry(t, c, c->file);
	}
}

static void every_client_but_one_has_project_files(void **state)
{
	struct cli_state *t = *state;

	mkdir(in_folder(t, "project"), 0755);
	for (EACH(c)) {
		struct call call = {.cwd = in_folder(t, "project")};
		const struct ran *r = program(t, call, "mcp", "install", "--client", c->name, "--scope",
					      "project", NULL);
		char path[128];

		if (c->project == NULL) {
			assert_status(r, 125);
			assert_contains(r->err, "has no configuration per project");
			continue;
		}
		assert_status(r, 0);
		snprintf(path, sizeof(path), "project/%s", c->project);
		assert_int_equal(access(in_folder(t, path), R_OK), 0);
	}
}

static void folders_come_from_the_environment(void **state)
{
	struct cli_state *t = *state;
	char claude[128], codex[128];
	const char *env[] = {claude, codex, "XDG_CONFIG_HOME=relative", NULL};
	struct call call = {.env = env};

	snprintf(claude, sizeof(claude), "CLAUDE_CONFIG_DIR=%s/one", t->folder);
	snprintf(codex, sizeof(codex), "CODEX_HOME=%s/two", t->folder);
	assert_status(program(t, call, "mcp", "install", "--client", "claude-code", NULL), 0);
	assert_status(program(t, call, "mcp", "install", "--client", "codex", NULL), 0);
	assert_status(program(t, call, "mcp", "install", "--client", "vscode", NULL), 0);
	assert_int_equal(access(in_folder(t, "one/.claude.json"), R_OK), 0);
	assert_int_equal(access(in_folder(t, "two/config.toml"), R_OK), 0);
	assert_int_equal(access(in_folder(t, ".config/Code/User/mcp.json"), R_OK), 0);
}

static void printing_changes_nothing(void **state)
{
	struct cli_state *t = *state;

	for (EACH(c)) {
		const struct ran *r = program(t, (struct call){0}, "mcp", "install", "--client", c->name,
					      "--print", "--name", "box", "--", "--x", "a b", NULL);

		assert_status(r, 0);
		assert_contains(r->out, "box");
		assert_contains(r->out, "[\"mcp\", \"--x\", \"a b\"]");
		assert_int_not_equal(access(in_folder(t, c->file), F_OK), 0);
	}
}

static const char *remote(struct cli_state *t, const char *client)
{
	const struct ran *r = program(t, (struct call){0}, "mcp", "install", "--client", client,
				      "--print", "--url", "https://h.example/mcp", "--token-env", "T",
				      NULL);

	return r->status == 0 ? r->out : r->err;
}

static void a_server_elsewhere_takes_its_token_from_a_variable(void **state)
{
	assert_contains(remote(*state, "claude-code"), "\"type\": \"http\"");
	assert_contains(remote(*state, "claude-code"), "\"Authorization\": \"Bearer ${T}\"");
	assert_contains(remote(*state, "cursor"), "\"Authorization\": \"Bearer ${env:T}\"");
	assert_contains(remote(*state, "vscode"), "\"type\": \"http\"");
	assert_contains(remote(*state, "codex"), "url = \"https://h.example/mcp\"\n");
	assert_contains(remote(*state, "codex"), "bearer_token_env_var = \"T\"\n");
	assert_contains(remote(*state, "claude-desktop"), "Settings, Connectors");
}

/* ---- the file itself ---- */

static void a_backup_is_kept_and_mode_stays(void **state)
{
	struct cli_state *t = *state;
	const char *text = "{\"a\": 1}\n";
	const struct ran *r;
	char *name, *end;
	struct stat st;

	write_file(t, EDIT, text, strlen(text));
	assert_int_equal(chmod(in_folder(t, EDIT), 0640), 0);
	r = install(t, "cursor", EDIT, NULL);
	name = strstr(r->out, "edit.json.bak-");
	assert_non_null(name);
	end = strchr(name, '\n');
	*end = '\0';
	assert_int_equal(strlen(name), strlen("edit.json.bak-20260101-120000"));
	assert_file(t, name, text, strlen(text));
	assert_int_equal(stat(in_folder(t, name), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(stat(in_folder(t, EDIT), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void a_link_stays_a_link(void **state)
{
	struct cli_state *t = *state;
	struct stat st;

	mkdir(in_folder(t, "dots"), 0755);
	write_file(t, "dots/real.json", "{}", 2);
	assert_int_equal(symlink("dots/middle", in_folder(t, EDIT)), 0);
	assert_int_equal(symlink("real.json", in_folder(t, "dots/middle")), 0);
	assert_status(install(t, "cursor", EDIT, NULL), 0);
	assert_int_equal(lstat(in_folder(t, EDIT), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat(in_folder(t, "dots/middle"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(count_backups(t, "dots/real.json"), 1);
	assert_int_equal(lstat(in_folder(t, "dots/real.json"), &st), 0);
	assert_true(st.st_size > 2);
}

static void what_is_no_file_is_refused(void **state)
{
	struct cli_state *t = *state;

	assert_int_equal(mkfifo(in_folder(t, "fifo"), 0600), 0);
	assert_contains(install(t, "cursor", "fifo", NULL)->err, "is no regular file");
	assert_int_equal(symlink("loop", in_folder(t, "loop")), 0);
	assert_contains(install(t, "cursor", "loop", NULL)->err, "is a link without an end");
	assert_status(install(t, "cursor", "bin", NULL), 125);
	assert_status(install(t, "cursor", "/sys/llm-sandbox.json", NULL), 125);
}

/* Root writes anywhere, so this is another user's run. */
static void a_read_only_folder_changes_nothing(void **state)
{
	struct cli_state *t = *state;
	char script[512];
	char *argv[] = {(char *)"sh", (char *)"-c", script, NULL};
	const struct ran *r;

	mkdir(in_folder(t, "ro"), 0755);
	write_file(t, "ro/a.json", "{}", 2);
	chmod(in_folder(t, "ro"), 0555);
	chmod(t->folder, 0755);
	snprintf(script, sizeof(script),
		 "p=$(mktemp -d) && chmod 755 \"$p\" && cp -L %s \"$p/x\" && cd / && "
		 "%s \"$p/x\" mcp install --client cursor --file %s; s=$?; rm -r \"$p\"; exit $s",
		 in_folder(t, "bin/llm-sandbox"),
		 geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups" : "",
		 in_folder(t, "ro/a.json"));
	r = command(t, (struct call){0}, argv);
	assert_status(r, 125);
	assert_contains(r->err, "Permission denied");
	assert_file(t, "ro/a.json", "{}", 2);
	chmod(in_folder(t, "ro"), 0755);
}

static void removing_what_is_not_there_is_no_error(void **state)
{
	for (EACH(c)) {
		const struct ran *r = program(*state, (struct call){0}, "mcp", "install", "--client",
					      c->name, "--remove", NULL);

		assert_status(r, 0);
		assert_contains(r->out, "Nothing to remove");
		assert_int_not_equal(access(in_folder(*state, c->file), F_OK), 0);
	}
}

/* Somebody else's change since then stays, also where the backup would be nearer. */
static void removing_keeps_later_changes(void **state)
{
	const char *text = "{\n  \"a\": 1\n}\n";
	size_t len;
	char *now, *one;

	write_file(*state, EDIT, text, strlen(text));
	install(*state, "claude-desktop", EDIT, NULL);
	now = read_back(*state, EDIT, &len);
	one = strchr(now, '1');
	*one = '2';
	write_file(*state, EDIT, now, len);
	free(now);
	assert_status(install(*state, "claude-desktop", EDIT, "--remove"), 0);
	text = "{\n  \"a\": 2,\n  \"mcpServers\": {}\n}\n";
	assert_file(*state, EDIT, text, strlen(text));
}

/* ---- the command line ---- */

struct usage_case {
	const char *args[6];
	const char *sentence;
};

static void requests_that_make_no_sense_say_why(void **state)
{
	static const struct usage_case cases[] = {
		{{NULL}, "which client?"},
		{{"--client", "cursr"}, "there is no client 'cursr'; did you mean 'cursor'?"},
		{{"--clent", "x"}, "there is no option '--clent'; did you mean '--client'?"},
		{{"--client"}, "--client needs a value"},
		{{"--client", "codex", "--scope", "all"}, "'all' is neither user nor project"},
		{{"--client", "codex", "--name", "a.b"}, "'a.b' must be 1 to 64"},
		{{"--client", "codex", "x"}, "arguments for the server stand behind '--'"},
		{{"--client", "codex", "--remove", "--print"}, "--remove goes with"},
		{{"--client", "codex", "--url", "ftp://x"}, "is no http or https URL"},
		{{"--client", "codex", "--token-env", "A"}, "--token-env is for --url"},
		{{"--client", "claude-desktop", "--url", "http://x"}, "starts programs only"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *a = cases[i].args;
		const struct ran *r = program(*state, (struct call){0}, "mcp", "install", a[0], a[1],
					      a[2], a[3], NULL);

		assert_status(r, 2);
		assert_contains(r->err, cases[i].sentence);
	}
}

static void help_names_every_client_and_fits(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "mcp", "install", "--help", NULL);
	char *rest = r->out, *line;

	assert_status(r, 0);
	for (EACH(c))
		assert_contains(r->out, c->name);
	while ((line = strsep(&rest, "\n")) != NULL)
		assert_true(strlen(line) <= 80);
}

static void the_man_page_has_every_option(void **state)
{
	static const char *const ours[] = {"client", "scope", "name", "file", "url", "token-env",
					   "print", "remove"};
	const struct ran *r = program(*state, (struct call){0}, "mcp", "install", "--help", NULL);
	char *man = read_source("docs/man/llm-sandbox.1.scd");
	char *section = strstr(man, "\n# MCP CLIENTS\n");

	assert_non_null(section);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		char text[32];

		snprintf(text, sizeof(text), "--%s", ours[i]);
		assert_contains(r->out, text);
		assert_contains(section, text);
	}
	free(man);
}

/* The document of clients shows for each the command, and the file that it writes. */
static void the_document_of_clients_is_complete(void **state)
{
	char *text = read_source("docs/clients.md");

	(void)state;
	for (EACH(c)) {
		char line[128];

		snprintf(line, sizeof(line), "llm-sandbox mcp install --client %s\n", c->name);
		assert_contains(text, line);
		snprintf(line, sizeof(line), "llm-sandbox mcp install --client %s --remove\n", c->name);
		assert_contains(text, line);
		assert_contains(text, strrchr(c->file, '/') ? strrchr(c->file, '/') + 1 : c->file);
		if (c->project != NULL)
			assert_contains(text, c->project);
	}
	free(text);
}

int install_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(other_members_stay_as_they_are),
		cli_test(tabs_and_line_ends_are_the_files_own),
		cli_test(comments_and_trailing_commas_stay),
		cli_test(vs_code_has_a_table_of_its_own_name),
		cli_test(toml_tables_strings_and_comments_stay),
		cli_test(other_spellings_of_the_entry_are_found),
		cli_test(a_malformed_file_is_not_touched),
		cli_test(hostile_nesting_is_refused),
		cli_test(a_huge_file_is_refused),
		cli_test(every_client_gets_a_fresh_file),
		cli_test(every_client_but_one_has_project_files),
		cli_test(folders_come_from_the_environment),
		cli_test(printing_changes_nothing),
		cli_test(a_server_elsewhere_takes_its_token_from_a_variable),
		cli_test(a_backup_is_kept_and_mode_stays),
		cli_test(a_link_stays_a_link),
		cli_test(what_is_no_file_is_refused),
		cli_test(a_read_only_folder_changes_nothing),
		cli_test(removing_what_is_not_there_is_no_error),
		cli_test(removing_keeps_later_changes),
		cli_test(requests_that_make_no_sense_say_why),
		cli_test(help_names_every_client_and_fits),
		cli_test(the_man_page_has_every_option),
		cli_test(the_document_of_clients_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
