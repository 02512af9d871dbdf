/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One round; the caller gives the variables in their turned order, so that none has to move. */
static inline void turn(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
			uint32_t g, uint32_t *h, uint32_t word)
{
	uint32_t t1 = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + word;

	*d += t1;
	*h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

/* FIPS 180-4, section 6.2.2. */
static void add_block(uint32_t state[8], const uint8_t block[64])
{
	uint32_t w[64], s[8];

	for (int t = 0; t < 16; t++)
		w[t] = load(block + 4 * t);
	for (int t = 16; t < 64; t++) {
		uint32_t a = w[t - 15], b = w[t - 2];

		w[t] = w[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	for (int t = 0; t < 64; t++)
		w[t] += constants[t];
	memcpy(s, state, sizeof(s));
	for (int t = 0; t < 64; t += 8) {
		turn(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], w[t]);
		turn(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6], w[t + 1]);
		turn(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5], w[t + 2]);
		turn(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4], w[t + 3]);
		turn(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3], w[t + 4]);
		turn(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2], w[t + 5]);
		turn(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1], w[t + 6]);
		turn(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0], w[t + 7]);
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void sbx_sha256_add(struct sbx_sha256 *h, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t used = h->total % 64;

	h->total += len;
	if (used > 0) {
		size_t part = len < 64 - used ? len : 64 - used;

		memcpy(h->block + used, at, part);
		at += part;
		len -= part;
		if (used + part < 64)
			return;
		add_block(h->state, h->block);
	}
	for (; len >= 64; at += 64, len -= 64)
		add_block(h->state, at);
	if (len > 0)
		memcpy(h->block, at, len);
}

void sbx_sha256_hex(struct sbx_sha256 *h, char ret[SBX_SHA256_HEX])
{
	static const uint8_t padding[64] = {0x80};
	uint64_t bits = h->total * 8;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sbx_sha256_add(h, padding, 1 + (119 - h->total % 64) % 64);
	sbx_sha256_add(h, length, sizeof(length));
	for (int i = 0; i < 8; i++)
		snprintf(ret + 8 * i, 9, "%08x", h->state[i]);
}
