# SPDX-License-Identifier: MIT
#
# Packages that something is changed in, when the program loads them: ggsave() of ggplot2 makes an
# artifact of what it wrote, and a child that parallel forked ends its pages before its own end.

# Replace a function of a package in the package itself, before anybody has a copy of it.
replace_function <- function(package, name, make) quietly({
	namespace <- asNamespace(package)
	original <- get(name, namespace)
	replacement <- make(original)
	unlockBinding(name, namespace)
	assign(name, replacement, namespace)
	lockBinding(name, namespace)
})

when_loaded <- function(package, change) {
	setHook(packageEvent(package, "onLoad"), function(...) quietly(change()))
}

# The file that a call of ggsave() wrote, from its value or else from its arguments.
ggsave_file <- function(value, call, original, frame) {
	if (is.character(value) && length(value) == 1 && file.exists(value))
		return(value)
	arguments <- as.list(match.call(original, call))
	file <- eval(arguments$filename, frame)
	folder <- if (!is.null(arguments$path)) eval(arguments$path, frame)
	if (is.null(folder)) file else file.path(folder, file)
}

# With the arguments of the original, so that whoever looks at them finds them.
saving <- function(original) {
	replacement <- original
	hooks <- environment(saving)
	body(replacement) <- substitute({
		call <- sys.call()
		call[[1]] <- original
		value <- withVisible(eval(call, parent.frame()))
		hooks$publish_copy(hooks$ggsave_file(value$value, call, original, parent.frame()),
			"ggplot2")
		if (value$visible) value$value else invisible(value$value)
	}, list(original = original, hooks = hooks))
	environment(replacement) <- baseenv()
	replacement
}

ending <- function(original) function(...) {
	quietly(finish_pages())
	original(...)
}

install_packages <- function() {
	when_loaded("ggplot2", function() replace_function("ggplot2", "ggsave", saving))
	when_loaded("parallel", function() replace_function("parallel", "mcexit", ending))
}
