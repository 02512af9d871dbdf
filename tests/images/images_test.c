/* SPDX-License-Identifier: MIT */
/* Images for the native backend: what sandboxes of them see, and how they come in. */
#include "support/sandbox.h"

#include <llmsandbox/container.h>
#include <llmsandbox/image.h>
#include <llmsandbox/language.h>
#include <llmsandbox/library.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A test's folder: image/ is a root file system by hand, outside/ is what nobody may reach. */
struct place {
	struct test_sandbox *sandbox;
	char folder[64];
};

/* ---- the folder ---- */

static const char *at(const struct place *p, const char *path)
{
	static char text[8][512];
	static int turn;
	char *ret = text[turn++ % 8];

	snprintf(ret, sizeof(text[0]), "%s/%s", p->folder, path);
	return ret;
}

static void put_folder(const struct place *p, const char *path)
{
	assert_return_code(mkdir(at(p, path), 0755), errno);
	assert_return_code(chmod(at(p, path), 0755), errno);
}

static void put_file(const struct place *p, const char *path, const char *text)
{
	FILE *f = fopen(at(p, path), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_return_code(fchmod(fileno(f), 0644), errno);
	fclose(f);
}

static bool exists(const struct place *p, const char *path)
{
	struct stat st;

	return lstat(at(p, path), &st) == 0;
}

static char *read_program(size_t *ret_len)
{
	FILE *f = fopen(getenv("SBX_TEST_INSIDE"), "r");
	char *data = malloc(4 << 20);

	assert_non_null(f);
	assert_non_null(data);
	*ret_len = fread(data, 1, 4 << 20, f);
	fclose(f);
	return data;
}

static void put_program(const struct place *p, const char *path)
{
	size_t len;
	char *data = read_program(&len);
	FILE *f = fopen(at(p, path), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
	assert_return_code(chmod(at(p, path), 0755), errno);
	free(data);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->folder, sizeof(p->folder), "/tmp/sbx-images-XXXXXX");
	if (mkdtemp(p->folder) == NULL || chmod(p->folder, 0755) < 0)
		return -1;
	setenv("XDG_CACHE_HOME", at(p, "cache"), 1);
	put_folder(p, "cache");
	put_folder(p, "outside");
	put_file(p, "outside/secret", "secret");
	put_folder(p, "image");
	put_folder(p, "image/bin");
	put_program(p, "image/bin/inside");
	*state = p;
	return test_sandbox_setup((void **)&p->sandbox);
}

static int teardown(void **state)
{
	struct place *p = *state;

	test_sandbox_teardown((void **)&p->sandbox);
	nftw(p->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

#define place_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* ---- sandboxes ---- */

static void use(const struct place *p, const char *image)
{
	struct sbx_error err;

	if (sbx_spec_set_image(p->sandbox->spec, image, &err) < 0)
		fail_msg("%s", err.msg);
}

static const char *inside(const struct place *p, const char *what, const char *path)
{
	return test_exec(p->sandbox, "/bin/inside", what, path, NULL)->out.data;
}

static void opening_fails(const struct place *p, const char *part)
{
	const struct sbx_command command = {.argv = (const char *[]){"/bin/inside", "has", "/", NULL}};
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_error err = {0};
	int r = sbx_session_open(p->sandbox->spec, &session, &err);

	if (r == 0)
		r = sbx_session_exec(session, &command, &result, &err);
	if (r == 0)
		fail_msg("it was opened");
	if (strstr(err.msg, part) == NULL)
		fail_msg("'%s' does not say '%s'", err.msg, part);
	sbx_session_close(session);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part) != NULL)
		fail_msg("'%s' has '%s' in it", text, part);
}

static void has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' does not have '%s' in it", text, part);
}

static void nothing_of_the_host_is_there(void **state)
{
	struct place *p = *state;
	const struct sbx_result *r;

	put_file(p, "image/marker", "of the image");
	use(p, at(p, "image"));
	assert_string_equal(inside(p, "cat", "/marker"), "of the image");
	r = test_exec(p->sandbox, "/bin/inside", "has", "/usr", "/lib", "/etc/os-release", "/etc/ssl",
		      at(p, "outside/secret"), at(p, "image"), "/root", NULL);
	has_not(r->out.data, "yes");
	assert_true(test_is_enforced(r, "root file system"));
}

