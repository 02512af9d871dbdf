/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "base/buf.h"
#include "lang/java_options.h"
#include "lang/requirement.h"

#include <string.h>

/* Nothing needs to be escaped: a coordinate has no character that XML knows. */
static void add_dependency(const char *coordinate, struct sbx_buf *out)
{
	static const char *const names[] = {"groupId", "artifactId", "version", "classifier"};
	const char *at = coordinate;

	sbx_buf_puts(out, "<dependency>");
	for (size_t i = 0; i < 4 && *at != '\0'; i++) {
		size_t len = strcspn(at, ":");

		sbx_buf_printf(out, "<%s>%.*s</%s>", names[i], (int)len, at, names[i]);
		at += len + (at[len] == ':');
	}
	sbx_buf_puts(out, "</dependency>\n");
}

static void write_pom(const char *const *requirements, struct sbx_buf *out)
{
	sbx_buf_puts(out, "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n"
			  "<modelVersion>4.0.0</modelVersion>\n"
			  "<groupId>sandbox</groupId><artifactId>sandbox</artifactId>\n"
			  "<version>1</version><packaging>pom</packaging>\n<dependencies>\n");
	for (size_t i = 0; requirements[i] != NULL; i++)
		add_dependency(requirements[i], out);
	sbx_buf_puts(out, "</dependencies>\n</project>\n");
}

/*
 * The super POM of Maven itself names the repository that it uses, settings name others and
 * mirrors. The jars are copied in the layout of a repository, because their paths tell what they
 * are, and then moved into one folder, because a class path takes no tree.
 */
const struct sbx_lang_install sbx_install_java = {
	.manager = "mvn",
	.tool = "mvn",
	.package = "maven",
	.example = "org.slf4j:slf4j-api:2.0.9",
	.check = sbx_requirement_maven,
	.shown = SBX_ARGV("/etc/maven"),
	.config = (const struct sbx_lang_config[]){
		{"~/.m2/settings.xml", ".m2/settings.xml", NULL},
		{"~/.m2/settings-security.xml", ".m2/settings-security.xml", NULL},
		{NULL, NULL, NULL},
	},
	.hosts = SBX_ARGV("find", "-L", "/usr/share/maven/lib", "-name", "maven-model-builder*.jar",
			  "-exec", "jar", "xf", "{}", "org/apache/maven/model/pom-4.0.0.xml", ";",
			  "-exec", "cat", "org/apache/maven/model/pom-4.0.0.xml", "/etc/maven/settings.xml",
			  "{home}/.m2/settings.xml", ";"),
	.hosts_mark = "<url>",
	.env = SBX_ARGV("HOME={home}", "MAVEN_SKIP_RC=1",
			"MAVEN_OPTS=-Duser.home={home} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
			"-Dhttp.proxyHost={proxy_host} -Dhttp.proxyPort={proxy_port} "
			"-Dhttps.proxyHost={proxy_host} -Dhttps.proxyPort={proxy_port} "
			"-Dhttp.nonProxyHosts="),
	.steps = (const struct sbx_lang_step[]){
		{SBX_STEP_ONLINE, SBX_ARGV("mvn", "-B", "-ntp", "-f", "{home}/pom.xml",
					   "-Dmaven.repo.local={home}/repository",
					   "-DoutputDirectory={home}/jars", "-DincludeScope=runtime",
					   "-Dmdep.useRepositoryLayout=true",
					   "dependency:copy-dependencies")},
		{SBX_STEP_LIST, SBX_ARGV("env", "--chdir={home}/jars", "find", ".", "-name", "*.jar",
					 "-exec", "sha256sum", "{}", "+")},
		{0, SBX_ARGV("find", "{home}/jars", "-name", "*.jar", "-exec", "mv", "-t", "{set}", "{}",
			     "+")},
		{0, NULL},
	},
	.project = "pom.xml",
	.write_project = write_pom,
	.parse = sbx_install_parse_maven,
	.trouble = SBX_ARGV("[ERROR]"),
	.use_compile = SBX_JAVA_COMPILE("-cp", "{dir}:{set}/*"),
	.use_run = SBX_JAVA_RUN("{build}:{dir}:{set}/*"),
};
