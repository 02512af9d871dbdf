/* SPDX-License-Identifier: MIT */
#include <llmsandbox/kernel.h>

#include "base/error.h"

#include <stdlib.h>

static int not_yet(struct sbx_error *err)
{
	struct sbx_error lent;

	return sbx_fail(err ? err : &lent, SBX_E_UNAVAILABLE, "kernels are not built yet");
}

bool sbx_language_has_kernel(const char *language)
{
	return language == NULL;
}

int sbx_kernel_start(struct sbx_session *session, const char *name, const char *language,
		     struct sbx_cancel *cancel, struct sbx_error *err)
{
	return (void)session, (void)name, (void)language, (void)cancel, not_yet(err);
}

int sbx_kernel_interrupt(struct sbx_session *session, const char *name, struct sbx_error *err)
{
	return (void)session, (void)name, not_yet(err);
}

int sbx_kernel_restart(struct sbx_session *session, const char *name, struct sbx_error *err)
{
	return (void)session, (void)name, not_yet(err);
}

int sbx_kernel_reset(struct sbx_session *session, const char *name, struct sbx_error *err)
{
	return (void)session, (void)name, not_yet(err);
}

int sbx_kernel_end(struct sbx_session *session, const char *name, struct sbx_error *err)
{
	return (void)session, (void)name, not_yet(err);
}

int sbx_kernel_list(struct sbx_session *session, struct sbx_kernel_info **ret, size_t *ret_count,
		    struct sbx_error *err)
{
	return (void)session, (void)ret, (void)ret_count, not_yet(err);
}

int sbx_kernel_history(struct sbx_session *session, const char *name, struct sbx_cell **ret,
		       size_t *ret_count, struct sbx_error *err)
{
	return (void)session, (void)name, (void)ret, (void)ret_count, not_yet(err);
}

void sbx_cells_free(struct sbx_cell *cells, size_t count)
{
	(void)count;
	free(cells);
}
