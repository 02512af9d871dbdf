/* SPDX-License-Identifier: MIT */
/* `run --artifacts`: what a run shows or makes, saved in a folder here. */
#include "cli/driver.h"
#include "cli/picture_code.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ran *run(struct cli_state *t, const char *code, const char *folder,
			     const char *more)
{
	return program(t, (struct call){0}, "run", "-l", "python", "-c", code, "--artifacts",
		       folder, more, NULL);
}

/* Options stand before the code's own words. */
static const struct ran *run_with(struct cli_state *t, const char *code, const char *option,
				  const char *value)
{
	return program(t, (struct call){0}, "run", "-A", "out", option, value, "-l", "python", "-c",
		       code, NULL);
}

static void assert_file(const struct cli_state *t, const char *name, const char *content)
{
	char path[256], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", t->folder, name);
	f = fopen(path, "r");
	if (f == NULL)
		fail_msg("there is no %s", path);
	assert_true(fread(text, 1, sizeof(text) - 1, f) < sizeof(text));
	fclose(f);
	assert_string_equal(text, content);
}

static bool is_there(const struct cli_state *t, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", t->folder, name);
	return lstat(path, &st) == 0;
}

static void artifacts_are_saved_and_listed(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r =
		run(t,
		    PICTURE_CODE "png('red.png', 30, 20)\n"
				 "open('t.csv', 'w').write('a,b\\n1,2\\n')\nprint('out')\n",
		    "new/deep", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "out\n");
	assert_contains(r->err, "2 artifacts in ");
	assert_contains(r->err, "/new/deep:\n");
	assert_contains(r->err, "red.png  image/png");
	assert_contains(r->err, "t.csv    text/csv");
	assert_file(t, "new/deep/t.csv", "a,b\n1,2\n");
	assert_true(is_there(t, "new/deep/red.png"));
}

static void without_artifacts_nothing_is_listed(void **state)
{
	const struct ran *r = run(*state, "print(1)", "out", NULL);

	assert_status(r, 0);
	assert_string_equal(r->err, "");
}

static void json_says_where_each_was_saved(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r = program(t, (struct call){0}, "run", "--json", "-A", "out", "-l",
				      "python", "-c", "open('t.csv', 'w').write('a,b\\n')\n", NULL);
	json_t *root = json_loads(r->out, 0, NULL), *first;
	char path[256], real[PATH_MAX];

	assert_status(r, 0);
	assert_string_equal(r->err, "");
	first = json_array_get(json_object_get(root, "artifacts"), 0);
	snprintf(path, sizeof(path), "%s/out/t.csv", t->folder);
	assert_non_null(realpath(path, real));
	assert_string_equal(json_string_value(json_object_get(first, "saved_as")), real);
	assert_int_equal(strncmp(r->out, "{\n  \"exit_code\": 0", 17), 0);
	json_decref(root);
}

static void a_run_that_fails_or_is_stopped_leaves_what_there_is(void **state)
{
	struct cli_state *t = *state;

	assert_status(run(t, "open('a.csv', 'w').write('a,b\\n')\n1 / 0", "failed", NULL), 1);
	assert_file(t, "failed/a.csv", "a,b\n");
	assert_status(run_with(t, "open('b.csv', 'w').write('a,b\\n')\nwhile True: pass",
			       "--timeout", "1s"),
		      124);
	assert_file(t, "out/b.csv", "a,b\n");
}

static void a_link_in_the_folder_is_replaced_and_not_followed(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	r = shell(t,
		  "mkdir out; echo mine > victim; ln -s ../victim out/a.csv\n"
		  "llm-sandbox run -A out -l python -c 'open(\"a.csv\", \"w\").write(\"a,b\\n\")'\n"
		  "test -L out/a.csv || cat out/a.csv victim; ls out\n");
	assert_string_equal(r->out, "a,b\nmine\na.csv\n");
}

