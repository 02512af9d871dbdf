/* SPDX-License-Identifier: MIT */
#include "egress/sni.h"

#include <stdbool.h>
#include <string.h>

enum {
	RECORD_FIRST = 20,
	RECORD_LAST = 24,
	RECORD_HANDSHAKE = 22,
	RECORD_HEADER = 5,
	RECORD_MAX = 16384,
	CLIENT_HELLO = 1,
	HELLO_HEADER = 4,
	RANDOM_SIZE = 34, /* with the version before it */
	EXTENSION_NAME = 0,
	NAME_IS_HOST = 0,
};

/*
 * The hello's bytes, which skip the headers of the records they lie in. Reading past what has
 * come sets `more`; anything that cannot be sets `wrong`.
 */
struct reader {
	const uint8_t *at;
	size_t left;	  /* in the input */
	size_t in_record; /* of this record */
	size_t read;
	bool more, wrong;
};

static bool next_record(struct reader *r)
{
	size_t size;

	if (r->left > 0 && r->at[0] != RECORD_HANDSHAKE)
		r->wrong = true;
	else if (r->left > 1 && r->at[1] != 3)
		r->wrong = true;
	else if (r->left < RECORD_HEADER)
		r->more = true;
	if (r->wrong || r->more)
		return false;
	size = (size_t)r->at[3] << 8 | r->at[4];
	if (size == 0 || size > RECORD_MAX) {
		r->wrong = true;
		return false;
	}
	r->at += RECORD_HEADER;
	r->left -= RECORD_HEADER;
	r->in_record = size;
	return true;
}

static uint8_t get(struct reader *r)
{
	if (r->wrong || r->more)
		return 0;
	if (r->in_record == 0 && !next_record(r))
		return 0;
	if (r->left == 0) {
		r->more = true;
		return 0;
	}
	if (++r->read > SNI_HELLO_MAX) {
		r->wrong = true;
		return 0;
	}
	r->left--;
	r->in_record--;
	return *r->at++;
}

static size_t get_number(struct reader *r, int bytes)
{
	size_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | get(r);
	return v;
}

static void skip(struct reader *r, size_t bytes)
{
	for (size_t i = 0; i < bytes && !r->more && !r->wrong; i++)
		get(r);
}

/* The list in the extension: in practice one name. Reads exactly `size` bytes. */
static bool read_names(struct reader *r, size_t size, char name[HOST_NAME_MAX_BYTES + 1])
{
	size_t list = get_number(r, 2), len;

	if (r->more || r->wrong)
		return false;
	if (size < 5 || list != size - 2) {
		r->wrong = true;
		return false;
	}
	if (get(r) != NAME_IS_HOST) {
		r->wrong = true;
		return false;
	}
	len = get_number(r, 2);
	/* A second name in the list could be the one that the server takes. */
	if (!r->more && (len != list - 3 || len == 0 || len > HOST_NAME_MAX_BYTES))
		r->wrong = true;
	for (size_t i = 0; i < len && !r->more && !r->wrong; i++) {
		name[i] = (char)get(r);
		if (name[i] == '\0' && !r->more)
			r->wrong = true;
	}
	if (r->more || r->wrong)
		return false;
	name[len] = '\0';
	return true;
}

/* All extensions are read: a second one with a name makes the hello ambiguous. */
static bool read_extensions(struct reader *r, size_t size, char name[HOST_NAME_MAX_BYTES + 1])
{
	bool found = false;

	while (size >= 4 && !r->more && !r->wrong) {
		size_t type = get_number(r, 2), len = get_number(r, 2);

		size -= 4;
		if (len > size || (type == EXTENSION_NAME && found)) {
			r->wrong = !r->more;
			return false;
		}
		size -= len;
		if (type == EXTENSION_NAME)
			found = read_names(r, len, name);
		else
			skip(r, len);
	}
	if (size != 0 && !r->more)
		r->wrong = true;
	return found;
}

/* A server may pass over an alert, say, and take the hello behind it: that must not hide it here. */
static enum sni_outcome find_other_record(const uint8_t *data, size_t len)
{
	if (data[0] < RECORD_FIRST || data[0] > RECORD_LAST)
		return SNI_NO_TLS;
	if (len == 1)
		return SNI_MORE;
	return data[1] == 3 ? SNI_WRONG : SNI_NO_TLS;
}

enum sni_outcome sni_parse(const uint8_t *data, size_t len, char ret_name[HOST_NAME_MAX_BYTES + 1])
{
	struct reader r = {.at = data, .left = len};
	size_t size, used;
	bool found = false;

	if (len == 0)
		return SNI_MORE;
	if (data[0] != RECORD_HANDSHAKE)
		return find_other_record(data, len);
	if (get(&r) != CLIENT_HELLO)
		return r.more ? SNI_MORE : SNI_WRONG;
	size = get_number(&r, 3);
	if (!r.more && size > SNI_HELLO_MAX - HELLO_HEADER)
		return SNI_WRONG;
	skip(&r, RANDOM_SIZE);
	skip(&r, get_number(&r, 1)); /* session */
	skip(&r, get_number(&r, 2)); /* cipher suites */
	skip(&r, get_number(&r, 1)); /* compression */
	used = r.read - HELLO_HEADER;
	if (!r.more && !r.wrong && used < size) {
		size_t extensions = get_number(&r, 2);

		if (!r.more && extensions + used + 2 != size)
			return SNI_WRONG;
		found = read_extensions(&r, extensions, ret_name);
	} else if (!r.more && used > size) {
		return SNI_WRONG;
	}
	if (r.wrong)
		return SNI_WRONG;
	if (r.more)
		return SNI_MORE;
	return found ? SNI_NAME : SNI_NO_NAME;
}
