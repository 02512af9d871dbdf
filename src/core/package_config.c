/* SPDX-License-Identifier: MIT */
#include "core/package_config.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/strv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (8u << 20) /* a bundle of certificates is what is large */
#define ENV_MAX	 64u
#define CERTIFICATES ".certificates/"

/* ---- adding ---- */

/* Takes assignment, which the caller made with malloc(). */
static int add_env(struct sbx_package_config *config, char *assignment, struct sbx_error *err)
{
	size_t count = sbx_strv_len(config->env);

	if (assignment == NULL || count == ENV_MAX) {
		free(assignment);
		return sbx_fail_errno(err, ENOMEM, "cannot keep the configuration of a package manager");
	}
	config->env[count] = assignment;
	return 0;
}

static bool has_file(const struct sbx_package_config *config, const char *name)
{
	for (size_t i = 0; i < config->file_count; i++) {
		if (strcmp(config->files[i].name, name) == 0)
			return true;
	}
	return false;
}

/* The user may have links for configuration files; what is none of the usual files is none. */
static bool read_whole(const char *path, char **ret, size_t *ret_len)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct sbx_error ignored;
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       sbx_read_stream(fd, path, FILE_MAX, ret, ret_len, &ignored) == 0;
}

/* Copy a file, if it is there, to `to` in the sandbox; *ret_added tells. */
static int add_file(struct sbx_package_config *config, const char *path, const char *to,
		    bool *ret_added, struct sbx_error *err)
{
	auto_free char *data = NULL;
	struct sbx_file *file = &config->files[config->file_count];
	size_t len;

	*ret_added = false;
	if (config->file_count == SBX_CONFIG_FILES_MAX || has_file(config, to) ||
	    !read_whole(path, &data, &len))
		return 0;
	file->name = strdup(to);
	if (file->name == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the configuration of a package manager");
	file->data = take_ptr(data);
	file->len = len;
	config->file_count++;
	*ret_added = true;
	return 0;
}

/* ---- where it is ---- */

/* The path that a row's `from` means here, or false. */
static bool find_path(const char *from, char ret[PATH_MAX])
{
	const char *home = secure_getenv("HOME"), *xdg = secure_getenv("XDG_CONFIG_HOME"), *value;
	static const char config[] = "~/.config/";
	int n = 0;

	if (from[0] == '$') {
		value = secure_getenv(from + 1);
		n = value != NULL && value[0] == '/' ? snprintf(ret, PATH_MAX, "%s", value) : 0;
	} else if (strncmp(from, config, strlen(config)) == 0 && xdg != NULL && xdg[0] == '/') {
		n = snprintf(ret, PATH_MAX, "%s/%s", xdg, from + strlen(config));
	} else if (from[0] == '~') {
		n = home != NULL && home[0] == '/' ? snprintf(ret, PATH_MAX, "%s%s", home, from + 1) : 0;
	} else {
		n = snprintf(ret, PATH_MAX, "%s", from);
	}
	return n > 0 && n < PATH_MAX;
}

/* A template of the row with {home} in it. */
static char *expand_env(const char *template, const char *home)
{
	const char *const list[] = {template, NULL};
	char **one = sbx_lang_expand(list, &(struct sbx_lang_values){.home = home}, NULL);
	char *text = one ? take_ptr(one[0]) : NULL;

	free(one);
	return text;
}

static int add_config_files(struct sbx_package_config *config, const struct sbx_lang_config *rows,
			    const char *home, struct sbx_error *err)
{
	int r = 0;

	for (; rows != NULL && rows->from != NULL && r == 0; rows++) {
		char path[PATH_MAX];
		bool added = false;

		if (find_path(rows->from, path))
			r = add_file(config, path, rows->to, &added, err);
		if (r == 0 && added && rows->env != NULL)
			r = add_env(config, expand_env(rows->env, home), err);
	}
	return r;
}

static bool has_env(const struct sbx_package_config *config, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; config->env[i] != NULL; i++) {
		if (strncmp(config->env[i], name, len) == 0 && config->env[i][len] == '=')
			return true;
	}
	return false;
}

/* Our own value of a variable, where it has one. */
static int add_variable(struct sbx_package_config *config, const char *name, struct sbx_error *err)
{
	const char *value = secure_getenv(name);
	char *text = NULL;

	if (value == NULL || has_env(config, name))
		return 0;
	if (asprintf(&text, "%s=%s", name, value) < 0)
		text = NULL;
	return add_env(config, text, err);
}

static int add_variables(struct sbx_package_config *config, const char *const *names,
			 struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; names != NULL && names[i] != NULL && r == 0; i++)
		r = add_variable(config, names[i], err);
	return r;
}

