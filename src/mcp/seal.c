/* SPDX-License-Identifier: MIT */
/*
 * Values that a client carries for us and must not change: base64 of the JSON, a dot, and an
 * HMAC-SHA256 of it under a key that this process made. It is not secret, only unforgeable.
 */
#include "mcp/core.h"

#include "base/auto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define MAC_SIZE  32
#define MAC_CHARS 44 /* in base64 */

static char *encode(const void *data, size_t len)
{
	char *text = malloc(len / 3 * 4 + 5);

	if (text != NULL)
		EVP_EncodeBlock((unsigned char *)text, data, (int)len);
	return text;
}

static bool make_mac(const struct mcp_server *server, const char *text, size_t len,
		     char ret[MAC_CHARS + 1])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	if (HMAC(EVP_sha256(), server->seal_key, sizeof(server->seal_key),
		 (const unsigned char *)text, len, mac, &size) == NULL)
		return false;
	EVP_EncodeBlock((unsigned char *)ret, mac, MAC_SIZE);
	return true;
}

char *mcp_seal(const struct mcp_server *server, const json_t *value)
{
	auto_free char *plain = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	auto_free char *body = plain ? encode(plain, strlen(plain)) : NULL;
	char mac[MAC_CHARS + 1], *text;

	if (body == NULL || !make_mac(server, body, strlen(body), mac) ||
	    asprintf(&text, "%s.%s", body, mac) < 0)
		return NULL;
	return text;
}

static json_t *decode(const char *body, size_t len)
{
	auto_free unsigned char *plain = malloc(len / 4 * 3 + 1);
	int n = plain ? EVP_DecodeBlock(plain, (const unsigned char *)body, (int)len) : -1;

	/* The padding decodes to zero bytes, which are not of the value. */
	while (n > 0 && plain[n - 1] == '\0')
		n--;
	return n < 0 ? NULL : json_loadb((char *)plain, (size_t)n, JSON_DECODE_ANY, NULL);
}

json_t *mcp_unseal(const struct mcp_server *server, const char *text)
{
	const char *dot = strrchr(text, '.');
	char mac[MAC_CHARS + 1];
	size_t len;

	if (dot == NULL || strlen(dot + 1) != MAC_CHARS)
		return NULL;
	len = (size_t)(dot - text);
	if (len > INT32_MAX || !make_mac(server, text, len, mac) ||
	    CRYPTO_memcmp(mac, dot + 1, MAC_CHARS) != 0)
		return NULL;
	return decode(text, len);
}
