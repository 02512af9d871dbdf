/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "lang/requirement.h"

/*
 * The addresses in effect: pip's configuration where it names an index, else what pip itself has
 * for one. The files of its own index are on another host, which it names too.
 */
static const char hosts[] =
	"from pip._internal.configuration import Configuration\n"
	"from pip._internal.models.index import PyPI\n"
	"c = Configuration(isolated=False)\n"
	"c.load()\n"
	"index, rest = [], []\n"
	"for key, value in c.items():\n"
	"    name = key.split('.', 1)[-1]\n"
	"    if name == 'index-url':\n"
	"        index = [value]\n"
	"    elif name in ('extra-index-url', 'find-links'):\n"
	"        rest += value.split()\n"
	"    elif name == 'no-index' and value.lower() in ('1', 'true', 'yes', 'on'):\n"
	"        index = ['']\n"
	"for url in (index or [PyPI.simple_url]) + rest:\n"
	"    print(url)\n"
	"    if PyPI.netloc in url:\n"
	"        print('https://' + PyPI.file_storage_domain)\n";

static const char list[] =
	"import json, sys\n"
	"for item in json.load(open(sys.argv[1]))['install']:\n"
	"    info = item['download_info'].get('archive_info', {})\n"
	"    hashes = info.get('hashes', {})\n"
	"    digest = 'sha256:' + hashes['sha256'] if 'sha256' in hashes else ''\n"
	"    print(item['metadata']['name'], item['metadata']['version'], digest)\n";

/*
 * Wheels alone: to build another thing is to run its code. Byte code that is never checked
 * against its source, because copies of files get new times; without it every run would compile
 * all it imports anew, as nothing may be written beside it.
 */
const struct sbx_lang_install sbx_install_python = {
	.manager = "pip",
	.tool = "pip3",
	.package = "python3-pip",
	.example = "requests>=2",
	.check = sbx_requirement_pypi,
	.config = (const struct sbx_lang_config[]){
		{"/etc/pip.conf", "xdg/pip/pip.conf", NULL},
		{"~/.config/pip/pip.conf", ".config/pip/pip.conf", NULL},
		{"~/.pip/pip.conf", ".pip/pip.conf", NULL},
		{"$PIP_CONFIG_FILE", "pip-config-file", "PIP_CONFIG_FILE={home}/pip-config-file"},
		{NULL, NULL, NULL},
	},
	.variables = SBX_ARGV("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX",
			      "PIP_TRUSTED_HOST", "PIP_PRE", "PIP_DEFAULT_TIMEOUT", "PIP_TIMEOUT",
			      "PIP_RETRIES"),
	.ca_variables = SBX_ARGV("PIP_CERT", SBX_INSTALL_CA),
	.hosts = SBX_ARGV("python3", "-c", hosts),
	.env = SBX_ARGV("HOME={home}", "XDG_CONFIG_DIRS={home}/xdg", "XDG_CONFIG_HOME={home}/.config",
			"PIP_USER=0", "PIP_REQUIRE_VIRTUALENV=0", "PIP_DISABLE_PIP_VERSION_CHECK=1",
			"PIP_NO_INPUT=1", "PIP_NO_COLOR=1", "PYTHONUTF8=1"),
	.steps = (const struct sbx_lang_step[]){
		{SBX_STEP_ONLINE, SBX_ARGV("python3", "-m", "pip", "install", "--no-cache-dir",
					   "--only-binary", ":all:", "--no-compile",
					   "--no-warn-script-location", "--progress-bar", "off",
					   "--report", "{home}/report.json", "--target", "{set}", "--",
					   "{requirements}")},
		{SBX_STEP_LIST, SBX_ARGV("python3", "-I", "-c", list, "{home}/report.json")},
		{SBX_STEP_MAY_FAIL, SBX_ARGV("python3", "-I", "-m", "compileall", "-q", "-j", "0",
					     "--invalidation-mode", "unchecked-hash", "-s", "{set}",
					     "-p", "{final}", "{set}")},
		{0, NULL},
	},
	.parse = sbx_install_parse_line,
	.trouble = SBX_ARGV("ERROR:"),
	.use_env = SBX_ARGV("PYTHONPATH={set}"),
};