/* "${NAME}" of npm's files, "${env.NAME}" of Maven's: what a file refers to belongs to it. */
static int add_references(struct sbx_package_config *config, const struct sbx_file *file,
			  struct sbx_error *err)
{
	const char *at = file->data, *end = at + file->len;
	int r = 0;

	while (r == 0 && (at = memmem(at, (size_t)(end - at), "${", 2)) != NULL) {
		char name[128];
		size_t len;

		at += 2;
		at += strncmp(at, "env.", 4) == 0 ? 4 : 0;
		len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
		if (len == 0 || len >= sizeof(name) || at[len] != '}')
			continue;
		memcpy(name, at, len);
		name[len] = '\0';
		r = add_variable(config, name, err);
	}
	return r;
}

/* Each certificates' file under a name of its own, and its variable pointing there. */
static int add_certificates(struct sbx_package_config *config, const char *const *names,
			    const char *home, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; names != NULL && names[i] != NULL && r == 0; i++) {
		const char *path = secure_getenv(names[i]);
		char to[64], *text = NULL;
		bool added;

		if (path == NULL || path[0] != '/')
			continue;
		snprintf(to, sizeof(to), CERTIFICATES "%zu.pem", i);
		r = add_file(config, path, to, &added, err);
		if (r < 0 || !added)
			continue;
		if (asprintf(&text, "%s=%s/%s", names[i], home, to) < 0)
			text = NULL;
		r = add_env(config, text, err);
	}
	return r;
}

static void set_fingerprint(struct sbx_package_config *config)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;

	for (size_t i = 0; config->env[i] != NULL; i++)
		sbx_sha256_add(&hash, config->env[i], strlen(config->env[i]) + 1);
	for (size_t i = 0; i < config->file_count; i++) {
		const struct sbx_file *file = &config->files[i];

		sbx_sha256_add(&hash, file->name, strlen(file->name) + 1);
		sbx_sha256_add(&hash, &file->len, sizeof(file->len));
		sbx_sha256_add(&hash, file->data, file->len);
	}
	sbx_sha256_hex(&hash, config->fingerprint);
}

int sbx_package_config_read(const struct sbx_lang_install *install, const char *home,
			    struct sbx_package_config *ret, struct sbx_error *err)
{
	struct sbx_package_config config = {.env = calloc(ENV_MAX + 1, sizeof(char *))};
	int r;

	if (config.env == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the configuration of a package manager");
	r = add_config_files(&config, install->config, home, err);
	for (size_t i = 0; i < config.file_count && r == 0; i++)
		r = add_references(&config, &config.files[i], err);
	if (r == 0)
		r = add_variables(&config, install->variables, err);
	if (r == 0)
		r = add_certificates(&config, install->ca_variables, home, err);
	if (r < 0) {
		sbx_package_config_done(&config);
		return r;
	}
	set_fingerprint(&config);
	*ret = config;
	return 0;
}

/* ---- whom to trust, where this machine's files are not seen ---- */

/* Where the systems that there are keep them. */
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
				      "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
				      "/etc/ssl/cert.pem"};

/* A line "cafile = /x" of npm's, or "cert = /x" of pip's. */
static bool names_bundle(const char *line, size_t len, char ret[PATH_MAX])
{
	static const char *const keys[] = {"cafile", "cert"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t key = strlen(keys[i]), at = key;

		if (len <= key || memcmp(line, keys[i], key) != 0)
			continue;
		while (at < len && strchr(" \t=", line[at]) != NULL && line[at] != '\0')
			at++;
		while (len > at && strchr(" \t\r", line[len - 1]) != NULL)
			len--;
		if (at == key || at == len || line[at] != '/' || len - at >= PATH_MAX)
			return false;
		memcpy(ret, line + at, len - at);
		ret[len - at] = '\0';
		return true;
	}
	return false;
}

static bool find_named_bundle(const struct sbx_file *file, char ret[PATH_MAX])
{
	const char *at = file->data, *end = at + file->len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);

		if (names_bundle(at, len, ret))
			return true;
		at += len + 1;
	}
	return false;
}

static bool find_named(const struct sbx_package_config *config, char ret[PATH_MAX])
{
	for (size_t i = 0; i < config->file_count; i++) {
		if (find_named_bundle(&config->files[i], ret))
			return true;
	}
	return false;
}

static bool find_standard(char ret[PATH_MAX])
{
	for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
		snprintf(ret, PATH_MAX, "%s", bundles[i]);
		if (access(ret, R_OK) == 0)
			return true;
	}
	return false;
}

static bool has_one_of(const struct sbx_package_config *config, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (has_env(config, *names))
			return true;
	}
	return false;
}

