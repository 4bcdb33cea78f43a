"""Questions that are asked twice: in the same words, or nearly.

Near ones are looked for among the nearest by content words, and among questions about the same chunk or with the same
answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material, Subject
from ragviz.questions.asked import normal
from ragviz.text.numerals import stated_numbers

NEAR = 0.8
"""Weighted Jaccard of the content words of two questions from which they are nearly the same."""
CLOSE = 0.9
"""Cosine of the embeddings of two questions about the same chunk from which they are nearly the same."""
SAME = (0.6, 0.8)
"""The same two bars where the answers are the same and the evidence overlaps: other words can only ask the same."""
ALIKE = 0.5
"""Weighted Jaccard of their answers from which they ask for the same, where their evidence is not the same."""
FARTHEST = 0.5
"""Cosine of the words of two questions below which they are not compared."""
NEIGHBOURS = 10
"""Nearest questions, or next ones with the same chunk or answer, with which each is compared."""
_BLOCK = 500


def duplicates(material: Material) -> Found:
    """Find questions that repeat an earlier one of the set."""
    subjects = material.subjects
    first: dict[str, int] = {}
    findings: dict[int, Finding] = {}
    for place, subject in enumerate(subjects):
        words = "\n".join(map(normal, (*(asked for asked, _ in subject.question.history), subject.question.text)))
        earlier = first.setdefault(words, place)
        if earlier != place:
            is_same = normal(subject.question.answer) == normal(subjects[earlier].question.answer)
            other = "" if is_same else ", with another answer"
            findings[place] = Finding(subject.id, 1.0, f"the same words as {subjects[earlier].id}{other}")
    for left, right in sorted(pairs(material)):
        if right not in findings and left not in findings:
            near = nearness(subjects[left], subjects[right], material)
            if near:
                findings[right] = Finding(subjects[right].id, near, f"nearly the same as {subjects[left].id}")
    return Found(tuple(findings[place] for place in sorted(findings)))


def nearness(left: Subject, right: Subject, material: Material) -> float | None:
    """Return how near two questions are, from 0 to 1; None where they are not nearly the same.

    Their words, or their embeddings, are near, and they ask for the same: their answers are alike, or their evidence is
    the same, or neither has an answer.
    """
    if left.question.history or right.question.history:
        return None  # "And in winter?" is another question in another conversation
    answers = normal(left.question.answer), normal(right.question.answer)
    numbers = _stated(left.question.answer), _stated(right.question.answer)
    if not _same_passages(left, right) or (all(numbers) and numbers[0] != numbers[1]):
        return None
    is_one = bool(answers[0]) and answers[0] == answers[1] and bool(left.evidence) and _overlap(left, right)
    least, close_enough = SAME if is_one else (NEAR, CLOSE)
    near = material.weights.overlap(left.words, right.words)
    if left.id in material.vectors and right.id in material.vectors and left.gold_chunks & right.gold_chunks:
        close = float(np.dot(material.vectors[left.id], material.vectors[right.id]))  # of unit length
        near = max(near, close if close >= close_enough else 0.0)
    if near < least:
        return None
    unanswered = not left.answer and not right.answer
    alike = material.weights.overlap(left.answer, right.answer) >= ALIKE
    return near if alike or (unanswered and left.question.evidence == right.question.evidence) else None


def _same_passages(left: Subject, right: Subject) -> bool:
    """Return whether two questions need as many passages, and where those are several, the same ones in any order.

    Passages are the same where their places overlap or their words are equal: documents repeat each other.
    """
    if not left.evidence or not right.evidence:
        return True
    if len(left.evidence) != len(right.evidence):
        return False
    return len(left.evidence) < 2 or _overlap(left, right)


def _overlap(left: Subject, right: Subject) -> bool:
    """Return whether each passage of one question is one of the other's."""
    mine, others = ([(normal(text), group) for (text, _), group in zip(s.evidence, s.question.evidence, strict=True)]
                    for s in (left, right))  # fmt: skip
    return all(
        any(
            text == other or any(a.overlaps((b.document_id, b.start, b.end)) for a in group for b in its)
            for other, its in others
        )
        for text, group in mine
    )


_stated = lru_cache(maxsize=1 << 16)(stated_numbers)
"""An answer is compared with those of all questions that share a band with it."""


def pairs(material: Material) -> set[tuple[int, int]]:
    """Return the places of questions that may be near.

    They are near by their words, or share a gold chunk, or a document and the words of their answer.
    """
    found = set(_near([subject.words for subject in material.subjects]))
    by_chunk = (
        (chunk, n) for n, s in enumerate(material.subjects) if s.id in material.vectors for chunk in s.gold_chunks
    )
    by_answer = (
        ((answer, document_id), n)
        for n, subject in enumerate(material.subjects)
        if (answer := normal(subject.question.answer))
        for document_id in dict.fromkeys(span.document_id for group in subject.question.evidence for span in group)
    )
    return found | set(_bucketed(by_chunk)) | set(_bucketed(by_answer))


def _near(words: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield each question with those nearest to it by the cosine of tf–idf, as places, the smaller first."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import NearestNeighbors

    rows = [place for place, own in enumerate(words) if own]
    if len(rows) < 2:
        return
    vectors = TfidfVectorizer(analyzer=sorted, binary=True).fit_transform([words[place] for place in rows])
    nearest = NearestNeighbors(n_neighbors=min(NEIGHBOURS + 1, len(rows)), metric="cosine").fit(vectors)
    for start in range(0, len(rows), _BLOCK):
        far, places = nearest.kneighbors(vectors[start : start + _BLOCK])
        for row, (distances, others) in enumerate(zip(far, places, strict=True), start):
            for distance, other in zip(distances, others.tolist(), strict=True):
                if other != row and distance < 1 - FARTHEST:
                    yield min(rows[row], rows[other]), max(rows[row], rows[other])


def _bucketed(keyed: Iterable[tuple[Hashable, int]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of places with the same key, the smaller first: each with those that come next in its bucket."""
    buckets: dict[Hashable, list[int]] = {}
    for key, place in keyed:
        buckets.setdefault(key, []).append(place)
    for places in buckets.values():
        for at, left in enumerate(places):
            yield from ((left, right) for right in places[at + 1 : at + 1 + NEIGHBOURS] if left != right)
