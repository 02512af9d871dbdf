# SPDX-License-Identifier: MIT
"""Figures of matplotlib become artifacts.

The back end is matplotlib's own Agg, or another that draws without windows when the program
chooses it. Their windows are what is ours: to show a figure is to keep a PNG of it. pyplot.show()
keeps every open figure and closes it, as notebooks do; savefig() keeps a copy of what it wrote;
figures that nobody showed or saved are kept at the end.
"""
import atexit
import functools
import io
import os
import shutil
import sys
import threading
import warnings
import weakref

from . import artifacts, charts_matplotlib

SOURCE = "matplotlib"

# What would need a window. Asking for one means no more than wanting to see the figures.
WINDOWED = frozenset("""
    gtk3agg gtk3cairo gtk4agg gtk4cairo ipympl macosx nbagg notebook qt4agg qt5agg qt5cairo qtagg
    qtcairo tkagg tkcairo webagg widget wx wxagg wxcairo
    """.split())

# Figures that were kept as they were when .stale was set to false.
_kept = weakref.WeakSet()
# Those of them that a child was born with.
_inherited = weakref.WeakSet()
# PdfPages objects, by their id while they are open, and their files.
_pdf_paths = {}
# pyplot is one for all threads, and so is drawing.
_lock = threading.RLock()
_thread = threading.local()
_savefig = None


def imported(name, module):
    PATCHES[name](module)


# ---- what the program shows ----

def show_manager(manager):
    """FigureManagerBase.show: that of every back end without windows."""
    figure = manager.canvas.figure
    if not is_quiet() and (figure not in _inherited or figure.stale):
        with _lock:
            keep_or_warn(figure)


def wrap_show(original):
    @functools.wraps(original)
    def show(*args, **kwargs):
        if is_quiet():
            return None
        with _lock:
            managers = open_managers()
            if not all(type(manager).show is show_manager for manager in managers):
                # A back end of the program's own, which knows what to do.
                return original(*args, **kwargs)
            for manager in managers:
                manager.show()
            close(managers)
        return None
    return show


def show_open_figures():
    """Keep what is open and was not shown or saved as it is now, and close all."""
    with _lock:
        managers = open_managers()
        for manager in managers:
            figure = manager.canvas.figure
            if figure not in _kept or figure.stale:
                keep_or_warn(figure)
        close(managers)


def show_figure(figure):
    """Keep one figure; it stays open, but is not shown again as it is."""
    with _lock:
        keep_or_warn(figure)


def at_exit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            show_open_figures()
        except Exception:
            pass


def open_managers():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    managers = helpers.Gcf.get_all_fig_managers() if helpers else []
    # Theirs is the order in which figures were last made current.
    return sorted(managers, key=lambda manager: manager.num)


def close(managers):
    for manager in managers:
        sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)


# ---- keeping ----

def keep_or_warn(figure):
    try:
        keep(figure)
    except Exception as error:
        warnings.warn("a figure cannot be drawn: %s" % error, stacklevel=3)


def keep(figure):
    if not has_content(figure):
        return
    buffer = io.BytesIO()
    with quiet():
        _savefig(figure, buffer, format="png", dpi=figure.dpi, bbox_inches="tight")
    artifacts.add_bytes(buffer.getvalue(), "png", "plot", SOURCE, **details_of(figure))
    mark(figure)


def has_content(figure):
    own = (figure.texts, figure.lines, figure.patches, figure.images, figure.legends)
    return any(own) or any(axes_has_content(axes) for axes in figure.axes)


def axes_has_content(axes):
    parts = (axes.lines, axes.patches, axes.collections, axes.images, axes.texts, axes.tables,
             axes.artists)
    return any(len(part) for part in parts)


def details_of(figure):
    return {"dpi": figure.dpi, "title": charts_matplotlib.title_of(figure),
            "chart": charts_matplotlib.chart_of(figure)}


def mark(figure):
    _kept.add(figure)
    # Whatever is drawn from now on makes it stale again.
    figure.stale = False


# ---- savefig ----

def wrap_savefig(original):
    @functools.wraps(original)
    def savefig(self, fname, *args, **kwargs):
        if is_quiet():
            return original(self, fname, *args, **kwargs)
        start = position_of(fname)
        result = original(self, fname, *args, **kwargs)
        try:
            with _lock:
                keep_saved(self, fname, start, args, kwargs)
        except Exception:
            pass
        return result
    return savefig


def keep_saved(figure, fname, start, args, kwargs):
    dpi = kwargs.get("dpi", figure.dpi)
    details = details_of(figure)
    details["dpi"] = dpi if isinstance(dpi, (int, float)) else figure.dpi
    if isinstance(fname, (str, os.PathLike)):
        extension = kwargs.get("format")
        artifacts.add_copy(written_path(figure, fname, kwargs), "plot", SOURCE,
                           extension=extension if extension in artifacts.MIME else None, **details)
    elif hasattr(fname, "write"):
        extension = kwargs.get("format") or figure.canvas.get_default_filetype()
        if extension in artifacts.MIME:
            data = written_data(figure, fname, start, args, kwargs)
            artifacts.add_bytes(data, extension, "plot", SOURCE, **details)
    mark(figure)


