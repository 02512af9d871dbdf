/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"

/* Without the option Node ends itself where SIGINT ends a loop in a callback. */
static const struct sbx_lang_kernel kernel = {
	.run = SBX_ARGV("node", "--no-force-async-hooks-checks", "{support}/javascript/kernel.js"),
	.use_set = "process.env.NODE_PATH = '{set}/node_modules'; require('module')._initPaths()",
	.reset_ends = true,
};

/* Node writes to pipes synchronously on Linux, so there is no buffer to switch off. */
const struct sbx_lang sbx_lang_javascript = {
	.info = {
		.id = "javascript",
		.title = "JavaScript",
		.aliases = SBX_ARGV("js", "node", "nodejs"),
		.extension = ".js",
		.package = "nodejs",
	},
	.extensions = SBX_ARGV(".js", ".mjs", ".cjs"),
	.file_name = "main.js",
	.image = "node:22-slim",
	.tools = SBX_ARGV("node"),
	.version = SBX_ARGV("node", "--version"),
	.run = SBX_ARGV("node", "{src}"),
	.env = SBX_ARGV("NO_UPDATE_NOTIFIER=1"),
	.install = &sbx_install_javascript,
	.kernel = &kernel,
};
