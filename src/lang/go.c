/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include "lang/install.h"

#define CACHE_INSIDE "/opt/llm-sandbox/go"

/* One cache for all runs of a session. It stands beside {build}, which is new in each run. */
#define CACHE "{build}/../.llm-sandbox-go-cache"

/*
 * Since 1.20 the standard library comes as source alone: a program with net/http takes 20 s to
 * build from nothing and 0.45 s with a warm cache (25 s and 170 MB to make, on two cores).
 * Before, it comes compiled, and the cache costs nothing to make and gains nothing.
 *
 * Go reads cached files through links but wants to add its own beside them (for want of that it
 * takes a package that is not indexed yet for one that does not exist), so that the folders are
 * real and the files links: 50 ms in the first run of a session, little in the next ones. find
 * says nothing where the warm cache is on the machine but not shown.
 */
static const struct sbx_lang_cache cache = {
	.inside = CACHE_INSIDE,
	.fill = SBX_ARGV("go", "build", "std"),
	.use = (const char *const *const[]){
		SBX_ARGV("find", "/opt", "-maxdepth", "2", "-path", CACHE_INSIDE, "-exec", "cp",
			 "-rsuT", "{}", CACHE, ";"),
		NULL,
	},
	.env = SBX_ARGV("GOCACHE={build}", "GOPROXY=off", "GOTOOLCHAIN=local"),
};

/*
 * Module mode, as go has it by default: without a go.mod the file is a program of its own, with
 * one it sees the packages of its module. Nothing is downloaded, neither modules nor another
 * tool chain. GOMAXPROCS keeps compiler and program to the CPUs they have instead of the CPUs
 * they see; cgo is left as the tool chain has it, because Go 1.19 ships its compiled library
 * for that setting.
 */
const struct sbx_lang sbx_lang_go = {
	.info = {
		.id = "go",
		.title = "Go",
		.aliases = SBX_ARGV("golang"),
		.extension = ".go",
		.package = "golang-go",
	},
	.extensions = SBX_ARGV(".go"),
	.file_name = "main.go",
	.image = "golang:1.23",
	.tools = SBX_ARGV("go"),
	.version = SBX_ARGV("go", "version"),
	.compile = SBX_ARGV("go", "build", "-o", "{build}/main", "{src}"),
	.run = SBX_ARGV("{build}/main"),
	.env = SBX_ARGV("GOCACHE=" CACHE, "GOPROXY=off", "GOTOOLCHAIN=local", "GOMAXPROCS={cpus}"),
	.cache = &cache,
	.install = &sbx_install_go,
};
