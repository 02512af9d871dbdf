/* SPDX-License-Identifier: MIT */
/* What a run shows and makes, on every backend. Cases are rows of the list of behaviour. */
#include "support/sandbox.h"

#include <llmsandbox/files.h>

#include <jansson.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- looking at what came ---- */

static int want_artifacts(void **state)
{
	if (test_sandbox_setup(state) < 0)
		return -1;
	((struct test_sandbox *)*state)->io.artifacts = true;
	return 0;
}

#define artifact_test(function) \
	cmocka_unit_test_setup_teardown(function, want_artifacts, test_sandbox_teardown)

static void assert_went_well(const struct sbx_result *r)
{
	if (r->exit_code != 0)
		fail_msg("exit code %d: %s", r->exit_code, r->errout.data);
}

static void assert_is(const struct sbx_artifact *a, enum sbx_artifact_kind kind,
		      const char *mime_type, const char *source)
{
	assert_int_equal(a->kind, kind);
	assert_string_equal(a->mime_type, mime_type);
	assert_string_equal(a->source, source);
}

/* All are plots of this kind, under one number after the other. */
static void assert_plots(const struct sbx_result *r, size_t count, const char *mime_type,
			 const char *source)
{
	assert_int_equal(r->artifact_count, count);
	assert_int_equal(r->artifacts_left_out, 0);
	for (size_t i = 0; i < count; i++) {
		assert_is(&r->artifacts[i], SBX_ARTIFACT_PLOT, mime_type, source);
		assert_int_equal(r->artifacts[i].number, r->artifacts[0].number + i);
	}
}

static char *read_artifact(struct test_sandbox *t, const struct sbx_artifact *a, size_t *ret_len)
{
	struct sbx_error err;
	char *data;

	if (sbx_session_read_file(test_session(t), a->path, 0, a->size, &data, ret_len, NULL,
				  &err) < 0)
		fail_msg("cannot read %s: %s", a->path, err.msg);
	assert_int_equal(*ret_len, a->size);
	return data;
}

struct picture {
	unsigned int width, height;
	unsigned char *rgb;
};

static struct picture read_png(struct test_sandbox *t, const struct sbx_artifact *a)
{
	png_image image = {.version = PNG_IMAGE_VERSION};
	const png_color white = {255, 255, 255};
	struct picture picture;
	size_t len;
	char *data = read_artifact(t, a, &len);

	assert_true(png_image_begin_read_from_memory(&image, data, len));
	image.format = PNG_FORMAT_RGB;
	picture = (struct picture){image.width, image.height, malloc(PNG_IMAGE_SIZE(image))};
	assert_non_null(picture.rgb);
	assert_true(png_image_finish_read(&image, &white, picture.rgb, 0, NULL));
	free(data);
	assert_int_equal(picture.width, a->width);
	assert_int_equal(picture.height, a->height);
	return picture;
}

static bool has_colour(const struct picture *p, unsigned int x, unsigned int y, const int rgb[3])
{
	const unsigned char *at = p->rgb + 3 * ((size_t)y * p->width + x);

	for (int i = 0; i < 3; i++) {
		if (abs(at[i] - rgb[i]) > 8)
			return false;
	}
	return true;
}

/* The part of a picture that has a colour, in thousandths. */
static unsigned int share_of(const struct picture *p, const int rgb[3])
{
	unsigned long count = 0;

	for (unsigned int y = 0; y < p->height; y++) {
		for (unsigned int x = 0; x < p->width; x++)
			count += has_colour(p, x, y, rgb);
	}
	return (unsigned int)(count * 1000 / ((unsigned long)p->width * p->height));
}

static const int white[3] = {255, 255, 255}, red[3] = {255, 0, 0}, blue[3] = {0, 0, 255};

static void assert_not_blank(struct test_sandbox *t, const struct sbx_artifact *a)
{
	struct picture p = read_png(t, a);

	assert_in_range(share_of(&p, white), 1, 998);
	free(p.rgb);
}

static void need_module(struct test_sandbox *t, const char *name)
{
	char code[128], reason[128];

	snprintf(code, sizeof(code),
		 "import importlib.util, sys\n"
		 "sys.exit(importlib.util.find_spec('%s') is None)\n", name);
	snprintf(reason, sizeof(reason), "python's %s is not installed", name);
	if (test_run(t, "python", code)->exit_code != 0)
		test_skip_promised(reason);
}

static void need_r_package(struct test_sandbox *t, const char *name)
{
	char code[128], reason[128];

	snprintf(code, sizeof(code), "quit(status = !requireNamespace('%s', quietly = TRUE))\n", name);
	snprintf(reason, sizeof(reason), "R's %s is not installed", name);
	if (test_run(t, "r", code)->exit_code != 0)
		test_skip_promised(reason);
}

static const struct sbx_change *find_change(const struct sbx_result *r, const char *path)
{
	for (size_t i = 0; i < r->change_count; i++) {
		if (strcmp(r->changes[i].path, path) == 0)
			return &r->changes[i];
	}
	return NULL;
}

static const struct sbx_artifact *find_artifact(const struct sbx_result *r, const char *name)
{
	for (size_t i = 0; i < r->artifact_count; i++) {
		if (strcmp(r->artifacts[i].name, name) == 0)
			return &r->artifacts[i];
	}
	fail_msg("there is no artifact '%s' of %zu", name, r->artifact_count);
	return NULL;
}

/* ---- Python: the program stays as it is ---- */

