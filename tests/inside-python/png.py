# SPDX-License-Identifier: MIT
"""Decodes the PNGs that the tests compare: eight bits, RGB, RGBA, grey or palette, no interlace."""
import collections
import struct
import zlib

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


class Picture:
    def __init__(self, data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
        parts = collections.defaultdict(bytes)
        for kind, body in chunks(data):
            parts[kind] += body
        self.width, self.height, depth, colour, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
        assert (depth, rest[2]) == (8, 0), "a PNG that the tests cannot read"
        self.channels = CHANNELS[colour]
        self.palette = parts[b"PLTE"] if colour == 3 else None
        self.rows = list(unfilter(zlib.decompress(parts[b"IDAT"]), self.height,
                                  self.width * self.channels, self.channels))

    def colours(self):
        """How many pixels have each colour, as (red, green, blue)."""
        count = collections.Counter()
        for row in self.rows:
            count.update(self.rgb(row[i:i + self.channels])
                         for i in range(0, len(row), self.channels))
        return count

    def rgb(self, pixel):
        if self.palette is not None:
            return tuple(self.palette[3 * pixel[0]:3 * pixel[0] + 3])
        return tuple(pixel[:3]) if self.channels >= 3 else (pixel[0],) * 3


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        crc, = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
        assert crc == zlib.crc32(kind + body), "a damaged PNG"
        yield kind, body
        at += 12 + length
    assert kind == b"IEND", "a PNG without an end"


def unfilter(data, height, length, step):
    before = bytearray(length)
    for y in range(height):
        kind, *_ = data[y * (length + 1):y * (length + 1) + 1]
        row = bytearray(data[y * (length + 1) + 1:(y + 1) * (length + 1)])
        for i in range(length) if kind else ():
            left = row[i - step] if i >= step else 0
            corner = before[i - step] if i >= step else 0
            row[i] = (row[i] + guess(kind, left, before[i], corner)) & 0xFF
        yield bytes(row)
        before = row


def guess(kind, left, above, corner):
    if kind == 4:
        return min((left, above, corner), key=lambda value: abs(left + above - corner - value))
    return {1: left, 2: above, 3: (left + above) // 2}[kind]
