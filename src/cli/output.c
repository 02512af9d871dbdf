/* SPDX-License-Identifier: MIT */
#include "cli/output.h"

#include "cli/files.h"
#include "cli/trouble.h"
#include "cli/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

void output_init(struct output *o, const struct settings *s)
{
	static const char *const names[2] = {"stdout", "stderr"};

	*o = (struct output){.json = s->json};
	for (int i = 0; i < 2; i++) {
		o->streams[i].output = o;
		o->streams[i].name = names[i];
		o->streams[i].fd = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
		o->streams[i].safe = !s->raw && !s->json && isatty(o->streams[i].fd);
	}
}

static void put(struct output *o, int fd, const void *data, size_t len)
{
	int r = o->failed ? 0 : file_write(fd, data, len);

	if (len > 0)
		o->midline = ((const char *)data)[len - 1] != '\n';
	if (r < 0) {
		o->failed = -r;
		if (o->reach != NULL)
			o->reach->kill(o->reach->userdata);
	}
}

static void no_memory(struct output *o)
{
	o->failed = o->failed ? o->failed : ENOMEM;
}

/* ---- JSON lines ---- */

/* Valid UTF-8 for valid UTF-8, U+FFFD for each other byte; at most three times as long. */
static size_t replace_invalid(struct stream *s, const unsigned char *p, size_t len, bool last,
			      char *ret)
{
	char *end = ret;

	while (len > 0) {
		int n = utf8_length(p, len);

		if (n == 0 && !last)
			break;
		end = n > 0 ? mempcpy(end, p, (size_t)n) : mempcpy(end, "\xef\xbf\xbd", 3);
		p += n > 0 ? n : 1;
		len -= n > 0 ? (size_t)n : 1;
	}
	memmove(s->held, p, len);
	s->held_len = len;
	return (size_t)(end - ret);
}

static void put_json_line(struct stream *s, const char *text, size_t len)
{
	json_t *line = json_pack("{s:s, s:s%}", "stream", s->name, "text", text, len);
	auto_free char *dump = line ? json_dumps(line, JSON_COMPACT) : NULL;

	json_decref(line);
	if (dump == NULL) {
		no_memory(s->output);
		return;
	}
	output_text(s->output, dump);
	output_text(s->output, "\n");
}

static void put_json(struct stream *s, const void *data, size_t len, bool last)
{
	size_t total = s->held_len + len;
	auto_free unsigned char *joined = malloc(total + 1);
	auto_free char *text = malloc(total * 3 + 1);
	size_t text_len;

	if (joined == NULL || text == NULL) {
		no_memory(s->output);
		return;
	}
	memcpy(mempcpy(joined, s->held, s->held_len), data, len);
	text_len = replace_invalid(s, joined, total, last, text);
	if (text_len > 0)
		put_json_line(s, text, text_len);
}

/* ---- text ---- */

static void put_safe(struct stream *s, const void *data, size_t len)
{
	auto_free char *text = NULL;
	size_t text_len = 0;

	if (!terminal_filter(&s->terminal, data, len, &text, &text_len))
		no_memory(s->output);
	else
		put(s->output, s->fd, text, text_len);
}

static void put_stream(struct stream *s, const void *data, size_t len)
{
	if (s->output->json)
		put_json(s, data, len, false);
	else if (s->safe)
		put_safe(s, data, len);
	else
		put(s->output, s->fd, data, len);
}

void output_stdout(const void *data, size_t len, void *userdata)
{
	struct output *o = userdata;

	put_stream(&o->streams[0], data, len);
}

void output_stderr(const void *data, size_t len, void *userdata)
{
	struct output *o = userdata;

	put_stream(&o->streams[1], data, len);
}

void output_text(struct output *o, const char *text)
{
	put(o, STDOUT_FILENO, text, strlen(text));
}

void output_result(struct output *o, const struct sbx_result *result)
{
	const struct sbx_output *kept[2] = {&result->out, &result->errout};

	for (int i = 0; i < 2; i++)
		put_stream(&o->streams[i], kept[i]->data, kept[i]->len);
	for (int i = 0; i < 2 && !o->failed; i++) {
		if (kept[i]->truncated)
			cli_say("%s: %llu bytes left out after the first %zu; --stream shows all",
				o->streams[i].name,
				(unsigned long long)(kept[i]->total_bytes - kept[i]->len),
				kept[i]->head_len);
	}
}

static void finish_safe(struct stream *s)
{
	auto_free char *text = NULL;
	size_t len = 0;

	if (terminal_finish(&s->terminal, &text, &len))
		put(s->output, s->fd, text, len);
}

void output_finish(struct output *o)
{
	for (int i = 0; i < 2; i++) {
		struct stream *s = &o->streams[i];

		if (o->json && s->held_len > 0)
			put_json(s, "", 0, true);
		else if (s->safe)
			finish_safe(s);
	}
}
