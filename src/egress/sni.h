/* SPDX-License-Identifier: MIT */
/*
 * The server name in a TLS ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3): bytes in,
 * name out, no I/O. The hello may lie in several records (and came in any number of pieces).
 */
#pragma once

#include "egress/spelling.h"

#include <stddef.h>
#include <stdint.h>

#define SNI_HELLO_MAX 16384 /* of the hello; with its records it may take a little more */

enum sni_outcome {
	SNI_MORE,    /* it may be a hello, whose rest has not come */
	SNI_NO_TLS,  /* it begins like something else */
	SNI_NO_NAME, /* a hello without a name */
	SNI_NAME,
	SNI_WRONG /* it begins like a hello and is none, or is too large */
};

/* The name as it was sent, in ret_name; SNI_WRONG when it has a NUL byte or is too long. */
enum sni_outcome sni_parse(const uint8_t *data, size_t len, char ret_name[HOST_NAME_MAX_BYTES + 1]);
