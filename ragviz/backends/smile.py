"""SMILE, the binary twin of JSON, for what Elasticsearch is sent in bulk: writing only, and only what that needs.

A number of a vector takes 6 bytes instead of about twelve digits, and the server has no digits to read: it took in
chunks of 384 numbers in about half the time. No maintained Python library writes SMILE. Source: the SMILE format
specification, version 1 (FasterXML), whose terms the names here are; neither names nor values are shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = "Mapping[str, Value] | NDArray[np.float32] | str | int | None"

MIMETYPE = "application/vnd.elasticsearch+smile"
HEADER = b":)\n\x00"
SEPARATOR = b"\xff"
"""What ends each document of a request; it occurs in none."""
NULL, EMPTY = b"\x21", b"\x20"
INTEGER, FLOAT = 0x24, 0x28
FLOAT_BYTES = 6
ASCII_TEXT, UNICODE_TEXT, END_TEXT = b"\xe0", b"\xe4", b"\xfc"
START_ARRAY, END_ARRAY, START_OBJECT, END_OBJECT = b"\xf8", b"\xf9", b"\xfa", b"\xfb"
LONGEST_NAME = 64
SHIFTS = np.arange(28, -1, -7, dtype=np.uint32)


def documents(*bodies: Mapping[str, Value]) -> bytes:
    """The bodies as documents, each with its separator: one operation of a bulk request.

    Raises:
        ValueError: a name that is not 1 to 64 ASCII characters, a whole number of more than 32 bits, or a lone
            surrogate in a text.

    """
    parts: list[bytes] = []
    for body in bodies:
        parts.append(HEADER)
        append(parts, body)
        parts.append(SEPARATOR)
    return b"".join(parts)


def append(parts: list[bytes], value: Value) -> None:
    """Append the bytes of `value` to `parts`."""
    if isinstance(value, str):
        kind = ASCII_TEXT if value.isascii() else UNICODE_TEXT
        parts.extend((kind, value.encode(), END_TEXT) if value else (EMPTY,))
    elif value is None:
        parts.append(NULL)
    elif isinstance(value, int):
        parts.append(integer(value))
    elif isinstance(value, Mapping):
        parts.append(START_OBJECT)
        for key, inner in value.items():
            parts.append(name(key))
            append(parts, inner)
        parts.append(END_OBJECT)
    else:
        parts.extend((START_ARRAY, floats(value), END_ARRAY))


def name(key: str) -> bytes:
    """A field's name."""
    if not key.isascii() or not 1 <= len(key) <= LONGEST_NAME:
        raise ValueError(f"{key!r} is not a name of 1 to {LONGEST_NAME} ASCII characters")
    return bytes((0x7F + len(key),)) + key.encode()


def integer(number: int) -> bytes:
    """A whole number of 32 bits, its sign in the last bit: groups of 7 bits, and 6 in the last, which is marked.

    >>> integer(0).hex(), integer(-1).hex(), integer(32).hex()
    ('2480', '2481', '240180')
    """
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{number} does not fit in 32 bits")
    rest = number << 1 ^ number >> 31
    groups = [0x80 | rest & 0x3F]
    rest >>= 6
    while rest:
        groups.append(rest & 0x7F)
        rest >>= 7
    return bytes((INTEGER, *reversed(groups)))


def floats(row: NDArray[np.float32]) -> bytes:
    """The numbers of `row` (n,), each as five groups of 7 bits, the highest first.

    >>> floats(np.array([1, -2], np.float32)).hex(" ", 6)
    '28037c000000 280c00000000'
    """
    out = np.empty((len(row), FLOAT_BYTES), np.uint8)
    out[:, 0] = FLOAT
    out[:, 1:] = row.astype(np.float32, copy=False).view(np.uint32)[:, None] >> SHIFTS & 0x7F
    return out.tobytes()
