/* SPDX-License-Identifier: MIT */
#include <llmsandbox/version.h>

#include "sbx_version.h"

const char *sbx_version(void)
{
	return SBX_VERSION_STRING;
}
