"""What people ask, set against what a question set asks and what the documents hold; scores weighted by it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from ragviz.analysis.evaluate import document_clusters
from ragviz.core.call import Estimate
from ragviz.core.chunk import Chunk
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.run_info import Run
from ragviz.core.span import Span
from ragviz.health import answerability, log_clusters
from ragviz.health.answerability import FEWEST, Threshold
from ragviz.health.log_clusters import EMBEDDED, OpenCluster, Vectors
from ragviz.metrics.registry import METRICS, label, shown_in
from ragviz.questions import asked
from ragviz.questions.asked import Log, normal
from ragviz.questions.formats.input_file import InputFile
from ragviz.retrieval import search
from ragviz.runs import summaries
from ragviz.stats import intervals
from ragviz.stats.weighted import weighted_estimate
from ragviz.store.schema import decoded
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

FACT = "asked"
"""Name of the fact of a question set that holds what people ask."""
ALIKE = 0.8
"""Cosine of two embeddings from which they ask the same, by default: paraphrases are mostly above it, questions on the
same subject mostly below."""
KEPT = 2_000
"""Clusters that are stored with the set, the most asked; the others are counted."""
EXAMPLES = 3
"""Texts of a cluster that are stored, beside the one that leads it."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What people ask: the most asked text, how often all of them were asked, how many different `texts` they are.

    `question` is the id of the question of the set that asks the same, "" for none; `alike` how near the nearest is.
    `score` is how well the best chunk fits; `held` whether a document answers: by the evidence of `question`, else
    where `score` is above the threshold; None where that is not known.
    """

    text: str
    count: int
    texts: int
    language: str
    examples: tuple[str, ...] = ()
    question: str = ""
    alike: float = 0.0
    score: float | None = None
    held: bool | None = None
    chunk: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a log says of a set. `by` is "knn" or "words": how chunks were scored, "" where no index was searched.

    `embedder` compared texts, "" where only words did. `unlisted` clusters, asked `unlisted_asked` times, are beyond
    those that are stored; `unlisted_matched` counts how often they ask a question of the set, by its id.
    """

    file: str
    created: float
    rows: int
    left_out: int
    hidden: int
    texts: int
    asked: int
    clusters: tuple[Cluster, ...]
    index: str = ""
    embedder: str = ""
    alike: float = ALIKE
    by: str = ""
    threshold: Threshold | None = None
    unlisted: int = 0
    unlisted_asked: int = 0
    unlisted_matched: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=())

    @property
    def unasked(self) -> tuple[Cluster, ...]:
        """What people ask and the set does not, the most asked first."""
        return tuple(cluster for cluster in self.clusters if not cluster.question)

    @property
    def unanswered(self) -> tuple[Cluster, ...]:
        """What people ask and no document answers, the most asked first."""
        return tuple(cluster for cluster in self.clusters if cluster.held is False)

    def matched(self) -> dict[str, int]:
        """Return how often each question of the set is asked, by id; those that are not asked are left out."""
        counts = dict(self.unlisted_matched)
        for cluster in self.clusters:
            if cluster.question:
                counts[cluster.question] = counts.get(cluster.question, 0) + cluster.count
        return counts

    def share(self, has: Callable[[Cluster], bool | None]) -> float | None:
        """Return the share of what was asked whose clusters `has` is true of, of those it is not None of."""
        told = [(cluster.count, answer) for cluster in self.clusters if (answer := has(cluster)) is not None]
        total = sum(count for count, _ in told)
        return sum(count for count, answer in told if answer) / total if total else None


