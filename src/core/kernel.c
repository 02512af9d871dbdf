/* SPDX-License-Identifier: MIT */
/* What users call of kernels; the struct and its state are told in kernel_inside.h. */
#include <llmsandbox/kernel.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "core/kernel_inside.h"
#include "core/support.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define RESET_MS 10000 /* that forgetting may take */

/* ---- names and languages ---- */

bool sbx_language_has_kernel(const char *language)
{
	const struct sbx_lang *lang = language ? sbx_lang_find(language) : NULL;

	return lang != NULL && lang->kernel != NULL;
}

static int fail_language(const struct sbx_lang *lang, struct sbx_error *err)
{
	auto_buf struct sbx_buf names = SBX_BUF_INIT(256);
	const struct sbx_lang *one;

	for (size_t i = 0; (one = sbx_lang_at(i)) != NULL; i++) {
		if (one->kernel != NULL)
			sbx_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", one->info.id);
	}
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"there are no kernels of %s; languages that have them are %s",
			lang->info.title, names.data);
}

const struct sbx_lang *sbx_kernel_language(const char *language, struct sbx_error *err)
{
	const struct sbx_lang *lang = language ? sbx_lang_find(language) : NULL;

	if (lang == NULL)
		sbx_fail(err, SBX_E_NOT_FOUND, "there is no language '%.64s'",
			 language ? language : "");
	else if (lang->kernel == NULL)
		fail_language(lang, err);
	return lang != NULL && lang->kernel != NULL ? lang : NULL;
}

static bool may_be_in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

int sbx_kernel_check_name(const char *name, struct sbx_error *err)
{
	size_t len = name ? strlen(name) : 0;
	bool good = len > 0 && len < sizeof(((struct sbx_kernel *)0)->name);

	for (size_t i = 0; good && i < len; i++)
		good = may_be_in_name(name[i]);
	if (good)
		return 0;
	return sbx_fail(err, SBX_E_INVALID,
			"'%.64s' cannot be the name of a kernel; use 1 to 63 letters, digits, '-', '_' "
			"and '.'",
			name ? name : "");
}

/* ---- the list ---- */

void sbx_kernels_init(struct sbx_kernels *kernels)
{
	*kernels = (struct sbx_kernels){0};
	pthread_mutex_init(&kernels->lock, NULL);
}

static void free_kernel(struct sbx_kernel *k)
{
	sbx_kernel_bury(k);
	sbx_history_done(&k->history);
	sbx_artifact_folder_done(&k->folder);
	free(k);
}

void sbx_kernels_done(struct sbx_kernels *kernels)
{
	struct sbx_kernel *next;

	for (struct sbx_kernel *k = kernels->list; k != NULL; k = next) {
		next = k->next;
		free_kernel(k);
	}
	kernels->list = NULL;
	pthread_mutex_destroy(&kernels->lock);
}

/* With the turn or the lock. */
static struct sbx_kernel *find(struct sbx_session *s, const char *name)
{
	struct sbx_kernel *k = s->kernels.list;

	while (k != NULL && strcmp(k->name, name) != 0)
		k = k->next;
	return k;
}

static int fail_missing(const char *name, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_NOT_FOUND, "the session has no kernel '%.64s'", name);
}

/* With the lock: at the end of the list. */
static void append(struct sbx_kernels *kernels, struct sbx_kernel *k)
{
	struct sbx_kernel **at = &kernels->list;

	while (*at != NULL)
		at = &(*at)->next;
	*at = k;
}

static size_t count(const struct sbx_kernels *kernels)
{
	size_t n = 0;

	for (const struct sbx_kernel *k = kernels->list; k != NULL; k = k->next)
		n++;
	return n;
}

static struct sbx_kernel *add(struct sbx_session *s, const char *name, const struct sbx_lang *lang,
			      struct sbx_error *err)
{
	struct sbx_kernel *k;

	if (count(&s->kernels) >= SBX_KERNELS_MAX) {
		sbx_fail(err, SBX_E_LIMIT, "the session has %d kernels already; end one first",
			 SBX_KERNELS_MAX);
		return NULL;
	}
	k = calloc(1, sizeof(*k));
	if (k == NULL) {
		sbx_fail_errno(err, ENOMEM, "cannot make the kernel '%s'", name);
		return NULL;
	}
	k->session = s;
	k->lang = lang;
	strcpy(k->name, name);
	pthread_mutex_lock(&s->kernels.lock);
	append(&s->kernels, k);
	pthread_mutex_unlock(&s->kernels.lock);
	return k;
}

