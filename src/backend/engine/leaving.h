/* SPDX-License-Identifier: MIT */
/*
 * What must still be said before this process may end. A place is closed off its caller's path; a
 * process that ends behind the close would take the thread along that has yet to tell the engine.
 * exit(3) waits for it, for so long and no longer.
 */
#pragma once

/* Something is to be said; and it is said. The first from any thread, the other from any too. */
void engine_leaving_begin(void);
void engine_leaving_end(void);
