"""Other choices for the questions of a run: which are tried, and what each costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from ragviz.analysis import rescue as rescuing
from ragviz.core.configuration import REMOTE, IndexConfig, IndexInfo, Run, RunConfig
from ragviz.core.digests import digest
from ragviz.core.errors import RagvizError, UsageError
from ragviz.core.question import Question
from ragviz.index import chunking, prefixes
from ragviz.index.preview import speed_of
from ragviz.models.requests import dollars
from ragviz.retrieval import rerankers, search
from ragviz.retrieval.retrievers import offered
from ragviz.runs import choices, measurements
from ragviz.runs.choices import State
from ragviz.store.schema import corpus_hash, questions_hash
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

_VERSION = "4"
"""Version of what a stored replay holds and of the rule by which it is computed."""
SMALLEST = 32
"""Tokens of the smallest chunks that are tried: of smaller ones a line is left."""
LARGEST = 8192
PREFIX_TOKENS = 15
"""Tokens that a prefix is taken to add to a chunk, where its cost is foreseen."""

Effort = Literal["search", "compute"]
"""What a replay takes: a search of what is there; vectors, or scores of a reranker, computed first."""


@dataclass(frozen=True, slots=True)
class Change:
    """One other choice for the questions of a run, `config`, at its own k.

    `cut` is the configuration of the index that is searched, None where it is not known; `index` its name, "" where
    there is no such index yet: it is built to be searched, and not kept. `runs` are those that were made so, whose
    rankings are stored; without any, `stored` is the key of the replay in the store's cache, "" where the index is
    gone.
    """

    key: str
    kind: rescuing.ChangeKind
    config: RunConfig
    index: str
    runs: tuple[Run, ...] = ()
    stored: str = ""
    cut: IndexConfig | None = None
    effort: Effort = "search"


@dataclass(frozen=True, slots=True)
class Changes:
    """What can be tried with the `questions` of a run, those with evidence, where it is now; a larger k apart.

    They are made from the indexes of the corpus with their states, and from the runs that asked the `same` questions;
    `others` counts those that asked other ones. `own` is the index of the run; `asked` is the hash of the questions,
    `documents` that of those that a new index would be built of.
    """

    run: Run
    questions: tuple[Question, ...]
    asked: str
    own: IndexInfo | None
    indexes: tuple[IndexInfo, ...]
    states: Mapping[str, State]
    same: tuple[Run, ...]
    documents: str
    others: int
    changes: tuple[Change, ...] = ()

    @property
    def rebuilt(self) -> bool:
        """Whether the index of the run was built anew since."""
        return self.own is not None and not self.made_on(self.run, self.own)

    @property
    def paid(self) -> bool:
        """Whether the run's reranker asks a model, so that nothing is replayed: that would be paid for."""
        return bool(rerankers.model_of(self.run.config.reranker))

    def made_on(self, run: Run, info: IndexInfo) -> bool:
        """Whether a run searched an index as it is now, or another of the same state."""
        unchanged = run.config.index == info.id and (info.built or 0.0) <= run.created
        return unchanged or choices.state_of(run) == self.states[info.id]

    def planned_state(self, cut: IndexConfig) -> State:
        """Return the state of an index that would be built with these choices and the run's embedder."""
        assert self.own is not None
        return self.documents, cut.hash(), self.own.embedder_identity


def check(current: Run, k: int | None = None) -> None:
    """Raise UsageError for a run whose questions cannot be replayed, and for a `k` that is not within its depth."""
    if k is not None and not 1 <= k <= current.config.depth:
        raise UsageError(f"k must be from 1 to the depth of run '{current.name}', {current.config.depth}: {k} is not.")
    if unranked := measurements.unranked_words(current):
        raise UsageError(f"The questions of run '{current.name}' cannot be replayed. {unranked}")
    if current.status != "done":
        raise UsageError(f"Run '{current.name}' is not finished: resume it first.")


