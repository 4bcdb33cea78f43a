"""Retrieved characters against the evidence's, at one k, by interval algebra.

What chunk metrics cannot see: how much of a chunk is evidence, and how much of the evidence was cut off. Where chunks
overlap there are two readings: a character counts once, however many chunks hold it; or, as in Chroma's evaluation of
chunkings (`chunking_evaluation`), every retrieved chunk counts with its whole length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragviz.core.document import Chunk, Evidence, Span
from ragviz.core.errors import InputError
from ragviz.metrics.rank_metrics import Floats, Metric, Rankings
from ragviz.text.counts import counted

_LONGEST = 2**40  # characters of a document: far beyond any
Range = tuple[str, int, int]
"""Characters of a document: its id, start, end."""


@dataclass(frozen=True, slots=True, eq=False)
class CharacterTable:
    """Characters in the first k chunks of each ranking; arrays (n,), in the order of the rankings.

    `chunk_lengths`: lengths of the chunks, added up; `retrieved`: characters in them, each counted once.
    `evidence_total`: characters of the evidence; of a group with alternatives, of the member of which the chunks hold
    the greatest share (ties: the first). `evidence_found`: those of them that were retrieved. `useful`: retrieved, and
    in any member. Stale evidence is in the total and cannot be found.
    """

    chunk_lengths: Floats
    retrieved: Floats
    evidence_total: Floats
    evidence_found: Floats
    useful: Floats


def measure_characters(rankings: Rankings, evidence: Mapping[str, Evidence], k: int) -> CharacterTable:
    """Lay the first `k` chunks of every ranking over its evidence, found by question id.

    Raises:
        InputError: a question is answerable and has no evidence here; or a chunk's id does not name its
            characters, as those of `Chunk.make_id` do.

    """
    ids = [result.question_id for result in rankings.results]
    if missing := [question_id for question_id in ids if not evidence.get(question_id)]:
        raise InputError(
            f"{counted(len(missing), 'question')} had evidence when they were run, and none now, '{missing[0]}' first; "
            "run them again."
        )
    k = min(k, rankings.depth)
    places = {i: _place(i) for i in {i for result in rankings.results for i in result.ranking.ids[:k]}}
    rows = [
        _row([places[i] for i in result.ranking.ids[:k]], evidence[question_id])
        for question_id, result in zip(ids, rankings.results, strict=True)
    ]
    return CharacterTable(*np.array(rows, dtype=np.float64).reshape(-1, 5).T)


def _row(chunks: Sequence[Range], groups: Evidence) -> tuple[int, ...]:
    """Return the numbers of one question, in the order of `CharacterTable`."""
    retrieved, useful = _union(chunks), _union(_range(span) for group in groups for span in group)

    def share(span: Span) -> float:
        return _shared([_range(span)], retrieved) / max(span.end - span.start, 1)

    chosen = useful
    if any(len(group) > 1 for group in groups):
        chosen = _union(_range(max(group, key=share)) for group in groups)
    lengths = (sum(end - start for _, start, end in ranges) for ranges in (chunks, retrieved, chosen))
    found = _shared(chosen, retrieved)
    return (*lengths, found, found if chosen is useful else _shared(useful, retrieved))


def _range(span: Span) -> Range:
    """Return the characters of a span; a stale one is alone where it lies."""
    return (f"stale {span}" if span.stale else span.document_id), span.start, span.end


def _place(chunk_id: str) -> Range:
    place = Chunk.parse_id(chunk_id)
    if place is None or not place[1] <= place[2] < _LONGEST:
        raise InputError(
            f"Chunk id '{chunk_id}' does not end in '-start-end', so its characters cannot be compared; "
            "leave the character metrics out for this run."
        )
    return place


def _union(ranges: Iterable[Range]) -> list[Range]:
    """Return the characters of all ranges as ranges that share none, in ascending order."""
    found: list[Range] = []
    for document, start, end in sorted(ranges):
        if found and found[-1][0] == document and start <= found[-1][2]:
            found[-1] = (document, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((document, start, end))
    return found


def _shared(some: Sequence[Range], others: Sequence[Range]) -> int:
    """Count the characters that are in both; the ranges of each share none."""
    return sum(
        max(min(end, others_end) - max(start, others_start), 0)
        for document, start, end in some
        for others_document, others_start, others_end in others
        if document == others_document
    )


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Divide, (n,); nothing of nothing is 0."""
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
