"""Rankings of many questions as bytes of the store's cache: each chunk id once, and numbers."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from ragviz.core.ranking import Ranking


def encoded(rankings: Sequence[Ranking]) -> bytes:
    """Encode rankings, for `decoded`; scores are kept to float64."""
    ids = sorted({*chain.from_iterable(each.ids for each in rankings)})
    number = {chunk_id: place for place, chunk_id in enumerate(ids)}
    head = json.dumps([ids, [len(each.ids) for each in rankings]]).encode()
    chunks = np.array([number[i] for each in rankings for i in each.ids], dtype="<i4")
    scores = np.array([score for each in rankings for score in each.scores], dtype="<f8")
    return zlib.compress(len(head).to_bytes(8, "big") + head + chunks.tobytes() + scores.tobytes(), 1)


def decoded(body: bytes) -> list[Ranking]:
    """Decode what `encoded` made.

    >>> decoded(encoded([Ranking(("b", "a"), (0.5, 0.25)), Ranking((), ())]))
    [Ranking(ids=('b', 'a'), scores=(0.5, 0.25)), Ranking(ids=(), scores=())]
    """
    data = zlib.decompress(body)
    end = 8 + int.from_bytes(data[:8], "big")
    ids, lengths = json.loads(data[8:end])
    count = sum(lengths)
    names = np.array(ids, dtype=object)[np.frombuffer(data, "<i4", count, end)].tolist() if count else []
    scores = np.frombuffer(data, "<f8", count, end + 4 * count).tolist()
    ends = np.cumsum([0, *lengths]).tolist()
    return [Ranking(tuple(names[a:b]), tuple(scores[a:b])) for a, b in pairwise(ends)]
