# SPDX-License-Identifier: MIT
"""Plots of bokeh become artifacts: a page that needs no network."""
import functools

from . import artifacts

SOURCE = "bokeh"


def imported(name, module):
    if name == "bokeh.io.showing":
        module.show = functools.wraps(module.show)(show)
    else:
        module.save = wrap_save(module.save)


def show(obj, *args, **kwargs):
    from bokeh.embed import file_html
    from bokeh.io.state import curstate
    from bokeh.resources import INLINE
    file = getattr(curstate(), "file", None)
    title = file.title if file is not None else "Bokeh Plot"
    artifacts.add_text(file_html(obj, INLINE, title), "html", "plot", SOURCE, title=title)


def wrap_save(original):
    @functools.wraps(original)
    def save(*args, **kwargs):
        path = original(*args, **kwargs)
        artifacts.add_copy(path, "plot", SOURCE, extension="html")
        return path
    return save
