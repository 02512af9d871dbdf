/* SPDX-License-Identifier: MIT */
/*
 * The files of src/lang/support, as the build put them into the library: what runs inside a
 * sandbox for artifacts and kernels.
 */
#pragma once

#include "base/embedded.h"

extern const struct sbx_embedded_file sbx_support_files[];
extern const char sbx_support_version[]; /* hexadecimal digits, others for other contents */
