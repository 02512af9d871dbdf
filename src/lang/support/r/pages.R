# SPDX-License-Identifier: MIT
#
# The device that R opens when something is drawn and no device is open: a png() that begins a new
# file with each page. What the user opens is not ours and is left alone.
#
# The device opens a page's file when the page begins, and fills it when the page is over: the next
# one begins, or the device is closed. So after each new page we make artifacts of those before it.

PAGE_WIDTH <- 8 # inches
PAGE_HEIGHT <- 6
PAGE_DPI <- 100
BLANK_BYTES <- 16384 # a picture larger than this is not blank

# Our devices: pattern of the files, the page that is being drawn, what draws each page, whose it is.
devices <- list()

page_file <- function(device, page) sprintf(device$pattern, page)

# What the list of devices says about the file of each, "" where there is none.
device_files <- function() vapply(.Devices, function(name) {
	file <- attr(name, "filepath")
	if (is.null(file)) "" else file
}, "")

# The index of the current device in `devices`, 0 where it is not ours.
current_device <- function() {
	file <- attr(.Device, "filepath")
	if (is.null(file))
		return(0L)
	match(file, vapply(devices, `[[`, "", "pattern"), nomatch = 0L)
}

# What getOption("device") is. Sizes are in inches, as dev.new() gives them.
open_device <- function(width = PAGE_WIDTH, height = PAGE_HEIGHT, pointsize = 12, bg = "white",
		...) {
	# A folder that is gone must not be the program's trouble.
	if (file.access(folder, 2) != 0)
		return(invisible(grDevices::pdf(NULL, width, height)))
	pattern <- temporary_name("-%d.png")
	grDevices::png(pattern, width * PAGE_DPI, height * PAGE_DPI, res = PAGE_DPI,
		pointsize = pointsize, bg = bg, type = "cairo")
	devices[[length(devices) + 1]] <<- list(pattern = pattern, page = 1L, drawn_by = NULL,
		size = c(width, height), bg = bg, pid = Sys.getpid())
	invisible()
}

# A page on which nothing was drawn is the same file as the first of a new device without anything.
is_blank <- function(device, file) {
	if (file.size(file) > BLANK_BYTES)
		return(FALSE)
	current <- grDevices::dev.cur()
	blank <- temporary_name("-blank.png")
	on.exit(unlink(blank))
	grDevices::png(blank, device$size[1] * PAGE_DPI, device$size[2] * PAGE_DPI, res = PAGE_DPI,
		bg = device$bg, type = "cairo")
	try(without_hooks(graphics::plot.new()), silent = TRUE)
	grDevices::dev.off()
	if (current > 1)
		grDevices::dev.set(current)
	identical(readBin(file, "raw", BLANK_BYTES), readBin(blank, "raw", BLANK_BYTES))
}

hooks_rest <- FALSE
without_hooks <- function(code) {
	hooks_rest <<- TRUE
	on.exit(hooks_rest <<- FALSE)
	code
}

publish_pages <- function(device, open) {
	repeat {
		file <- page_file(device, device$page)
		over <- !open || file.exists(page_file(device, device$page + 1L))
		if (!over || !file.exists(file))
			return(device)
		if (isTRUE(quietly(is_blank(device, file))))
			unlink(file)
		else
			publish(file, "png", device$drawn_by, dpi = PAGE_DPI)
		device$page <- device$page + 1L
		device$drawn_by <- NULL
	}
}

# Make artifacts of all pages that are over, and forget the devices that are closed.
publish_finished <- function() {
	open <- vapply(devices, `[[`, "", "pattern") %in% device_files()
	for (at in which(vapply(devices, function(device) device$pid == Sys.getpid(), NA)))
		devices[[at]] <<- publish_pages(devices[[at]], open[at])
	devices <<- devices[open]
	invisible()
}

# Close our devices, which ends their pages.
finish_pages <- function() {
	for (device in devices[vapply(devices, function(d) d$pid == Sys.getpid(), NA)]) {
		number <- match(device$pattern, device_files())
		if (!is.na(number))
			quietly(grDevices::dev.off(number))
	}
	publish_finished()
}

# A forked child has its parent's device and would write its parent's files: it gets its own.
leave_parents_device <- function() {
	at <- current_device()
	if (!hooks_rest && at > 0 && devices[[at]]$pid != Sys.getpid())
		open_device()
}

# Whose function begins the page: a package that draws in its own way, or R.
drawing_package <- function() {
	homes <- vapply(seq_len(sys.nframe()), function(n)
		environmentName(topenv(environment(sys.function(n)))), "")
	known <- intersect(c("ggplot2", "lattice"), homes)
	if (length(known) > 0) known[1] else if ("grid" %in% homes) "r-grid" else "r-base"
}

page_began <- function() {
	if (hooks_rest)
		return(invisible())
	package <- drawing_package()
	publish_finished()
	at <- current_device()
	# The first on a page says what it is; others are parts of it.
	if (at > 0 && is.null(devices[[at]]$drawn_by))
		devices[[at]]$drawn_by <<- package
	invisible()
}

install_pages <- function() {
	if (!isTRUE(quietly(capabilities("cairo")[[1]])))
		return(invisible())
	options(device = open_device)
	for (name in c("before.plot.new", "before.grid.newpage"))
		setHook(name, function(...) leave_parents_device())
	for (name in c("plot.new", "grid.newpage"))
		setHook(name, function(...) page_began())
	# What the user closed is an artifact at the end of the expression that did.
	addTaskCallback(function(...) {
		if (length(devices) > 0)
			publish_finished()
		TRUE
	}, name = "llm-sandbox")
	# At every end of R but a kill, also after an error, and before R closes the devices itself.
	reg.finalizer(environment(install_pages), function(...) finish_pages(), onexit = TRUE)
	invisible()
}
