"""What people ask, set against what a question set asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.health import log_clusters
from ragviz.health.log_clusters import EMBEDDED, OpenCluster, Vectors
from ragviz.questions.asked import Log, normal
from ragviz.retrieval import search
from ragviz.store.schema import decoded
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

FACT = "asked"
"""Name of the fact of a question set that holds what people ask."""
ALIKE = 0.8
"""Cosine of two embeddings from which they ask the same: paraphrases are mostly above it, questions on the
same subject mostly below."""
KEPT = 2_000
"""Clusters that are stored with the set, the most asked; the others are counted."""
EXAMPLES = 3
"""Texts of a cluster that are stored, beside the one that leads it."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What people ask: the most asked text, how often all of them were asked, how many different `texts` they are.

    `question` is the id of the question of the set that asks the same, "" for none; `alike` how near the nearest is.
    """

    text: str
    count: int
    texts: int
    language: str
    examples: tuple[str, ...] = ()
    question: str = ""
    alike: float = 0.0


@dataclass(frozen=True, slots=True)
class Demand:
    """What a log says of a set.

    `embedder` compared texts, "" where only words did. `unlisted` clusters, asked `unlisted_asked` times, are beyond
    those that are stored; `unlisted_matched` counts how often they ask a question of the set.
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
    unlisted: int = 0
    unlisted_asked: int = 0
    unlisted_matched: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def unasked(self) -> tuple[Cluster, ...]:
        """What people ask and the set does not, the most asked first."""
        return tuple(cluster for cluster in self.clusters if not cluster.question)

    @property
    def share(self) -> float | None:
        """The share of what was asked that a question of the set asks too, None where nothing was asked."""
        matched = sum(cluster.count for cluster in self.clusters if cluster.question) + self.unlisted_matched
        return matched / self.asked if self.asked else None


def examine(
    workspace: Workspace,
    question_set: QuestionSet,
    log: Log,
    file: str,
    created: float,
    index: IndexInfo | None = None,
    progress: Progress = silent,
) -> Demand:
    """Cluster a log, and set it against a question set; the embedder of an index compares meanings.

    Raises:
        UsageError: the index is of another corpus than the set, or is not built.

    """
    if index is not None and index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    if index is not None:
        index = search.ready(workspace, index)
    questions = [each for each in workspace.store.questions.all(question_set.id) if each.status != "rejected"]
    vectors = Vectors(workspace, question_set, index, progress)
    clusters = log_clusters.clusters_of(log, questions, vectors, ALIKE, progress)
    listed, others = clusters[:KEPT], clusters[KEPT:]
    notes = [*log.notes, *_notes(log, clusters, vectors)]
    return Demand(
        file=file,
        created=created,
        rows=log.rows,
        left_out=len(log.problems),
        hidden=log.hidden,
        texts=len(log.asked),
        asked=log.total,
        clusters=tuple(
            Cluster(
                text=each.text,
                count=each.count,
                texts=len(each.members),
                language=each.language,
                examples=tuple([member.text for member in each.members if member.text != each.text][:EXAMPLES]),
                question=each.question,
                alike=round(each.alike, 3),
            )
            for each in listed
        ),
        index=index.name if index else "",
        embedder=vectors.name,
        unlisted=len(others),
        unlisted_asked=sum(cluster.count for cluster in others),
        unlisted_matched=sum(cluster.count for cluster in others if cluster.question),
        notes=tuple(notes),
    )


def _notes(log: Log, clusters: Sequence[OpenCluster], vectors: Vectors) -> Iterator[str]:
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
    wanted = set(texts)
    chosen = [each for each in demand.clusters if each.text in wanted and not each.question] if demand else []
    if demand is None or not chosen:
        return []
    questions = [
        Question(
            digest("asked", normal(each.text)), each.text, "", (), "log", "quarantined", NO_EVIDENCE,
            language=each.language,
        )
        for each in chosen
    ]  # fmt: skip
    edit = Edit(workspace.person.name, "added from what people ask")
    workspace.store.questions.put(question_set.id, questions, edit=edit)
    ids = {each.text: question.id for each, question in zip(chosen, questions, strict=True)}
    clusters = [
        replace(each, question=ids[each.text], alike=1.0) if each.text in ids else each for each in demand.clusters
    ]
    store(workspace, question_set, replace(demand, clusters=tuple(clusters)))
    workspace.store.evidence.settle_all()
    return questions


NO_EVIDENCE = "asked by people: mark its evidence, or release it as unanswerable"
"""Why a question of a log is set aside."""


def sentences(demand: Demand) -> Iterator[str]:
    """Yield what a log says, in words."""
    clusters = len(demand.clusters) + demand.unlisted
    yield (
        f"Asked {counted(demand.asked, 'time')}, in {counted(demand.texts, 'different text')}, which "
        f"{'is' if demand.texts == 1 else 'are'} {counted(clusters, 'question')} ({demand.file})."
    )
    if demand.share is not None:
        yield f"{demand.share:.0%} of what was asked is a question of the set, or nearly."
    if demand.unlisted:
        yield f"{demand.unlisted:,} rarer questions, asked {demand.unlisted_asked:,} times, are counted and not listed."