/* Case 14, with artifacts. */
static void an_uncaught_exception_has_the_users_own_line_numbers(void **state)
{
	const struct sbx_result *r = test_run(*state, "python",
					      "from __future__ import annotations\n"
					      "print('before')\n"
					      "raise ValueError('here')\n");

	assert_int_equal(r->exit_code, 1);
	assert_string_equal(r->out.data, "before\n");
	assert_non_null(strstr(r->errout.data, "main.py\", line 3, in <module>"));
	assert_non_null(strstr(r->errout.data, "ValueError: here"));
	assert_null(strstr(r->errout.data, "llm_sandbox"));
}

static void a_program_finds_its_own_globals_and_arguments(void **state)
{
	const struct sbx_result *r = test_run(
		*state, "python",
		"import sys\n"
		"print(sorted(n for n in globals() if not n.startswith('__')), len(sys.argv))\n"
		"print([p for p in sys.path if 'llm-sandbox' in p])\n");

	assert_string_equal(r->out.data, "['sys'] 1\n[]\n");
	assert_int_equal(r->artifact_count, 0);
	assert_int_equal(r->change_count, 0);
}

static void the_users_own_pythonpath_is_kept(void **state)
{
	struct test_sandbox *t = *state;
	const char *env[] = {"PYTHONPATH=/sandbox/mine:mine", NULL};

	test_shell(t, "mkdir mine; echo 'print(\"mine\")' > mine/own_module.py");
	t->io.env = env;
	assert_string_equal(test_run(t, "python", "import own_module\n")->out.data, "mine\n");
}

/* Case 67. */
static void without_artifacts_nothing_is_different(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	t->io.artifacts = false;
	r = test_run(t, "python",
		     "import os\n"
		     "print([n for n in os.environ if 'LLM_SANDBOX' in n or n == 'PYTHONPATH'])\n"
		     "open('x.csv', 'w').write('a')\n"
		     "print(open(__file__).readline(), end='')\n");
	assert_string_equal(r->out.data, "[]\nimport os\n");
	assert_int_equal(r->artifact_count, 0);
	assert_int_equal(r->change_count, 0);
}

/* ---- Python: matplotlib ---- */

#define PLT "import matplotlib.pyplot as plt\n"

/* Cases 61 to 65: one session, so that matplotlib looks for its fonts once. */
static void figures_come_as_they_are_shown(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "matplotlib");
	r = test_run(t, "python", PLT "plt.plot([1, 2, 3])\nplt.show()\n");
	assert_went_well(r);
	assert_string_equal(r->out.data, "");
	assert_plots(r, 1, "image/png", "matplotlib");
	assert_string_equal(r->artifacts[0].name, "plot-000001.png");
	assert_not_blank(t, &r->artifacts[0]);

	r = test_run(t, "python",
		     PLT "plt.plot([1]); plt.title('one'); plt.show()\n"
			 "plt.bar([1, 2], [3, 4]); plt.title('two'); plt.show()\n");
	assert_plots(r, 2, "image/png", "matplotlib");
	assert_int_equal(r->artifacts[0].number, 2);
	assert_string_equal(r->artifacts[0].title, "one");
	assert_string_equal(r->artifacts[1].title, "two");

	r = test_run(t, "python", PLT "plt.plot([1, 2]); plt.savefig('own.png'); plt.show()\n");
	assert_plots(r, 2, "image/png", "matplotlib");
	assert_non_null(find_change(r, "own.png"));

	r = test_run(t, "python", PLT "plt.figure(); plt.show()\n");
	assert_int_equal(r->artifact_count, 0);

	/* A figure that is left open at the end of the run. */
	r = test_run(t, "python", PLT "plt.plot([1, 2])\n");
	assert_plots(r, 1, "image/png", "matplotlib");
	assert_int_equal(r->artifacts[0].number, 6);
	assert_int_equal(sbx_session_clear_artifacts(test_session(t), NULL), 0);
	r = test_run(t, "python", PLT "plt.plot([1, 2]); plt.show()\n");
	assert_plots(r, 1, "image/png", "matplotlib");
	assert_int_equal(r->artifacts[0].number, 1);
	assert_not_blank(t, &r->artifacts[0]);
}

static void a_picture_is_what_was_drawn(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	struct picture p;

	need_module(t, "matplotlib");
	r = test_run(t, "python",
		     PLT "from matplotlib.patches import Rectangle\n"
			 "f = plt.figure(figsize=(2, 1), facecolor='white')\n"
			 "f.patches.append(Rectangle((0, 0), .5, 1, color='#ff0000', transform=f.transFigure))\n"
			 "f.patches.append(Rectangle((.5, 0), .25, 1, color='#0000ff', transform=f.transFigure))\n"
			 "f.savefig('p.png', dpi=100)\n"
			 "plt.close()\n");
	assert_went_well(r);
	assert_plots(r, 1, "image/png", "matplotlib");
	p = read_png(t, &r->artifacts[0]);
	assert_int_equal(p.width, 200);
	assert_int_equal(p.height, 100);
	assert_in_range(share_of(&p, red), 490, 510);
	assert_in_range(share_of(&p, blue), 240, 260);
	assert_in_range(share_of(&p, white), 240, 260);
	assert_true(has_colour(&p, 10, 50, red));
	assert_true(has_colour(&p, 125, 50, blue));
	assert_true(has_colour(&p, 190, 50, white));
	free(p.rgb);
}

