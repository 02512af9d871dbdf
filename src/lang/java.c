/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/java_source.h"

/*
 * Two steps and not the single-file launcher: it takes as long (javac is what takes the time)
 * and cannot tell a compile error from a failing program.
 *
 * A JVM sees the machine's CPUs and memory, not the sandbox's limits, so it is told; it then
 * chooses the collector that fits by itself. The compiler is short-lived and gains from the
 * fast first tier alone (0.43 s against 0.61 s); a program may run long and keeps both.
 */
#define FITTED(prefix)                                                            \
	prefix "-XX:MaxRAM={memory_mb}m", prefix "-XX:ActiveProcessorCount={cpus}", \
		prefix "-XX:MaxRAMPercentage=70", prefix "-XX:-UsePerfData"

/* It heeds no environment variable for a proxy; an empty host is none. */
#define PROXIED                                                                 \
	"-Dhttp.proxyHost={proxy_host}", "-Dhttp.proxyPort={proxy_port}", \
		"-Dhttps.proxyHost={proxy_host}", "-Dhttps.proxyPort={proxy_port}"

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
	.tools = SBX_ARGV("javac", "java"),
	.version = SBX_ARGV("java", "-version"),
	.compile = SBX_ARGV("javac", FITTED("-J"), "-J-XX:TieredStopAtLevel=1",
			    "-J-XX:+UseSerialGC", "-encoding", "UTF-8", "-d", "{build}", "{src}"),
	.run = SBX_ARGV("java", FITTED(""), PROXIED, "-Dfile.encoding=UTF-8", "-cp", "{build}:{dir}",
			"{main}"),
	.inspect = sbx_java_inspect,
};
