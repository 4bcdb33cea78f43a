"""Retrieved characters against the evidence's, for every k from one retrieval, by interval algebra.

What chunk metrics cannot see: how much of a chunk is evidence, and how much of the evidence was cut off.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ragviz.errors import InputError
from ragviz.metrics.ranking import Floats, Ints, answerable
from ragviz.records import Evidence, Retrieved, Span

_BLOCK = 500  # questions laid out at once: bounds memory


@dataclass(frozen=True, slots=True, eq=False)
class CharacterTable:
    """Characters up to each rank, every one counted once; arrays (n, depth), rows and columns as in `RankTable`.

    `retrieved`: in the first k chunks. `wanted`: in the evidence; of a group with alternatives, in the member of
    which the first k chunks hold the greatest share (ties: the first). `found`: in both. `useful`: retrieved, and in
    any member. Stale evidence is wanted and cannot be found.
    """

    question_ids: tuple[str, ...]
    depth: int
    retrieved: Floats
    wanted: Floats
    found: Floats
    useful: Floats


def measure_characters(results: Sequence[Retrieved], evidence: Mapping[str, Evidence], depth: int) -> CharacterTable:
    """Lay the chunks of every ranking over the evidence of its question, which is looked up by question id.

    Raises:
        UsageError: `depth` is below 1.
        InputError: a question comes twice, or is answerable and has no evidence here; or a chunk's id does not tell
            where the chunk stands (`Chunk.make_id` does).

    """
    rows = answerable(results, depth)
    if missing := [result.question_id for result in rows if not evidence.get(result.question_id)]:
        raise InputError(
            f"{len(missing)} questions had evidence when they were run and have none now, '{missing[0]}' first; "
            "run them again."
        )
    chunks, spans = _intervals(rows, evidence, depth)
    wanted, found, useful, retrieved = np.zeros((4, len(rows), depth))
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        retrieved[block], wanted[block], found[block], useful[block] = _lay_out(
            chunks.rows(block), spans.rows(block), (len(rows[block]), depth)
        )
    return CharacterTable(tuple(result.question_id for result in rows), depth, retrieved, wanted, found, useful)


def character_recall(table: CharacterTable) -> Floats:
    """Characters found ÷ characters of the evidence, (n, depth); 0 when the evidence is empty."""
    return _ratio(table.found, table.wanted)


def character_precision(table: CharacterTable) -> Floats:
    """Useful characters ÷ characters retrieved, (n, depth); 0 when nothing was retrieved."""
    return _ratio(table.useful, table.retrieved)


def character_iou(table: CharacterTable) -> Floats:
    """Characters found ÷ characters retrieved or of the evidence, (n, depth): intersection over union."""
    return _ratio(table.found, table.wanted + table.retrieved - table.found)


@dataclass(frozen=True, slots=True, eq=False)
class _Intervals:
    """Pieces of documents in the order of the rows they belong to, arrays of shape (m,).

    `tag` is a chunk's 0-based rank, or the number of a span's group.
    """

    row: Ints
    document: Ints
    start: Ints
    end: Ints
    tag: Ints

    def rows(self, block: slice) -> _Intervals:
        """Those of a block of rows, which are numbered from 0 again."""
        first, last = np.searchsorted(self.row, [block.start, block.stop])
        row, *others = (getattr(self, name)[first:last] for name in self.__slots__)
        return _Intervals(row - block.start, *others)


def _intervals(
    results: Sequence[Retrieved], evidence: Mapping[str, Evidence], depth: int
) -> tuple[_Intervals, _Intervals]:
    """Retrieved chunks, and members of the evidence, those of a group side by side."""
    rankings = [result.ranking.ids[:depth] for result in results]
    sizes = np.array([len(ids) for ids in rankings], dtype=np.int64)
    places = _Places()
    place = np.fromiter(map(places.__getitem__, chain.from_iterable(rankings)), dtype=np.int64, count=sizes.sum())
    rank = np.arange(len(place)) - np.repeat(sizes.cumsum() - sizes, sizes)
    document, start, end = np.array(places.cuts).reshape(-1, 3)[place].T
    chunks = _Intervals(np.repeat(np.arange(len(sizes)), sizes), document, start, end, tag=rank)

    groups = [(row, group) for row, result in enumerate(results) for group in evidence[result.question_id]]
    members = [
        (row, places.document(span if span.stale else span.document_id), span.start, span.end, number)
        for number, (row, group) in enumerate(groups)
        for span in group
    ]
    return chunks, _Intervals(*np.fromiter(chain.from_iterable(members), dtype=np.int64).reshape(-1, 5).T)


class _Places(dict[str, int]):
    """Chunk id → its row in `cuts`, which hold document number, start and end. An id is read once."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts = array("q")
        self.documents: dict[str | Span, int] = {}

    def __missing__(self, chunk_id: str) -> int:
        try:
            document, start, end = chunk_id.rsplit("-", 2)
            self.cuts.extend((self.document(document), int(start), int(end)))
        except ValueError:
            raise InputError(
                f"Chunk id '{chunk_id}' does not end in '-start-end', so its characters cannot be compared; "
                "leave the character metrics out for this run."
            ) from None
        self[chunk_id] = len(self)
        return len(self) - 1

    def document(self, document: str | Span) -> int:
        """Number of a document id; or of a stale span, which is alone where it lies."""
        return self.documents.setdefault(document, len(self.documents))


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Rows, lengths and best 0-based ranks of stretches of text that no chunk or span begins or ends within.

    Arrays of shape (cells,), by row; the rank is `depth` where no chunk lies.
    """

    row: Ints
    length: Ints
    rank: Ints

    def up_to_k(self, shape: tuple[int, int]) -> Floats:
        """Lengths of the cells whose rank is below k, added up by row and k; `shape` is (rows, depth)."""
        rows, depth = shape
        bins = self.row * (depth + 1) + self.rank
        sums = np.bincount(bins, weights=self.length, minlength=rows * (depth + 1))
        return sums.reshape(rows, depth + 1)[:, :depth].cumsum(axis=1)


def _lay_out(chunks: _Intervals, spans: _Intervals, shape: tuple[int, int]) -> tuple[Floats, Floats, Floats, Floats]:
    """Characters retrieved, wanted, found and useful, each of `shape` (rows, depth)."""
    row, length, first, last = _cut(chunks, spans)
    rank = np.full(len(length), shape[1])
    chunk, cell = _spread(first[: len(chunks.row)], last[: len(chunks.row)])
    np.minimum.at(rank, cell, chunks.tag[chunk])
    retrieved = _Cells(row, length, rank).up_to_k(shape)

    span, cell = _spread(first[len(chunks.row) :], last[len(chunks.row) :])
    in_any = np.zeros(len(length), dtype=np.bool_)
    in_any[cell] = True
    evidence = _Cells(row[in_any], length[in_any], rank[in_any])
    useful = evidence.up_to_k(shape)
    if (np.diff(spans.tag) > 0).all():  # no group has alternatives: all the evidence is wanted, at every k
        total = np.bincount(evidence.row, weights=evidence.length, minlength=shape[0])
        return retrieved, np.broadcast_to(total[:, np.newaxis], shape), useful, useful

    held = _Cells(span, length[cell], rank[cell]).up_to_k((len(spans.row), shape[1]))
    chosen = _best_members(held / np.maximum(spans.end - spans.start, 1)[:, np.newaxis], spans.tag)
    in_chosen = np.zeros((len(evidence.row), shape[1]), dtype=np.bool_)
    np.logical_or.at(in_chosen, in_any.cumsum()[cell] - 1, chosen[span])
    wanted, found = np.zeros((2, *shape))
    np.add.at(wanted, evidence.row, in_chosen * evidence.length[:, np.newaxis])
    in_chosen &= evidence.rank[:, np.newaxis] <= np.arange(shape[1])
    np.add.at(found, evidence.row, in_chosen * evidence.length[:, np.newaxis])
    return retrieved, wanted, found, useful


def _cut(chunks: _Intervals, spans: _Intervals) -> tuple[Ints, Ints, Ints, Ints]:
    """Row and length of every cell, (cells,); its first cell and the one past its last of every chunk, then span.

    The documents of each row are laid end to end on one line, which is cut wherever an interval begins or ends.
    """
    row, document, start, end = (
        np.concatenate([getattr(chunks, name), getattr(spans, name)]) for name in ("row", "document", "start", "end")
    )
    width = 1 + end.max(initial=0)
    stretch = (1 + document.max(initial=0)) * width
    ends = np.concatenate([start, end]) + np.tile(row * stretch + document * width, 2)
    order = np.argsort(ends)
    new = np.diff(ends[order], prepend=-1) > 0
    edges, number = ends[order][new], np.empty(len(ends), dtype=np.int64)
    number[order] = new.cumsum() - 1
    return edges[:-1] // stretch, np.diff(edges), number[: len(start)], number[len(start) :]


def _spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Every pair of an interval and a cell in it: numbers of intervals, in order, and numbers of cells."""
    sizes = last - first
    interval = np.repeat(np.arange(len(sizes)), sizes)
    return interval, np.arange(len(interval)) + np.repeat(first - sizes.cumsum() + sizes, sizes)


def _best_members(share: Floats, group: Ints) -> NDArray[np.bool_]:
    """Mark, for every k, the first of the members of each group that have its greatest share, (s, depth)."""
    new = np.diff(group, prepend=-1) > 0
    starts, number = np.flatnonzero(new), new.cumsum() - 1
    member = np.arange(len(group))[:, np.newaxis]
    best = share == np.maximum.reduceat(share, starts)[number]
    return np.asarray(member == np.minimum.reduceat(np.where(best, member, len(group)), starts)[number])


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Divide; nothing of nothing is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
