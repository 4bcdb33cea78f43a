"""Verdicts on chunks, paid once for all runs: what is known of a question's passages, and what has to be asked.

A verdict on a chunk does not depend on the run that read it: whether it is useful to a question, and which claims of
the reference it supports. It is kept by question, reference, judge (with the version of its prompt) and the chunk's
text; a verdict on the claims of an answer by these claims too. A claim that no passage supports alone may follow from
several: that is kept by the set of passages that was asked about. Nothing together in a set is nothing in its subsets,
and what follows from some passages follows from more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragviz.core.call import Call
from ragviz.core.digests import digest
from ragviz.core.reply_cache import Pool
from ragviz.core.verdict import ClaimVerdict


def subject(question: str, reference: str, *what: str) -> str:
    """Return the key of what is asked about a question's chunks: nothing else, for usefulness and the reference."""
    return digest("verdicts", question, reference, *what, length=24)


def sets_of(question: str, reference: str) -> str:
    """Return the key of the sets of chunks that the reference's claims were asked about."""
    return subject(question, reference, "sets")


class Memory:
    """A `Pool` that lasts as long as a plan."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.bodies: dict[tuple[str, str, str], str] = {}

    def verdicts(self, subjects: Sequence[str], judge: str = "") -> Iterator[tuple[str, str, str, str]]:
        """Yield (subject, judge, chunk, body) of every verdict on these subjects, by one judge or by all."""
        wanted = set(subjects)
        for (about, by, chunk), body in list(self.bodies.items()):
            if about in wanted and judge in ("", by):
                yield about, by, chunk, body

    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts of a judge: body by (subject, chunk)."""
        self.bodies |= {(about, judge, chunk): body for (about, chunk), body in verdicts.items()}


@dataclass(frozen=True, slots=True)
class Together:
    """What of some claims follows from a set of chunks: by claim, the chunks that are needed.

    `numbers` are the claims (from 0) that no chunk of the set supports alone. Each of the needed chunks
    has the sentence that counts, None when unknown. `calls` are keys of the calls that told it.
    """

    chunks: frozenset[str]
    numbers: frozenset[int]
    found: Mapping[int, Mapping[str, int | None]]
    calls: tuple[str, ...] = ()

    def needed(self, claim: int, chunks: frozenset[str], *, alone: bool) -> Mapping[str, int | None] | None:
        """Return the chunks that a claim needs together, none when it does not follow; None where this does not tell.

        `alone`: some chunk supports the claim alone, so that only this very set tells.
        """
        needed = self.found.get(claim, {})
        if claim not in self.numbers and not needed:
            return None
        if self.chunks == chunks or (needed and not alone and chunks.issuperset(needed)):
            return needed
        return {} if not needed and self.chunks >= chunks else None


@dataclass(slots=True)
class Claims:
    """Claims of one text: their verdicts by place of the passage, and what is known of sets of passages.

    `calls` are keys of the calls behind the verdicts, by place.
    """

    about: str
    about_sets: str
    texts: Sequence[str]
    rows: dict[int, tuple[ClaimVerdict, ...]] = field(default_factory=dict)
    sets: list[Together] = field(default_factory=list)
    calls: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Key of the claims' words: a verdict is on these very claims, in this order."""
        return digest(*self.texts)

    def row(self, claim: int, keys: Sequence[str]) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts of all passages on a claim."""
        row = [self.rows[place][claim] for place in range(len(keys))]
        alone = any(each.verdict == "supported" for each in row)
        for text, sentence in (self._needed(claim, frozenset(keys), alone=alone) or {}).items():
            row[keys.index(text)] = ClaimVerdict("together", sentence)
        return tuple(row)

    def open(self, keys: Sequence[str]) -> list[int]:
        """Return the claims that no known passage supports alone, and of which the whole set does not tell either."""
        chunks = frozenset(keys)
        return [n for n in self._left() if len(chunks) > 1 and self._needed(n, chunks, alone=False) is None]

    def behind(self, keys: Sequence[str]) -> set[str]:
        """Return the keys of the calls behind all that is known of these passages."""
        left, chunks = self._left(), frozenset(keys)
        sets = [e for e in self.sets if any(e.needed(n, chunks, alone=False) is not None for n in left)]
        return {call for calls in (*self.calls.values(), *(each.calls for each in sets)) for call in calls}

    def _left(self) -> list[int]:
        supported = {n for row in self.rows.values() for n, each in enumerate(row) if each.verdict == "supported"}
        return [n for n in range(len(self.texts)) if n not in supported]

    def _needed(self, claim: int, chunks: frozenset[str], *, alone: bool) -> Mapping[str, int | None] | None:
        """Return what the set of all passages tells of a claim, as `Together.needed`; sooner a claim that follows."""
        told = [needed for each in self.sets if (needed := each.needed(claim, chunks, alone=alone)) is not None]
        return max(told, key=len, default=None)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a judge is asked: numbers of claims (those of the answer first), and places of passages, from 0."""

    claims: tuple[int, ...]
    places: tuple[int, ...]


