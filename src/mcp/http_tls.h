/* SPDX-License-Identifier: MIT */
/* TLS 1.2 and later for connections, on OpenSSL and libevent's bufferevents. */
#pragma once

#include "base/error.h"

#include <event2/bufferevent.h>
#include <openssl/ssl.h>

/* Free *ret with SSL_CTX_free(). */
int http_tls_new(const char *cert_file, const char *key_file, SSL_CTX **ret, struct sbx_error *err);

/* NULL when it cannot be had; then fd is still the caller's. */
struct bufferevent *http_tls_accept(struct event_base *base, SSL_CTX *tls, int fd, int flags);

/* Tell the client that nothing more comes. */
void http_tls_shut(struct bufferevent *bev);
