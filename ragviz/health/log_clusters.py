"""Texts of a log that ask the same, and the questions of a set that ask it too.

Texts are joined by their words, through an index of their rarest ones, then the leaders by their embeddings, where
there is an embedder of their language. Different numbers are different questions. No step compares every text with
every other: a text is compared with those that share a rare word with it, and with the clusters that were asked most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.health import words
from ragviz.health.words import Weights
from ragviz.models import weights as models
from ragviz.questions.asked import Log, normal
from ragviz.text import language, numerals
from ragviz.workspace import Workspace

SAME_WORDS = 0.6
"""Weighted Jaccard of the content words of two texts from which they ask the same."""
LOOKED_AT = 60
"""Texts that share a rare word with one, and that it is compared with at most."""
RARE = 4
"""Words of a text, the rarest, by which others are found."""
EMBEDDED = 5_000
"""Clusters, the most asked, that are embedded and searched for in the documents; the others are compared by words."""
HEADS = 2_000
"""Clusters, the most asked, that are compared with each other by their embeddings."""
_NEAREST = 5  # nearest by embedding that are looked at, as their numbers may differ
_BLOCK = 256
_REPORTED = 500  # texts between two reports of progress


@dataclass(slots=True, eq=False)
class LoggedText:
    """A distinct text of the log with its content words and its numbers."""

    text: str
    count: int
    language: str
    words: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class OpenCluster:
    """A cluster that is being made: its leader, and the others."""

    leader: LoggedText
    members: list[LoggedText]
    question: str = ""
    alike: float = 0.0
    score: float | None = None
    held: bool | None = None
    chunk: str = ""

    @property
    def count(self) -> int:
        """How often its texts were asked."""
        return sum(member.count for member in self.members)


def content(text: str, code: str) -> frozenset[str]:
    """Return the content words of a text; all its words where it has none that carry content."""
    return words.content(text, code) or frozenset(normal(text).split())


def texts_of(log: Log, questions: Sequence[Question], progress: Progress) -> list[LoggedText]:
    """Return the texts of a log with their languages; one too short to show it is in that of most questions."""
    codes = [question.language for question in questions]
    usual = max(set(codes), key=codes.count) if codes else ""
    texts = []
    for number, each in enumerate(log.asked):
        if number % _REPORTED == 0:
            progress(number, len(log.asked), "texts", "Reading languages")
        texts.append(LoggedText(each.text, each.count, language.of_short(each.text, usual)))
    return texts


def read_words(texts: Sequence[LoggedText], questions: Sequence[Question], progress: Progress) -> Weights:
    """Read the words of texts, and weigh words by how rare they are in the log and in the set."""
    for number, each in enumerate(texts):
        if number % _REPORTED == 0:
            progress(number, len(texts), "texts", "Reading words")
        each.words, each.numbers = content(each.text, each.language), numerals.numbers(each.text)
    return words.weights_of([each.words for each in texts] + [content(q.query, q.language) for q in questions])


class _Rarest:
    """Sets of words found by their rarest words, and compared by weighted Jaccard; a word is weighed once."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._known: dict[str, float] = {}
        self._places: dict[str, list[int]] = {}
        self._kept: list[tuple[frozenset[str], float]] = []

    def _of(self, word: str) -> float:
        weight = self._known.get(word)
        if weight is None:
            weight = self._known[word] = self._weights.of(word)
        return weight

    def _rare(self, own: frozenset[str]) -> list[str]:
        return sorted(own, key=lambda word: (-self._of(word), word))[:RARE]

    def add(self, own: frozenset[str]) -> None:
        """Add a set of words."""
        for word in self._rare(own):
            self._places.setdefault(word, []).append(len(self._kept))
        self._kept.append((own, sum(map(self._of, own))))

    def nearest(self, own: frozenset[str], is_allowed: Callable[[int], bool]) -> tuple[float, int]:
        """Return how near the nearest set is that shares a rare word and is allowed, and its place; 0, -1 for none.

        At most `LOOKED_AT` are looked at, those of the rarest word first; of equally near ones the first is taken.
        """
        total, looked, best, found = sum(map(self._of, own)), set[int](), 0.0, -1
        for word in self._rare(own):
            for place in self._places.get(word, ())[: LOOKED_AT - len(looked)]:
                if place in looked:
                    continue
                looked.add(place)
                kept, other = self._kept[place]
                both = sum(map(self._of, own & kept))
                near = both / (total + other - both) if both else 0.0
                if (near > best or (near == best and place < found)) and is_allowed(place):
                    best, found = near, place
        return best, found


def by_words(texts: Sequence[LoggedText], weights: Weights, progress: Progress) -> list[OpenCluster]:
    """Join each text, the most asked first, with the leader whose words are nearest, else let it lead."""
    clusters: list[OpenCluster] = []
    leaders = _Rarest(weights)
    for number, each in enumerate(texts):
        if number % _REPORTED == 0:
            progress(number, len(texts), "texts", "Joining texts by their words")
        best, place = leaders.nearest(each.words, lambda at: clusters[at].leader.numbers == each.numbers)  # noqa: B023
        if best >= SAME_WORDS:
            clusters[place].members.append(each)
        else:
            clusters.append(OpenCluster(each, [each]))
            leaders.add(each.words)
    return clusters


