/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#define GO_CACHE "/opt/llm-sandbox/go"

/*
 * Go writes into its build cache, so the warm one, which is read-only, becomes a folder of links
 * to its files in the sandbox: go reads through them and adds its own files beside them.
 */
static const char *const *const use_cache[] = {
	SBX_ARGV("cp", "-rs", GO_CACHE "/.", "{build}/go-cache"),
	NULL,
};

static const struct sbx_lang_cache cache = {
	.inside = GO_CACHE,
	.fill = SBX_ARGV("go", "build", "std"),
	.use = use_cache,
	.env = SBX_ARGV("GOCACHE=" GO_CACHE, "GOPATH=/home/sandbox/go", "GOFLAGS=-mod=mod",
			"GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOTELEMETRY=off"),
};

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
	.tools = SBX_ARGV("go"),
	.version = SBX_ARGV("go", "version"),
	.compile = SBX_ARGV("go", "build", "-o", "{build}/main", "{src}"),
	.run = SBX_ARGV("{build}/main"),
	/* Offline, and no other tool chain than the one that is installed. */
	.env = SBX_ARGV("GOCACHE={build}/go-cache", "GOPATH=/home/sandbox/go", "GOFLAGS=-mod=mod",
			"GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
			"CGO_ENABLED=0", "GO111MODULE=auto"),
	.cache = &cache,
};
