/* SPDX-License-Identifier: MIT */
/* Threads of the library's own, in a program that is somebody else's. */
#pragma once

#include <pthread.h>

/*
 * As pthread_create(3), whose result it returns; signals are for the threads of the program, and none comes to this
 * one.
 */
int sbx_thread_start(pthread_t *ret, void *(*function)(void *), void *data);

/* The same for one that nobody waits for. */
int sbx_thread_start_detached(void *(*function)(void *), void *data);
