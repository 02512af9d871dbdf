/* SPDX-License-Identifier: MIT */
#include "core/package_hosts.h"

#include "backend/spec.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/strv.h"
#include "base/cache.h"
#include "core/library_lines.h"
#include "core/package_config.h"
#include "core/toolchain.h"

#include <llmsandbox/session.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#define HOSTS_MAX  64u
#define KEPT_S	   3600
#define ANSWER_MAX (64u << 10)
#define WORKDIR	   "/sandbox"

/* ---- addresses in what a manager printed ---- */

/* A rule for the network, and whether somebody here wrote it: a line "c RULE" or "d RULE". */
static void add_rule(struct sbx_buf *rules, const struct sbx_package_config *config,
		     const char *host, size_t host_len, unsigned int port, bool below)
{
	char name[256], line[320];
	char mark;

	if (host_len == 0 || host_len >= sizeof(name) || port == 0 || port > 65535)
		return;
	for (size_t i = 0; i < host_len; i++) {
		if (!isalnum((unsigned char)host[i]) && strchr("-._:[]", host[i]) == NULL)
			return;
		name[i] = (char)tolower((unsigned char)host[i]);
	}
	name[host_len] = '\0';
	/* What blocks a repository is written as this. */
	if (strcmp(name, "0.0.0.0") == 0 || strcmp(name, "[::]") == 0)
		return;
	mark = config != NULL && sbx_package_config_names(config, name) ? 'c' : 'd';
	snprintf(line, sizeof(line), "%c %s%s:%u\n", mark, below ? "*." : "", name, port);
	if (rules->data == NULL || strstr(rules->data, line) == NULL)
		sbx_buf_puts(rules, line);
}

/* Where the host ends in "host:port"; an IPv6 address stands in brackets. */
static size_t host_length(const char *text)
{
	const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;

	return bracket ? (size_t)(bracket - text) + 1 : strcspn(text, ":");
}

/* text begins behind "://". */
static void add_address(struct sbx_buf *rules, const struct sbx_lang_install *install,
			const struct sbx_package_config *config, const char *text, unsigned int port)
{
	size_t len = strcspn(text, "/ \t\r\n\"'<>|,?#)");
	char authority[300];
	const char *host;
	size_t host_len;

	if (len >= sizeof(authority))
		return;
	memcpy(authority, text, len);
	authority[len] = '\0';
	host = strrchr(authority, '@');
	host = host ? host + 1 : authority;
	host_len = host_length(host);
	if (host[host_len] == ':') {
		size_t digits = strspn(host + host_len + 1, "0123456789");

		if (digits == 0 || digits > 5 || host[host_len + 1 + digits] != '\0')
			return;
		port = (unsigned int)strtoul(host + host_len + 1, NULL, 10);
	}
	add_rule(rules, config, host, host_len, port, false);
	if (install->subdomains && host[0] != '[' && host[strspn(host, "0123456789.:")] != '\0')
		add_rule(rules, config, host, host_len, port, true);
}

/* Whether "https" or "http" stands right before this place, whose port it gives; else 0. */
static unsigned int scheme_port(const char *start, const char *at)
{
	if (at - start >= 5 && strncasecmp(at - 5, "https", 5) == 0)
		return 443;
	return at - start >= 4 && strncasecmp(at - 4, "http", 4) == 0 ? 80 : 0;
}

/* A line that is a host and nothing else, as the name of Go's sum database is: "host+key". */
static void add_bare_host(struct sbx_buf *rules, const struct sbx_package_config *config,
			  const char *line)
{
	size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-.");

	if (line[len] != '\0' && line[len] != '+')
		return;
	if (memchr(line, '.', len) != NULL && line[0] != '.' && len > 3)
		add_rule(rules, config, line, len, 443, false);
}

static void read_line(struct sbx_buf *rules, const struct sbx_lang_install *install,
		      const struct sbx_package_config *config, const char *line)
{
	const char *at = line;
	bool found = false;

	if (install->hosts_mark != NULL && strstr(line, install->hosts_mark) == NULL)
		return;
	while ((at = strstr(at, "://")) != NULL) {
		unsigned int port = scheme_port(line, at);

		at += 3;
		if (port != 0)
			add_address(rules, install, config, at, port);
		found = true;
	}
	if (!found)
		add_bare_host(rules, config, line);
}

/* Comments of XML, in which examples stand, become blanks. */
static void blank_comments(char *text)
{
	char *start = text, *end;

	while ((start = strstr(start, "<!--")) != NULL) {
		end = strstr(start, "-->");
		memset(start, ' ', end ? (size_t)(end - start) : strlen(start));
	}
}

static void read_answer(struct sbx_buf *rules, const struct sbx_lang_install *install,
			const struct sbx_package_config *config, char *text)
{
	char *rest = text, *line;
	size_t lines = 0;

	blank_comments(text);
	while ((line = strsep(&rest, "\n")) != NULL && lines++ < 20000)
		read_line(rules, install, config, line);
}

/* ---- asking ---- */

