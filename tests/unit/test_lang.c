/* SPDX-License-Identifier: MIT */
#include "lang/java_source.h"
#include "lang/lang.h"
#include "base/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_seven_are_in_their_order(void **state)
{
	const char *const ids[] = {"python", "java", "javascript", "cpp", "go", "ruby", "r"};

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		const struct sbx_lang *lang = sbx_lang_at(i);

		assert_string_equal(lang->info.id, ids[i]);
		assert_non_null(lang->file_name);
		assert_non_null(lang->tools[0]);
		assert_non_null(lang->version[0]);
		assert_non_null(lang->run[0]);
		assert_non_null(lang->info.package);
		assert_ptr_equal(sbx_lang_guess(lang->file_name), lang);
	}
	assert_null(sbx_lang_at(7));
}

static void a_language_is_found_by_any_of_its_names(void **state)
{
	(void)state;
	assert_string_equal(sbx_lang_find("PY")->info.id, "python");
	assert_string_equal(sbx_lang_find("c++")->info.id, "cpp");
	assert_string_equal(sbx_lang_guess("a/b.c.JS")->info.id, "javascript");
	assert_null(sbx_lang_find("cobol"));
	assert_null(sbx_lang_guess("Makefile"));
	assert_null(sbx_lang_guess("a.py/b"));
}

static void placeholders_are_replaced_inside_arguments(void **state)
{
	const char *const extra[] = {"{src}", NULL};
	struct sbx_lang_values v = {.src = "/s/m.py", .build = "/b", .memory_mb = 64, .cpus = 2};
	char **argv = sbx_lang_expand(SBX_ARGV("x", "-o{build}/a{cpus}", "{memory_mb}m"), &v, extra);

	(void)state;
	assert_string_equal(argv[1], "-o/b/a2");
	assert_string_equal(argv[2], "64m");
	/* What the user passes is never a template. */
	assert_string_equal(argv[3], "{src}");
	assert_null(argv[4]);
	sbx_strv_free(argv);
}

static void check_java(const char *code, const char *file, const char *main_type)
{
	struct sbx_lang_source s = {0};
	const char *why;

	assert_true(sbx_java_inspect(code, strlen(code), &s, &why));
	assert_string_equal(s.file_name, file);
	assert_string_equal(s.main, main_type);
}

static void a_java_file_is_named_after_its_public_type(void **state)
{
	(void)state;
	check_java("public class Foo { public static void main(String[] a) {} }", "Foo.java", "Foo");
	check_java("class A {} public final class B { static void main(String[] a) {} }", "B.java",
		   "B");
	check_java("package x.y; interface I {} class M { public static void main(String... a){} }",
		   "M.java", "x.y.M");
	check_java("// public class No\n/* class No */ class Yes { String s = \"class No { \"; char c = "
		   "'{'; void main(){} }",
		   "Yes.java", "Yes");
	check_java("public interface P {} class M { public static void main(String[] a){} }", "P.java",
		   "M");
	check_java("", "Main.java", "Main");
	check_java("class {{{{", "Main.java", "Main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_seven_are_in_their_order),
		cmocka_unit_test(a_language_is_found_by_any_of_its_names),
		cmocka_unit_test(placeholders_are_replaced_inside_arguments),
		cmocka_unit_test(a_java_file_is_named_after_its_public_type),
	};

	return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
