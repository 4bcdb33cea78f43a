"""JSON and text from outside: made storable, and refused when nested too deeply."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


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
