/* SPDX-License-Identifier: MIT */
/*
 * Files of this machine, for engines that take a path where others take a text. They stand below the
 * user's cache folder (base/cache.h) under names of their contents, whole or not at all, where others
 * cannot write; one that was changed is written anew.
 */
#pragma once

/* The path of a file with this text in it, the caller's; NULL: there is no place for one. */
char *engine_file_with(const char *text);
