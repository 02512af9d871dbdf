/* SPDX-License-Identifier: MIT */
/*
 * `llm-sandbox mcp install`: write, print or remove the entry that makes an MCP client start
 * our server. argv[0] is "install", and a NULL ends argv. Returns the exit status.
 */
#pragma once

int mcp_install(int argc, char **argv);
