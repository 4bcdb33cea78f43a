"""How fast this machine works, learnt from the work it has done: units a second by kind of work.

Kept in the store, for each machine by itself: several may share a database.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Mapping

from ragviz.core.digests import digest
from ragviz.core.reply_cache import Cache

HISTORY = 600.0
"""Seconds of work that count: of longer ones the earlier fade, so that a rate follows the machine's load."""


def learn(cache: Cache, work: str, units: float, seconds: float) -> None:
    """Add `units` of a kind of `work`, done in `seconds`, to what is known of it; nothing when either is not above 0.

    Of two processes that learn at the same moment, the later one is kept.
    """
    if units <= 0 or seconds <= 0:
        return
    key = _key(work)
    known_units, known_seconds = _sums(cache.get_many([key]), key)
    kept = min(1.0, max(0.0, HISTORY - seconds) / known_seconds) if known_seconds else 0.0
    sums = (kept * known_units + units, kept * known_seconds + seconds)
    cache.put_many({key: json.dumps(sums).encode()})


def rate(cache: Cache, work: str) -> float | None:
    """Return the units a second of a kind of `work` on this machine, None before any was done."""
    key = _key(work)
    units, seconds = _sums(cache.get_many([key]), key)
    return units / seconds if seconds else None


def duration(cache: Cache, work: str, units: float) -> float | None:
    """Return the seconds that `units` of a kind of `work` take on this machine, None before any was done."""
    learnt = rate(cache, work)
    return None if learnt is None else units / learnt


def _key(work: str) -> str:
    return digest(socket.gethostname(), work)


def _sums(found: Mapping[str, bytes], key: str) -> tuple[float, float]:
    """Return units and seconds; nothing of a row that another version wrote otherwise."""
    try:
        units, seconds = json.loads(found.get(key, b"[0, 0]"))
        return (units, seconds) if all(math.isfinite(n) and n > 0 for n in (units, seconds)) else (0.0, 0.0)
    except (ValueError, TypeError):
        return 0.0, 0.0