/* Case 68, and all other formats that there are. */
static void a_saved_figure_has_the_format_it_was_saved_in(void **state)
{
	static const char *const kinds[][2] = {
		{"eps", "application/postscript"}, {"jpeg", "image/jpeg"},
		{"jpg", "image/jpeg"},		   {"pdf", "application/pdf"},
		{"png", "image/png"},		   {"ps", "application/postscript"},
		{"svg", "image/svg+xml"},	   {"svgz", "image/svg+xml-compressed"},
		{"tif", "image/tiff"},		   {"tiff", "image/tiff"},
		{"webp", "image/webp"},
	};
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	char own[16];

	need_module(t, "matplotlib");
	need_module(t, "PIL");
	r = test_run(t, "python",
		     PLT "plt.figure(figsize=(2, 2)); plt.plot([1, 2])\n"
			 "for f in 'eps jpeg jpg pdf png ps svg svgz tif tiff webp'.split():\n"
			 "    plt.savefig('x.' + f)\n"
			 "plt.close()\n");
	assert_went_well(r);
	assert_int_equal(r->artifact_count, sizeof(kinds) / sizeof(kinds[0]));
	for (size_t i = 0; i < r->artifact_count; i++) {
		assert_is(&r->artifacts[i], SBX_ARTIFACT_PLOT, kinds[i][1], "matplotlib");
		assert_non_null(strstr(r->artifacts[i].name, kinds[i][0]));
		snprintf(own, sizeof(own), "x.%s", kinds[i][0]);
		assert_non_null(find_change(r, own));
	}
}

/* Case 69. */
static void a_plot_before_an_exception_is_kept(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "matplotlib");
	r = test_run(t, "python", PLT "plt.plot([1]); plt.show()\nplt.plot([2])\n1 / 0\n");
	assert_int_equal(r->exit_code, 1);
	assert_non_null(strstr(r->errout.data, "line 4, in <module>"));
	/* The second was open when the program failed. */
	assert_plots(r, 2, "image/png", "matplotlib");
}

static void what_a_plot_shows_comes_as_numbers_too(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	json_t *result, *first, *axes;
	char *text;

	need_module(t, "matplotlib");
	r = test_run(t, "python",
		     PLT "plt.plot([1, 2], [3, 5], label='s'); plt.title('T'); plt.xlabel('X')\n"
			 "plt.show()\n");
	assert_plots(r, 1, "image/png", "matplotlib");
	assert_int_equal(sbx_result_format_json(r, 0, &text, NULL), 0);
	result = json_loads(text, 0, NULL);
	first = json_array_get(json_object_get(result, "artifacts"), 0);
	axes = json_array_get(json_object_get(json_object_get(first, "chart"), "axes"), 0);
	assert_string_equal(json_string_value(json_object_get(axes, "title")), "T");
	assert_string_equal(json_string_value(json_object_get(axes, "x_label")), "X");
	json_decref(result);
	free(text);
}

static void a_hundred_plots_of_one_run_all_come(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "matplotlib");
	r = test_run(t, "python",
		     PLT "for i in range(100):\n"
			 "    plt.figure(figsize=(1, 1)); plt.title(str(i)); plt.plot([i]); plt.show()\n");
	assert_went_well(r);
	assert_plots(r, 100, "image/png", "matplotlib");
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(atoi(r->artifacts[i].title), i);
	assert_not_blank(t, &r->artifacts[99]);
}

static void plots_of_threads_and_children_all_come(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "matplotlib");
	r = test_run(t, "python",
		     PLT "import os, threading\n"
			 "from matplotlib.figure import Figure\n"
			 "def draw(name):\n"
			 "    f = Figure(figsize=(1, 1)); f.subplots().plot([1, 2]); f.savefig(name)\n"
			 "threads = [threading.Thread(target=draw, args=(f't{i}.png',)) for i in range(8)]\n"
			 "for t in threads: t.start()\n"
			 "for t in threads: t.join()\n"
			 "for i in range(4):\n"
			 "    if os.fork() == 0:\n"
			 "        plt.figure(figsize=(1, 1)); plt.plot([i]); plt.show(); os._exit(0)\n"
			 "for i in range(4): os.wait()\n");
	assert_went_well(r);
	assert_plots(r, 12, "image/png", "matplotlib");
	for (size_t i = 0; i < 12; i++)
		assert_not_blank(t, &r->artifacts[i]);
}

/* ---- Python: what else shows something ---- */

/* Case 66. */
static void a_shown_figure_of_plotly_is_one_page(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "plotly");
	r = test_run(t, "python",
		     "import plotly.graph_objects as go\n"
		     "go.Figure(go.Bar(x=['a'], y=[1]), layout_title_text='Bars').show()\n");
	assert_went_well(r);
	assert_plots(r, 1, "text/html", "plotly");
	assert_string_equal(r->artifacts[0].title, "Bars");
	assert_non_null(r->artifacts[0].chart);
}

static void seaborn_draws_with_matplotlib(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "seaborn");
	r = test_run(t, "python",
		     "import seaborn as sns\n" PLT
		     "sns.histplot([1, 2, 2, 3]); plt.show()\n");
	assert_went_well(r);
	assert_plots(r, 1, "image/png", "matplotlib");
	assert_not_blank(t, &r->artifacts[0]);
}

static void pandas_plots_are_plots(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "pandas");
	need_module(t, "matplotlib");
	r = test_run(t, "python",
		     "import pandas as pd\n" PLT
		     "pd.DataFrame({'a': [1, 2]}).plot(); plt.show()\n");
	assert_went_well(r);
	assert_plots(r, 1, "image/png", "matplotlib");
}

static void a_picture_that_pil_shows_is_a_plot(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	struct picture p;

	need_module(t, "PIL");
	r = test_run(t, "python",
		     "from PIL import Image\n"
		     "Image.new('RGB', (30, 20), (255, 0, 0)).show()\n");
	assert_went_well(r);
	assert_plots(r, 1, "image/png", "pil");
	p = read_png(t, &r->artifacts[0]);
	assert_int_equal(p.width, 30);
	assert_int_equal(share_of(&p, red), 1000);
	free(p.rgb);
}