def examine(
    workspace: Workspace,
    question_set: QuestionSet,
    log: Log,
    file: str,
    created: float,
    index: IndexInfo | None = None,
    alike: float = ALIKE,
    progress: Progress = silent,
) -> Demand:
    """Cluster a log, and set it against a question set and, with an index, against its documents.

    Raises:
        UsageError: the index is of another corpus than the set, or is not built.
        SearchError: the index is damaged.

    """
    if index is not None and index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    if index is not None:
        index = search.ready(workspace, index)
    questions = [question for question in workspace.store.questions.all(question_set.id) if question.asked]
    vectors = Vectors(workspace, question_set, index, progress)
    clusters = log_clusters.clusters_of(log, questions, vectors, alike, progress)
    threshold, by = answerability.find(workspace, index, clusters, questions, vectors, progress)
    listed, others = clusters[:KEPT], clusters[KEPT:]
    unlisted = Counter[str]()
    for cluster in others:
        unlisted[cluster.question] += cluster.count
    notes = [*log.notes, *_notes(log, clusters, vectors, by, threshold)]
    return Demand(
        file=file,
        created=created,
        rows=log.rows,
        left_out=len(log.problems),
        hidden=log.hidden,
        texts=len(log.asked),
        asked=log.total,
        clusters=tuple(_kept(cluster) for cluster in listed),
        index=index.name if index else "",
        embedder=vectors.name,
        alike=alike,
        by=by,
        threshold=threshold,
        unlisted=len(others),
        unlisted_asked=sum(cluster.count for cluster in others),
        unlisted_matched={question: count for question, count in unlisted.items() if question},
        notes=tuple(notes),
    )


def _kept(cluster: OpenCluster) -> Cluster:
    """Return what is stored of a cluster."""
    examples = [member.text for member in cluster.members if member.text != cluster.text]
    return Cluster(
        text=cluster.text,
        count=cluster.count,
        texts=len(cluster.members),
        language=cluster.language,
        examples=tuple(examples[:EXAMPLES]),
        question=cluster.question,
        alike=round(cluster.alike, 3),
        score=None if cluster.score is None else round(cluster.score, 4),
        held=cluster.held,
        chunk=cluster.chunk,
    )


def _notes(
    log: Log, clusters: Sequence[OpenCluster], vectors: Vectors, by: str, threshold: Threshold | None
) -> Iterator[str]:
    if log.hidden:
        yield f"Keys, addresses of mail or long numbers were taken out of {counted(log.hidden, 'text')}."
    if log.shortened:
        yield f"{counted(log.shortened, 'text', 'was')} cut after the first characters."
    if vectors.name and not any(vectors.fits(each.language) for each in clusters):
        yield f"The embedder {vectors.name} was not trained for the language of the log: texts are compared by words."
    elif not vectors.name:
        yield "Texts were compared by their words: name an index with an embedder to compare their meaning."
    if len(clusters) > EMBEDDED:
        yield f"The {EMBEDDED:,} clusters that were asked most are compared in full, the others by words only."
    if by and threshold is None:
        yield (
            "Whether documents answer what the set does not ask is not said: that is learnt from at least "
            f"{FEWEST} questions of the set that have evidence, better with as many unanswerable ones."
        )
    elif threshold is not None and threshold.balanced is None:
        yield (
            "The set has no unanswerable questions: what scores below 95 % of its answerable ones counts as not "
            f"answered. Add at least {FEWEST} to learn a better threshold."
        )
    elif threshold is not None and (threshold.balanced or 0) < 0.7:
        yield (
            "These scores hardly separate the set's answerable questions from its unanswerable ones (balanced accuracy "
            f"{threshold.balanced:.2f}; 0.5 is chance): read what no document answers as a list of candidates."
        )


# Kept with the set


def read_into(
    workspace: Workspace,
    question_set: QuestionSet,
    file: InputFile,
    index: IndexInfo | None = None,
    *,
    alike: float = ALIKE,
    apply: bool = False,
    author: str = "",
    progress: Progress = silent,
) -> Demand:
    """Read a log, examine it, and keep what it says with the set; with `apply`, weigh the questions by it.

    Raises:
        InputError, UsageError, SearchError: as `asked.read_log` and `examine`; nothing is stored then.

    """
    log = asked.read_log(file, workspace.settings.keys, progress)
    demand = examine(workspace, question_set, log, file.name, time.time(), index, alike, progress)
    progress(0, None, "texts", "Storing")
    store(workspace, question_set, demand)
    if apply:
        apply_weights(workspace, question_set, demand, author)
    return demand


