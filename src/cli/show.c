/* SPDX-License-Identifier: MIT */
#include "show.h"

#include "complain.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a stream goes; a reader that has gone away ends the run. */
struct sink {
	int fd;
	bool guard; /* a terminal: what could command it is made visible */
	struct sbx_cancel *cancel;
	bool broken;
};

static struct sink sinks[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static void write_all(struct sink *s, const char *data, size_t len)
{
	while (len > 0 && !s->broken) {
		ssize_t n = write(s->fd, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno != EINTR) {
			s->broken = true;
			if (s->cancel != NULL)
				sbx_cancel_kill(s->cancel);
		}
	}
}

static bool is_harmless(char c)
{
	return ((unsigned char)c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t' || c == '\r';
}

/* Control characters as ^X, all else as it is. */
static void write_guarded(struct sink *s, const char *data, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i < len; i++) {
		char shown[2] = {'^', (char)(data[i] ^ 0x40)};

		if (is_harmless(data[i]))
			continue;
		write_all(s, data + start, i - start);
		write_all(s, shown, sizeof(shown));
		start = i + 1;
	}
	write_all(s, data + start, len - start);
}

static void print(struct sink *s, const char *data, size_t len)
{
	if (s->guard)
		write_guarded(s, data, len);
	else
		write_all(s, data, len);
}

static void on_stdout(const void *data, size_t len, void *userdata)
{
	(void)userdata;
	print(&sinks[0], data, len);
}

static void on_stderr(const void *data, size_t len, void *userdata)
{
	(void)userdata;
	print(&sinks[1], data, len);
}

/* One JSON object a line: {"stream": "stdout", "text": …}; bytes that are no UTF-8 in Latin-1. */
static void json_line(const char *stream, const char *data, size_t len)
{
	json_t *text = json_stringn(data, len);
	json_t *line;

	if (text == NULL) {
		char *wide = malloc(len * 2 + 1);
		size_t n = 0;

		for (size_t i = 0; wide != NULL && i < len; i++) {
			unsigned char c = (unsigned char)data[i];

			if (c >= 0x80)
				wide[n++] = (char)(0xc0 | c >> 6);
			wide[n++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
		}
		text = json_stringn(wide ? wide : "", n);
		free(wide);
	}
	line = json_pack("{s:s, s:o}", "stream", stream, "text", text);
	json_dumpf(line, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static void on_stdout_json(const void *data, size_t len, void *userdata)
{
	(void)userdata;
	json_line("stdout", data, len);
}

static void on_stderr_json(const void *data, size_t len, void *userdata)
{
	(void)userdata;
	json_line("stderr", data, len);
}

void show_prepare(struct sbx_io *io, const struct options *o)
{
	bool json = o->value[OPT_JSON] != NULL;

	for (int i = 0; i < 2; i++) {
		sinks[i].guard = o->value[OPT_RAW] == NULL && isatty(sinks[i].fd);
		sinks[i].cancel = io->cancel;
	}
	signal(SIGPIPE, SIG_IGN);
	if (o->value[OPT_STREAM] == NULL)
		return;
	io->on_stdout = json ? on_stdout_json : on_stdout;
	io->on_stderr = json ? on_stderr_json : on_stderr;
}

static int print_json(const struct sbx_result *result, bool one_line)
{
	struct sbx_error err;
	char *text;

	if (sbx_result_format_json(result, one_line ? 0 : 2, &text, &err) < 0) {
		complain("%s", err.msg);
		return STATUS_FAILURE;
	}
	write_all(&sinks[0], text, strlen(text));
	write_all(&sinks[0], "\n", 1);
	free(text);
	return STATUS_OK;
}

static void print_output(struct sink *s, const struct sbx_output *o, const char *name)
{
	print(s, o->data, o->head_len);
	if (!o->truncated)
		return;
	complain("%llu bytes of %s are left out here; --stream prints all of it",
		 (unsigned long long)(o->total_bytes - o->len), name);
	print(s, o->data + o->head_len, o->len - o->head_len);
}

static int exit_status(const struct sbx_result *r)
{
	if (sinks[0].broken)
		return 128 + SIGPIPE;
	if (r->reason == SBX_TIMEOUT)
		return STATUS_TIMEOUT;
	return r->reason == SBX_LOST ? STATUS_FAILURE : r->exit_code;
}

int show_result(struct sbx_result *r, const struct options *o)
{
	int status = STATUS_OK;

	if (o->value[OPT_JSON] != NULL) {
		fflush(stdout);
		status = print_json(r, o->value[OPT_STREAM] != NULL);
	} else if (o->value[OPT_STREAM] == NULL) {
		print_output(&sinks[0], &r->out, "stdout");
		print_output(&sinks[1], &r->errout, "stderr");
	}
	if (o->value[OPT_JSON] == NULL && r->message[0] != '\0' && !sinks[0].broken)
		complain("%s", r->message);
	if (status == STATUS_OK)
		status = exit_status(r);
	sbx_result_free(r);
	return status;
}
