/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/libraries.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"

#include <llmsandbox/container.h>
#include <llmsandbox/language.h>
#include <llmsandbox/session.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 100
#define LOOK_MS	     200  /* how often one who waits for another looks whether it is cancelled */
#define LIST_MAX     5000 /* names of one language; what a sandbox prints is hostile */

/*
 * How a language tells its libraries: a program that prints "+name<TAB>version" for what is
 * installed and "=name<TAB>version" for what comes with the language. always: what comes with
 * it and no program can tell.
 */
struct source {
	const char *language;
	const char *code;
	const char *const *argv; /* instead of code: its lines are names */
	const char *const *always;
};

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct source sources[] = {
	{.language = "python",
	 .code = "import importlib.metadata as m, sys\n"
		 "for d in sorted(m.distributions(), key=lambda d: (d.metadata['Name'] or "
		 "'').lower()):\n"
		 "    if d.metadata['Name']:\n"
		 "        print('+%s\\t%s' % (d.metadata['Name'], d.version))\n"
		 "for name, owners in m.packages_distributions().items():\n"
		 "    print('=%s\\t%s' % (name, m.version(owners[0])))\n"
		 "for name in sys.stdlib_module_names:\n"
		 "    print('=%s\\tof Python %d.%d' % ((name,) + sys.version_info[:2]))\n"},
	{.language = "java", .argv = LIST("java", "--list-modules")},
	{.language = "javascript",
	 .code = "const m = require('module'), fs = require('fs'), path = require('path');\n"
		 "for (const name of m.builtinModules)\n"
		 "  console.log(`=${name}\\tof Node.js ${process.versions.node}`);\n"
		 "for (const folder of require.resolve.paths('x') || []) {\n"
		 "  let names = [];\n"
		 "  try { names = fs.readdirSync(folder); } catch { continue; }\n"
		 "  for (const name of names) try {\n"
		 "    const p = JSON.parse(fs.readFileSync(path.join(folder, name, "
		 "'package.json')));\n"
		 "    console.log(`+${name}\\t${p.version}`);\n"
		 "  } catch { }\n"
		 "}\n"},
	{.language = "cpp", .always = LIST("STL", "standard library")},
	{.language = "go", .argv = LIST("go", "list", "std"), .always = LIST("standard library")},
	{.language = "ruby",
	 .code = "Gem::Specification.sort_by(&:name).each { |s| puts \"+#{s.name}\\t#{s.version}\" "
		 "}\n"},
	{.language = "r",
	 .code = "p <- installed.packages()\n"
		 "cat(paste0('+', p[, 'Package'], '\\t', p[, 'Version']), sep = '\\n')\n"},
};

static const struct source *find_source(const char *language)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (strcmp(sources[i].language, language) == 0)
			return &sources[i];
	}
	return NULL;
}

/* ---- names ---- */

/* As names are compared; false when it is none. Stops where a version or an extra begins. */
static bool make_key(const char *language, const char *text, char ret[NAME_MAX_LEN + 1])
{
	bool python = strcmp(language, "python") == 0;
	size_t len;

	text += strspn(text, " ");
	len = strcspn(text, "<>=!~;[ \t\n@(");
	/* npm's scopes begin with the character that elsewhere begins a version. */
	if (text[0] == '@')
		len = 1 + strcspn(text + 1, "<>=!~; \t\n@");
	if (len == 0 || len > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = (char)tolower((unsigned char)text[i]);

		if ((unsigned char)c < 0x20 || c == 0x7f)
			return false;
		ret[i] = python && (c == '_' || c == '.') ? '-' : c;
	}
	ret[len] = '\0';
	return true;
}

static void add_library(struct mcp_library_list *list, const char *language, const char *name,
			const char *version, bool listed)
{
	char key[NAME_MAX_LEN + 1];
	json_t *value;

	if (json_object_size(list->known) >= LIST_MAX)
		return;
	if (strcmp(name, "standard library") == 0)
		snprintf(key, sizeof(key), "%s", name);
	else if (!make_key(language, name, key))
		return;
	value = json_string(version); /* NULL when it is no UTF-8 */
	if (value == NULL || json_object_get(list->known, key) != NULL) {
		json_decref(value);
		return;
	}
	if (json_object_set_new(list->known, key, value) == 0 && listed)
		json_array_append_new(list->listed, json_string(name));
}

