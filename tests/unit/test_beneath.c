/* SPDX-License-Identifier: MIT */
/* What base/beneath promises: no name, no link and no race leads out of the folder. */
#include "base/beneath.h"
#include "base/io.h"
#include "base/sparse.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A folder "in" that is worked below, and beside it a "victim" that nothing may touch. */
struct place {
	char path[64];
	int outer_fd, fd;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -1;
	*state = p;
	snprintf(p->path, sizeof(p->path), "/tmp/sbx-beneath-XXXXXX");
	if (mkdtemp(p->path) == NULL)
		return -1;
	p->outer_fd = open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdirat(p->outer_fd, "in", 0755);
	mkdirat(p->outer_fd, "victim", 0755);
	p->fd = openat(p->outer_fd, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->fd);
	close(p->outer_fd);
	sbx_remove_tree(p->path);
	free(p);
	return 0;
}

#define beneath_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int write_file(const struct place *p, const char *path, const char *text, bool replace)
{
	struct sbx_new_file f;
	int r = sbx_new_file_begin(&f, p->fd, path, 0644);

	if (r < 0)
		return r;
	r = sbx_write_all(f.fd, text, strlen(text));
	if (r == 0)
		r = sbx_new_file_commit(&f, replace);
	sbx_new_file_done(&f);
	return r;
}

static void assert_text(const struct place *p, const char *path, const char *text)
{
	char got[64] = "";
	int fd = sbx_beneath_open_file(p->fd, path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, text);
}

static void make_link(const struct place *p, const char *to, const char *path)
{
	assert_int_equal(symlinkat(to, p->fd, path), 0);
}

static int is_there(const struct place *p, const char *path)
{
	struct stat st;

	return fstatat(p->outer_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Names in the folder, but "." and "..". */
static int count(const struct place *p, const char *path)
{
	struct sbx_walk w;
	struct stat st;
	bool closed;
	int n = 0;

	assert_int_equal(
		sbx_walk_begin(&w, openat(p->outer_fd, path, O_RDONLY | O_DIRECTORY), false), 0);
	while (sbx_walk_next(&w, &st, &closed) > 0)
		n++;
	sbx_walk_done(&w);
	return n;
}

/* ---- names ---- */

static void a_path_that_is_none_is_refused_everywhere(void **state)
{
	static char long_name[300], long_path[5000];
	const char *const paths[] = {"..",  "../x", "a/../b", "a/..", ".", "./a", "/a",
				     "a//b", "a/",   "/",	long_name, long_path};
	const struct place *p = *state;

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (size_t i = 0; i < sizeof(long_path) - 1; i++)
		long_path[i] = i % 2 ? '/' : 'p';
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_false(sbx_beneath_is_path(paths[i]));
		assert_int_equal(sbx_beneath_open(p->fd, paths[i], O_RDONLY), -EINVAL);
		assert_int_equal(sbx_beneath_make_folder(p->fd, paths[i], 0755), -EINVAL);
		assert_int_equal(sbx_beneath_make_folders(p->fd, paths[i], 0755), -EINVAL);
		assert_int_equal(sbx_beneath_remove(p->fd, paths[i]), -EINVAL);
		assert_int_equal(write_file(p, paths[i], "x", true), -EINVAL);
	}
	/* The folder itself is a path, but nothing that could be made or removed. */
	assert_true(sbx_beneath_is_path(""));
	assert_int_equal(write_file(p, "", "x", true), -EINVAL);
	assert_int_equal(sbx_beneath_remove(p->fd, ""), -EINVAL);
	assert_int_equal(count(p, "in"), 0);
}

static void names_of_any_bytes_are_names(void **state)
{
	const char *const names[] = {"a\nb", "\xff\xfe", " ", "...", "-rf", "\\", "\x1b[2J"};
	const struct place *p = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(write_file(p, names[i], names[i], true), 0);
		assert_text(p, names[i], names[i]);
	}
}

/* ---- links ---- */

