/* SPDX-License-Identifier: MIT */
/* What the shared library shows; everything without SBX_API stays inside. */
#ifndef LLMSANDBOX_EXPORT_H
#define LLMSANDBOX_EXPORT_H

#if defined(__GNUC__)
#define SBX_API __attribute__((visibility("default")))
#else
#define SBX_API
#endif

#endif
