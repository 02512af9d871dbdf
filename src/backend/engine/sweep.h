/* SPDX-License-Identifier: MIT */
/*
 * Removes containers of ours whose owner is gone: it was killed between making and starting one, or the
 * engine could not remove it. Those of other machines and of processes that run stay.
 */
#pragma once

#include "backend/engine/client.h"

/* Look now, and remove; how many, or -code. */
int engine_sweep(struct engine_client *client, struct sbx_error *err);

/* On a thread of its own, unless it was done in this process lately. Nobody hears of a failure. */
void engine_sweep_soon(const struct engine_client *client);
