/* SPDX-License-Identifier: MIT */
#include "core/library_lines.h"

#include "base/auto.h"
#include "core/package_config.h"

#include <string.h>

#define LINE_MAX_BYTES 2048u
#define TROUBLE_MAX    360u
#define LAST_MAX       300u

void sbx_library_lines_init(struct sbx_library_lines *lines, const struct sbx_lang_install *install,
			    sbx_install_fn *on_progress, void *userdata)
{
	*lines = (struct sbx_library_lines){
		.install = install,
		.on_progress = on_progress,
		.userdata = userdata,
		.line = {SBX_BUF_INIT(LINE_MAX_BYTES), SBX_BUF_INIT(LINE_MAX_BYTES)},
		.trouble = SBX_BUF_INIT(TROUBLE_MAX),
		.last = SBX_BUF_INIT(LAST_MAX),
	};
}

void sbx_library_lines_done(struct sbx_library_lines *lines)
{
	sbx_buf_done(&lines->line[0]);
	sbx_buf_done(&lines->line[1]);
	sbx_buf_done(&lines->trouble);
	sbx_buf_done(&lines->last);
}

/* ---- what is kept ---- */

static bool is_trouble(const struct sbx_lang_install *install, const char *line)
{
	for (size_t i = 0; install->trouble != NULL && install->trouble[i] != NULL; i++) {
		if (strncmp(line, install->trouble[i], strlen(install->trouble[i])) == 0)
			return true;
	}
	return false;
}

/* As much of it as there is room for, on one line with what is there. */
static void join(struct sbx_buf *to, const char *line, size_t len)
{
	size_t room = to->max - to->len;

	if (to->len > 0 && room > 3) {
		sbx_buf_puts(to, "; ");
		room -= 2;
	}
	sbx_buf_append(to, line, len < room ? len : room);
}

static void keep(struct sbx_library_lines *lines, const char *line, size_t len)
{
	if (is_trouble(lines->install, line))
		join(&lines->trouble, line, len);
	while (lines->last.len > 0 && lines->last.len + len + 2 > LAST_MAX) {
		const char *next = strstr(lines->last.data, "; ");

		sbx_buf_consume(&lines->last, next ? (size_t)(next - lines->last.data) + 2
						   : lines->last.len);
	}
	join(&lines->last, line, len);
}

/* ---- lines ---- */

/* What a terminal would act on becomes a blank. */
static void make_plain(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
	}
}

/* The first len bytes of what there is of it. */
static void take_piece(struct sbx_library_lines *lines, struct sbx_buf *line, size_t len)
{
	auto_buf struct sbx_buf plain = SBX_BUF_INIT(2 * LINE_MAX_BYTES);

	if (len == 0)
		return;
	sbx_package_config_scrub(line->data, len, &plain);
	sbx_buf_consume(line, len);
	if (plain.failed || plain.len == 0)
		return;
	make_plain(plain.data, plain.len);
	keep(lines, plain.data, plain.len);
	sbx_buf_puts(&plain, "\n");
	if (lines->on_progress != NULL && !plain.failed)
		lines->on_progress(plain.data, plain.len, lines->userdata);
}

static void take_line(struct sbx_library_lines *lines, int stream)
{
	take_piece(lines, &lines->line[stream], lines->line[stream].len);
	lines->drops[stream] = false;
}

/*
 * A line that is too long is cut at a blank, because within an address that would part a password
 * from what shows that it is one. A word that is too long is dropped.
 */
static void cut_line(struct sbx_library_lines *lines, int stream)
{
	struct sbx_buf *line = &lines->line[stream];
	const char *blank = memrchr(line->data, ' ', line->len);

	if (blank != NULL) {
		take_piece(lines, line, (size_t)(blank - line->data) + 1);
	} else {
		sbx_buf_consume(line, line->len);
		lines->drops[stream] = true;
	}
}

static void take(struct sbx_library_lines *lines, int stream, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (lines->line[stream].len == LINE_MAX_BYTES)
			cut_line(lines, stream);
		if (data[i] == '\n' || data[i] == '\r')
			take_line(lines, stream);
		else if (lines->drops[stream])
			lines->drops[stream] = data[i] != ' ';
		else
			sbx_buf_append(&lines->line[stream], &data[i], 1);
	}
}

void sbx_library_lines_out(const void *data, size_t len, void *userdata)
{
	take(userdata, 0, data, len);
}

void sbx_library_lines_err(const void *data, size_t len, void *userdata)
{
	take(userdata, 1, data, len);
}

void sbx_library_lines_next(struct sbx_library_lines *lines)
{
	for (int i = 0; i < 2; i++)
		take_line(lines, i);
	sbx_buf_done(&lines->trouble);
	sbx_buf_done(&lines->last);
}

const char *sbx_library_lines_why(struct sbx_library_lines *lines)
{
	for (int i = 0; i < 2; i++)
		take_line(lines, i);
	if (lines->trouble.len > 0)
		return lines->trouble.data;
	return lines->last.len > 0 ? lines->last.data : "it said nothing";
}