class Vectors:
    """Embeddings of texts by the embedder of an index, for the languages that it was trained for."""

    def __init__(
        self, workspace: Workspace, question_set: QuestionSet, index: IndexInfo | None, progress: Progress
    ) -> None:
        self._workspace, self._owner, self._progress = workspace, question_set.id, progress
        self.name = index.config.embedder if index is not None else ""
        self._languages = models.languages_of(self.name)

    def fits(self, code: str) -> bool:
        """Whether texts of a language can be compared."""
        return bool(self.name) and (self._languages is None or code in self._languages or code == "und")

    def of(self, texts: Sequence[str], what: str) -> NDArray[np.float32]:
        """Return unit vectors, (n, dims)."""
        spending = self._workspace.spending(self._owner)
        embedder = self._workspace.embedder(self.name, spending, self._progress)
        total = len(texts)
        return np.asarray(embedder.embed(texts, "query", lambda done: self._progress(done, total, "texts", what)))


def by_vectors(clusters: list[OpenCluster], vectors: Vectors, alike: float) -> list[OpenCluster]:
    """Join clusters whose leaders' embeddings are alike: the `HEADS` most asked with each other, others with those."""
    clusters.sort(key=lambda cluster: -cluster.count)
    places = [n for n, each in enumerate(clusters[:EMBEDDED]) if vectors.fits(each.leader.language)]
    if len(places) < 2:
        return clusters
    matrix = vectors.of([clusters[place].leader.text for place in places], "Embedding what was asked")
    heads: list[int] = []  # rows of the matrix
    led = np.empty((min(HEADS, len(places)), matrix.shape[1]), dtype=matrix.dtype)
    joined: set[int] = set()
    for row, place in enumerate(places):
        own = clusters[place]
        near = led[: len(heads)] @ matrix[row]
        order = np.argsort(-near, kind="stable")[:_NEAREST]
        candidates = [heads[at] for at in order if near[at] >= alike]
        best = next((n for n in candidates if clusters[places[n]].leader.numbers == own.leader.numbers), None)
        if best is not None:
            clusters[places[best]].members += own.members
            joined.add(place)
        elif len(heads) < HEADS:
            led[len(heads)] = matrix[row]
            heads.append(row)
    return [cluster for place, cluster in enumerate(clusters) if place not in joined]


def match(
    clusters: Sequence[OpenCluster],
    questions: Sequence[Question],
    weights: Weights,
    vectors: Vectors,
    alike: float,
    progress: Progress,
) -> None:
    """Find the question of the set that asks the same as each cluster.

    That is one of the same text, else the nearest by words and, for some clusters, by embeddings.
    """
    own = _Rarest(weights)
    same = {normal(question.query): question.id for question in reversed(questions)}
    numbers = [numerals.numbers(question.query) for question in questions]
    for question in questions:
        own.add(content(question.query, question.language))
    for number, each in enumerate(clusters):
        if number % _REPORTED == 0:
            progress(number, len(clusters), "clusters", "Comparing with the set")
        if known := same.get(normal(each.leader.text)):
            each.question, each.alike = known, 1.0
            continue
        best, place = own.nearest(each.leader.words, lambda at: numbers[at] == each.leader.numbers)  # noqa: B023
        each.alike = best
        if best >= SAME_WORDS:
            each.question = questions[place].id
    _match_vectors(clusters, questions, numbers, vectors, alike)


def _match_vectors(
    clusters: Sequence[OpenCluster],
    questions: Sequence[Question],
    numbers: Sequence[frozenset[str]],
    vectors: Vectors,
    alike: float,
) -> None:
    """Find the question of each of the most asked clusters that has none yet by embeddings, with the same numbers."""
    fitting = [n for n, question in enumerate(questions) if vectors.fits(question.language)]
    rows = [each for each in clusters[:EMBEDDED] if not each.question and vectors.fits(each.leader.language)]
    if not fitting or not rows:
        return
    asked = vectors.of([questions[n].query for n in fitting], "Embedding the set")
    texts = vectors.of([each.leader.text for each in rows], "Embedding what was asked")
    for start in range(0, len(rows), _BLOCK):
        near = texts[start : start + _BLOCK] @ asked.T
        for each, row in zip(rows[start : start + _BLOCK], near, strict=True):
            order = np.argsort(-row, kind="stable")[:_NEAREST]
            at = next((n for n in order if numbers[fitting[n]] == each.leader.numbers), None)
            if at is None:
                continue
            each.alike = max(each.alike, float(row[at]))
            if row[at] >= alike:
                each.question = questions[fitting[at]].id
