#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an R program draws becomes artifacts, and nothing else of it changes. Usage:
r_plots_test.py [NAME]"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from png import Picture

EXIT_SKIP = 77
PROFILE = os.path.join(os.environ["SBX_SOURCE"], "src/lang/support/r/profile.R")
DEADLINE = 120
RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


class Run:
    """A program that was run with the hooks (or without), and what is there afterwards."""

    def __init__(self, folder, code, hooked=True, **env):
        self.folder = folder
        self.artifacts = os.path.join(folder, "artifacts")
        os.makedirs(self.artifacts, exist_ok=True)
        with open(os.path.join(folder, "main.R"), "w", encoding="utf-8") as file:
            file.write(code)
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", HOME=folder, **env)
        if hooked:
            self.environment.update(R_PROFILE_USER=PROFILE, LLM_SANDBOX_ARTIFACTS=self.artifacts)

    def wait(self):
        done = subprocess.run(["Rscript", "main.R"], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE,
                              text=True)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        return self

    def start(self):
        return subprocess.Popen(["Rscript", "main.R"], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def names(self):
        return sorted(name for name in os.listdir(self.artifacts) if not name.endswith(".meta"))

    def path(self, name):
        return os.path.join(self.artifacts, name)

    def meta(self, name):
        with open(self.path(name.split(".")[0] + ".meta"), encoding="utf-8") as file:
            return json.load(file)

    def pictures(self):
        return [Picture(self.path(name)) for name in self.names()]


def run(folder, code, **more):
    result = Run(folder, code, **more).wait()
    assert result.status == 0 and result.err == "", (result.status, result.out, result.err)
    return result


def pages(count):
    return [f"{n:06}.png" for n in range(1, count + 1)]


def each_page_of_base_graphics_is_an_artifact(folder):
    """Row 71: additions land on their page."""
    result = run(folder, "plot(1:3, col = 'blue', pch = 19)\n"
                 "legend('top', legend = 'a', fill = '#ff0000', cex = 3)\n"
                 "hist(c(1, 2, 2, 3))\nbarplot(1:3, col = '#ff0000')\nboxplot(list(1:4, 2:9))\n")
    assert result.names() == pages(4), result.names()
    assert result.out == "", result.out
    first, _, bars, box = result.pictures()
    assert first.size == (800, 600) and first.share(*RED) > 0.0005, first.size
    assert bars.share(*RED) > 0.1 and box.share(*RED) == 0
    assert not box.is_blank() and box.share(*WHITE) > 0.5
    assert result.meta("000001.png") == {"mime": "image/png", "kind": "plot", "source": "r-base",
                                         "width": 800, "height": 600, "dpi": 100}


def the_users_own_device_is_the_users(folder):
    """Row 72."""
    result = run(folder, "png('own.png', 300, 200)\nplot(1:3, col = 'red', pch = 19, cex = 4)\n"
                 "invisible(dev.off())\npdf('own.pdf')\nplot(1)\ninvisible(dev.off())\n"
                 "svg('own.svg')\nplot(1)\ninvisible(dev.off())\n")
    assert result.names() == [], result.names()
    own = Picture(os.path.join(folder, "own.png"))
    assert own.size == (300, 200) and own.share(*RED) > 0.001
    for name, head in (("own.pdf", b"%PDF"), ("own.svg", b"<?xml")):
        with open(os.path.join(folder, name), "rb") as file:
            assert file.read().startswith(head), name


def the_users_own_device_between_ours_leaves_ours_as_it_is(folder):
    result = run(folder, "plot(1, col = 'white')\npng('own.png')\nplot(1)\ninvisible(dev.off())\n"
                 "points(1, 1, col = '#0000ff', pch = 15, cex = 20)\nplot(2)\n")
    assert result.names() == pages(2), result.names()
    first, second = result.pictures()
    assert first.share(*BLUE) > 0.01 and second.share(*BLUE) == 0


def a_hundred_plots_in_a_loop_are_a_hundred_artifacts(folder):
    """Row 73, and more than R has devices."""
    result = run(folder, "for (i in 1:100) plot(i)\n")
    assert result.names() == pages(100), len(result.names())


def a_hundred_closed_devices_are_a_hundred_artifacts(folder):
    result = run(folder, "for (i in 1:100) { plot(i); dev.off() }\n")
    assert result.names() == pages(100), len(result.names())


def a_layout_is_one_page(folder):
    result = run(folder, "par(mfrow = c(1, 2))\n"
                 "barplot(1, col = '#ff0000')\nbarplot(1, col = '#0000ff')\n")
    assert result.names() == pages(1), result.names()
    picture = result.pictures()[0]
    assert picture.share(*RED) > 0.05 and picture.share(*BLUE) > 0.05


def pie_and_curve_and_image_are_pages(folder):
    result = run(folder, "pie(1, col = '#0000ff')\ncurve(sin, 0, 3)\nimage(matrix(1:4, 2))\n")
    assert result.names() == pages(3), result.names()
    assert result.pictures()[0].share(*BLUE) > 0.1


def what_draws_nothing_makes_no_artifact(folder):
    for code in ("h <- hist(c(1, 2), plot = FALSE)\n", "par(mar = c(1, 1, 1, 1))\n", "plot.new()\n",
                 "x <- 1\n", "dev.new()\n"):
        result = run(folder, code)
        assert result.names() == [], (code, result.names())
        assert not os.path.exists(os.path.join(folder, "Rplots.pdf")), code
    assert not [name for name in os.listdir(result.artifacts) if name.startswith(".tmp")]


def a_page_of_another_size_is_what_dev_new_says(folder):
    result = run(folder, "dev.new(width = 4, height = 3)\nplot(1)\n")
    assert result.pictures()[0].size == (400, 300)


def the_program_is_as_it_is_without(folder):
    code = ("print(ls(all.names = TRUE))\nprint(search())\nprint(commandArgs(TRUE))\n"
            "f <- function() stop('no')\ntry(f())\nwarning('w')\nprint(loadedNamespaces())\n"
            "cat('end\\n')\nstop('the end')\n")
    with tempfile.TemporaryDirectory() as other:
        plain = Run(other, code, hooked=False).wait()
    hooked = Run(folder, code).wait()
    assert (plain.status, plain.out, plain.err) == (hooked.status, hooked.out, hooked.err), (
        plain.out, hooked.out, plain.err, hooked.err)
    assert plain.status == 1


def a_program_that_fails_keeps_what_it_drew(folder):
    result = Run(folder, "plot(1)\nplot(2)\nstop('boom')\n").wait()
    assert result.status == 1 and "boom" in result.err and result.names() == pages(2)


def a_program_that_quits_keeps_what_it_drew_and_its_status(folder):
    result = Run(folder, "plot(1)\nquit(status = 3)\n").wait()
    assert result.status == 3 and result.names() == pages(1), (result.status, result.names())
    assert not result.pictures()[0].is_blank()


def a_program_that_is_killed_keeps_the_pages_that_were_over(folder):
    killed = Run(folder, "plot(1)\nplot(2)\nplot(3)\ncat('drawn\\n')\nrepeat {}\n")
    process = killed.start()
    assert process.stdout.readline() == b"drawn\n"
    process.send_signal(signal.SIGKILL)
    process.wait(DEADLINE)
    process.stdout.close()
    assert killed.names()[-2:] == pages(2), killed.names()
    for name in pages(2):
        assert not Picture(killed.path(name)).is_blank()


def forked_children_draw_pages_of_their_own(folder):
    result = run(folder, "plot(1)\n"
                 "r <- parallel::mclapply(1:3, function(i) { plot(i); i }, mc.cores = 3)\n")
    assert result.names() == pages(4), result.names()
    assert not any(picture.is_blank() for picture in result.pictures())


def numbers_go_on_where_they_are_told_to(folder):
    result = run(folder, "plot(1)\n", LLM_SANDBOX_ARTIFACTS_FIRST="41")
    assert result.names() == ["000041.png"]
    run(folder, "plot(1)\n", LLM_SANDBOX_ARTIFACTS_FIRST="41")
    assert result.names() == ["000041.png", "000042.png"]


def a_folder_that_takes_no_artifacts_is_no_trouble(folder):
    result = run(folder, "unlink(Sys.getenv('LLM_SANDBOX_ARTIFACTS'), recursive = TRUE)\n"
                 "plot(1)\nplot(2)\ncat('end\\n')\n")
    assert result.out == "end\n"


def the_users_own_profile_is_read(folder):
    with open(os.path.join(folder, ".Rprofile"), "w", encoding="utf-8") as file:
        file.write("options(own = 5)\n")
    result = run(folder, "cat(getOption('own'))\nplot(1)\n")
    assert result.out == "5" and result.names() == pages(1)


def lattice_and_ggplot_are_pages(folder):
    result = run(folder, "library(lattice)\nxyplot(1:3 ~ 1:3, col = '#ff0000', pch = 19, cex = 4)\n"
                 "library(ggplot2)\nd <- data.frame(x = 1:2, y = 1:2)\n"
                 "ggplot(d, aes(x, y)) + geom_col(fill = '#0000ff')\n"
                 "for (i in 1:2) print(ggplot(d, aes(x, y)) + geom_point())\nplot(1)\n")
    assert result.names() == pages(5), result.names()
    sources = [result.meta(name)["source"] for name in pages(5)]
    assert sources == ["lattice", "ggplot2", "ggplot2", "ggplot2", "r-base"], sources
    first, second = result.pictures()[:2]
    assert first.share(*RED) > 0.001 and second.share(*BLUE) > 0.1
    assert result.out == ""


def ggsave_is_copied_once(folder):
    result = run(folder, "library(ggplot2)\np <- ggplot(data.frame(x = 1:2, y = 1:2), aes(x, y)) +\n"
                 "  geom_col(fill = '#0000ff')\nggsave('a.png', p, width = 4, height = 3, dpi = 50)\n"
                 "ggplot2::ggsave('b.svg', p, device = svg, width = 4, height = 3)\n"
                 "save <- function(file) ggsave(filename = file, plot = p, width = 4, height = 3)\n"
                 "save('c.pdf')\n")
    assert result.names() == ["000001.png", "000002.svg", "000003.pdf"], result.names()
    picture = Picture(result.path("000001.png"))
    assert picture.size == (200, 150) and picture.share(*BLUE) > 0.1
    meta = result.meta("000001.png")
    assert meta["source"] == "ggplot2" and meta["path"] == os.path.join(
        os.path.realpath(folder), "a.png"), meta
    for name in ("a.png", "b.svg", "c.pdf"):
        assert os.path.exists(os.path.join(folder, name))


def a_widget_is_one_page_of_its_own(folder):
    result = run(folder, "library(htmltools)\nd <- tempfile()\ndir.create(d)\n"
                 "writeLines(\"var a = '</script>';\", file.path(d, 'a.js'))\n"
                 "writeLines('b { color: red }', file.path(d, 'a.css'))\n"
                 "browsable(tagList(tags$b('words'), htmlDependency('a', '1', d,\n"
                 "  script = 'a.js', stylesheet = 'a.css')))\n"
                 "library(htmlwidgets)\nw <- createWidget('mine', list(a = 1), package = 'none')\n"
                 "class(w)\ninvisible(w)\n")
    assert result.names() == ["000001.html"], result.names()
    with open(result.path("000001.html"), encoding="utf-8") as file:
        page = file.read()
    assert "words" in page and "color: red" in page and "<\\/script>" in page
    assert "src=" not in page and "href=" not in page, page
    assert result.meta("000001.html")["mime"] == "text/html"


def the_hooks_cost_little(folder):
    def best(**more):
        times = []
        for _ in range(3):
            begin = time.monotonic()
            Run(folder, "1\n", **more).wait()
            times.append(time.monotonic() - begin)
        return min(times)
    plain, hooked = best(hooked=False), best()
    print(f"# R starts in {plain * 1000:.0f} ms, with the hooks in {hooked * 1000:.0f} ms")


NEEDS = {
    "lattice_and_ggplot_are_pages": ["ggplot2", "lattice"],
    "ggsave_is_copied_once": ["ggplot2"],
    "a_widget_is_one_page_of_its_own": ["htmlwidgets"],
}
TESTS = [
    each_page_of_base_graphics_is_an_artifact, the_users_own_device_is_the_users,
    the_users_own_device_between_ours_leaves_ours_as_it_is,
    a_hundred_plots_in_a_loop_are_a_hundred_artifacts,
    a_hundred_closed_devices_are_a_hundred_artifacts, a_layout_is_one_page,
    pie_and_curve_and_image_are_pages, what_draws_nothing_makes_no_artifact,
    a_page_of_another_size_is_what_dev_new_says, the_program_is_as_it_is_without,
    a_program_that_fails_keeps_what_it_drew,
    a_program_that_quits_keeps_what_it_drew_and_its_status,
    a_program_that_is_killed_keeps_the_pages_that_were_over,
    forked_children_draw_pages_of_their_own, numbers_go_on_where_they_are_told_to,
    a_folder_that_takes_no_artifacts_is_no_trouble, the_users_own_profile_is_read,
    lattice_and_ggplot_are_pages, ggsave_is_copied_once, a_widget_is_one_page_of_its_own,
    the_hooks_cost_little,
]


def has(package):
    return subprocess.run(["Rscript", "-e", f"q(status = !nzchar(system.file(package = '{package}')))"],
                          stdin=subprocess.DEVNULL, timeout=DEADLINE, check=False).returncode == 0


def main():
    only = sys.argv[1:]
    if shutil.which("Rscript") is None:
        print("there is no R on this machine")
        return EXIT_SKIP
    failed = 0
    for test in TESTS:
        name = test.__name__
        if only and name not in only:
            continue
        missing = [package for package in NEEDS.get(name, []) if not has(package)]
        if missing:
            print(f"skip {name}: R has no {', '.join(missing)}")
            failed += os.environ.get("SBX_TEST_STRICT") == "1"
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"ok {name}", flush=True)
            except Exception as trouble:
                failed += 1
                print(f"not ok {name}: {type(trouble).__name__} {str(trouble)[:2000]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
