# SPDX-License-Identifier: MIT
#
# Widgets (htmlwidgets, and so plotly, leaflet, DT and others) that are printed become one HTML
# file each, with everything in it that they would load from files beside them.
#
# They write a page and its files into a temporary folder and hand it to the viewer, which in a
# program that is not interactive nobody is. We are it.

# Who prints by handing to the viewer, but only where somebody looks on.
viewed <- c(htmlwidgets = "htmlwidget", gt = "gt_tbl")

read_text <- function(file) {
	text <- readChar(file, file.size(file), useBytes = TRUE)
	Encoding(text) <- "UTF-8"
	text
}

media_types <- c(css = "text/css", js = "text/javascript", mime_types, gif = "image/gif",
	woff = "font/woff", woff2 = "font/woff2", ttf = "font/ttf", eot = "application/vnd.ms-fontobject")

# The file that an address in a page of this folder means; NA where it is none of the folder's.
local_file <- function(address, base) {
	path <- utils::URLdecode(sub("[?#].*", "", address))
	if (grepl("^([A-Za-z][A-Za-z0-9+.-]*:|//|#|$)", path))
		return(NA_character_)
	file <- file.path(base, path)
	if (file.exists(file) && !dir.exists(file)) file else NA_character_
}

data_address <- function(file) {
	extension <- tolower(sub(".*[.]", "", file))
	type <- media_types[extension]
	if (is.na(type))
		type <- "application/octet-stream"
	paste0("data:", type, ";base64,",
		gsub("\n", "", jsonlite::base64_enc(readBin(file, "raw", file.size(file))), fixed = TRUE))
}

# Replace each match of the pattern (whose first group is an address) by what `make` says of its
# file; what has no file stays.
replace_addresses <- function(text, pattern, base, make) {
	matches <- gregexpr(pattern, text, perl = TRUE)
	regmatches(text, matches) <- list(vapply(regmatches(text, matches)[[1]], function(match) {
		file <- local_file(sub(pattern, "\\1", match, perl = TRUE), base)
		if (is.na(file)) match else make(file, match)
	}, ""))
	text
}

inline_style <- function(file) {
	replace_addresses(read_text(file), "url\\([\"']?([^\"')]+)[\"']?\\)", dirname(file),
		function(file, match) paste0("url(", data_address(file), ")"))
}

# A script must not end the element that it stands in.
inline_script <- function(file) gsub("</(script)", "<\\\\/\\1", read_text(file), ignore.case = TRUE)

inline_page <- function(file) {
	base <- dirname(file)
	text <- read_text(file)
	text <- replace_addresses(text, "<script[^>]*\\ssrc=\"([^\"]+)\"[^>]*>\\s*</script>", base,
		function(file, match) paste0("<script>\n", inline_script(file), "\n</script>"))
	text <- replace_addresses(text, "<link[^>]*\\shref=\"([^\"]+)\"[^>]*stylesheet[^>]*>", base,
		function(file, match) paste0("<style>\n", inline_style(file), "\n</style>"))
	replace_addresses(text, "(?<=src=\")([^\"]+)(?=\")", base,
		function(file, match) data_address(file))
}

# What getOption("viewer") is: an address of a file, or one that is elsewhere and not ours.
view <- function(url, ...) {
	file <- sub("^file://", "", url)
	if (file.exists(file))
		publish_page(file)
	invisible()
}

publish_page <- function(file) quietly({
	whole <- temporary_name(".html")
	writeLines(inline_page(file), whole, useBytes = TRUE)
	publish(whole, "html", printed, kind = "display")
})

# What is being printed, for the page that comes of it.
printed <- "html"

print_for_viewer <- function(original, package) function(x, ...) {
	before <- printed
	printed <<- if (inherits(x, "plotly")) "plotly" else package
	on.exit(printed <<- before)
	original(x, ..., view = TRUE)
	invisible(x)
}

install_widgets <- function() {
	if (is.null(getOption("viewer")))
		options(viewer = view)
	for (package in names(viewed)) local({
		package <- package
		class <- viewed[[package]]
		when_loaded(package, function() {
			original <- utils::getS3method("print", class, envir = asNamespace(package))
			if ("view" %in% names(formals(original)))
				registerS3method("print", class, print_for_viewer(original, package),
					envir = baseenv())
		})
	})
}
