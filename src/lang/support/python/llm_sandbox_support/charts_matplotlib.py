# SPDX-License-Identifier: MIT
"""Chart data of matplotlib figures."""
import functools
import math
import weakref

from . import charts

BOX_STATISTICS = ["low", "q1", "median", "q3", "high"]

# What Axes.bxp was called with: axes -> [(statistics, [artists])]. The lines alone do not tell.
_boxes = weakref.WeakKeyDictionary()


def imported(name, module):
    original = module.Axes.bxp

    @functools.wraps(original)
    def bxp(self, bxpstats, *args, **kwargs):
        artists = original(self, bxpstats, *args, **kwargs)
        try:
            drawn = [artist for group in artists.values() for artist in group]
            _boxes.setdefault(self, []).append((bxpstats, drawn))
        except Exception:
            pass
        return artists
    module.Axes.bxp = bxp


def chart_of(figure):
    """The chart data of a figure, or None where it cannot be had."""
    try:
        chart = charts.Chart()
        for axes in figure.axes:
            if axes.get_visible() and axes.get_label() != "<colorbar>":
                add_axes(chart, axes)
        return chart.plain()
    except Exception:
        return None


def title_of(figure):
    suptitle = getattr(figure, "_suptitle", None)
    titles = [suptitle.get_text()] if suptitle is not None else []
    titles += [axes.get_title() for axes in figure.axes]
    return next((title for title in titles if title), None)


def add_axes(chart, axes):
    if not chart.add_axes(axes.get_title(), axes.get_xlabel(), axes.get_ylabel(),
                          axes.get_xscale(), axes.get_yscale()):
        return
    # Of three dimensions only two would be left.
    if axes.name == "3d":
        return
    done = set()
    add_boxes(chart, axes, done)
    add_bars(chart, axes, done)
    add_wedges(chart, axes)
    add_lines(chart, axes, done)
    add_points(chart, axes)
    add_images(chart, axes)


def add_boxes(chart, axes, done):
    for statistics, artists in _boxes.get(axes, ()):
        # cla() and remove() take artists off the axes.
        if not any(artist.axes is axes for artist in artists):
            continue
        done.update(id(artist) for artist in artists)
        for box in statistics:
            values = [box.get(key) for key in ("whislo", "q1", "med", "q3", "whishi")]
            outliers, _ = charts.points(box.get("fliers"))
            chart.add_series("box", box.get("label"), BOX_STATISTICS, values, outliers=outliers)


def add_bars(chart, axes, done):
    for container in axes.containers:
        # Those that were removed stay in their container.
        bars = [patch for patch in getattr(container, "patches", ())
                if hasattr(patch, "get_width") and patch.axes is axes]
        if not bars:
            continue
        horizontal = getattr(container, "orientation", None) == "horizontal"
        axis = axes.yaxis if horizontal else axes.xaxis
        spans = [span(bar, horizontal) for bar in bars]
        kind = "histogram" if touching(spans) and not is_category(axis) else "bar"
        heights = [bar.get_width() if horizontal else bar.get_height() for bar in bars]
        centres = [start + width / 2 for start, width in spans]
        names = values_of(axis, centres)
        if names is centres and kind == "bar":
            names = named_by_ticks(axis, centres[:charts.MAX_POINTS + 1])
        chart.add_series(kind, label_of(container), names, heights,
                         orientation="horizontal" if horizontal else None)


def span(bar, horizontal):
    return (bar.get_y(), bar.get_height()) if horizontal else (bar.get_x(), bar.get_width())


def touching(spans):
    """Whether each bar begins where the one before ends, as bins do."""
    if len(spans) < 2:
        return False
    slack = 1e-6 * max(abs(width) for _, width in spans)
    return all(abs(start + width - following) <= slack
               for (start, width), (following, _) in zip(spans, spans[1:]))


def add_wedges(chart, axes):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    if wedges:
        shares = [(wedge.theta2 - wedge.theta1) / 360 for wedge in wedges]
        chart.add_series("pie", None, [label_of(wedge) for wedge in wedges], shares)


def add_lines(chart, axes, done):
    for line in axes.lines:
        # axhline() and the like are at home in other coordinates than the data's.
        if id(line) in done or not all(
                line.get_transform().contains_branch_seperately(axes.transData)):
            continue
        bare = line.get_linestyle() in ("None", "none", "", " ")
        kind = "scatter" if bare else "line"
        chart.add_series(kind, label_of(line) or container_label(axes, line),
                         line.get_xdata(orig=True), line.get_ydata(orig=True))


def container_label(axes, line):
    """errorbar() and stem() give their label to what holds the line."""
    for container in axes.containers:
        if any(part is line for part in container):
            return label_of(container)
    return None


def add_points(chart, axes):
    for collection in axes.collections:
        if type(collection).__name__ != "PathCollection":
            continue
        offsets = collection.get_offsets()[:charts.MAX_POINTS + 1]
        chart.add_series("scatter", label_of(collection), values_of(axes.xaxis, offsets[:, 0]),
                         values_of(axes.yaxis, offsets[:, 1]))


def add_images(chart, axes):
    meshes = [part for part in axes.collections if type(part).__name__ == "QuadMesh"]
    for image in [*axes.images, *meshes]:
        array = image.get_array()
        chart.add_series("image", label_of(image), None, None,
                         shape=None if array is None else list(array.shape))


def label_of(artist):
    label = artist.get_label()
    # Those with a leading underscore matplotlib made up itself.
    return None if label is None or str(label).startswith("_") else label


def is_category(axis):
    return hasattr(getattr(axis, "units", None), "_mapping")


def values_of(axis, positions):
    """Positions on an axis as what the user gave: categories and dates are drawn as numbers."""
    if is_category(axis):
        names = {number: name for name, number in axis.units._mapping.items()}
        return [names.get(round(number), number) for number in positions if number == number]
    # Of later versions get_converter(), and the property is deprecated there.
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    if "Date" in type(converter).__name__:
        from matplotlib.dates import num2date
        return [num2date(float(number)).replace(tzinfo=None) if math.isfinite(number) else None
                for number in positions]
    return positions


def named_by_ticks(axis, positions):
    """Bars can also be named with set_xticks(positions, names); groups of them share a tick."""
    formatter = axis.get_major_formatter()
    by_position = getattr(getattr(formatter, "func", None), "func", None)
    if (type(formatter).__name__ != "FixedFormatter"
            and getattr(by_position, "__name__", None) != "_format_with_dict"):
        return positions
    ticks = [float(tick) for tick in axis.get_majorticklocs()]
    names = formatter.format_ticks(ticks)
    reach = min((abs(b - a) for a, b in zip(ticks, ticks[1:])), default=1) / 2
    named = [nearest(position, ticks, names, reach) for position in positions]
    return named if all(named) else positions


def nearest(position, ticks, names, reach):
    distance, name = min(zip((abs(position - tick) for tick in ticks), names),
                         default=(reach, None))
    return name if distance < reach else None
