/* SPDX-License-Identifier: MIT */
/* Names, titles, kinds and descriptions of artifacts, whatever a program says about them. */
#include "base/path.h"
#include "core/artifact_meta.h"
#include "core/mime.h"
#include "fuzz/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- names and titles ---- */

static void a_name_can_be_used_outside(void **state)
{
	static const char *const names[][2] = {
		{"report.pdf", "report.pdf"},	 {"a/b/c.png", "c.png"},
		{".hidden.csv", "hidden.csv"},	 {"...", "file"},
		{"", "file"},			 {"a/", "file"},
		{"-rf.json", "_rf.json"},	 {"two\nlines.csv", "two lines.csv"},
		{"\x1b[31mred.svg", "[31mred.svg"}, {"\xff.png", "\xef\xbf\xbd.png"},
		{"C:\\x.png", "C__x.png"},	 {"\u202egnp.exe", "gnp.exe"},
		{"Ünïcode 图.png", "Ünïcode 图.png"}, {"  blanks .csv", "blanks .csv"},
	};
	char name[160];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sbx_clean_name(names[i][0], name, sizeof(name));
		assert_string_equal(name, names[i][1]);
	}
}

static void a_long_name_keeps_its_ending(void **state)
{
	char path[5000], name[160];

	(void)state;
	memset(path, 'x', sizeof(path));
	strcpy(path + 4000, ".png");
	sbx_clean_name(path, name, sizeof(name));
	assert_int_equal(strlen(name), 159);
	assert_string_equal(name + 155, ".png");
}

static void a_title_is_one_line_of_whole_characters(void **state)
{
	char title[12];

	(void)state;
	sbx_clean_line(" a\r\n\tb ", title, sizeof(title));
	assert_string_equal(title, "a   b");
	sbx_clean_line("ääääääääää", title, sizeof(title));
	assert_string_equal(title, "äääää");
	sbx_clean_line("\xc3", title, sizeof(title));
	assert_string_equal(title, "\xef\xbf\xbd");
	sbx_clean_line("a\xc2\x85" "b\u2028c", title, sizeof(title));
	assert_string_equal(title, "a b c");
}

static void only_the_hooks_names_are_artifacts(void **state)
{
	static const char *const no[] = {"", "1.png", "00001.png", "0000001.png", "000000.png",
					 "000001", "000001.", "000001.p/g", "000001.toolongend",
					 ".tmp-000001-1.png", "-00001.png", "000001.p\xff", "000001.a.b"};
	const char *ending;

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_int_equal(sbx_artifact_file_number(no[i], NULL), 0);
	assert_int_equal(sbx_artifact_file_number("000123.svgz", &ending), 123);
	assert_string_equal(ending, "svgz");
	assert_int_equal(sbx_artifact_file_number("999999.meta", &ending), 999999);
}

/* ---- kinds ---- */

struct kind {
	const char *name, *head, *claim, *expected;
};

static void bytes_say_what_a_file_is_and_names_what_text_is(void **state)
{
	static const struct kind kinds[] = {
		{"a.txt", "\x89PNG\r\n\x1a\n", NULL, "image/png"},
		{"a.png", "%PDF-1.4", "image/png", "application/pdf"},
		{"a", "GIF89a", NULL, "image/gif"},
		{"a.csv", "a,b\n1,2\n", NULL, "text/csv"},
		{"a.json", "{\"a\":1}", NULL, "application/json"},
		{"a.JSON", "{}", NULL, "application/json"},
		{"a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", NULL, "image/svg+xml"},
		{"a.svg", "hello", NULL, "text/plain"},
		{"a.html", "<p>hello", NULL, "text/html"},
		{"a.txt", "hello", NULL, "text/plain"},
		{"a.png", "hello", "image/png", "text/plain"},
		{"a.zzz", "hello", "text/x-Mine", "text/x-mine"},
		{"a.zzz", "hello", "image/png", "text/plain"},
		{"a.zzz", "hello", "text/html\r\nX: y", "text/plain"},
		{"a.zzz", "hello", "text/", "text/plain"},
		{"a.zzz", "hello", "/x", "text/plain"},
		{"a.zzz", "hello", "", "text/plain"},
		{"a.png", "", NULL, "text/plain"},
		{"a.csv", "", NULL, "text/csv"},
	};
	char mime_type[SBX_MIME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];

		sbx_mime_find(k->name, k->head, strlen(k->head), k->claim, mime_type);
		if (strcmp(mime_type, k->expected) != 0)
			fail_msg("row %zu: '%s' is %s and not %s", i, k->name, mime_type, k->expected);
	}
}

