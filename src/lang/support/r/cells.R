# SPDX-License-Identifier: MIT
#
# Cells: evaluated one expression after the other, with visible values printed, as Rscript does
# with a file.

running <- FALSE
at_start <- NULL # packages attached, options

# The hooks that make artifacts of what is drawn, where there are any.
hooks <- NULL

# An end of R in a cell is an end of the cell. Wherever quit() is called from, it is this one.
end_cell <- function(original) function(save = "default", status = 0, runLast = TRUE) {
	if (running && Sys.getpid() == host$pid)
		invokeRestart("llm-sandbox-exit", status)
	original(save, status, runLast)
}

replace_base <- function(name, make) {
	replacement <- make(get(name, baseenv()))
	unlockBinding(name, baseenv())
	assign(name, replacement, baseenv())
	lockBinding(name, baseenv())
}

prepare_cells <- function() {
	replace_base("quit", end_cell)
	replace_base("q", end_cell)
	replace_base("warnings", warnings_of_cells)
	hooks <<- getOption("llm.sandbox.hooks")
	at_start <<- list(search = search(), options = options())
	options(keep.source = TRUE)
}

serve <- function() {
	# R has it by now, since an expression of kernel.R has had a value.
	quiet(unlockBinding(".Last.value", baseenv()))
	send(op = "ready", language = "r",
		version = paste(R.version$major, R.version$minor, sep = "."), features = list())
	while (!is.null(message <- receive())) {
		switch(message$op,
			run = run_cell(message),
			reset = {
				forget()
				send(op = "done", id = message$id, status = "ok", exit_code = 0L)
			},
			exit = break)
	}
}

run_cell <- function(message) {
	if (!is.null(hooks))
		hooks$on_artifact <- function(number)
			send(op = "display", id = message$id, number = number)
	forget_interrupts()
	end <- evaluate(message)
	if (Sys.getpid() != host$pid)
		leave_child(end)
	running <<- FALSE
	restore_output()
	if (!is.null(hooks))
		hooks$finish_pages()
	if (end$status == "error")
		send(op = "error", id = message$id, name = end$name, message = end$message)
	send(op = "done", id = message$id, status = end$status, exit_code = as.integer(end$exit_code))
}

# What becomes of the cell: its status, its exit code, and the error's name and message.
evaluate <- function(message) {
	running <<- TRUE
	told <- FALSE
	tryCatch(withRestarts({
		withCallingHandlers({
			expressions <- parse_cell(message$code, message$name)
			for (n in seq_along(expressions))
				evaluate_one(expressions[n])
		}, warning = keep_warning, error = function(condition) {
			tell_error(condition, cell_calls(sys.calls()))
			told <<- TRUE
		})
		list(status = "ok", exit_code = 0L)
	}, `llm-sandbox-exit` = function(status) {
		list(status = "exit", exit_code = status)
	}), error = function(condition) {
		# Where the stack is used up, nobody was there to tell while it stood.
		if (!told)
			tell_error(condition, list())
		list(status = "error", exit_code = 1L, name = class(condition)[1],
			message = conditionMessage(condition))
	}, interrupt = function(condition) {
		list(status = "interrupted", exit_code = 130L)
	}, finally = quiet(tell_warnings()))
}

# In a function of its own: the calls of the cell are those after this one's.
evaluate_one <- function(expression) {
	value <- allowInterrupts(withVisible(eval(expression, globalenv())))
	quiet(assign(".Last.value", value$value, envir = baseenv()))
	if (value$visible)
		allowInterrupts(print(value$value))
	tell_warnings()
}

# From the call of eval() on, which has two frames of itself, to the handler's.
cell_calls <- function(calls) {
	names <- vapply(calls, function(call) paste(deparse(call[[1]], nlines = 1), ""), "")
	first <- which(names == "eval ")
	last <- which(names %in% c(".handleSimpleError ", "h ", "stop "))
	if (length(first) < 2)
		return(list())
	end <- if (length(last) > 0) min(last[last > first[2]], length(calls) + 1) - 1
		else length(calls) - 1
	if (end > first[2]) as.list(calls)[(first[2] + 1):end] else list()
}

parse_cell <- function(code, name) {
	lines <- strsplit(code, "\n", fixed = TRUE)[[1]]
	parse(text = lines, keep.source = TRUE, srcfile = srcfilecopy(name, lines))
}

# An interrupt that came too late for its cell must not end the next one.
forget_interrupts <- function() {
	repeat {
		done <- tryCatch({
			allowInterrupts(Sys.sleep(0))
			TRUE
		}, interrupt = function(condition) FALSE)
		if (done)
			return()
	}
}

# What a cell diverted and left so.
restore_output <- function() {
	while (sink.number() > 0)
		sink()
	if (sink.number(type = "message") != 2)
		sink(type = "message")
	flush(stdout())
}

# A child that came back from the cell has nothing more to do here.
leave_child <- function(end) {
	utils::getFromNamespace("mcexit", "parallel")(if (end$status == "ok") 0L else end$exit_code)
}

# Forget what the cells made: variables, attached packages, options.
forget <- function() {
	rm(list = ls(globalenv(), all.names = TRUE), envir = globalenv())
	for (name in setdiff(search(), at_start$search))
		quiet(detach(name, character.only = TRUE, force = TRUE))
	options(at_start$options)
	options(keep.source = TRUE)
	gc()
	invisible()
}
