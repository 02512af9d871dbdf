/* SPDX-License-Identifier: MIT */
/* The table of languages, the placeholders, and what is read from a Java source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strv.h"
#include "lang/java_source.h"
#include "lang/lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static void languages_come_in_their_fixed_order(void **state)
{
	static const char *const ids[] = {"python", "java", "javascript", "cpp", "go", "ruby", "r"};

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_string_equal(sbx_lang_at(i)->info.id, ids[i]);
	assert_null(sbx_lang_at(sizeof(ids) / sizeof(ids[0])));
	assert_null(sbx_lang_at(SIZE_MAX));
}

static void every_row_has_what_a_run_needs(void **state)
{
	const struct sbx_lang *lang;

	(void)state;
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		assert_non_null(lang->info.title);
		assert_non_null(lang->info.package);
		assert_non_null(lang->tools[0]);
		assert_non_null(lang->version[0]);
		assert_non_null(lang->run[0]);
		assert_non_null(strrchr(lang->file_name, '.'));
		assert_string_equal(strrchr(lang->file_name, '.'), lang->info.extension);
		assert_ptr_equal(sbx_lang_guess(lang->file_name), lang);
		assert_ptr_equal(sbx_lang_find(lang->info.id), lang);
	}
}

static bool is_named(const struct sbx_language_info *info, const char *name)
{
	bool found = strcmp(info->id, name) == 0;

	for (size_t i = 0; info->aliases[i] != NULL; i++)
		found |= strcmp(info->aliases[i], name) == 0;
	return found;
}

static void no_two_languages_share_a_name_or_an_extension(void **state)
{
	const struct sbx_lang *a, *b;

	(void)state;
	for (size_t i = 0; (a = sbx_lang_at(i)) != NULL; i++) {
		for (size_t k = 0; a->extensions[k] != NULL; k++) {
			char name[32];

			snprintf(name, sizeof(name), "x%s", a->extensions[k]);
			assert_ptr_equal(sbx_lang_guess(name), a);
		}
		for (size_t j = i + 1; (b = sbx_lang_at(j)) != NULL; j++) {
			assert_false(is_named(&b->info, a->info.id));
			for (size_t k = 0; a->info.aliases[k] != NULL; k++)
				assert_false(is_named(&b->info, a->info.aliases[k]));
		}
	}
}

static void names_are_found_in_any_case(void **state)
{
	(void)state;
	assert_string_equal(sbx_lang_find("NodeJS")->info.id, "javascript");
	assert_string_equal(sbx_lang_find("C++")->info.id, "cpp");
	assert_string_equal(sbx_lang_find("golang")->info.id, "go");
	assert_string_equal(sbx_lang_find("R")->info.id, "r");
	assert_null(sbx_lang_find("cobol"));
	assert_null(sbx_lang_find(""));
}

static void a_file_name_tells_its_language(void **state)
{
	(void)state;
	assert_string_equal(sbx_lang_guess("/a.b/plot.R")->info.id, "r");
	assert_string_equal(sbx_lang_guess("X.CC")->info.id, "cpp");
	assert_string_equal(sbx_lang_guess("a.tar.mjs")->info.id, "javascript");
	assert_null(sbx_lang_guess(".py"));
	assert_null(sbx_lang_guess("/x.py/.rb"));
	assert_null(sbx_lang_guess("/x.py/none"));
	assert_null(sbx_lang_guess("none."));
	assert_null(sbx_lang_guess(""));
}

/* ---- placeholders ---- */

static void placeholders_stand_anywhere_and_often(void **state)
{
	static const char *const extra[] = {"{src}", "", NULL};
	const struct sbx_lang_values values = {
		.src = "/s/{dir}.x", .dir = "/s", .build = "/b", .main = "M", .memory_mb = 7, .cpus = 2};
	auto_strv char **argv = sbx_lang_expand(
		SBX_ARGV("a{build}:{dir}c", "{src}", "{memory_mb}m{cpus}", "{}{nope}{", "{main}"),
		&values, extra);

	(void)state;
	assert_non_null(argv);
	assert_string_equal(argv[0], "a/b:/sc");
	assert_string_equal(argv[1], "/s/{dir}.x");
	assert_string_equal(argv[2], "7m2");
	assert_string_equal(argv[3], "{}{nope}{");
	assert_string_equal(argv[4], "M");
	assert_string_equal(argv[5], "{src}");
	assert_string_equal(argv[6], "");
	assert_null(argv[7]);
}

