"""Questions that are asked twice: in the same words, or nearly, among the nearest by content words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material, Subject
from ragviz.questions.asked import normal
from ragviz.text.numerals import stated_numbers

NEAR = 0.8
"""Weighted Jaccard of the content words of two questions from which they are nearly the same."""
ALIKE = 0.5
"""Weighted Jaccard of their answers from which they ask for the same, where their evidence is not the same."""
FARTHEST = 0.5
"""Cosine of the words of two questions below which they are not compared."""
NEIGHBOURS = 10
"""Nearest questions with which each is compared."""
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
    for left, right in sorted(set(pairs([subject.words for subject in subjects]))):
        if right not in findings and left not in findings:
            near = nearness(subjects[left], subjects[right], material)
            if near:
                findings[right] = Finding(subjects[right].id, near, f"nearly the same as {subjects[left].id}")
    return Found(tuple(findings[place] for place in sorted(findings)))


def nearness(left: Subject, right: Subject, material: Material) -> float | None:
    """Return how near two questions are, from 0 to 1; None where they are not nearly the same.

    Their words are near, and they ask for the same: their answers are alike, with the same numbers, or their evidence
    is the same and neither has an answer.
    """
    if left.question.history or right.question.history:
        return None  # "And in winter?" is another question in another conversation
    numbers = stated_numbers(left.question.answer), stated_numbers(right.question.answer)
    near = material.weights.overlap(left.words, right.words)
    if near < NEAR or (all(numbers) and numbers[0] != numbers[1]):
        return None
    unanswered = not left.answer and not right.answer
    alike = material.weights.overlap(left.answer, right.answer) >= ALIKE
    return near if alike or (unanswered and left.question.evidence == right.question.evidence) else None


def pairs(words: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
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
