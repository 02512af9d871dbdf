/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

const struct sbx_lang sbx_lang_python = {
	.info = {
		.id = "python",
		.title = "Python",
		.aliases = SBX_ARGV("py", "python3"),
		.extension = ".py",
		.package = "python3",
	},
	.extensions = SBX_ARGV(".py"),
	.file_name = "main.py",
	.tools = SBX_ARGV("python3"),
	.version = SBX_ARGV("python3", "--version"),
	.run = SBX_ARGV("python3", "{src}"),
	.env = SBX_ARGV("PYTHONUNBUFFERED=1"),
};
