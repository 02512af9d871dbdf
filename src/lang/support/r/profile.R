# SPDX-License-Identifier: MIT
#
# What R reads at its start because R_PROFILE_USER names it (by its whole path): it puts the hooks in place that make
# artifacts of what the program draws, and then does as R would have done without it.
#
# Nothing of it is left in the user's workspace, and nothing is loaded that the program does not
# load itself. An R that is told not to read its profile (--vanilla, --no-init-file) has no hooks.

local({
	support <- dirname(Sys.getenv("R_PROFILE_USER"))
	folder <- Sys.getenv("LLM_SANDBOX_ARTIFACTS")
	if (nzchar(folder) && dir.exists(folder)) {
		hooks <- new.env(parent = baseenv())
		# Absolute, because the program may change its folder.
		hooks$folder <- normalizePath(folder)
		for (part in c("artifacts.R", "pages.R", "packages.R", "widgets.R"))
			sys.source(file.path(support, part), hooks, keep.source = FALSE)
		hooks$install_pages()
		hooks$install_packages()
		hooks$install_widgets()
		# Where the kernel finds them; options are copied by nobody.
		options(llm.sandbox.hooks = hooks)
	}
})

# The user's own: what R_PROFILE_USER named before us, else the first that R would have found.
local({
	own <- Sys.getenv("LLM_SANDBOX_R_PROFILE_USER", unset = NA)
	if (is.na(own))
		own <- c(".Rprofile", path.expand("~/.Rprofile"))
	own <- own[file.exists(own)]
	if (length(own) > 0)
		sys.source(own[1], globalenv(), keep.source = FALSE)
})
