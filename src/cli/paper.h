/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers between the command line and the holder: JSON in a file in memory whose
 * descriptor is passed. File names, arguments and variables may hold any byte but NUL, which
 * JSON may not: a byte is the character with its number, U+0000 to U+00FF, there.
 */
#pragma once

#include <llmsandbox/error.h>

#include <jansson.h>
#include <stddef.h>

#define PAPER_MAX ((size_t)64 << 20)

/* A file in memory with these bytes; a descriptor, or -errno. */
int paper_fill(const void *data, size_t len);

/* The same for a JSON value. */
int paper_write(const json_t *value);

/*
 * All of a file in memory, at most max bytes, and a NUL behind them; the caller frees *ret. It
 * is read from its start, and whoever sent it cannot make us wait. 0 or -errno.
 */
int paper_take(int fd, size_t max, char **ret, size_t *ret_len);

/* A JSON object; NULL when it is none, or too large. The caller has the reference. */
json_t *paper_read(int fd);

/* Bytes as JSON, and back: NULL when value is no text of bytes; the caller frees it. */
json_t *paper_text(const char *bytes);
char *paper_bytes(const json_t *value);

/* A NULL-terminated list (NULL: none) as an array of texts, and back; a list of at most `most`. */
json_t *paper_list(const char *const *list);
char **paper_strings(const json_t *array, size_t most);
void paper_free_strings(char **list);

/* An error as an object, and back. */
json_t *paper_error(const struct sbx_error *err);
void paper_take_error(const json_t *object, struct sbx_error *ret);
