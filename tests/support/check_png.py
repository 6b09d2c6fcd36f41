#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that a PNG has a size and shows something: check_png.py FILE WIDTH HEIGHT. Exits with 1 and a sentence."""
import pathlib
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        yield kind, data[at + 8 : at + 8 + length]
        at += length + 12


def main():
    name, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    data = pathlib.Path(name).read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit(f"error: {name} is not a PNG")
    parts = list(chunks(data))
    size = struct.unpack(">II", parts[0][1][:8])
    if size != (width, height):
        sys.exit(f"error: {name} is {size[0]}x{size[1]} instead of {width}x{height}")
    # An empty window packs to almost nothing; plots, tables and text do not.
    pixels = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    packed = len(zlib.compress(pixels, 6))
    if packed < 20_000 or len(set(pixels)) < 100:
        sys.exit(f"error: {name} shows (almost) nothing: {packed} bytes packed")
    print(f"{name}: {width}x{height}, {packed} bytes of picture")


if __name__ == "__main__":
    main()
