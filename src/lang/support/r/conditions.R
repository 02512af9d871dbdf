# SPDX-License-Identifier: MIT
#
# Warnings and errors, told on stderr as R tells them at its top level.

WARNING_LIMIT <- 50L # that are kept, as R does
TRACE_LIMIT <- 50L   # calls that are shown

kept_warnings <- list() # of the expression that is evaluated
last_warnings <- list() # what warnings() says: messages, and their calls under these names

tell <- function(...) cat(..., "\n", sep = "", file = stderr())

one_line <- function(call) {
	lines <- deparse(call, nlines = 2)
	if (length(lines) > 1) paste(lines[1], "...") else lines
}

# What the cell itself is to R: calls of ours.
ours <- list(quote(eval(expression, globalenv())),
	quote(parse(text = lines, keep.source = TRUE, srcfile = srcfilecopy(name, lines))))

# Who raised the condition; NULL for the cell itself.
raised_by <- function(condition) {
	call <- conditionCall(condition)
	if (any(vapply(ours, identical, NA, call))) NULL else call
}

# "Error in f(x) : message", on two lines where one would be too long.
headline <- function(word, condition) {
	message <- conditionMessage(condition)
	call <- raised_by(condition)
	if (is.null(call))
		return(paste0(word, ": ", message))
	first <- paste0(word, " in ", one_line(call), " : ")
	if (nchar(first, "w") + nchar(sub("\n.*", "", message), "w") > 77)
		first <- paste0(first, "\n  ")
	paste0(first, message)
}

# Do with a warning what the option `warn` says.
keep_warning <- function(condition) {
	level <- getOption("warn")
	if (level >= 2)
		return() # R makes an error of it
	if (level == 1)
		tell(headline("Warning", condition))
	else if (level == 0 && length(kept_warnings) < WARNING_LIMIT)
		kept_warnings[[length(kept_warnings) + 1]] <<- condition
	invokeRestart("muffleWarning")
}

# At the end of an expression, as R does.
tell_warnings <- function() {
	if (length(kept_warnings) == 0)
		return()
	calls <- lapply(kept_warnings, raised_by)
	names(calls) <- vapply(kept_warnings, conditionMessage, "")
	kept_warnings <<- list()
	last_warnings <<- calls
	if (length(calls) > 10)
		tell("There were ", length(calls), if (length(calls) == WARNING_LIMIT) " or more",
			" warnings (use warnings() to see them)")
	else
		tell(paste(utils::capture.output(print(structure(calls, class = "warnings"))),
			collapse = "\n"))
}

# In the place of R's own, which finds the warnings where only R can put them.
warnings_of_cells <- function(original) function(...)
	if (length(last_warnings) > 0) structure(last_warnings, class = "warnings")

quiet <- function(code) tryCatch(suppressWarnings(code), error = function(e) NULL)

# Where a call stands: " at cell-3#2".
place <- function(call) {
	source <- attr(call, "srcref")
	if (is.null(source))
		return("")
	paste0(" at ", attr(source, "srcfile")$filename, "#", source[1])
}

# The calls of the cell that led to the error, the last first, as traceback() shows them.
tell_error <- function(condition, calls) {
	tell(headline("Error", condition))
	shown <- utils::head(rev(seq_along(calls)), TRACE_LIMIT)
	for (n in shown)
		tell(n, ": ", one_line(calls[[n]]), place(calls[[n]]))
	if (length(calls) > TRACE_LIMIT)
		tell("...")
}
