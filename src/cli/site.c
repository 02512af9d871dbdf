/* SPDX-License-Identifier: MIT */
#include "cli/site.h"

#include "cli/client.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/trouble.h"

#include <llmsandbox/files.h>
#include <llmsandbox/language.h>
#include <llmsandbox/library.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define KERNELS_ASKED_MAX 256 /* that an answer may tell of */

static const char *const act_names[SITE_ACT_COUNT] = {
	[SITE_START] = "start",	    [SITE_INTERRUPT] = "interrupt",
	[SITE_RESTART] = "restart", [SITE_RESET] = "reset",
	[SITE_END] = "end",
};

const char *site_act_name(enum site_act act)
{
	return act_names[act];
}

/* ---- a session of our own: signals act through a cancel handle ---- */

static void kill_call(void *userdata)
{
	sbx_cancel_kill(userdata);
}

struct guard {
	struct sbx_cancel *cancel;
	struct reach reach;
};

static int guard_begin(struct guard *g, struct sbx_error *err)
{
	int r = sbx_cancel_new(&g->cancel, err);

	if (r < 0)
		return r;
	g->reach = (struct reach){kill_call, kill_call, g->cancel};
	signals_connect(&g->reach);
	return 0;
}

static void guard_end(struct guard *g)
{
	signals_disconnect();
	sbx_cancel_free(g->cancel);
}

static int save_here(struct sbx_session *session, const char *from, const char *to, uint64_t most,
		     struct sbx_error *err)
{
	struct guard guard;
	struct sbx_copy how = {.most_bytes = most, .most_files = 1};
	int r = guard_begin(&guard, err);

	if (r < 0)
		return r;
	how.cancel = guard.cancel;
	r = sbx_session_get(session, from, to, &how, NULL, err);
	guard_end(&guard);
	return r;
}

static int fail_large(const char *path, size_t most, struct sbx_error *err)
{
	return cli_fail(err, SBX_E_LIMIT, "'%.128s' is larger than %zu MiB", path, most >> 20);
}

static int read_here(struct sbx_session *session, const char *path, size_t most, char **ret,
		     size_t *ret_len, struct sbx_error *err)
{
	auto_free char *data = NULL;
	uint64_t size;
	size_t len;
	int r = sbx_session_read_file(session, path, 0, most, &data, &len, &size, err);

	if (r < 0)
		return r;
	if (size > most)
		return fail_large(path, most, err);
	*ret = data;
	*ret_len = len;
	data = NULL;
	return 0;
}

/* ---- a session of the holder: hanging up stops what it does for us ---- */

static void hang_up(void *userdata)
{
	const struct client *client = userdata;

	shutdown(client->sock, SHUT_RDWR);
}

static int ask(json_t *request, const struct client_io *io, struct answer *ret,
	       struct sbx_error *err)
{
	struct client client;
	struct reach reach = {hang_up, hang_up, &client};
	int r = client_connect(&client, err), killed_by;

	if (r < 0) {
		json_decref(request);
		return r;
	}
	signals_connect(&reach);
	r = client_ask(&client, request, NULL, 0, io, ret, err);
	killed_by = signals_disconnect();
	client_close(&client);
	if (r < 0 && killed_by != 0)
		return cli_fail(err, SBX_E_UNAVAILABLE, "stopped: %s", strsignal(killed_by));
	return r;
}

static int save_there(const char *session, const char *from, const char *to, uint64_t most,
		      struct sbx_error *err)
{
	json_t *request = client_request("get", session);
	struct answer answer;
	int r;

	json_object_set_new(request, "from", paper_text(from));
	json_object_set_new(request, "to", paper_text(to));
	json_object_set_new(request, "most_bytes", json_integer((json_int_t)most));
	json_object_set_new(request, "most_files", json_integer(1));
	r = ask(request, NULL, &answer, err);
	if (r == 0)
		answer_done(&answer);
	return r;
}

/* What comes, up to a bound. */
struct heap {
	char *data;
	size_t len, most;
	bool over;
};

static void heap_add(const void *data, size_t len, void *userdata)
{
	struct heap *h = userdata;
	char *grown;

	h->over |= len > h->most - h->len;
	grown = h->over ? NULL : realloc(h->data, h->len + len + 1);
	if (grown == NULL) {
		h->over = true;
		return;
	}
	h->data = grown;
	memcpy(h->data + h->len, data, len);
	h->len += len;
	h->data[h->len] = '\0';
}

static int read_there(const char *session, const char *path, size_t most, char **ret,
		      size_t *ret_len, struct sbx_error *err)
{
	struct heap heap = {.most = most};
	struct client_io io = {.on_stdout = heap_add, .userdata = &heap};
	json_t *request = client_request("read", session);
	struct answer answer;
	int r;

	json_object_set_new(request, "path", paper_text(path));
	json_object_set_new(request, "most", json_integer((json_int_t)most + 1));
	r = ask(request, &io, &answer, err);
	if (r == 0)
		answer_done(&answer);
	if (r == 0 && heap.over)
		r = fail_large(path, most, err);
	if (r < 0) {
		free(heap.data);
		return r;
	}
	*ret = heap.data;
	*ret_len = heap.len;
	return 0;
}

