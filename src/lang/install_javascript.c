/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "lang/requirement.h"

static const char list[] =
	"const fs = require('fs');\n"
	"const lock = JSON.parse(fs.readFileSync(process.argv[1], 'utf8'));\n"
	"for (const [path, info] of Object.entries(lock.packages || {})) {\n"
	"	const name = info.name || path.slice(path.lastIndexOf('node_modules/') + 13);\n"
	"	console.log(name, info.version || '0', (info.integrity || '').split(' ')[0]);\n"
	"}\n";

/*
 * Scripts of packages are not run. require() finds the set by NODE_PATH; import does not look
 * there but in the folders above the program, so that a link leads to it.
 */
const struct sbx_lang_install sbx_install_javascript = {
	.manager = "npm",
	.tool = "npm",
	.package = "npm",
	.example = "lodash@4",
	.check = sbx_requirement_npm,
	.config = (const struct sbx_lang_config[]){
		{"/etc/npmrc", "npmrc", "NPM_CONFIG_GLOBALCONFIG={home}/npmrc"},
		{"~/.npmrc", ".npmrc", NULL},
		{"$NPM_CONFIG_USERCONFIG", ".npmrc", NULL},
		{"$npm_config_userconfig", ".npmrc", NULL},
		{NULL, NULL, NULL},
	},
	.variables = SBX_ARGV("NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_STRICT_SSL",
			      "npm_config_strict_ssl", "NPM_TOKEN"),
	.ca_variables = SBX_ARGV("NPM_CONFIG_CAFILE", "npm_config_cafile", "NODE_EXTRA_CA_CERTS",
				 SBX_INSTALL_CA),
	.hosts = SBX_ARGV("npm", "config", "list", "--json"),
	.hosts_mark = "registry\":",
	.env = SBX_ARGV("HOME={home}", "NO_UPDATE_NOTIFIER=1", "npm_config_cache={home}/.npm",
			"npm_config_color=false", "npm_config_progress=false"),
	.steps = (const struct sbx_lang_step[]){
		{SBX_STEP_ONLINE, SBX_ARGV("npm", "install", "--ignore-scripts", "--no-audit",
					   "--no-fund", "--no-bin-links", "--no-save",
					   "--no-package-lock", "--global=false", "--omit=dev",
					   "--install-strategy=hoisted", "--prefix", "{set}", "--",
					   "{requirements}")},
		{SBX_STEP_LIST, SBX_ARGV("node", "-e", list, "{set}/node_modules/.package-lock.json")},
		{0, NULL},
	},
	.parse = sbx_install_parse_line,
	.trouble = SBX_ARGV("npm error", "npm ERR!"),
	.use_env = SBX_ARGV("NODE_PATH={set}/node_modules"),
	/* Into a folder of that name, if the program has its own, where it does no harm. */
	.use_before = SBX_ARGV("ln", "-sfn", "{set}/node_modules", "{dir}/node_modules"),
};
