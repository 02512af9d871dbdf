/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"

/*
 * -O2 because it costs nothing that can be measured: headers are what takes the time (iostream
 * 0.27 s, bits/stdc++.h 1.4 s, at -O0, -O1 and -O2 alike), and -Wall sees more with it.
 *
 * The program runs with its output line-buffered. Into a pipe it would be held back in blocks,
 * and what a failing assert, a crash or a timeout ends would lose the lines that tell why.
 */
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
	.image = "gcc:14",
	.tools = SBX_ARGV("g++"),
	.version = SBX_ARGV("g++", "-dumpfullversion"),
	.compile = SBX_ARGV("g++", "-std=c++17", "-O2", "-Wall", "-pthread", "-o", "{build}/main",
			    "{src}"),
	.run = SBX_ARGV("stdbuf", "-oL", "{build}/main"),
	.install = &sbx_install_cpp,
};
