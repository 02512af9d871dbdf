# SPDX-License-Identifier: MIT
"""Chart data: what a figure shows as numbers and texts that JSON can carry, within limits."""
import datetime
import itertools
import math
import numbers

MAX_POINTS = 1000
MAX_SERIES = 100
MAX_AXES = 100
MAX_TEXT = 200
# Integers beyond it are no longer exact where JSON's numbers are floating point.
MAX_EXACT = 2 ** 53


class Chart:
    """Collects the axes of one figure; plain() is what the artifact carries."""

    def __init__(self):
        self.axes = []
        self.count = 0
        self.truncated = False

    def add_axes(self, title=None, x_label=None, y_label=None, x_scale=None, y_scale=None):
        if len(self.axes) >= MAX_AXES:
            self.truncated = True
            return False
        self.axes.append({"title": text(title), "x_label": text(x_label),
                          "y_label": text(y_label), "x_scale": x_scale, "y_scale": y_scale,
                          "series": []})
        return True

    def add_series(self, kind, label, x, y, **more):
        """Add to the axes that were added last."""
        if self.count >= MAX_SERIES:
            self.truncated = True
            return
        self.count += 1
        x, more_x = points(x)
        y, more_y = points(y)
        self.truncated = self.truncated or more_x or more_y
        series = {"kind": kind, "label": text(label), "x": x, "y": y}
        series.update((key, value) for key, value in more.items() if value is not None)
        self.axes[-1]["series"].append(series)

    def plain(self):
        kinds = {series["kind"] for axes in self.axes for series in axes["series"]}
        kind = "other" if not kinds else kinds.pop() if len(kinds) == 1 else "composite"
        chart = {"kind": kind, "axes": self.axes}
        if self.truncated:
            chart["truncated"] = True
        return chart


def points(values):
    """The first points of a sequence or array as plain values, and whether there were more."""
    if values is None:
        return [], False
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        values = [values]
    if getattr(values, "ndim", 1) > 1:
        values = values.ravel()
    if getattr(getattr(values, "dtype", None), "kind", None) in ("i", "u", "f"):
        # Python's own numbers, for all of them at once.
        values = values[:MAX_POINTS + 1].tolist()
    head = list(itertools.islice(values, MAX_POINTS + 1))
    return [plain(value) for value in head[:MAX_POINTS]], len(head) > MAX_POINTS


def plain(value):
    """A number, a text, or None for what is missing."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool):
        return value
    if type(value).__name__ == "MaskedConstant":
        return None
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat() if value == value else None
    if isinstance(value, str):
        return text(value)
    if type(value).__name__ == "datetime64":
        return iso(str(value))
    if isinstance(value, numbers.Integral) and abs(int(value)) <= MAX_EXACT:
        return int(value)
    try:
        number = float(value)
    except Exception:
        return text(value)
    return number if math.isfinite(number) else None


def iso(date):
    """The text of a numpy date, as short as that of a datetime."""
    if date == "NaT":
        return None
    return date.rstrip("0").rstrip(".") if "." in date else date


def text(value):
    value = "" if value is None else str(value)
    return value[:MAX_TEXT].encode("utf-8", "replace").decode() or None
