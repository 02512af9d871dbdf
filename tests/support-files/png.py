# SPDX-License-Identifier: MIT
"""Pictures as rows of pixels: enough of PNG (8 bits, not interlaced) to look at what was drawn."""
import struct
import zlib

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


class Picture:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG"
        chunks = list(self.chunks(data))
        assert chunks[-1][0] == b"IEND", f"{path} has no end"
        head = chunks[0][1]
        self.width, self.height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", head)
        assert depth == 8 and not interlaced, (depth, interlaced)
        palette = next((body for name, body in chunks if name == b"PLTE"), b"")
        body = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
        channels = CHANNELS[kind]
        self.colours = {}  # how many pixels of each
        for row in self.rows(body, channels):
            self.count(row, channels)
        if kind == 3:
            self.colours = {palette[3 * key[0]:3 * key[0] + 3]: n
                            for key, n in self.colours.items()}

    @staticmethod
    def chunks(data):
        at = 8
        while at < len(data):
            size, name = struct.unpack(">I4s", data[at:at + 8])
            yield name, data[at + 8:at + 8 + size]
            at += size + 12

    def rows(self, body, channels):
        stride = self.width * channels
        before = bytes(stride)
        for y in range(self.height):
            start = y * (stride + 1)
            before = unfilter(body[start], bytearray(body[start + 1:start + 1 + stride]),
                              before, channels)
            yield before

    def count(self, row, channels):
        for at in range(0, len(row), channels):
            pixel = bytes(row[at:at + channels])
            self.colours[pixel] = self.colours.get(pixel, 0) + 1

    @property
    def size(self):
        return self.width, self.height

    def share(self, *colour):
        """How much of the picture has this colour (red, green, blue)."""
        return sum(n for pixel, n in self.colours.items() if pixel[:3] == bytes(colour)) / (
            self.width * self.height)

    def is_blank(self):
        return len(self.colours) <= 1


def unfilter(kind, row, before, step):
    if kind == 0:
        return row
    for at in range(len(row)):
        left = row[at - step] if at >= step else 0
        up = before[at]
        corner = before[at - step] if at >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            guess = paeth(left, up, corner)
        row[at] = (row[at] + guess) & 255
    return row


def paeth(left, up, corner):
    estimate = left + up - corner
    distances = abs(estimate - left), abs(estimate - up), abs(estimate - corner)
    if distances[0] <= distances[1] and distances[0] <= distances[2]:
        return left
    return up if distances[1] <= distances[2] else corner
