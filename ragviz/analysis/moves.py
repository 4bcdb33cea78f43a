"""What moved, came and went between two rankings of one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragviz.core.document import Chunk
from ragviz.core.ranking import Ranking
from ragviz.text.counts import agreed
from ragviz.text.counts import first as first_of

HALF = 0.5
"""Chunks of different cuttings are counterparts when they share at least this part of the shorter one."""


@dataclass(frozen=True, slots=True)
class Move:
    """A chunk at `rank` of a ranking, and the rank of the same text in another one: 0 when it is not in it.

    `chunk_id` is the chunk's, `counterpart` that of the other ranking, "" when there is none; with different cuttings
    they differ.
    """

    chunk_id: str
    rank: int
    other: int
    counterpart: str = ""


def moves(ranking: Ranking, other: Ranking, *, same_chunks: bool) -> list[Move]:
    """Return where every chunk of `ranking` stands in `other`.

    With `same_chunks`, both rank chunks that were cut alike: a chunk is where its id is. Else it is also where the
    chunk is that shares the most characters with it, at least half of the shorter one; of several the best ranked.

    >>> [(m.rank, m.other) for m in moves(Ranking(("a", "b"), (2, 1)), Ranking(("b", "c"), (2, 1)), same_chunks=True)]
    [(1, 0), (2, 1)]
    """
    places = {chunk_id: rank for rank, chunk_id in enumerate(other.ids, start=1)}
    by_document: dict[str, list[tuple[int, int, str]]] = {}
    if not same_chunks:
        for chunk_id in other.ids:
            if place := Chunk.parse_id(chunk_id):
                by_document.setdefault(place[0], []).append((place[1], place[2], chunk_id))
    found = []
    for rank, chunk_id in enumerate(ranking.ids, start=1):
        counterpart = chunk_id if chunk_id in places else _overlapping(chunk_id, by_document)
        found.append(Move(chunk_id, rank, places.get(counterpart, 0), counterpart))
    return found


def _overlapping(chunk_id: str, by_document: dict[str, list[tuple[int, int, str]]]) -> str:
    """Return the id of the chunk of the same document that shares the most with this one, "" where none does enough."""
    place = Chunk.parse_id(chunk_id)
    if place is None:
        return ""
    document_id, start, end = place
    best, most = "", 0
    for first, last, other_id in by_document.get(document_id, []):
        shared, shorter = min(end, last) - max(start, first), min(end - start, last - first)
        if shared > most and shared >= HALF * shorter:
            best, most = other_id, shared
    return best


def words(of: Sequence[Move], back: Sequence[Move], k: int, names: tuple[str, str]) -> str:
    """Say what the first `k` chunks of two rankings have in common; `back` are the moves from the second to the first.

    >>> one, other = Ranking(("a", "b", "c"), (3, 2, 1)), Ranking(("b", "x", "a"), (3, 2, 1))
    >>> there, back = moves(one, other, same_chunks=True), moves(other, one, same_chunks=True)
    >>> words(there, back, 2, ("knn", "hybrid"))
    'Of the first 2 chunks, 1 is in both; 1 of knn went (to a lower rank), 1 of hybrid came.'
    """
    first, second = ([move for move in side if move.rank <= k] for side in (of, back))
    kept = [move for move in second if 0 < move.other <= k]
    gone = [move for move in first if not 0 < move.other <= k]
    come = [move for move in second if not 0 < move.other <= k]
    if not gone and not come:
        same = all(move.rank == move.other for move in second)
        if k == 1:
            return "The first chunk is the same."
        return f"The first {k} chunks are the same{', in the same order' if same else ', in another order'}."
    lower, higher = sum(move.other > 0 for move in gone), sum(move.other > 0 for move in come)
    sunk = _some(lower, len(gone), "to a lower rank")
    risen = _some(higher, len(come), "from a lower rank")
    both = f"{len(kept)} {agreed(len(kept), 'is')} in both"
    if (stayed := len(first) - len(gone)) != len(kept):  # cut differently: one may share its text with several
        both = f"{stayed} of {names[0]} and {len(kept)} of {names[1]} share their text"
    went, came = f"{len(gone)} of {names[0]} went{sunk}", f"{len(come)} of {names[1]} came{risen}"
    return f"Of {first_of(k, 'chunk')}, {both}; {went}, {came}."


def _some(count: int, total: int, what: str) -> str:
    """Return, in parentheses after a blank, what holds for `count` of `total`; "" where it holds for none."""
    return f" ({what})" if 0 < count == total else f" ({count} of them {what})" if count else ""


def move_words(move: Move, depth: int, *, back: bool) -> str:
    """Return a move as a badge says it: from the baseline to the other run, or, with `back`, where it came from.

    `depth` is that of the other ranking.

    >>> [move_words(Move("a", 4, other), 50, back=True) for other in (9, 2, 4, 0)]
    ['▲ from rank 9', '▼ from rank 2', '= rank 4', 'came: not in top 50 before']
    >>> [move_words(Move("a", 4, other), 50, back=False) for other in (9, 2, 0)]
    ['▼ to rank 9', '▲ to rank 2', 'went: not in top 50']
    """
    if not move.other:
        return f"came: not in top {depth:,} before" if back else f"went: not in top {depth:,}"
    if move.other == move.rank:
        return f"= rank {move.rank}"
    better = (move.other > move.rank) if back else (move.other < move.rank)
    return f"{'▲' if better else '▼'} {'from' if back else 'to'} rank {move.other}"
