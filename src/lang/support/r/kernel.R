# SPDX-License-Identifier: MIT
#
# An R that keeps its state: it evaluates the cells that its host sends in the workspace, and
# writes back what became of each. kernel.sh starts it.
#
# Nothing of it stands in the workspace. Interrupts are held back but while a cell runs.

local({
	kernel <- new.env(parent = baseenv())
	arguments <- commandArgs()
	file <- sub("^--file=", "", grep("^--file=", arguments, value = TRUE)[1])
	for (part in c("channel.R", "conditions.R", "cells.R"))
		sys.source(file.path(dirname(file), part), kernel, keep.source = FALSE)
	kernel$open_channel()
	kernel$prepare_cells()
	# What of this file has not been read yet is what the cells find as their input.
	options(llm.sandbox.kernel = kernel)
})
suspendInterrupts(getOption("llm.sandbox.kernel")$serve())
