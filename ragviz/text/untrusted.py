"""Text from outside: JSON made storable, and refused when nested too deeply or faulty; secret keys removed.

A server that refuses a call may echo the key, as it is or in the escapes of the format it answers in.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html.entities import html5
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ragviz.core.addresses import HIDDEN

if TYPE_CHECKING:
    from pydantic import ValidationError

SHORT = 60
"""Characters of a value that a fault names, at most."""

_SURROGATE = re.compile("[\ud800-\udfff]")


_BREAKS = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str) -> str:
    r"""Write control characters, line breaks and changes of direction as escapes, so that a text stays one line.

    >>> print(one_line("Ann\nBo\x1b[2J"))
    Ann\nBo\x1b[2J
    """
    return _BREAKS.sub(lambda found: repr(found[0])[1:-1], text)


def without_surrogates(text: str) -> str:
    """Replace each lone surrogate, which no tokenizer takes, by one character, so that offsets stay.

    >>> without_surrogates("caf" + chr(0xD800))
    'caf�'
    """
    return _SURROGATE.sub("\ufffd", text)


def storable(value: Any) -> Any:
    r"""Replace lone surrogates and NULs, which requests and databases refuse, in a text or in all texts of JSON.

    >>> storable(["caf\ud800é\0", {"n": 1}])
    ['caf?é�', {'n': 1}]
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    if isinstance(value, list):
        return [storable(each) for each in value]
    return {storable(key): storable(each) for key, each in value.items()} if isinstance(value, dict) else value


NESTED = 100
"""Deepest nesting that is read from JSON of others, far from Python's recursion limit."""


def parsed(text: str) -> Any:
    """Parse JSON from outside.

    Raises:
        ValueError: it is not JSON, or nested deeper than Python's parser goes.

    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"lists or objects are nested more than {NESTED} deep") from None


def is_deep(value: Any) -> bool:
    """Return whether the lists and objects of parsed JSON are nested more than `NESTED` deep.

    >>> is_deep([[{"a": [1]}]])
    False
    """
    level = [value]
    for _ in range(NESTED + 1):
        nests = [each for each in level if isinstance(each, (list, dict))]
        level = [child for each in nests for child in (each.values() if isinstance(each, dict) else each)]
        if not nests:
            return False
    return True


def has_keys(text: str, keys: Sequence[str]) -> bool:
    r"""Return whether a file, by its text or the beginning of it, is JSON with all keys, or CSV with these columns.

    >>> has_keys('[{"Input": "a", "n": 1}]', ("input", "n")), has_keys("q;input\na;n", ("input", "n"))
    (True, False)
    """
    text = text.lstrip("\ufeff \t\r\n")
    if text.startswith(("{", "[")):
        return all(re.search(rf'"{key}"\s*:', text, re.IGNORECASE) for key in keys)
    return {*keys} <= {cell.strip(' "\r') for cell in re.split(r"[,;\t|]", text.partition("\n")[0].lower())}


KEY_LENGTH = 12
"""Characters of the shortest key that is searched for: a shorter one may be a word of any text."""


def without_keys(text: str, keys: Sequence[str], shortest: int = KEY_LENGTH) -> str:
    r"""Return `text` without `keys`, which a server can echo; those shorter than `shortest` characters stay.

    Finds them as they are, in escapes of JSON, HTML and addresses (repeated ones, too), and in base64.

    >>> without_keys("Bearer sk-1234567890 is the latest test", ["sk-1234567890", "test"])
    'Bearer •••• is the latest test'
    >>> without_keys(r"\u0073k-1234567890, sk%2D1234567890, sk&#45;1234567890", ["sk-1234567890"])
    '••••, ••••, ••••'
    """
    for key in keys:
        text = _pattern_of(key).sub(HIDDEN, text) if len(key) >= shortest else text
    return text


@lru_cache(maxsize=64)
def _pattern_of(key: str) -> re.Pattern[str]:
    """Return the pattern of a key in any of its forms, which is searched for in linear time."""
    runs = [(character, len([*run])) for character, run in groupby(key)]
    before = ["", *(character for character, _ in runs)]
    spelled = "".join(_any_of(*run, after) for run, after in zip(runs, before, strict=False))
    return re.compile("|".join([spelled, *map(re.escape, _encoded(key.encode()))]))


_AT_ONCE = r"(?<!\\)"
"""Only at the beginning of a run of backslashes: a text of nothing else would take a time that grows by its square."""


def _any_of(character: str, times: int, before: str) -> str:
    """Return the pattern of a character a number of times, plain or escaped, also twice (the escape itself escaped).

    `before` is the character before it, "" at the beginning. Backslashes are taken as a whole, with those that escape
    them: what can be divided in several ways is tried in all of them.
    """
    code = f"{ord(character):x}"
    bytes_ = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode())
    names = sorted({name.rstrip(";") for name, value in html5.items() if value == character}, key=len, reverse=True)
    named = "".join(f"{re.escape(name)};|" for name in names)
    entity = rf"&(?:amp;)*(?:{named}#0*{ord(character)};?|#[xX]0*{_any_case(code)};?)|{_any_case(bytes_)}"
    number = rf"(?i:u0*|u\{{0*|x0*){_any_case(code)}\}}?"
    if character == "\\":
        return rf"{'' if before else _AT_ONCE}(?:\\+(?:{number})?|{entity})++"
    plain, escaped = (rf"(?:{_AT_ONCE}\\++)?", rf"{_AT_ONCE}\\+") if not before else (r"\\*", r"\\+")
    if before == "\\":
        plain = escaped = ""
    one = rf"(?:{plain}{re.escape(character)}|{escaped}{number}|{entity})"
    more = rf"(?:\\*{re.escape(character)}|\\+{number}|{entity})"
    return one + (more if times > 1 else "") * (times - 1)


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


def first_fault(error: ValidationError) -> str:
    """Say what is wrong first with data that is checked: where, the value if it is a short one, and why."""
    first = error.errors(include_url=False)[0]
    place, value = ".".join(map(str, first["loc"])) or "the whole", first.get("input")
    shown = f" ('{value}')" if isinstance(value, str | int | float) and len(str(value)) <= SHORT else ""
    return f"{place}{shown}: {first['msg']}"
