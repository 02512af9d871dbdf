/* SPDX-License-Identifier: MIT */
/* What a library may be called, per ecosystem, and what installers print of what they did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/strv.h"
#include "lang/install.h"
#include "lang/requirement.h"

#include <stdio.h>
#include <string.h>

/* A NULL in `good` or `bad` ends it. */
struct names {
	const char *language;
	const char *const *good, *const *bad;
};

static const struct names names[] = {
	{"python",
	 SBX_ARGV("numpy", "six==1.16.0", "requests[socks]>=2", "requests[socks,use_chardet_on_py3]",
		  "ruamel.yaml", "zope.interface>=5,<7", "a", "A1", "x~=1.0", "x===1.0", "x!=1.*",
		  "x == 1.0", "x >= 1, < 2", "x [a, b] >=1", "pkg_name-x.y", "x==1!2.0", "x==1.0+local"),
	 SBX_ARGV("numpy ; python_version<'3'", "numpy;x", "numpy @ file:///x", "numpy@file", "./numpy",
		  "../x", "/tmp/x.whl", "x/y", "_x", "x_", ".x", "x.", "x[", "x[]", "x[a", "x[a]b", "x>=",
		  "x>=1,", "x=1", "x>1;y", "-r", "x y", "x==", "x==-1", "x>=1 -r y", "x\\", "~x", "x'",
		  "x==1'", "x (>=1)", "git+x", "x#egg=y")},
	{"javascript",
	 SBX_ARGV("lodash", "lodash@4", "lodash@4.17.21", "@types/node", "@types/node@18", "a@latest",
		  "a@next-1", "a@^1.2.3", "a@~1.2", "a@>=1 <2", "a@1.x || 2.x", "a@*", "a@1.2.3-beta.1",
		  "a@v1.0.0", "Base64", "lodash.get", "a@=1.0.0", "a@1 - 2"),
	 SBX_ARGV("@types", "@/x", "@types/", "a/b", "user/repo", "a@user/repo", "a@npm:b", "a@git+ssh",
		  "a@file:x", "a@./x", "a@../x", "a@~/x", "a@.x", "./x", "../x", "/x", "~x", "a@", "a@ ",
		  "x.tgz", "a@x.tgz", "x.tar.gz", "a@b@c", "_x", ".x", "a@1;b", "a@$(x)", "a b", "a@#x",
		  "github:a/b", "C:x", "@a/b/c", "a@'1'")},
	{"go",
	 SBX_ARGV("github.com/google/uuid", "github.com/google/uuid@v1.6.0", "golang.org/x/text@latest",
		  "gopkg.in/yaml.v3", "example.org/a/b/v2@v2.0.0-20200101000000-abcdefabcdef",
		  "example.org/a@v1.0.0+incompatible", "example.org/a@main", "example.org/~user/a"),
	 SBX_ARGV("fmt", "net/http", "uuid@v1", "./x", "../x", "/x", "example.org//x", "example.org/",
		  "example.org/a@", "example.org/a@none", "example.org/a@v1@v2", "example.org/../a",
		  "example.org/.a", "example.org/a@-x", "example.org/a b", "example.org/a@v1 x",
		  "example.org/a;x", "example.org:80/a", "example.org/a@>=1", "all", "...",
		  "example.org/...", "go@1.22.0", "toolchain@go1.22.1", "uuid@v1.6.0")},
	{"java",
	 SBX_ARGV("org.slf4j:slf4j-api:2.0.9", "a:b:1", "com.google.guava:guava:33.0.0-jre",
		  "a:b:1.0:linux-x86_64", "a_b:c-d:1.0_2", "a:b:1+2"),
	 SBX_ARGV("x", "slf4j", "a:b", "a:b:", ":b:1", "a::1", "a:b:1:", "a:b:1:c:d", "a:b:[1,2)",
		  "a:b:${x}", "a:b:1 ", "../a:b:1", "a/b:c:1", "a:b:..", "a..b:c:1", "-a:b:1", "a:b:1\"",
		  "a:b:<x>", "a:b:1&x", "a:b:LATEST;x", "a:b:1</version>")},
	{"ruby",
	 SBX_ARGV("rack", "rack:2.2.4", "rack:~>2.2", "rack:>=1", "net-http", "_x", "a.b", "rack:~> 2.2",
		  "rack:1.0.0.pre1", "rack:1.0.0-java", "rack:=2.2"),
	 SBX_ARGV("./rack", "rack/x", "rack:", "rack:x", "rack:2;x", "rack -v", "rack:2 --source x",
		  "rack.gem", "rack:git", "a b", "rack:..", "rack:2.", "$(x)", "-rack", "rack,2")},
	{"r",
	 SBX_ARGV("jsonlite", "jsonlite@1.8.7", "R6", "data.table", "KernSmooth@2.23-22"),
	 SBX_ARGV("j", "1x", "user/repo", "github::x", "jsonlite@", "jsonlite@x", "jsonlite@1;x",
		  "json lite", "json_lite", "x.", "x'", "x\")", "jsonlite==1", "./x", "jsonlite@1.")},
	{"cpp",
	 SBX_ARGV("libfmt-dev", "zlib1g-dev", "libeigen3-dev", "nlohmann-json3-dev", "libc++-15-dev",
		  "libfmt9", "libfmt-dev=9.1.0+ds1-2", "libx-dev=1:2.0~rc1-1", "libstdc++6",
		  "libpython3.11-dev"),
	 SBX_ARGV("curl", "bash", "dev", "-dev", "libfmt-dev-", "libfmt-dev+", "libfmt-dev/stable",
		  "libfmt-dev:amd64", "Libfmt-dev", "libfmt*", "lib[a]", "^libfmt", "libfmt-dev=",
		  "libfmt-dev=x", "libfmt-dev=1 x", "libfmt-dev=1;x", "./libfmt-dev", "./x.deb",
		  "libx.deb/", "?x-dev", "~nlib", "lib", "lib.")},
};