int sbx_package_hosts_show(const struct sbx_lang_install *install, struct sbx_spec *spec,
			   struct sbx_error *err)
{
	for (size_t i = 0; install->shown != NULL && install->shown[i] != NULL; i++) {
		char *path = realpath(install->shown[i], NULL), *inside;

		if (path == NULL || spec->mount_count == SBX_MOUNTS_MAX) {
			free(path);
			continue;
		}
		inside = strdup(install->shown[i]);
		if (inside == NULL) {
			free(path);
			return sbx_fail_errno(err, ENOMEM, "cannot keep a mount");
		}
		spec->mounts[spec->mount_count++] =
			(struct sbx_mount){.host = path, .inside = inside, .as_is = true};
	}
	return 0;
}

/* Who is asked, and how long we wait. */
struct question {
	const struct sbx_lang *lang;
	bool anew;	     /* what is kept on disk does not do */
	uint64_t timeout_ms; /* 0: that of any program */
	struct sbx_cancel *cancel;
};

static int run_question(const struct question *q, const struct sbx_package_config *config,
			const struct sbx_spec *spec, struct sbx_result **ret, struct sbx_error *err)
{
	const struct sbx_lang *lang = q->lang;
	struct sbx_lang_values values = {.home = WORKDIR, .set = "/tmp/set"};
	auto_strv char **env = sbx_lang_expand(lang->install->env, &values,
					       (const char *const *)config->env);
	auto_strv char **argv = sbx_lang_expand(lang->install->hosts, &values, NULL);
	struct sbx_command command = {
		.argv = (const char *const *)argv,
		.io.env = (const char *const *)env,
		.io.files = config->files,
		.io.file_count = config->file_count,
		.io.timeout_ms = q->timeout_ms,
		.io.cancel = q->cancel,
	};
	struct sbx_session *session = NULL;
	int r;

	if (env == NULL || argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build a command line");
	r = sbx_session_open(spec, &session, err);
	if (r == 0)
		r = sbx_session_exec(session, &command, ret, err);
	sbx_session_close(session);
	return r;
}

/* It had the configuration, and may have printed pieces of it. */
static int fail_silent(const struct sbx_lang *lang, const struct sbx_result *result,
		       struct sbx_error *err)
{
	struct sbx_library_lines lines;
	int r;

	if (result->reason == SBX_CANCELLED)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the installation was cancelled");
	if (result->reason == SBX_TIMEOUT)
		return sbx_fail(err, SBX_E_TIMEOUT,
				"%s did not tell within its time which hosts it uses; does its "
				"configuration make it wait?",
				lang->install->manager);
	sbx_library_lines_init(&lines, lang->install, NULL, NULL);
	sbx_library_lines_err(result->errout.data, result->errout.len, &lines);
	r = sbx_fail(err, SBX_E_UNAVAILABLE,
		     "%s does not tell which hosts it uses (exit code %d): %s", lang->install->manager,
		     result->exit_code, sbx_library_lines_why(&lines));
	sbx_library_lines_done(&lines);
	return r;
}

static int ask(const struct question *q, const struct sbx_package_config *config,
	       struct sbx_buf *rules, struct sbx_error *err)
{
	const struct sbx_lang *lang = q->lang;
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	int r = sbx_spec_new(&spec, err);

	if (r < 0)
		return r;
	spec->no_libraries = true;
	r = sbx_spec_set_language(spec, "none", err);
	if (r == 0)
		r = sbx_package_hosts_show(lang->install, spec, err);
	if (r == 0)
		r = run_question(q, config, spec, &result, err);
	sbx_spec_free(spec);
	if (r < 0)
		return r;
	read_answer(rules, lang->install, config, result->out.data);
	if (rules->failed || rules->len == 0)
		r = fail_silent(lang, result, err);
	sbx_result_free(result);
	return r;
}

/* ---- kept on disk ---- */

static void describe(const struct sbx_lang *lang, const struct sbx_package_config *config,
		     struct sbx_buf *out)
{
	char path[PATH_MAX] = "";
	struct stat st = {0};

	sbx_toolchain_find(lang->install->tool, path, &st);
	sbx_buf_printf(out, "%s %lld %lld %s\n", path, (long long)st.st_size,
		       (long long)st.st_mtim.tv_sec, config->fingerprint);
}

static bool recall(const struct sbx_lang *lang, const char *description, struct sbx_buf *rules)
{
	auto_close int fd = sbx_cache_open(".", false);
	auto_free char *text = NULL;
	struct sbx_error ignored;
	struct stat st;
	char name[64];
	size_t len, head = strlen(description);
	time_t now = time(NULL);

	snprintf(name, sizeof(name), "hosts-%s", lang->info.id);
	if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime > now ||
	    now - st.st_mtime > KEPT_S ||
	    sbx_read_file(fd, name, ANSWER_MAX, &text, &len, &ignored) < 0 || len <= head ||
	    memcmp(text, description, head) != 0)
		return false;
	sbx_buf_puts(rules, text + head);
	return true;
}

