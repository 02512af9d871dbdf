/* SPDX-License-Identifier: MIT */
/*
 * Package repositories of the tests' own on loopback (repository.py), a cache folder of the
 * test's own, and an environment in which the package managers use these and nothing else.
 *
 *	int main(void) { return cmocka_run_group_tests(tests, repository_setup, repository_teardown); }
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

int repository_setup(void **state);
int repository_teardown(void **state);

/* The cache folder of the test's own alone; the managers as the machine has them. */
int repository_setup_real(void **state);

/* Of the server, "127.0.0.1:4711". */
const char *repository_address(void);

/* The folder of everything; its names: "cache", "repository", "home". */
const char *repository_folder(void);

/* A path in the folder; valid until the next calls. */
const char *repository_path(const char *name);

/* How many requests there were whose path has this in it. */
size_t repository_requests(const char *part);

/* Give the wheels that wait, or make them wait from now on. */
void repository_release(bool give);

/* Point every manager at the local repositories again. */
void repository_use(void);

/* Wait until it is true, at most a minute; whether it became so. */
bool wait_until(bool (*is_true)(void *userdata), void *userdata);