static void a_hostile_name_stays_in_the_folder_and_harmless(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r = run(t,
				  "import os\nos.makedirs('..\\\\..')\n"
				  "for n in ('\\x1b]0;x\\x07.csv', '..\\\\..\\\\up.csv', "
				  "'.hidden.csv', '\\u202egnp.csv',\n"
				  "          '\\n.csv', 'x' * 250 + '.csv', '-rf.csv'):\n"
				  "    open(n, 'w').write('a,b\\n')\n"
				  "os.symlink('/etc/passwd', 'passwd.csv')\n",
				  "out", NULL);

	assert_status(r, 0);
	assert_null(strchr(r->err, '\033'));
	assert_null(strchr(r->err, '\007'));
	r = shell(t, "ls -A . | grep -v -e '^bin$' -e '^config$'\n"
		     "ls -A out | LC_ALL=C grep -c '[[:cntrl:]]'; ls -A out | grep '^[.]'\n"
		     "grep -l root: out/*; find out -type l\n");
	assert_contains(r->out, "out\n0\n");
	assert_null(strstr(r->out, "passwd"));
	assert_null(strstr(r->out, "up.csv"));
}

static void a_folder_that_cannot_be_made_is_told_before_the_run(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	write_file(t, "file", "x", 1);
	r = run(t, "print('ran')", "file/out", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "cannot make the folder");
	assert_string_equal(r->out, "");
}

static void what_was_left_out_is_said(void **state)
{
	const struct ran *r =
		run_with(*state, "for i in range(5): open(f'{i}.csv', 'w').write('a,b\\n')",
			 "--artifact-count", "2");

	assert_status(r, 0);
	assert_contains(r->err, "2 artifacts in ");
	assert_contains(r->err, "3 more artifacts were left out");
}

static void a_large_artifact_arrives_whole(void **state)
{
	const struct ran *r = shell(
		*state,
		"llm-sandbox run --disk 200M --artifact-bytes 200M -A out -l python -c 'if True:\n"
		" import hashlib\n"
		" data = b\"1,2\\n\" * (13 << 20)\n"
		" open(\"large.csv\", \"wb\").write(data)\n"
		" print(hashlib.sha256(data).hexdigest())' > sum || exit 1\n"
		"sha256sum out/* | cut -d ' ' -f 1 | cmp - sum && wc -c < out/large.csv\n");

	assert_string_equal(r->out, "54525952\n");
}

static void a_command_has_artifacts_too(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r = program(t, (struct call){0}, "exec", "-A", "out", "--", "sh", "-c",
				      "printf 'a,b\\n' > c.csv", NULL);

	assert_status(r, 0);
	assert_file(t, "out/c.csv", "a,b\n");
}

/* What it was listed as bounds what is written here, whoever changes it in between. */
static void one_that_grew_since_it_was_listed_is_not_saved(void **state)
{
	static const char *const env[] = {"LLM_SANDBOX_BACKEND=fake", "SBX_HOSTILE=swelling",
					  "SBX_FAKE_AGENT=" CLI_TEST_HOSTILE, NULL};
	struct cli_state *t = *state;
	const struct ran *r = program(t, (struct call){.env = env}, "exec", "-A", "out", "--", "true",
				      NULL);

	assert_contains(r->err, "'plot-000001.png' was not saved: ");
	assert_contains(r->err, "which is the most allowed");
	assert_false(is_there(t, "out/plot-000001.png"));
}

int artifacts_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(artifacts_are_saved_and_listed),
		cli_test(without_artifacts_nothing_is_listed),
		cli_test(json_says_where_each_was_saved),
		cli_test(a_run_that_fails_or_is_stopped_leaves_what_there_is),
		cli_test(a_link_in_the_folder_is_replaced_and_not_followed),
		cli_test(a_hostile_name_stays_in_the_folder_and_harmless),
		cli_test(a_folder_that_cannot_be_made_is_told_before_the_run),
		cli_test(what_was_left_out_is_said),
		cli_test(a_large_artifact_arrives_whole),
		cli_test(a_command_has_artifacts_too),
		cli_test(one_that_grew_since_it_was_listed_is_not_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
