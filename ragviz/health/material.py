"""What the checks of a question set read: its questions in words, the index, its runs, verdicts; read once for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from ragviz.analysis import pooled
from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.document import Document, Span
from ragviz.core.errors import ServiceError, UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.health import word_weights as words
from ragviz.health.word_weights import Weights
from ragviz.index import damage
from ragviz.questions import staleness
from ragviz.retrieval import search
from ragviz.runs import contexts, measurements, overviews
from ragviz.store.schema import Cuts
from ragviz.text import language, numerals, segmentation
from ragviz.workspace import Workspace

DEPTH = 10
"""Chunks that BM25 returns for a question."""
REPORTED = 500
"""Questions, or documents, after which the progress is reported: a cancellation is heard then."""
SAMPLED = 5_000
"""Chunks from which the rarity of words is estimated, evenly spread over the documents."""
REACH = 600
"""Characters before and after a piece of evidence within which the sentence in which it stands is read."""
ByRun = Mapping[str, Mapping[str, bool]]
"""Name of a run → id of a question → whether something is so."""
MOST_RUNS = 8
"""Runs that are looked at, the newest of each way of ranking."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A question as the checks read it: its content words and those of its answer.

    The words of a follow-up are those of its whole conversation, as it is searched for. `evidence` is the text of each
    group, of the member that shares most with question and answer; `sentences` are the words of the sentences in which
    they stand. `gold` are its gold chunks in the index.
    """

    question: Question
    words: frozenset[str]
    answer: frozenset[str]
    evidence: str
    sentences: frozenset[str]
    gold: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """The id of the question."""
        return self.question.id


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What the checks read. Questions that are rejected or in quarantine are not looked at, but for `set_aside`.

    `set_aside` are the questions that are in quarantine because their evidence is gone. `documents` counts the
    questions about each document, by its name; one about several counts in each.
    `lexical` are the first chunks of BM25 for each question, by id, empty without an index. `verdicts` are pooled ones,
    by question id. `judged` says by run of which answers a judge found all claims in the passages, by question.
    """

    subjects: tuple[Subject, ...]
    weights: Weights = field(default_factory=Weights)
    index: str = ""
    lexical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outcomes: ByRun = field(default_factory=dict)
    closed: ByRun = field(default_factory=dict)
    judged: ByRun = field(default_factory=dict)
    verdicts: Mapping[str, pooled.Verdicts] = field(default_factory=dict)
    documents: Mapping[str, int] = field(default_factory=dict)
    set_aside: tuple[Question, ...] = ()


@lru_cache(maxsize=4_096)
def _evidence_words(text: str, of_question: str) -> frozenset[str]:
    """Return the words and stated numbers of a piece of evidence; many questions can rest on the same one."""
    return words.content(text, language.of_short(text, of_question)) | numerals.stated_numbers(text)


def subject_of(
    question: Question,
    read: Callable[[Span], tuple[str, str]],
    gold: Collection[str] = (),
) -> Subject:
    """Read a question in words; `read` returns the text of a span, and that of the sentences in which it stands."""
    own, answer = words.content(question.query, question.language), words.content(question.answer, question.language)
    texts, within = list[str](), frozenset[str]()

    def shared(span: Span) -> int:
        return len(_evidence_words(read(span)[0], question.language) & (own | answer))

    for group in filter(None, question.evidence):
        both = read(max(group, key=shared))
        texts.append(both[0])
        within = within.union(*(_evidence_words(text, question.language) for text in both))
    return Subject(question, own, answer, "\n".join(texts), within, frozenset(gold))


def read_material(
    workspace: Workspace, question_set: QuestionSet, index: IndexInfo | None, progress: Progress = silent
) -> Material:
    """Read what the checks of a set need; without an index, or with one that is damaged, what needs none.

    The time grows with the questions, the chunks of the index, and the documents.
    """
    store = workspace.store
    every = store.questions.all(question_set.id)
    questions = [question for question in every if question.asked]
    progress(0, None, "", "Reading the questions")
    cuts = store.indexes.cuts(index.build, index.documents) if index is not None and index.build else {}
    golds = [frozenset[str]()] * len(questions)
    if index is not None and cuts:
        golds = [frozenset(chain(*groups)) for groups, _ in contexts.gold_of(workspace, index, questions, cuts)]
    quotes = _quotes(workspace, question_set.corpus_id, questions)

    def read(span: Span) -> tuple[str, str]:
        text, around = quotes.get((span.document_id, span.start, span.end), ("", ""))
        return span.text or text, "" if span.stale else around

    subjects = []
    for number, (question, gold) in enumerate(zip(questions, golds, strict=True)):
        if number % REPORTED == 0:
            progress(number, len(questions), "questions", "Reading the questions")
        subjects.append(subject_of(question, read, gold))
    progress(0, None, "", "Reading the chunks")
    weights = _chunk_weights(workspace, question_set.corpus_id, cuts, progress)
    runs = runs_of(workspace, question_set)
    lexical = _searched(workspace, index, subjects, progress) if index is not None and cuts else {}
    spans = [{s.document_id for s in q.spans if not s.stale} for q in questions]
    about = Counter(document_id for each in spans for document_id in each)
    progress(0, None, "", "Reading the runs")
    answered = [run for run in runs if run.knows.answers]
    return Material(
        tuple(subjects),
        weights,
        index.name if index is not None and cuts else "",
        lexical,
        {run.name: _found_by(workspace, run) for run in ways(runs)},
        {run.name: _right_of(workspace, run) for run in [r for r in answered if r.knows.closed_book][:MOST_RUNS]},
        {run.name: _supported_in(workspace, run) for run in [r for r in answered if r.knows.contexts][:MOST_RUNS]},
        measurements.of_questions(workspace, runs[0], questions)[1] if runs else {},
        {d.name: about[d.id] for d in store.documents.all(question_set.corpus_id) if d.status == "ok"},
        tuple(question for question in every if staleness.is_set_aside(question)),
    )


