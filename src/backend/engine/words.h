/* SPDX-License-Identifier: MIT */
/*
 * What somebody else said, as a part of a sentence of ours: an engine, a container's stderr, the ssh
 * program, a web server that is no engine. One line, well-formed UTF-8, nothing that a terminal obeys.
 */
#pragma once

#include <stddef.h>

#define ENGINE_WORDS_MAX 512

/* As much as has room in ret, cut between characters; returns ret. */
const char *engine_words_clean(const void *data, size_t len, char *ret, size_t size);