/* Not for any language, whatever stands around them. */
static const char *const never[] = {
	"",
	"-r",
	"--index-url=x",
	"-e.",
	"https://example.org/x",
	"http://u:p@example.org/x.tgz",
	"git+ssh://x",
	"file:///etc/passwd",
	"a\nb",
	"a\n--pre",
	"a\tb",
	"a\rb",
	"a\x7f",
	"a\x1b[31m",
	"num\xd1\x80y",		     /* a Cyrillic letter */
	"numpy\xe2\x80\x8b",	     /* a space of no width */
	"\xef\xbd\x8e\xef\xbd\x95mpy", /* full-width letters */
	"a;b",
	"a|b",
	"a&b",
	"a$b",
	"a`b`",
	"$(a)",
	"a>b",
	"a'b",
	"a\"b",
	"a\\b",
	"a{b}",
	"{set}",
	"a?b",
	"a#b",
	"a%b",
	"@",
	"@@",
	"..",
	".",
	"/",
	"~",
};

static const char *check(const struct sbx_lang *lang, const char *name)
{
	const char *why = sbx_requirement_check(name);

	return why ? why : lang->install->check(name);
}

static void what_an_ecosystem_allows_passes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sbx_lang *lang = sbx_lang_find(names[i].language);

		for (size_t j = 0; names[i].good[j] != NULL; j++) {
			const char *why = check(lang, names[i].good[j]);

			if (why != NULL)
				fail_msg("%s: '%s' %s", lang->info.id, names[i].good[j], why);
		}
		if (check(lang, lang->install->example) != NULL)
			fail_msg("%s: its own example is refused", lang->info.id);
	}
}

static void what_it_does_not_allow_is_refused_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sbx_lang *lang = sbx_lang_find(names[i].language);

		for (size_t j = 0; names[i].bad[j] != NULL; j++) {
			const char *why = check(lang, names[i].bad[j]);

			if (why == NULL || strlen(why) < 8)
				fail_msg("%s: '%s' passes", lang->info.id, names[i].bad[j]);
		}
	}
}

static void what_no_ecosystem_has_is_refused_by_all(void **state)
{
	const struct sbx_lang *lang;

	(void)state;
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		for (size_t j = 0; j < sizeof(never) / sizeof(never[0]); j++) {
			if (check(lang, never[j]) == NULL)
				fail_msg("%s: '%s' passes", lang->info.id, never[j]);
		}
	}
}

static void a_name_without_end_is_refused(void **state)
{
	char name[5001];
	const struct sbx_lang *lang;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++)
		assert_non_null(check(lang, name));
}

/* Whatever follows a good name and is no letter of its language must not pass unseen. */
static void no_character_slips_in_behind_a_good_name(void **state)
{
	static const char refused[] = "\n\r\t\x01;|&$`'\"\\(){}?#%/";
	const struct sbx_lang *lang;

	(void)state;
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		for (const char *c = refused; *c != '\0'; c++) {
			char name[300];

			snprintf(name, sizeof(name), "%s%cx y", lang->install->example, *c);
			if (check(lang, name) == NULL)
				fail_msg("%s: '%s' passes", lang->info.id, name);
		}
	}
}

/* ---- what becomes of them ---- */

static void each_requirement_is_a_word_of_its_own(void **state)
{
	const char *const template[] = {"pip", "{requirements}", "--to={set}", NULL};
	const char *const wanted[] = {"a b", "{set}", NULL};
	struct sbx_lang_values values = {.set = "/s", .requirements = wanted};
	auto_strv char **argv = sbx_lang_expand(template, &values, NULL);

	(void)state;
	assert_int_equal(sbx_strv_len(argv), 4);
	assert_string_equal(argv[1], "a b");
	assert_string_equal(argv[2], "{set}");
	assert_string_equal(argv[3], "--to=/s");
}

