/* SPDX-License-Identifier: MIT */
/* The installers' rows and their helpers, for the languages' rows alone. */
#pragma once

#include "lang/lang.h"

extern const struct sbx_lang_install sbx_install_python;
extern const struct sbx_lang_install sbx_install_java;
extern const struct sbx_lang_install sbx_install_javascript;
extern const struct sbx_lang_install sbx_install_cpp;
extern const struct sbx_lang_install sbx_install_go;
extern const struct sbx_lang_install sbx_install_ruby;
extern const struct sbx_lang_install sbx_install_r;

/* The variables and files with which all programs here are told whom to trust. */
#define SBX_INSTALL_CA "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"

/*
 * Parse hooks. The first reads "name version hash", the others the output of sha256sum(1) for
 * archives that are named after what is in them: name-1.0.gem, name_1.0.tar.gz, and
 * ./group/artifact/1.0/artifact-1.0.jar.
 */
bool sbx_install_parse_line(const char *line, struct sbx_lang_package *ret);
bool sbx_install_parse_dash(const char *line, struct sbx_lang_package *ret);
bool sbx_install_parse_underscore(const char *line, struct sbx_lang_package *ret);
bool sbx_install_parse_maven(const char *line, struct sbx_lang_package *ret);
