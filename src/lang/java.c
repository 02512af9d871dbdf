/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"
#include "lang/java_options.h"
#include "lang/java_source.h"

/* The class path of a JVM that runs stays what it is. */
static const struct sbx_lang_kernel kernel = {
	.run = SBX_JAVA_KERNEL("{dir}"),
	.run_with_set = SBX_JAVA_KERNEL("{dir}:{set}/*"),
};

/*
 * Two steps and not the single-file launcher: it takes as long (javac is what takes the time)
 * and cannot tell a compile error from a failing program.
 */
const struct sbx_lang sbx_lang_java = {
	.info = {
		.id = "java",
		.title = "Java",
		.aliases = SBX_ARGV("jdk", "openjdk"),
		.extension = ".java",
		.package = "default-jdk-headless",
	},
	.extensions = SBX_ARGV(".java"),
	.file_name = "Main.java",
	.image = "eclipse-temurin:21",
	.tools = SBX_ARGV("javac", "java"),
	.version = SBX_ARGV("java", "-version"),
	.compile = SBX_JAVA_COMPILE(),
	.run = SBX_JAVA_RUN("{build}:{dir}"),
	.install = &sbx_install_java,
	.kernel = &kernel,
	.inspect = sbx_java_inspect,
};