static void a_project_of_maven_names_its_dependencies(void **state)
{
	const struct sbx_lang *java = sbx_lang_find("java");
	const char *const wanted[] = {"a.b:c:1.0", "d:e:2:linux", NULL};
	auto_buf struct sbx_buf pom = SBX_BUF_INIT(4096);

	(void)state;
	java->install->write_project(wanted, &pom);
	assert_non_null(strstr(pom.data, "<groupId>a.b</groupId><artifactId>c</artifactId>"
					 "<version>1.0</version></dependency>"));
	assert_non_null(strstr(pom.data, "<version>2</version><classifier>linux</classifier>"));
}

/* ---- lists of what was installed ---- */

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void expect(bool (*parse)(const char *, struct sbx_lang_package *), const char *line,
		   const char *name, const char *version, const char *hash)
{
	struct sbx_lang_package package;

	if (!parse(line, &package))
		fail_msg("'%s' is not understood", line);
	assert_string_equal(package.name, name);
	assert_string_equal(package.version, version);
	assert_string_equal(package.hash, hash);
}

static void lists_of_installers_are_understood(void **state)
{
	(void)state;
	expect(sbx_install_parse_line, "six 1.16.0 sha256:abc", "six", "1.16.0", "sha256:abc");
	expect(sbx_install_parse_line, "six 1.16.0", "six", "1.16.0", "");
	expect(sbx_install_parse_dash, SUM "  /x/cache/net-http-0.1.2.gem", "net-http", "0.1.2",
	       "sha256:" SUM);
	expect(sbx_install_parse_dash, SUM "  /x/tiles-3d-1.0.gem", "tiles-3d", "1.0", "sha256:" SUM);
	expect(sbx_install_parse_dash, SUM "  /x/nokogiri-1.15.0-x86_64-linux.gem", "nokogiri",
	       "1.15.0-x86_64-linux", "sha256:" SUM);
	expect(sbx_install_parse_dash, SUM "  /x/one-2.gem", "one", "2", "sha256:" SUM);
	expect(sbx_install_parse_underscore, SUM "  /x/jsonlite_1.8.7.tar.gz", "jsonlite", "1.8.7",
	       "sha256:" SUM);
	expect(sbx_install_parse_underscore, SUM "  /x/libx-dev_1%3a2.0-1_amd64.deb", "libx-dev",
	       "1:2.0-1", "sha256:" SUM);
	expect(sbx_install_parse_maven, SUM "  ./org/slf4j/slf4j-api/2.0.9/slf4j-api-2.0.9.jar",
	       "org.slf4j:slf4j-api", "2.0.9", "sha256:" SUM);
}

static void nonsense_in_a_list_is_passed_over(void **state)
{
	static const char *const lines[] = {
		"",	      " ",	      "one",		"a\tb",	   "\x1b[31m 1",     SUM,
		SUM "  ",     SUM "  x",      SUM "  ./x.jar",	SUM "  ./a/x.jar", SUM "  .gem",
		SUM "  -1.gem", SUM "  _1.deb", SUM "  x_.tar.gz", "0  ./a/b/1/b-1.jar",
	};
	bool (*const parsers[])(const char *, struct sbx_lang_package *) = {
		sbx_install_parse_dash, sbx_install_parse_underscore, sbx_install_parse_maven};
	struct sbx_lang_package package;
	char line[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (size_t j = 0; j < 3; j++) {
			if (parsers[j](lines[i], &package))
				fail_msg("'%s' is understood", lines[i]);
		}
	}
	assert_false(sbx_install_parse_line("one", &package));
	assert_false(sbx_install_parse_line("\x1b[31m 1", &package));
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_false(sbx_install_parse_line(line, &package));
	line[500] = ' ';
	assert_false(sbx_install_parse_line(line, &package));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_ecosystem_allows_passes),
		cmocka_unit_test(what_it_does_not_allow_is_refused_with_a_reason),
		cmocka_unit_test(what_no_ecosystem_has_is_refused_by_all),
		cmocka_unit_test(a_name_without_end_is_refused),
		cmocka_unit_test(no_character_slips_in_behind_a_good_name),
		cmocka_unit_test(each_requirement_is_a_word_of_its_own),
		cmocka_unit_test(a_project_of_maven_names_its_dependencies),
		cmocka_unit_test(lists_of_installers_are_understood),
		cmocka_unit_test(nonsense_in_a_list_is_passed_over),
	};

	return cmocka_run_group_tests_name("requirement", tests, NULL, NULL);
}
