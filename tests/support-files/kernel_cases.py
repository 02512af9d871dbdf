# SPDX-License-Identifier: MIT
"""What each promise of a kernel is in each language. A language without a row of a promise has
nothing of the kind."""

CASES = {
    # Two cells: the second sees what the first made, and ends in an expression worth "42".
    "state": {
        "python": ("x = 41", "x + 1"),
        "javascript": ("let x = 41;", "x + 1"),
        "ruby": ("x = 41", "x + 1"),
        "r": ("x <- 41", "x + 1"),
        "java": ("int x = 41;", "x + 1"),
    },
    "nothing": {
        "python": "None",
        "javascript": "undefined",
        "ruby": "nil",
        "r": "invisible(5)",
        "java": ";",
    },
    # Write "hello" and a new line.
    "print": {
        "python": "print('hello')",
        "javascript": "console.log('hello')",
        "ruby": "puts 'hello'",
        "r": "cat('hello\\n')",
        "java": "System.out.println(\"hello\");",
    },
    # An error in line 2 of the cell: code, name, part of the message.
    "error": {
        "python": ("y = 5\n1/0", "ZeroDivisionError", "division by zero"),
        "javascript": ("var y = 5;\nnull.f()", "TypeError", "null"),
        "ruby": ("y = 5\n1/0", "ZeroDivisionError", "divided by 0"),
        "r": ("y <- 5\nf <- function() stop('boom')\nf()", "simpleError", "boom"),
        "java": ("int y = 5;\nint z = 1 / (y - 5);", "java.lang.ArithmeticException", "by zero"),
    },
    # What an error leaves of the cell before: code worth "5".
    "after_error": {
        "python": "y", "javascript": "y", "ruby": "y", "r": "y", "java": "y",
    },
    "wrong": {
        "python": "def (", "javascript": "let = = 3", "ruby": "def (", "r": "x <- <- 2",
        "java": "int = = 3;",
    },
    # Print "before", end with 3, and never print "after".
    "exit": {
        "python": "print('before')\nimport sys\nsys.exit(3)\nprint('after')",
        "javascript": "console.log('before'); process.exit(3); console.log('after')",
        "ruby": "puts 'before'\nexit 3\nputs 'after'",
        "r": "cat('before\\n')\nquit(status = 3)\ncat('after\\n')",
        "java": "System.out.println(\"before\"); System.exit(3); System.out.println(\"after\");",
    },
    "endless": {
        "python": "k = 7\nprint('begun', flush=True)\nwhile True: pass",
        "javascript": "var k = 7; console.log('begun'); while (true) {}",
        "ruby": "k = 7\nputs 'begun'\nwhile true do end",
        "r": "k <- 7\ncat('begun\\n')\nwhile (TRUE) {}",
        "java": "int k = 7;\nSystem.out.println(\"begun\");\nwhile (true) {}",
    },
    "asleep": {
        "python": "k = 7\nprint('begun', flush=True)\nimport time\ntime.sleep(600)",
        "javascript": "var k = 7; console.log('begun'); "
                      "await new Promise(resolve => setTimeout(resolve, 600000))",
        "ruby": "k = 7\nputs 'begun'\nsleep 600",
        "r": "k <- 7\ncat('begun\\n')\nSys.sleep(600)",
        "java": "int k = 7;\nSystem.out.println(\"begun\");\nThread.sleep(600000);",
    },
    "after_interrupt": {
        "python": "k", "javascript": "k", "ruby": "k", "r": "k", "java": "k",
    },
    "close_output": {
        "python": ["import os; os.close(1)", "import sys; sys.stdout.close()",
                   "import sys, io; sys.stdout = io.StringIO()"],
        "javascript": ["require('fs').closeSync(1)", "process.stdout.end()",
                       "process.stdout.write = () => true",
                       "Object.defineProperty(process, 'stdout', {value: null})"],
        "ruby": ["$stdout.close", "STDOUT.reopen('/dev/null')", "$stdout = StringIO.new",
                 "IO.for_fd(1).close"],
        "r": ["sink('/dev/null')", "sink(tempfile()); sink(tempfile())",
              "f <- file('/dev/null', 'w'); sink(f, type = 'message')"],
        "java": ["System.out.close();",
                 "System.setOut(new PrintStream(OutputStream.nullOutputStream()));"],
    },
    # A child is made that goes on with the cell and prints "child".
    "fork": {
        "python": "import os\npid = os.fork()\nif pid == 0: print('child', flush=True)\n"
                  "else: os.waitpid(pid, 0)\nNone",
        "ruby": "pid = fork\nif pid.nil?\n  puts 'child'\nelse\n  Process.wait(pid)\nend\nnil",
        "r": "p <- parallel:::mcfork()\nif (inherits(p, 'masterProcess')) cat('child\\n') else "
             "invisible(parallel:::selectChildren(p, 10))",
    },
    # A program is run that writes "child".
    "child": {
        "python": "import subprocess; subprocess.run(['echo', 'child']) and None",
        "javascript": "require('child_process').spawnSync('echo', ['child'], {stdio: 'inherit'}); 0",
        "ruby": "system('echo', 'child')",
        "r": "invisible(system2('echo', 'child'))",
        "java": "new ProcessBuilder(\"echo\", \"child\").inheritIO().start().waitFor();",
    },
    # A child that lists the descriptors that it was given, as text.
    "descriptors": {
        "python": "import subprocess; subprocess.run(['ls', '-l', '/proc/self/fd']) and None",
        "javascript": "require('child_process').spawnSync('ls', ['-l', '/proc/self/fd'], "
                      "{stdio: 'inherit'}); 0",
        "ruby": "system('ls', '-l', '/proc/self/fd')",
        "java": "new ProcessBuilder(\"ls\", \"-l\", \"/proc/self/fd\").inheritIO().start().waitFor();",
    },
    # Reads a line; prints "end" where there is none.
    "input": {
        "python": "try:\n    input()\nexcept EOFError:\n    print('end')",
        "javascript": "console.log(require('fs').readFileSync(0, 'utf8') === '' ? 'end' : 'more')",
        "ruby": "puts(gets.nil? ? 'end' : 'more')",
        "r": "cat(if (length(readLines(stdin(), 1)) == 0 && length(readLines('stdin', 1)) == 0) "
             "'end' else 'more')",
        "java": "System.out.println(System.in.read() == -1 ? \"end\" : \"more\");",
    },
    # 20 MB.
    "much": {
        "python": "import sys\nfor _ in range(20): sys.stdout.write('x' * 1000000)\nNone",
        "javascript": "for (let i = 0; i < 20; i++) process.stdout.write('x'.repeat(1000000)); 0",
        "ruby": "20.times { $stdout.write('x' * 1000000) }; nil",
        "r": "for (i in 1:20) cat(strrep('x', 1000000))",
        "java": "for (int i = 0; i < 20; i++) System.out.print(\"x\".repeat(1000000));",
    },
    # What stays when the cell is over and prints "later" a moment after.
    "thread": {
        "python": "import threading, time\n"
                  "threading.Thread(target=lambda: (time.sleep(0.3), print('later', flush=True))).start()",
        "javascript": "setTimeout(() => console.log('later'), 300); 0",
        "ruby": "Thread.new { sleep 0.3; puts 'later' }; nil",
        "java": "new Thread(() -> { try { Thread.sleep(300); } catch (InterruptedException e) { } "
                "System.out.println(\"later\"); }).start();",
    },
    # A value that is the length of a text of one letter, one that needs two UTF-16 units, and
    # a quote: prints the text.
    "letters": {
        "python": "print('é😀\"\\\\')", "javascript": "console.log('é😀\"\\\\')",
        "ruby": "puts 'é😀\"\\\\'", "r": "cat('é😀\"\\\\\\n')",
        "java": "System.out.println(\"é😀\\\"\\\\\");",
    },
    # The value as text; %s is a long text.
    "long": {
        "python": "len('%s')", "javascript": "'%s'.length", "ruby": "'%s'.length",
        "r": "nchar('%s')",
    },
    # A value that is longer than a message may be.
    "huge": {
        "python": "'x' * 10000000", "javascript": "'x'.repeat(10000000)",
        "ruby": "'x' * 10000000", "java": "\"x\".repeat(10000000)",
    },
    # The same as the message of an error, of letters that JSON writes as six.
    "huge_error": {
        "python": "raise ValueError('\\x01' * 5000000)",
        "javascript": "throw new Error('\\x01'.repeat(5000000))",
        "ruby": "raise \"\\x01\" * 5000000", "r": "stop(strrep('\\001', 5000000))",
        "java": "throw new RuntimeException(\"\\1\".repeat(5000000));",
    },
    # A name that is no longer there is an error of this kind.
    "gone": {
        "python": "x", "javascript": "x", "ruby": "x", "r": "x", "java": "x",
    },
}