/* A copy of the file, and those of these variables that are not set yet pointing there. */
static int trust(struct sbx_package_config *config, const char *path, const char *to, const char *home,
		 const char *const *names, struct sbx_error *err)
{
	bool added;
	int r = add_file(config, path, to, &added, err);

	for (; r == 0 && added && *names != NULL; names++) {
		char *text;

		if (has_env(config, *names))
			continue;
		if (asprintf(&text, "%s=%s/%s", *names, home, to) < 0)
			text = NULL;
		r = add_env(config, text, err);
	}
	return r;
}

/* npm's has two spellings. */
static bool any_own(const struct sbx_package_config *config, const char *const *names)
{
	const char *own = names[0];

	for (; *names != NULL && strcasecmp(*names, own) == 0; names++) {
		if (has_env(config, *names))
			return true;
	}
	return false;
}

/* The manager's own variable is the row's first; it wins over the file that its configuration names. */
int sbx_package_config_add_trust(const struct sbx_lang_install *install, const char *home,
				 struct sbx_package_config *config, struct sbx_error *err)
{
	const char *const *names = install->ca_variables;
	char path[PATH_MAX];
	int r = 0;
	bool any;

	if (names == NULL)
		return 0;
	any = has_one_of(config, names);
	if (!any_own(config, names) && find_named(config, path))
		r = trust(config, path, CERTIFICATES "named.pem", home, SBX_ARGV(names[0]), err);
	if (r == 0 && !any && find_standard(path))
		r = trust(config, path, CERTIFICATES "all.pem", home, names, err);
	return r;
}

void sbx_package_config_done(struct sbx_package_config *config)
{
	for (size_t i = 0; i < config->file_count; i++) {
		free((char *)config->files[i].name);
		if (config->files[i].data != NULL)
			explicit_bzero((void *)config->files[i].data, config->files[i].len);
		free((void *)config->files[i].data);
	}
	sbx_strv_free(config->env);
	*config = (struct sbx_package_config){0};
}

bool sbx_package_config_names(const struct sbx_package_config *config, const char *text)
{
	for (size_t i = 0; config->env[i] != NULL; i++) {
		if (strstr(config->env[i], text) != NULL)
			return true;
	}
	for (size_t i = 0; i < config->file_count; i++) {
		if (memmem(config->files[i].data, config->files[i].len, text, strlen(text)) != NULL)
			return true;
	}
	return false;
}

/* ---- credentials ---- */

/*
 * The length of "user:password@" at the start of an authority, or 0. An apostrophe may be in it
 * (RFC 3986, 3.2.1), and rather something else is left out than that.
 */
static size_t credentials(const char *text, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < len && strchr("/ \t\n\"<>?#", text[i]) == NULL; i++) {
		if (text[i] == '@')
			at = i + 1;
	}
	return at;
}

static bool has_login(const char *text, size_t len)
{
	const char *end = text + len;

	while ((text = memmem(text, (size_t)(end - text), "://", 3)) != NULL) {
		text += 3;
		if (credentials(text, (size_t)(end - text)) > 0)
			return true;
	}
	return false;
}

/* npm's _auth and _authToken, Maven's password, netrc's: what is called so is not looked at any closer. */
static bool has_secret(const char *text, size_t len)
{
	static const char *const words[] = {"_auth", "password", "passwd", "passphrase", "token", "secret"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t word = strlen(words[i]);

		for (size_t at = 0; at + word <= len; at++) {
			if (strncasecmp(text + at, words[i], word) == 0)
				return true;
		}
	}
	return has_login(text, len);
}

bool sbx_package_config_has_secret(const struct sbx_package_config *config)
{
	for (size_t i = 0; config->env[i] != NULL; i++) {
		if (has_secret(config->env[i], strlen(config->env[i])))
			return true;
	}
	for (size_t i = 0; i < config->file_count; i++) {
		const struct sbx_file *file = &config->files[i];

		if (strncmp(file->name, CERTIFICATES, strlen(CERTIFICATES)) != 0 &&
		    has_secret(file->data, file->len))
			return true;
	}
	return false;
}

void sbx_package_config_scrub(const char *text, size_t len, struct sbx_buf *out)
{
	while (len > 0) {
		const char *found = memmem(text, len, "://", 3);
		size_t plain = found ? (size_t)(found - text) + 3 : len, secret;

		sbx_buf_append(out, text, plain);
		text += plain;
		len -= plain;
		secret = found ? credentials(text, len) : 0;
		if (secret > 0)
			sbx_buf_puts(out, "***@");
		text += secret;
		len -= secret;
	}
}