def changes_of(workspace: Workspace, current: Run) -> Changes:
    """Return what can be tried with the questions of a run: retrievers, rerankers, indexes, chunkings, runs that exist.

    Nothing is searched. Choices that a run was made with, of the same questions and an index in the same state, are
    that run's.

    Raises:
        UsageError: the rankings of the run cannot be measured, or it is not finished.

    """
    check(current)
    config = current.config
    scene = _scene(workspace, current, _asked_by(workspace, current))
    own = scene.own
    changes: list[Change] = []
    for name in offered(own.config) if own else ():
        if own and name != config.retriever:
            new = replace(config, retriever=name)
            changes.append(_change(workspace, scene, "retriever", name, new, own.config, own))
    for info in scene.indexes if own is None or scene.rebuilt else [each for each in scene.indexes if each is not own]:
        there = [name for name in offered(info.config) if current.knows.opaque or name == config.retriever]
        for name in there:
            new = replace(config, index=info.id, retriever=name)
            label = f"{info.name} by {name}" if current.knows.opaque else info.name
            changes.append(_change(workspace, scene, "index", label, new, info.config, info))
    if own is not None and not scene.rebuilt:
        for name in _rerankers(scene, own.config):
            depth = rerankers.default_depth(name)
            new = replace(config, reranker=name, rerank_depth=depth)
            changes.append(_change(workspace, scene, "reranker", name, new, own.config, own))
        for kind, label, cut in [] if scene.paid else planned(own.config):
            if scene.planned_state(cut) not in scene.states.values():
                changes.append(_change(workspace, scene, kind, label, config, cut, None))
    changes = [each for each in changes if each.runs or each.stored]
    counted = {id(run) for each in changes for run in each.runs}
    counted.update(id(run) for run in scene.same if choices.rankings_by(run) == choices.rankings_by(current))
    changes += _runs(scene, counted)
    return replace(scene, changes=tuple(changes))


