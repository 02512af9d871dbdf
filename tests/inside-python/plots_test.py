#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures become artifacts. The pictures are decoded and looked at."""
import signal
import unittest

from inside import SUPPORT, Case, has, needs
from png import Picture

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)
PLT = "import matplotlib.pyplot as plt\n"


class PlotCase(Case):
    def quiet_run(self, code, **more):
        """Run it; it prints nothing."""
        ran = self.run_code(code, **more)
        self.assertEqual((ran.stdout, ran.stderr), ("", ""))
        return self.artifacts()

    def assert_shows(self, data, *colours, size=None):
        """A picture of this size with an area of each of these colours."""
        picture = Picture(data)
        seen = picture.colours()
        for colour in colours:
            self.assertGreater(seen[colour], 50, "%s in %s" % (colour, seen.most_common(5)))
        if size:
            self.assertEqual((picture.width, picture.height), size)
        return picture


@needs("matplotlib")
class Matplotlib(PlotCase):
    def test_a_shown_figure_is_one_png(self):
        shown, = self.quiet_run(PLT + "plt.bar(['a', 'b'], [1, 2], color='red')\nplt.show()\n")
        picture = self.assert_shows(shown.data, RED, WHITE)
        self.assertTrue(400 < picture.width < 800 and 300 < picture.height < 600)
        chart = shown.meta.pop("chart")
        self.assertEqual(shown.meta, {"mime": "image/png", "kind": "plot", "source": "matplotlib",
                                      "width": picture.width, "height": picture.height,
                                      "dpi": 100})
        self.assertEqual(chart["kind"], "bar")

    def test_two_figures_come_in_order(self):
        shown = self.quiet_run(PLT + "plt.bar([1], [1], color='red'); plt.show()\n"
                               "plt.bar([1], [1], color='blue'); plt.show()\n")
        self.assert_shows(shown[0].data, RED)
        self.assert_shows(shown[1].data, BLUE)
        self.assertEqual(len(shown), 2)

    def test_one_show_shows_every_open_figure(self):
        shown = self.quiet_run(PLT + "f = plt.figure(); plt.bar([1], [1], color='red')\n"
                               "g, ax = plt.subplots(); ax.bar([1], [1], color='blue')\n"
                               "plt.figure(f); plt.show(); plt.show()\n"
                               "assert not plt.get_fignums()")
        self.assert_shows(shown[0].data, RED)
        self.assert_shows(shown[1].data, BLUE)
        self.assertEqual(len(shown), 2)

    def test_a_figure_without_anything_drawn_is_none(self):
        self.assertEqual(self.quiet_run(PLT + "plt.show(); plt.figure(); plt.show()\n"
                                        "plt.subplots(); plt.show(); plt.subplots(2, 2)"), [])

    def test_figures_left_open_are_shown_at_the_end_however_it_comes(self):
        for end, status in (("", 0), ("raise ValueError(1)", 1), ("import sys; sys.exit(3)", 3)):
            before = len(self.artifacts())
            ran = self.run_code(PLT + "plt.plot([1]); plt.show()\nplt.bar([1], [1], color='red')\n"
                                "print('x')\n" + end, status=status)
            self.assertEqual(ran.stdout, "x\n")
            self.assertEqual(len(self.artifacts()), before + 2)
            self.assert_shows(self.artifacts()[-1].data, RED)
        self.assertIn("", ran.stderr)

    def test_line_numbers_and_future_imports_are_those_of_the_file(self):
        ran = self.run_code("from __future__ import annotations\n" + PLT + "plt.plot([1])\n"
                            "plt.show()\nraise ValueError('here')", status=1)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(ran.stderr.splitlines(), [
            "Traceback (most recent call last):", '  File "%s/main.py", line 5, in <module>'
            % self.work, "    raise ValueError('here')", "ValueError: here"])
        self.assertEqual(self.extensions(), ["png"])

    def test_saving_in_each_format_makes_one_copy_each(self):
        endings = ["png", "svg", "pdf", "jpg", "eps", "ps", "webp", "tiff", "svgz"]
        shown = self.quiet_run(PLT + "fig, ax = plt.subplots(); ax.bar([1], [1], color='red')\n"
                               "for ending in %r: plt.savefig('a.' + ending)" % endings)
        self.assertEqual([artifact.extension for artifact in shown], endings)
        for artifact in shown:
            path = self.work / ("a." + artifact.extension)
            self.assertEqual((artifact.data, artifact.meta["path"]),
                             (path.read_bytes(), str(path)))
        self.assertEqual([shown[1].meta["mime"], shown[2].meta["mime"], shown[3].meta["mime"]],
                         ["image/svg+xml", "application/pdf", "image/jpeg"])
        self.assert_shows(shown[0].data, RED)

    def test_saved_and_shown_are_two(self):
        shown = self.quiet_run(PLT + "plt.plot([1, 2]); plt.savefig('a.png'); plt.show()")
        self.assertEqual([artifact.meta.get("path") for artifact in shown],
                         [str(self.work / "a.png"), None])

    def test_saved_and_then_changed_is_shown_at_the_end(self):
        shown = self.quiet_run(PLT + "plt.plot([1, 2]); plt.savefig('a.png')\n"
                               "plt.bar([1], [1], color='red')")
        self.assertEqual(len(shown), 2)
        self.assert_shows(shown[1].data, RED)

    def test_saving_finds_what_matplotlib_named(self):
        shown = self.quiet_run(PLT + "import pathlib\nfig = plt.figure(); plt.plot([1])\n"
                               "fig.savefig('no-ending', dpi=50)\n"
                               "fig.savefig(pathlib.Path('p.svg'))\n"
                               "fig.savefig('odd.name', format='png')\nimport os; os.mkdir('d')\n"
                               "fig.savefig('d/x.png')\nos.unlink('d/x.png')")
        self.assertEqual([artifact.meta["path"][len(str(self.work)) + 1:] for artifact in shown],
                         ["no-ending.png", "p.svg", "odd.name", "d/x.png"])
        self.assertEqual(shown[0].meta["dpi"], 50)
        self.assertEqual(shown[0].meta["width"], 320)
        self.assertEqual(shown[2].meta["mime"], "image/png")

    def test_saving_into_open_files(self):
        shown = self.quiet_run(
            PLT + "import io, os\nfig = plt.figure(); plt.bar([1], [1], color='red')\n"
            "b = io.BytesIO(b'head'); b.seek(4); fig.savefig(b); assert b.getvalue()[:8] == "
            "b'head\\x89PNG' and b.tell() == len(b.getvalue())\n"
            "s = io.StringIO(); fig.savefig(s, format='svg')\n"
            "f = open('a.pdf', 'wb'); fig.savefig(f, format='pdf'); f.close()\n"
            "fig.savefig(os.fdopen(os.open('/dev/null', os.O_WRONLY), 'wb'), format='jpeg')\n"
            "fig.savefig(io.BytesIO(), format='rgba')\nplt.savefig(io.BytesIO(), format='png')")
        self.assertEqual([artifact.extension for artifact in shown],
                         ["png", "svg", "pdf", "jpeg", "png"])
        self.assert_shows(shown[0].data, RED)
        self.assertIn(b"<svg", shown[1].data)
        self.assertTrue(shown[2].data.startswith(b"%PDF"))

    def test_a_save_that_fails_is_the_programs_to_handle(self):
        ran = self.run_code(PLT + "plt.plot([1])\nfor name in ('no/a.png', 'a.nope'):\n    try:\n"
                            "        plt.savefig(name)\n    except Exception as e: "
                            "print(type(e).__name__)\nplt.close()")
        self.assertEqual((ran.stdout, self.artifacts()), ("FileNotFoundError\nValueError\n", []))

    def test_a_hundred_plots_in_one_run(self):
        shown = self.quiet_run(PLT + "for i in range(100):\n    plt.figure(figsize=(1, 1))\n"
                               "    plt.plot([i]); plt.title(str(i)); plt.show()")
        self.assertEqual([artifact.number for artifact in shown], list(range(1, 101)))
        self.assertEqual([artifact.meta["title"] for artifact in shown],
                         [str(i) for i in range(100)])

    def test_plots_from_threads(self):
        shown = self.quiet_run(
            PLT + "import threading\nfrom matplotlib.figure import Figure\n"
            "figures = [plt.figure(figsize=(1, 1)) for _ in range(8)]\n"
            "def work(figure):\n    figure.add_subplot().bar([1], [1], color='red')\n"
            "    figure.savefig('%d.png' % figure.number)\n    figure.show()\n"
            "threads = [threading.Thread(target=work, args=(f,)) for f in figures]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]\n"
            "threads = [threading.Thread(target=plt.show) for _ in range(4)]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]\n")
        saved = [artifact for artifact in shown if "path" in artifact.meta]
        self.assertEqual((len(saved), len(shown)), (8, 24))
        for artifact in shown:
            self.assertGreater(Picture(artifact.data).colours()[RED], 20)

    def test_plots_from_children(self):
        shown = self.quiet_run(
            PLT + "import os, sys\nfrom multiprocessing import Process\n"
            "plt.bar([1], [1], color='blue')\n"
            "def work():\n    plt.figure(figsize=(1, 1)); plt.bar([1], [1], color='red')\n"
            "    plt.show()\n"
            "workers = [Process(target=work) for _ in range(3)]\n"
            "[w.start() for w in workers]; [w.join() for w in workers]\n"
            "child = os.fork()\n"
            "if not child: plt.figure(); plt.bar([1], [1], color='red'); sys.exit()\n"
            "os.waitpid(child, 0)\n")
        self.assertEqual(len(shown), 5)
        for artifact in shown[:4]:
            self.assertGreater(Picture(artifact.data).colours()[RED], 20)
        self.assert_shows(shown[4].data, BLUE)

    def test_what_was_shown_before_a_kill_is_whole(self):
        process = self.program(PLT + "plt.bar([1], [1], color='red'); plt.show()\n"
                               "print('shown', flush=True)\nplt.plot([1])\nwhile True: pass")
        self.assertEqual(process.stdout.readline(), "shown\n")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        shown, = self.artifacts()
        self.assert_shows(shown.data, RED)

    def test_show_of_a_figure_does_not_close_it_nor_show_it_twice(self):
        shown = self.quiet_run(PLT + "fig, ax = plt.subplots(); ax.plot([1]); fig.show()\n"
                               "assert plt.get_fignums()")
        self.assertEqual(len(shown), 1)

    def test_pauses_and_interactive_mode_show_the_last_state_once(self):
        shown = self.quiet_run(PLT + "plt.ion()\nfig, ax = plt.subplots()\nfor i in range(3):\n"
                               "    ax.clear(); ax.bar([1], [1], color=['blue', 'blue', 'red'][i])"
                               "; plt.draw(); plt.pause(0.001)\n")
        self.assertEqual(len(shown), 1)
        self.assert_shows(shown[0].data, RED)

    def test_windows_that_are_asked_for_are_ours(self):
        shown = self.quiet_run("import matplotlib\nmatplotlib.use('TkAgg')\n" + PLT +
                               "plt.plot([1]); plt.show()\nplt.switch_backend('Qt5Agg')\n"
                               "plt.plot([1]); plt.show()\nmatplotlib.use('Agg', force=True)\n"
                               "plt.plot([1]); plt.show()")
        self.assertEqual(len(shown), 3)

    def test_another_back_end_without_windows_keeps_its_place(self):
        for environment in ({"MPLBACKEND": "svg"}, {}):
            code = "" if environment else "import matplotlib; matplotlib.use('svg')\n"
            ran = self.run_code(code + PLT + "plt.bar([1], [1], color='red'); plt.show()\n"
                                "plt.plot([1]); plt.savefig('a')\n"
                                "import matplotlib; print(matplotlib.get_backend())",
                                **environment)
            self.assertEqual((ran.stdout.lower(), ran.stderr), ("svg\n", ""))
        self.assertEqual(self.extensions(), ["png", "svg"] * 2)
        self.assert_shows(self.artifacts()[0].data, RED)

    def test_a_canvas_used_directly_is_harmless(self):
        shown = self.quiet_run("from matplotlib.figure import Figure\n"
                               "from matplotlib.backends.backend_agg import FigureCanvasAgg\n"
                               "f = Figure(); c = FigureCanvasAgg(f); f.add_subplot().plot([1])\n"
                               "c.draw(); c.buffer_rgba(); c.print_png('a.png')\n"
                               "f.savefig('b.png')")
        self.assertEqual(len(shown), 1)

    def test_a_film_is_one_artifact(self):
        shown = self.quiet_run(
            PLT + "from matplotlib.animation import FuncAnimation, PillowWriter\n"
            "fig, ax = plt.subplots(); line, = ax.plot([0, 1])\n"
            "film = FuncAnimation(fig, lambda i: line.set_data([0, i], [0, 1]), frames=3)\n"
            "film.save('a.gif', writer=PillowWriter(fps=5))\nfilm.to_jshtml()\n")
        self.assertEqual([artifact.meta["mime"] for artifact in shown[:1]], ["image/gif"])
        self.assertLessEqual(len(shown), 2)

    def test_pages_of_a_pdf_are_one_artifact(self):
        shown = self.quiet_run(PLT + "from matplotlib.backends.backend_pdf import PdfPages\n"
                               "with PdfPages('a.pdf') as pages:\n    for i in range(3):\n"
                               "        plt.figure(); plt.plot([i]); pages.savefig()\n")
        self.assertEqual([artifact.extension for artifact in shown], ["pdf"])
        self.assertEqual(shown[0].data, (self.work / "a.pdf").read_bytes())

    def test_a_figure_that_cannot_be_drawn_is_a_warning(self):
        ran = self.run_code(PLT + "plt.plot([1]); plt.title(r'$\\frac{$'); plt.show()\n"
                            "print('on')\nplt.plot([1]); plt.title(r'$\\frac{$')")
        self.assertEqual((ran.stdout, self.artifacts()), ("on\n", []))
        self.assertEqual(ran.stderr.count("UserWarning: a figure cannot be drawn"), 1)

    def test_a_full_or_missing_folder_disturbs_nobody(self):
        ran = self.run_code(PLT + "plt.plot([1]); plt.savefig('a.png'); plt.show(); plt.plot([1])",
                            LLM_SANDBOX_ARTIFACTS=str(self.folder / "no"))
        self.assertEqual((ran.stdout, ran.stderr), ("", ""))

    def test_without_the_folder_nothing_is_kept(self):
        ran = self.run_code(PLT + "plt.plot([1]); plt.show()", LLM_SANDBOX_ARTIFACTS=None)
        self.assertEqual((ran.stdout, ran.stderr, self.artifacts()), ("", "", []))

    def test_the_list_of_fonts_that_came_with_the_set_is_used(self):
        kept = self.folder / "set"
        (kept / ".matplotlib").mkdir(parents=True)
        where = self.run_code("import matplotlib; print(matplotlib.__path__[0])").stdout.strip()
        (kept / "matplotlib").symlink_to(where)
        self.run_code("import matplotlib.font_manager", MPLCONFIGDIR=str(kept / ".matplotlib"),
                      LLM_SANDBOX_ARTIFACTS=None)
        made, = (kept / ".matplotlib").glob("fontlist-*")
        made.write_text(made.read_text().replace('{', '{"came_with_the_set": true, ', 1))
        ran = self.run_code("import matplotlib.font_manager as f\n"
                            "print(f.fontManager.came_with_the_set)",
                            MPLCONFIGDIR=None, PYTHONPATH="%s:%s" % (SUPPORT, kept))
        self.assertEqual(ran.stdout, "True\n")

    def test_size_follows_the_figures_dpi(self):
        shown = self.quiet_run(PLT + "plt.figure(figsize=(3, 2), dpi=50); plt.axes([0, 0, 1, 1])\n"
                               "plt.axis('off'); plt.imshow([[0, 1]], aspect='auto'); plt.show()")
        # Tight means what is drawn and an edge of 0.1 inch.
        self.assert_shows(shown[0].data, size=(160, 110))
        self.assertEqual(shown[0].meta["dpi"], 50)


