/* SPDX-License-Identifier: MIT */
/*
 * What this machine's user has configured for a package manager, gathered for the sandbox that
 * runs it: files and variables, as the language's row lists them, and nothing else of the host.
 * There may be credentials in it. It goes to that installer alone; no message, log or file of
 * ours has any of it.
 */
#pragma once

#include "base/error.h"
#include "base/sha256.h"
#include "lang/lang.h"

#include <llmsandbox/session.h>

#define SBX_CONFIG_FILES_MAX 16

struct sbx_package_config {
	struct sbx_file files[SBX_CONFIG_FILES_MAX]; /* for the work folder; name and data owned */
	size_t file_count;
	char **env; /* "NAME=value", NULL-terminated; {home} in them is replaced already */
	char fingerprint[SBX_SHA256_HEX]; /* of all that is in it */
};

/* home is the work folder of the sandbox that it is for. */
int sbx_package_config_read(const struct sbx_lang_install *install, const char *home,
			    struct sbx_package_config *ret, struct sbx_error *err);
void sbx_package_config_done(struct sbx_package_config *config);

/*
 * For a sandbox that does not show this machine's certificates: a copy of the file that the configuration names,
 * and where no variable names one, of those that this machine trusts.
 */
int sbx_package_config_add_trust(const struct sbx_lang_install *install, const char *home,
				 struct sbx_package_config *config, struct sbx_error *err);

/* Whether somebody has written this there: then it was not the manager's own idea. */
bool sbx_package_config_names(const struct sbx_package_config *config, const char *text);

/* Whether there are, or may be, credentials in it: then it is for nobody but the hosts that it names. */
bool sbx_package_config_has_secret(const struct sbx_package_config *config);

/* Write a piece of text, with "user:password@" of each address in it left out. */
void sbx_package_config_scrub(const char *text, size_t len, struct sbx_buf *out);
