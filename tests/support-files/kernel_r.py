# SPDX-License-Identifier: MIT
"""What the kernel of R promises beyond what all do."""
import os

from kernel_host import SUPPORT
from png import Picture


def values_are_printed_as_rscript_prints_them(_, kernel, __):
    assert kernel.run("1:3\nx <- 5\ninvisible(6)\n'a'").out == '[1] 1 2 3\n[1] "a"\n'
    assert kernel.run("data.frame(a = 1:2)").out == "  a\n1 1\n2 2\n"
    assert kernel.run("setClass('P', representation(x = 'numeric')); new('P', x = 3)").out == (
        'An object of class "P"\nSlot "x":\n[1] 3\n\n')
    assert kernel.run("NULL").out == "NULL\n"
    kernel.run("7")
    assert kernel.run(".Last.value").out == "[1] 7\n"


def warnings_are_told_after_their_expression(_, kernel, __):
    cell = kernel.run("f <- function() warning('w')\nf()\nmessage('after')")
    assert cell.status == "ok" and cell.err == "Warning message:\nIn f() : w\nafter\n", cell
    assert kernel.run("as.integer('x')").err == (
        "Warning message:\nNAs introduced by coercion\n")
    kernel.run("for (i in 1:12) warning(i)")
    assert "12: 12" in kernel.run("warnings()").out
    cell = kernel.run("options(warn = 2)\nas.integer('x')")
    assert cell.status == "error" and "converted from warning" in cell.err, cell


def an_error_says_where_it_came_from(_, kernel, __):
    kernel.run("g <- function() stop('boom')\nf <- function() g()")
    cell = kernel.run("\nf()")
    assert cell.err == "Error in g() : boom\n2: g() at cell-1#2\n1: f() at cell-2#2\n", cell.err
    assert kernel.run("stop('alone')").err == "Error: alone\n"
    cell = kernel.run("f <- function(n) f(n + 1)\nf(1)")
    assert cell.status == "error" and cell.err, cell
    assert kernel.run("tryCatch(stop('x'), error = function(e) 'caught')").out == '[1] "caught"\n'


def the_workspace_is_the_users(_, kernel, __):
    assert kernel.run("ls(all.names = TRUE)").out == "character(0)\n"


def plots_of_a_cell_are_shown_at_its_end(_, kernel, __):
    profile = os.path.join(SUPPORT, "r/profile.R")
    with type(kernel)("r", kernel.work, {"LLM_SANDBOX_ARTIFACTS": kernel.artifacts,
                                         "R_PROFILE_USER": profile}) as hooked:
        cell = hooked.run("barplot(1, col = '#ff0000')\nabline(h = 0.5)")
        assert cell.displays == [1] and cell.out == "", cell
        assert Picture(os.path.join(kernel.artifacts, "000001.png")).share(255, 0, 0) > 0.1
        assert hooked.run("for (i in 1:3) plot(i)").displays == [2, 3, 4]
        assert hooked.run("1").displays == []
        assert hooked.run("plot(1)\nstop('no')").displays == [5]
        assert hooked.run("png('own.png'); plot(1); invisible(dev.off())").displays == []


TESTS = [values_are_printed_as_rscript_prints_them, warnings_are_told_after_their_expression,
         an_error_says_where_it_came_from, the_workspace_is_the_users,
         plots_of_a_cell_are_shown_at_its_end]