def planned(config: IndexConfig) -> list[tuple[rescuing.ChangeKind, str, IndexConfig]]:
    """Return other ways to cut and to prefix what an index holds: half and twice the size, other chunkers, prefixes.

    An overlap keeps its share of the size. Kinds, names and configurations.

    >>> [name for kind, name, _ in planned(IndexConfig())]
    ['tokens 100', 'tokens 400', 'recursive 200', 'sentences 200', 'title', 'headings']
    """
    size = config.chunk_size
    sizes = [other for other in (size // 2, 2 * size) if SMALLEST <= other <= LARGEST]
    cuts = [replace(config, chunk_size=other, overlap=config.overlap * other // size) for other in sizes]
    cuts += [replace(config, chunker=name) for name in chunking.CHUNKERS if name != config.chunker]
    found: list[tuple[rescuing.ChangeKind, str, IndexConfig]]
    found = [("chunking", f"{cut.chunker} {cut.chunk_size}", cut) for cut in cuts]
    others = [name for name in prefixes.PREFIXES if name != config.prefix]
    return found + [("prefix", name, replace(config, prefix=name)) for name in others]


DIMENSIONS: Mapping[rescuing.ChangeKind, frozenset[str]] = {
    "retriever": frozenset({"retriever"}),
    "reranker": frozenset({"reranker"}),
    "chunking": frozenset({"chunking"}),
    "prefix": frozenset({"prefix"}),
    "index": frozenset({"chunking", "prefix"}),
}
"""What each kind of change chooses; changes go together where they choose nothing twice."""


def foreseen_words(workspace: Workspace, changes: Changes, some: Sequence[Change]) -> str:
    """Say what replaying some changes takes at most: tokens to embed that never were before, minutes, dollars."""
    own, tokens = changes.own, 0
    seconds: list[float | None] = []
    paid: list[float | None] = []
    for change in some:
        if own is None or change.cut is None or change.effort != "compute":
            continue
        cut, reranker = change.cut, rerankers.spec_of(change.config.reranker)
        text = own.tokens * (1 - own.config.overlap / own.config.chunk_size)
        new = 0.0
        if not change.index and cut.embedder:
            new = text / (1 - cut.overlap / cut.chunk_size)
            new += new / cut.chunk_size * PREFIX_TOKENS * (cut.prefix != prefixes.NONE)
        if new and cut.embedder.startswith(REMOTE):
            try:
                paid.append(workspace.client(cut.embedder.removeprefix(REMOTE)).price(round(new), 0))
            except RagvizError:  # no endpoint: the replay itself will say so
                paid.append(None)
        by_token = text if reranker is not None and reranker.embeds else 0.0
        tokens += round(new + by_token)
        speed = speed_of(workspace, cut.embedder)
        if reranker is not None and not reranker.embeds:
            seconds.append(None)
        elif new + by_token:
            seconds.append((new + by_token) / speed if speed else None)
    minutes = counted(max(1, round(sum(filter(None, seconds)) / 60)), "minute")
    cost = dollars(sum(filter(None, paid))) if any(paid) else ""
    words = [f"at most {tokens:,} tokens to embed", "time not known" if None in seconds else f"about {minutes}"]
    return ", ".join(filter(None, [*words, "price not known" if None in paid else cost]))


def _asked_by(workspace: Workspace, current: Run) -> tuple[Question, ...]:
    """Return the questions of a run with evidence, that as it is now where their set still has them."""
    asked = workspace.store.rankings.decoded(current.id)
    question_set = workspace.store.sets.find(current.config.questions)
    now = workspace.store.questions.decoded(question_set.id, asked) if question_set else {}
    questions = []
    for question in [each.question for each in asked.values() if each.question.evidence]:
        new = now[question.id].question if question.id in now else question
        is_moved = new is not question and new.query == question.query and new.evidence
        questions.append(replace(question, evidence=new.evidence) if is_moved else question)
    return tuple(questions)


def _scene(workspace: Workspace, current: Run, asked: tuple[Question, ...]) -> Changes:
    store = workspace.store
    indexes = tuple(info for info in store.indexes.all(current.corpus_id) if info.build)
    readable = frozenset(store.documents.readable(current.corpus_id))
    states = {
        info.id: (corpus_hash(readable.intersection(info.documents)), info.config.hash(), info.embedder_identity)
        for info in indexes
    }
    runs = [run for run in store.runs.all(current.corpus_id) if run.status == "done" and run.id != current.id]
    ranked, identity = [run for run in runs if run.knows.ranking], current.provenance["identity"]
    same = tuple(run for run in ranked if run.provenance["identity"]["questions"] == identity["questions"])
    own = next((info for info in indexes if info.id == current.config.index), None)
    now, others = corpus_hash(readable), len(ranked) - len(same)
    return Changes(current, asked, questions_hash(asked), own, indexes, states, same, now, others)


def _change(
    workspace: Workspace,
    scene: Changes,
    kind: rescuing.ChangeKind,
    label: str,
    new: RunConfig,
    cut: IndexConfig,
    info: IndexInfo | None,
) -> Change:
    """Return a change; without runs and without `stored` where its reranker cannot read these chunks (now)."""
    state = scene.planned_state(cut) if info is None else scene.states[info.id]
    ranked = choices.ranked_by(new)
    reads = info or (None if scene.own is None else replace(scene.own, config=cut))
    reranking: str | None = None  # what the scores of the reranker depend on
    if reads is not None and not rerankers.model_of(new.reranker):
        with suppress(RagvizError):  # it cannot read these chunks
            reranking = search.identity_of(workspace, reads, new.reranker)
    made = [
        run
        for run in scene.same
        if choices.ranked_by(run.config) == ranked
        and (choices.state_of(run) == state if info is None else scene.made_on(run, info))
    ]
    key = (_VERSION, *state, *ranked, str(new.depth), reranking or "", scene.asked)
    stored = "" if reranking is None else digest(*key)
    computes = info is None or new.reranker not in (scene.run.config.reranker, rerankers.NONE)
    effort: Effort = "compute" if computes else "search"
    name = "" if info is None else info.name
    return Change(f"{kind}={label}", kind, new, name, tuple(made), stored, cut, effort)


def _runs(scene: Changes, counted: set[int]) -> list[Change]:
    rest: dict[tuple[str, ...], list[Run]] = {}
    for run in scene.same:
        if id(run) not in counted:
            rest.setdefault(choices.rankings_by(run), []).append(run)
    changes = []
    for runs in rest.values():
        searched = next((each for each in scene.indexes if scene.made_on(runs[0], each)), None)
        new = runs[0].config if searched is None else replace(runs[0].config, index=searched.id)
        name, cut = runs[0].provenance["index"], None if searched is None else searched.config
        changes.append(Change(f"run={runs[0].id}", "run", new, name, tuple(runs), cut=cut))
    return changes


def _rerankers(scene: Changes, cut: IndexConfig) -> list[str]:
    """Return the rerankers to try on an index like `cut`, none that is paid for: those without a name, those used."""
    always = [name for name, spec in rerankers.RERANKERS.items() if spec.takes != "required" and not spec.asks]
    used = [name for run in scene.same if not rerankers.model_of(name := run.config.reranker)]
    found = []
    for name in dict.fromkeys([rerankers.NONE, *always, *used]):
        with suppress(UsageError):  # the index cannot serve it
            rerankers.check_offered(cut, name)
            if name != scene.run.config.reranker:
                found.append(name)
    return found
