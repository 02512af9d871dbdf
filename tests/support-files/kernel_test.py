#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What every kernel promises, with the plain interpreter. Usage: kernel_test.py LANGUAGE [NAME]"""
import os
import shutil
import sys
import tempfile
import time

from kernel_cases import CASES
from kernel_host import COMMANDS, Kernel

EXIT_SKIP = 77


def shown(language, cell):
    """R prints what others send as the result."""
    if language == "r":
        return cell.out.replace("[1] ", "").strip() or None
    return cell.text


def it_says_what_it_is(language, kernel, _):
    assert kernel.ready["language"] == language, kernel.ready
    assert kernel.ready["version"][0].isdigit(), kernel.ready
    assert isinstance(kernel.ready["features"], list)


def a_cell_sees_what_cells_before_it_made(language, kernel, case):
    first, second = case("state")
    cell = kernel.run(first)
    assert (cell.status, cell.exit_code, cell.text) == ("ok", 0, None), cell
    cell = kernel.run(second)
    assert (cell.status, shown(language, cell), cell.err) == ("ok", "42", ""), cell


def a_value_of_nothing_is_not_shown(language, kernel, case):
    cell = kernel.run(case("nothing"))
    assert (cell.status, shown(language, cell)) == ("ok", None), cell


def a_silent_cell_has_no_result(language, kernel, case):
    for code in case("state"):
        cell = kernel.run(code, silent=True)
        assert (cell.status, cell.text) == ("ok", None), cell


def an_empty_cell_does_nothing(language, kernel, _):
    cell = kernel.run("")
    assert (cell.status, cell.text, cell.out, cell.err) == ("ok", None, "", ""), cell


def output_is_there_when_the_cell_is_done(language, kernel, case):
    for _ in range(5):
        assert kernel.run(case("print")).out == "hello\n"


def letters_of_every_kind_arrive(language, kernel, case):
    cell = kernel.run(case("letters"))
    assert cell.out == "é😀\"\\\n", cell


def an_error_is_told_with_the_line_of_the_cell(language, kernel, case):
    code, name, message = case("error")
    cell = kernel.run(code)
    assert cell.status == "error" and cell.exit_code == 1, cell
    assert cell.error["name"] == name and message in cell.error["message"], cell
    assert message in cell.err and "cell-1" in cell.err and "\x1b" not in cell.err, cell
    assert "kernel" not in cell.err.lower(), cell
    cell = kernel.run(case("after_error"))
    assert shown(language, cell) == "5", cell


def what_is_no_program_is_an_error_of_the_cell(language, kernel, case):
    cell = kernel.run(case("wrong"))
    assert cell.status == "error" and cell.error["name"] and cell.err, cell
    assert kernel.run(case("print")).out == "hello\n"


def an_exit_ends_the_cell_alone(language, kernel, case):
    first, second = case("state")
    kernel.run(first)
    cell = kernel.run(case("exit"))
    assert (cell.status, cell.exit_code) == ("exit", 3), cell
    assert cell.out == "before\n" and cell.err == "", cell
    assert shown(language, kernel.run(second)) == "42"


def an_endless_loop_is_interrupted_and_state_stays(language, kernel, case):
    cell = kernel.run_interrupted(case("endless"))
    assert cell.status == "interrupted", cell
    cell = kernel.run(case("after_interrupt"))
    assert shown(language, cell) == "7", cell


def a_sleeping_cell_is_interrupted_and_state_stays(language, kernel, case):
    for _ in range(2):
        cell = kernel.run_interrupted(case("asleep"))
        assert cell.status == "interrupted", cell
        assert shown(language, kernel.run(case("after_interrupt"))) == "7"


def an_interrupt_between_cells_is_ignored(language, kernel, case):
    for _ in range(3):
        kernel.interrupt()
        cell = kernel.run(case("print"))
        assert (cell.status, cell.out) in (("ok", "hello\n"), ("interrupted", ""),
                                           ("interrupted", "hello\n")), cell
    # The signal and the cell come on two ways; a signal that is certainly over stops nothing.
    kernel.interrupt()
    time.sleep(0.2)
    cell = kernel.run(case("print"))
    assert (cell.status, cell.out) == ("ok", "hello\n"), cell


def many_interrupts_at_once_end_no_kernel(language, kernel, case):
    for _ in range(50):
        for _ in range(4):
            kernel.interrupt()
        cell = kernel.run(case("print"))
        assert cell.status in ("ok", "interrupted"), cell


def a_cell_that_takes_the_output_away_takes_it_from_no_other(language, kernel, case):
    for code in case("close_output"):
        cell = kernel.run(code)
        assert cell.status in ("ok", "error"), cell
        cell = kernel.run(case("print"))
        assert (cell.status, cell.out) == ("ok", "hello\n"), (code, cell)
        assert kernel.run(case("wrong")).err, code


def a_forked_child_is_no_second_kernel(language, kernel, case):
    cell = kernel.run(case("fork"))
    assert cell.status == "ok" and cell.out == "child\n", cell
    for _ in range(3):
        assert kernel.run(case("print")).out == "hello\n"


