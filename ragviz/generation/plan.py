"""What a question set is to ask: a quota of questions for each cell of document, section, type and style.

It is drawn before anything is generated, from what documents are like (their length, headings, tables, lists) and from
a seed alone. Documents get questions in proportion to the square root of their length, at least one each as far as the
total reaches, and so do the sections of each document; types and styles have exactly the counts that were asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import QuestionStyle, QuestionType
from ragviz.questions.question_types import STYLES, TYPES

LIMIT = 50
"""Questions that are planned where nobody says how many."""
MIX: Mapping[QuestionType, float] = {
    "fact": 30, "number": 12, "definition": 8, "list": 8, "table": 8, "exception": 5, "bridge": 10, "comparison": 4,
    "version": 2, "follow-up": 4, "unanswerable": 9,
}  # fmt: skip
"""Shares of types where nobody says which: mostly questions of one passage, as people ask; some of each other type."""
Place = tuple[str, str]
"""Document id and section (path of headings)."""
Key = TypeVar("Key", bound=str)


@dataclass(frozen=True, slots=True)
class Cell:
    """So many questions of one type and style about one section of a document.

    `section` is the path of headings, joined by " > ", "" for what is under no heading. A question that needs several
    passages is counted where its first one is, an unanswerable one where the true question stands that it is made of.
    `chunk` is the id of the chunk that it is to ask about, "" where it may ask about any of the section.
    """

    document_id: str
    section: str
    type: QuestionType
    style: QuestionStyle
    planned: int = 1
    chunk: str = ""

    @property
    def place(self) -> Place:
        """Its document and section."""
        return self.document_id, self.section


@dataclass(frozen=True, slots=True)
class Outline:
    """What a plan knows of a document: the characters of each section, by path, and what sections can be asked for.

    `offers` holds the types that a section is known to have something for; a type in `known` is planned only where it
    is offered, as far as that is possible, every other type anywhere.
    """

    document_id: str
    sections: Mapping[str, int]
    offers: Mapping[str, Collection[QuestionType]] = field(default_factory=dict)

    @property
    def characters(self) -> int:
        """Characters of all sections."""
        return sum(self.sections.values())

    def has(self, asked: QuestionType) -> bool:
        """Return whether a section offers this type."""
        return any(asked in offered for offered in self.offers.values())


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A chunk that is to be asked about: its id, document and section."""

    id: str
    document_id: str
    section: str


# How many of each


def kinds_of(
    limit: int | None, kinds: Mapping[QuestionType, int | None], mix: Mapping[QuestionType, float] = MIX
) -> dict[QuestionType, int]:
    """Return how many questions of each type are asked for: the counts given; types without one share what is left.

    Without types, all of `mix` do. Without a `limit` it is the sum of the counts, or `LIMIT` where some have none.

    >>> kinds_of(None, {"fact": 80, "bridge": 60}), kinds_of(10, {"fact": 4, "table": None})
    ({'fact': 80, 'bridge': 60}, {'fact': 4, 'table': 6})

    Raises:
        UsageError: the counts contradict the limit; there is no such type; nothing is asked for.

    """
    _known("kind", kinds, TYPES)
    _no_less_than_zero("kinds", kinds)
    if limit is not None and limit < 1:
        raise UsageError(f"Give a limit of 1 or more, not {limit}.")
    counted = {name: count for name, count in kinds.items() if count is not None}
    open_types = [name for name, count in kinds.items() if count is None] if kinds else list(mix)
    given = sum(counted.values())
    total = limit if limit is not None else given if not open_types else max(LIMIT, given)
    if given > total or (given < total and not open_types):
        listed = ", ".join(f"{name}={count}" for name, count in counted.items())
        raise UsageError(
            f"The limit is {total:,}, and the kinds ask for {given:,} ({listed}): leave one of them out, or make them "
            "agree."
        )
    if not total:
        raise UsageError("No question is asked for: give a kind a count of 1 or more.")
    rest = apportioned({name: mix.get(name, 1.0) for name in open_types}, total - given)
    return {name: count for name, count in (counted | rest).items() if count}