/* ---- R ---- */

/* Cases 71 and 72. */
static void pages_of_base_r_come_as_pictures(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_run(t, "r",
					      "plot(1:3)\nlegend('top', 'l')\nhist(c(1, 2, 2))\n"
					      "barplot(1:3)\nboxplot(1:9)\n");

	assert_went_well(r);
	assert_string_equal(r->out.data, "");
	assert_plots(r, 4, "image/png", "r-base");
	for (size_t i = 0; i < 4; i++)
		assert_not_blank(t, &r->artifacts[i]);

	r = test_run(t, "r", "png('f.png')\nplot(1:3)\ninvisible(dev.off())\n");
	assert_went_well(r);
	assert_int_equal(r->artifact_count, 1);
	assert_non_null(find_change(r, "f.png"));
	assert_not_blank(t, &r->artifacts[0]);
}

/* Case 73. */
static void seventy_plots_of_a_loop_in_r_all_come(void **state)
{
	const struct sbx_result *r = test_run(*state, "r", "for (i in 1:70) plot(i)\n");

	assert_went_well(r);
	assert_plots(r, 70, "image/png", "r-base");
}

static void ggplot2_and_lattice_show_what_is_printed(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_r_package(t, "ggplot2");
	need_r_package(t, "lattice");
	r = test_run(t, "r",
		     "library(ggplot2)\nlibrary(lattice)\n"
		     "ggplot(data.frame(x = 1:3, y = 1:3), aes(x, y)) + geom_point()\n"
		     "xyplot(1:3 ~ 1:3)\n");
	assert_went_well(r);
	assert_int_equal(r->artifact_count, 2);
	assert_is(&r->artifacts[0], SBX_ARTIFACT_PLOT, "image/png", "ggplot2");
	assert_is(&r->artifacts[1], SBX_ARTIFACT_PLOT, "image/png", "lattice");
	for (size_t i = 0; i < 2; i++)
		assert_not_blank(t, &r->artifacts[i]);
}

static void the_users_own_r_profile_is_read(void **state)
{
	struct test_sandbox *t = *state;
	const char *env[] = {"R_PROFILE_USER=own.R", NULL};

	test_shell(t, "echo 'mine <- 7' > own.R");
	t->io.env = env;
	assert_string_equal(test_run(t, "r", "cat(mine)\n")->out.data, "7");
}

/* ---- any language: files ---- */

/* Six kinds, one of each, which every language below writes under the same names. */
static void assert_six_files(const struct sbx_result *r)
{
	static const char *const files[][2] = {
		{"1.png", "image/png"},	 {"2.html", "text/html"},	 {"3.pdf", "application/pdf"},
		{"4.csv", "text/csv"},	 {"5.json", "application/json"}, {"6.wav", "audio/wav"},
	};

	assert_went_well(r);
	assert_int_equal(r->artifact_count, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(r->artifacts[i].name, files[i][0]);
		assert_is(&r->artifacts[i], SBX_ARTIFACT_FILE, files[i][1], "");
		assert_non_null(find_change(r, files[i][0]));
	}
	assert_int_equal(r->artifacts[0].width, 3);
	assert_int_equal(r->artifacts[0].height, 2);
	assert_int_equal(r->change_count, 6);
}

#define PNG_C  "\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\3\\0\\0\\0\\2"
#define WAV_C  "RIFF$\\0\\0\\0WAVEfmt \\x10\\0\\0\\0\\1\\0\\1\\0"
#define PNG_U  "\\u0089PNG\\r\\n\\u001a\\n\\u0000\\u0000\\u0000\\rIHDR\\u0000\\u0000\\u0000\\u0003\\u0000\\u0000\\u0000\\u0002"
#define WAV_U  "RIFF$\\u0000\\u0000\\u0000WAVEfmt \\u0010\\u0000\\u0000\\u0000\\u0001\\u0000\\u0001\\u0000"
#define TEXTS(f, e)                                                                    \
	f "(\"2.html\", \"<!DOCTYPE html><p>hello\")" e f "(\"3.pdf\", \"%PDF-1.4 x\")" e \
	f "(\"4.csv\", \"a,b\")" e f "(\"5.json\", \"{}\")" e

static void files_of_javascript_and_ruby_are_artifacts(void **state)
{
	struct test_sandbox *t = *state;

	assert_six_files(test_run(t, "javascript",
				  "const w = (n, s) => require('fs').writeFileSync(n, Buffer.from(s, 'latin1'));\n"
				  "w(\"1.png\", \"" PNG_U "\");" TEXTS("w", ";") "w(\"6.wav\", \"" WAV_U "\");\n"));
	assert_six_files(test_run(t, "ruby",
				  "def w(n, s) = File.binwrite(n, s)\n"
				  "w(\"1.png\", \"" PNG_C "\");" TEXTS("w", ";") "w(\"6.wav\", \"" WAV_C "\")\n"));
}

/* Case 70: what a language has no hooks for is no error; its files come. */
static void files_of_java_are_artifacts(void **state)
{
	assert_six_files(test_run(*state, "java",
				  "import java.nio.file.*;\nimport java.nio.charset.*;\n"
				  "public class Main {\n"
				  "static void w(String n, String s) throws Exception {\n"
				  "Files.write(Path.of(n), s.getBytes(StandardCharsets.ISO_8859_1)); }\n"
				  "public static void main(String[] a) throws Exception {\n"
				  "w(\"1.png\", \"\\u0089PNG\\r\\n\\u001a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\3\\0\\0\\0\\2\");"
				  TEXTS("w", ";") "w(\"6.wav\", \"RIFF$\\0\\0\\0WAVEfmt \\20\\0\\0\\0\\1\\0\\1\\0\"); } }\n"));
}