def written_path(figure, fname, kwargs):
    """Where matplotlib wrote: it adds an ending where there is none."""
    path = os.fspath(fname)
    if kwargs.get("format") or os.path.splitext(path)[1][1:]:
        return path
    return path.rstrip(".") + "." + figure.canvas.get_default_filetype()


def position_of(fname):
    try:
        return fname.tell()
    except Exception:
        return None


def written_data(figure, file, start, args, kwargs):
    """What was written into an open file, read back or, where that cannot be, drawn again."""
    try:
        if file.readable() and file.seekable():
            end = file.tell()
            file.seek(start)
            data = file.read()
            file.seek(end)
            return data.encode() if isinstance(data, str) else bytes(data)
    except Exception:
        pass
    buffer = io.BytesIO()
    with quiet():
        _savefig(figure, buffer, *args, **kwargs)
    return buffer.getvalue()


# ---- while matplotlib draws for itself ----

class quiet:
    """Nothing that this thread shows or saves meanwhile is the program's own wish."""

    def __enter__(self):
        _thread.depth = getattr(_thread, "depth", 0) + 1

    def __exit__(self, *error):
        _thread.depth -= 1


def is_quiet():
    return getattr(_thread, "depth", 0) > 0


def wrap_quietly(original):
    @functools.wraps(original)
    def quietly(*args, **kwargs):
        with quiet():
            return original(*args, **kwargs)
    return quietly


def wrap_animation_save(original):
    """The frames are not artifacts, the film is."""
    @functools.wraps(original)
    def save(self, filename, *args, **kwargs):
        own_wish = not is_quiet()
        with quiet():
            result = original(self, filename, *args, **kwargs)
        if own_wish:
            artifacts.add_copy(filename, "plot", SOURCE)
            mark(self._fig)
        return result
    return save


# ---- pages of a PDF ----

def patch_pdf_pages(module):
    pages = module.PdfPages
    original_init, original_close = pages.__init__, pages.close

    @functools.wraps(original_init)
    def init(self, filename, *args, **kwargs):
        original_init(self, filename, *args, **kwargs)
        _pdf_paths[id(self)] = filename

    @functools.wraps(original_close)
    def close_pages(self):
        original_close(self)
        path = _pdf_paths.pop(id(self), None)
        if isinstance(path, (str, os.PathLike)):
            artifacts.add_copy(path, "plot", SOURCE, extension="pdf")
    pages.__init__, pages.close = init, close_pages


# ---- where all this is put in ----

def patch_matplotlib(module):
    rc = module.rcParams
    # It is a text where MPLBACKEND or a matplotlibrc chose.
    if not isinstance(dict.__getitem__(rc, "backend"), str):
        rc["backend"] = "agg"
    module.use = wrap_choice(module.use)
    bring_font_list(module)


def bring_font_list(module):
    """The list of fonts that was made with the set of libraries, for matplotlib to find."""
    made = os.path.join(os.path.dirname(os.path.dirname(module.__file__)), ".matplotlib")
    for name in os.listdir(made) if os.path.isdir(made) else ():
        target = os.path.join(module.get_cachedir(), name)
        if name.startswith("fontlist-") and not os.path.exists(target):
            part = "%s.%d" % (target, os.getpid())
            shutil.copyfile(os.path.join(made, name), part)
            os.replace(part, target)


def wrap_choice(original):
    @functools.wraps(original)
    def choose(backend, *args, **kwargs):
        windowed = isinstance(backend, str) and backend.lower() in WINDOWED
        return original("agg" if windowed else backend, *args, **kwargs)
    return choose


def patch_figure(module):
    global _savefig
    _savefig = module.Figure.savefig
    module.Figure.savefig = wrap_savefig(_savefig)


def patch_backend_bases(module):
    module.FigureManagerBase.show = show_manager


def patch_pyplot(module):
    module.show = wrap_show(module.show)
    module.pause = wrap_quietly(module.pause)
    module.switch_backend = wrap_choice(module.switch_backend)
    atexit.register(at_exit)


def patch_animation(module):
    module.Animation.save = wrap_animation_save(module.Animation.save)
    for name in ("to_jshtml", "to_html5_video"):
        setattr(module.Animation, name, wrap_quietly(getattr(module.Animation, name)))


def leave_to_parent():
    """A child shows what it draws itself; what it was born with is its parent's to show."""
    global _lock
    _lock = threading.RLock()
    for manager in open_managers():
        mark(manager.canvas.figure)
        _inherited.add(manager.canvas.figure)


os.register_at_fork(after_in_child=leave_to_parent)

PATCHES = {
    "matplotlib": patch_matplotlib,
    "matplotlib.figure": patch_figure,
    "matplotlib.backend_bases": patch_backend_bases,
    "matplotlib.pyplot": patch_pyplot,
    "matplotlib.animation": patch_animation,
    "matplotlib.backends.backend_pdf": patch_pdf_pages,
}
