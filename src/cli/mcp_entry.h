/* SPDX-License-Identifier: MIT */
/* What an entry says: how a client starts our server, or where it is. */
#pragma once

#include "cli/mcp_request.h"

/* The entry as the client's format takes it; the caller frees *ret. */
int mcp_entry_make(const struct mcp_request *request, char **ret, struct sbx_error *err);
