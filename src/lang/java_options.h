/* SPDX-License-Identifier: MIT */
/*
 * The command lines of Java, with libraries and without.
 *
 * A JVM sees the machine's CPUs and memory, not the sandbox's limits, so it is told; it then
 * chooses the collector that fits by itself. The compiler is short-lived and gains from the
 * fast first tier alone (0.43 s against 0.61 s); a program may run long and keeps both.
 */
#pragma once

#define SBX_JAVA_FITTED(prefix)                                                   \
	prefix "-XX:MaxRAM={memory_mb}m", prefix "-XX:ActiveProcessorCount={cpus}", \
		prefix "-XX:MaxRAMPercentage=70", prefix "-XX:-UsePerfData"

/* It heeds no environment variable for a proxy; an empty host is none. */
#define SBX_JAVA_PROXIED                                                  \
	"-Dhttp.proxyHost={proxy_host}", "-Dhttp.proxyPort={proxy_port}", \
		"-Dhttps.proxyHost={proxy_host}", "-Dhttps.proxyPort={proxy_port}"

/* The arguments are further options. */
#define SBX_JAVA_COMPILE(...)                                                                   \
	SBX_ARGV("javac", SBX_JAVA_FITTED("-J"), "-J-XX:TieredStopAtLevel=1",                   \
		 "-J-XX:+UseSerialGC", "-encoding", "UTF-8", ##__VA_ARGS__, "-d", "{build}", "{src}")

#define SBX_JAVA_RUN(class_path)                                                      \
	SBX_ARGV("java", SBX_JAVA_FITTED(""), SBX_JAVA_PROXIED, "-Dfile.encoding=UTF-8", \
		 "-cp", class_path, "{main}")

/* It compiles and starts itself and then cells, again and again: the first tier has it ready soonest. */
#define SBX_JAVA_KERNEL(class_path)                                                       \
	SBX_ARGV("java", SBX_JAVA_FITTED(""), SBX_JAVA_PROXIED, "-Dfile.encoding=UTF-8", \
		 "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",                           \
		 "--add-opens=java.base/java.io=ALL-UNNAMED", "-cp", class_path,          \
		 "{support}/java/Kernel.java")
