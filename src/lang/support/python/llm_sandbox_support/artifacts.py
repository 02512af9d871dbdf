# SPDX-License-Identifier: MIT
"""Artifacts: what a program shows, as files in the folder that LLM_SANDBOX_ARTIFACTS names.

An artifact is a file NNNNNN.EXT that is whole from the moment it is there, and NNNNNN.meta, one
line of JSON about it, which is there before. Making NNNNNN.meta exclusively is what claims the
number, so that threads, children and other languages never share one. Nothing here raises or
prints: a program is not disturbed because an artifact of it cannot be kept.
"""
import json
import os
import shutil
import stat

FOLDER = os.environ.get("LLM_SANDBOX_ARTIFACTS")

MIME = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "svgz": "image/svg+xml-compressed",
    "gif": "image/gif",
    "webp": "image/webp",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "pdf": "application/pdf",
    "eps": "application/postscript",
    "ps": "application/postscript",
    "pgf": "application/x-tex",
    "tex": "text/latex",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "txt": "text/plain",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
FALLBACK = "application/octet-stream"
MAX_NUMBER = 999999
MAX_TEXT = 1000

# Told the number of each artifact that this process has made; the kernels set it.
on_added = None

_least = None


def add_bytes(data, extension, kind, source, **details):
    """Keep data as an artifact; its number, or None when that could not be done."""
    def write(path):
        with open(path, "xb") as file:
            file.write(data)
    if extension == "png":
        details = {**png_size(data), **details}
    return _add(write, extension, kind, source, details)


def add_text(text, extension, kind, source, **details):
    return add_bytes(text.encode("utf-8", "replace"), extension, kind, source, **details)


def add_copy(path, kind, source, extension=None, **details):
    """Keep a copy of a regular file that the program has written."""
    def write(copy):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError("not a regular file")
        shutil.copyfile(path, copy)
    try:
        if extension is None:
            extension = extension_of(path)
        if extension == "png":
            with open(path, "rb") as file:
                details = {**png_size(file.read(32)), **details}
        return _add(write, extension, kind, source, {"path": text_of(path), **details})
    except Exception:
        return None


def extension_of(path):
    """The ending of a file's name as it may stand in ours."""
    ending = os.path.splitext(os.fsdecode(path))[1][1:].lower()
    return ending if ending.isascii() and ending.isalnum() and len(ending) <= 8 else "bin"


def png_size(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 24:
        return {}
    return {"width": int.from_bytes(data[16:20], "big"),
            "height": int.from_bytes(data[20:24], "big")}


def text_of(path):
    return os.path.abspath(os.fsdecode(path)).encode("utf-8", "replace").decode()


def _add(write, extension, kind, source, details):
    number = None
    try:
        number = _claim()
        base = os.path.join(FOLDER, "%06d" % number)
        meta = {"mime": MIME.get(extension, FALLBACK), "kind": kind, "source": source}
        meta.update((key, _short(value)) for key, value in details.items() if value is not None)
        _write_whole(number, "meta", lambda path: _write_meta(path, meta))
        _write_whole(number, extension, write)
    except Exception:
        # A claim without an artifact says nothing to anybody.
        if number is not None:
            _remove(base + ".meta")
        return None
    if on_added is not None:
        on_added(number)
    return number


def _claim():
    global _least
    if _least is None:
        _least = max(int(os.environ.get("LLM_SANDBOX_ARTIFACTS_FIRST") or 1), _last_used() + 1)
    for number in range(_least, MAX_NUMBER + 1):
        try:
            name = os.path.join(FOLDER, "%06d.meta" % number)
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        except FileExistsError:
            continue
        _least = number + 1
        return number
    raise OSError("no numbers left")


def _last_used():
    last = 0
    with os.scandir(FOLDER) as entries:
        for entry in entries:
            head = entry.name[:6]
            if entry.name[6:7] == "." and head.isascii() and head.isdigit():
                last = max(last, int(head))
    return last


def _write_meta(path, meta):
    line = json.dumps(meta, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with open(path, "xb") as file:
        file.write(line.encode("utf-8", "replace") + b"\n")


def _write_whole(number, extension, write):
    temporary = os.path.join(FOLDER, ".tmp-%06d-%d.%s" % (number, os.getpid(), extension))
    try:
        write(temporary)
        os.rename(temporary, os.path.join(FOLDER, "%06d.%s" % (number, extension)))
    except BaseException:
        _remove(temporary)
        raise


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _short(value):
    return value[:MAX_TEXT] if isinstance(value, str) else value
