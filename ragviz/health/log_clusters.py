"""Texts of a log that ask the same, and the questions of a set that ask it too.

Texts are compared by their words, then those that lead a cluster by their embeddings, where there is an embedder of
their language. Different numbers are different questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragviz.core.configuration import IndexInfo
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.stopping import Progress
from ragviz.health import word_weights as words
from ragviz.models import weights as models
from ragviz.questions.asked import Asked, Log, normal
from ragviz.text import language, numerals
from ragviz.workspace import Workspace

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix: TypeAlias = "NDArray[np.float32] | csr_matrix"
"""A vector of each text, one a row."""

SAME_WORDS = 0.75
"""Cosine of the tf–idf vectors of two texts from which they ask the same."""
COMPARED = 20_000
"""Clusters, the most asked, that are compared by their words; the others hold texts of the very same words."""
EMBEDDED = 5_000
"""Clusters, the most asked, that are embedded."""
_NEAREST = 5  # nearest questions that are looked at, as their numbers may differ
_BLOCK = 500


@dataclass(slots=True, eq=False)
class OpenCluster:
    """A cluster that is being made: its most asked text leads, with its content words and its numbers."""

    text: str
    language: str
    words: frozenset[str]
    numbers: frozenset[str]
    members: list[Asked] = field(default_factory=list)
    question: str = ""
    alike: float = 0.0

    @property
    def count(self) -> int:
        """How often its texts were asked."""
        return sum(member.count for member in self.members)


def content(text: str, code: str) -> frozenset[str]:
    """Return the content words of a text; all its words where it has none that carry content."""
    return words.content(text, code) or frozenset(normal(text).split())


def read(log: Log, questions: Sequence[Question], progress: Progress) -> list[OpenCluster]:
    """Return the texts of a log, those of the same content words together, the most asked first.

    A text that is too short to show its language is in that of most questions.
    """
    codes = [question.language for question in questions]
    usual = max(set(codes), key=codes.count) if codes else ""
    clusters: dict[tuple[frozenset[str], frozenset[str]], OpenCluster] = {}
    for number, each in enumerate(log.asked):
        if number % _BLOCK == 0:
            progress(number, len(log.asked), "texts", "Reading words")
        code = language.of_short(each.text, usual)
        key = content(each.text, code), numerals.numbers(each.text)
        clusters.setdefault(key, OpenCluster(each.text, code, *key)).members.append(each)
    return sorted(clusters.values(), key=lambda cluster: -cluster.count)


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


def clusters_of(
    log: Log, questions: Sequence[Question], vectors: Vectors, alike: float, progress: Progress
) -> list[OpenCluster]:
    """Return what a log asks, the most asked first, each with the question of the set that asks the same, if any.

    That is one of the same text, else the nearest by words from `SAME_WORDS` on, else by embeddings from `alike` on.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    clusters = read(log, questions, progress)
    of_set = [content(question.query, question.language) for question in questions]
    by_words = TfidfVectorizer(analyzer=sorted, binary=True).fit([*(each.words for each in clusters), *of_set])
    compared = clusters[:COMPARED]
    progress(0, None, "texts", "Joining texts by their words")
    joined = _joined(compared, by_words.transform([each.words for each in compared]), SAME_WORDS)
    clusters = sorted([*joined, *clusters[COMPARED:]], key=lambda cluster: -cluster.count)
    embedded = [each for each in clusters[:EMBEDDED] if vectors.fits(each.language)]
    if len(embedded) > 1:
        joined = _joined(embedded, vectors.of([each.text for each in embedded], "Embedding what was asked"), alike)
        gone = {*map(id, embedded)} - {*map(id, joined)}
        clusters = sorted((each for each in clusters if id(each) not in gone), key=lambda cluster: -cluster.count)
    same = {normal(question.query): question.id for question in reversed(questions)}
    for each in clusters:
        if known := same.get(normal(each.text)):
            each.question, each.alike = known, 1.0
    progress(0, None, "texts", "Comparing with the set")
    rest = [each for each in clusters if not each.question]
    if rest and questions:
        rows = by_words.transform([each.words for each in rest])
        _match(rest, rows, questions, by_words.transform(of_set), SAME_WORDS)
    fitting = [question for question in questions if vectors.fits(question.language)]
    rest = [each for each in clusters[:EMBEDDED] if not each.question and vectors.fits(each.language)]
    if rest and fitting:
        asked = vectors.of([question.query for question in fitting], "Embedding the set")
        _match(rest, vectors.of([each.text for each in rest], "Embedding what was asked"), fitting, asked, alike)
    return clusters


def _joined(clusters: Sequence[OpenCluster], matrix: Matrix, alike: float) -> list[OpenCluster]:
    """Join each cluster with the nearest leader before it that has its numbers (ties: the first), or let it lead."""
    from sklearn.neighbors import NearestNeighbors

    leads: dict[int, OpenCluster] = {}
    near = NearestNeighbors(radius=1 - alike + 1e-6, metric="cosine").fit(matrix)
    for start in range(0, len(clusters), _BLOCK):
        found = near.radius_neighbors(matrix[start : start + _BLOCK])
        for row, (far, places) in enumerate(zip(*found, strict=True), start):
            own, order = clusters[row], places[np.lexsort((places, far.round(6)))]
            lead = next((leads[n] for n in order if n in leads and leads[n].numbers == own.numbers), None)
            if lead is None:
                leads[row] = own
            else:
                lead.members += own.members
    return list(leads.values())


def _match(
    clusters: Sequence[OpenCluster], rows: Matrix, questions: Sequence[Question], of_set: Matrix, alike: float
) -> None:
    """Note how near the nearest question with the same numbers is to each cluster, and its id from `alike` on."""
    from sklearn.neighbors import NearestNeighbors

    numbers = [numerals.numbers(question.query) for question in questions]
    near = NearestNeighbors(n_neighbors=min(_NEAREST, len(questions)), metric="cosine").fit(of_set)
    for start in range(0, len(clusters), _BLOCK):
        distances, places = near.kneighbors(rows[start : start + _BLOCK])
        for own, far, order in zip(clusters[start : start + _BLOCK], distances, places, strict=True):
            at = next((n for n, place in enumerate(order) if numbers[place] == own.numbers), None)
            if at is not None:
                own.alike = max(own.alike, float(1 - far[at]))
                if 1 - far[at] >= alike - 1e-6:
                    own.question = questions[order[at]].id
