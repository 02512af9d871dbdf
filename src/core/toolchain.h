/* SPDX-License-Identifier: MIT */
/*
 * The machine's tool chains: where they are, which version, and their warm caches.
 *
 * Tools are looked up on the host's PATH of SBX_LANG_PATH, because the sandbox shows the same
 * /usr. A tool is only ever started inside a sandbox. What one said about its version is kept
 * on disk until the tool's file changes; a warm cache is a folder per language and version:
 *
 *	$XDG_CACHE_HOME/llm-sandbox, ~/.cache/llm-sandbox, for root /var/cache/llm-sandbox
 *		version-go		what the tool's file was, and the version it told
 *		toolchains/go-1.26.8/	the warm cache, owned by us, read-only in sandboxes
 *
 * All of it may be deleted at any time, and all works without such a folder, only slower.
 */
#pragma once

#include "base/error.h"
#include "base/sha256.h"
#include "lang/lang.h"

#include <limits.h>
#include <sys/stat.h>

#define SBX_VERSION_MAX 32

/*
 * The finished warm cache of a language for the tool chain that is installed now: *ret is its
 * absolute path (the caller frees it), or NULL when there is none. Starts nothing and takes
 * microseconds. Fails without memory only.
 */
int sbx_toolchain_cache_path(const struct sbx_lang *lang, char **ret);

/* Look a program up in SBX_LANG_PATH. */
bool sbx_toolchain_find(const char *name, char ret_path[PATH_MAX], struct stat *ret_file);

struct sbx_session;

/* What a tool of a sandbox says of its version. SBX_E_NOT_FOUND: it is not there. */
int sbx_toolchain_ask_in(struct sbx_session *session, const struct sbx_lang *lang,
			 char ret[SBX_VERSION_MAX], struct sbx_error *err);

/* The first number with its points in what a tool printed: "go1.26.8 linux" has 1.26.8. */
bool sbx_toolchain_parse_version(const char *text, char ret[SBX_VERSION_MAX]);

/*
 * What tells the tools of a language, and its package manager, in a root file system from others, with the PATH
 * there: any change of their files is another key. SBX_E_NOT_FOUND when they are not all there.
 */
int sbx_toolchain_key(const struct sbx_lang *lang, const char *root, const char *path,
		      char ret[SBX_SHA256_HEX], struct sbx_error *err);

/* 0 when every tool of the language is installed; SBX_E_NOT_FOUND names the package else. */
int sbx_toolchain_check(const struct sbx_lang *lang, struct sbx_error *err);