@needs("matplotlib")
class Charts(PlotCase):
    def series(self, code):
        shown, = self.quiet_run(PLT + code)
        return shown.series()

    def test_lines_and_points(self):
        shown, = self.quiet_run(
            PLT + "fig, (a, b) = plt.subplots(1, 2)\nfig.suptitle('Both')\n"
            "a.plot([1, 2, 3], [4, float('nan'), 6.5], label='up'); a.set_title('A')\n"
            "a.set_xlabel('x'); a.set_ylabel('y'); a.set_yscale('log'); a.axhline(5)\n"
            "b.scatter([1, 2], [3, 4], label='dots'); b.plot([1], [2], 'o')\n")
        self.assertEqual(shown.meta["title"], "Both")
        self.assertEqual(shown.meta["chart"], {"kind": "composite", "axes": [
            {"title": "A", "x_label": "x", "y_label": "y", "x_scale": "linear", "y_scale": "log",
             "series": [{"kind": "line", "label": "up", "x": [1, 2, 3], "y": [4, None, 6.5]}]},
            {"title": None, "x_label": None, "y_label": None, "x_scale": "linear",
             "y_scale": "linear", "series": [
                 {"kind": "scatter", "label": None, "x": [1], "y": [2]},
                 {"kind": "scatter", "label": "dots", "x": [1, 2], "y": [3, 4]}]}]})

    def test_bars_and_their_names(self):
        bars = self.series("import numpy as np\nplt.bar(['a', 'b'], [1, 2], label='first')\n"
                           "plt.bar(['a', 'b'], np.array([3, 4.5]), bottom=[1, 2])\n")
        self.assertEqual(bars, [{"kind": "bar", "label": "first", "x": ["a", "b"], "y": [1, 2]},
                                {"kind": "bar", "label": None, "x": ["a", "b"], "y": [3, 4.5]}])

    def test_bars_across_and_named_by_ticks(self):
        self.assertEqual(self.series("plt.barh(['a', 'b'], [1, 2])"), [
            {"kind": "bar", "label": None, "x": ["a", "b"], "y": [1, 2],
             "orientation": "horizontal"}])
        self.shown.joinpath("000001.png").unlink()
        self.shown.joinpath("000001.meta").unlink()
        self.assertEqual(self.series("plt.bar([0, 1], [1, 2]); plt.xticks([0, 1], ['u', 'v'])"), [
            {"kind": "bar", "label": None, "x": ["u", "v"], "y": [1, 2]}])

    def test_histograms_pies_boxes_and_images(self):
        shown = self.quiet_run(
            PLT + "plt.hist([1, 1, 3], bins=[0, 2, 4]); plt.show()\n"
            "plt.pie([1, 3], labels=['a', 'b']); plt.show()\n"
            "plt.boxplot([[1, 2, 3, 4, 100]]); plt.show()\nplt.imshow([[1, 2, 3]]); plt.colorbar()")
        self.assertEqual([artifact.meta["chart"]["kind"] for artifact in shown],
                         ["histogram", "pie", "box", "image"])
        self.assertEqual(shown[0].series()[0]["x"], [1, 3])
        self.assertEqual(shown[0].series()[0]["y"], [2, 1])
        pie = shown[1].series()[0]
        self.assertEqual((pie["x"], [round(y, 3) for y in pie["y"]]), (["a", "b"], [.25, .75]))
        self.assertEqual(shown[2].series(), [
            {"kind": "box", "label": None, "x": ["low", "q1", "median", "q3", "high"],
             "y": [1, 2, 3, 4, 4], "outliers": [100]}])
        self.assertEqual(shown[3].series()[0]["shape"], [1, 3])
        self.assertEqual(len(shown[3].meta["chart"]["axes"]), 1)

    def test_dates_are_iso_text(self):
        series = self.series("import datetime as d, numpy as np\nday = d.datetime(2024, 5, 1)\n"
                             "plt.plot([day], [1]); plt.bar([day], [1])\n"
                             "plt.plot(np.array(['2024-05-01'], 'datetime64[D]'), [1])")
        self.assertEqual([one["x"][0][:10] for one in series], ["2024-05-01"] * 3)

    def test_much_data_is_cut_and_says_so(self):
        shown = self.quiet_run(PLT + "plt.plot(range(5000)); plt.show()\n"
                               "for i in range(150): plt.plot([i])")
        self.assertEqual((len(shown[0].series()[0]["x"]), shown[0].meta["chart"]["truncated"]),
                         (1000, True))
        self.assertEqual((len(shown[1].series()), shown[1].meta["chart"]["truncated"]),
                         (100, True))

    def test_odd_figures_still_have_a_chart(self):
        shown = self.quiet_run(
            PLT + "import numpy as np\nx = np.arange(4.)\n"
            "plt.subplot(projection='3d').plot(x, x, x); plt.show()\n"
            "plt.subplot(projection='polar').plot(x, x); plt.show()\n"
            "plt.fill_between(x, x); plt.contourf(np.eye(3)); plt.text(0, 0, 'x'); plt.show()\n"
            "plt.stem(x, x, label='s'); plt.errorbar(x, x, yerr=1, label='e'); plt.show()\n"
            "plt.violinplot([x]); plt.quiver(x, x, x, x); plt.show()\nplt.stairs([1, 2])\n"
            "plt.hist(x, histtype='step'); plt.plot(np.ma.masked_less(x, 2)); plt.show()\n")
        self.assertEqual(len(shown), 6)
        self.assertTrue(all("chart" in artifact.meta for artifact in shown))
        self.assertEqual([one["label"] for one in shown[3].series()][-1], "e")

    @needs("pandas", "seaborn")
    def test_pandas_and_seaborn(self):
        shown = self.quiet_run(
            PLT + "import warnings; warnings.simplefilter('ignore')\n"
            "import pandas as pd, seaborn as sns\nd = pd.DataFrame({'a': [1, 2, 2], "
            "'b': [3, 4, 5]}, index=['x', 'y', 'z'])\nd.plot.bar(); plt.show()\n"
            "d.plot(); plt.show()\nsns.histplot(d['a']); plt.show()\n"
            "sns.boxplot(data=d); plt.show()\nsns.heatmap(d); plt.show()\n"
            "sns.pairplot(d).savefig('p.png')\nsns.scatterplot(data=d, x='a', y='b')")
        self.assertEqual([artifact.meta["chart"]["kind"] for artifact in shown[:5]],
                         ["bar", "line", "histogram", "box", "image"])
        self.assertEqual(shown[0].series()[0], {"kind": "bar", "label": "a", "x": ["x", "y", "z"],
                                                "y": [1, 2, 2]})
        self.assertEqual(len(shown), 7)


