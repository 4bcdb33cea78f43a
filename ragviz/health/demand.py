"""What people ask, in clusters of texts that ask the same, set against what a question set asks.

Texts are compared by their words, then those that lead a cluster by their embeddings, where there is an embedder of
their language. Different numbers are different questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.health import word_weights
from ragviz.models import weights as models
from ragviz.questions.asked import Log, normal
from ragviz.retrieval import search
from ragviz.store.schema import decoded
from ragviz.text import language, numerals
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix: TypeAlias = "NDArray[np.float32] | csr_matrix"
"""A vector of each text, one a row."""
FACT = "asked"
"""Name of the fact of a question set that holds what people ask."""
SAME_WORDS = 0.75
"""Cosine of the tf–idf vectors of two texts from which they ask the same."""
SAME_MEANING = 0.8
"""Cosine of two embeddings from which they ask the same: paraphrases are mostly above it, questions on the
same subject mostly below."""
COMPARED = 20_000
"""Clusters, the most asked, that are compared by their words; the others hold texts of the very same words."""
EMBEDDED = 5_000
"""Clusters, the most asked, that are embedded."""
KEPT = 2_000
"""Clusters that are stored with the set, the most asked; the others are counted."""
EXAMPLES = 3
"""Texts of a cluster that are stored, beside the one that leads it."""
NO_EVIDENCE = "asked by people: mark its evidence, or release it as unanswerable"
"""Why a question of a log is set aside."""
_NEAREST = 5  # nearest questions that are looked at, as their numbers may differ
_BLOCK = 500


@dataclass(slots=True)
class Cluster:
    """What people ask: the most asked text, how often all of them were asked, how many different `texts` they are.

    `question` is the id of the question of the set that asks the same, "" for none; `alike` how near the nearest is.
    """

    text: str
    language: str
    count: int
    texts: int = 1
    examples: tuple[str, ...] = ()
    question: str = ""
    alike: float = 0.0

    def join(self, other: Cluster) -> None:
        """Take the texts of another cluster, which has none then."""
        self.examples = (*self.examples, other.text, *other.examples)[:EXAMPLES]
        self.count, self.texts, other.count = self.count + other.count, self.texts + other.texts, 0


@dataclass(frozen=True, slots=True)
class Demand:
    """What a log says of a set: `asked` so often were `texts`, which ask `different` questions.

    `matched` counts how often a question of the set was asked; `clusters` are the most asked of all.
    """

    file: str
    texts: int
    asked: int
    different: int
    matched: int
    clusters: tuple[Cluster, ...]
    notes: tuple[str, ...] = ()

    @property
    def unasked(self) -> tuple[Cluster, ...]:
        """What people ask and the set does not, the most asked first."""
        return tuple(cluster for cluster in self.clusters if not cluster.question)

    @property
    def share(self) -> float:
        """The share of what was asked that a question of the set asks too."""
        return self.matched / self.asked


def examine(
    workspace: Workspace,
    question_set: QuestionSet,
    log: Log,
    file: str,
    index: IndexInfo | None = None,
    progress: Progress = silent,
) -> Demand:
    """Cluster a log, and set it against a question set; the embedder of an index compares meanings.

    Raises:
        UsageError: the index is of another corpus than the set, or is not built.

    """
    if index is not None and index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    embedder = search.ready(workspace, index).config.embedder if index is not None else ""
    trained_for = models.languages_of(embedder)

    def fits(code: str) -> bool:
        return bool(embedder) and (trained_for is None or code in trained_for or code == "und")

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        model = workspace.embedder(embedder, workspace.spending(question_set.id), progress)
        return np.asarray(model.embed(texts, "query", lambda done: progress(done, len(texts), "texts", "Embedding")))

    questions = [each for each in workspace.store.questions.all(question_set.id) if each.status != "rejected"]
    clusters = clusters_of(log, questions, fits, embed, progress)
    notes = list(log.notes)
    if embedder and not any(fits(each.language) for each in clusters):
        notes.append(f"{embedder} was not trained for the language of the log: texts are compared by their words.")
    elif not embedder:
        notes.append("Texts were compared by their words: name an index with an embedder to compare their meaning.")
    if len(clusters) > EMBEDDED:
        notes.append(f"The {EMBEDDED:,} clusters that were asked most are compared in full, the others by words only.")
    matched = sum(each.count for each in clusters if each.question)
    asked = sum(each.count for each in clusters)
    return Demand(file, len(log.asked), asked, len(clusters), matched, tuple(clusters[:KEPT]), tuple(notes))


# Texts that ask the same


def clusters_of(
    log: Log,
    questions: Sequence[Question],
    fits: Callable[[str], bool],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    progress: Progress,
) -> list[Cluster]:
    """Return what a log asks, the most asked first, each with the question of the set that asks the same, if any.

    That is the nearest by words from `SAME_WORDS` on, else by embeddings from `SAME_MEANING` on; `embed` returns unit
    vectors of texts in the languages that it `fits`.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    clusters, words = _of_same_words(log, questions, progress)
    of_set = [content(question.query, question.language) for question in questions]
    by_words = TfidfVectorizer(analyzer=sorted, binary=True).fit([*words.values(), *of_set])
    progress(0, None, "texts", "Comparing texts by their words")
    rows = by_words.transform([words[each.text] for each in clusters[:COMPARED]])
    clusters = _joined(clusters[:COMPARED], rows, SAME_WORDS) + clusters[COMPARED:]
    if questions:
        rows = by_words.transform([words[each.text] for each in clusters])
        _match(clusters, rows, questions, by_words.transform(of_set), SAME_WORDS)
    some = [each for each in sorted(clusters, key=lambda each: -each.count)[:EMBEDDED] if fits(each.language)]
    if some:
        vectors, row_of = embed([each.text for each in some]), {each.text: row for row, each in enumerate(some)}
        rest = [each for each in _joined(some, vectors, SAME_MEANING) if not each.question]
        asked = [question for question in questions if fits(question.language)]
        if rest and asked:
            of_asked = embed([question.query for question in asked])
            _match(rest, vectors[[row_of[each.text] for each in rest]], asked, of_asked, SAME_MEANING)
    for each in clusters:
        each.alike = round(each.alike, 3)
    return sorted((each for each in clusters if each.count), key=lambda each: -each.count)


