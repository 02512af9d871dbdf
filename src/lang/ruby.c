/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"

static const struct sbx_lang_kernel kernel = {
	.run = SBX_ARGV("ruby", "{support}/ruby/kernel.rb"),
	.use_set = "ENV['GEM_HOME'] = ENV['GEM_PATH'] = '{set}'; Gem.paths = ENV",
};

/*
 * Ruby holds output back when it goes into a pipe, and has no option or variable against that
 * (only $stdout.sync = true in the program, and wrapping the program would change __FILE__,
 * DATA and backtraces). It writes the rest at every end but a kill.
 */
const struct sbx_lang sbx_lang_ruby = {
	.info = {
		.id = "ruby",
		.title = "Ruby",
		.aliases = SBX_ARGV("rb"),
		.extension = ".rb",
		.package = "ruby",
	},
	.extensions = SBX_ARGV(".rb"),
	.file_name = "main.rb",
	.image = "ruby:3.3-slim",
	.tools = SBX_ARGV("ruby"),
	.version = SBX_ARGV("ruby", "--version"),
	.run = SBX_ARGV("ruby", "{src}"),
	.install = &sbx_install_ruby,
	.kernel = &kernel,
};
