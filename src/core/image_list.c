/* SPDX-License-Identifier: MIT */
/* Images, ours and those of engines: listed and removed. */
#include "core/image_keeper.h"

#include "base/auto.h"
#include "core/image_store.h"
#include "core/language_memo.h"
#include "lang/lang.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LANGUAGES  32
#define IMAGES_MAX 4096

int sbx_image_find_keeper(const char *backend, const struct sbx_backend_images **ret,
			  struct sbx_error *err)
{
	const struct sbx_backend *found = sbx_backend_find(backend ? backend : "native");

	*ret = found ? sbx_backend_images(found) : NULL;
	if (*ret != NULL || (found != NULL && !sbx_backend_has_own_tools(found)))
		return 0;
	return sbx_fail(err, SBX_E_NOT_FOUND, "there is no backend '%.64s' that has images; there is: %s",
			backend, sbx_backend_names());
}

/* ---- list ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct sbx_image *const *)a)->name, (*(struct sbx_image *const *)b)->name);
}

static size_t read_all(const struct sbx_image_store *store, struct sbx_image **list)
{
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	size_t count = 0;

	if (folder == NULL && fd >= 0)
		close(fd);
	while (folder != NULL && count < IMAGES_MAX && (entry = readdir(folder)) != NULL) {
		struct sbx_error ignored;

		if (sbx_image_read(store, entry->d_name, &list[count], &ignored) == 0)
			count++;
	}
	if (folder != NULL)
		closedir(folder);
	return count;
}

/* All images, wherever they are. */
struct listing {
	struct sbx_image **list;
	size_t count;
	const char *where;
};

/* "python-3.11.2 ruby-3.1.2", out of a label. */
static void split_tools(struct sbx_image *image, const char *text)
{
	char copy[512], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	image->tools = calloc(LANGUAGES, sizeof(*image->tools));
	while (image->tools != NULL && image->tool_count < LANGUAGES && (word = strsep(&rest, " ")) != NULL) {
		struct sbx_image_tool *t = &image->tools[image->tool_count];
		char *dash = strchr(word, '-');

		if (dash == NULL || strspn(dash + 1, "0123456789.") != strlen(dash + 1))
			continue;
		*dash = '\0';
		if (sbx_lang_find(word) == NULL)
			continue;
		t->language = strdup(word);
		t->version = strdup(dash + 1);
		image->tool_count++;
	}
}

/* What was asked before of one that does not say it itself. */
static void recall_tools(struct sbx_image *image, const char *id)
{
	json_t *versions = sbx_language_memo_recall(id), *version;
	const char *language;

	json_object_foreach (versions, language, version) {
		struct sbx_image_tool *t = &image->tools[image->tool_count];

		if (image->tool_count == LANGUAGES || sbx_lang_find(language) == NULL)
			continue;
		t->language = strdup(language);
		t->version = strdup(json_string_value(version));
		image->tool_count++;
	}
	json_decref(versions);
}

static void take_image(const struct sbx_backend_image *found, void *userdata)
{
	struct listing *l = userdata;
	struct sbx_image *image =
		l->count < IMAGES_MAX ? sbx_image_new(found->name, l->where, "") : NULL;

	if (image == NULL)
		return;
	image->bytes = found->bytes;
	image->made = found->made;
	split_tools(image, found->tools);
	if (image->tools != NULL && image->tool_count == 0)
		recall_tools(image, found->id);
	l->list[l->count++] = image;
}

static int list_kept(struct listing *l, struct sbx_error *err)
{
	struct sbx_image_store store;
	int r = sbx_image_store_open(&store, err);

	if (r < 0)
		return r;
	l->count += read_all(&store, l->list + l->count);
	sbx_image_store_close(&store);
	return 0;
}

static int list_of(struct listing *l, const char *backend, struct sbx_error *err)
{
	const struct sbx_backend_images *images;
	size_t from = l->count;
	int r = sbx_image_find_keeper(backend, &images, err);

	l->where = backend;
	if (r == 0)
		r = images ? images->list(take_image, l, err) : list_kept(l, err);
	qsort(l->list + from, l->count - from, sizeof(l->list[0]), by_name);
	return r;
}

/* An engine that is not here has none. */
static int list_all(struct listing *l, struct sbx_error *err)
{
	static const char *const engines[] = {"docker", "podman"};
	struct sbx_error ignored;
	int r = list_of(l, "native", err);

	for (size_t i = 0; r == 0 && i < sizeof(engines) / sizeof(engines[0]); i++)
		list_of(l, engines[i], &ignored);
	return r;
}

int sbx_image_list(const char *backend, struct sbx_image ***ret, size_t *ret_count,
		   struct sbx_error *err)
{
	struct listing l = {.list = calloc(2 * IMAGES_MAX, sizeof(struct sbx_image *))};
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (l.list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot list the images");
	r = backend ? list_of(&l, backend, err) : list_all(&l, err);
	if (r < 0) {
		for (size_t i = 0; i < l.count; i++)
			sbx_image_free(l.list[i]);
		free(l.list);
		return r;
	}
	*ret = l.list;
	*ret_count = l.count;
	return 0;
}

/* ---- remove ---- */

/* An engine's may be named as they are listed: "llm-sandbox/python:latest". */
static const char *short_name(const char *name, char copy[128])
{
	static const char first[] = "llm-sandbox/", last[] = ":latest";
	size_t len;

	if (strncmp(name, first, sizeof(first) - 1) == 0)
		name += sizeof(first) - 1;
	snprintf(copy, 128, "%.127s", name);
	len = strlen(copy);
	if (len > sizeof(last) - 1 && strcmp(copy + len - (sizeof(last) - 1), last) == 0)
		copy[len - (sizeof(last) - 1)] = '\0';
	return copy;
}

int sbx_image_remove(const char *name, const char *backend, struct sbx_error *err)
{
	const struct sbx_backend_images *images = NULL;
	auto_close int lock_fd = -1;
	struct sbx_image_store store;
	struct sbx_error lent;
	char copy[128];
	int r;

	err = err ? err : &lent;
	r = sbx_image_find_keeper(backend, &images, err);
	if (r == 0 && images != NULL)
		name = short_name(name, copy);
	if (r == 0)
		r = sbx_image_check_name(name, err);
	if (r < 0 || images != NULL)
		return r < 0 ? r : images->remove(name, err);
	r = sbx_image_store_open(&store, err);
	if (r < 0)
		return r;
	r = sbx_image_lock(&store, name, &lock_fd, err);
	if (r == 0)
		r = sbx_image_discard(&store, name, err);
	sbx_image_store_close(&store);
	return r;
}
