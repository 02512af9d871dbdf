/* SPDX-License-Identifier: MIT */
/* Numbers as people write them: 512M, 30s, 1.5. */
#pragma once

#include <llmsandbox/spec.h>

#include <stdbool.h>
#include <stdint.h>

/* Sizes take K M G (powers of 1024; "KiB" and "kb" too); times ms s m h, seconds without one;
 * CPUs a fraction. False when text is no such number. */
bool value_parse(const char *text, enum sbx_unit unit, uint64_t *ret);

/* The other way: "512M", "30s", "1.5". */
void value_format(uint64_t value, enum sbx_unit unit, char *ret, size_t size);
