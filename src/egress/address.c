/* SPDX-License-Identifier: MIT */
#include "egress/address.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

/*
 * The special addresses (IANA's two registries of special-purpose addresses; the document of each
 * row is named in it). The first row that covers an address decides. The documentation ranges
 * 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24 and 2001:db8::/32 are missing on purpose: nobody
 * routes them, so they are as harmless as they are public, and networks made for a test use them.
 */
struct row {
	struct address_class class;
	uint8_t net[16];
	uint8_t hides_v4_at; /* the offset of an IPv4 address that it leads to, or 0 */
	bool inverted;	    /* which is written with every bit turned round */
	bool is_public;	    /* unless what it hides is not */
};

#define LITERAL .only_literally = true
#define CLASS(prefix_, what_, source_, ...) \
	.class = {.what = what_, .source = source_, .prefix = prefix_, __VA_ARGS__}

static const struct row v4_rows[] = {
	{CLASS(32, "a cloud's metadata service", "link-local", LITERAL), .net = {169, 254, 169, 254}},
	{CLASS(32, "a cloud's metadata service", "shared space", LITERAL),
	 .net = {100, 100, 100, 200}},
	{CLASS(32, "a cloud's metadata service", "a platform's own", LITERAL),
	 .net = {168, 63, 129, 16}},
	{CLASS(8, "an address of 'this network'", "RFC 1122"), .net = {0}},
	{CLASS(8, "a private address", "RFC 1918"), .net = {10}},
	{CLASS(10, "an address of shared space (CGNAT)", "RFC 6598"), .net = {100, 64}},
	{CLASS(8, "a loopback address", "RFC 1122", .is_loopback = true), .net = {127}},
	{CLASS(16, "a link-local address", "RFC 3927", LITERAL), .net = {169, 254}},
	{CLASS(12, "a private address", "RFC 1918"), .net = {172, 16}},
	{CLASS(24, "an address for protocols", "RFC 6890"), .net = {192, 0, 0}},
	{CLASS(24, "a former 6to4 relay", "RFC 7526"), .net = {192, 88, 99}},
	{CLASS(16, "a private address", "RFC 1918"), .net = {192, 168}},
	{CLASS(15, "an address for benchmarks", "RFC 2544"), .net = {198, 18}},
	{CLASS(4, "a multicast address", "RFC 5771"), .net = {224}},
	{CLASS(32, "the broadcast address", "RFC 919"), .net = {255, 255, 255, 255}},
	{CLASS(4, "a reserved address", "RFC 1112"), .net = {240}},
};

static const struct row v6_rows[] = {
	{CLASS(128, "a cloud's metadata service", "unique local", LITERAL),
	 .net = {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}},
	{CLASS(128, "a cloud's metadata service", "unique local", LITERAL),
	 .net = {0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}},
	{CLASS(128, "the unspecified address", "RFC 4291"), .net = {0}},
	{CLASS(128, "the loopback address", "RFC 4291", .is_loopback = true), .net = {[15] = 1}},
	{CLASS(96, "a translated IPv4 address", "RFC 2765"), .net = {[8] = 0xff, 0xff},
	 .hides_v4_at = 12},
	{CLASS(96, "a NAT64 address", "RFC 6052"), .net = {0x00, 0x64, 0xff, 0x9b},
	 .hides_v4_at = 12, .is_public = true},
	{CLASS(48, "a local NAT64 address", "RFC 8215"), .net = {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}},
	{CLASS(64, "an address to discard", "RFC 6666"), .net = {0x01}},
	{CLASS(32, "a Teredo address", "RFC 4380"), .net = {0x20, 0x01},
	 .hides_v4_at = 12, .inverted = true, .is_public = true},
	{CLASS(23, "an address for protocols", "RFC 2928"), .net = {0x20, 0x01}},
	{CLASS(16, "a 6to4 address", "RFC 3056"), .net = {0x20, 0x02},
	 .hides_v4_at = 2, .is_public = true},
	{CLASS(7, "a unique local address", "RFC 4193"), .net = {0xfc}},
	{CLASS(10, "a link-local address", "RFC 4291", LITERAL), .net = {0xfe, 0x80}},
	{CLASS(10, "a site-local address", "RFC 3879"), .net = {0xfe, 0xc0}},
	{CLASS(8, "a multicast address", "RFC 4291"), .net = {0xff}},
	{CLASS(3, "a global address", "RFC 4291"), .net = {0x20}, .is_public = true},
	{CLASS(0, "a reserved address", "RFC 4291"), .net = {0}},
};

