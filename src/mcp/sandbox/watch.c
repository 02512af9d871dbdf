/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/watch.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "mcp/sandbox/mime.h"

#include <stdio.h>

#define PROGRESS_NS (10 * SBX_NS_PER_S)
#define LOG_NS	    (300 * SBX_NS_PER_MS)
#define TELL_NS	    (300 * SBX_NS_PER_MS)
#define TELL_MAX    200 /* bytes */
#define LOG_MAX	    ((size_t)64 << 10) /* bytes of one call */

static const char *const stream_names[] = {"stdout", "stderr"};

/* ---- output, on the call's own thread ---- */

static void keep(struct mcp_watch *w, int stream, const void *data, size_t len)
{
	size_t taken;

	pthread_mutex_lock(&w->lock);
	taken = len < w->allowed ? len : w->allowed;
	sbx_buf_append(&w->pending[stream], data, taken);
	if (taken < len && w->allowed > 0)
		sbx_buf_puts(&w->pending[stream], "\n[... no more of it before the end ...]\n");
	w->allowed -= taken;
	if (taken > 0)
		pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void keep_stdout(const void *data, size_t len, void *userdata)
{
	keep(userdata, 0, data, len);
}

static void keep_stderr(const void *data, size_t len, void *userdata)
{
	keep(userdata, 1, data, len);
}

/* ---- telling, on a thread of its own ---- */

static bool has_output(const struct mcp_watch *w)
{
	return w->pending[0].len > 0 || w->pending[1].len > 0;
}

/* When something is to be told next. */
static uint64_t next_time(const struct mcp_watch *w)
{
	if (has_output(w) && w->next_log_ns < w->next_progress_ns)
		return w->next_log_ns;
	return w->next_progress_ns;
}

static void wait_until(struct mcp_watch *w, uint64_t when_ns)
{
	struct timespec when = {.tv_sec = (time_t)(when_ns / SBX_NS_PER_S),
				.tv_nsec = (long)(when_ns % SBX_NS_PER_S)};

	pthread_cond_timedwait(&w->changed, &w->lock, &when);
}

static void tell_stream(struct mcp_watch *w, int stream, bool at_end)
{
	struct sbx_buf *pending = &w->pending[stream];
	auto_buf struct sbx_buf text = SBX_BUF_INIT(4 * LOG_MAX);
	size_t len = at_end ? pending->len : mcp_whole_characters(pending->data, pending->len);

	if (len == 0)
		return;
	sbx_text_append_utf8(&text, pending->data, len);
	sbx_buf_consume(pending, len);
	if (!text.failed)
		mcp_call_log(w->call, "info", "program",
			     json_pack("{s:s, s:s%}", "stream", stream_names[stream], "text",
				       text.data, text.len));
}

static void tell_output(struct mcp_watch *w, bool at_end)
{
	for (int stream = 0; stream < 2; stream++) {
		if (w->pending[stream].len > 0)
			tell_stream(w, stream, at_end);
	}
	w->next_log_ns = sbx_now_ns() + LOG_NS;
}

static double elapsed_s(const struct mcp_watch *w)
{
	return (double)((sbx_now_ns() - w->begun_ns) / SBX_NS_PER_MS) / 1000;
}

static void tell_progress(struct mcp_watch *w)
{
	double seconds = elapsed_s(w);
	char text[64];

	snprintf(text, sizeof(text), "running, %.0f s", seconds);
	mcp_call_progress(w->call, seconds, 0, text);
	w->next_progress_ns += PROGRESS_NS;
}

/* What an installer prints is as hostile as what it installs: a line of text, and no more. */
static bool make_line(const char *data, size_t len, char ret[TELL_MAX + 1])
{
	size_t n = 0;

	while (len > 0 && (unsigned char)data[len - 1] <= ' ')
		len--;
	for (size_t i = 0; i < len && n < TELL_MAX; i++) {
		unsigned char c = (unsigned char)data[i];

		ret[n++] = c < ' ' || c == 0x7f ? ' ' : data[i];
	}
	ret[mcp_whole_characters(ret, n)] = '\0';
	return ret[0] != '\0';
}

void mcp_watch_tell(struct mcp_watch *w, const char *text, size_t len)
{
	char line[TELL_MAX + 1];
	uint64_t now = sbx_now_ns();

	if (!w->running || !make_line(text, len, line))
		return;
	pthread_mutex_lock(&w->lock);
	if (now >= w->next_tell_ns) {
		mcp_call_progress(w->call, elapsed_s(w), 0, line);
		w->next_tell_ns = now + TELL_NS;
		w->next_progress_ns = now + PROGRESS_NS;
	}
	pthread_mutex_unlock(&w->lock);
}

static void *tell(void *userdata)
{
	struct mcp_watch *w = userdata;

	pthread_mutex_lock(&w->lock);
	while (!w->over) {
		uint64_t now = sbx_now_ns();

		if (now >= w->next_progress_ns)
			tell_progress(w);
		else if (has_output(w) && now >= w->next_log_ns)
			tell_output(w, false);
		else
			wait_until(w, next_time(w));
	}
	tell_output(w, true);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- begin and end ---- */

static void init_lock(struct mcp_watch *w)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void mcp_watch_begin(struct mcp_watch *w, struct mcp_call *call)
{
	uint64_t now = sbx_now_ns();
	bool wants_log = mcp_call_wants_log(call, "info");

	*w = (struct mcp_watch){
		.call = call,
		.pending = {SBX_BUF_INIT(2 * LOG_MAX), SBX_BUF_INIT(2 * LOG_MAX)},
		.allowed = LOG_MAX,
		.begun_ns = now,
		.next_progress_ns = now + PROGRESS_NS,
		.next_log_ns = now + LOG_NS,
	};
	if (!wants_log && !mcp_call_wants_progress(call))
		return;
	init_lock(w);
	/* Without a thread the client hears nothing on the way, and the result all the same. */
	w->running = pthread_create(&w->thread, NULL, tell, w) == 0;
	if (w->running && wants_log) {
		w->on_stdout = keep_stdout;
		w->on_stderr = keep_stderr;
	}
}

void mcp_watch_end(struct mcp_watch *w)
{
	if (!w->running)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	sbx_buf_done(&w->pending[0]);
	sbx_buf_done(&w->pending[1]);
}
