/* SPDX-License-Identifier: MIT */
#include "backend/engine/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct engine_curl functions;
static char problem[256]; /* "" when it is loaded */

static void *open_library(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;

	for (size_t i = 0; library == NULL && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

/*
 * OpenSSL frees what it has in an exit handler, and threads of ours may be in a call at that time.
 * Where it is another library that does TLS, there is no such function.
 */
static void keep_tls_until_the_end(void *library)
{
	int (*init)(uint64_t, const void *) = NULL;
	const uint64_t no_atexit = 0x00080000; /* OPENSSL_INIT_NO_ATEXIT */

	*(void **)&init = dlsym(library, "OPENSSL_init_crypto");
	if (init != NULL)
		init(no_atexit, NULL);
}

static void load(void)
{
	const struct {
		const char *name;
		void *function; /* where its address goes */
	} rows[] = {
		{"curl_easy_init", &functions.init},
		{"curl_easy_cleanup", &functions.cleanup},
		{"curl_easy_reset", &functions.reset},
		{"curl_easy_setopt", &functions.setopt},
		{"curl_easy_getinfo", &functions.getinfo},
		{"curl_easy_perform", &functions.perform},
		{"curl_easy_strerror", &functions.strerror},
		{"curl_easy_send", &functions.send},
		{"curl_easy_recv", &functions.recv},
		{"curl_slist_append", &functions.slist_append},
		{"curl_slist_free_all", &functions.slist_free_all},
	};
	__typeof__(curl_global_init) *global_init = NULL;
	void *library = open_library();

	if (library == NULL) {
		snprintf(problem, sizeof(problem),
			 "the library libcurl, which speaks to container engines, is not installed "
			 "(on Debian: apt-get install libcurl4)");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*(void **)rows[i].function = dlsym(library, rows[i].name);
		if (*(void **)rows[i].function == NULL)
			snprintf(problem, sizeof(problem), "libcurl has no function %s: install a newer one",
				 rows[i].name);
	}
	keep_tls_until_the_end(library);
	*(void **)&global_init = dlsym(library, "curl_global_init");
	if (problem[0] == '\0' && (global_init == NULL || global_init(CURL_GLOBAL_DEFAULT) != 0))
		snprintf(problem, sizeof(problem), "libcurl cannot be initialised");
}

const struct engine_curl *engine_curl_load(struct sbx_error *err)
{
	pthread_once(&once, load);
	if (problem[0] == '\0')
		return &functions;
	sbx_fail(err, SBX_E_UNAVAILABLE, "%s", problem);
	return NULL;
}