/* The image has one folder; all that programs count on is there all the same. */
static void what_an_image_lacks_is_made(void **state)
{
	struct place *p = *state;

	use(p, at(p, "image"));
	has_not(test_exec(p->sandbox, "/bin/inside", "has", "/tmp", "/proc/self", "/dev/null", "/sandbox",
			  "/home/sandbox", "/dev/shm", "/var/tmp", NULL)->out.data,
		"no");
	has(inside(p, "cat", "/etc/passwd"), "sandbox:x:1000");
	has(inside(p, "cat", "/etc/hosts"), "localhost");
	assert_int_equal(test_exec(p->sandbox, "/bin/inside", "write", "/tmp/x", NULL)->exit_code, 0);
}

static void files_of_ours_are_shown_over_the_images(void **state)
{
	struct place *p = *state;

	put_folder(p, "image/etc");
	put_file(p, "image/etc/passwd", "evil:x:0:0::/:/bin/sh\n");
	put_file(p, "image/etc/issue", "mine");
	put_folder(p, "image/home");
	put_folder(p, "image/home/sandbox");
	put_file(p, "image/home/sandbox/x", "x");
	put_folder(p, "image/proc");
	put_file(p, "image/proc/x", "x");
	use(p, at(p, "image"));
	has(inside(p, "cat", "/etc/passwd"), "sandbox:x:1000");
	has_not(inside(p, "cat", "/etc/passwd"), "evil");
	assert_string_equal(inside(p, "cat", "/etc/issue"), "mine");
	assert_string_equal(inside(p, "ls", "/home/sandbox"), "");
	has(inside(p, "has", "/proc/x"), "no");
}

static void an_image_cannot_be_written(void **state)
{
	struct place *p = *state;

	put_folder(p, "image/etc");
	put_folder(p, "image/open");
	assert_return_code(chmod(at(p, "image/open"), 0777), errno);
	use(p, at(p, "image"));
	assert_int_equal(test_exec(p->sandbox, "/bin/inside", "write", "/open/x", NULL)->exit_code, EROFS);
	assert_false(exists(p, "image/open/x"));
}

static void links_at_the_top_lead_nowhere_outside(void **state)
{
	static const char *const names[] = {"etc", "tmp", "proc", "dev", "home", "sandbox", "opt",
					    "var", "data", "run"};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "image/%s", names[i]);
		assert_return_code(symlink(at(p, "outside"), at(p, path)), errno);
	}
	assert_return_code(symlink("../../../../../../etc", at(p, "image/up")), errno);
	use(p, at(p, "image"));
	has_not(test_exec(p->sandbox, "/bin/inside", "has", "/etc/secret", "/data/secret", "/var/secret",
			  "/home/secret", "/opt/secret", "/up/os-release", NULL)->out.data,
		"yes");
	has(inside(p, "cat", "/etc/passwd"), "sandbox:x:1000");
	assert_int_equal(test_exec(p->sandbox, "/bin/inside", "write", "/tmp/x", NULL)->exit_code, 0);
	assert_false(exists(p, "outside/x"));
}

/* Nothing is made by way of an image's link, also not the place of a mount. */
static void a_mount_is_not_led_out_by_a_link(void **state)
{
	struct place *p = *state;
	struct sbx_error err;

	put_folder(p, "mounted");
	assert_return_code(symlink(at(p, "outside"), at(p, "image/data")), errno);
	use(p, at(p, "image"));
	if (sbx_spec_add_mount(p->sandbox->spec, at(p, "mounted"), "/data/made", false, &err) < 0)
		fail_msg("%s", err.msg);
	opening_fails(p, "cannot mount at '/data/made'");
	assert_false(exists(p, "outside/made"));
}

static void a_mount_is_not_led_out_by_a_link_below(void **state)
{
	struct place *p = *state;
	struct sbx_error err;

	put_folder(p, "mounted");
	put_folder(p, "image/opt");
	put_folder(p, "image/opt/tool");
	assert_return_code(symlink(at(p, "outside"), at(p, "image/opt/tool/link")), errno);
	use(p, at(p, "image"));
	if (sbx_spec_add_mount(p->sandbox->spec, at(p, "mounted"), "/opt/tool/link/made", false, &err) < 0)
		fail_msg("%s", err.msg);
	opening_fails(p, "cannot mount at '/opt/tool/link/made'");
	assert_false(exists(p, "outside/made"));
}

