"""The sRGB colour profile (ICC, version 2) that PDF/A wants beside device colours: built from the numbers of
IEC 61966-2-1, so no file is shipped."""

from __future__ import annotations

import struct
from functools import lru_cache

CURVE_POINTS = 256
HEADER_BYTES = 128
# Primaries and white, adapted to D50.
COLORANTS = {
    b"wtpt": (0.9642, 1.0, 0.8249),
    b"rXYZ": (0.43607, 0.22249, 0.01392),
    b"gXYZ": (0.38515, 0.71687, 0.09708),
    b"bXYZ": (0.14307, 0.06061, 0.71410),
}


@lru_cache(maxsize=1)
def srgb_profile() -> bytes:
    curve = _curve()
    tags = {b"desc": _description("sRGB"), b"cprt": _text("Public domain")}
    tags |= {name: _xyz(*values) for name, values in COLORANTS.items()}
    tags |= {b"rTRC": curve, b"gTRC": curve, b"bTRC": curve}
    return _assembled(tags)


def _assembled(tags: dict[bytes, bytes]) -> bytes:
    at = HEADER_BYTES + 4 + 12 * len(tags)
    table, body, places = [struct.pack(">I", len(tags))], b"", {}
    for name, data in tags.items():
        if data not in places:
            places[data] = at + len(body)
            body += data + b"\0" * (-len(data) % 4)
        table.append(struct.pack(">4sII", name, places[data], len(data)))
    return _header(at + len(body)) + b"".join(table) + body


def _header(size: int) -> bytes:
    illuminant = b"".join(_fixed(value) for value in COLORANTS[b"wtpt"])
    head = struct.pack(">I4sI4s4s4s", size, b"\0" * 4, 0x02100000, b"mntr", b"RGB ", b"XYZ ")
    made_on = struct.pack(">6H", 2000, 1, 1, 0, 0, 0)
    return (head + made_on + b"acsp" + b"\0" * 28 + illuminant).ljust(HEADER_BYTES, b"\0")


def _curve() -> bytes:
    points = [round(_linear(i / (CURVE_POINTS - 1)) * 65535) for i in range(CURVE_POINTS)]
    return struct.pack(f">4sII{CURVE_POINTS}H", b"curv", 0, CURVE_POINTS, *points)


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _xyz(*values: float) -> bytes:
    return b"XYZ \0\0\0\0" + b"".join(_fixed(value) for value in values)


def _fixed(value: float) -> bytes:
    return struct.pack(">i", round(value * 65536))


def _text(value: str) -> bytes:
    return b"text\0\0\0\0" + value.encode("ascii") + b"\0"


def _description(value: str) -> bytes:
    """Without the Unicode and Macintosh names, whose places stay empty."""
    ascii_name = value.encode("ascii") + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(ascii_name)) + ascii_name + b"\0" * (4 + 4 + 2 + 1 + 67)