static void files_of_cpp_are_artifacts(void **state)
{
	assert_six_files(test_run(*state, "cpp",
				  "#include <fstream>\n#include <string>\n"
				  "template <size_t N> void w(const char *n, const char (&s)[N]) {\n"
				  "std::ofstream(n, std::ios::binary).write(s, N - 1); }\n"
				  "int main() {\n"
				  "w(\"1.png\", \"" PNG_C "\");" TEXTS("w", ";") "w(\"6.wav\", \"" WAV_C "\"); }\n"));
}

static void files_of_go_are_artifacts(void **state)
{
	assert_six_files(test_run(*state, "go",
				  "package main\nimport \"os\"\n"
				  "func w(n, s string) { os.WriteFile(n, []byte(s), 0644) }\n"
				  "func main() {\n"
				  "w(\"1.png\", \"\\x89PNG\\r\\n\\x1a\\n\\x00\\x00\\x00\\rIHDR\\x00\\x00\\x00\\x03\\x00\\x00\\x00\\x02\");"
				  TEXTS("w", ";")
				  "w(\"6.wav\", \"RIFF$\\x00\\x00\\x00WAVEfmt \\x10\\x00\\x00\\x00\\x01\\x00\\x01\\x00\") }\n"));
}

static void files_of_the_output_folder_are_artifacts(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_need_isolation("only a real sandbox has /sandbox/output");
	assert_int_equal(sbx_spec_set_workdir(t->spec, "/tmp/elsewhere", NULL), 0);
	r = test_shell(t, "mkdir -p /sandbox/output; echo a,b > /sandbox/output/t.csv; echo '{}' > w.json");
	assert_went_well(r);
	assert_int_equal(r->artifact_count, 2);
	assert_string_equal(find_artifact(r, "t.csv")->path, "/sandbox/output/t.csv");
	assert_string_equal(find_artifact(r, "w.json")->path, "/tmp/elsewhere/w.json");
	assert_non_null(find_change(r, "/sandbox/output/t.csv"));
	assert_non_null(find_change(r, "w.json"));
}

static void only_what_this_run_wrote_is_its_change(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_file file = {.name = "data/in.csv", .data = "a,b\n", .len = 4};
	const struct sbx_result *r;
	struct sbx_error err;

	t->io.files = &file;
	t->io.file_count = 1;
	assert_int_equal(sbx_session_write_file(test_session(t), "put.csv", "x", 1,
						SBX_WRITE_REPLACE, &err), 0);
	r = test_run(t, "python", "print(open('data/in.csv').read(), end='')\n");
	assert_string_equal(r->out.data, "a,b\n");
	assert_int_equal(r->change_count, 0);
	assert_int_equal(r->artifact_count, 0);

	/* What the host put and the program wrote again is. */
	r = test_run(t, "python", "open('data/in.csv', 'a').write('1,2\\n')\n");
	assert_int_equal(r->change_count, 1);
	assert_string_equal(r->changes[0].path, "data/in.csv");
	assert_int_equal(r->changes[0].size, 8);
	assert_int_equal(r->artifact_count, 1);
	assert_string_equal(r->artifacts[0].name, "in.csv");

	/* One run behind the other, within one tick of the kernel's clock. */
	t->io.file_count = 0;
	for (int i = 0; i < 8; i++) {
		const char *argv[] = {"/bin/sh", "-c", i % 2 ? "true" : "echo > new.json", NULL};

		r = test_command(t, &(struct sbx_command){.argv = argv, .io = t->io});
		assert_int_equal(r->change_count, i % 2 == 0);
	}
}

static void files_of_one_name_have_different_names_outside(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_shell(
		t, "for d in a b c; do mkdir $d; echo '{}' > $d/x.json; done; echo '{}' > x-2.json");

	assert_int_equal(r->artifact_count, 4);
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(r->artifacts[i].name, r->artifacts[k].name);
	}
	find_artifact(r, "x.json");
	find_artifact(r, "x-2.json");
	find_artifact(r, "x-3.json");
}

static void what_compilers_and_packages_keep_is_no_artifact(void **state)
{
	const struct sbx_result *r = test_shell(
		*state, "mkdir -p .hidden node_modules/p __pycache__ .llm-sandbox-x; "
			"for f in .hidden/a node_modules/p/b __pycache__/c .llm-sandbox-x/d; do "
			"echo '{}' > $f.json; done; echo '<html>' > t.py; echo 1 > n.txt");

	assert_went_well(r);
	assert_int_equal(r->artifact_count, 0);
	assert_non_null(find_change(r, ".hidden/a.json"));
	assert_null(find_change(r, "__pycache__/c.json"));
	assert_null(find_change(r, ".llm-sandbox-x/d.json"));
}

/* ---- cells of kernels ---- */

static struct sbx_result *run_cell(struct test_sandbox *t, const char *code)
{
	const struct sbx_run run = {
		.language = "python",
		.kernel = "k",
		.code = code,
		.code_len = strlen(code),
		.io = t->io,
	};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(test_session(t), &run, &result, &err) < 0)
		fail_msg("cannot run a cell: %s", err.msg);
	assert_went_well(result);
	return result;
}

