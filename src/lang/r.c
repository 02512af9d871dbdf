/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"

static const struct sbx_lang_kernel kernel = {
	.run = SBX_ARGV("sh", "{support}/r/kernel.sh"),
	.use_set = ".libPaths(c('{set}', .libPaths()))",
};

/* R flushes after each write, and keeps packages that a program installs in its home folder. */
const struct sbx_lang sbx_lang_r = {
	.info = {
		.id = "r",
		.title = "R",
		.aliases = SBX_ARGV("rscript", "rlang"),
		.extension = ".R",
		.package = "r-base-core",
	},
	.extensions = SBX_ARGV(".r"),
	.file_name = "main.R",
	.image = "r-base:latest",
	.tools = SBX_ARGV("Rscript"),
	.version = SBX_ARGV("Rscript", "--version"),
	.run = SBX_ARGV("Rscript", "{src}"),
	.env = SBX_ARGV("LC_ALL=C.UTF-8"),
	.hooks = (const struct sbx_lang_hook[]){
		{"R_PROFILE_USER", "{support}/r/profile.R", NULL, "LLM_SANDBOX_R_PROFILE_USER"},
		{NULL, NULL, NULL, NULL},
	},
	.install = &sbx_install_r,
	.kernel = &kernel,
};
