/* SPDX-License-Identifier: MIT */
#include "agent/socks.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	VERSION = 5,
	CONNECT = 1,
	ADDRESS_V4 = 1,
	ADDRESS_NAME = 3,
	ADDRESS_V6 = 4
};

long socks_greeting_parse(const uint8_t *data, size_t len, enum socks_method *ret)
{
	size_t size;

	if (len > 0 && data[0] != VERSION)
		return -1;
	if (len < 2)
		return 0;
	size = 2 + (size_t)data[1];
	if (len < size)
		return 0;
	*ret = SOCKS_NO_METHOD;
	if (memchr(data + 2, SOCKS_PASSWORD, size - 2) != NULL)
		*ret = SOCKS_PASSWORD;
	if (memchr(data + 2, SOCKS_NO_AUTH, size - 2) != NULL)
		*ret = SOCKS_NO_AUTH;
	return (long)size;
}

long socks_password_parse(const uint8_t *data, size_t len)
{
	size_t size;

	if (len > 0 && data[0] != 1)
		return -1;
	if (len < 2)
		return 0;
	size = 2 + (size_t)data[1] + 1;
	if (len < size)
		return 0;
	size += data[size - 1];
	return len < size ? 0 : (long)size;
}

/* The size of the address in a request, or 0 for a kind that there is not. */
static size_t address_size(const uint8_t *data)
{
	switch (data[3]) {
	case ADDRESS_V4:
		return 4;
	case ADDRESS_V6:
		return 16;
	case ADDRESS_NAME:
		return 1 + (size_t)data[4];
	default:
		return 0;
	}
}

/*
 * As text, because the other ways in have nothing else: what the bytes mean is judged in one
 * place. A NUL in a name would end it early there, so it is shown as what it is not.
 */
static void set_host(const uint8_t *data, struct socks_request *ret)
{
	if (data[3] == ADDRESS_V4) {
		inet_ntop(AF_INET, data + 4, ret->host, sizeof(ret->host));
	} else if (data[3] == ADDRESS_V6) {
		inet_ntop(AF_INET6, data + 4, ret->host, sizeof(ret->host));
	} else {
		memcpy(ret->host, data + 5, data[4]);
		for (size_t i = 0; i < data[4]; i++) {
			if (ret->host[i] == '\0')
				ret->host[i] = '\x01';
		}
	}
}

long socks_request_parse(const uint8_t *data, size_t len, struct socks_request *ret)
{
	size_t size;

	*ret = (struct socks_request){.fault = SOCKS_DONE};
	if (len > 0 && data[0] != VERSION)
		return -1;
	if (len < 5)
		return 0;
	if (data[2] != 0)
		return -1;
	if (address_size(data) == 0) {
		ret->fault = SOCKS_NO_ADDRESS;
		return (long)len;
	}
	size = 4 + address_size(data) + 2;
	if (len < size)
		return 0;
	if (data[3] == ADDRESS_NAME && data[4] == 0)
		return -1;
	set_host(data, ret);
	ret->port = (uint16_t)(data[size - 2] << 8 | data[size - 1]);
	if (data[1] != CONNECT)
		ret->fault = SOCKS_NO_COMMAND;
	return (long)size;
}

void socks_answer_format(enum socks_reply reply, uint8_t ret[SOCKS_ANSWER_SIZE])
{
	memset(ret, 0, SOCKS_ANSWER_SIZE);
	ret[0] = VERSION;
	ret[1] = (uint8_t)reply;
	ret[3] = ADDRESS_V4;
}