@needs("plotly")
class Plotly(PlotCase):
    def test_a_shown_figure_is_one_page_that_needs_no_network(self):
        shown, = self.quiet_run(
            "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(x=['a', 'b'], y=[1, 2]))\n"
            "fig.update_layout(title='T', xaxis_title='x', yaxis_title='y'); fig.show()\n")
        self.assertEqual((shown.extension, shown.meta["title"]), ("html", "T"))
        self.assertNotRegex(shown.data[:20000].decode(), r"<script[^>]*src=")
        self.assertIn(b"Plotly.newPlot", shown.data)
        self.assertEqual(shown.meta["chart"], {"kind": "bar", "axes": [
            {"title": "T", "x_label": "x", "y_label": "y", "x_scale": "linear",
             "y_scale": "linear", "series": [{"kind": "bar", "label": None, "x": ["a", "b"],
                                              "y": [1, 2]}]}]})

    def test_a_written_page_is_one_copy(self):
        shown = self.quiet_run(
            "import plotly.graph_objects as go, plotly.io as pio, io\n"
            "fig = go.Figure([go.Pie(labels=['a'], values=[1], name='p')])\n"
            "fig.write_html('a.html', include_plotlyjs='cdn')\nfig.to_html()\n"
            "pio.write_html({'data': [], 'layout': {}}, 'b.html', include_plotlyjs='cdn')\n"
            "fig.write_html(io.StringIO())\n")
        self.assertEqual([artifact.extension for artifact in shown], ["html", "html"])
        self.assertEqual(shown[0].data, (self.work / "a.html").read_bytes())
        self.assertEqual(shown[0].meta["path"], str(self.work / "a.html"))
        self.assertEqual(shown[0].meta["chart"]["kind"], "pie")

    def test_any_renderer_is_ours(self):
        shown = self.quiet_run(
            "import plotly.graph_objects as go, plotly.io as pio\n"
            "pio.renderers.default = 'browser'\nfig = go.Figure(go.Scatter(x=[1], y=[2], "
            "mode='markers'))\nfig.show(renderer='svg')\npio.show({'data': fig.data})\n")
        self.assertEqual([artifact.extension for artifact in shown], ["html", "html"])
        self.assertEqual(shown[0].meta["chart"]["kind"], "scatter")


