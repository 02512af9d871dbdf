# SPDX-License-Identifier: MIT
"""What the kernel of Ruby promises beyond what all do."""


def assignments_and_definitions_are_not_shown(_, kernel, __):
    for code in ("x = 5", "@x = 5", "$x = 5", "X = 5", "a, b = 1, 2", "x += 1", "x ||= 2",
                 "def f = 1", "class C; end", "x = 1\ny = 2"):
        assert kernel.run(code).text is None, code
    assert kernel.run("[x, 'a', :b, nil]").text == '[1, "a", :b, nil]'


def an_error_says_where_it_came_from(_, kernel, __):
    kernel.run("def g\n  raise ArgumentError, 'boom'\nend")
    cell = kernel.run("begin\n  g\nrescue => e\n  raise 'again'\nend")
    assert "cell-1:2:in `g': boom (ArgumentError)" in cell.err, cell.err
    assert "cell-2:4:in `rescue in <main>': again (RuntimeError)" in cell.err, cell.err


def every_way_to_exit_ends_the_cell_alone(_, kernel, __):
    for code, status, said in (("exit", 0, ""), ("exit! 4", 4, ""), ("abort 'no'", 1, "no\n"),
                               ("Process.exit(5)", 5, ""), ("Process.exit!(6)", 6, "")):
        cell = kernel.run(code)
        assert (cell.status, cell.exit_code, cell.err) == ("exit", status, said), (code, cell)


def a_forked_child_ends_as_it_would(_, kernel, __):
    cell = kernel.run("a = fork { exit! 7 }\nb = fork { raise 'child' }\nc = fork { exit 3 }\n"
                      "[a, b, c].map { |pid| Process.wait2(pid)[1].exitstatus }")
    assert cell.text == "[7, 1, 3]" and "child (RuntimeError)" in cell.err, cell


def a_trap_of_a_cell_is_the_cells_alone(_, kernel, __):
    kernel.run("trap('INT') { }")
    assert kernel.run_interrupted("puts 'begun'\nloop { }").status == "interrupted"


TESTS = [assignments_and_definitions_are_not_shown, an_error_says_where_it_came_from,
         every_way_to_exit_ends_the_cell_alone, a_forked_child_ends_as_it_would,
         a_trap_of_a_cell_is_the_cells_alone]
