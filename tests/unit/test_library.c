/* SPDX-License-Identifier: MIT */
/* Parts of library sets without a sandbox: records, what installers say, credentials, hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/sha256.h"
#include "core/library_files.h"
#include "core/library_json.h"
#include "core/library_lines.h"
#include "core/package_config.h"
#include "core/package_hosts.h"
#include "egress/policy.h"
#include "lang/lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

/* ---- hashes ---- */

static void expect_hash(const char *text, size_t times, size_t piece, const char *expected)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	for (size_t i = 0; i < times; i++) {
		for (size_t at = 0; at < strlen(text); at += piece)
			sbx_sha256_add(&hash, text + at, strnlen(text + at, piece));
	}
	sbx_sha256_hex(&hash, hex);
	assert_string_equal(hex, expected);
}

/* The examples of FIPS 180-4, and one of more than a block. */
static void hashes_are_those_of_the_standard(void **state)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

	(void)state;
	expect_hash("", 1, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect_hash("abc", 1, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (size_t piece = 1; piece <= sizeof(two_blocks); piece++)
		expect_hash(two_blocks, 1, piece,
			    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	expect_hash("aaaaaaaaaa", 100000, 10,
		    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* ---- credentials ---- */

static void expect_scrubbed(const char *text, const char *expected)
{
	auto_buf struct sbx_buf out = SBX_BUF_INIT(1024);

	sbx_package_config_scrub(text, strlen(text), &out);
	assert_string_equal(out.data ? out.data : "", expected);
}

static void credentials_in_addresses_are_left_out(void **state)
{
	(void)state;
	expect_scrubbed("", "");
	expect_scrubbed("nothing", "nothing");
	expect_scrubbed("at https://example.org/x", "at https://example.org/x");
	expect_scrubbed("at https://u:p@example.org/x?a@b", "at https://***@example.org/x?a@b");
	expect_scrubbed("https://u:p@q@h/ and http://t@h2", "https://***@h/ and http://***@h2");
	expect_scrubbed("https://u:p/@h", "https://u:p/@h");
	expect_scrubbed("URL 'https://u:p'q,(r)!@h/x'", "URL 'https://***@h/x'");
	expect_scrubbed("x://", "x://");
	expect_scrubbed("://@", "://***@");
	expect_scrubbed("https://user:pass", "https://user:pass");
}

/* ---- what installers say ---- */

static void keep_all(const char *text, size_t len, void *userdata)
{
	strncat(userdata, text, len);
}

/* What an image's manager may reach, which says of itself that it uses these two hosts. */
static int ask_image(char *variable, char *allowed, size_t size, struct sbx_error *err)
{
	static char answer[] = "https://mine.example/simple/\nhttps://other.example/\n";
	char text[sizeof(answer)], *env[] = {variable, NULL};
	const struct sbx_package_config config = {.env = env};
	const struct sbx_result result = {.out.data = memcpy(text, answer, sizeof(answer))};
	struct sbx_network *network;
	int r;

	assert_int_equal(sbx_network_new(SBX_NETWORK_ALLOW, &network, NULL), 0);
	r = sbx_package_hosts_read(sbx_lang_find("python"), &config, &result, network, err);
	sbx_network_describe(network, allowed, size);
	sbx_network_free(network);
	return r;
}

static void a_manager_of_an_image_takes_credentials_to_no_host_of_its_own(void **state)
{
	char plain[] = "PIP_INDEX_URL=https://mine.example/simple/",
	     login[] = "PIP_INDEX_URL=https://reader:s3cret@mine.example/simple/",
	     token[] = "REGISTRY_TOKEN=s3cret", allowed[1024];
	struct sbx_error err;

	(void)state;
	assert_int_equal(ask_image(plain, allowed, sizeof(allowed), &err), 0);
	assert_non_null(strstr(allowed, "mine.example"));
	assert_non_null(strstr(allowed, "other.example"));
	assert_int_equal(ask_image(login, allowed, sizeof(allowed), &err), 0);
	assert_non_null(strstr(allowed, "mine.example"));
	assert_null(strstr(allowed, "other.example"));
	assert_int_equal(ask_image(token, allowed, sizeof(allowed), &err), -SBX_E_DENIED);
	assert_non_null(strstr(err.msg, "name the hosts"));
	assert_null(strstr(err.msg, "s3cret"));
}

static void lines_come_whole_plain_and_without_credentials(void **state)
{
	char said[1024] = "";
	struct sbx_library_lines lines;
	static const char out[] = "one\r\ntwo \x1b[31mred\nhttp://u:se", more[] = "cret@h/\nlast";

	(void)state;
	sbx_library_lines_init(&lines, sbx_lang_find("python")->install, keep_all, said);
	sbx_library_lines_out(out, sizeof(out) - 1, &lines);
	assert_string_equal(said, "one\ntwo  [31mred\n");
	sbx_library_lines_out(more, sizeof(more) - 1, &lines);
	assert_string_equal(sbx_library_lines_why(&lines),
			    "one; two  [31mred; http://***@h/; last");
	assert_null(strstr(said, "secret"));
	sbx_library_lines_done(&lines);
}

/* Wherever a line is cut because it is too long, an address stays whole or goes. */
static void a_cut_parts_no_password_from_its_address(void **state)
{
	static const char address[] = "https://user:password@h/";
	char *said = calloc(1, 65536), line[2200];
	struct sbx_library_lines lines;

	(void)state;
	for (size_t before = 2000; before < 2060; before++) {
		for (int blanks = 0; blanks < 2; blanks++) {
			memset(line, 'x', before);
			if (blanks)
				line[before - 10] = ' ';
			snprintf(line + before, sizeof(line) - before, "%s and so on\nnext\n", address);
			said[0] = '\0';
			sbx_library_lines_init(&lines, sbx_lang_find("python")->install, keep_all, said);
			sbx_library_lines_err(line, strlen(line), &lines);
			if (strstr(said, "user") != NULL || strstr(said, "word") != NULL)
				fail_msg("after %zu: '%s'", before, said + before - 20);
			assert_non_null(strstr(said, "next\n"));
			sbx_library_lines_done(&lines);
		}
	}
	free(said);
}

static void the_lines_of_trouble_tell_why(void **state)
{
	struct sbx_library_lines lines;
	char line[5000];

	(void)state;
	sbx_library_lines_init(&lines, sbx_lang_find("python")->install, NULL, NULL);
	assert_string_equal(sbx_library_lines_why(&lines), "it said nothing");
	for (int i = 0; i < 100; i++)
		sbx_library_lines_err("noise\nERROR: this is why\n", 26, &lines);
	assert_non_null(strstr(sbx_library_lines_why(&lines), "ERROR: this is why"));
	assert_true(strlen(sbx_library_lines_why(&lines)) < 400);
	sbx_library_lines_next(&lines);
	assert_string_equal(sbx_library_lines_why(&lines), "it said nothing");
	memset(line, 'x', sizeof(line));
	sbx_library_lines_out(line, sizeof(line), &lines);
	assert_true(strlen(sbx_library_lines_why(&lines)) < 400);
	sbx_library_lines_done(&lines);
}

/* ---- records ---- */

static void a_record_is_read_as_it_was_written(void **state)
{
	const char *const wanted[] = {"a", "b>=2", NULL};
	struct sbx_library_set *set = sbx_set_new("python", "3.11", &(struct sbx_set_home){0}, wanted, 1), *read = NULL;
	auto_free char *text = NULL;
	char name[33];

	(void)state;
	set->packages[0] = (struct sbx_package){strdup("a"), strdup("1"), strdup("sha256:0")};
	set->package_count = 1;
	set->bytes = 4096;
	set->made = 17;
	text = sbx_set_to_json(set, "0123456789abcdef0123456789abcdef");
	assert_true(sbx_set_from_json(text, strlen(text), &read, name));
	assert_string_equal(name, "0123456789abcdef0123456789abcdef");
	assert_string_equal(read->requirements[1], "b>=2");
	assert_string_equal(read->packages[0].hash, "sha256:0");
	assert_int_equal(read->bytes, 4096);
	sbx_library_set_free(read);
	sbx_library_set_free(set);
}

static void what_is_no_record_is_refused(void **state)
{
#define RECORD(folder, requirements, packages, bytes)                                               \
	"{\"folder\": " folder ", \"language\": \"l\", \"tool_chain\": \"t\", \"requirements\": " \
	requirements ", \"packages\": " packages ", \"bytes\": " bytes ", \"made\": 1}"
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"null",
		"{\"folder\": \"x\"}",
		RECORD("1", "[]", "[]", "1"),
		RECORD("\"0123456789abcdef0123456789abcdef0\"", "[]", "[]", "1"),
		RECORD("\"x\"", "{}x", "[]", "1"),
		RECORD("\"x\"", "[1]", "[]", "1"),
		RECORD("\"x\"", "[]", "[1]", "1"),
		RECORD("\"x\"", "[]", "[[\"a\", \"b\"]]", "1"),
		RECORD("\"x\"", "[]", "[[\"a\", \"b\", 1]]", "1"),
		RECORD("\"x\"", "[]", "[]", "-1"),
		RECORD("\"x\"", "[]", "[]", "\"1\""),
	};
	struct sbx_library_set *set;
	char name[33];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (sbx_set_from_json(texts[i], strlen(texts[i]), &set, name))
			fail_msg("this is a record: %s", texts[i]);
	}
}

/* ---- files ---- */

static void only_files_and_folders_are_sealed(void **state)
{
	char folder[] = "/tmp/sbx-seal-XXXXXX", path[64];
	auto_buf struct sbx_buf list = SBX_BUF_INIT(1u << 20);
	struct sbx_error err;
	struct stat st;
	uint64_t bytes;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("text", f);
	fclose(f);
	chmod(path, 06777);
	assert_int_equal(sbx_set_seal(folder, &list, &bytes, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	assert_int_equal(sbx_set_compare(folder, list.data, list.len, &err), 0);

	snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(sbx_set_compare(folder, list.data, list.len, &err), -SBX_E_DENIED);
	assert_int_equal(sbx_set_seal(folder, &list, &bytes, &err), -SBX_E_DENIED);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sbx_set_seal(folder, &list, &bytes, &err), -SBX_E_DENIED);
	sbx_remove_tree(folder);
}

/* ---- Debian packages ---- */

/* The program that lays unpacked packages out. */
static const char *arranger(void)
{
	const struct sbx_lang_step *step = sbx_lang_find("cpp")->install->steps;

	while (strcmp(step->argv[0], "perl") != 0)
		step++;
	return step->argv[2];
}

static void arrange(const char *root, const char *set)
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		execlp("perl", "perl", "-e", arranger(), root, set, "/final", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool has_header(const char *set, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/include/%s", set, name);
	return access(path, F_OK) == 0;
}

static void put_link(const char *root, const char *name, const char *to)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/usr/include/%s", root, name);
	assert_int_equal(symlink(to, path), 0);
}

/* apt's own passwords are in /etc, and all that is in a set later programs can read. */
static void links_of_debian_packages_lead_to_packages_and_usr_alone(void **state)
{
	char folder[] = "/tmp/sbx-debian-XXXXXX", root[64], set[64], path[160], outside[80];
	FILE *f;

	(void)state;
	if (access("/usr/bin/perl", X_OK) < 0) {
		print_message("# skipped: there is no perl, which unpacks Debian's packages\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	snprintf(root, sizeof(root), "%s/root", folder);
	snprintf(set, sizeof(set), "%s/set", folder);
	assert_int_equal(mkdir(root, 0700), 0);
	snprintf(path, sizeof(path), "%s/usr", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/usr/include", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/usr/include/real.h", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("text", f);
	fclose(f);
	snprintf(outside, sizeof(outside), "%s/../secret", root);
	f = fopen(outside, "w");
	assert_non_null(f);
	fputs("password", f);
	fclose(f);
	put_link(root, "same.h", "real.h");
	put_link(root, "machine.h", "/usr/bin/env");
	put_link(root, "direct.h", "/etc/passwd");
	put_link(root, "up.h", "../../../../../../../../etc/passwd");
	put_link(root, "folder", "/etc");
	put_link(root, "through.h", "folder/passwd");
	put_link(root, "above", "../../..");
	put_link(root, "beside.h", "above/secret");

	arrange(root, set);
	assert_true(has_header(set, "real.h"));
	assert_true(has_header(set, "same.h"));
	assert_true(has_header(set, "machine.h"));
	assert_false(has_header(set, "direct.h"));
	assert_false(has_header(set, "up.h"));
	assert_false(has_header(set, "through.h"));
	assert_false(has_header(set, "beside.h"));
	sbx_remove_tree(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_standard),
		cmocka_unit_test(credentials_in_addresses_are_left_out),
		cmocka_unit_test(a_manager_of_an_image_takes_credentials_to_no_host_of_its_own),
		cmocka_unit_test(lines_come_whole_plain_and_without_credentials),
		cmocka_unit_test(a_cut_parts_no_password_from_its_address),
		cmocka_unit_test(the_lines_of_trouble_tell_why),
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(only_files_and_folders_are_sealed),
		cmocka_unit_test(links_of_debian_packages_lead_to_packages_and_usr_alone),
	};

	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
