/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/start.h"

int main(int argc, char **argv)
{
	start_program();
	return command_main(argc, argv);
}
