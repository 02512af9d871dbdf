# SPDX-License-Identifier: MIT
"""What the kernel of JavaScript promises beyond what all do."""
import os

LATER = "new Promise(resolve => setTimeout(resolve, %d))"


def await_stands_at_the_top_level(_, kernel, __):
    cell = kernel.run(f"await {LATER % 5}; const x = await Promise.resolve(41); x + 1")
    assert cell.text == "42", cell
    assert kernel.run("x").text == "41"
    assert kernel.run("for await (const n of [1, 2]) console.log(n)").out == "1\n2\n"


def any_name_may_be_declared_again(_, kernel, __):
    for words in (("const", "const"), ("const", "let"), ("let", "const"), ("let", "let"),
                  ("var", "const"), ("var", "let"), ("const", "var"), ("let", "var")):
        name = "_".join(words)
        for n, word in enumerate(words):
            cell = kernel.run(f"{word} {name} = {n}; {name}")
            assert cell.text == str(n), (words, cell)
    kernel.run("class P { x = 1 }\nfunction f() { return 1 }")
    assert kernel.run("class P { x = 2 }\nfunction f() { return 2 }\nnew P().x + f()").text == "4"


def values_are_shown_as_in_nodes_console(_, kernel, __):
    assert kernel.run("[1, 'a', new Map([[1, 2]])]").text == "[ 1, 'a', Map(1) { 1 => 2 } ]"
    assert kernel.run("{ a: 1 }").text == "{ a: 1 }"
    assert kernel.run("null").text == "null"
    assert kernel.run("let nothing").text is None
    assert "node:" not in kernel.run("new Error('shown')").text
    assert kernel.run("({ [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } })").status == "ok"


def modules_are_imported_in_every_way(_, kernel, __):
    with open(os.path.join(kernel.work, "own.mjs"), "w", encoding="utf-8") as file:
        file.write("export default 5;\nexport const six = 6;\n")
    with open(os.path.join(kernel.work, "old.js"), "w", encoding="utf-8") as file:
        file.write("module.exports = { seven: 7 };\n")
    cell = kernel.run("import five, { six as s } from './own.mjs';\nimport * as path from 'node:path'\n"
                      "import 'fs';\nfive + s + path.join('a', 'b') + "
                      "require('./old').seven + (await import('./own.mjs')).six")
    assert cell.text == "'11a/b76'" and cell.err == "", cell
    cell = kernel.run("import {\n  six,\n} from './own.mjs'\n\nnull.x")
    assert "cell-2:5" in cell.err, cell
    assert kernel.run("import nope from 'nope'").status == "error"
    assert kernel.run("require.main === module").text == "true"
    text = "`import a from 'b' ${'import(1)'}` + /import('x')/.source // import x from 'y'"
    assert kernel.run(text).text == '''"import a from 'b' import(1)import('x')"'''


def what_nobody_catches_ends_the_cell_alone(_, kernel, __):
    cell = kernel.run("Promise.reject(new Error('unhandled')); 5")
    assert cell.status == "error" and "unhandled" in cell.err, cell
    cell = kernel.run(f"setTimeout(() => {{ throw new Error('timer') }}, 5); await {LATER % 60000}")
    assert cell.status == "error" and cell.error["message"] == "timer", cell
    assert kernel.run("setTimeout(() => { throw new Error('between') }, 20); 5").status == "ok"
    kernel.wait_output("between", "err")
    assert kernel.run("throw 'text'").error == {
        "op": "error", "id": 4, "name": "string", "message": "'text'"}
    assert kernel.run("1").text == "1"


def an_exit_cannot_be_caught(_, kernel, __):
    cell = kernel.run("try { process.exit(4) } catch { console.log('caught') } "
                      "finally { console.log('finally') }")
    assert (cell.status, cell.exit_code, cell.out) == ("exit", 4, ""), cell
    cell = kernel.run("await 1; process.exit(5)")
    assert (cell.status, cell.exit_code, cell.err) == ("exit", 5, ""), cell
    cell = kernel.run(f"setTimeout(() => process.exit(6), 5); await {LATER % 60000}")
    assert (cell.status, cell.exit_code, cell.err) == ("exit", 6, ""), cell
    assert kernel.run(f"await {LATER % 5}; 1").text == "1"


def a_loop_is_interrupted_wherever_it_runs(_, kernel, __):
    loop = "k++; console.log('begun'); for (;;);"
    kernel.run("var k = 0")
    for n, code in enumerate([
            f"await 1; {loop}",
            f"await {LATER % 5}; {loop}",
            f"setTimeout(() => {{ {loop} }}, 5); await {LATER % 60000}",
            f"setImmediate(() => {{ {loop} }}); await {LATER % 60000}",
            f"try {{ {loop} }} catch {{ }}"]):
        assert kernel.run_interrupted(code).status == "interrupted", code
        assert kernel.run(f"await {LATER % 5}; k").text == str(n + 1), code


TESTS = [await_stands_at_the_top_level, any_name_may_be_declared_again,
         values_are_shown_as_in_nodes_console, modules_are_imported_in_every_way,
         what_nobody_catches_ends_the_cell_alone, an_exit_cannot_be_caught,
         a_loop_is_interrupted_wherever_it_runs]
