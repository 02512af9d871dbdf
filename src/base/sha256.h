/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4), for names and for telling changed files; nothing secret depends on it.
 *
 *	struct sbx_sha256 h = SBX_SHA256_INIT;
 *	sbx_sha256_add(&h, data, len);
 *	sbx_sha256_hex(&h, hex);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SBX_SHA256_HEX 65 /* 64 digits and a NUL */

struct sbx_sha256 {
	uint32_t state[8];
	uint64_t total;
	uint8_t block[64];
};

#define SBX_SHA256_INIT                                                                  \
	{                                                                                \
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,    \
			  0x9b05688c, 0x1f83d9ab, 0x5be0cd19},                           \
	}

void sbx_sha256_add(struct sbx_sha256 *h, const void *data, size_t len);

/* The digest so far, as lower-case digits; h is used up. */
void sbx_sha256_hex(struct sbx_sha256 *h, char ret[SBX_SHA256_HEX]);
