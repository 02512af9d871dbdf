/* SPDX-License-Identifier: MIT */
/*
 * An image for the native backend: a folder with a root file system, which somebody hostile may have
 * made. It is looked at once, without following a link in it; the plan then shows what was found.
 *
 * Shown are the folders, files and links at its top but those that are the sandbox's own (/proc, /dev,
 * /tmp …); of /home and /opt, where mounts may be wanted, what is in them. A link at the top is made
 * again as a link, so that it leads nowhere but in the sandbox. Names that are not plain are left out.
 */
#pragma once

#include "backend/spec.h"
#include "base/error.h"

#include <stddef.h>

#define IMAGE_ENTRIES_MAX 64

enum image_kind { IMAGE_FOLDER, IMAGE_FILE, IMAGE_LINK };

struct image_entry {
	enum image_kind kind;
	char *path; /* inside: "/usr", "/opt/conda" */
	char *link; /* where a link leads */
};

/* Files of /etc that the sandbox has its own of. */
enum image_etc {
	IMAGE_ETC_PASSWD,
	IMAGE_ETC_GROUP,
	IMAGE_ETC_HOSTS,
	IMAGE_ETC_HOSTNAME,
	IMAGE_ETC_NSSWITCH,
	IMAGE_ETC_RESOLV,
	IMAGE_ETC_COUNT
};

extern const char *const image_etc_names[IMAGE_ETC_COUNT];

struct image {
	int root_fd;
	struct image_entry entries[IMAGE_ENTRIES_MAX];
	size_t count;
	unsigned int etc; /* bit n: it has a file of that name */
};

/* Shows nothing. */
extern const struct image image_none;

/* Free *ret with image_free(). */
int image_look(const char *root, struct image **ret, struct sbx_error *err);
void image_free(struct image *image);

/* The entry that path is, or is in; or NULL. */
const struct image_entry *image_shows(const struct image *image, const char *path);

/* Whether something can be mounted on what the image shows: 0, or why not. */
int image_check_mount(const struct image *image, const struct sbx_mount *mount,
		      struct sbx_error *err);