static void a_cell_has_what_is_new_since_the_cell_before(void **state)
{
	static const char show[] = "from PIL import Image\nImage.new('RGB', (3, 2)).show()\n";
	struct test_sandbox *t = *state;
	struct sbx_result *r;

	need_module(t, "PIL");
	for (uint32_t i = 1; i <= 3; i++) {
		r = run_cell(t, show);
		assert_plots(r, 1, "image/png", "pil");
		assert_int_equal(r->artifacts[0].number, i);
		sbx_result_free(r);
	}
	r = run_cell(t, "1");
	assert_int_equal(r->artifact_count, 0);
	sbx_result_free(r);

	/* The kernel goes on where all that it made was cleared. */
	assert_int_equal(sbx_session_clear_artifacts(test_session(t), NULL), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		struct picture p;

		r = run_cell(t, show);
		assert_plots(r, 1, "image/png", "pil");
		assert_int_equal(r->artifacts[0].number, i);
		p = read_png(t, &r->artifacts[0]);
		assert_int_equal(p.width, 3);
		free(p.rgb);
		sbx_result_free(r);
	}
}

/* ---- ends, limits ---- */

static void what_was_shown_before_a_timeout_is_kept(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	need_module(t, "PIL");
	t->io.timeout_ms = 5000;
	r = test_run(t, "python",
		     "from PIL import Image\n"
		     "Image.new('RGB', (3, 2)).show()\n"
		     "open('t.csv', 'w').write('a,b')\n"
		     "while True: pass\n");
	assert_int_equal(r->reason, SBX_TIMEOUT);
	assert_int_equal(r->artifact_count, 2);
	assert_is(&r->artifacts[0], SBX_ARTIFACT_PLOT, "image/png", "pil");
	assert_string_equal(r->artifacts[1].name, "t.csv");
}

static void kill_it(const void *data, size_t len, void *cancel)
{
	(void)data, (void)len;
	sbx_cancel_kill(cancel);
}

static void what_was_made_before_a_kill_is_kept(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	struct sbx_cancel *cancel;

	assert_int_equal(sbx_cancel_new(&cancel, NULL), 0);
	t->io.cancel = cancel;
	t->io.on_stdout = kill_it;
	t->io.userdata = cancel;
	r = test_shell(t, "echo '{}' > made.json; echo made; sleep 1000");
	assert_int_equal(r->reason, SBX_CANCELLED);
	assert_int_equal(r->artifact_count, 1);
	assert_string_equal(r->artifacts[0].name, "made.json");
	t->io = (struct sbx_io){0};
	sbx_cancel_free(cancel);
}

static void limits_say_what_they_leave_out(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_ARTIFACTS, 3);
	test_set_limit(t, SBX_LIMIT_ARTIFACT_BYTES, 100 * KIB);
	r = test_shell(t, "for i in 1 2 3 4 5; do echo '{}' > $i.json; done");
	assert_int_equal(r->artifact_count, 3);
	assert_int_equal(r->artifacts_left_out, 2);
	assert_int_equal(r->change_count, 5);
	r = test_shell(t, "head -c 200000 /dev/zero > big.csv; echo > a.csv; echo > b.csv");
	assert_int_equal(r->artifact_count, 2);
	assert_int_equal(r->change_count, 3);
}

/* A program is run as ever where hooks have no place to write. */
static void a_full_disk_costs_artifacts_and_nothing_else(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_need_isolation("only a real sandbox has a disk limit");
	test_set_limit(t, SBX_LIMIT_DISK_BYTES, 4 * MIB);
	t->io.artifacts = false;
	test_shell(t, "head -c 100000000 /dev/zero > /tmp/big 2> /dev/null");
	t->io.artifacts = true;
	r = test_shell(t, "rm /tmp/big; echo done");
	assert_string_equal(r->out.data, "done\n");
	r = test_shell(t, "echo '{}' > a.json");
	assert_int_equal(r->artifact_count, 1);
}

static void ten_thousand_files_are_told_in_part(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_run(t, "python",
					      "import os\n"
					      "for d in range(10):\n"
					      "    os.mkdir(f'd{d}')\n"
					      "    for i in range(1000): open(f'd{d}/{i:04}.json', 'w').write('{}')\n");

	assert_went_well(r);
	assert_int_equal(r->change_count, 1000);
	assert_true(r->changes_truncated);
	assert_string_equal(r->changes[999].path, "d0/0999.json");
	assert_int_equal(r->artifact_count, 200);
	assert_int_equal(r->artifacts_left_out, 9800);
	/* And they cost the next run little. */
	r = test_shell(t, "echo '{}' > new.json");
	assert_int_equal(r->change_count, 1);
	assert_int_equal(r->artifact_count, 1);
}

/* ---- large ones, and those that change ---- */

static void a_large_artifact_is_read_in_little_memory(void **state)
{
	struct test_sandbox *t = *state;
	const uint64_t size = 200 * MIB;
	struct rusage before, after;
	const struct sbx_result *r;
	struct sbx_error err;
	uint64_t at = 0;

	test_set_limit(t, SBX_LIMIT_ARTIFACT_BYTES, 1024 * MIB);
	r = test_run(t, "python",
		     "f = open('big.wav', 'wb')\n"
		     "f.write(b'RIFF$\\0\\0\\0WAVEfmt \\x10\\0\\0\\0\\1\\0\\1\\0')\n"
		     "f.write(b'x' * (4096 - f.tell()))\n"
		     "for i in range(51199): f.write(b'%04095d\\n' % i)\n");
	assert_went_well(r);
	assert_int_equal(r->artifact_count, 1);
	assert_int_equal(r->artifacts[0].size, size);
	getrusage(RUSAGE_SELF, &before);
	while (at < size) {
		size_t len;
		char *piece;

		assert_int_equal(sbx_session_read_file(test_session(t), r->artifacts[0].path, at,
						       8 * MIB, &piece, &len, NULL, &err), 0);
		assert_int_equal(len, size - at < 8 * MIB ? size - at : 8 * MIB);
		if (at > 0)
			assert_int_equal(strtoull(piece, NULL, 10), at / 4096 - 1);
		free(piece);
		at += len;
	}
	getrusage(RUSAGE_SELF, &after);
	/* Sanitizers keep freed memory. */
#ifndef __SANITIZE_ADDRESS__
	assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
#endif
}