struct sbx_kernel *sbx_kernel_get(struct sbx_session *s, const char *name,
				  const struct sbx_lang *lang, struct sbx_error *err)
{
	struct sbx_kernel *k = find(s, name);

	if (k == NULL)
		return add(s, name, lang, err);
	if (k->lang == lang)
		return k;
	sbx_fail(err, SBX_E_INVALID, "the kernel '%s' is one of %s; choose another name for %s", name,
		 k->lang->info.title, lang->info.title);
	return NULL;
}

void sbx_kernel_remove(struct sbx_kernel *k)
{
	struct sbx_kernels *kernels = &k->session->kernels;
	struct sbx_kernel **at = &kernels->list;

	pthread_mutex_lock(&kernels->lock);
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	pthread_mutex_unlock(&kernels->lock);
	free_kernel(k);
}

/* ---- start, restart, reset, end ---- */

static int start(struct sbx_session *s, const char *name, const struct sbx_lang *lang,
		 const char *support, struct sbx_cancel *cancel, struct sbx_error *err)
{
	bool is_new = find(s, name) == NULL;
	struct sbx_kernel *k = sbx_kernel_get(s, name, lang, err);
	int r;

	if (k == NULL)
		return -(int)err->code;
	if (sbx_kernel_is_running(k))
		return 0;
	r = sbx_network_start(s, err);
	if (r == 0)
		r = sbx_kernel_launch(k, support, sbx_libraries_folder(s, lang), cancel, err);
	if (r < 0 && is_new)
		sbx_kernel_remove(k);
	return r;
}

int sbx_kernel_start(struct sbx_session *s, const char *name, const char *language,
		     struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_error lent;
	const struct sbx_lang *lang;
	const char *support;
	int r;

	err = err ? err : &lent;
	r = sbx_kernel_check_name(name, err);
	if (r < 0)
		return r;
	lang = sbx_kernel_language(language, err);
	support = lang ? sbx_support_folder(s, err) : NULL;
	if (support == NULL)
		return -(int)err->code;
	r = sbx_session_begin_for(s, cancel, err);
	if (r < 0)
		return r;
	r = start(s, name, lang, support, cancel, err);
	sbx_session_end(s, r, err);
	return r;
}

/* Whatever it does: end its process, now. A cell that runs says that it was asked for. */
static int discard(struct sbx_session *s, const char *name, struct sbx_error *err)
{
	struct sbx_kernel *k;

	pthread_mutex_lock(&s->kernels.lock);
	k = find(s, name);
	if (k != NULL && k->busy)
		k->discarded = true;
	if (k != NULL && k->running)
		sbx_background_signal(&k->b, SIGKILL);
	pthread_mutex_unlock(&s->kernels.lock);
	return k ? 0 : fail_missing(name, err);
}

/* With the turn. */
static int restart(struct sbx_session *s, const char *name, const char *support,
		   struct sbx_error *err)
{
	struct sbx_kernel *k = find(s, name);
	int r;

	if (k == NULL)
		return fail_missing(name, err);
	r = sbx_kernel_kill(k, err);
	if (r == 0)
		r = sbx_network_start(s, err);
	if (r < 0)
		return r;
	k->lost_state = false;
	return sbx_kernel_launch(k, support, sbx_libraries_folder(s, k->lang), NULL, err);
}

int sbx_kernel_restart(struct sbx_session *s, const char *name, struct sbx_error *err)
{
	struct sbx_error lent;
	const char *support;
	int r;

	err = err ? err : &lent;
	r = discard(s, name, err);
	if (r < 0)
		return r;
	support = sbx_support_folder(s, err);
	if (support == NULL)
		return -(int)err->code;
	r = sbx_session_begin(s, err);
	if (r < 0)
		return r;
	r = restart(s, name, support, err);
	sbx_session_end(s, r, err);
	return r;
}

