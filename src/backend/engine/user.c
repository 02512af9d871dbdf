/* SPDX-License-Identifier: MIT */
/* A user by name is a matter of the image: its /etc/passwd says who that is. */
#include "backend/engine/container.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/libarchive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PASSWD_MAX (1u << 20)

static int keep(const void *data, size_t len, void *userdata, struct sbx_error *err)
{
	struct sbx_buf *tar = userdata;

	sbx_buf_append(tar, data, len);
	return tar->failed ? sbx_fail(err, SBX_E_LIMIT, "/etc/passwd is larger than 1 MiB") : 0;
}

/* The one file that is in the archive. */
static bool unpack(const struct sbx_buf *tar, struct sbx_buf *ret)
{
	struct archive *archive;
	struct archive_entry *entry;
	struct sbx_error ignored;
	bool fine = false;

	if (sbx_libarchive_load(&ignored) < 0 || (archive = archive_read_new()) == NULL)
		return false;
	archive_read_support_format_tar(archive);
	if (archive_read_open_memory(archive, tar->data, tar->len) == ARCHIVE_OK &&
	    archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
		char data[4096];
		la_ssize_t n;

		while ((n = archive_read_data(archive, data, sizeof(data))) > 0)
			sbx_buf_append(ret, data, (size_t)n);
		fine = n == 0 && !ret->failed && ret->data != NULL;
	}
	archive_read_free(archive);
	return fine;
}

/* name:password:uid:gid:… */
static bool find_line(const char *text, const char *name, uint32_t *ret_uid, uint32_t *ret_gid)
{
	size_t len = strlen(name);

	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');

		if (strncmp(line, name, len) == 0 && line[len] == ':' &&
		    (sscanf(line + len, ":%*[^:\n]:%u:%u:", ret_uid, ret_gid) == 2 ||
		     sscanf(line + len, "::%u:%u:", ret_uid, ret_gid) == 2))
			return *ret_uid <= 65534 && *ret_gid <= 65534;
		line = end ? end + 1 : NULL;
	}
	return false;
}

int engine_user_find(struct engine_client *client, const struct engine_container *container,
		     const char *name, uint32_t *ret_uid, uint32_t *ret_gid, struct sbx_error *err)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(2 * PASSWD_MAX), text = SBX_BUF_INIT(PASSWD_MAX);
	struct engine_request request = {.method = "GET", .on_piece = keep, .userdata = &tar};
	char path[256];
	int r;

	snprintf(path, sizeof(path), "/containers/%s/archive?path=/etc/passwd", container->id);
	request.path = path;
	r = engine_call(client, &request, NULL, err);
	if (r < 0 && err->code != SBX_E_NOT_FOUND)
		return r;
	if (r < 0 || !unpack(&tar, &text) || !find_line(text.data, name, ret_uid, ret_gid))
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"the image's /etc/passwd has no user '%.64s'; name another, or a number",
				name);
	return 0;
}
