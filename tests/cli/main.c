/* SPDX-License-Identifier: MIT */
#include "cli/driver.h"

int main(void)
{
	int failed;

	own_runtime();
	failed = run_group() + input_group() + config_group() + documents_group() +
		 install_group() + artifacts_group() + show_group() + repl_group();

	return failed != 0;
}
