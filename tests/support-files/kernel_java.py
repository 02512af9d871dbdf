# SPDX-License-Identifier: MIT
"""What the kernel of Java promises beyond what all do."""


def declarations_of_every_kind_stay(_, kernel, __):
    kernel.run("import java.time.Duration;\nint f(int x) { return x * 2; }\n"
               "record P(int a) { }\nclass C { int y = f(4); }\nenum E { A }")
    assert kernel.run("new P(new C().y)").text == "P[a=8]"
    kernel.run("int f(int x) { return x * 3; }")
    assert kernel.run("new C().y + Duration.ofSeconds(1).toMillis()").text == "1012"
    assert kernel.run('"text"').text == '"text"'
    assert kernel.run("int z = 5").text is None and kernel.run("z = 6").text is None


def an_error_says_where_it_came_from(_, kernel, __):
    kernel.run("int f(int x) {\n\treturn 1 / x;\n}")
    cell = kernel.run("\n\n// so\nint a = 1;\n\nf(0);")
    assert cell.err == ("java.lang.ArithmeticException: / by zero\n"
                        "\tat f(cell-1:2)\n\tat (cell-2:6)\n"), cell.err
    cell = kernel.run('throw new IllegalStateException("bad", new RuntimeException("why"));')
    assert "Caused by: java.lang.RuntimeException: why" in cell.err, cell.err
    cell = kernel.run("int b = 1;\nint c = \"no\";")
    assert cell.err.startswith("cell-4:2: error: incompatible types") and cell.err.endswith(
        "int c = \"no\";\n        ^\n"), cell.err


def an_exit_of_a_class_ends_the_cell_alone(_, kernel, __):
    cell = kernel.run("class A { static void end() { try { System.exit(5); } "
                      "catch (Exception e) { } } }\nA.end();\nSystem.out.println(\"after\");")
    assert (cell.status, cell.exit_code, cell.out, cell.err) == ("exit", 5, "", ""), cell


def a_whole_program_is_a_cell(_, kernel, __):
    cell = kernel.run("public class Main {\n\tpublic static void main(String[] a) {\n"
                      "\t\tSystem.out.println(\"main\");\n\t}\n}\nMain.main(null);")
    assert cell.out == "main\n", cell


def it_starts_in_a_few_seconds(_, kernel, __):
    print(f"# the kernel of Java is ready after {kernel.start_ms:.0f} ms")


TESTS = [declarations_of_every_kind_stay, an_error_says_where_it_came_from,
         an_exit_of_a_class_ends_the_cell_alone, a_whole_program_is_a_cell,
         it_starts_in_a_few_seconds]
