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

/*
 * An index that is not pip's own may keep its files elsewhere, which nothing but its pages tells:
 * the hosts that the pages of the wanted packages link to.
 */
static const char file_hosts[] =
	"import re, sys, base64, urllib.parse, urllib.request\n"
	"from pip._internal.configuration import Configuration\n"
	"c = Configuration(isolated=False)\n"
	"c.load()\n"
	"found = set()\n"
	"for key, value in c.items():\n"
	"    if key.split('.', 1)[-1] not in ('index-url', 'extra-index-url'):\n"
	"        continue\n"
	"    for index in value.split():\n"
	"        parts = urllib.parse.urlsplit(index)\n"
	"        host = parts.netloc.rsplit('@', 1)\n"
	"        plain = urllib.parse.urlunsplit((parts.scheme, host[-1], parts.path, '', ''))\n"
	"        for word in sys.argv[1:]:\n"
	"            name = re.sub('[-_.]+', '-', re.match('[A-Za-z0-9._-]+', word).group()).lower()\n"
	"            page = plain.rstrip('/') + '/' + name + '/'\n"
	"            request = urllib.request.Request(page, headers={'Accept': 'text/html'})\n"
	"            if len(host) > 1:\n"
	"                secret = base64.b64encode(urllib.parse.unquote(host[0]).encode()).decode()\n"
	"                request.add_header('Authorization', 'Basic ' + secret)\n"
	"            try:\n"
	"                answer = urllib.request.urlopen(request, timeout=20)\n"
	"                text = answer.read(8 << 20).decode('utf-8', 'replace')\n"
	"            except (OSError, ValueError):\n"
	"                continue\n"
	"            for link in re.findall('href=[\"\\']([^\"\\']+)', text):\n"
	"                link = urllib.parse.urlsplit(urllib.parse.urljoin(answer.url, link))\n"
	"                if link.scheme == 'https' and link.netloc != host[-1]:\n"
	"                    found.add('https://' + link.netloc.rsplit('@', 1)[-1])\n"
	"for address in sorted(found)[:8]:\n"
	"    print(address)\n";

/* An index may give no hash of a wheel: then it is that of the record of its files' hashes. */
static const char list[] =
	"import glob, hashlib, json, re, sys\n"
	"for item in json.load(open(sys.argv[1]))['install']:\n"
	"    info = item['download_info'].get('archive_info', {})\n"
	"    name, version = item['metadata']['name'], item['metadata']['version']\n"
	"    digest = info.get('hashes', {}).get('sha256', '')\n"
	"    digest = 'sha256:' + digest if digest else ''\n"
	"    folder = '%s/%s-%s.dist-info' % (sys.argv[2], re.sub('[-_.]+', '_', name), version)\n"
	"    for record in glob.glob(glob.escape(folder) + '/RECORD') if not digest else ():\n"
	"        digest = 'record-sha256:' + hashlib.sha256(open(record, 'rb').read()).hexdigest()\n"
	"    print(name, version, digest)\n";

/* matplotlib looks at every font of the machine when it is first used: its list is made once for the set. */
static const char fonts[] =
	"import os, sys\n"
	"folder = sys.argv[1]\n"
	"if os.path.isdir(folder + '/matplotlib'):\n"
	"    os.environ['MPLCONFIGDIR'] = folder + '/.matplotlib'\n"
	"    sys.path.insert(0, folder)\n"
	"    import matplotlib.font_manager\n";

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
		{SBX_STEP_ONLINE | SBX_STEP_HOSTS | SBX_STEP_MAY_FAIL,
		 SBX_ARGV("python3", "-c", file_hosts, "{requirements}")},
		{SBX_STEP_ONLINE, SBX_ARGV("python3", "-m", "pip", "install", "--no-cache-dir",
					   "--only-binary", ":all:", "--no-compile",
					   "--no-warn-script-location", "--progress-bar", "off",
					   "--report", "{home}/report.json", "--target", "{set}", "--",
					   "{requirements}")},
		{SBX_STEP_LIST, SBX_ARGV("python3", "-I", "-c", list, "{home}/report.json",
					 "{set}")},
		{SBX_STEP_MAY_FAIL, SBX_ARGV("python3", "-I", "-m", "compileall", "-q", "-j", "0",
					     "--invalidation-mode", "unchecked-hash", "-s", "{set}",
					     "-p", "{final}", "{set}")},
		{SBX_STEP_MAY_FAIL, SBX_ARGV("python3", "-I", "-c", fonts, "{set}")},
		{0, NULL},
	},
	.parse = sbx_install_parse_line,
	.trouble = SBX_ARGV("ERROR:"),
	.use_env = SBX_ARGV("PYTHONPATH={set}"),
};
