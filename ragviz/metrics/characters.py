"""Retrieved characters against the evidence's, for every k from one retrieval, by interval algebra.

What chunk metrics cannot see: how much of a chunk is evidence, and how much of the evidence was cut off. Where chunks
overlap there are two readings: a character counts once, however many chunks hold it; or, as in Chroma's evaluation of
chunkings (`chunking_evaluation`), every retrieved chunk counts with its whole length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter

import numpy as np
from numpy.typing import NDArray

from ragviz.core.document import Chunk, Evidence, Span
from ragviz.core.errors import InputError
from ragviz.metrics.rank_metrics import Floats, Ints, Metric, Rankings
from ragviz.text.counts import counted

_BLOCK = 2000  # questions laid out at once: bounds memory
_USUAL = len(Chunk.make_id("0" * 16, 0, 0))
_LONGEST = 2**40  # characters of a document: far beyond any, and sums of many stay within 64 bits


@dataclass(frozen=True, slots=True, eq=False)
class CharacterTable:
    """Characters up to each rank; arrays (n, depth), rows and columns as in `RankTable`.

    `chunk_lengths`: lengths of the first k chunks, added up; `retrieved`: characters in them, each counted once.
    `evidence_total`: characters of the evidence; of a group with alternatives, of the member of which the first k
    chunks hold the greatest share (ties: the first). `evidence_found`: those of them that were retrieved. `useful`:
    retrieved, and in any member. Stale evidence is in the total and cannot be found.
    """

    question_ids: tuple[str, ...]
    depth: int
    chunk_lengths: Floats
    retrieved: Floats
    evidence_total: Floats
    evidence_found: Floats
    useful: Floats


def measure_characters(
    rankings: Rankings, evidence: Mapping[str, Evidence], depth: int | None = None
) -> CharacterTable:
    """Lay the chunks of every ranking, to `depth` (default: the rankings'), over its evidence, found by question id.

    Raises:
        InputError: a question is answerable and has no evidence here; or a chunk's id does not name its
            characters, as those of `Chunk.make_id` do.

    """
    rows, depth = rankings.results, rankings.depth if depth is None else depth
    if missing := [result.question_id for result in rows if not evidence.get(result.question_id)]:
        raise InputError(
            f"{counted(len(missing), 'question')} had evidence when they were run, and none now, '{missing[0]}' first; "
            "run them again."
        )
    line, spans = _line(rankings.number, [evidence[result.question_id] for result in rows])
    placed = line.place[rankings.chunks[:, :depth]]
    shape, choices = (len(rows), depth), spans.choices()
    chunk_lengths, useful = np.empty(shape), np.empty(shape)
    # Equal tables share memory: these tables are as large as all rankings together.
    retrieved = np.empty(shape) if line.overlaps() else chunk_lengths
    evidence_found = np.empty(shape) if choices else useful
    evidence_total = np.empty(shape if choices else (len(rows), 1))
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        lengths = (line.end - line.start)[placed[block]]
        chunks = _sorted(line, placed[block])
        chunk_lengths[block] = lengths.cumsum(axis=1)
        if retrieved is not chunk_lengths:
            retrieved[block] = _once(lengths, chunks, line.stretch).cumsum(axis=1)
        members = spans.rows(block, line.stretch)
        cells = _lay_out(chunks.near(members), members, lengths.shape, line.stretch)
        useful[block] = cells.evidence.up_to_k(lengths.shape)
        if choices:
            evidence_total[block], evidence_found[block] = _chosen(cells, members, lengths.shape)
        else:  # the total is all the evidence, at every k
            evidence_total[block, 0] = np.bincount(cells.evidence.row, cells.evidence.length, minlength=len(lengths))
    question_ids = tuple(result.question_id for result in rows)
    return CharacterTable(
        question_ids, depth, chunk_lengths, retrieved, np.broadcast_to(evidence_total, shape), evidence_found, useful
    )


# Documents laid end to end on one line


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """Where the chunks lie on the line, in ascending order of their starts; the last, beyond all others, is no chunk.

    `place` (chunks + 1,) maps a chunk's number to its index in `start` and `end`, and -1 to that of no chunk. Every
    question has its own copy of the line, `stretch` behind the one before it.
    """

    place: Ints
    start: Ints
    end: Ints
    stretch: int

    def overlaps(self) -> bool:
        """Whether any two chunks share characters."""
        return bool((self.start[1:] < np.maximum.accumulate(self.end)[:-1]).any())


@dataclass(frozen=True, slots=True, eq=False)
class _Intervals:
    """Stretches of the line, in the order of the rows they belong to, arrays of shape (m,).

    `tag` is a chunk's 0-based rank, or the number of a span's group.
    """

    row: Ints
    start: Ints
    end: Ints
    tag: Ints

    def choices(self) -> bool:
        """Whether a group of spans has alternatives."""
        return bool((np.diff(self.tag) == 0).any())

    def rows(self, block: slice, stretch: int) -> _Intervals:
        """Return the intervals of a block of rows, numbered from 0 again, each on the line of its row."""
        first, last = np.searchsorted(self.row, [block.start, block.stop])
        row = self.row[first:last] - block.start
        shift = row * stretch
        return _Intervals(row, self.start[first:last] + shift, self.end[first:last] + shift, self.tag[first:last])


def _line(number: Mapping[str, int], evidence: Sequence[Evidence]) -> tuple[_Line, _Intervals]:
    """Lay out all chunks, and the members of the evidence, those of a group side by side."""
    numbers: dict[str | Span, int] = {}
    names, start, end = _places(number)
    document = _numbered(names, numbers)
    groups = [*chain.from_iterable(evidence)]
    spans = [*chain.from_iterable(groups)]
    # A stale span is alone where it lies.
    of_span = _numbered([span if span.stale else span.document_id for span in spans], numbers)
    from_, to = (np.fromiter(map(attrgetter(name), spans), np.int64, len(spans)) for name in ("start", "end"))
    length = np.zeros(len(numbers), dtype=np.int64)
    np.maximum.at(length, document, end)
    np.maximum.at(length, of_span, to)
    offset = length.cumsum() - length
    stretch = int(length.sum()) + 1  # one character more, for no chunk
    start, end = start + offset[document], end + offset[document]
    order = np.argsort(start)
    place = np.full(len(order) + 1, len(order))
    place[order] = np.arange(len(order))
    beyond = [stretch - 1]
    line = _Line(place, np.concatenate([start[order], beyond]), np.concatenate([end[order], beyond]), stretch)
    row = np.repeat(np.arange(len(evidence)), [*map(len, evidence)])
    tag = np.repeat(np.arange(len(groups)), [*map(len, groups)])
    return line, _Intervals(row[tag], from_ + offset[of_span], to + offset[of_span], tag)


def _places(chunk_ids: Iterable[str]) -> tuple[Sequence[str], Ints, Ints]:
    """Return document, start and end of each chunk, read from its id.

    Raises:
        InputError: an id does not name them.

    """
    ids = list(chunk_ids)
    if not ids:
        return (), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if set(map(len, ids)) == {_USUAL} and "".join(ids).isascii():
        # Two numbers of eight digits, all read at once: `Chunk.parse_id` for each takes several times as long.
        letters = np.frombuffer("".join(ids).encode(), dtype=np.uint8).reshape(-1, _USUAL)
        digits = letters[:, [*range(-17, -9), *range(-8, 0)]].astype(np.int64) - ord("0")
        if ((digits >= 0) & (digits <= 9)).all() and (letters[:, [-18, -9]] == ord("-")).all():
            start, end = digits.reshape(-1, 2, 8).transpose(1, 0, 2) @ 10 ** np.arange(7, -1, -1)
            if (start <= end).all():
                return [*map(itemgetter(slice(-18)), ids)], start, end
    documents, starts, ends = zip(*map(_place, ids), strict=True)
    return documents, np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)


def _place(chunk_id: str) -> tuple[str, int, int]:
    place = Chunk.parse_id(chunk_id)
    if place is None or not place[1] <= place[2] < _LONGEST:
        raise InputError(
            f"Chunk id '{chunk_id}' does not end in '-start-end', so its characters cannot be compared; "
            "leave the character metrics out for this run."
        )
    return place


def _numbered(documents: Sequence[str | Span], numbers: dict[str | Span, int]) -> Ints:
    """Number of each document, (m,); new ones go into `numbers`."""
    for document in set(documents):
        numbers.setdefault(document, len(numbers))
    return np.fromiter(map(numbers.__getitem__, documents), np.int64, len(documents))


# Rankings laid over them


@dataclass(frozen=True, slots=True, eq=False)
class _Sorted:
    """The chunks of each row by their starts, (rows, depth): where they lie on the row's line, and their ranks."""

    start: Ints
    end: Ints
    rank: Ints

    def reach(self) -> Ints:
        """The farthest end of a chunk and those before it in its row, (rows, depth)."""
        return np.maximum.accumulate(self.end, axis=1)

    def near(self, spans: _Intervals) -> _Intervals:
        """Return the chunks that may share characters with a span: all that do, and those that lie between them."""
        first = np.searchsorted(self.reach().ravel(), spans.start, side="right")
        last = np.maximum(np.searchsorted(self.start.ravel(), spans.end), first)
        near = np.zeros(self.start.size, dtype=np.bool_)
        near[_spread(first, last)[1]] = True
        return self.intervals(near.reshape(self.start.shape))

    def intervals(self, chosen: NDArray[np.bool_]) -> _Intervals:
        """Return the chunks that `chosen` marks, (rows, depth)."""
        return _Intervals(np.nonzero(chosen)[0], self.start[chosen], self.end[chosen], self.rank[chosen])


def _sorted(line: _Line, placed: Ints) -> _Sorted:
    rows, depth = placed.shape
    bits = max(depth - 1, 1).bit_length()
    keys = np.sort(placed << bits | np.arange(depth), axis=1)
    shift = np.arange(rows)[:, np.newaxis] * line.stretch
    place = keys >> bits
    return _Sorted(line.start[place] + shift, line.end[place] + shift, keys & ((1 << bits) - 1))


def _once(lengths: Ints, chunks: _Sorted, stretch: int) -> Ints:
    """Count the characters that each chunk adds to those ranked above it, (rows, depth): its length, less overlaps.

    Only chunks that overlap another one of their row are laid over each other.
    """
    meets = chunks.start[:, 1:] < chunks.reach()[:, :-1]
    if not meets.any():
        return lengths
    overlapping = np.zeros(lengths.shape, dtype=np.bool_)
    overlapping[:, 1:] = meets
    overlapping[:, :-1] |= meets
    intervals = chunks.intervals(overlapping)
    row, length, first, last = _cut(intervals.start, intervals.end, stretch)
    rank = _best_ranks(intervals, first, last, (len(row), lengths.shape[1]))
    added = lengths.copy()
    added[intervals.row, intervals.tag] = 0
    covered = rank < lengths.shape[1]
    np.add.at(added, (row[covered], rank[covered]), length[covered])
    return added


def _lay_out(chunks: _Intervals, spans: _Intervals, shape: tuple[int, ...], stretch: int) -> _Evidence:
    """Cut the evidence of rows wherever a chunk or a span begins or ends; `shape` is (rows, depth)."""
    ends = (np.concatenate([chunks.start, spans.start]), np.concatenate([chunks.end, spans.end]))
    row, length, first, last = _cut(*ends, stretch)
    count = len(chunks.row)
    rank = _best_ranks(chunks, first[:count], last[:count], (len(row), shape[1]))
    span, cell = _spread(first[count:], last[count:])
    in_any = np.zeros(len(length), dtype=np.bool_)
    in_any[cell] = True
    evidence = _Cells(row[in_any], length[in_any], rank[in_any])
    return _Evidence(evidence, span, in_any.cumsum()[cell] - 1)


def _chosen(cells: _Evidence, spans: _Intervals, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Characters of every group's best member, and those of them that were found, each of `shape` (rows, depth)."""
    evidence, depth = cells.evidence, shape[1]
    of_spans = _Cells(cells.span, evidence.length[cells.cell], evidence.rank[cells.cell])
    retrieved = of_spans.up_to_k((len(spans.row), depth))
    best = _best_members(retrieved / np.maximum(spans.end - spans.start, 1)[:, np.newaxis], spans.tag)
    in_best = np.zeros((len(evidence.row), depth), dtype=np.bool_)
    np.logical_or.at(in_best, cells.cell, best[cells.span])
    total, covered = np.zeros((2, *shape))
    np.add.at(total, evidence.row, in_best * evidence.length[:, np.newaxis])
    in_best &= evidence.rank[:, np.newaxis] <= np.arange(depth)
    np.add.at(covered, evidence.row, in_best * evidence.length[:, np.newaxis])
    return total, covered


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Rows, lengths and best 0-based ranks of stretches of text that no chunk or span begins or ends within.

    Arrays of shape (cells,), by row; the rank is `depth` where no chunk lies.
    """

    row: Ints
    length: Ints
    rank: Ints

    def up_to_k(self, shape: tuple[int, ...]) -> Floats:
        """Lengths of the cells whose rank is below k, added up by row and k; `shape` is (rows, depth)."""
        rows, depth = shape
        bins = self.row * (depth + 1) + self.rank
        sums = np.bincount(bins, weights=self.length, minlength=rows * (depth + 1))
        return sums.reshape(rows, depth + 1)[:, :depth].cumsum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """The cells of the evidence, and which of them are in which span: pairs of `span` and `cell`, each (pairs,)."""

    evidence: _Cells
    span: Ints
    cell: Ints


def _cut(start: Ints, end: Ints, stretch: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return row and length of every cell, (cells,); of every interval its first cell and the one past its last.

    The line is cut wherever an interval begins or ends.
    """
    ends = np.concatenate([start, end])
    order = np.argsort(ends)
    new = np.diff(ends[order], prepend=-1) > 0
    edges, number = ends[order][new], np.empty(len(ends), dtype=np.int64)
    number[order] = new.cumsum() - 1
    return edges[:-1] // stretch, np.diff(edges), number[: len(start)], number[len(start) :]


def _best_ranks(chunks: _Intervals, first: Ints, last: Ints, shape: tuple[int, int]) -> Ints:
    """Best rank of a chunk on each cell, (cells,); `depth` where none lies. `shape` is (cells, depth)."""
    cells, depth = shape
    rank = np.full(cells, depth)
    chunk, cell = _spread(first, last)
    np.minimum.at(rank, cell, chunks.tag[chunk])
    return rank


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


CHARACTERS: dict[str, Metric[CharacterTable]] = {
    "character_recall": Metric(
        "Character recall@k",
        "Share of the evidence's characters that the first k chunks hold. 0 to 1. Low: the evidence ranks below k, or "
        "chunk borders cut it.",
        lambda table: _ratio(table.evidence_found, table.evidence_total),
    ),
    "character_precision": Metric(
        "Character precision@k",
        "Share of the first k chunks' characters that are evidence. 0 to 1, and small for short quotes in long "
        "chunks. Low: chunks are longer, or more, than the evidence needs.",
        lambda table: _ratio(table.useful, table.retrieved),
    ),
    "character_iou": Metric(
        "Character IoU@k",
        "Characters that are both evidence and in the first k chunks ÷ characters that are either. 0 to 1. Low: "
        "evidence is missing, or much else was retrieved.",
        lambda table: _ratio(table.evidence_found, table.evidence_total + table.retrieved - table.evidence_found),
    ),
    "chroma_precision": Metric(
        "Character precision@k, Chroma's",
        "As character precision, but every retrieved chunk counts with its whole length, so that what overlaps counts "
        "each time: the same where no chunks overlap. 0 to 1. Low: as there, or chunks repeat each other.",
        lambda table: _ratio(table.useful, table.chunk_lengths),
    ),
    "chroma_iou": Metric(
        "Character IoU@k, Chroma's",
        "As character IoU, but every retrieved chunk counts with its whole length: found ÷ (lengths of the chunks + "
        "evidence not found). 0 to 1. Low: as there, or chunks repeat each other.",
        lambda table: _ratio(table.evidence_found, table.evidence_total + table.chunk_lengths - table.evidence_found),
    ),
}
"""Metrics of characters by name: a new one is a function of a `CharacterTable` and its entry here."""
