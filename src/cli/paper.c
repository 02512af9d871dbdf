/* SPDX-License-Identifier: MIT */
#include "cli/paper.h"

#include "cli/files.h"
#include "cli/trouble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files in memory ---- */

int paper_fill(const void *data, size_t len)
{
	int fd = memfd_create("llm-sandbox", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = file_write(fd, data, len);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int paper_write(const json_t *value)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	return text ? paper_fill(text, strlen(text)) : -ENOMEM;
}

int paper_take(int fd, size_t max, char **ret, size_t *ret_len)
{
	auto_free char *data = NULL;
	struct stat st;
	size_t len = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (size_t)st.st_size > max)
		return -EBADMSG;
	data = malloc((size_t)st.st_size + 1);
	if (data == NULL)
		return -ENOMEM;
	while (len < (size_t)st.st_size) {
		ssize_t n = pread(fd, data + len, (size_t)st.st_size - len, (off_t)len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0) /* it was cut after we looked */
			return -EBADMSG;
		len += n > 0 ? (size_t)n : 0;
	}
	data[len] = '\0';
	*ret = data;
	*ret_len = len;
	data = NULL;
	return 0;
}

json_t *paper_read(int fd)
{
	auto_free char *text = NULL;
	size_t len;
	json_t *value;

	if (paper_take(fd, PAPER_MAX, &text, &len) < 0)
		return NULL;
	value = json_loadb(text, len, 0, NULL);
	if (!json_is_object(value)) {
		json_decref(value);
		return NULL;
	}
	return value;
}

/* ---- bytes ---- */

json_t *paper_text(const char *bytes)
{
	size_t len = strlen(bytes);
	auto_free char *text = malloc(2 * len + 1);
	char *end = text;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c >= 0x80) {
			*end++ = (char)(0xc0 | c >> 6);
			c = 0x80 | (c & 0x3f);
		}
		*end++ = (char)c;
	}
	return json_stringn(text, (size_t)(end - text));
}

char *paper_bytes(const json_t *value)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	char *bytes = text ? malloc(len + 1) : NULL, *end = bytes;

	if (bytes == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c > 0xc3 || c == 0) { /* past U+00FF, or what would end the text */
			free(bytes);
			return NULL;
		}
		if (c >= 0xc0) /* jansson checked that it is UTF-8, so the second byte is there */
			c = (unsigned char)(c << 6 | (text[++i] & 0x3f));
		*end++ = (char)c;
	}
	*end = '\0';
	return bytes;
}

json_t *paper_list(const char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		json_array_append_new(array, paper_text(list[i]));
	return array;
}

char **paper_strings(const json_t *array, size_t most)
{
	size_t count = json_array_size(array);
	char **list = count <= most ? calloc(count + 1, sizeof(*list)) : NULL;

	for (size_t i = 0; list != NULL && i < count; i++) {
		list[i] = paper_bytes(json_array_get(array, i));
		if (list[i] == NULL) {
			paper_free_strings(list);
			return NULL;
		}
	}
	return list;
}

void paper_free_strings(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

/* ---- errors ---- */

json_t *paper_error(const struct sbx_error *err)
{
	return json_pack("{s:i, s:i, s:o}", "code", (int)err->code, "errno", err->sys_errno,
			 "message", paper_text(err->msg));
}

void paper_take_error(const json_t *object, struct sbx_error *ret)
{
	auto_free char *message = paper_bytes(json_object_get(object, "message"));
	json_int_t code = json_integer_value(json_object_get(object, "code"));

	*ret = (struct sbx_error){
		.code = code > SBX_OK && code <= SBX_E_PROTOCOL ? (enum sbx_code)code
								: SBX_E_PROTOCOL,
		.sys_errno = (int)json_integer_value(json_object_get(object, "errno")),
	};
	snprintf(ret->msg, sizeof(ret->msg), "%s", message ? message : "no reason was given");
}