/* ---- Java ---- */

static void expect_java(const char *code, const char *file_name, const char *main_type)
{
	struct sbx_lang_source s;
	const char *why = NULL;
	/* Exactly as large as it is, so that a sanitizer sees a read beyond its end. */
	size_t len = strlen(code);
	char *copy = memcpy(malloc(len + 1), code, len);

	assert_true(sbx_java_inspect(copy, len, &s, &why));
	free(copy);
	assert_string_equal(s.file_name, file_name);
	assert_string_equal(s.main, main_type);
}

#define MAIN "public static void main(String[] a) {}"

static void the_public_type_names_the_file_and_starts(void **state)
{
	(void)state;
	expect_java("class A {" MAIN "} public class B {" MAIN "}", "B.java", "B");
	expect_java("public final class Grüße {" MAIN "}", "Grüße.java", "Grüße");
	expect_java("public enum E { X; " MAIN "}", "E.java", "E");
	expect_java("public interface I { static void main(String[] a) {} }", "I.java", "I");
	expect_java("public record P(int x, int y) {" MAIN "}", "P.java", "P");
	expect_java("public @interface N {} class Z {" MAIN "}", "N.java", "Z");
}

static void the_first_type_with_a_main_starts_else(void **state)
{
	(void)state;
	expect_java("class A {} class B {" MAIN "} class C {" MAIN "}", "B.java", "B");
	expect_java("class A { static class In {" MAIN "} } class B {" MAIN "}", "B.java", "B");
	expect_java("class A { void main(String[] a) {} static int main; }", "", "A");
	expect_java("public class A {} class B {" MAIN "}", "A.java", "B");
}

static void the_package_is_part_of_the_name(void **state)
{
	(void)state;
	expect_java("package a.b . c;\nclass X {" MAIN "}", "X.java", "a.b.c.X");
	expect_java("/* package no; */ @Ann(X.class) package p; class X {" MAIN "}", "X.java", "p.X");
}

static void comments_and_literals_are_not_code(void **state)
{
	(void)state;
	expect_java("// public class No {\n/* public class No { */ class A {" MAIN "}", "A.java", "A");
	expect_java("class A { String s = \"} public class No {\"; char c = '\"', d = '\\'', e = '{'; "
		    MAIN "}",
		    "A.java", "A");
	expect_java("class A { String s = \"\"\"\n } public class No { \" \\\"\"\" \"\"\"; " MAIN "}",
		    "A.java", "A");
}

static void nonsense_is_left_to_the_compiler(void **state)
{
	char long_name[600];

	(void)state;
	expect_java("", "", "Main");
	expect_java("void main() {}", "", "Main");
	expect_java("class", "", "Main");
	expect_java("}}}}))))class A {" MAIN "}", "A.java", "A");
	expect_java("/*", "", "Main");
	expect_java("\"\"\"", "", "Main");
	expect_java("'", "", "Main");
	expect_java("\"\\", "", "Main");
	expect_java("package", "", "Main");
	memset(long_name, 'x', sizeof(long_name) - 1);
	memcpy(long_name, "public class ", 13);
	long_name[sizeof(long_name) - 1] = '\0';
	expect_java(long_name, "", "Main");
	memcpy(long_name, "package     ", 12);
	expect_java(long_name, "", "Main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(languages_come_in_their_fixed_order),
		cmocka_unit_test(every_row_has_what_a_run_needs),
		cmocka_unit_test(no_two_languages_share_a_name_or_an_extension),
		cmocka_unit_test(names_are_found_in_any_case),
		cmocka_unit_test(a_file_name_tells_its_language),
		cmocka_unit_test(placeholders_stand_anywhere_and_often),
		cmocka_unit_test(the_public_type_names_the_file_and_starts),
		cmocka_unit_test(the_first_type_with_a_main_starts_else),
		cmocka_unit_test(the_package_is_part_of_the_name),
		cmocka_unit_test(comments_and_literals_are_not_code),
		cmocka_unit_test(nonsense_is_left_to_the_compiler),
	};

	return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