static void an_artifact_may_change_while_it_is_read(void **state)
{
	struct test_sandbox *t = *state;
	const char *argv[] = {"python3", "-c",
			      "import itertools\n"
			      "for i in itertools.count():\n"
			      "    with open('live.csv', 'w') as f: f.write('%d,' % i * (i % 100000))\n",
			      NULL};
	const struct sbx_command command = {.argv = argv};
	const struct sbx_result *r = test_shell(t, "echo 1,2 > live.csv");
	struct sbx_process *process;
	struct sbx_error err;

	assert_int_equal(r->artifact_count, 1);
	assert_int_equal(sbx_session_start(test_session(t), &command, &process, &err), 0);
	for (int i = 0; i < 200; i++) {
		size_t len;
		char *data;

		assert_int_equal(sbx_session_read_file(test_session(t), r->artifacts[0].path, 0, MIB,
						       &data, &len, NULL, &err), 0);
		assert_true(len <= MIB);
		free(data);
	}
	/* And while a run is looked at. */
	r = test_shell(t, "echo '{}' > other.json");
	assert_went_well(r);
	find_artifact(r, "other.json");
	sbx_process_free(process);
	assert_string_equal(test_shell(t, "echo well")->out.data, "well\n");
}

/* ---- programs that lie ---- */

/* A program that writes to the hooks' own folder, with all that may not be in it. */
static const char lies[] =
	"import os, json\n"
	"d = os.environ['LLM_SANDBOX_ARTIFACTS'] + '/'\n"
	"png = b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\3\\0\\0\\0\\2'\n"
	"def add(n, meta, data=png, ext='png'):\n"
	"    open(d + '%06d.%s' % (n, ext), 'wb').write(data)\n"
	"    meta = json.dumps(meta).encode() if isinstance(meta, dict) else meta\n"
	"    open(d + '%06d.meta' % n, 'wb').write(meta)\n"
	"add(11, {'mime': 'text/html\\r\\nX: y', 'kind': 'evil', 'source': 'a\\nb\\x1b[31m',\n"
	"         'title': ' two\\nlines\\u202e\\u2028 \\x1b]0;x\\x07 ' + 'x' * 999, 'width': -5,\n"
	"         'height': 1e99, 'path': '../../etc/passwd', 'chart': 'text'})\n"
	"add(12, b'{\"mime\":')\n"
	"add(13, b'[' * 100000)\n"
	"add(14, b'\\xff\\xfe\\0')\n"
	"add(15, {'mime': 'image/png'}, b'no picture', 'png')\n"
	"add(16, {'mime': '../../x', 'chart': {'a': 'x' * 300000}}, b'\\0\\1\\2', 'bin')\n"
	"add(17, {'mime': 'a' * 5000 + '/b', 'path': 'x' * 5000}, b'text', 'zzz')\n"
	"add(18, b'{\"chart\":{\"n\":123456789012345678901234567890,\"u\":\"\\xc3\\xa4\\\\u0000\"},\"title\":\"t\"}')\n"
	"add(19, b'{\"chart\":{\"n\":1' + b' ' * (3 << 20) + b'}}')\n"
	"add(999999, {'title': 'last'})\n"
	"add(20, b'')\n"
	"open(d + '000021.png', 'wb').write(png)\n"
	"os.symlink('/etc/passwd', d + '000022.png'); open(d + '000022.meta', 'w').write('{}')\n"
	"open(d + '000023.png', 'wb').write(png); os.symlink('/etc/passwd', d + '000023.meta')\n"
	"os.mkfifo(d + '000024.png'); open(d + '000024.meta', 'w').write('{}')\n"
	"open(d + '000025.png', 'wb').write(png); os.mkfifo(d + '000025.meta')\n"
	"os.mkdir(d + '000026.png'); open(d + '000026.meta', 'w').write('{}')\n"
	"open(d + '000027.png', 'wb').write(png); os.mkdir(d + '000027.meta')\n"
	"for n in ('000000.png', '1.png', '000028.', '000029.p/g', '000030.toolongname', '0000310.png',\n"
	"          '000032.p\\ng', '-00001.png', '.tmp-000033-1.png', '000034.\\xff'):\n"
	"    try: open(d + n, 'wb').write(png)\n"
	"    except OSError: pass\n"
	"for n in (b'\\x1b[31m.json', b'a\\nb.json', b'\\xff\\xfe.json', b'-rf.json', b'a\\\\b.json',\n"
	"          '\\u202egnp.json'.encode(), b'x' * 250 + b'.json', b'...json', b'..x.json', b' .json'):\n"
	"    open(n, 'wb').write(b'{}')\n"
	"os.mkfifo('f.json'); os.symlink('/etc/passwd', 'l.json'); os.mkdir('d.json')\n"
	"open('fake.png', 'w').write('no picture'); open('empty.png', 'w'); open('page.csv', 'w').write('<html>')\n";

static bool is_plain_line(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	}
	return true;
}

static void assert_harmless(const struct sbx_artifact *a)
{
	assert_true(is_plain_line(a->name) && is_plain_line(a->mime_type) &&
		    is_plain_line(a->source) && is_plain_line(a->title));
	assert_null(strstr(a->name, "\u202e"));
	assert_null(strpbrk(a->name, "/\\"));
	assert_true(a->name[0] != '\0' && a->name[0] != '.' && a->name[0] != '-');
	assert_non_null(strchr(a->mime_type, '/'));
	assert_int_equal(a->path[0], '/');
}

