/* SPDX-License-Identifier: MIT */
/* The kernels of a session, by name; what one is, is in core/kernel_inside.h. */
#pragma once

#include <pthread.h>

struct sbx_kernel;

struct sbx_kernels {
	pthread_mutex_t lock; /* of what any thread may ask: see kernel_inside.h; held for moments */
	struct sbx_kernel *list; /* oldest first */
};

void sbx_kernels_init(struct sbx_kernels *kernels);

/* When the sandbox is gone. */
void sbx_kernels_done(struct sbx_kernels *kernels);
