/* SPDX-License-Identifier: MIT */
#include "mcp/http_tls.h"

#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>

/* A server has nobody to ask for the password of a key; OpenSSL's own way is the terminal. */
static int no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static int fail_file(struct sbx_error *err, const char *what, const char *path)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return sbx_fail(err, SBX_E_INVALID, "cannot use '%s' as %s: %s", path, what,
			reason ? reason : "it is not in PEM format");
}

int http_tls_new(const char *cert_file, const char *key_file, SSL_CTX **ret, struct sbx_error *err)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
	int r = 0;

	if (tls == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot set TLS up");
	SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
	SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	/* An idle connection keeps no buffers: 34 KiB each. */
	SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_default_passwd_cb(tls, no_password);
	if (SSL_CTX_use_certificate_chain_file(tls, cert_file) != 1)
		r = fail_file(err, "the certificate", cert_file);
	else if (SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) != 1)
		r = fail_file(err, "the key", key_file);
	else if (SSL_CTX_check_private_key(tls) != 1)
		r = fail_file(err, "the key of this certificate", key_file);
	if (r < 0) {
		SSL_CTX_free(tls);
		return r;
	}
	*ret = tls;
	return 0;
}

struct bufferevent *http_tls_accept(struct event_base *base, SSL_CTX *tls, int fd, int flags)
{
	SSL *ssl = SSL_new(tls);
	struct bufferevent *bev;

	if (ssl == NULL)
		return NULL;
	bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, flags);
	if (bev == NULL) {
		SSL_free(ssl);
		return NULL;
	}
	/* Most clients close without the goodbye of TLS; a body's length says whether all came. */
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	return bev;
}

void http_tls_shut(struct bufferevent *bev)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);

	if (SSL_is_init_finished(ssl))
		SSL_shutdown(ssl);
	ERR_clear_error();
}
