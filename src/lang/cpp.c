/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

/* -O1 costs little more than -O0 for one file and saves loops from the time limit. */
const struct sbx_lang sbx_lang_cpp = {
	.info = {
		.id = "cpp",
		.title = "C++",
		.aliases = SBX_ARGV("c++", "cc", "cxx", "g++"),
		.extension = ".cpp",
		.package = "g++",
	},
	.extensions = SBX_ARGV(".cpp", ".cc", ".cxx", ".c++"),
	.file_name = "main.cpp",
	.tools = SBX_ARGV("g++"),
	.version = SBX_ARGV("g++", "-dumpfullversion"),
	.compile = SBX_ARGV("g++", "-std=c++17", "-O1", "-Wall", "-pipe", "-pthread", "-o",
			    "{build}/main", "{src}"),
	.run = SBX_ARGV("{build}/main"),
};
