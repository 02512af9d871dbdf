/* SPDX-License-Identifier: MIT */
/* The same random numbers in every run, for fuzz targets that run as tests. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The main() of a target whose inputs are short: [ROUNDS] of them, each by make(). */
static inline int fuzz_main(int argc, char **argv,
			    size_t (*make)(uint8_t *ret, size_t max, uint32_t *state))
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
	uint32_t state = 12345;
	uint8_t input[512];

	for (unsigned long i = 0; i < rounds; i++)
		LLVMFuzzerTestOneInput(input, make(input, sizeof(input), &state));
	printf("1..1\nok 1 - %lu hostile inputs change nothing\n", rounds);
	return 0;
}