def content(text: str, code: str) -> frozenset[str]:
    """Return the content words of a text; all its words where it has none that carry content."""
    return word_weights.content(text, code) or frozenset(normal(text).split())


def _of_same_words(
    log: Log, questions: Sequence[Question], progress: Progress
) -> tuple[list[Cluster], dict[str, frozenset[str]]]:
    """Return the texts of a log, those of the same content words together, and the words of each that leads.

    A text that is too short to show its language is in that of most questions.
    """
    codes = [question.language for question in questions]
    usual = max(set(codes), key=codes.count) if codes else ""
    clusters: dict[tuple[frozenset[str], frozenset[str]], Cluster] = {}
    for number, (text, count) in enumerate(log.asked):
        if number % _BLOCK == 0:
            progress(number, len(log.asked), "texts", "Reading words")
        code = language.of_short(text, usual)
        own, key = Cluster(text, code, count), (content(text, code), numerals.numbers(text))
        if (lead := clusters.setdefault(key, own)) is not own:
            lead.join(own)
    return sorted(clusters.values(), key=lambda each: -each.count), {
        each.text: own for (own, _), each in clusters.items()
    }


def _joined(clusters: Sequence[Cluster], matrix: Matrix, alike: float) -> list[Cluster]:
    """Join each cluster with the nearest leader before it with its numbers (ties: the first); return the leaders."""
    from sklearn.neighbors import NearestNeighbors

    numbers = [numerals.numbers(each.text) for each in clusters]
    leads: dict[int, Cluster] = {}
    near = NearestNeighbors(radius=1 - alike + 1e-6, metric="cosine").fit(matrix)
    for start in range(0, len(clusters), _BLOCK):
        found = near.radius_neighbors(matrix[start : start + _BLOCK])
        for row, (far, places) in enumerate(zip(*found, strict=True), start):
            order = places[np.lexsort((places, far.round(6)))]
            lead = next((leads[n] for n in order if n in leads and numbers[n] == numbers[row]), None)
            if lead is None:
                leads[row] = clusters[row]
            else:
                lead.question = lead.question or clusters[row].question
                lead.join(clusters[row])
    return list(leads.values())


def _match(
    clusters: Sequence[Cluster], rows: Matrix, questions: Sequence[Question], of_set: Matrix, alike: float
) -> None:
    """Note how near the nearest question with the same numbers is to each cluster, and its id from `alike` on."""
    from sklearn.neighbors import NearestNeighbors

    numbers = [numerals.numbers(question.query) for question in questions]
    near = NearestNeighbors(n_neighbors=min(_NEAREST, len(questions)), metric="cosine").fit(of_set)
    for start in range(0, len(clusters), _BLOCK):
        distances, places = near.kneighbors(rows[start : start + _BLOCK])
        for own, far, order in zip(clusters[start : start + _BLOCK], distances, places, strict=True):
            at = next((n for n, place in enumerate(order) if numbers[place] == numerals.numbers(own.text)), None)
            if at is not None:
                own.alike = max(own.alike, float(1 - far[at]))
                if 1 - far[at] >= alike - 1e-6:
                    own.question = questions[order[at]].id


# Kept with the set


def store(workspace: Workspace, question_set: QuestionSet, demand: Demand) -> None:
    """Keep what people ask with their set, in place of an earlier log."""
    workspace.store.sets.put_fact(question_set.id, FACT, asdict(demand))


def stored(workspace: Workspace, question_set: QuestionSet) -> Demand | None:
    """Return what is kept with a set; None without a log."""
    found: Demand | None = decoded(Demand, workspace.store.sets.fact(question_set.id, FACT))
    return found


def add(workspace: Workspace, question_set: QuestionSet, texts: Sequence[str]) -> list[Question]:
    """Add what people ask, by the texts of clusters, to the set, and return the new questions.

    Each is set aside until its evidence is marked.
    """
    demand = stored(workspace, question_set)
    chosen = [each for each in demand.unasked if each.text in texts] if demand else []
    if demand is None or not chosen:
        return []
    questions = []
    for each in chosen:
        each.question, each.alike = digest("asked", normal(each.text)), 1.0
        questions.append(
            Question(each.question, each.text, "", (), "log", "quarantined", NO_EVIDENCE, language=each.language)
        )
    edit = Edit(workspace.person.name, "added from what people ask")
    workspace.store.questions.put(question_set.id, questions, edit=edit)
    store(workspace, question_set, replace(demand, matched=demand.matched + sum(each.count for each in chosen)))
    workspace.store.evidence.settle_all()
    return questions


def sentences(demand: Demand) -> Iterator[str]:
    """Yield what a log says, in words."""
    are = "is" if demand.texts == 1 else "are"
    yield (
        f"Asked {counted(demand.asked, 'time')}, in {counted(demand.texts, 'different text')}, which {are} "
        f"{counted(demand.different, 'question')} ({demand.file})."
    )
    yield f"{demand.share:.0%} of what was asked is a question of the set, or nearly."
    if (more := demand.different - len(demand.clusters)) > 0:
        yield f"{more:,} rarer questions are counted and not listed."
