# SPDX-License-Identifier: MIT
"""Chart data of plotly figures."""
from . import charts

KINDS = {"bar": "bar", "histogram": "histogram", "pie": "pie", "box": "box", "heatmap": "image",
         "image": "image"}
LINES = ("scatter", "scattergl")


def chart_of(figure):
    """The chart data of a plotly.graph_objects figure, or None where it cannot be had."""
    try:
        chart = charts.Chart()
        places = {}
        for trace in figure.data:
            places.setdefault((get(trace, "xaxis"), get(trace, "yaxis")), []).append(trace)
        for (x_axis, y_axis), traces in places.items():
            if add_axes(chart, figure.layout, x_axis or "x", y_axis or "y"):
                for trace in traces:
                    add_trace(chart, trace)
        return chart.plain()
    except Exception:
        return None


def title_of(figure):
    try:
        return charts.text(figure.layout.title.text)
    except Exception:
        return None


def add_axes(chart, layout, x_axis, y_axis):
    # The axis of x2 is called xaxis2.
    x, y = (get(layout, name[0] + "axis" + name[1:]) for name in (x_axis, y_axis))
    return chart.add_axes(layout.title.text, title(x), title(y), scale(x), scale(y))


def title(axis):
    return None if axis is None else axis.title.text


def scale(axis):
    return (get(axis, "type") if axis is not None else None) or "linear"


def add_trace(chart, trace):
    kind = KINDS.get(trace.type, "other")
    if trace.type in LINES:
        kind = "scatter" if get(trace, "mode") == "markers" else "line"
    if kind == "pie":
        chart.add_series(kind, trace.name, trace.labels, trace.values)
    elif kind == "image":
        chart.add_series(kind, trace.name, None, None)
    else:
        chart.add_series(kind, trace.name, get(trace, "x"), get(trace, "y"),
                         orientation="horizontal" if get(trace, "orientation") == "h" else None)


def get(thing, name):
    """Not every trace has every property, and asking for one it has not raises ValueError."""
    try:
        return thing[name]
    except (KeyError, ValueError, TypeError):
        return None
