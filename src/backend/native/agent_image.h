/* SPDX-License-Identifier: MIT */
/* The agent's program, which is part of the library. */
#pragma once

#include "base/error.h"

/* A sealed memfd that holds it and can be executed; the caller closes *ret. */
int agent_image_open(int *ret, struct sbx_error *err);