struct address address_v4(uint32_t host_order)
{
	struct address a = {0};

	for (int i = 0; i < 4; i++)
		a.bytes[i] = (uint8_t)(host_order >> (24 - 8 * i));
	return a;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

/* Mapped (::ffff:a.b.c.d) and the long forbidden compatible (::a.b.c.d) are the same machine. */
static bool wraps_v4(const uint8_t b[16])
{
	bool is_mapped = is_zero(b, 10) && b[10] == 0xff && b[11] == 0xff;
	bool is_compatible = is_zero(b, 12) && !is_zero(b + 12, 3);

	return is_mapped || is_compatible;
}

struct address address_v6(const uint8_t bytes[16])
{
	struct address a = {.is_v6 = !wraps_v4(bytes)};

	memcpy(a.bytes, a.is_v6 ? bytes : bytes + 12, a.is_v6 ? 16 : 4);
	return a;
}

bool address_from_socket(const struct sockaddr *from, struct address *ret, uint16_t *ret_port)
{
	if (from->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, from, sizeof(in));
		*ret = address_v4(ntohl(in.sin_addr.s_addr));
		*ret_port = ntohs(in.sin_port);
		return true;
	}
	if (from->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, from, sizeof(in6));
		*ret = address_v6(in6.sin6_addr.s6_addr);
		*ret_port = ntohs(in6.sin6_port);
		return true;
	}
	return false;
}

socklen_t address_to_socket(const struct address *a, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (a->is_v6) {
		struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

		memcpy(in6.sin6_addr.s6_addr, a->bytes, 16);
		memcpy(ret, &in6, sizeof(in6));
		return sizeof(in6);
	}
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	memcpy(&in.sin_addr, a->bytes, 4);
	memcpy(ret, &in, sizeof(in));
	return sizeof(in);
}

void address_format(const struct address *a, char ret[ADDRESS_TEXT_MAX])
{
	if (inet_ntop(a->is_v6 ? AF_INET6 : AF_INET, a->bytes, ret, ADDRESS_TEXT_MAX) == NULL)
		ret[0] = '\0';
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, whole) == 0 &&
	       (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

bool address_is_within(const struct address *a, const struct address *net, unsigned int prefix)
{
	return a->is_v6 == net->is_v6 && same_bits(a->bytes, net->bytes, prefix);
}

unsigned int address_bits(const struct address *a)
{
	return a->is_v6 ? 128 : 32;
}

static const struct row *find_row(const struct address *a)
{
	const struct row *rows = a->is_v6 ? v6_rows : v4_rows;
	size_t count = a->is_v6 ? sizeof(v6_rows) / sizeof(v6_rows[0])
				: sizeof(v4_rows) / sizeof(v4_rows[0]);

	for (size_t i = 0; i < count; i++) {
		if (same_bits(a->bytes, rows[i].net, rows[i].class.prefix))
			return &rows[i];
	}
	return NULL;
}

static struct address hidden_v4(const struct address *a, const struct row *row)
{
	struct address hidden = {0};

	for (int i = 0; i < 4; i++) {
		uint8_t byte = a->bytes[row->hides_v4_at + i];

		hidden.bytes[i] = row->inverted ? (uint8_t)~byte : byte;
	}
	return hidden;
}

/*
 * A tunnel to a private IPv4 address is classed as the tunnel, so that a rule has to name the
 * IPv6 address and one for the IPv4 address does not open a second way.
 */
const struct address_class *address_classify(const struct address *a)
{
	const struct row *row = find_row(a);

	if (row == NULL)
		return NULL;
	if (row->is_public && row->hides_v4_at > 0) {
		struct address hidden = hidden_v4(a, row);

		return address_classify(&hidden) != NULL ? &row->class : NULL;
	}
	return row->is_public ? NULL : &row->class;
}
