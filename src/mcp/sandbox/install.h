/* SPDX-License-Identifier: MIT */
/*
 * Libraries that a call wants in its session: those that the tool chain brings are there, the
 * others are installed, as far as whoever runs the server allows it.
 */
#pragma once

#include "mcp/sandbox/inside.h"
#include "mcp/sandbox/watch.h"

struct mcp_installed {
	json_t *versions; /* object: what was wanted: its version; owned */
	json_t *packages; /* array of {name, version}, all that was installed; owned, or NULL */
};

/*
 * wanted: an array of requirements, as the language's package manager writes them; may be NULL or
 * empty. The watch tells the client how far it is.
 */
int mcp_install_libraries(struct mcp_call *call, struct sbx_session *session, const char *language,
			  const json_t *wanted, struct mcp_watch *watch, struct mcp_installed *ret,
			  struct sbx_error *err);
void mcp_installed_done(struct mcp_installed *installed);