def runs_of(workspace: Workspace, question_set: QuestionSet) -> list[Run]:
    """Return the runs of a set that are done, the newest first."""
    runs = workspace.store.runs.all(question_set.corpus_id)
    return [run for run in runs if run.status == "done" and run.config.questions == question_set.id]


def _quotes(
    workspace: Workspace, corpus_id: str, questions: Sequence[Question]
) -> dict[tuple[str, int, int], tuple[str, str]]:
    """Return the text of each piece of evidence and the sentences in which it stands, by document, start and end."""
    wanted: dict[str, dict[tuple[int, int], None]] = {}
    for span in (span for q in questions for span in q.spans if not span.stale or not span.text):
        wanted.setdefault(span.document_id, {})[span.start, span.end] = None
    return {
        (document.id, start, end): (document.text[start:end], _sentences_around(document, start, end))
        for document in workspace.store.documents.texts(corpus_id, list(wanted))
        for start, end in wanted[document.id]
    }


def _sentences_around(document: Document, start: int, end: int) -> str:
    """Return the sentences, items or rows of a document that share a character with a place, within `REACH` of it."""
    first = max(0, start - REACH)
    near = document.text[first : end + REACH]
    return "\n".join(
        near[left:right]
        for left, right in segmentation.sentences(near, document.language)
        if first + left < end and start < first + right
    )


def _chunk_weights(workspace: Workspace, corpus_id: str, cuts: Mapping[str, Cuts], progress: Progress) -> Weights:
    """Estimate how rare words are from `SAMPLED` chunks of an index at most, evenly spread over its documents."""
    step = max(sum(map(len, cuts.values())) / SAMPLED, 1.0)

    def each() -> Iterator[frozenset[str]]:
        place, following = 0, 0.0
        for number, document in enumerate(workspace.store.documents.texts(corpus_id, list(cuts))):
            if number % REPORTED == 0:
                progress(number, len(cuts), "documents", "Reading the chunks")
            for start, end, _ in cuts[document.id].tolist():
                if place >= following:
                    following += step
                    yield words.content(document.text[start:end], document.language)
                place += 1

    return words.weights_of(each())


def _searched(
    workspace: Workspace, index: IndexInfo, subjects: Sequence[Subject], progress: Progress
) -> dict[str, tuple[str, ...]]:
    """Return BM25's first chunks for each question; empty where the index is damaged."""
    asked, found = [subject for subject in subjects if subject.gold], dict[str, tuple[str, ...]]()
    try:
        rank = search.retriever(workspace, damage.sound(workspace, index), "bm25")
        for start in range(0, len(asked), REPORTED):
            progress(start, len(asked), "questions", "Searching")
            some = asked[start : start + REPORTED]
            rankings = rank([subject.question.query for subject in some], DEPTH)
            found |= {subject.id: ranking.ids for subject, ranking in zip(some, rankings, strict=True)}
    except (ServiceError, UsageError):
        return {}
    return found


def ways(runs: Sequence[Run]) -> list[Run]:
    """Return the newest run of each way of ranking, at most `MOST_RUNS`; `runs` come the newest first.

    Those that asked the whole set go before those of a side or of some questions.
    """
    newest: dict[tuple[Any, ...], Run] = {}
    for run in sorted(runs, key=lambda run: bool(run.config.split or run.config.limit)):
        config = run.config
        if run.knows.first_k and run.knows.ranking:
            key = (config.index, config.retriever, config.k, config.reranker, config.rerank_depth, config.rrf_constant)
            newest.setdefault(key, run)
    return list(newest.values())[:MOST_RUNS]


def _found_by(workspace: Workspace, run: Run) -> dict[str, bool]:
    measured = overviews.overview(workspace, run).summary
    found = [0 < rank <= run.config.k for rank in measured.ranks.tolist()]
    return dict(zip(measured.question_ids, found, strict=True))


def _right_of(workspace: Workspace, run: Run) -> dict[str, bool]:
    rulings = overviews.overview(workspace, run).judgement.rulings
    return {i: bool(ruling.right) for i, ruling in rulings.items() if ruling.right is not None}


def _supported_in(workspace: Workspace, run: Run) -> dict[str, bool]:
    scores = measurements.scores_of(workspace, run, metrics=("faithfulness",)).get("faithfulness", {})
    return {i: score.value == 1 for i, score in scores.items() if score.value is not None}
