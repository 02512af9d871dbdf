/* SPDX-License-Identifier: MIT */
/*
 * libcurl, loaded when an engine is first asked: with the libraries that it brings it would make
 * every start of a program some milliseconds slower, also where there is no engine at all.
 */
#pragma once

#include "base/error.h"

/* Its macros around functions are for those that are linked. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

struct engine_curl {
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_easy_reset) *reset;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_easy_send) *send;
	__typeof__(curl_easy_recv) *recv;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
};

/* The functions, or NULL: err says what to install. Any thread. */
const struct engine_curl *engine_curl_load(struct sbx_error *err);
