"""Secret keys removed from texts, however they are written there.

A server that refuses a call may echo the key, as it is or in the escapes of the format it answers in.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html.entities import html5

from ragviz.core.addresses import HIDDEN

KEY_LENGTH = 12
"""Characters of the shortest key that is searched for: a shorter one may be a word of any text."""


def without_keys(text: str, keys: Sequence[str]) -> str:
    r"""Return `text` without `keys`, which a server can echo; those shorter than `KEY_LENGTH` stay.

    Finds them as they are, in escapes of JSON, HTML and addresses (repeated ones, too), and in base64.

    >>> without_keys("Bearer sk-1234567890 is the latest test", ["sk-1234567890", "test"])
    'Bearer •••• is the latest test'
    >>> without_keys(r"\u0073k-1234567890, sk%2D1234567890, sk&#45;1234567890", ["sk-1234567890"])
    '••••, ••••, ••••'
    """
    for key in keys:
        text = _pattern_of(key).sub(HIDDEN, text) if len(key) >= KEY_LENGTH else text
    return text


@lru_cache(maxsize=64)
def _pattern_of(key: str) -> re.Pattern[str]:
    """Return the pattern of a key in any of its forms."""
    spelled = "".join(map(_any_of, key))
    return re.compile("|".join([spelled, *map(re.escape, _encoded(key.encode()))]))


def _any_of(character: str) -> str:
    """Return the pattern of one character, plain or escaped, also twice (with the escape itself escaped)."""
    code = f"{ord(character):x}"
    bytes_ = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode())
    names = sorted({name.rstrip(";") for name, value in html5.items() if value == character}, key=len, reverse=True)
    named = "".join(f"{re.escape(name)};|" for name in names)
    return (
        rf"(?:\\*{re.escape(character)}|\\+(?i:u0*|u\{{0*|x0*){_any_case(code)}\}}?"
        rf"|&(?:amp;)*(?:{named}#0*{ord(character)};?|#[xX]0*{_any_case(code)};?)|{_any_case(bytes_)})"
    )


def _any_case(pattern: str) -> str:
    return f"(?i:{pattern})"


def _encoded(key: bytes) -> Iterator[str]:
    """Yield a key's base64 at any position of the encoded text: the part that its neighbours do not change."""
    for before in range(3):
        whole = b64encode(b"\0" * before + key).decode()
        inner = whole[-(-8 * before // 6) : (8 * (before + len(key))) // 6]
        yield inner
        if set(inner) & set("+/"):
            yield inner.translate(str.maketrans("+/", "-_"))