@dataclass(slots=True)
class Known:
    """What a judge's verdicts tell so far of the `passages` of one question (chunk id → text).

    `whole` are the ids of passages that are whole chunks. `useful` is by place. `calls` are those about this question,
    by key.
    """

    about_calls: str
    ids: Sequence[str]
    keys: Sequence[str]
    whole: frozenset[str]
    by: str
    answer: Claims
    reference: Claims
    useful: dict[int, bool] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)

    def behind(self) -> list[Call]:
        """Return the calls behind what is known, which were paid before."""
        keys = {*self.answer.behind(self.keys), *self.reference.behind(self.keys)}
        return [replace(self.calls[key], cached=True) for key in sorted(keys) if key in self.calls]

    def wanted(self) -> Asked | None:
        """Return what one call has to ask; None when all is known.

        These are the passages that lack a verdict, with the claims for which they do. When a claim follows from none of
        the other passages, all are asked about, so that what follows only together is found by the same call.
        """
        places, shift = range(len(self.keys)), len(self.answer.texts)
        no_answer = [j for j in places if self.answer.texts and j not in self.answer.rows]
        no_reference = [j for j in places if j not in self.reference.rows]
        left = [*self.answer.open(self.keys), *(n + shift for n in self.reference.open(self.keys))]
        claims = [*(range(shift) if no_answer else ()), *left]
        claims += range(shift, shift + len(self.reference.texts)) if no_reference else []
        if not left and not no_answer and not no_reference:
            return None
        return Asked(tuple(sorted({*claims})), tuple(places) if left else tuple(sorted({*no_answer, *no_reference})))

    def unjudged(self, places: Sequence[int]) -> list[int]:
        """Return which of these places lack the verdict whether they are useful."""
        return [place for place in places if place not in self.reference.rows]

    def learn(
        self,
        asked: Asked,
        rows: Mapping[int, Sequence[ClaimVerdict]],
        useful: Mapping[int, bool],
        calls: Sequence[Call],
    ) -> dict[tuple[str, str], str]:
        """Take the verdicts of complete replies, and return what is new, as the pool keeps it.

        `rows` are by number of the claim, with a verdict for each of the places; `useful` is by place.
        """
        told_by = {digest(call.step, call.raw, length=24): call for call in calls}
        paid, shift = tuple(told_by), len(self.answer.texts)
        bodies = {key: {"call": [getattr(call, name) for name in Call.__slots__]} for key, call in told_by.items()}
        new = {(self.about_calls, key): json.dumps(body, ensure_ascii=False) for key, body in bodies.items()}
        self.useful |= {place: useful[place] for place in self.unjudged(asked.places)}
        for claims, first in ((self.answer, 0), (self.reference, shift)):
            own = {n - first: rows[n] for n in asked.claims if first <= n < first + len(claims.texts)}
            if claims is self.answer and not own:
                continue
            if len(own) == len(claims.texts):  # all of them: else only what follows together was asked
                for column, place in enumerate(asked.places):
                    if place not in claims.rows:
                        claims.calls[place] = paid
                        # One that supports only together with others says nothing alone.
                        said = (own[n][column] for n in range(len(claims.texts)))
                        claims.rows[place] = tuple(
                            v if v.verdict != "together" else ClaimVerdict("absent") for v in said
                        )
                        new[claims.about, self.keys[place]] = self._body(claims, place)
            if own and len({self.keys[place] for place in asked.places}) > 1:
                together = _together(own, [self.keys[place] for place in asked.places], paid)
                claims.sets.append(together)
                new[claims.about_sets, digest(*sorted(together.chunks), claims.key, length=24)] = self._set(
                    claims, together, asked.places
                )
        return new

    def rows(self) -> dict[int, tuple[ClaimVerdict, ...]]:
        """Return the verdicts of all passages on each claim, by its number; all have to be known."""
        every = [(claims, n) for claims in (self.answer, self.reference) for n in range(len(claims.texts))]
        return {number: claims.row(n, self.keys) for number, (claims, n) in enumerate(every)}

    def _body(self, claims: Claims, place: int) -> str:
        body: dict[str, Any] = {"claims": claims.key, "row": [(v.verdict, v.sentence) for v in claims.rows[place]]}
        body["calls"] = claims.calls[place]
        if claims is self.reference:
            chunk = self.ids[place] if self.ids[place] in self.whole else ""
            body |= {"id": chunk, "by": self.by, "useful": self.useful[place]}
        return json.dumps(body)

    def _set(self, claims: Claims, together: Together, places: Sequence[int]) -> str:
        body: dict[str, Any] = {"claims": claims.key, "numbers": sorted(together.numbers), "found": together.found}
        body |= {"chunks": sorted(together.chunks), "calls": together.calls}
        if claims is self.reference:
            body["ids"] = {self.keys[place]: self.ids[place] for place in places if self.ids[place] in self.whole}
        return json.dumps(body)


