"""Content digests, fresh ids and JSON on one line."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from typing import Any

SEPARATORS = re.compile("[\x7f-\x9f\u2028\u2029]")
"""Characters that may count as line ends and are not escaped in JSON, with the other control characters."""


def json_line(value: Any) -> str:
    r"""Encode JSON for a prompt: on one line, by every definition of line ends.

    >>> print(json_line(["é\u2028", "\x85\n"]))
    ["é\u2028", "\u0085\n"]
    """
    return SEPARATORS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def digest(*parts: str | bytes, length: int = 16) -> str:
    """Return the hex digest of `parts`, with their lengths, so that ("ab", "c") and ("a", "bc") differ.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()[:length]


def new_id() -> str:
    """Return 16 random hex characters."""
    return secrets.token_hex(8)


def is_id(text: str) -> bool:
    """Return whether `new_id` may have made `text`.

    >>> is_id(new_id()), is_id("photos")
    (True, False)
    """
    return re.fullmatch(r"[0-9a-f]{16}", text) is not None
