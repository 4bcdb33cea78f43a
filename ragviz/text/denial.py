"""Whether a text denies something, by its words of negation, English and Chinese."""

from __future__ import annotations

import re

_DENIAL = re.compile(r"\b(?:no|not|never|none|cannot|neither|nor|without)\b|n['’]t\b|[不没無无非勿未禁]", re.IGNORECASE)


def denies(text: str) -> bool:
    """Return whether a text has a word of negation.

    >>> denies("It isn't open."), denies("It is open."), denies("禁止停车")
    (True, False, True)
    """
    return bool(_DENIAL.search(text))
