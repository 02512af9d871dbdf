/* SPDX-License-Identifier: MIT */
/* The languages that code can be written in, in their fixed order, and what is installed. */
#ifndef LLMSANDBOX_LANGUAGE_H
#define LLMSANDBOX_LANGUAGE_H

#include <llmsandbox/error.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_language_info {
	const char *id;		    /* "cpp" */
	const char *title;	    /* "C++" */
	const char *const *aliases; /* NULL-terminated */
	const char *extension;	    /* of the files we make: ".cpp" */
	const char *package;	    /* Debian package that brings the tool chain */
};

/* The n-th language, or NULL past the last. Any thread; never freed. */
SBX_API const struct sbx_language_info *sbx_language_at(size_t n);

/* By id or alias, any case; NULL when there is none. */
SBX_API const struct sbx_language_info *sbx_language_find(const char *name);

/* By a file name's extension, any case; NULL when it tells nothing. */
SBX_API const struct sbx_language_info *sbx_language_guess(const char *file_name);

/*
 * Make what lets this language start fast in later sessions, such as Go's build cache, unless it
 * is there: once per machine user and version of the tool chain, in a sandbox of its own, in
 * seconds to a minute; else in microseconds. Sessions work without it, only slower.
 */
SBX_API int sbx_language_prepare(const char *id, struct sbx_error *err);

/*
 * The version of the tool chain that a sandbox of this machine sees, as "3.11.2", asked from
 * the tool chain in a sandbox and remembered until the tool changes; free() *ret.
 * SBX_E_NOT_FOUND names the package to install.
 */
SBX_API int sbx_language_version(const char *id, char **ret, struct sbx_error *err);

/* What a sandbox finds of a language. */
struct sbx_tool_chain {
	const struct sbx_language_info *info;
	char *version;	/* "3.11.2"; NULL: it is not there, and */
	char *problem;	/* why: a sentence with what to do; else NULL */
	enum sbx_code code; /* of the problem; SBX_E_NOT_FOUND: it is not in there */
	char *image;	/* whose it is, an image or container; NULL: this machine's */
};

struct sbx_spec;

/*
 * The tool chains that sandboxes of this spec find: this machine's, or those of its image, container or
 * Containerfile. They are asked in one short sandbox of it; what an image has is remembered by what
 * identifies its contents. language is an id or alias, or NULL for all. With an engine and no image each
 * language has its own, which is asked when the engine has it, and not pulled for this. Free
 * with sbx_tool_chains_free(). Fails where no such sandbox can be opened.
 */
SBX_API int sbx_spec_find_languages(const struct sbx_spec *spec, const char *language,
				    struct sbx_tool_chain **ret, size_t *ret_count,
				    struct sbx_error *err);
SBX_API void sbx_tool_chains_free(struct sbx_tool_chain *list, size_t count);

#ifdef __cplusplus
}
#endif

#endif
