/* SPDX-License-Identifier: MIT */
/* NULL-terminated lists of strings that own their strings, as execve() takes them. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* NULL is allowed. */
static inline void sbx_strv_free(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

static inline void auto_strv_(char ***list)
{
	sbx_strv_free(*list);
}

#define auto_strv __attribute__((cleanup(auto_strv_)))

/* 0 for NULL. */
static inline size_t sbx_strv_len(char *const *list)
{
	size_t n = 0;

	while (list != NULL && list[n] != NULL)
		n++;
	return n;
}
