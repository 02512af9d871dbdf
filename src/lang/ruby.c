/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

/*
 * Ruby has no variable and no option that turns the buffer of $stdout off. It writes the buffer
 * at its end, also after an exception; what a program that is killed had not flushed is lost.
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
	.tools = SBX_ARGV("ruby"),
	.version = SBX_ARGV("ruby", "--version"),
	.run = SBX_ARGV("ruby", "{src}"),
};