static void no_link_is_followed_wherever_it_stands(void **state)
{
	const struct place *p = *state;
	int fd;

	fd = openat(p->outer_fd, "victim/file", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "safe", 4), 4);
	close(fd);
	make_link(p, "../victim", "folder");
	make_link(p, "../victim/file", "file");
	make_link(p, "/proc/self/root", "magic");

	assert_int_equal(sbx_beneath_open(p->fd, "file", O_RDONLY), -ELOOP);
	assert_int_equal(sbx_beneath_open_file(p->fd, "file", O_WRONLY | O_APPEND), -ELOOP);
	assert_true(sbx_beneath_open(p->fd, "folder/file", O_RDONLY) < 0);
	assert_true(sbx_beneath_open(p->fd, "magic/etc/passwd", O_RDONLY) < 0);
	assert_true(write_file(p, "folder/new", "x", true) < 0);
	assert_true(sbx_beneath_make_folder(p->fd, "folder/sub", 0755) < 0);
	assert_true(sbx_beneath_make_folders(p->fd, "folder/a/b", 0755) < 0);
	assert_true(sbx_beneath_make_folders(p->fd, "folder", 0755) < 0);
	assert_int_equal(sbx_beneath_make_folder(p->fd, "folder", 0755), -EEXIST);
	assert_true(sbx_beneath_remove(p->fd, "folder/file") < 0);

	/* In the last place a link is what is replaced or removed. */
	assert_int_equal(write_file(p, "file", "new", true), 0);
	assert_text(p, "file", "new");
	assert_int_equal(sbx_beneath_remove(p->fd, "folder"), 0);
	assert_true(is_there(p, "victim/file"));
	assert_int_equal(count(p, "victim"), 1);
}

static void what_is_no_file_is_replaced_and_never_opened(void **state)
{
	const struct place *p = *state;

	assert_int_equal(mkfifoat(p->fd, "fifo", 0644), 0);
	assert_int_equal(sbx_beneath_open_file(p->fd, "fifo", O_RDONLY), -EINVAL);
	assert_true(sbx_beneath_open_file(p->fd, "fifo", O_WRONLY | O_APPEND) < 0);
	assert_int_equal(write_file(p, "fifo", "x", true), 0);
	assert_text(p, "fifo", "x");
	if (geteuid() == 0 && mknodat(p->fd, "device", S_IFCHR | 0644, 1 << 8 | 5) == 0) {
		assert_int_equal(sbx_beneath_open_file(p->fd, "device", O_RDONLY), -EINVAL);
		assert_int_equal(write_file(p, "device", "x", true), 0);
		assert_text(p, "device", "x");
	}
	assert_int_equal(sbx_beneath_make_folder(p->fd, "folder", 0755), 0);
	assert_int_equal(write_file(p, "folder", "x", true), -EISDIR);
	assert_int_equal(count(p, "in/folder"), 0);
}

/* ---- new files ---- */

static void a_file_is_whole_or_not_there(void **state)
{
	const struct place *p = *state;
	struct sbx_new_file f;

	assert_int_equal(write_file(p, "a", "old", true), 0);
	assert_int_equal(sbx_new_file_begin(&f, p->fd, "a", 0644), 0);
	assert_int_equal(write(f.fd, "new", 3), 3);
	assert_text(p, "a", "old");
	sbx_new_file_done(&f);
	assert_text(p, "a", "old");
	assert_int_equal(count(p, "in"), 1);
	assert_int_equal(write_file(p, "a", "new", false), -EEXIST);
	assert_text(p, "a", "old");
	assert_int_equal(write_file(p, "b", "new", false), 0);
	assert_int_equal(write_file(p, "no/folder", "x", true), -ENOENT);
	assert_int_equal(write_file(p, "a/below", "x", true), -ENOTDIR);
	assert_int_equal(count(p, "in"), 2);
}

static void modes_lose_what_others_could_misuse(void **state)
{
	(void)state;
	assert_int_equal(sbx_beneath_mode(06777, false), 0755);
	assert_int_equal(sbx_beneath_mode(01666, false), 0644);
	assert_int_equal(sbx_beneath_mode(0400, false), 0400);
	assert_int_equal(sbx_beneath_mode(07000, true), 0700);
	assert_int_equal(sbx_beneath_mode(02777, true), 0755);
	assert_int_equal(sbx_beneath_mode(UINT32_MAX, false), 0755);
}

/* ---- races ---- */

struct swapper {
	int fd;
	atomic_bool stop;
};

