/* SPDX-License-Identifier: MIT */
#include "core/cancel.h"

#include "base/auto.h"
#include "base/error.h"

#include <errno.h>
#include <sys/eventfd.h>

int sbx_cancel_new(struct sbx_cancel **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	auto_free struct sbx_cancel *cancel = calloc(1, sizeof(*cancel));

	err = err ? err : &lent;
	if (cancel == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a cancel handle");
	cancel->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cancel->eventfd < 0)
		return sbx_fail_errno(err, errno, "cannot make a cancel handle");
	*ret = take_ptr(cancel);
	return 0;
}

void sbx_cancel_free(struct sbx_cancel *cancel)
{
	if (cancel == NULL)
		return;
	close(cancel->eventfd);
	free(cancel);
}

/* Async-signal-safe: one write, and errno as it was. */
static void wake(struct sbx_cancel *cancel)
{
	int saved = errno;

	eventfd_write(cancel->eventfd, 1);
	errno = saved;
}

void sbx_cancel_interrupt(struct sbx_cancel *cancel)
{
	atomic_fetch_add(&cancel->interrupts, 1);
	wake(cancel);
}

void sbx_cancel_kill(struct sbx_cancel *cancel)
{
	atomic_store(&cancel->killed, true);
	wake(cancel);
}
