/* SPDX-License-Identifier: MIT */
#ifndef LLMSANDBOX_VERSION_H
#define LLMSANDBOX_VERSION_H

#include <llmsandbox/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "0.1.0"; never NULL. Any thread. */
SBX_API const char *sbx_version(void);

#ifdef __cplusplus
}
#endif

#endif