/* "sub" is a folder, then a link to the victim, and so on. */
static void *swap(void *arg)
{
	struct swapper *s = arg;

	while (!s->stop) {
		renameat(s->fd, "sub", s->fd, "real");
		renameat(s->fd, "link", s->fd, "sub");
		renameat(s->fd, "sub", s->fd, "link");
		renameat(s->fd, "real", s->fd, "sub");
	}
	return NULL;
}

static void a_folder_that_is_swapped_for_a_link_leads_nowhere(void **state)
{
	const struct place *p = *state;
	struct swapper s = {.fd = p->fd};
	pthread_t thread;
	int made = 0;

	mkdirat(p->fd, "sub", 0755);
	make_link(p, "../victim", "link");
	assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
	for (int i = 0; i < 20000; i++) {
		int fd;

		made += write_file(p, "sub/file", "x", true) == 0;
		sbx_beneath_make_folder(p->fd, "sub/folder", 0755);
		fd = sbx_beneath_make_folders(p->fd, "sub/a/b", 0755);
		if (fd >= 0)
			close(fd);
		sbx_beneath_remove(p->fd, "sub/file");
	}
	s.stop = true;
	pthread_join(thread, NULL);
	assert_true(made > 0);
	assert_int_equal(count(p, "victim"), 0);
}

/* ---- the walk ---- */

static void a_walk_sees_all_once_and_follows_no_link(void **state)
{
	const struct place *p = *state;
	struct sbx_walk w;
	struct stat st;
	bool closed;
	int seen = 0, r;

	for (int i = 0; i < 500; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%d/%d/%d", i % 5, i % 50, i);
		fd = sbx_beneath_make_folders(p->fd, path, 0755);
		assert_true(fd >= 0);
		close(fd);
	}
	make_link(p, "..", "0/up");
	assert_int_equal(
		sbx_walk_begin(&w, openat(p->outer_fd, "in", O_RDONLY | O_DIRECTORY), true), 0);
	while ((r = sbx_walk_next(&w, &st, &closed)) > 0) {
		assert_false(closed);
		assert_true(sbx_beneath_is_path(w.path));
		seen++;
	}
	assert_int_equal(r, 0);
	sbx_walk_done(&w);
	assert_int_equal(seen, 5 + 50 + 500 + 1);
}

static void a_walk_says_when_no_path_is_long_enough(void **state)
{
	const struct place *p = *state;
	int fd = dup(p->fd), r;
	struct sbx_walk w;
	struct stat st;
	bool closed;

	for (int i = 0; i < 20; i++) {
		char name[250];
		int next;

		memset(name, 'd', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(
		sbx_walk_begin(&w, openat(p->outer_fd, "in", O_RDONLY | O_DIRECTORY), true), 0);
	while ((r = sbx_walk_next(&w, &st, &closed)) > 0)
		;
	assert_int_equal(r, -ENAMETOOLONG);
	sbx_walk_done(&w);
}

/* ---- holes ---- */

static void holes_are_told_from_data(void **state)
{
	const struct place *p = *state;
	int fd = openat(p->fd, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct sbx_extent e;

	/* Far enough apart for every file system's blocks. */
	assert_int_equal(pwrite(fd, "x", 1, 8 << 20), 1);
	assert_int_equal(ftruncate(fd, 32 << 20), 0);
	e = sbx_next_extent(fd, 0, 32 << 20);
	assert_true(e.hole > 0 && e.hole <= 8 << 20);
	assert_true(e.data_end > 8 << 20 && e.data_end < 32 << 20);
	e = sbx_next_extent(fd, e.data_end, 32 << 20);
	assert_true(e.hole > 0 && e.data_end == 32 << 20);
	e = sbx_next_extent(fd, 32 << 20, 64 << 20);
	assert_int_equal(e.hole, 0);
	assert_int_equal(e.data_end, 32 << 20);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		beneath_test(a_path_that_is_none_is_refused_everywhere),
		beneath_test(names_of_any_bytes_are_names),
		beneath_test(no_link_is_followed_wherever_it_stands),
		beneath_test(what_is_no_file_is_replaced_and_never_opened),
		beneath_test(a_file_is_whole_or_not_there),
		beneath_test(modes_lose_what_others_could_misuse),
		beneath_test(a_folder_that_is_swapped_for_a_link_leads_nowhere),
		beneath_test(a_walk_sees_all_once_and_follows_no_link),
		beneath_test(a_walk_says_when_no_path_is_long_enough),
		beneath_test(holes_are_told_from_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
