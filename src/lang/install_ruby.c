/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "lang/requirement.h"

/* Resolve with what no gem of this machine can satisfy, and download. */
static const char fetch[] =
	"require 'rubygems/request_set'\n"
	"require 'rubygems/remote_fetcher'\n"
	"folder = ARGV.shift\n"
	"wanted = ARGV.map do |word|\n"
	"  name, version = word.split(':', 2)\n"
	"  Gem::Dependency.new(name, version || '>= 0')\n"
	"end\n"
	"begin\n"
	"  set = Gem::RequestSet.new(*wanted)\n"
	"  set.ignore_dependencies = false\n"
	"  set.resolve(Gem::Resolver::BestSet.new)\n"
	"  set.sorted_requests.each { |request| request.download(folder) }\n"
	"rescue StandardError, Gem::Exception => e\n"
	"  abort 'ERROR: ' + e.message.lines.first.to_s.strip\n"
	"end\n";

static const char install[] =
	"require 'rubygems/installer'\n"
	"folder, set = ARGV\n"
	"Dir.glob(File.join(folder, 'cache', '*.gem')).sort.each do |file|\n"
	"  begin\n"
	"    Gem::Installer.at(file, install_dir: set, ignore_dependencies: true, force: true,\n"
	"                      document: [], wrappers: true, bin_dir: set + '/bin').install\n"
	"  rescue StandardError, Gem::Exception => e\n"
	"    abort 'ERROR: ' + File.basename(file) + ': ' + e.message\n"
	"  end\n"
	"end\n";

/*
 * First everything is fetched; only then do native extensions build, without network and
 * without the configuration, because building runs their code.
 */
const struct sbx_lang_install sbx_install_ruby = {
	.manager = "gem",
	.tool = "gem",
	.package = "ruby",
	.example = "rack:2.2.4",
	.check = sbx_requirement_gem,
	.config = (const struct sbx_lang_config[]){
		{"/etc/gemrc", "gemrc", NULL},
		{"~/.gemrc", ".gemrc", NULL},
		{"$GEMRC", "gemrc-file", "GEMRC={home}/gemrc-file"},
		{NULL, NULL, NULL},
	},
	.ca_variables = SBX_ARGV(SBX_INSTALL_CA),
	.hosts = SBX_ARGV("gem", "sources", "--list"),
	.subdomains = true, /* its own index is on a host below that of the source */
	.env = SBX_ARGV("HOME={home}", "GEM_HOME={home}/gems", "GEM_PATH={home}/gems",
			"GEM_SPEC_CACHE={home}/specs"),
	.steps = (const struct sbx_lang_step[]){
		{SBX_STEP_ONLINE, SBX_ARGV("ruby", "-e", fetch, "{home}/gems", "{requirements}")},
		{SBX_STEP_LIST, SBX_ARGV("find", "{home}/gems/cache", "-name", "*.gem", "-exec",
					 "sha256sum", "{}", "+")},
		{0, SBX_ARGV("ruby", "-e", install, "{home}/gems", "{set}")},
		{SBX_STEP_MAY_FAIL, SBX_ARGV("rm", "-rf", "{set}/cache", "{set}/doc")},
		{0, NULL},
	},
	.parse = sbx_install_parse_dash,
	.trouble = SBX_ARGV("ERROR:", "mkmf.rb can't find"),
	.use_env = SBX_ARGV("GEM_HOME={set}", "GEM_PATH={set}"),
};