static void a_program_that_lies_to_the_collection_harms_nobody(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_run(t, "python", lies);
	const struct sbx_artifact *a = r->artifacts;
	char *json;

	assert_went_well(r);
	for (size_t i = 0; i < r->artifact_count; i++) {
		assert_harmless(&a[i]);
		assert_int_equal(a[i].number, i + 1);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(a[i].name, a[k].name);
	}
	assert_is(&a[0], SBX_ARTIFACT_PLOT, "image/png", "a b [31m");
	assert_memory_equal(a[0].title, "two lines", 9);
	assert_int_equal(a[0].width, 3);
	assert_null(a[0].chart);
	for (size_t i = 1; i < 4; i++)
		assert_is(&a[i], SBX_ARTIFACT_PLOT, "image/png", "");
	assert_string_not_equal(a[4].mime_type, "image/png");
	assert_string_equal(a[5].mime_type, "application/octet-stream");
	assert_null(a[5].chart);
	assert_string_equal(a[6].mime_type, "text/plain");
	assert_string_equal(a[7].title, "");
	/* What is longer than it may be is no better than none. */
	assert_null(a[8].chart);
	assert_string_equal(a[9].title, "last");
	assert_true(r->artifact_count > 10);
	assert_int_equal(a[10].kind, SBX_ARTIFACT_FILE);
	for (size_t i = 10; i < r->artifact_count; i++) {
		assert_null(strstr(a[i].path, "/f.json"));
		assert_null(strstr(a[i].path, "/l.json"));
		assert_null(strstr(a[i].path, ".png"));
	}
	assert_int_equal(sbx_result_format_json(r, 0, &json, NULL), 0);
	free(json);
}

/* The folder itself, gone or replaced. */
static void a_program_may_destroy_the_folder(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	r = test_shell(t, "rm -rf \"$LLM_SANDBOX_ARTIFACTS\"; echo '{}' > a.json");
	assert_int_equal(r->artifact_count, 1);
	r = test_shell(t, "rm -rf \"$LLM_SANDBOX_ARTIFACTS\"; ln -s / \"$LLM_SANDBOX_ARTIFACTS\"");
	assert_int_equal(r->artifact_count, 0);
	r = test_shell(t, "b=${LLM_SANDBOX_ARTIFACTS%/*}; rm -rf $b; touch $b");
	assert_went_well(r);
	r = test_shell(t, "echo '{}' > b.json; b=${LLM_SANDBOX_ARTIFACTS%/*}; rm -f $b");
	assert_int_equal(r->artifact_count, 1);
	assert_non_null(strstr(r->message, "plots could not be kept"));
	r = test_shell(t, "printf '\\211PNG\\r\\n\\032\\n' > $LLM_SANDBOX_ARTIFACTS/000001.png; "
			  "echo '{}' > $LLM_SANDBOX_ARTIFACTS/000001.meta");
	assert_int_equal(r->artifact_count, 1);
	assert_string_equal(r->artifacts[0].mime_type, "image/png");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		artifact_test(an_uncaught_exception_has_the_users_own_line_numbers),
		artifact_test(a_program_finds_its_own_globals_and_arguments),
		artifact_test(the_users_own_pythonpath_is_kept),
		artifact_test(without_artifacts_nothing_is_different),
		artifact_test(figures_come_as_they_are_shown),
		artifact_test(a_picture_is_what_was_drawn),
		artifact_test(a_saved_figure_has_the_format_it_was_saved_in),
		artifact_test(a_plot_before_an_exception_is_kept),
		artifact_test(what_a_plot_shows_comes_as_numbers_too),
		artifact_test(a_hundred_plots_of_one_run_all_come),
		artifact_test(plots_of_threads_and_children_all_come),
		artifact_test(a_shown_figure_of_plotly_is_one_page),
		artifact_test(seaborn_draws_with_matplotlib),
		artifact_test(pandas_plots_are_plots),
		artifact_test(a_picture_that_pil_shows_is_a_plot),
		artifact_test(pages_of_base_r_come_as_pictures),
		artifact_test(seventy_plots_of_a_loop_in_r_all_come),
		artifact_test(ggplot2_and_lattice_show_what_is_printed),
		artifact_test(the_users_own_r_profile_is_read),
		artifact_test(files_of_javascript_and_ruby_are_artifacts),
		artifact_test(files_of_java_are_artifacts),
		artifact_test(files_of_cpp_are_artifacts),
		artifact_test(files_of_go_are_artifacts),
		artifact_test(files_of_the_output_folder_are_artifacts),
		artifact_test(only_what_this_run_wrote_is_its_change),
		artifact_test(files_of_one_name_have_different_names_outside),
		artifact_test(what_compilers_and_packages_keep_is_no_artifact),
		artifact_test(a_cell_has_what_is_new_since_the_cell_before),
		artifact_test(what_was_shown_before_a_timeout_is_kept),
		artifact_test(what_was_made_before_a_kill_is_kept),
		artifact_test(limits_say_what_they_leave_out),
		artifact_test(a_full_disk_costs_artifacts_and_nothing_else),
		artifact_test(ten_thousand_files_are_told_in_part),
		artifact_test(a_large_artifact_is_read_in_little_memory),
		artifact_test(an_artifact_may_change_while_it_is_read),
		artifact_test(a_program_that_lies_to_the_collection_harms_nobody),
		artifact_test(a_program_may_destroy_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
