/* SPDX-License-Identifier: MIT */
/*
 * The hosts that the package managers of this machine are set up to use, asked from them: their
 * configuration files and the usual environment variables decide, and what they are without any
 * of these is what they say themselves. Asked once per process and language.
 */
#pragma once

#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/network.h>

/* Allow them in a network; lang NULL: those of every language that is installed. */
int sbx_package_hosts_allow(const struct sbx_lang *lang, struct sbx_network *network,
			    struct sbx_error *err);