/* ---- asking ---- */

static void read_line(struct mcp_library_list *list, const struct source *source, char *line)
{
	char *version;

	if (source->argv != NULL) { /* "java.base@17.0.15", "net/http" */
		version = strchr(line, '@');
		if (version != NULL)
			*version++ = '\0';
		add_library(list, source->language, line, version ? version : "standard library",
			    version != NULL);
		return;
	}
	version = strchr(line, '\t');
	if (version == NULL || (line[0] != '+' && line[0] != '='))
		return;
	*version++ = '\0';
	add_library(list, source->language, line + 1, version, line[0] == '+');
}

static void read_lines(struct mcp_library_list *list, const struct source *source,
		       const struct sbx_output *output)
{
	auto_free char *copy = strndup(output->data, output->head_len);
	char *rest = copy, *line;

	while (copy != NULL && (line = strsep(&rest, "\n")) != NULL)
		read_line(list, source, line);
}

static int run_source(struct sbx_session *session, const struct source *source,
		      struct sbx_cancel *cancel, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_run run = {.language = source->language, .code = source->code, .io.cancel = cancel};
	struct sbx_command command = {.argv = source->argv, .io.cancel = cancel};

	if (source->argv != NULL)
		return sbx_session_exec(session, &command, ret, err);
	run.code_len = strlen(source->code);
	return sbx_session_run(session, &run, ret, err);
}

static int ask(const struct mcp_environment *environment, const struct source *source,
	       struct sbx_cancel *cancel, struct mcp_library_list *list, struct sbx_error *err)
{
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	int r = mcp_environment_make_spec(environment, &spec, err);

	if (r == 0)
		r = sbx_spec_set_language(spec, source->language, err);
	/* Nothing of the asking is to stay. */
	if (r == 0)
		r = sbx_spec_set_commit(spec, false, NULL, err);
	if (r == 0) {
		sbx_spec_set_cancel(spec, cancel);
		r = sbx_session_open(spec, &session, err);
	}
	if (r == 0)
		r = run_source(session, source, cancel, &result, err);
	if (r == 0 && result->exit_code != 0)
		r = sbx_fail(err, SBX_E_UNAVAILABLE,
			     "%s does not tell its libraries (exit code %d)", source->language,
			     result->exit_code);
	if (r == 0)
		read_lines(list, source, &result->out);
	sbx_result_free(result);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return r;
}

static void free_list(struct mcp_library_list *list)
{
	json_decref(list->known);
	json_decref(list->listed);
}

static int make_list(const struct mcp_environment *environment, const struct source *source,
		     struct sbx_cancel *cancel, struct mcp_library_list *ret, struct sbx_error *err)
{
	struct mcp_library_list list = {.known = json_object(), .listed = json_array()};
	int r = 0;

	for (size_t i = 0; source->always != NULL && source->always[i] != NULL; i++)
		add_library(&list, source->language, source->always[i], "standard library", true);
	if (source->code != NULL || source->argv != NULL)
		r = ask(environment, source, cancel, &list, err);
	if (r < 0) {
		free_list(&list);
		return r;
	}
	*ret = list;
	return 0;
}

void mcp_libraries_init(struct mcp_libraries *libraries, const struct mcp_environment *environment)
{
	*libraries = (struct mcp_libraries){.environment = environment};
	pthread_mutex_init(&libraries->lock, NULL);
}

void mcp_libraries_done(struct mcp_libraries *libraries)
{
	for (size_t i = 0; i < MCP_LANGUAGES_MAX; i++)
		free_list(&libraries->lists[i]);
	pthread_mutex_destroy(&libraries->lock);
}