def store(workspace: Workspace, question_set: QuestionSet, demand: Demand | None) -> None:
    """Keep what people ask with their set, in place of an earlier log; None removes it."""
    workspace.store.sets.put_fact(question_set.id, FACT, asdict(demand) if demand else None)


def stored(workspace: Workspace, question_set: QuestionSet) -> Demand | None:
    """Return what is kept with a set; None without a log."""
    found: Demand | None = decoded(Demand, workspace.store.sets.fact(question_set.id, FACT))
    return found


# Into the set


def add(workspace: Workspace, question_set: QuestionSet, texts: Sequence[str], author: str = "") -> list[Question]:
    """Add what people ask, by the texts of clusters, to the set, and return the new questions.

    One that a document seems to answer is proposed with the best chunk as evidence, for a person to narrow; one that
    none answers as unanswerable. Where that was not looked at, it is set aside until its evidence is marked.
    """
    demand = stored(workspace, question_set)
    wanted = set(texts)
    chosen = [each for each in demand.clusters if each.text in wanted and not each.question] if demand else []
    if demand is None or not chosen:
        return []
    read = search.texts_of(workspace, question_set.corpus_id)([each.chunk for each in chosen if each.chunk])
    passages = dict(zip([each.chunk for each in chosen if each.chunk], read, strict=True))
    questions = [_question(each, passages.get(each.chunk, "")) for each in chosen]
    workspace.store.questions.put(question_set.id, questions, None, Edit(author, "added from what people ask"))
    ids = {each.text: question.id for each, question in zip(chosen, questions, strict=True)}
    clusters = [
        replace(each, question=ids[each.text], alike=1.0) if each.text in ids else each for each in demand.clusters
    ]
    store(workspace, question_set, replace(demand, clusters=tuple(clusters)))
    workspace.store.evidence.settle_all()
    return questions


NO_EVIDENCE = "asked by people: mark its evidence, or release it as unanswerable"
"""Why a question of a log is set aside, where nobody looked whether a document answers it."""


def _question(cluster: Cluster, passage: str) -> Question:
    """Return a cluster as a question; `passage` is the text of its best chunk, "" where it is gone."""
    place = Chunk.parse_id(cluster.chunk) if cluster.held and passage else None
    unknown = cluster.held is None or (cluster.held and place is None)
    return Question(
        id=digest("asked", normal(cluster.text)),
        text=cluster.text,
        answer="",
        evidence=((Span(*place, passage),),) if place else (),
        generator="log",
        status="quarantined" if unknown else "proposed",
        reason=NO_EVIDENCE if unknown else "",
        language=cluster.language,
        source_chunks=(cluster.chunk,) if place else (),
        type="unanswerable" if cluster.held is False else "",
    )


# Weights


WEIGHT = "weight = 1 + times asked, scaled to a mean of 1"
"""How questions are weighed by what people ask, in words."""


def weights_of(demand: Demand, questions: Sequence[Question]) -> dict[str, float]:
    """Return the weight of each question that is asked, by id: 1 + how often people ask it, with a mean of 1.

    One is added so that a question that nobody asked yet counts a little.
    """
    counts = dict.fromkeys((question.id for question in questions if question.asked), 1)
    for question_id, count in demand.matched().items():
        if question_id in counts:
            counts[question_id] += count
    total = sum(counts.values())
    return {question_id: round(count * len(counts) / total, 6) for question_id, count in counts.items()}


def newly_weighted(demand: Demand, questions: Sequence[Question]) -> list[Question]:
    """Return the questions whose weight the log changes, with it; none where it asks no question of the set."""
    if not demand.matched().keys() & {question.id for question in questions if question.asked}:
        return []
    weights = weights_of(demand, questions)
    return [
        replace(question, weight=weights[question.id])
        for question in questions
        if question.id in weights and question.weight != weights[question.id]
    ]


