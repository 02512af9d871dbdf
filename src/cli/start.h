/* SPDX-License-Identifier: MIT */
#pragma once

/* First of all in main(): descriptors 0 to 2 are there, and a reader that is gone is EPIPE. */
void start_program(void);