def styles_of(styles: Mapping[QuestionStyle, float | None], total: int) -> dict[QuestionStyle, int]:
    """Return how many of `total` questions have each style: counts where they sum up to it, else shares of it.

    Without styles all are as a colleague asks; a style without a number counts as 1.

    >>> styles_of({}, 5), styles_of({"colleague": 70, "keywords": 30}, 10), styles_of({"long": None, "keywords": 1}, 4)
    ({'colleague': 5}, {'colleague': 7, 'keywords': 3}, {'long': 2, 'keywords': 2})

    Raises:
        UsageError: there is no such style; a share is below 0; all are 0.

    """
    _known("style", styles, STYLES)
    _no_less_than_zero("styles", styles)
    weights: dict[QuestionStyle, float] = {name: 1.0 if share is None else share for name, share in styles.items()}
    if styles and not sum(weights.values()):
        raise UsageError("No style has a share above 0.")
    weights = weights or {"colleague": 1.0}
    counts = apportioned(weights, total)
    return {name: count for name, count in counts.items() if count}


def _known(noun: str, given: Iterable[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"There is no {noun} '{name}'; there are {', '.join(known)}.")


def _no_less_than_zero(noun: str, given: Mapping[Key, float | None]) -> None:
    for name, number in given.items():
        if number is not None and not 0 <= number < math.inf:
            raise UsageError(f"The {noun} say {name}={number}: give a number of 0 or more.")


def read_quotas(text: str, noun: str) -> dict[str, float | None]:
    """Read "fact=80,bridge=60,table" as numbers by name, None where there is no number.

    >>> read_quotas("fact=80, bridge", "kinds"), read_quotas("", "kinds")
    ({'fact': 80.0, 'bridge': None}, {})

    Raises:
        UsageError: a number cannot be read, or a name is given twice.

    """
    read: dict[str, float | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, is_numbered, number = (piece.strip() for piece in part.partition("="))
        if name in read:
            raise UsageError(f"The {noun} name '{name}' twice: give it one number.")
        try:
            read[name] = float(number) if is_numbered else None
        except ValueError:
            raise UsageError(f"'{part}' is no quota: write the {noun} as NAME=NUMBER,NAME=NUMBER.") from None
    return read


def whole(quotas: Mapping[str, float | None]) -> dict[str, int | None]:
    """Return quotas as whole numbers; UsageError for others."""
    for name, number in quotas.items():
        if number is not None and number != int(number):
            raise UsageError(f"The kinds say {name}={number:g}: give a whole number.")
    return {name: None if number is None else int(number) for name, number in quotas.items()}


def apportioned(weights: Mapping[Key, float], total: int) -> dict[Key, int]:
    """Divide `total` in proportion to `weights` by largest remainders; ties go to the greater weight, then the name.

    >>> apportioned({"a": 1, "b": 1, "c": 2}, 6), apportioned({}, 3)
    ({'a': 2, 'b': 1, 'c': 3}, {})
    """
    whole_weight = math.fsum(weights.values())
    if not whole_weight:
        return dict.fromkeys(weights, 0)
    exact = {name: total * weight / whole_weight for name, weight in weights.items()}
    counts = {name: math.floor(share + 1e-9) for name, share in exact.items()}
    by_remainder = sorted(weights, key=lambda name: (round(counts[name] - exact[name], 9), -weights[name], name))
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def spread(characters: Mapping[str, int], total: int, seed: int) -> dict[str, int]:
    """Divide `total` questions over texts in proportion to the square root of their length, at least one for each.

    Where `total` is less than the texts, as many are drawn by the seed, a text likelier by the square root of its
    length; each has one. Texts whose share would be below one get one, and the others share the rest by largest
    remainders. Texts without a character get none.

    >>> sorted(spread({"a": 400, "b": 100, "c": 1}, 8, 0).items()), sum(spread({"a": 400, "b": 100}, 1, 0).values())
    ([('a', 5), ('b', 2), ('c', 1)], 1)
    """
    weights = {name: math.sqrt(length) for name, length in characters.items() if length > 0}
    if total <= len(weights):
        drawn = sorted(weights, key=lambda name: (-math.log(_chance(seed, name)) / weights[name], name))
        return dict.fromkeys(drawn[: max(0, total)], 1)
    small: set[str] = set()
    while True:
        rest, left = total - len(small), {name: weight for name, weight in weights.items() if name not in small}
        each = rest / math.fsum(left.values()) if left else 0.0
        if not (below := {name for name, weight in left.items() if weight * each < 1}):
            return dict.fromkeys(sorted(small), 1) | apportioned(left, rest)
        small |= below


def _chance(*parts: object) -> float:
    """Return a number above 0 and below 1 that depends on `parts` alone, evenly distributed."""
    return (int(digest(*map(str, parts)), 16) + 0.5) / 2**64


# The plan


def plan(
    outlines: Iterable[Outline],
    kinds: Mapping[QuestionType, int],
    styles: Mapping[QuestionStyle, int],
    *,
    seed: int = 0,
    known: Collection[QuestionType] = (),
    asked: Mapping[Place, int] | None = None,
    chunks: Sequence[ChunkPlace] = (),
) -> list[Cell]:
    """Draw the cells of a set; the order of `outlines` does not matter.

    `kinds` and `styles` have equal sums; their counts are met exactly. Types in `known` are planned where sections
    offer them, as far as that is possible. With `asked`, the number of questions that each place has already, only
    places without one are planned, documents without any first; where fewer lack questions than are asked for, kinds
    and styles keep their proportions. With `chunks`, each of them gets a question that has evidence, and the rest is
    drawn as without; `kinds` have to reach for them. Without any text there is no cell.
    """
    by_id = {outline.document_id: outline for outline in outlines if outline.characters}
    if not by_id:
        return []
    total = sum(kinds.values())
    if asked is None:
        slots = _slots(by_id, spread(_lengths(by_id), total - len(chunks), seed), seed)
    else:
        slots = _lacking(by_id, total, asked, seed)
    if asked is not None:
        kinds = apportioned(kinds, sum(map(len, slots.values())))
    of_chunks = _kinds_of_chunks(kinds, len(chunks))
    left = {name: count - of_chunks.get(name, 0) for name, count in kinds.items()}
    typed = _typed(by_id, slots, left, known, seed)
    typed += _typed_chunks(by_id, chunks, of_chunks, known, seed)
    return _coalesced(_styled(typed, apportioned(styles, len(typed)), seed))


def _lengths(outlines: Mapping[str, Outline]) -> dict[str, int]:
    return {document_id: outline.characters for document_id, outline in outlines.items()}


def _slots(outlines: Mapping[str, Outline], quotas: Mapping[str, int], seed: int) -> dict[str, list[str]]:
    """Return the sections to ask about, by document, once for each question."""
    slots = {}
    for document_id, quota in sorted(quotas.items()):
        by_section = spread(outlines[document_id].sections, quota, seed)
        slots[document_id] = [section for section, count in sorted(by_section.items()) for _ in range(count)]
    return slots


def _lacking(
    outlines: Mapping[str, Outline], total: int, asked: Mapping[Place, int], seed: int
) -> dict[str, list[str]]:
    """Return the sections without a question to ask about, by document, once for each question; `total` at most."""
    made = Counter[str]()
    for (document_id, _), count in asked.items():
        made[document_id] += count
    unasked = {
        document_id: replace(
            outline, sections={s: n for s, n in outline.sections.items() if not asked.get((document_id, s))}
        )
        for document_id, outline in outlines.items()
    }
    target = spread(_lengths(outlines), total + sum(made[document_id] for document_id in outlines), seed)
    lacks = {
        document_id: target.get(document_id, 0) - made[document_id]
        for document_id, outline in unasked.items()
        if outline.characters and target.get(document_id, 0) > made[document_id]
    }
    first = {document_id: count for document_id, count in lacks.items() if not made[document_id]}
    if sum(first.values()) >= total:
        quotas = spread({document_id: outlines[document_id].characters for document_id in first}, total, seed)
    else:
        later = {document_id: float(count) for document_id, count in lacks.items() if document_id not in first}
        most = min(total - sum(first.values()), int(sum(later.values())))
        quotas = first | apportioned(later, most)
    return _slots(unasked, quotas, seed)


def _kinds_of_chunks(kinds: Mapping[QuestionType, int], chunks: int) -> dict[QuestionType, int]:
    """Return the types of the questions about each chunk, in proportion to `kinds` that have evidence."""
    with_evidence = {name: float(count) for name, count in kinds.items() if TYPES[name].fewest}
    if sum(with_evidence.values()) < chunks:
        raise UsageError(
            f"The index has {chunks:,} chunks, and {int(sum(with_evidence.values())):,} questions with evidence are "
            "asked for: raise the limit or the counts of the kinds, or leave them out to have one about every chunk."
        )
    return apportioned(with_evidence, chunks)


Typed = tuple[str, str, QuestionType, str]
"""Document, section, type, chunk."""


def _typed(
    outlines: Mapping[str, Outline],
    slots: Mapping[str, Sequence[str]],
    kinds: Mapping[QuestionType, int],
    known: Collection[QuestionType],
    seed: int,
) -> list[Typed]:
    """Give each slot a type: every type is spread over the documents as the questions are; scarce types choose first.

    The documents stand on a line in a drawn order, each as often as it has questions, and a type takes every
    so-manieth of those on the line that can be of this type.
    """
    drawn = sorted(slots, key=lambda document_id: (_chance(seed, document_id), document_id))
    line = [document_id for document_id in drawn for _ in slots[document_id]]

    def fits(document_id: str, asked: QuestionType) -> bool:
        return asked not in known or outlines[document_id].has(asked)

    room = {name: sum(fits(owner, name) for owner in line) for name in kinds}
    types: dict[str, list[QuestionType]] = {document_id: [] for document_id in slots}
    short: list[QuestionType] = []
    for name in sorted(kinds, key=lambda name: (room[name], name)):
        able = [place for place, owner in enumerate(line) if fits(owner, name)]
        taken = {able[place] for place in _every(len(able), min(kinds[name], len(able)), seed, name)}
        for place in taken:
            types[line[place]].append(name)
        short += [name] * (kinds[name] - len(taken))
        line = [owner for place, owner in enumerate(line) if place not in taken]
    for owner, name in zip(line, short, strict=True):
        types[owner].append(name)
    return [
        (document_id, section, name, "")
        for document_id, sections in slots.items()
        for section, name in _placed(outlines[document_id], sections, types[document_id], known, seed)
    ]


def _every(length: int, count: int, *seeds: object) -> list[int]:
    """Return `count` of the places below `length`, at even distances from a random first one."""
    offset = _chance(*seeds)
    return [math.floor((number + offset) * length / count) for number in range(count)]


def _placed(
    outline: Outline, sections: Sequence[str], types: Sequence[QuestionType], known: Collection[QuestionType], seed: int
) -> list[tuple[str, QuestionType]]:
    """Match the types of a document with its sections: a known type goes where it is offered.

    Where no section that is left offers it, the longest one that does is asked about in place of another.
    """
    free = sorted(sections, key=lambda section: (_chance(seed, outline.document_id, section), section))
    placed = []
    for name in sorted(types, key=lambda name: (name not in known, name)):
        offering = {section for section, offered in outline.offers.items() if name in offered}
        if name not in known or not offering:
            place = len(free) - 1
        else:
            place = next((place for place, section in enumerate(free) if section in offering), len(free) - 1)
        section = free.pop(place)
        if name in known and offering and section not in offering:
            section = max(sorted(offering), key=lambda path: outline.sections.get(path, 0))
        placed.append((section, name))
    return placed


def _typed_chunks(
    outlines: Mapping[str, Outline],
    chunks: Sequence[ChunkPlace],
    kinds: Mapping[QuestionType, int],
    known: Collection[QuestionType],
    seed: int,
) -> list[Typed]:
    """Give each chunk a type: a known type where the chunk's section offers it, as far as there are such chunks."""
    free = sorted(chunks, key=lambda chunk: (_chance(seed, chunk.id), chunk.id))

    def fits(chunk: ChunkPlace, asked: QuestionType) -> bool:
        offers = outlines[chunk.document_id].offers if chunk.document_id in outlines else {}
        return asked not in known or asked in offers.get(chunk.section, ())

    typed, short = list[Typed](), list[QuestionType]()
    for name in sorted(kinds, key=lambda name: (sum(fits(chunk, name) for chunk in chunks), name)):
        able = [chunk for chunk in free if fits(chunk, name)][: kinds[name]]
        typed += [(chunk.document_id, chunk.section, name, chunk.id) for chunk in able]
        taken = {chunk.id for chunk in able}
        free = [chunk for chunk in free if chunk.id not in taken]
        short += [name] * (kinds[name] - len(able))
    typed += [(c.document_id, c.section, name, c.id) for c, name in zip(free, short, strict=True)]
    return typed


def _styled(typed: Sequence[Typed], styles: Mapping[QuestionStyle, int], seed: int) -> list[Cell]:
    """Give each question a style, so that every type has the styles in proportion, within one question."""
    listed = list(TYPES)
    ordered = sorted(typed, key=lambda each: (listed.index(each[2]), _chance(seed, *each), each))
    line = sorted(((n + 0.5) / count, name) for name, count in styles.items() for n in range(count))
    return [Cell(*each[:3], style, chunk=each[3]) for each, (_, style) in zip(ordered, line, strict=True)]


def _coalesced(cells: Iterable[Cell]) -> list[Cell]:
    """Return each cell once, with how many questions it has in all, in a fixed order."""
    types, styles = list(TYPES), list(STYLES)
    counts = Counter(replace(cell, planned=1) for cell in cells)
    ordered = sorted(
        counts, key=lambda cell: (*cell.place, types.index(cell.type), styles.index(cell.style), cell.chunk)
    )
    return [replace(cell, planned=counts[cell]) for cell in ordered]