def known(
    pool: Pool,
    judge: tuple[str, str],
    texts: tuple[str, str],
    claims: tuple[Sequence[str], Sequence[str]],
    passages: Mapping[str, str],
    whole: frozenset[str],
) -> Known:
    """Return what the pool holds of a question's `passages` (text by chunk id), of which `whole` are whole chunks.

    `judge` is the key of the judge and the name of its model, `texts` are question and reference, `claims` those of the
    answer and of the reference.
    """
    own = [digest(*claims[0])]
    answer = Claims(subject(*texts, "answer", *own), subject(*texts, "answer sets", *own), claims[0])
    reference = Claims(subject(*texts), sets_of(*texts), claims[1])
    keys = [digest("chunk", text, length=24) for text in passages.values()]
    result = Known(subject(*texts, "calls"), list(passages), keys, whole, judge[1], answer, reference)
    of_texts = {about: each for each in (reference, answer) for about in (each.about, each.about_sets)}
    subjects = [about for about, each in of_texts.items() if each.texts or each is reference]
    for about, _, chunk, text in pool.verdicts([*subjects, result.about_calls], judge[0]):
        body = json.loads(text)
        if about == result.about_calls:
            result.calls[chunk] = Call(*body["call"])
            continue
        of_text = of_texts[about]
        if body["claims"] != of_text.key:
            continue
        if about == of_text.about_sets:
            found = {int(number): needed for number, needed in body["found"].items()}
            numbers, calls = frozenset(body["numbers"]), tuple(body["calls"])
            of_text.sets.append(Together(frozenset(body["chunks"]), numbers, found, calls))
            continue
        for place in (place for place, key in enumerate(keys) if key == chunk):
            of_text.rows[place], of_text.calls[place] = read_row(body), tuple(body["calls"])
            if "useful" in body:
                result.useful[place] = body["useful"]
    return result


def read_row(body: Mapping[str, Any]) -> tuple[ClaimVerdict, ...]:
    """Return the verdicts of one chunk on the claims, as the pool keeps them."""
    return tuple(ClaimVerdict(verdict, sentence) for verdict, sentence in body["row"])


def _together(rows: Mapping[int, Sequence[ClaimVerdict]], keys: Sequence[str], calls: tuple[str, ...]) -> Together:
    found = {
        number: {keys[column]: each.sentence for column, each in enumerate(row) if each.verdict == "together"}
        for number, row in rows.items()
    }
    found = {number: needed for number, needed in found.items() if needed}
    # A judge is to name passages that support a claim together only where none does alone.
    numbers = frozenset(n for n, row in rows.items() if all(each.verdict != "supported" for each in row))
    return Together(frozenset(keys), numbers, found, calls)
