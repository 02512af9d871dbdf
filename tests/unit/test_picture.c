/* SPDX-License-Identifier: MIT */
/* What a picture, a terminal and a decoder say, before anybody believes it. */
#include "cli/artifacts.h"
#include "cli/fence.h"
#include "cli/picture.h"
#include "cli/show.h"
#include "cli/sixels.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PNG_HEAD "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
#define PNG(width, height)                     \
	PNG_HEAD width height "\x08\x02\0\0\0" \
			      "crc!"
#define LOOK(bytes) picture_look(bytes, sizeof(bytes) - 1)

static void a_png_tells_its_size(void **state)
{
	struct picture p = LOOK(PNG("\0\0\1\2", "\0\0\0\5"));

	(void)state;
	assert_int_equal(p.kind, PICTURE_PNG);
	assert_int_equal(p.width, 258);
	assert_int_equal(p.height, 5);
}

static void a_jpeg_tells_its_size(void **state)
{
	struct picture p = LOOK("\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x11\x08\0\5\1\2\3");

	(void)state;
	assert_int_equal(p.kind, PICTURE_JPEG);
	assert_int_equal(p.width, 258);
	assert_int_equal(p.height, 5);
}

static void what_is_none_or_huge_is_no_picture(void **state)
{
	(void)state;
	assert_int_equal(LOOK("").kind, PICTURE_NONE);
	assert_int_equal(LOOK("GIF89a").kind, PICTURE_NONE);
	assert_int_equal(LOOK(PNG_HEAD).kind, PICTURE_NONE);
	assert_int_equal(LOOK(PNG("\0\0\0\0", "\0\0\0\5")).kind, PICTURE_NONE);
	assert_int_equal(LOOK(PNG("\0\1\0\0", "\0\1\0\0")).kind, PICTURE_NONE);
	assert_int_equal(LOOK(PNG("\xff\xff\xff\xff", "\xff\xff\xff\xff")).kind, PICTURE_NONE);
	assert_int_equal(LOOK("\xff\xd8\xff\xe0\xff\xff").kind, PICTURE_NONE);
	assert_int_equal(LOOK("\xff\xd8\xff\xe0\0\0\xff\xe0\0\0\xff\xe0\0\0").kind, PICTURE_NONE);
	assert_int_equal(LOOK("\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").kind,
			 PICTURE_NONE);
}

static enum screen_way way(const char *answer)
{
	return screen_answer_way(answer, strlen(answer));
}

static void a_terminal_says_what_it_has(void **state)
{
	(void)state;
	assert_int_equal(way("\033_Gi=31;OK\033\\\033[?62;c"), SCREEN_KITTY);
	assert_int_equal(way("\033_Gi=31;ENOTSUPPORTED\033\\\033[?62;c"), SCREEN_NONE);
	assert_int_equal(way("\033[?62;4;22c"), SCREEN_SIXEL);
	assert_int_equal(way("\033[?62;22;4c"), SCREEN_SIXEL);
	assert_int_equal(way("\033[?4;22c"), SCREEN_NONE);
	assert_int_equal(way("\033[?62;42;14c"), SCREEN_NONE);
	assert_int_equal(way("typed ahead\033[?65;4c"), SCREEN_SIXEL);
	assert_int_equal(way(""), SCREEN_NONE);
	assert_false(screen_answer_is_whole("\033[?62;4", 7));
	assert_false(screen_answer_is_whole("\033[?", 3));
	assert_true(screen_answer_is_whole("\033[?c", 4));
}

static bool sound(const char *text)
{
	return sixels_are_sound(text, strlen(text));
}

static void sixels_have_no_other_sequence_in_them(void **state)
{
	(void)state;
	assert_true(sound("\033Pq#0;2;97;0;0#0!30~-\n\033\\"));
	assert_true(sound("\033P0;1;0q#0!30~-\033\\"));
	/* Control strings that set keys of the terminal (DECUDK), or make it answer (DECRQSS). */
	assert_false(sound("\033P1;1|17/726d\033\\"));
	assert_false(sound("\033P$q\"p\033\\"));
	assert_false(sound("\033P+q544e\033\\"));
	assert_false(sound("\033P1;1\033\\"));
	assert_false(sound(""));
	assert_false(sound("\033P"));
	assert_false(sound("\033\\"));
	assert_false(sound("\033Pq\033\\\033]0;x\a\033Pq\033\\"));
	assert_false(sound("\033Pq\x9b"
			   "c\033\\"));
	assert_false(sound("\033Pq\033\\more"));
	assert_false(sixels_are_sound("\033Pq\0~\033\\", 7));
}

static void a_name_is_one_component_that_can_be_read(void **state)
{
	static const char *const bad[] = {"",	   ".",	       "..",	      ".hidden",
					  "a/b",   "/abs",     "a\nb",	      "\033[c",
					  "a\x7f", "\xff.png", "\xc2\x9b.png"};

	(void)state;
	assert_true(artifacts_name_is_good("plot-000001.png"));
	assert_true(artifacts_name_is_good("r\xc3\xa9sum\xc3\xa9 1.pdf"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(artifacts_name_is_good(bad[i]));
}

/* 0 when the process behind the fence can do nothing new, else what it could. */
static int child_try(int out)
{
	if (!fence_close((size_t)1 << 50, 10))
		return 1;
	if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM)
		return 2;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 3;
	if (fork() >= 0 || errno != EPERM)
		return 4;
	if (execl("/bin/true", "true", NULL) == 0 || errno != EPERM)
		return 5;
	if (kill(getppid(), 0) == 0)
		return 6;
	return write(out, "x", 1) == 1 && malloc(1 << 20) != NULL ? 0 : 7;
}

static void a_fenced_process_can_only_compute(void **state)
{
	int fds[2], status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child_try(fds[1]));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_png_tells_its_size),
		cmocka_unit_test(a_jpeg_tells_its_size),
		cmocka_unit_test(what_is_none_or_huge_is_no_picture),
		cmocka_unit_test(a_terminal_says_what_it_has),
		cmocka_unit_test(sixels_have_no_other_sequence_in_them),
		cmocka_unit_test(a_name_is_one_component_that_can_be_read),
		cmocka_unit_test(a_fenced_process_can_only_compute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
