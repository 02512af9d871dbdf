/* SPDX-License-Identifier: MIT */
#define SBX_LIBARCHIVE_LOADER
#include "base/libarchive.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct sbx_libarchive sbx_libarchive;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[160]; /* "" when it is loaded */

static void load(void)
{
	const struct {
		const char *name;
		void *function; /* where its address goes */
	} rows[] = {
#define X(name) {#name, &sbx_libarchive.name},
		SBX_LIBARCHIVE_FUNCTIONS(X)
#undef X
	};
	void *library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		snprintf(problem, sizeof(problem),
			 "the library libarchive, which reads and writes archives, is not installed (on "
			 "Debian: apt-get install libarchive13)");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*(void **)rows[i].function = dlsym(library, rows[i].name);
		if (*(void **)rows[i].function == NULL)
			snprintf(problem, sizeof(problem), "libarchive has no function %s: install a newer one",
				 rows[i].name);
	}
}

int sbx_libarchive_load(struct sbx_error *err)
{
	pthread_once(&once, load);
	return problem[0] == '\0' ? 0 : sbx_fail(err, SBX_E_UNAVAILABLE, "%s", problem);
}