@unittest.skipUnless(has("bokeh"), "bokeh is in no distribution")
class Bokeh(PlotCase):
    def test_shown_and_saved_are_a_page_each(self):
        ran = self.run_code("from bokeh.plotting import figure, output_file, save, show\n"
                            "p = figure(title='T'); p.line([1, 2], [3, 4])\nshow(p)\n"
                            "output_file('a.html', mode='inline'); save(p)\nshow(p)")
        self.assertEqual((ran.stdout, self.extensions()), ("", ["html"] * 3))
        self.assertEqual(self.artifacts()[1].data, (self.work / "a.html").read_bytes())
        self.assertNotRegex(self.artifacts()[0].data.decode(), r"<script[^>]*src=")


@needs("PIL")
class Pictures(PlotCase):
    def test_a_shown_image_is_a_png(self):
        shown = self.quiet_run(
            "from PIL import Image\nImage.new('RGB', (30, 20), 'red').show('Red')\n"
            "Image.new('CMYK', (30, 20)).show()\nImage.new('F', (30, 20)).show()\n")
        self.assert_shows(shown[0].data, RED, size=(30, 20))
        self.assertEqual(shown[0].meta, {"mime": "image/png", "kind": "plot", "source": "pil",
                                         "width": 30, "height": 20, "title": "Red"})
        self.assertEqual(len(shown), 3)


if __name__ == "__main__":
    unittest.main(verbosity=1)
