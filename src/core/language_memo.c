/* SPDX-License-Identifier: MIT */
#include "core/language_memo.h"

#include "base/auto.h"
#include "base/cache.h"
#include "base/error.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "image-languages.json"
#define FILE_MAX  (256u << 10)
#define IMAGES	  128 /* more are forgotten */
#define VERSION_MAX 32

static json_t *read_all(int folder_fd)
{
	auto_free char *text = NULL;
	struct sbx_error ignored;
	size_t len;

	if (folder_fd < 0 || sbx_read_file(folder_fd, FILE_NAME, FILE_MAX, &text, &len, &ignored) < 0)
		return NULL;
	return json_loadb(text, len, 0, NULL);
}

/* A version is shown as it is. */
static int is_sound(const json_t *versions)
{
	const char *language;
	json_t *version;

	if (!json_is_object(versions))
		return 0;
	json_object_foreach ((json_t *)versions, language, version) {
		const char *text = json_string_value(version);

		if (text == NULL || strlen(text) >= VERSION_MAX ||
		    strspn(text, "0123456789.") != strlen(text))
			return 0;
	}
	return 1;
}

json_t *sbx_language_memo_recall(const char *id)
{
	auto_close int fd = sbx_cache_open(".", false);
	json_t *all = read_all(fd);
	json_t *versions = json_object_get(all, id);

	versions = is_sound(versions) ? json_incref(versions) : NULL;
	json_decref(all);
	return versions;
}

static void forget_first(json_t *all)
{
	void *first;

	while (json_object_size(all) >= IMAGES && (first = json_object_iter(all)) != NULL)
		json_object_del(all, json_object_iter_key(first));
}

static int write_all(int folder_fd, const char *text)
{
	char temporary[64];
	int fd, r;

	snprintf(temporary, sizeof(temporary), "." FILE_NAME "-%d", (int)gettid());
	unlinkat(folder_fd, temporary, 0);
	fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return fd;
	r = sbx_write_all(fd, text, strlen(text));
	close(fd);
	if (r == 0)
		r = renameat(folder_fd, temporary, folder_fd, FILE_NAME);
	if (r < 0)
		unlinkat(folder_fd, temporary, 0);
	return r;
}

void sbx_language_memo_keep(const char *id, const json_t *versions)
{
	auto_close int fd = sbx_cache_open(".", true);
	json_t *all = read_all(fd);
	auto_free char *text = NULL;

	if (fd < 0)
		return;
	if (!json_is_object(all)) {
		json_decref(all);
		all = json_object();
	}
	json_object_del(all, id);
	forget_first(all);
	json_object_set_new(all, id, json_deep_copy(versions));
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	if (text != NULL)
		write_all(fd, text);
}