def apply_weights(workspace: Workspace, question_set: QuestionSet, demand: Demand, author: str = "") -> int:
    """Store the weights with the questions, as one version of the set; return how many changed."""
    changed = newly_weighted(demand, workspace.store.questions.all(question_set.id))
    if changed:
        workspace.store.questions.put(question_set.id, changed, None, Edit(author, "weighted by what people ask"))
        workspace.store.evidence.settle_all()
    return len(changed)


def unchanged_words(demand: Demand, questions: Sequence[Question]) -> str:
    """Say why the log changes no weight of these questions."""
    if demand.matched().keys() & {question.id for question in questions if question.asked}:
        return "The questions of the set have these weights."
    return "The log asks no question of the set: it changes no weight."


@dataclass(frozen=True, slots=True)
class WeightedMean:
    """A metric of a run: its plain mean over the questions, and the mean by how often each is asked."""

    metric: str
    plain: Estimate
    weighted: Estimate


def weighted_means(workspace: Workspace, run: Run, weights: Mapping[str, float]) -> list[WeightedMean]:
    """Return the headline metrics of a run, plain and by `weights`; questions without a weight are left out."""
    overview = summaries.overview(workspace, run)
    summary = overview.summary
    headline = [label(name, run.config.k) if name in METRICS else name for name in shown_in("tile")]
    questions = {question.id: question for question in workspace.store.rankings.questions(run.id)}
    scores = {name: (summary.question_ids, summary.scores[name]) for name in headline if name in summary.scores}
    scores |= {name: (c.question_ids, c.values) for name in headline if (c := overview.answers.get(name)) is not None}
    means = []
    for name in (name for name in headline if name in scores):
        scored = [
            (weights[i], float(value), questions[i])
            for i, value in zip(*scores[name], strict=True)
            if i in weights and i in questions and np.isfinite(value)
        ]
        if scored:
            own, values, asked_of = (list(each) for each in zip(*scored, strict=True))
            groups = document_clusters(asked_of)
            plain, weighted = intervals.estimate(values, groups), weighted_estimate(values, own, groups)
            means.append(WeightedMean(name, plain, weighted))
    return means


def shares(demand: Demand) -> dict[str, float | None]:
    """Return the shares of what was asked: by the set too ("asked"), and answered by a document ("held").

    Without a threshold only what the set asks too is known to be answered or not: that is no share of all.
    """
    asked_too = sum(demand.matched().values()) / demand.asked if demand.asked else None
    return {"asked": asked_too, "held": demand.share(lambda each: each.held) if demand.threshold else None}


def sentences(demand: Demand) -> Iterator[str]:
    """Yield what a log says, in words."""
    clusters = len(demand.clusters) + demand.unlisted
    yield (
        f"Asked {counted(demand.asked, 'time')}, in {counted(demand.texts, 'different text')}, which "
        f"{'is' if demand.texts == 1 else 'are'} {counted(clusters, 'question')} ({demand.file})."
    )
    told = shares(demand)
    if told["asked"] is not None:
        yield f"{told['asked']:.0%} of what was asked is a question of the set, or nearly."
    if told["held"] is not None and demand.threshold is not None:
        way = "the similarity of embeddings" if demand.by == "knn" else "the share of words in the best chunk"
        yield (
            f"{told['held']:.0%} of what was asked counts as answered: a question of the set that asks the same has "
            f"evidence, or, where the set does not say, a chunk of {demand.index} scores at least "
            f"{demand.threshold.value:.2f} by {way}. {threshold_words(demand.threshold)}"
        )
    if demand.unlisted:
        yield f"{demand.unlisted:,} rarer questions, asked {demand.unlisted_asked:,} times, are counted and not listed."


def threshold_words(threshold: Threshold) -> str:
    """Say what a threshold was learnt from, and how well it tells."""
    above = f"{threshold.right_answerable:,} of {threshold.answerable:,} answerable questions of the set are above it"
    if not threshold.unanswerable:
        return f"{above}."
    below = f"{threshold.right_unanswerable:,} of {threshold.unanswerable:,} unanswerable ones below"
    return f"{above}, {below}."
