/* SPDX-License-Identifier: MIT */
#pragma once

#include <llmsandbox/result.h>

#define NOTE_SIZE 400

/* A sentence about what the network refused to a run, or "". */
void note_network(const struct sbx_result *result, char ret[NOTE_SIZE]);
