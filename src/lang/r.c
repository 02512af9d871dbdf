/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

const struct sbx_lang sbx_lang_r = {
	.info = {
		.id = "r",
		.title = "R",
		.aliases = SBX_ARGV("rscript"),
		.extension = ".R",
		.package = "r-base-core",
	},
	.extensions = SBX_ARGV(".r"),
	.file_name = "main.R",
	.tools = SBX_ARGV("Rscript"),
	.version = SBX_ARGV("Rscript", "--version"),
	.run = SBX_ARGV("Rscript", "{src}"),
};
