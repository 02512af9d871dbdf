# SPDX-License-Identifier: MIT
"""Figures of plotly become artifacts: a page that needs no network, and a PNG by kaleido."""
import functools
import os

from . import artifacts, charts_plotly

SOURCE = "plotly"


def imported(name, module):
    PATCHES[name](module)


def patch_show(module):
    # Whatever renderer is asked for: there is no browser to open and no notebook to write to.
    def show(fig, *args, **kwargs):
        from plotly.io._html import to_html
        figure = as_figure(fig)
        page = {key: kwargs[key] for key in ("config", "auto_play", "post_script") if key in kwargs}
        html = to_html(figure, include_plotlyjs=True, full_html=True, **page)
        artifacts.add_text(html, "html", "plot", SOURCE, **details_of(figure))
        keep_picture(figure)
    module.show = functools.wraps(module.show)(show)


def as_figure(fig):
    from plotly.graph_objects import Figure
    return Figure(fig) if isinstance(fig, dict) else fig


def keep_picture(figure):
    from importlib.util import find_spec
    try:
        if find_spec("kaleido") is not None:
            from plotly.io._kaleido import to_image
            artifacts.add_bytes(to_image(figure, format="png"), "png", "plot", SOURCE,
                                **details_of(figure))
    except Exception:
        # Most often there is no browser for it; the page is there.
        pass


def wrap_write(original, wanted_by):
    """write_html() and write_image(): a copy of the file, of which the page is no second one."""
    @functools.wraps(original)
    def write(fig, file, *args, **kwargs):
        result = original(fig, file, *args, **kwargs)
        if isinstance(file, (str, os.PathLike)):
            artifacts.add_copy(file, "plot", SOURCE, extension=wanted_by(args, kwargs),
                               **details_of(fig))
        return result
    return write


def patch_html(module):
    module.write_html = wrap_write(module.write_html, lambda args, kwargs: "html")


def patch_image(module):
    module.write_image = wrap_write(module.write_image,
                                    lambda args, kwargs: args[0] if args else kwargs.get("format"))


def details_of(figure):
    return {"title": charts_plotly.title_of(figure), "chart": charts_plotly.chart_of(figure)}


PATCHES = {
    "plotly.io._renderers": patch_show,
    "plotly.io._html": patch_html,
    "plotly.io._kaleido": patch_image,
}
