/* SPDX-License-Identifier: MIT */
/*
 * Images of one's own: root file systems with the tool chain of a language and little else, made
 * from Debian packages by mmdebstrap(1) or brought in as an archive or a folder. No registry of
 * images is needed.
 *
 * Those of the native backend are kept in the user's cache folder: a spec with sbx_spec_set_image()
 * and such a name, or the path of any folder with a root file system, opens sandboxes that see
 * nothing of the host's files. Those of an engine are the engine's, as "llm-sandbox/NAME".
 *
 * What an image holds is treated as hostile. Devices, sockets, set-user-id bits and owners are not
 * brought in.
 */
#ifndef LLMSANDBOX_IMAGE_H
#define LLMSANDBOX_IMAGE_H

#include <llmsandbox/error.h>
#include <llmsandbox/session.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A language whose tool chain an image has. */
struct sbx_image_tool {
	char *language; /* "python" */
	char *version;	/* "3.11.2" */
};

struct sbx_image {
	char *name;	/* "python"; of an engine "llm-sandbox/python:latest" */
	char *where;	/* "native", "docker", "podman" */
	char *source;	/* of what it was made: "mmdebstrap", "tar", "folder", or a backend; "" when not known */
	char *path;	/* the folder of its root file system, or NULL: it is an engine's */
	uint64_t bytes; /* of its files */
	uint64_t made;	/* seconds since 1970 */
	struct sbx_image_tool *tools; /* as far as it is known */
	size_t tool_count;
};

/* A line of what is going on, without its end. On the calling thread. */
typedef void sbx_image_line_fn(const char *line, void *userdata);

/* Zero it, set what you need. */
struct sbx_image_make {
	const char *name;    /* build: NULL is the language's id */
	const char *backend; /* "native" (NULL), "docker" or "podman": who gets it */
	uint64_t most_bytes; /* of its files; 0: 16 GiB */
	sbx_image_line_fn *on_progress;
	void *userdata;
	struct sbx_cancel *cancel; /* a kill of it ends the making, and nothing is left */
};

/* What a call left out of an archive or folder. */
struct sbx_image_report {
	uint64_t files, bytes;
	uint64_t left_out; /* devices, sockets, names and links that lead out, unreadable files */
	char first_left_out[256];
};

/*
 * Make an image with the tool chain of a language from the packages that this machine's apt is
 * configured to get, by mmdebstrap(1), which must be installed; one of the same name is replaced, and
 * stays for the sandboxes that use it.
 * As root, or as a user with subordinate ids. Takes a minute or so. SBX_E_NOT_FOUND: no such
 * language, or no mmdebstrap; SBX_E_UNAVAILABLE: it failed, with its own words, or somebody else
 * makes the same image; SBX_E_LIMIT: the disk is too full.
 */
SBX_API int sbx_image_build(const char *language, const struct sbx_image_make *how,
			    struct sbx_image **ret, struct sbx_error *err);

/*
 * Make an image of a tar archive (which may be compressed), as `docker export` and mmdebstrap write
 * it, of a folder, or of an image that a backend has: "docker:python:3-slim", "podman:NAME",
 * "native:NAME". An engine's is not pulled; its variables (PATH) are kept with its files. ret and
 * ret_report may be NULL. SBX_E_INVALID: it is damaged, no root file system, or for other
 * processors; SBX_E_LIMIT: larger than how->most_bytes, or than the disk; SBX_E_NOT_FOUND.
 */
SBX_API int sbx_image_import(const char *from, const struct sbx_image_make *how,
			     struct sbx_image **ret, struct sbx_image_report *ret_report,
			     struct sbx_error *err);

/*
 * The images of a backend, sorted by name; of all that answer for NULL. Free each with
 * sbx_image_free() and the list with free().
 */
SBX_API int sbx_image_list(const char *backend, struct sbx_image ***ret, size_t *ret_count,
			   struct sbx_error *err);
SBX_API void sbx_image_free(struct sbx_image *image);

/* backend NULL is "native". SBX_E_NOT_FOUND; SBX_E_UNAVAILABLE while a sandbox uses it. */
SBX_API int sbx_image_remove(const char *name, const char *backend, struct sbx_error *err);

/* Whether the native backend has such an image, by its name or as a folder: 0, or why not. */
SBX_API int sbx_image_check(const char *image, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
