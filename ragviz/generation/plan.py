"""What a question set is to ask: a quota of questions for each cell of document, type and style.

It is drawn before anything is generated, from what documents are like (their length, tables, lists) and from a seed
alone. Documents get questions in proportion to the square root of their length, at least one each as far as the total
reaches; types and styles have exactly the counts that were asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
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
STRUCTURAL: tuple[QuestionType, ...] = ("list", "table")
"""Types whose places are known from the structure of a document: they are planned where there are such places."""
Key = TypeVar("Key", bound=str)


@dataclass(frozen=True, slots=True)
class Cell:
    """So many questions of one type and style about a document.

    A question that needs several passages is counted where its first one is, an unanswerable one where the true
    question stands that it is made of.
    """

    document_id: str
    type: QuestionType
    style: QuestionStyle
    planned: int = 1


@dataclass(frozen=True, slots=True)
class Outline:
    """What a plan knows of a document: its characters, and which of the `STRUCTURAL` types it has something for."""

    document_id: str
    characters: int
    offers: Collection[QuestionType] = ()


# How many of each


def kinds_of(
    limit: int | None,
    kinds: Mapping[QuestionType, float | None],
    mix: Mapping[QuestionType, float] = MIX,
    able: Collection[QuestionType] = tuple(TYPES),
) -> dict[QuestionType, int]:
    """Return how many questions of each type are asked for: the counts given; types without one share what is left.

    Without types, all of `mix` do. Without a `limit` it is the sum of the counts, or `LIMIT` where some have none.

    >>> kinds_of(None, {"fact": 80, "bridge": 60}), kinds_of(10, {"fact": 4, "table": None})
    ({'fact': 80, 'bridge': 60}, {'fact': 4, 'table': 6})

    Raises:
        UsageError: the counts contradict the limit, or are not whole; a type is none of those `able` to be made;
            nothing is asked for.

    """
    _check("kind", kinds, able)
    if limit is not None and limit < 1:
        raise UsageError(f"Give a limit of 1 or more, not {limit}.")
    counted = {name: int(count) for name, count in kinds.items() if count is not None}
    if broken := [name for name, count in counted.items() if count != kinds[name]]:
        raise UsageError(f"The kinds say {broken[0]}={kinds[broken[0]]:g}: give a whole number.")
    open_types = [name for name, count in kinds.items() if count is None] if kinds else list(mix)
    given = sum(counted.values())
    total = limit if limit is not None else given if not open_types else max(LIMIT, given)
    if given > total or (given < total and not open_types):
        listed = ", ".join(f"{name}={count}" for name, count in counted.items())
        raise UsageError(f"The limit is {total:,}, and the kinds ask for {given:,} ({listed}): make them agree.")
    if not total:
        raise UsageError("No question is asked for: give a kind a count of 1 or more.")
    rest = apportioned({name: mix.get(name, 1.0) for name in open_types}, total - given)
    return {name: count for name, count in (counted | rest).items() if count}


def styles_of(
    styles: Mapping[QuestionStyle, float | None], total: int, able: Collection[QuestionStyle] = tuple(STYLES)
) -> dict[QuestionStyle, int]:
    """Return how many of `total` questions have each style: counts where they sum up to it, else shares of it.

    Without styles all are as a colleague asks; a style without a number counts as 1.

    >>> styles_of({}, 5), styles_of({"colleague": 70, "keywords": 30}, 10), styles_of({"long": None, "keywords": 1}, 4)
    ({'colleague': 5}, {'colleague': 7, 'keywords': 3}, {'long': 2, 'keywords': 2})

    Raises:
        UsageError: a style is none of those `able` to be written; a share is below 0; all are 0.

    """
    _check("style", styles, able)
    weights: dict[QuestionStyle, float] = {name: 1.0 if share is None else share for name, share in styles.items()}
    if styles and not sum(weights.values()):
        raise UsageError("No style has a share above 0.")
    weights = weights or {"colleague": 1.0}
    counts = apportioned(weights, total)
    return {name: count for name, count in counts.items() if count}


def _check(noun: str, given: Mapping[Key, float | None], known: Collection[str]) -> None:
    for name, number in given.items():
        if name not in known:
            raise UsageError(f"The generator makes no {noun} '{name}', only {', '.join(known)}.")
        if number is not None and not 0 <= number < math.inf:
            raise UsageError(f"The {noun}s say {name}={number}: give a number of 0 or more.")


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
) -> list[Cell]:
    """Draw the cells of a set; the order of `outlines` does not matter. Without any text there is no cell.

    `kinds` and `styles` have equal sums; their counts are met exactly. `STRUCTURAL` types are planned where documents
    offer them, as far as that is possible.
    """
    by_id = {outline.document_id: outline for outline in outlines if outline.characters}
    quotas = spread({i: outline.characters for i, outline in by_id.items()}, sum(kinds.values()), seed)
    types = list(TYPES)
    typed = sorted(_typed(by_id, quotas, kinds, seed), key=lambda e: (types.index(e[1]), _chance(seed, *e), e))
    # Every type has the styles in proportion, within one question.
    line = sorted(((n + 0.5) / count, name) for name, count in styles.items() for n in range(count))
    counts = Counter((*each, style) for each, (_, style) in zip(typed, line, strict=False))
    cells = [Cell(*each, count) for each, count in counts.items()]
    return sorted(cells, key=lambda c: (c.document_id, types.index(c.type), list(STYLES).index(c.style)))


def _typed(
    outlines: Mapping[str, Outline], quotas: Mapping[str, int], kinds: Mapping[QuestionType, int], seed: int
) -> list[tuple[str, QuestionType]]:
    """Give each question of a document a type: every type is spread over the documents; scarce types choose first.

    The questions stand on a line, the documents in a drawn order, and a type takes every so-manieth of those that can
    be of it.
    """
    line = sorted((i for i in quotas for _ in range(quotas[i])), key=lambda i: (_chance(seed, i), i))

    def able(name: QuestionType) -> list[int]:
        return [n for n, i in enumerate(line) if name not in STRUCTURAL or name in outlines[i].offers]

    typed, short = list[tuple[str, QuestionType]](), list[QuestionType]()
    for name in sorted(kinds, key=lambda name: (len(able(name)), name)):
        places, offset = able(name), _chance(seed, name)
        count = min(kinds[name], len(places))
        taken = {places[math.floor((number + offset) * len(places) / count)] for number in range(count)}
        typed += [(line[n], name) for n in sorted(taken)]
        line = [i for n, i in enumerate(line) if n not in taken]
        short += [name] * (kinds[name] - count)
    return typed + list(zip(line, short, strict=False))