static void mounts_are_shown_beside_and_in_an_image(void **state)
{
	struct place *p = *state;
	struct sbx_error err;

	put_folder(p, "mounted");
	put_file(p, "mounted/file", "mounted");
	put_folder(p, "image/srv");
	put_folder(p, "image/opt");
	put_folder(p, "image/opt/tool");
	put_file(p, "image/opt/tool/file", "tool");
	use(p, at(p, "image"));
	if (sbx_spec_add_mount(p->sandbox->spec, at(p, "mounted"), "/data/deep", false, &err) < 0 ||
	    sbx_spec_add_mount(p->sandbox->spec, at(p, "mounted"), "/srv", false, &err) < 0 ||
	    sbx_spec_add_mount(p->sandbox->spec, at(p, "mounted"), "/opt/mine", false, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(inside(p, "cat", "/data/deep/file"), "mounted");
	assert_string_equal(inside(p, "cat", "/srv/file"), "mounted");
	assert_string_equal(inside(p, "cat", "/opt/mine/file"), "mounted");
	assert_string_equal(inside(p, "cat", "/opt/tool/file"), "tool");
}

static void devices_of_an_image_are_none(void **state)
{
	struct place *p = *state;

	put_folder(p, "image/srv");
	if (mknod(at(p, "image/srv/zero"), S_IFCHR | 0666, makedev(1, 5)) < 0) {
		print_message("this user cannot make devices\n");
		skip();
	}
	use(p, at(p, "image"));
	assert_int_equal(test_exec(p->sandbox, "/bin/inside", "cat", "/srv/zero", NULL)->exit_code, EACCES);
}

static void what_is_no_image_is_named(void **state)
{
	struct place *p = *state;

	use(p, "nobody-has-this");
	opening_fails(p, "there is no image 'nobody-has-this'");
	use(p, at(p, "missing"));
	opening_fails(p, "missing");
	use(p, "/");
	opening_fails(p, "this machine's own root");
	use(p, at(p, "outside/secret"));
	opening_fails(p, "is no folder");
}

static void a_missing_tool_chain_is_said_to_be_the_images(void **state)
{
	struct place *p = *state;
	const struct sbx_run run = {.language = "python", .code = "1", .code_len = 1};
	struct sbx_result *result = NULL;
	struct sbx_tool_chain *found = NULL;
	struct sbx_error err;
	size_t count = 0;

	use(p, at(p, "image"));
	assert_int_equal(sbx_session_run(test_session(p->sandbox), &run, &result, &err), -SBX_E_NOT_FOUND);
	has(err.msg, "has no Python");
	has(err.msg, at(p, "image"));
	has(err.msg, "llm-sandbox image build python");
	assert_int_equal(sbx_spec_find_languages(p->sandbox->spec, "py", &found, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_null(found[0].version);
	has(found[0].problem, "has no Python");
	sbx_tool_chains_free(found, count);
}

static void libraries_need_the_tools_of_the_image(void **state)
{
	struct place *p = *state;
	struct sbx_install how = {.language = "python",
				  .requirements = (const char *[]){"six", NULL}};
	struct sbx_error err;

	use(p, at(p, "image"));
	assert_true(sbx_session_install(test_session(p->sandbox), &how, NULL, &err) < 0);
	has(err.msg, "the image has no tool chain for Python");
}

/* ---- archives ---- */


static void tar_header(FILE *f, const char *name, char type, unsigned int mode, const char *link,
		       unsigned long long size)
{
	unsigned char h[512] = {0};
	unsigned int sum = 0;

	memcpy(h, name, strlen(name));
	snprintf((char *)h + 100, 8, "%07o", mode);
	memcpy(h + 108, "0000000\0000000000", 16);
	snprintf((char *)h + 124, 13, "%012llo", size);
	memcpy(h + 136, "14000000000", 12);
	memset(h + 148, ' ', 8);
	h[156] = (unsigned char)type;
	memcpy(h + 157, link, strlen(link));
	memcpy(h + 257, "ustar\00000", 8);
	memcpy(h + 329, "0000001\0000000005", 16);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
	fwrite(h, 1, sizeof(h), f);
}

static void tar_file(FILE *f, const char *name, unsigned int mode, const void *data, size_t len)
{
	static const char zeros[512];

	tar_header(f, name, '0', mode, "", len);
	fwrite(data, 1, len, f);
	fwrite(zeros, 1, (512 - len % 512) % 512, f);
}

static FILE *tar_begin(const struct place *p)
{
	FILE *f = fopen(at(p, "x.tar"), "w");
	size_t len;
	char *data = read_program(&len);

	assert_non_null(f);
	tar_header(f, "./bin", '5', 0755, "", 0);
	tar_file(f, "./bin/inside", 0755, data, len);
	free(data);
	return f;
}

static void tar_end(FILE *f)
{
	static const char zeros[1024];

	fwrite(zeros, 1, sizeof(zeros), f);
	fclose(f);
}

static struct sbx_image_report import(const struct place *p, const char *from)
{
	struct sbx_image_make how = {.name = "x"};
	struct sbx_image_report report;
	struct sbx_error err;

	if (sbx_image_import(at(p, from), &how, NULL, &report, &err) < 0)
		fail_msg("%s", err.msg);
	return report;
}

/* Nothing of an import that failed is left. */
static enum sbx_code import_fails(const struct place *p, struct sbx_image_make how, const char *from)
{
	struct sbx_error err;

	how.name = "x";
	assert_true(sbx_image_import(at(p, from), &how, NULL, NULL, &err) < 0);
	assert_false(exists(p, "cache/llm-sandbox/images/.new-x"));
	assert_false(exists(p, "cache/llm-sandbox/images/x"));
	return err.code;
}

#define ROOT "cache/llm-sandbox/images/x/root/"

static mode_t mode_of(const struct place *p, const char *path)
{
	struct stat st;

	assert_return_code(lstat(at(p, path), &st), errno);
	assert_int_equal(st.st_uid, geteuid());
	return st.st_mode & 07777;
}

static void a_hostile_archive_stays_in_its_folder(void **state)
{
	struct place *p = *state;
	struct sbx_image_report report;
	FILE *f = tar_begin(p);

	tar_file(f, "/absolute", 0644, "x", 1);
	tar_file(f, "../../../../outside/up", 0644, "x", 1);
	tar_file(f, "bin/../../up", 0644, "x", 1);
	tar_header(f, "out", '2', 0777, at(p, "outside"), 0);
	tar_file(f, "out/through", 0644, "x", 1);
	tar_header(f, "out/folder", '5', 0755, "", 0);
	tar_header(f, "stolen", '1', 0644, "../../../../../outside/secret", 0);
	tar_header(f, "stolen2", '1', 0644, "out/secret", 0);
	tar_header(f, "device", '3', 0666, "", 0);
	tar_header(f, "fifo", '6', 0666, "", 0);
	tar_file(f, "raised", 06777, "x", 1);
	tar_header(f, "closed", '5', 0, "", 0);
	tar_file(f, "closed/file", 0, "x", 1);
	tar_header(f, "bin/second", '1', 0755, "./bin/inside", 0);
	tar_file(f, "proc/x", 0644, "x", 1);
	tar_file(f, "twice", 0644, "one", 3);
	tar_file(f, "twice", 0644, "two", 3);
	tar_header(f, "etc", '5', 0755, "", 0);
	tar_header(f, "etc/passwd", '2', 0777, "/proc/self/environ", 0);
	tar_end(f);
	report = import(p, "x.tar");
	assert_int_equal(report.left_out, 8);
	assert_true(exists(p, ROOT "absolute"));
	assert_false(exists(p, "outside/through"));
	assert_false(exists(p, "outside/folder"));
	assert_false(exists(p, "outside/up"));
	assert_false(exists(p, ROOT "stolen"));
	assert_false(exists(p, ROOT "stolen2"));
	assert_false(exists(p, ROOT "device"));
	assert_false(exists(p, ROOT "fifo"));
	assert_false(exists(p, ROOT "proc"));
	assert_int_equal(mode_of(p, ROOT "raised"), 0755);
	assert_int_equal(mode_of(p, ROOT "closed"), 0700);
	use(p, "x");
	assert_string_equal(inside(p, "cat", "/twice"), "two");
	has(inside(p, "cat", "/etc/passwd"), "sandbox:x:1000");
	has(inside(p, "has", "/bin/second"), "yes");
	has(inside(p, "has", "/out/secret"), "no");
}

/* Folders that an archive does not name are there too, and whatever the umask others can read them. */
static void our_umask_closes_nothing(void **state)
{
	struct place *p = *state;
	mode_t before = umask(077);
	FILE *f = tar_begin(p);

	tar_file(f, "usr/share/deep/file", 0644, "here", 4);
	tar_end(f);
	import(p, "x.tar");
	umask(before);
	assert_int_equal(mode_of(p, ROOT "usr/share"), 0755);
	assert_int_equal(mode_of(p, ROOT "bin"), 0755);
	use(p, "x");
	assert_string_equal(inside(p, "cat", "/usr/share/deep/file"), "here");
}

static void sizes_are_limited(void **state)
{
	struct place *p = *state;
	FILE *f = tar_begin(p);

	tar_header(f, "huge", '0', 0644, "", 077777777777ull);
	tar_end(f);
	assert_int_equal(import_fails(p, (struct sbx_image_make){.most_bytes = 64 << 20}, "x.tar"),
			 SBX_E_LIMIT);
	assert_int_equal(import_fails(p, (struct sbx_image_make){0}, "x.tar"), SBX_E_INVALID);
}

static void what_is_no_root_file_system_is_refused(void **state)
{
	struct place *p = *state;
	FILE *f = fopen(at(p, "x.tar"), "w");

	tar_file(f, "file", 0644, "x", 1);
	tar_end(f);
	assert_int_equal(import_fails(p, (struct sbx_image_make){0}, "x.tar"), SBX_E_INVALID);
	put_file(p, "x.tar", "this is no archive at all");
	assert_int_equal(import_fails(p, (struct sbx_image_make){0}, "x.tar"), SBX_E_INVALID);
	assert_int_equal(import_fails(p, (struct sbx_image_make){0}, "y.tar"), SBX_E_NOT_FOUND);
}

static void a_cancelled_import_leaves_nothing(void **state)
{
	struct place *p = *state;
	struct sbx_image_make how = {0};
	struct sbx_error err;

	tar_end(tar_begin(p));
	assert_int_equal(sbx_cancel_new(&how.cancel, &err), 0);
	sbx_cancel_kill(how.cancel);
	assert_int_equal(import_fails(p, how, "x.tar"), SBX_E_UNAVAILABLE);
	sbx_cancel_free(how.cancel);
}

static void a_folder_is_imported_without_what_is_no_file(void **state)
{
	struct place *p = *state;

	put_folder(p, "image/usr");
	put_file(p, "image/usr/file", "here");
	assert_return_code(chmod(at(p, "image/usr/file"), 04777), errno);
	assert_return_code(symlink("usr/file", at(p, "image/link")), errno);
	assert_return_code(mkfifo(at(p, "image/usr/fifo"), 0666), errno);
	assert_int_equal(import(p, "image").left_out, 1);
	assert_int_equal(mode_of(p, ROOT "usr/file"), 0755);
	use(p, "x");
	assert_string_equal(inside(p, "cat", "/link"), "here");
}

static size_t count_images(struct sbx_image ***ret)
{
	struct sbx_error err;
	size_t count = 0;

	if (sbx_image_list("native", ret, &count, &err) < 0)
		fail_msg("%s", err.msg);
	return count;
}

static void free_images(struct sbx_image **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sbx_image_free(list[i]);
	free(list);
}

static void images_come_are_replaced_and_go(void **state)
{
	struct place *p = *state;
	struct sbx_image **list;
	struct sbx_error err;

	import(p, "image");
	put_file(p, "image/second", "x");
	import(p, "image");
	assert_int_equal(count_images(&list), 1);
	assert_string_equal(list[0]->name, "x");
	assert_string_equal(list[0]->where, "native");
	assert_string_equal(list[0]->source, "folder");
	assert_true(list[0]->bytes > 1000 && list[0]->made > 0);
	assert_string_equal(list[0]->path, at(p, "cache/llm-sandbox/images/x/root"));
	free_images(list, 1);
	assert_true(exists(p, ROOT "second"));
	assert_false(exists(p, "cache/llm-sandbox/images/.old-x"));
	assert_int_equal(sbx_image_remove("x", NULL, &err), 0);
	free_images(list = NULL, 0);
	assert_int_equal(count_images(&list), 0);
	free_images(list, 0);
	assert_int_equal(sbx_image_remove("x", NULL, &err), -SBX_E_NOT_FOUND);
	assert_int_equal(sbx_image_remove("../x", NULL, &err), -SBX_E_INVALID);
}

static void one_that_is_used_is_not_removed(void **state)
{
	struct place *p = *state;
	struct sbx_error err;

	put_file(p, "image/marker", "first");
	import(p, "image");
	use(p, "x");
	assert_string_equal(inside(p, "cat", "/marker"), "first");
	assert_int_equal(sbx_image_remove("x", NULL, &err), -SBX_E_UNAVAILABLE);
	has(err.msg, "uses the image 'x'");
	assert_true(exists(p, ROOT "marker"));
	sbx_session_close(p->sandbox->session);
	p->sandbox->session = NULL;
	assert_int_equal(sbx_image_remove("x", NULL, &err), 0);
}

static size_t count_put_aside(const struct place *p)
{
	DIR *dir = opendir(at(p, "cache/llm-sandbox/images"));
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		count += strncmp(entry->d_name, ".used-", 6) == 0;
	closedir(dir);
	return count;
}

static void one_that_is_used_stays_when_it_is_replaced(void **state)
{
	struct place *p = *state;

	put_file(p, "image/marker", "first");
	import(p, "image");
	use(p, "x");
	assert_string_equal(inside(p, "cat", "/marker"), "first");
	put_file(p, "image/marker", "second");
	import(p, "image");
	import(p, "image");
	assert_string_equal(inside(p, "cat", "/marker"), "first");
	assert_int_equal(count_put_aside(p), 1);
	sbx_session_close(p->sandbox->session);
	p->sandbox->session = NULL;
	assert_string_equal(inside(p, "cat", "/marker"), "second");
	import(p, "image");
	assert_int_equal(count_put_aside(p), 1); /* the one that is used now */
}

#define RECORD "cache/llm-sandbox/images/x/image.json"

static const char *variable(const struct place *p, const char *name)
{
	return test_exec(p->sandbox, "inside", "env", name, NULL)->out.data;
}

static void tools_are_found_by_the_variables_of_an_image(void **state)
{
	struct place *p = *state;

	put_folder(p, "image/odd");
	put_program(p, "image/odd/inside");
	assert_return_code(unlink(at(p, "image/bin/inside")), errno);
	import(p, "image");
	put_file(p, RECORD, "{\"source\": \"x\", \"tools\": {}, \"env\": [\"PATH=/odd\", \"HOME=/x\", \"MINE=1\"]}");
	use(p, "x");
	assert_string_equal(variable(p, "PATH"), "/odd\n");
	assert_string_equal(variable(p, "MINE"), "1\n");
	assert_string_equal(variable(p, "HOME"), "/home/sandbox\n");
}

static void environments_of_an_image_are_entered(void **state)
{
	static const struct {
		const char *record, *environment, *path;
	} rows[] = {
		{"[\"PATH=/bin\", \"VIRTUAL_ENV=/opt/venv\"]", NULL, "/opt/venv/bin:/bin\n"},
		{"[\"PATH=/bin\"]", "base", "/opt/conda/bin:/bin\n"},
		{"[\"PATH=/bin\", \"MAMBA_ROOT_PREFIX=/m\"]", "science", "/m/envs/science/bin:/bin\n"},
	};
	struct place *p = *state;
	struct sbx_error err;
	char text[256];

	import(p, "image");
	use(p, "x");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "{\"source\": \"x\", \"tools\": {}, \"env\": %s}", rows[i].record);
		put_file(p, RECORD, text);
		assert_int_equal(sbx_spec_set_environment(p->sandbox->spec, rows[i].environment, &err), 0);
		assert_string_equal(variable(p, "PATH"), rows[i].path);
		sbx_session_close(p->sandbox->session);
		p->sandbox->session = NULL;
	}
}

static void a_record_that_is_damaged_does_no_harm(void **state)
{
	static const char *const records[] = {"", "[]", "{\"env\": 1}", "{\"env\": [1, \"=x\", \"y\", null]}"};
	struct place *p = *state;

	import(p, "image");
	use(p, "x");
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		put_file(p, RECORD, records[i]);
		assert_string_equal(test_exec(p->sandbox, "/bin/inside", "env", "USER", NULL)->out.data, "sandbox\n");
		sbx_session_close(p->sandbox->session);
		p->sandbox->session = NULL;
	}
}

static char *python_of(const struct place *p)
{
	struct sbx_tool_chain *found = NULL;
	struct sbx_error err;
	char *version;
	size_t count = 0;

	if (sbx_spec_find_languages(p->sandbox->spec, "python", &found, &count, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(count, 1);
	assert_string_equal(found[0].info->id, "python");
	version = found[0].version ? strdup(found[0].version) : NULL;
	sbx_tool_chains_free(found, count);
	return version;
}

static void has_python(const struct place *p, const char *version)
{
	char *found = python_of(p);

	if (version == NULL)
		assert_null(found);
	else
		assert_string_equal(found, version);
	free(found);
}

/* What is remembered is of one image, and not of its name. */
static void languages_are_those_of_the_image_that_is_there_now(void **state)
{
	struct place *p = *state;

	import(p, "image");
	use(p, "x");
	has_python(p, NULL);
	has_python(p, NULL);
	put_program(p, "image/bin/python3");
	import(p, "image");
	has_python(p, "3.9.1");
	has_python(p, "3.9.1");
	use(p, at(p, "image"));
	has_python(p, "3.9.1");
	assert_return_code(unlink(at(p, "image/bin/python3")), errno);
	has_python(p, NULL);
}

/* That is no language which the image lacks, and so nothing to remember. */
static void a_tool_that_fails_with_nonsense_is_told(void **state)
{
	struct sbx_tool_chain *found = NULL;
	struct place *p = *state;
	struct sbx_error err;
	size_t count = 0;

	put_program(p, "image/bin/node");
	import(p, "image");
	use(p, "x");
	for (int i = 0; i < 2; i++) {
		if (sbx_spec_find_languages(p->sandbox->spec, "javascript", &found, &count, &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(count, 1);
		assert_null(found[0].version);
		assert_int_equal(found[0].code, SBX_E_UNAVAILABLE);
		assert_non_null(strstr(found[0].problem, "does not tell its version (exit code 3)"));
		sbx_tool_chains_free(found, count);
	}
}

static void what_is_remembered_may_be_damaged(void **state)
{
	static const char file[] = "cache/llm-sandbox/image-languages.json";
	struct place *p = *state;

	put_program(p, "image/bin/python3");
	import(p, "image");
	use(p, "x");
	has_python(p, "3.9.1");
	assert_true(exists(p, file));
	put_file(p, file, "[{");
	has_python(p, "3.9.1");
	put_file(p, file, "7");
	has_python(p, "3.9.1");
}

static void programs_for_other_processors_are_told(void **state)
{
	struct place *p = *state;
	struct sbx_result *result = NULL;
	struct sbx_error err;
	FILE *f;

	put_program(p, "image/bin/foreign");
	f = fopen(at(p, "image/bin/foreign"), "r+");
	assert_non_null(f);
	fseek(f, 18, SEEK_SET); /* e_machine */
	fputc(0xfe, f);
	fputc(0xca, f);
	fclose(f);
	use(p, at(p, "image"));
	assert_true(sbx_session_exec(test_session(p->sandbox),
				     &(struct sbx_command){.argv = (const char *[]){"/bin/foreign", NULL}}, &result,
				     &err) < 0);
	has(err.msg, "for other processors");
}

static void an_image_of_one_of_our_own_is_the_same(void **state)
{
	struct place *p = *state;
	struct sbx_image_make how = {.name = "y"};
	struct sbx_error err;

	put_file(p, "image/marker", "here");
	import(p, "image");
	put_file(p, RECORD, "{\"source\": \"x\", \"tools\": {}, \"env\": [\"PATH=/bin:/odd\"]}");
	if (sbx_image_import("native:x", &how, NULL, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	use(p, "y");
	assert_string_equal(inside(p, "cat", "/marker"), "here");
	assert_string_equal(variable(p, "PATH"), "/bin:/odd\n");
	assert_int_equal(sbx_image_import("native:nosuch", &how, NULL, NULL, &err), -SBX_E_NOT_FOUND);
	assert_int_equal(sbx_image_import("docker:../x?y", &how, NULL, NULL, &err), -SBX_E_INVALID);
}

static void two_do_not_make_the_same_at_once(void **state)
{
	struct place *p = *state;
	int fd;

	import(p, "image");
	fd = open(at(p, "cache/llm-sandbox/images/.lock-x"), O_RDWR | O_CLOEXEC);
	assert_return_code(flock(fd, LOCK_EX | LOCK_NB), errno);
	assert_int_equal(sbx_image_import(at(p, "image"), &(struct sbx_image_make){.name = "x"}, NULL, NULL,
					  &(struct sbx_error){0}),
			 -SBX_E_UNAVAILABLE);
	close(fd);
	assert_true(exists(p, ROOT "bin"));
}

static void what_was_left_half_made_is_thrown_away(void **state)
{
	struct place *p = *state;

	import(p, "image");
	put_folder(p, "cache/llm-sandbox/images/.new-x");
	put_file(p, "cache/llm-sandbox/images/.new-x/junk", "x");
	import(p, "image");
	assert_false(exists(p, "cache/llm-sandbox/images/.new-x"));
	assert_false(exists(p, "cache/llm-sandbox/images/x/junk"));
}

static void others_cannot_put_an_image_under_us(void **state)
{
	struct place *p = *state;

	import(p, "image");
	assert_return_code(chmod(at(p, "cache/llm-sandbox/images"), 0777), errno);
	use(p, "x");
	opening_fails(p, "there is no image 'x'");
}

/* ---- the real thing ---- */

static void python_of_debian_says_hello(void **state)
{
	struct place *p = *state;
	const char *tar = getenv("SBX_TEST_ROOTFS"), *size = getenv("SBX_TEST_SIZE");
	struct sbx_image_make how = {.name = "x"};
	struct sbx_image *image = NULL;
	struct sbx_error err = {0};
	int r;

	if (tar == NULL && (size == NULL || strcmp(size, "full") != 0 || access("/usr/bin/mmdebstrap", X_OK) < 0)) {
		print_message("SBX_TEST_ROOTFS names no archive with Python, or one is made with mmdebstrap where "
			      "SBX_TEST_SIZE is full\n");
		skip();
	}
	r = tar != NULL ? sbx_image_import(tar, &how, &image, NULL, &err)
			: sbx_image_build("python", &how, &image, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(image->tool_count, 1);
	assert_string_equal(image->tools[0].language, "python");
	sbx_image_free(image);
	use(p, "x");
	assert_string_equal(test_run(p->sandbox, "python",
				     "import getpass, os\n"
				     "print('hello', getpass.getuser(), os.path.exists('/usr/bin/meson'))\n")
				    ->out.data,
			    "hello sandbox False\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(nothing_of_the_host_is_there),
		place_test(what_an_image_lacks_is_made),
		place_test(files_of_ours_are_shown_over_the_images),
		place_test(an_image_cannot_be_written),
		place_test(links_at_the_top_lead_nowhere_outside),
		place_test(a_mount_is_not_led_out_by_a_link),
		place_test(a_mount_is_not_led_out_by_a_link_below),
		place_test(mounts_are_shown_beside_and_in_an_image),
		place_test(devices_of_an_image_are_none),
		place_test(what_is_no_image_is_named),
		place_test(a_missing_tool_chain_is_said_to_be_the_images),
		place_test(libraries_need_the_tools_of_the_image),
		place_test(a_hostile_archive_stays_in_its_folder),
		place_test(our_umask_closes_nothing),
		place_test(sizes_are_limited),
		place_test(what_is_no_root_file_system_is_refused),
		place_test(a_cancelled_import_leaves_nothing),
		place_test(a_folder_is_imported_without_what_is_no_file),
		place_test(images_come_are_replaced_and_go),
		place_test(one_that_is_used_is_not_removed),
		place_test(one_that_is_used_stays_when_it_is_replaced),
		place_test(tools_are_found_by_the_variables_of_an_image),
		place_test(environments_of_an_image_are_entered),
		place_test(a_record_that_is_damaged_does_no_harm),
		place_test(languages_are_those_of_the_image_that_is_there_now),
		place_test(a_tool_that_fails_with_nonsense_is_told),
		place_test(what_is_remembered_may_be_damaged),
		place_test(programs_for_other_processors_are_told),
		place_test(an_image_of_one_of_our_own_is_the_same),
		place_test(two_do_not_make_the_same_at_once),
		place_test(what_was_left_half_made_is_thrown_away),
		place_test(others_cannot_put_an_image_under_us),
		place_test(python_of_debian_says_hello),
	};

	return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
