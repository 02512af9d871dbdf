/* SPDX-License-Identifier: MIT */
#include "lang/java_source.h"
#include "lang/rows.h"

/*
 * Compiled by javac and then started, rather than launched from source in one go, so that a
 * compile error has its own phase and any class of the file may be the one with main(). A short
 * life does not repay the optimising compiler and a parallel collector: both are left out of
 * javac, and the program has the serial collector and is told the sandbox's memory.
 */
const struct sbx_lang sbx_lang_java = {
	.info = {
		.id = "java",
		.title = "Java",
		.aliases = SBX_ARGV("jdk"),
		.extension = ".java",
		.package = "default-jdk-headless",
	},
	.extensions = SBX_ARGV(".java"),
	.file_name = "Main.java",
	.tools = SBX_ARGV("javac", "java"),
	.version = SBX_ARGV("javac", "-version"),
	.compile = SBX_ARGV("javac", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1",
			    "-J-Xshare:auto", "-J-XX:-UsePerfData", "-encoding", "UTF-8", "-d",
			    "{build}", "{src}"),
	.run = SBX_ARGV("java", "-XX:MaxRAM={memory_mb}m", "-XX:ActiveProcessorCount={cpus}",
			"-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto",
			"-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8",
			"-Dstderr.encoding=UTF-8", "-cp", "{build}", "{main}"),
	.inspect = sbx_java_inspect,
};