/* ---- files ---- */

int site_save(const struct site *site, const char *from, const char *to, uint64_t most,
	      struct sbx_error *err)
{
	return site->session ? save_here(site->session, from, to, most, err)
			     : save_there(site->name, from, to, most, err);
}

int site_read(const struct site *site, const char *path, size_t most, char **ret, size_t *ret_len,
	      struct sbx_error *err)
{
	return site->session ? read_here(site->session, path, most, ret, ret_len, err)
			     : read_there(site->name, path, most, ret, ret_len, err);
}

/* ---- kernels ---- */

int site_kernel_act(struct sbx_session *session, enum site_act act, const char *kernel,
		    const char *language, struct sbx_cancel *cancel, struct sbx_error *err)
{
	switch (act) {
	case SITE_START:
		return sbx_kernel_start(session, kernel, language, cancel, err);
	case SITE_INTERRUPT:
		return sbx_kernel_interrupt(session, kernel, err);
	case SITE_RESTART:
		return sbx_kernel_restart(session, kernel, err);
	case SITE_RESET:
		return sbx_kernel_reset(session, kernel, err);
	case SITE_END:
		return sbx_kernel_end(session, kernel, err);
	case SITE_ACT_COUNT:
		break;
	}
	return cli_fail(err, SBX_E_INVALID, "there is no such act");
}

static int act_here(struct sbx_session *session, enum site_act act, const char *kernel,
		    const char *language, struct sbx_error *err)
{
	struct guard guard;
	int r = guard_begin(&guard, err);

	if (r < 0)
		return r;
	r = site_kernel_act(session, act, kernel, language, guard.cancel, err);
	guard_end(&guard);
	return r;
}

static int act_there(const char *session, enum site_act act, const char *kernel,
		     const char *language, struct sbx_error *err)
{
	json_t *request = client_request("kernel", session);
	struct answer answer;
	int r;

	json_object_set_new(request, "act", json_integer(act));
	json_object_set_new(request, "kernel", paper_text(kernel));
	if (language != NULL)
		json_object_set_new(request, "language", json_string(language));
	r = ask(request, NULL, &answer, err);
	if (r == 0)
		answer_done(&answer);
	return r;
}

int site_kernel(const struct site *site, enum site_act act, const char *kernel,
		const char *language, struct sbx_error *err)
{
	return site->session ? act_here(site->session, act, kernel, language, err)
			     : act_there(site->name, act, kernel, language, err);
}

static void take_kernel(const json_t *object, struct sbx_kernel_info *ret)
{
	auto_free char *name = paper_bytes(json_object_get(object, "name"));
	auto_free char *version = paper_bytes(json_object_get(object, "version"));
	const char *language = json_string_value(json_object_get(object, "language"));
	const struct sbx_language_info *found = language ? sbx_language_find(language) : NULL;

	*ret = (struct sbx_kernel_info){
		.language = found ? found->id : "",
		.alive = json_is_true(json_object_get(object, "alive")),
		.busy = json_is_true(json_object_get(object, "busy")),
		.cells = (uint32_t)json_integer_value(json_object_get(object, "cells")),
		.starts = (uint32_t)json_integer_value(json_object_get(object, "starts")),
	};
	snprintf(ret->name, sizeof(ret->name), "%s", name ? name : "");
	snprintf(ret->version, sizeof(ret->version), "%s", version ? version : "");
}

static int list_there(const char *session, struct sbx_kernel_info **ret, size_t *ret_count,
		      struct sbx_error *err)
{
	struct sbx_kernel_info *list;
	struct answer answer;
	json_t *array;
	size_t count;
	int r = ask(client_request("kernels", session), NULL, &answer, err);

	if (r < 0)
		return r;
	array = json_object_get(answer.body, "kernels");
	count = json_array_size(array);
	list = count <= KERNELS_ASKED_MAX ? calloc(count + 1, sizeof(*list)) : NULL;
	for (size_t i = 0; list != NULL && i < count; i++)
		take_kernel(json_array_get(array, i), &list[i]);
	answer_done(&answer);
	if (list == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	*ret = list;
	*ret_count = count;
	return 0;
}

int site_kernels(const struct site *site, struct sbx_kernel_info **ret, size_t *ret_count,
		 struct sbx_error *err)
{
	return site->session ? sbx_kernel_list(site->session, ret, ret_count, err)
			     : list_there(site->name, ret, ret_count, err);
}

/* ---- libraries ---- */

int site_install(const struct site *site, const char *language, char *const *libraries,
		 bool offline, struct sbx_error *err)
{
	struct sbx_install how = {
		.language = language,
		.requirements = (const char *const *)libraries,
		.offline = offline,
		.on_progress = progress_is_wanted() ? progress_print : NULL,
	};
	struct guard guard;
	int r;

	if (site->session == NULL)
		return 0;
	r = guard_begin(&guard, err);
	if (r < 0)
		return r;
	how.cancel = guard.cancel;
	r = sbx_session_install(site->session, &how, NULL, err);
	guard_end(&guard);
	return r;
}
