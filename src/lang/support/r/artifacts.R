# SPDX-License-Identifier: MIT
#
# Artifacts: a file NNNNNN.EXT in the folder `folder`, and NNNNNN.meta that says what it is.
#
# A number is claimed by making NNNNNN.meta, as a link to a file that is whole already, which
# fails where it is taken: so no two processes ever have the same. No failure here may disturb
# the program, so everything is quiet and says by its value whether it went well.

# Told of each number; the kernel puts itself here.
on_artifact <- function(number) NULL

next_number <- max(1L, suppressWarnings(as.integer(
	Sys.getenv("LLM_SANDBOX_ARTIFACTS_FIRST", "1"))), na.rm = TRUE)

mime_types <- c(png = "image/png", jpeg = "image/jpeg", jpg = "image/jpeg", svg = "image/svg+xml",
	pdf = "application/pdf", html = "text/html", tex = "application/x-tex",
	tiff = "image/tiff", tif = "image/tiff", bmp = "image/bmp", eps = "application/postscript",
	ps = "application/postscript", wmf = "image/wmf", emf = "image/emf", webp = "image/webp")

quietly <- function(code, otherwise = NULL)
	tryCatch(suppressWarnings(suppressMessages(code)), error = function(e) otherwise)

# A name in the folder that nobody looks at, and no other process has.
temporary_name <- local({
	count <- 0L
	function(rest) {
		count <<- count + 1L
		file.path(folder, sprintf(".tmp-r-%d-%d%s", Sys.getpid(), count, rest))
	}
})

json_string <- function(text) {
	text <- enc2utf8(text)
	if (!validUTF8(text))
		text <- iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
	text <- gsub("\\", "\\\\", text, fixed = TRUE)
	text <- gsub("\"", "\\\"", text, fixed = TRUE)
	for (code in grep("[\001-\037\177]", strsplit(text, "")[[1]], value = TRUE))
		text <- gsub(code, sprintf("\\u%04x", utf8ToInt(code)), text, fixed = TRUE)
	paste0("\"", text, "\"")
}

json_object <- function(fields) {
	fields <- fields[!vapply(fields, is.null, NA)]
	values <- vapply(fields, function(value) {
		if (is.character(value)) json_string(value) else format(value, scientific = FALSE)
	}, "")
	paste0("{", paste0("\"", names(fields), "\": ", values, collapse = ", "), "}")
}

# Width and height in pixels, from the head of a PNG file; NULL where it is none.
png_size <- function(file) quietly({
	head <- readBin(file, "raw", 24)
	if (length(head) == 24 && identical(head[2:4], charToRaw("PNG")))
		readBin(head[17:24], "integer", 2, endian = "big")
})

# Claim a number for these words; NA where the folder takes none.
claim_number <- function(meta) {
	whole <- temporary_name(".meta")
	on.exit(unlink(whole))
	writeLines(meta, whole, useBytes = TRUE)
	repeat {
		claim <- file.path(folder, sprintf("%06d.meta", next_number))
		taken <- file.exists(claim)
		if (!taken && file.link(whole, claim))
			break
		if (!taken && !file.exists(claim))
			return(NA_integer_)
		next_number <<- next_number + 1L
	}
	next_number <<- next_number + 1L
	next_number - 1L
}

# Make an artifact of a file that is in the folder under a temporary name.
publish <- function(file, extension, source, ..., kind = "plot") quietly({
	size <- if (extension == "png") png_size(file)
	mime <- if (extension %in% names(mime_types)) mime_types[[extension]]
		else "application/octet-stream"
	number <- claim_number(json_object(list(mime = mime, kind = kind, source = source,
		width = size[1], height = size[2], ...)))
	if (is.na(number))
		unlink(file)
	else if (file.rename(file, file.path(folder, sprintf("%06d.%s", number, extension))))
		on_artifact(number)
})

# Make an artifact of a copy of a file of the user's.
publish_copy <- function(path, source, ...) quietly({
	extension <- tolower(sub(".*[.]", "", basename(path)))
	copy <- temporary_name(paste0(".", extension))
	if (grepl("^[a-z0-9]{1,8}$", extension) && file.exists(path) && file.copy(path, copy))
		publish(copy, extension, source, path = normalizePath(path), ...)
})
