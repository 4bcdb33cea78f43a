"""Secret keys in texts of others: found however they are written, and taken out.

A server that refuses a call may say the key that it got, as it came or in the escapes of whatever wrote its answer.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html.entities import html5

from ragviz.text.addresses import HIDDEN

KEY_LENGTH = 12
"""Characters of the shortest key that is looked for in texts: a shorter one is a word that any text may hold."""


def without_keys(text: str, keys: Sequence[str]) -> str:
    r"""Give `text` as it may be shown: without `keys`, which a server can echo; those below `KEY_LENGTH` stay.

    Found as they are, in escapes of JSON, HTML and addresses (several times over, too), and in base64.

    >>> without_keys("Bearer sk-1234567890 is the latest test", ["sk-1234567890", "test"])
    'Bearer •••• is the latest test'
    >>> without_keys(r"\u0073k-1234567890, sk%2D1234567890, sk&#45;1234567890", ["sk-1234567890"])
    '••••, ••••, ••••'
    """
    for key in keys:
        text = _written(key).sub(HIDDEN, text) if len(key) >= KEY_LENGTH else text
    return text


@lru_cache(maxsize=64)
def _written(key: str) -> re.Pattern[str]:
    """What matches a key in any of its forms."""
    spelt = "".join(map(_any_of, key))
    return re.compile("|".join([spelt, *map(re.escape, _encoded(key.encode()))]))


def _any_of(character: str) -> str:
    """Pattern of one character, itself or escaped; what is escaped twice has its first sign escaped again."""
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
    """Base64 of a key that stands anywhere in what was encoded: the part that does not depend on its neighbours."""
    for before in range(3):
        whole = b64encode(b"\0" * before + key).decode()
        inner = whole[-(-8 * before // 6) : (8 * (before + len(key))) // 6]
        yield inner
        if set(inner) & set("+/"):
            yield inner.translate(str.maketrans("+/", "-_"))
