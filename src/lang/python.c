/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"

static const struct sbx_lang_kernel kernel = {
	.run = SBX_ARGV("python3", "{support}/python/kernel.py"),
	/* Behind "", the folder that cells are in. */
	.use_set = "__import__('sys').path.insert(1, '{set}')",
};

/*
 * Byte code is not written: it would show up as files that the program made, and modules that
 * are imported once gain nothing from it. The interpreter's own is in /usr already.
 */
const struct sbx_lang sbx_lang_python = {
	.info = {
		.id = "python",
		.title = "Python",
		.aliases = SBX_ARGV("py", "python3"),
		.extension = ".py",
		.package = "python3",
	},
	.extensions = SBX_ARGV(".py", ".pyw"),
	.file_name = "main.py",
	.image = "python:3-slim",
	.tools = SBX_ARGV("python3"),
	.version = SBX_ARGV("python3", "--version"),
	.run = SBX_ARGV("python3", "{src}"),
	.env = SBX_ARGV("PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1"),
	.hooks = (const struct sbx_lang_hook[]){
		{"PYTHONPATH", "{support}/python", ":", NULL},
		{NULL, NULL, NULL, NULL},
	},
	.install = &sbx_install_python,
	.kernel = &kernel,
};
