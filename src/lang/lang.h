/* SPDX-License-Identifier: MIT */
/*
 * A language is one const row. Adding one touches its file, one line of table.c and a set of
 * test cases. Rows are data: nothing here starts a process or looks into a sandbox.
 *
 * argv templates hold placeholders and are never a shell line:
 *	{src}	the source file, absolute		{dir}	the folder it is in
 *	{build}	an empty writable folder for the compiler	{main}	from the inspect hook
 *	{memory_mb}, {cpus}	the sandbox's limits, whole numbers, at least 1
 *	{proxy_host}, {proxy_port}	the sandbox's proxy; empty and 0 where there is none
 */
#pragma once

#include <llmsandbox/language.h>

#include <stdbool.h>
#include <stddef.h>

/* What the inspect hook found in a source. */
struct sbx_lang_source {
	char file_name[256]; /* what the file must be called; "" = as the row says */
	char main[256];	     /* value of {main} */
};

/* A cache that makes the tool chain start warm: made once in a sandbox of its own, then
 * shown read-only at `inside` to every later one. */
struct sbx_lang_cache {
	const char *inside;		/* "/opt/llm-sandbox/go" */
	const char *const *fill;	/* argv that fills {build} from nothing, offline */
	const char *const *const *use;	/* list of argv, run before compile when it is there */
	const char *const *env;		/* of fill */
};

struct sbx_lang {
	struct sbx_language_info info;
	const char *const *extensions; /* that tell this language: ".cpp", ".cc" … */
	const char *file_name;	       /* "main.cpp" */
	const char *const *tools;      /* programs that must be in PATH, NULL-terminated */
	const char *const *version;    /* argv; the version is the first n.n.n it prints */
	const char *const *compile;    /* NULL: not compiled */
	const char *const *run;
	const char *const *env; /* "NAME=value" with placeholders, NULL-terminated; or NULL */
	const struct sbx_lang_cache *cache; /* NULL: none */
	/* NULL: nothing to inspect. False when the source cannot be run: *ret_why is static. */
	bool (*inspect)(const char *code, size_t len, struct sbx_lang_source *ret,
			const char **ret_why);
};

#define SBX_ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The PATH inside every sandbox; tools are looked up in it. */
#define SBX_LANG_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin"

const struct sbx_lang *sbx_lang_at(size_t n);
const struct sbx_lang *sbx_lang_find(const char *name);
const struct sbx_lang *sbx_lang_guess(const char *file_name);

/* Values of the placeholders; a NULL one must not appear in the template. */
struct sbx_lang_values {
	const char *src, *dir, *build, *main;
	unsigned long memory_mb, cpus;
	unsigned long proxy_port; /* 0: no proxy */
};

/*
 * A template with its placeholders replaced, and extra strings behind it (NULL-terminated, or
 * NULL): a NULL-terminated list that the caller frees with sbx_strv_free() (base/strv.h). NULL without memory.
 */
char **sbx_lang_expand(const char *const *argv_template, const struct sbx_lang_values *values,
		       const char *const *extra);