/* Best effort: what is not kept is asked again. */
static void keep(const struct sbx_lang *lang, const char *description, const struct sbx_buf *rules)
{
	auto_close int folder_fd = sbx_cache_open(".", true);
	auto_close int fd = -1;
	char name[64], temporary[96];

	snprintf(name, sizeof(name), "hosts-%s", lang->info.id);
	snprintf(temporary, sizeof(temporary), ".%s-%d", name, (int)gettid());
	if (folder_fd < 0)
		return;
	unlinkat(folder_fd, temporary, 0);
	fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (sbx_write_all(fd, description, strlen(description)) < 0 ||
	    sbx_write_all(fd, rules->data, rules->len) < 0 ||
	    renameat(folder_fd, temporary, folder_fd, name) < 0)
		unlinkat(folder_fd, temporary, 0);
}

/* ---- the rules in force ---- */

static int allow_rules(char *text, struct sbx_network *network, struct sbx_error *err)
{
	char *rest = text, *line;
	size_t count = 0;
	int r = 0;

	while (r == 0 && count < HOSTS_MAX && (line = strsep(&rest, "\n")) != NULL) {
		struct sbx_error ignored;

		if (strlen(line) < 3)
			continue;
		/* A host that no rule can be made of is one that cannot be reached. */
		if (sbx_network_allow(network, line + 2, line[0] == 'c', &ignored) == 0)
			count++;
	}
	return count > 0 ? 0 : sbx_fail(err, SBX_E_UNAVAILABLE, "no host of a package manager is known");
}

void sbx_package_hosts_more(const struct sbx_lang_install *install, char *text,
			    struct sbx_network *network)
{
	auto_buf struct sbx_buf rules = SBX_BUF_INIT(ANSWER_MAX);
	struct sbx_error ignored;

	read_answer(&rules, install, NULL, text);
	if (!rules.failed && rules.len > 0)
		allow_rules(rules.data, network, &ignored);
}

/* Of the rules, those for hosts that somebody here wrote. */
static void keep_named(struct sbx_buf *rules)
{
	auto_buf struct sbx_buf all = *rules;
	char *rest = all.data, *line;

	*rules = (struct sbx_buf)SBX_BUF_INIT(ANSWER_MAX);
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] == 'c')
			sbx_buf_printf(rules, "%s\n", line);
	}
}

int sbx_package_hosts_read(const struct sbx_lang *lang, const struct sbx_package_config *config,
			   const struct sbx_result *answer, struct sbx_network *network,
			   struct sbx_error *err)
{
	auto_buf struct sbx_buf rules = SBX_BUF_INIT(ANSWER_MAX);

	read_answer(&rules, lang->install, config, answer->out.data);
	if (rules.failed || rules.len == 0)
		return fail_silent(lang, answer, err);
	if (!sbx_package_config_has_secret(config))
		return allow_rules(rules.data, network, err);
	/* An image's manager is anybody's, and has them now. */
	keep_named(&rules);
	if (rules.len > 0)
		return allow_rules(rules.data, network, err);
	return sbx_fail(err, SBX_E_DENIED,
			"%s of the image wants to use hosts that this machine's configuration of it does not name, and "
			"there are credentials in that; name the hosts in it, or install with a configuration that has none",
			lang->install->manager);
}

static int allow_one(const struct question *q, struct sbx_network *network, struct sbx_error *err)
{
	const struct sbx_lang *lang = q->lang;
	auto_buf struct sbx_buf rules = SBX_BUF_INIT(ANSWER_MAX), description = SBX_BUF_INIT(PATH_MAX * 2);
	struct sbx_package_config config;
	int r = sbx_package_config_read(lang->install, WORKDIR, &config, err);

	if (r < 0)
		return r;
	describe(lang, &config, &description);
	if (description.failed) {
		r = sbx_fail_errno(err, ENOMEM, "cannot describe a package manager");
	} else if (q->anew || !recall(lang, description.data, &rules)) {
		r = ask(q, &config, &rules, err);
		if (r == 0)
			keep(lang, description.data, &rules);
	}
	sbx_package_config_done(&config);
	return r < 0 ? r : allow_rules(rules.data, network, err);
}

static bool is_installed(const struct sbx_lang *lang)
{
	char path[PATH_MAX];
	struct stat st;

	return lang->install != NULL && sbx_toolchain_find(lang->install->tool, path, &st);
}

int sbx_package_hosts_ask(const struct sbx_lang *lang, uint64_t timeout_ms,
			  struct sbx_cancel *cancel, struct sbx_network *network,
			  struct sbx_error *err)
{
	struct question q = {
		.lang = lang, .anew = true, .timeout_ms = timeout_ms, .cancel = cancel};

	return allow_one(&q, network, err);
}

int sbx_package_hosts_allow(const struct sbx_lang *lang, struct sbx_network *network,
			    struct sbx_error *err)
{
	const struct sbx_lang *each;

	if (lang != NULL)
		return allow_one(&(struct question){.lang = lang}, network, err);
	/* One that does not answer takes nothing from the others. */
	for (size_t i = 0; (each = sbx_lang_at(i)) != NULL; i++) {
		struct sbx_error ignored;

		if (is_installed(each))
			allow_one(&(struct question){.lang = each}, network, &ignored);
	}
	return 0;
}
