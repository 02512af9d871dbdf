/* SPDX-License-Identifier: MIT */
#pragma once

/* Python: png(name, width, height) writes a picture whose left half is red, its right half blue. */
#define PICTURE_CODE                                                                              \
	"import struct, zlib\n"                                                                   \
	"def chunk(kind, data):\n"                                                                \
	"    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', "              \
	"zlib.crc32(kind + data))\n"                                                              \
	"def png(name, width, height, data=None):\n"                                              \
	"    half = width // 2\n"                                                                 \
	"    row = b'\\0' + b'\\xff\\0\\0' * half + b'\\0\\0\\xff' * (width - half)\n"           \
	"    head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)\n"                      \
	"    data = zlib.compress(row * height) if data is None else data\n"                      \
	"    with open(name, 'wb') as f:\n"                                                       \
	"        f.write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) +\n"                    \
	"                chunk(b'IDAT', data) + chunk(b'IEND', b''))\n"
