/* SPDX-License-Identifier: MIT */
#include "cli/driver.h"

int main(void)
{
	int failed;

	own_runtime();
	failed = session_group() + background_group() + copy_group() + network_group() +
		 holder_group() + kernel_group();
	return failed != 0;
}