static void sources_and_logs_are_not_looked_at(void **state)
{
	(void)state;
	assert_int_equal(sbx_mime_hint("a.py"), SBX_MIME_NEVER);
	assert_int_equal(sbx_mime_hint("x.y/a.LOG"), SBX_MIME_NEVER);
	assert_int_equal(sbx_mime_hint("d.py/a.png"), SBX_MIME_LIKELY);
	assert_int_equal(sbx_mime_hint("a.JPEG"), SBX_MIME_LIKELY);
	assert_int_equal(sbx_mime_hint("d.png/a"), SBX_MIME_PERHAPS);
	assert_int_equal(sbx_mime_hint("a.weird"), SBX_MIME_PERHAPS);
}

/* ---- descriptions ---- */

static void what_makes_no_sense_is_a_plot_of_which_nothing_is_known(void **state)
{
	static const char *const texts[] = {"", "{", "[]", "null", "\"x\"", "{\"kind\":7}", "\xff\xfe",
					    "{\"title\":[1],\"width\":\"9\",\"chart\":[1]}",
					    "{\"width\":-1,\"height\":1e300}"};
	struct sbx_artifact_meta meta;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		sbx_artifact_meta_parse(texts[i], strlen(texts[i]), &meta);
		assert_int_equal(meta.kind, SBX_ARTIFACT_PLOT);
		assert_null(meta.mime_type);
		assert_null(meta.path);
		assert_null(meta.chart);
		assert_string_equal(meta.title, "");
		assert_int_equal(meta.width + meta.height, 0);
		sbx_artifact_meta_done(&meta);
	}
}

static void a_chart_comes_as_json_of_ours(void **state)
{
	static const char text[] = "{\"kind\":\"display\",\"chart\": {\"n\" : 12345678901234567890123,"
				   "\"s\":\"\\u00e4\\n\"}, \"title\":\"T\"}";
	struct sbx_artifact_meta meta;

	(void)state;
	sbx_artifact_meta_parse(text, strlen(text), &meta);
	assert_int_equal(meta.kind, SBX_ARTIFACT_DISPLAY);
	assert_string_equal(meta.title, "T");
	assert_non_null(strstr(meta.chart, "\"s\":\"ä\\n\""));
	assert_null(strchr(meta.chart, '\n'));
	sbx_artifact_meta_done(&meta);
}

/* ---- anything ---- */

/* Paths of all plots of a run are kept at the same time. */
static void a_path_that_no_file_can_have_is_not_kept(void **state)
{
	static const char start[] = "{\"path\": \"/";
	struct sbx_artifact_meta meta;
	char *text = malloc(SBX_META_MAX);

	(void)state;
	memset(text, 'x', SBX_META_MAX);
	memcpy(text, start, sizeof(start) - 1);
	memcpy(text + SBX_META_MAX - 2, "\"}", 2);
	sbx_artifact_meta_parse(text, SBX_META_MAX, &meta);
	assert_null(meta.path);
	sbx_artifact_meta_done(&meta);
	memcpy(text + 1000, "\"}", 2);
	sbx_artifact_meta_parse(text, 1002, &meta);
	assert_non_null(meta.path);
	sbx_artifact_meta_done(&meta);
	free(text);
}

static void assert_clean(const char *text)
{
	for (; *text != '\0'; text++)
		assert_true((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void whatever_comes_is_made_harmless(void **state)
{
	static const char seed[] = "{\"kind\":\"plot\",\"mime\":\"image/png\",\"title\":\"T\",\"source\":"
				   "\"s\",\"width\":3,\"path\":\"/a/b.png\",\"chart\":{\"a\":[1,2]}}";
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[sizeof(seed)], name[160], mime_type[SBX_MIME_MAX];
		struct sbx_artifact_meta meta;

		memcpy(text, seed, sizeof(seed));
		for (uint32_t k = next(&random) % 8; k > 0; k--)
			text[next(&random) % (sizeof(seed) - 1)] = (char)next(&random);
		sbx_artifact_meta_parse(text, sizeof(seed) - 1, &meta);
		assert_clean(meta.title);
		assert_clean(meta.source);
		sbx_artifact_meta_done(&meta);

		sbx_clean_name(text, name, 1 + 40 + next(&random) % 100);
		assert_true(sbx_path_is_component(name));
		assert_clean(name);
		if (i % 20 != 0)
			continue; /* libmagic takes its time */
		sbx_mime_find(name, text, sizeof(seed) - 1, text, mime_type);
		assert_non_null(strchr(mime_type, '/'));
		assert_clean(mime_type);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_can_be_used_outside),
		cmocka_unit_test(a_long_name_keeps_its_ending),
		cmocka_unit_test(a_title_is_one_line_of_whole_characters),
		cmocka_unit_test(only_the_hooks_names_are_artifacts),
		cmocka_unit_test(bytes_say_what_a_file_is_and_names_what_text_is),
		cmocka_unit_test(sources_and_logs_are_not_looked_at),
		cmocka_unit_test(what_makes_no_sense_is_a_plot_of_which_nothing_is_known),
		cmocka_unit_test(a_chart_comes_as_json_of_ours),
		cmocka_unit_test(a_path_that_no_file_can_have_is_not_kept),
		cmocka_unit_test(whatever_comes_is_made_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
