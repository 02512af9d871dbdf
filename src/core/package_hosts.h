/* SPDX-License-Identifier: MIT */
/*
 * The hosts that the package managers of this machine are set up to use, asked from them: their
 * configuration files and the usual environment variables decide, and what they are without any
 * of these is what they say themselves. A manager is asked in a sandbox that reaches nothing;
 * its answer is kept in the cache folder for an hour, or until its configuration changes.
 *
 * What the configuration names may be on a private address; what a manager brings may not.
 */
#pragma once

#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/network.h>
#include <llmsandbox/session.h>

/* Allow them in a network; lang NULL: those of every language that is installed. */
int sbx_package_hosts_allow(const struct sbx_lang *lang, struct sbx_network *network,
			    struct sbx_error *err);

/* The same for one language, asked anew, within timeout_ms and until cancel is killed, or NULL. */
int sbx_package_hosts_ask(const struct sbx_lang *lang, uint64_t timeout_ms,
			  struct sbx_cancel *cancel, struct sbx_network *network,
			  struct sbx_error *err);

/*
 * The same for what the manager of an image has said, when it was asked with this configuration. One that was
 * given credentials may use no host but those that the configuration names.
 */
struct sbx_package_config;
int sbx_package_hosts_read(const struct sbx_lang *lang, const struct sbx_package_config *config,
			   const struct sbx_result *answer, struct sbx_network *network,
			   struct sbx_error *err);

/* Allow the hosts in what a step of an installation printed, as public ones. */
void sbx_package_hosts_more(const struct sbx_lang_install *install, char *text,
			    struct sbx_network *network);

/* Show what of the host the package manager must see, in a spec for its sandbox. */
struct sbx_spec;
int sbx_package_hosts_show(const struct sbx_lang_install *install, struct sbx_spec *spec,
			   struct sbx_error *err);