def a_child_writes_into_the_output_of_the_cell(language, kernel, case):
    cell = kernel.run(case("child"))
    assert cell.out == "child\n", cell


def a_child_does_not_get_the_hosts_descriptor(language, kernel, case):
    cell = kernel.run(case("descriptors"))
    assert "socket:" not in cell.out and "/proc/" in cell.out, cell


def input_is_at_its_end(language, kernel, case):
    cell = kernel.run(case("input"))
    assert cell.out.strip() == "end", cell


def much_output_arrives_whole(language, kernel, case):
    cell = kernel.run(case("much"))
    assert cell.status == "ok" and len(cell.out) == 20000000, (cell.status, len(cell.out))


def a_thread_that_is_left_may_write_between_cells(language, kernel, case):
    cell = kernel.run(case("thread"))
    assert cell.status == "ok", cell
    kernel.wait_output("later\n")
    kernel.take_output()
    assert kernel.run(case("print")).out == "hello\n"


def a_long_cell_arrives_whole(language, kernel, case):
    cell = kernel.run(case("long") % ("x" * 1000000))
    assert shown(language, cell) in ("1000000", "1e+06"), cell


def a_value_that_is_too_long_is_shown_in_part(language, kernel, case):
    cell = kernel.run(case("huge"))
    assert cell.status == "ok" and cell.text.strip("'\"").startswith("xxx"), cell.status
    assert kernel.run(case("print")).out == "hello\n"


def a_message_of_an_error_may_be_of_any_length(language, kernel, case):
    cell = kernel.run(case("huge_error"))
    assert cell.status == "error" and 5000 < len(cell.error["message"]) < 1 << 20, cell.status
    assert kernel.run(case("print")).out == "hello\n"


def a_reset_forgets_what_cells_made(language, kernel, case):
    kernel.run(case("state")[0])
    status = kernel.reset().status
    if status == "exit":  # it is another process that forgets
        assert kernel.process.wait(60) == 0
        return
    assert status == "ok", status
    cell = kernel.run(case("gone"))
    assert cell.status == "error", cell
    assert kernel.run(case("print")).out == "hello\n"


def it_ends_with_its_host(language, kernel, _):
    assert kernel.end() == 0


def it_ends_when_it_is_told_to(language, kernel, _):
    kernel.send({"op": "exit"})
    assert kernel.process.wait(60) == 0


COMMON = [
    it_says_what_it_is, a_cell_sees_what_cells_before_it_made, a_value_of_nothing_is_not_shown,
    a_silent_cell_has_no_result, an_empty_cell_does_nothing, output_is_there_when_the_cell_is_done,
    letters_of_every_kind_arrive, an_error_is_told_with_the_line_of_the_cell,
    what_is_no_program_is_an_error_of_the_cell, an_exit_ends_the_cell_alone,
    an_endless_loop_is_interrupted_and_state_stays, a_sleeping_cell_is_interrupted_and_state_stays,
    an_interrupt_between_cells_is_ignored, many_interrupts_at_once_end_no_kernel,
    a_cell_that_takes_the_output_away_takes_it_from_no_other,
    a_forked_child_is_no_second_kernel, a_child_writes_into_the_output_of_the_cell,
    a_child_does_not_get_the_hosts_descriptor, input_is_at_its_end, much_output_arrives_whole,
    a_thread_that_is_left_may_write_between_cells, a_long_cell_arrives_whole,
    a_value_that_is_too_long_is_shown_in_part, a_message_of_an_error_may_be_of_any_length,
    a_reset_forgets_what_cells_made, it_ends_with_its_host, it_ends_when_it_is_told_to,
]


class NoCase(Exception):
    pass


def special(language):
    try:
        return __import__(f"kernel_{language}").TESTS
    except ModuleNotFoundError:
        return []


def main():
    language, only = sys.argv[1], sys.argv[2:]
    if shutil.which(COMMANDS[language][0]) is None or (
            language == "r" and shutil.which("Rscript") is None):
        print(f"there is no {language} on this machine")
        return EXIT_SKIP

    def case(name):
        if language not in CASES[name]:
            raise NoCase
        return CASES[name][language]

    failed = 0
    for test in COMMON + special(language):
        if only and test.__name__ not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            artifacts = os.path.join(folder, "artifacts")
            work = os.path.join(folder, "work")
            os.mkdir(artifacts)
            os.mkdir(work)
            env = {"LLM_SANDBOX_ARTIFACTS": artifacts}
            try:
                begin = time.monotonic()
                with Kernel(language, work, env) as kernel:
                    kernel.artifacts, kernel.work = artifacts, work
                    kernel.start_ms = (time.monotonic() - begin) * 1000
                    test(language, kernel, case)
                print(f"ok {test.__name__}", flush=True)
            except NoCase:
                pass
            except Exception as trouble:
                failed += 1
                print(f"not ok {test.__name__}: {type(trouble).__name__} {str(trouble)[:2000]}",
                      flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
