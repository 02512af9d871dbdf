/* SPDX-License-Identifier: MIT */
#include "backend/native/image.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *const image_etc_names[IMAGE_ETC_COUNT] = {
	[IMAGE_ETC_PASSWD] = "passwd",	   [IMAGE_ETC_GROUP] = "group",
	[IMAGE_ETC_HOSTS] = "hosts",	   [IMAGE_ETC_HOSTNAME] = "hostname",
	[IMAGE_ETC_NSSWITCH] = "nsswitch.conf", [IMAGE_ETC_RESOLV] = "resolv.conf",
};

const struct image image_none = {.root_fd = -1};

/* What is the sandbox's own, whatever the image has there. */
static const char *const own[] = {"/proc", "/sys",     "/dev",  "/run",		"/tmp",
				  "/home", "/sandbox", "/opt",	"/home/sandbox", "/opt/llm-sandbox"};

static bool is_own(const char *path)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(path, own[i]) == 0)
			return true;
	}
	return false;
}

/* Names are shown in plans and messages. */
static bool is_plain(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@-") ==
		       strlen(name) &&
	       sbx_path_is_component(name);
}

/* ---- looking ---- */

/* false: it is nothing that is shown. */
static bool describe(int folder_fd, const char *name, struct image_entry *e)
{
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(folder_fd, name, link, sizeof(link) - 1);
		if (n <= 0)
			return false;
		link[n] = '\0';
		e->kind = IMAGE_LINK;
		e->link = strdup(link);
		return true;
	}
	e->kind = S_ISDIR(st.st_mode) ? IMAGE_FOLDER : IMAGE_FILE;
	return S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
}

static int add_entry(struct image *image, int folder_fd, const char *folder, const char *name,
		     struct sbx_error *err)
{
	struct image_entry e = {.kind = IMAGE_FILE};
	char path[2 * NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!is_plain(name) || is_own(path) || !describe(folder_fd, name, &e))
		return 0;
	if (image->count == IMAGE_ENTRIES_MAX) {
		free(e.link);
		return sbx_fail(err, SBX_E_LIMIT, "the image has more than %d folders at its top, in /opt "
				"and in /home", IMAGE_ENTRIES_MAX);
	}
	e.path = strdup(path);
	image->entries[image->count++] = e;
	if (e.path == NULL || (e.kind == IMAGE_LINK && e.link == NULL))
		return sbx_fail_errno(err, ENOMEM, "cannot look at an image");
	return 0;
}

/* A folder that is missing, or a link, has nothing to show. */
static int add_folder(struct image *image, const char *folder, struct sbx_error *err)
{
	const char *below = folder[0] == '/' ? folder + 1 : folder;
	int fd = sbx_beneath_open(image->root_fd, below, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int r = 0;

	if (dir == NULL && fd >= 0)
		close(fd);
	while (r == 0 && dir != NULL && (entry = readdir(dir)) != NULL)
		r = add_entry(image, dirfd(dir), folder, entry->d_name, err);
	if (dir != NULL)
		closedir(dir);
	return r;
}

/* Those that are links, or missing, stay as the image has them: they lead nowhere outside. */
static void look_at_etc(struct image *image)
{
	for (int i = 0; i < IMAGE_ETC_COUNT; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "etc/%s", image_etc_names[i]);
		fd = sbx_beneath_open(image->root_fd, path, O_PATH);
		if (fd >= 0) {
			struct stat st;

			if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
				image->etc |= 1u << i;
			close(fd);
		}
	}
}

/* A link or a file is no /etc, and ours is made up then. */
static void drop_etc_that_is_none(struct image *image)
{
	for (size_t i = 0; i < image->count; i++) {
		struct image_entry *e = &image->entries[i];

		if (strcmp(e->path, "/etc") != 0 || e->kind == IMAGE_FOLDER)
			continue;
		free(e->path);
		free(e->link);
		*e = image->entries[--image->count];
		return;
	}
}

static int look(struct image *image, const char *root, struct sbx_error *err)
{
	int r;

	image->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (image->root_fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the image '%.200s'", root);
	r = add_folder(image, "", err);
	if (r == 0)
		r = add_folder(image, "/home", err);
	if (r == 0)
		r = add_folder(image, "/opt", err);
	drop_etc_that_is_none(image);
	look_at_etc(image);
	return r;
}

int image_look(const char *root, struct image **ret, struct sbx_error *err)
{
	struct image *image = calloc(1, sizeof(*image));
	int r;

	if (image == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot look at an image");
	r = look(image, root, err);
	if (r < 0)
		image_free(image);
	else
		*ret = image;
	return r;
}

void image_free(struct image *image)
{
	if (image == NULL)
		return;
	for (size_t i = 0; i < image->count; i++) {
		free(image->entries[i].path);
		free(image->entries[i].link);
	}
	if (image->root_fd >= 0)
		close(image->root_fd);
	free(image);
}

/* ---- asking ---- */

const struct image_entry *image_shows(const struct image *image, const char *path)
{
	for (size_t i = 0; i < image->count; i++) {
		if (sbx_path_is_below(path, image->entries[i].path))
			return &image->entries[i];
	}
	return NULL;
}

int image_check_mount(const struct image *image, const struct sbx_mount *m, struct sbx_error *err)
{
	auto_close int fd = sbx_beneath_open(image->root_fd, m->inside + 1, O_PATH);
	struct stat there, mounted;

	if (fd < 0 || fstat(fd, &there) < 0)
		return sbx_fail(err, SBX_E_INVALID,
				"cannot mount at '%.128s': the image has no such file or folder, or a link "
				"on the way, and nothing can be made in an image; mount it below /sandbox",
				m->inside);
	if (S_ISLNK(there.st_mode) || stat(m->host, &mounted) < 0 || S_ISDIR(mounted.st_mode) != S_ISDIR(there.st_mode))
		return sbx_fail(err, SBX_E_INVALID,
				"cannot mount at '%.128s': of what is mounted and what the image has there, "
				"one is a folder and one is not",
				m->inside);
	return 0;
}
