/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "base/buf.h"
#include "lang/requirement.h"

#include <string.h>

/* All packages of a module: "example.org/m@v1" as "example.org/m/...@v1". */
static void all_packages(const char *requirement, struct sbx_buf *out)
{
	size_t path = strcspn(requirement, "@");

	sbx_buf_append(out, requirement, path);
	sbx_buf_puts(out, "/...");
	sbx_buf_puts(out, requirement + path);
}

/* A line of go.sum; those for go.mod files name no module that was installed. */
static bool parse(const char *line, struct sbx_lang_package *ret)
{
	return sbx_install_parse_line(line, ret) && strchr(ret->version, '/') == NULL;
}

/*
 * Downloaded and not built. What a module's other packages import is wanted too, because a
 * program may use any of them; where that cannot be had (some need a newer Go), what was asked
 * for is there all the same.
 *
 * The set is a workspace of one module, so that a program needs no go.mod of its own. The zips
 * have been unpacked and are not read again.
 */
const struct sbx_lang_install sbx_install_go = {
	.manager = "go",
	.tool = "go",
	.package = "golang-go",
	.example = "github.com/google/uuid@v1.6.0",
	.check = sbx_requirement_go,
	.config = (const struct sbx_lang_config[]){
		{"~/.config/go/env", ".config/go/env", NULL},
		{"$GOENV", ".config/go/env", NULL},
		{NULL, NULL, NULL},
	},
	.variables = SBX_ARGV("GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE",
			      "GOAUTH"),
	.ca_variables = SBX_ARGV(SBX_INSTALL_CA),
	.hosts = SBX_ARGV("go", "env", "GOPROXY", "GOSUMDB"),
	.env = SBX_ARGV("HOME={home}", "GOENV={home}/.config/go/env", "GOPATH={home}/go",
			"GOMODCACHE={set}/mod", "GOCACHE={home}/cache", "GOFLAGS=-modcacherw",
			"GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on"),
	.steps = (const struct sbx_lang_step[]){
		{0, SBX_ARGV("go", "mod", "init", "sandbox")},
		{SBX_STEP_ONLINE, SBX_ARGV("go", "get", "{requirements}")},
		{SBX_STEP_ONLINE | SBX_STEP_MAY_FAIL, SBX_ARGV("go", "get", "{words}")},
		{SBX_STEP_LIST, SBX_ARGV("cat", "{home}/go.sum")},
		{0, SBX_ARGV("cp", "{home}/go.mod", "{home}/go.sum", "{set}/")},
		{0, SBX_ARGV("env", "--chdir={set}", "GOWORK=", "go", "work", "init", ".")},
		{SBX_STEP_MAY_FAIL, SBX_ARGV("find", "{set}/mod/cache", "(", "-name", "*.zip", "-o",
					     "-name", "*.lock", ")", "-delete")},
		{0, NULL},
	},
	.word = all_packages,
	.parse = parse,
	.trouble = SBX_ARGV("go: "),
	.use_env = SBX_ARGV("GOMODCACHE={set}/mod", "GOWORK={set}/go.work", "GOFLAGS=-mod=readonly",
			    "GOSUMDB=off"),
};