/* Whoever has it may wait for an image that is pulled. */
static int lock_lists(struct mcp_libraries *libraries, const struct mcp_call *call, struct sbx_error *err)
{
	struct timespec until;

	do {
		if (mcp_call_is_cancelled(call))
			return sbx_fail(err, SBX_E_UNAVAILABLE, "cancelled");
		until = sbx_timespec(sbx_deadline_ns(LOOK_MS));
	} while (pthread_mutex_clocklock(&libraries->lock, CLOCK_MONOTONIC, &until) != 0);
	return 0;
}

/* The list, made now unless it is there. A second asker waits for the first. */
static int get_list(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
		    const struct mcp_library_list **ret, struct sbx_error *err)
{
	const struct source *source = find_source(language);
	struct mcp_library_list *list;
	int r;

	if (source == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "nothing tells the libraries of %s",
				language);
	list = &libraries->lists[source - sources];
	r = lock_lists(libraries, call, err);
	if (r < 0)
		return r;
	if (list->known == NULL)
		r = make_list(libraries->environment, source, mcp_call_cancel(call), list, err);
	pthread_mutex_unlock(&libraries->lock);
	*ret = list;
	return r;
}

int mcp_libraries_list(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
		       const json_t **ret, struct sbx_error *err)
{
	const struct mcp_library_list *list;
	int r = get_list(libraries, call, language, &list, err);

	if (r == 0)
		*ret = list->listed;
	return r;
}

/* ---- what is wanted ---- */

/* NULL unless it comes with the tool chain. Which version is there, is for the installer to judge. */
static const char *find_version(const struct mcp_library_list *list, const char *language,
				const char *wanted)
{
	char key[NAME_MAX_LEN + 1];

	if (strcasecmp(wanted, "standard library") == 0)
		return json_string_value(json_object_get(list->known, "standard library"));
	if (!make_key(language, wanted, key) || strlen(key) != strlen(wanted))
		return NULL;
	return json_string_value(json_object_get(list->known, key));
}

int mcp_libraries_split(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
			const json_t *wanted, json_t **ret_versions, json_t **ret_missing,
			struct sbx_error *err)
{
	const struct mcp_library_list *list;
	json_t *versions, *missing, *item;
	size_t i;
	int r = get_list(libraries, call, language, &list, err);

	if (r < 0)
		return r;
	versions = json_object();
	missing = json_array();
	json_array_foreach(wanted, i, item)
	{
		const char *name = json_string_value(item);
		const char *version = find_version(list, language, name);

		if (version != NULL)
			json_object_set_new(versions, name, json_string(version));
		else
			json_array_append(missing, item);
	}
	*ret_versions = versions;
	*ret_missing = missing;
	return 0;
}

bool mcp_library_is_of(const char *language, const char *requirement, const char *package)
{
	char wanted[NAME_MAX_LEN + 1], there[NAME_MAX_LEN + 1];
	size_t len;

	if (!make_key(language, requirement, wanted) || !make_key(language, package, there))
		return false;
	len = strlen(there);
	/* Maven's and gem's versions stand behind a colon. */
	return strncmp(wanted, there, len) == 0 && (wanted[len] == '\0' || wanted[len] == ':');
}

static void join(const json_t *names, size_t max, struct sbx_buf *out)
{
	size_t i;
	json_t *item;

	json_array_foreach(names, i, item)
	{
		const char *name = json_string_value(item);

		if (out->len + strlen(name) + 2 > max) {
			sbx_buf_puts(out, " and more");
			return;
		}
		sbx_buf_printf(out, "%s%s", out->len > 0 ? ", " : "", name);
	}
}

/* The sentence is for a model: what is missing, what it has instead, and what to do. */
int mcp_libraries_refuse(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
			 const json_t *missing, struct sbx_error *err)
{
	auto_buf struct sbx_buf have = SBX_BUF_INIT(240), names = SBX_BUF_INIT(140);
	const struct mcp_library_list *list;
	int r = get_list(libraries, call, language, &list, err);

	if (r < 0)
		return r;
	join(missing, 120, &names);
	join(list->listed, 200, &have);
	return sbx_fail(err, SBX_E_DENIED,
			"not installed: %s; installing is switched off on this server: write the code "
			"without it. %s has: %s",
			names.data ? names.data : "", language,
			have.data ? have.data : "its standard library");
}
