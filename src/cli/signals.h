/* SPDX-License-Identifier: MIT */
/* Ctrl-C once stops the program, twice kills it; SIGTERM and SIGHUP kill it at once. */
#pragma once

#include <llmsandbox/session.h>

void signals_forward_to(struct sbx_cancel *cancel);