/* With the turn: one that does not answer, or ends with it, starts anew at its next cell. */
static int reset(struct sbx_kernel *k, struct sbx_error *err)
{
	struct sbx_kernel_watch w = {.deadline_ns = sbx_deadline_ns(RESET_MS)};
	int r;

	k->lost_state = false;
	if (!sbx_kernel_is_running(k))
		return 0;
	r = sbx_kernel_ask_reset(k, err);
	if (r == 0)
		r = sbx_kernel_await(k, &w, err);
	if (r == 0 && (k->lang->kernel->reset_ends || k->answer.status != SBX_CELL_OK || w.timed_out))
		r = sbx_kernel_kill(k, err);
	if (r == 0 && !sbx_kernel_is_running(k))
		sbx_kernel_bury(k);
	return r;
}

int sbx_kernel_reset(struct sbx_session *s, const char *name, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_kernel *k;
	int r;

	err = err ? err : &lent;
	r = sbx_session_begin(s, err);
	if (r < 0)
		return r;
	k = find(s, name);
	r = k ? reset(k, err) : fail_missing(name, err);
	sbx_session_end(s, r, err);
	return r;
}

int sbx_kernel_end(struct sbx_session *s, const char *name, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_kernel *k;
	int r;

	err = err ? err : &lent;
	r = discard(s, name, err);
	if (r == 0)
		r = sbx_session_begin(s, err);
	if (r < 0)
		return r;
	k = find(s, name);
	r = k ? sbx_kernel_kill(k, err) : fail_missing(name, err);
	if (r == 0)
		sbx_kernel_remove(k);
	sbx_session_end(s, r, err);
	return r;
}

int sbx_kernel_interrupt(struct sbx_session *s, const char *name, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_kernel *k;

	pthread_mutex_lock(&s->kernels.lock);
	k = find(s, name);
	if (k != NULL && k->busy)
		k->interrupts++;
	pthread_mutex_unlock(&s->kernels.lock);
	if (k == NULL)
		return fail_missing(name, err ? err : &lent);
	sbx_link_wake(&s->link);
	return 0;
}

/* ---- what there is ---- */

static void describe(const struct sbx_kernel *k, struct sbx_kernel_info *ret)
{
	*ret = (struct sbx_kernel_info){
		.language = k->lang->info.id,
		.alive = k->alive,
		.busy = k->busy,
		.cells = k->cells,
		.starts = k->starts,
	};
	memcpy(ret->name, k->name, sizeof(ret->name));
	memcpy(ret->version, k->version, sizeof(ret->version));
}

int sbx_kernel_list(struct sbx_session *s, struct sbx_kernel_info **ret, size_t *ret_count,
		    struct sbx_error *err)
{
	struct sbx_kernel_info *list = calloc(SBX_KERNELS_MAX, sizeof(*list));
	struct sbx_error lent;
	size_t n = 0;

	if (list == NULL)
		return sbx_fail_errno(err ? err : &lent, ENOMEM, "cannot list the kernels");
	pthread_mutex_lock(&s->kernels.lock);
	for (const struct sbx_kernel *k = s->kernels.list; k != NULL; k = k->next)
		describe(k, &list[n++]);
	pthread_mutex_unlock(&s->kernels.lock);
	*ret = list;
	*ret_count = n;
	return 0;
}

static bool copy_cell(const struct sbx_cell *cell, struct sbx_cell *ret)
{
	*ret = *cell;
	ret->code = strdup(cell->code);
	ret->value = cell->value ? strdup(cell->value) : NULL;
	return ret->code != NULL && (cell->value == NULL || ret->value != NULL);
}

static int copy_history(const struct sbx_history *h, struct sbx_cell **ret, size_t *ret_count,
			struct sbx_error *err)
{
	struct sbx_cell *cells = calloc(h->count + 1, sizeof(*cells));
	bool good = cells != NULL;
	size_t n = 0;

	while (good && n < h->count) {
		good = copy_cell(&h->cells[n], &cells[n]);
		n++;
	}
	if (!good) {
		sbx_cells_free(cells, n);
		return sbx_fail_errno(err, ENOMEM, "cannot copy the history of a kernel");
	}
	*ret = cells;
	*ret_count = n;
	return 0;
}

int sbx_kernel_history(struct sbx_session *s, const char *name, struct sbx_cell **ret,
		       size_t *ret_count, struct sbx_error *err)
{
	const struct sbx_kernel *k;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	pthread_mutex_lock(&s->kernels.lock);
	k = find(s, name);
	r = k ? copy_history(&k->history, ret, ret_count, err) : fail_missing(name, err);
	pthread_mutex_unlock(&s->kernels.lock);
	return r;
}
