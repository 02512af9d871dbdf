/* SPDX-License-Identifier: MIT */
/*
 * Linked into the agent that tests run under the sanitizers. The search for leaks at its end
 * traces the process, which the agent forbids to everybody.
 */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return 1;
}
