/* SPDX-License-Identifier: MIT */
/*
 * Libraries that code may import: sets, each installed once in a sandbox of its own that reaches
 * the package manager's hosts and nothing else, then kept as a read-only folder that all later
 * sandboxes share.
 *
 * A set is named by its language, the tool chain and its sorted requirements, as
 * the language's package manager writes them: "numpy", "requests[socks]>=2" (python),
 * "lodash@4" (javascript), "github.com/google/uuid@v1.6.0" (go), "org.slf4j:slf4j-api:2.0.9"
 * (java), "rack:2.2.4" (ruby), "jsonlite" (r), "libfmt-dev" (cpp). Addresses, paths and options
 * are refused before anything runs. A set's lock file tells what was really installed.
 */
#ifndef LLMSANDBOX_LIBRARY_H
#define LLMSANDBOX_LIBRARY_H

#include <llmsandbox/error.h>
#include <llmsandbox/session.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Something that was installed. */
struct sbx_package {
	char *name, *version;
	/*
	 * As the package manager tells it ("sha256:…" of a wheel, "sha512-…" of npm, "h1:…" of go),
	 * or "sha256:…" of the archive; "" when there is none.
	 */
	char *hash;
};

struct sbx_library_set {
	char *id;	  /* 16 hexadecimal digits of the name's hash: what list shows, remove takes */
	char *language;	  /* "python" */
	char *tool_chain; /* "3.11.2" */
	/*
	 * Whose tool chain that is: "sha256:…" of an engine's image, the name or folder of one of the
	 * native backend, or "": this machine's.
	 */
	char *image;
	char *backend, *engine; /* that keeps the files, "docker", and its address; "": this machine */
	char **requirements; /* sorted, NULL-terminated */
	struct sbx_package *packages;
	size_t package_count;
	uint64_t bytes;		/* on disk */
	uint64_t made, used;	/* seconds since 1970 */
};

/* As a set is installed: a sentence, or lines of the installer. On the calling thread. */
typedef void sbx_install_fn(const char *text, size_t len, void *userdata);

/* Zero it, set what you need. */
struct sbx_install {
	const char *language;		  /* id or alias */
	/*
	 * Whose tool chain it is for: that of this spec's image, which is pulled or built as for a session. NULL,
	 * or a spec of the native backend without an image: this machine's. sbx_session_install() takes its
	 * session's.
	 */
	const struct sbx_spec *spec;
	const char *const *requirements; /* NULL-terminated, 1 to 64 */
	bool offline;			  /* SBX_E_NOT_FOUND when the set is not there */
	uint64_t timeout_ms;		  /* 0: ten minutes */
	sbx_install_fn *on_progress;
	void *userdata;
	struct sbx_cancel *cancel;
};

/*
 * Make sure that a set is there; free *ret (may be NULL) with sbx_library_set_free(). Two
 * processes that ask at once install once. SBX_E_INVALID names a requirement that may not be;
 * SBX_E_DENIED says that the installer failed, with its own message.
 */
SBX_API int sbx_library_add(const struct sbx_install *how, struct sbx_library_set **ret,
			    struct sbx_error *err);

/* All sets, the last used first. Free each with sbx_library_set_free() and the list with free(). */
SBX_API int sbx_library_list(struct sbx_library_set ***ret, size_t *ret_count,
			     struct sbx_error *err);
SBX_API void sbx_library_set_free(struct sbx_library_set *set);

/*
 * Remove a set; sandboxes that use it lose it. SBX_E_NOT_FOUND. One that an engine keeps is removed by that
 * engine: SBX_E_UNAVAILABLE when it is not the one that would be used now.
 */
SBX_API int sbx_library_remove(const char *id, struct sbx_error *err);

/* Compare a set's files with what its installation left. SBX_E_DENIED names what differs. */
SBX_API int sbx_library_verify(const char *id, struct sbx_error *err);

/* The lock file of a set, as text of one "name version hash" a line; free() *ret. */
SBX_API int sbx_library_lock(const char *id, char **ret, struct sbx_error *err);

/* Whether a requirement is well-formed for its language: 0, or SBX_E_INVALID with the reason. */
SBX_API int sbx_library_check(const char *language, const char *requirement,
			      struct sbx_error *err);

/*
 * Make libraries available to the later runs of a session in that language, besides those of
 * before. The session's spec must allow libraries.
 */
SBX_API int sbx_session_install(struct sbx_session *session, const struct sbx_install *how,
				struct sbx_library_set **ret, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
