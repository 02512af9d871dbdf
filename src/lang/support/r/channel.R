# SPDX-License-Identifier: MIT
#
# Messages to and from the host: a length of 32 bits, little-endian, and JSON. R knows no JSON;
# what the host sends is one object of texts, numbers, true and false, and so is what it gets.

MESSAGE_LIMIT <- 4194304L
TEXT_LIMIT <- 262144L # of a text in a message, in letters: JSON may make six of each

host <- NULL # list(input, output, input_is)

# The socket is descriptor 0. file("stdin") makes a copy of it, after which 0 can be closed, and
# what is opened next becomes 0. R can mark no descriptor as close-on-exec, so programs that a cell
# starts have the copies.
open_channel <- function() {
	input <- file("stdin", "rb", raw = TRUE)
	output <- file("stdin", "wb", raw = TRUE)
	utils::getFromNamespace("closeFD", "parallel")(0L)
	host <<- list(input = input, output = output, nothing = file("/dev/null", "rb"),
		pid = Sys.getpid())
}

unescape <- function(text) {
	if (!grepl("\\", text, fixed = TRUE))
		return(text)
	pattern <- "\\\\(u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
	matches <- gregexpr(pattern, text, perl = TRUE)
	found <- regmatches(text, matches)[[1]]
	known <- unique(found)
	values <- vapply(known, unescape_one, "")
	regmatches(text, matches) <- list(values[match(found, known)])
	text
}

unescape_one <- function(escape) {
	plain <- c(b = "\b", f = "\f", n = "\n", r = "\r", t = "\t")
	letter <- substr(escape, 2, 2)
	if (letter != "u")
		return(if (letter %in% names(plain)) plain[[letter]] else letter)
	units <- strtoi(substring(escape, c(3, 9), c(6, 12)), 16L)
	if (!is.na(units[2]))
		return(intToUtf8((units[1] - 0xd800) * 1024 + units[2] - 0xdc00 + 0x10000))
	# R's texts hold no zero, and UTF-8 no half of a pair.
	if (units[1] == 0 || (units[1] >= 0xd800 && units[1] < 0xe000)) "\ufffd"
	else intToUtf8(units[1])
}

parse_value <- function(token) switch(token, "true" = TRUE, "false" = FALSE, "null" = NULL,
	if (startsWith(token, "\"")) unescape(substr(token, 2, nchar(token) - 1)) else as.numeric(token))

parse_message <- function(text) {
	tokens <- regmatches(text, gregexpr(
		"\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"|[^\\s{}:,\"]++", text, perl = TRUE))[[1]]
	keys <- tokens[c(TRUE, FALSE)]
	stats::setNames(lapply(tokens[c(FALSE, TRUE)], parse_value), substr(keys, 2, nchar(keys) - 1))
}

json_text <- function(text) {
	text <- iconv(enc2utf8(as.character(text)[1]), "UTF-8", "UTF-8", sub = "\ufffd")
	if (nchar(text) > TEXT_LIMIT)
		text <- paste0(substr(text, 1, TEXT_LIMIT), " \u2026")
	text <- gsub("\\", "\\\\", text, fixed = TRUE)
	text <- gsub("\"", "\\\"", text, fixed = TRUE)
	for (code in intersect(unique(utf8ToInt(text)), c(1:31, 127)))
		text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
	paste0("\"", text, "\"")
}

# The next message, or NULL at the end.
receive <- function() {
	size <- readBin(host$input, "integer", 1, size = 4, endian = "little")
	if (length(size) == 0 || size < 0 || size > MESSAGE_LIMIT)
		return(NULL)
	data <- readBin(host$input, "raw", size)
	if (length(data) < size)
		return(NULL)
	text <- rawToChar(data)
	Encoding(text) <- "UTF-8"
	parse_message(text)
}

send <- function(...) {
	fields <- list(...)
	values <- vapply(fields, function(value) {
		if (length(value) == 0) "[]"
		else if (is.character(value)) json_text(value)
		else format(value, scientific = FALSE)
	}, "")
	text <- paste0("{", paste0("\"", names(fields), "\":", values, collapse = ","), "}")
	data <- charToRaw(enc2utf8(text))
	# A child that a cell forked has no host.
	if (Sys.getpid() == host$pid) {
		writeBin(length(data), host$output, size = 4, endian = "little")
		writeBin(data, host$output)
		flush(host$output)
	}
}
