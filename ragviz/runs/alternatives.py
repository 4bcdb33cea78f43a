"""Other choices for the questions of a run: which are tried, what each costs, and how several go together."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragviz.analysis import rescue as rescuing
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.digests import digest
from ragviz.core.errors import RagvizError, UsageError
from ragviz.core.index_info import IndexInfo
from ragviz.core.question import Question
from ragviz.core.run_info import Run
from ragviz.index import chunking, prefixes
from ragviz.index.preview import speed_of
from ragviz.models.spending import dollars
from ragviz.models.tokenizer import REMOTE
from ragviz.retrieval import rerankers, search
from ragviz.retrieval.retrievers import offered
from ragviz.runs import measurements
from ragviz.store.codecs import corpus_hash, questions_hash
from ragviz.workspace import Workspace

_VERSION = "2"
"""Version of what a stored replay holds and of the rule by which it is computed."""
SMALLEST = 32
"""Tokens of the smallest chunks that are tried: of smaller ones a line is left."""
LARGEST = 8192
PREFIX_TOKENS = 15
"""Tokens that a prefix is taken to add to a chunk, where its cost is foreseen."""

Effort = Literal["search", "compute", "paid"]
"""What a replay takes: a search of what is there; vectors computed first, on this machine or by the index's embedder;
calls of a model for each question, or a reranker that was named."""

State = tuple[str, str, str]
"""Documents, configuration and embedder of an index: of two with the same the rankings are the same."""


@dataclass(frozen=True, slots=True)
class Change:
    """One other choice for the questions of a run, `config`, at its own k.

    `cut` is the configuration of the index that is searched, None where it is not known; `index` its name, "" where
    there is no such index yet: it is built to be searched, and not kept. `runs` are those that were made so, whose
    rankings are stored; without any, `stored` is the key of the replay in the store's cache, "" where the index is
    gone. `parts` are the keys of the changes that it is made of.
    """

    key: str
    kind: rescuing.ChangeKind
    config: RunConfig
    index: str
    runs: tuple[Run, ...] = ()
    stored: str = ""
    cut: IndexConfig | None = None
    effort: Effort = "search"
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a run with evidence, where its set has them still with their evidence as it is now, and a hash.

    To read them takes longest of all, so they are kept apart from what other runs and indexes change.
    """

    questions: tuple[Question, ...]
    hash: str


@dataclass(frozen=True, slots=True)
class Scene:
    """What changes are made from: the indexes of the corpus with their states, the runs that asked the same questions.

    `own` is the index of the run; `documents` is the hash of those that a new index would be built of.
    """

    run: Run
    asked: Asked
    own: IndexInfo | None
    indexes: tuple[IndexInfo, ...]
    states: Mapping[str, State]
    same: tuple[Run, ...]
    documents: str

    def planned_state(self, cut: IndexConfig) -> State:
        """Return the state of an index that would be built with these choices and the run's embedder."""
        assert self.own is not None
        return self.documents, cut.hash(), self.own.embedder_identity

    def index_of(self, cut: IndexConfig) -> IndexInfo | None:
        """Return the index that is as one built with these choices would be."""
        state = self.planned_state(cut)
        return next((info for info in self.indexes if self.states[info.id] == state), None)


@dataclass(frozen=True, slots=True)
class Changes:
    """What can be tried with the questions of a run, a larger k apart.

    `questions` are those of the run with evidence, where it is now; `rebuilt` says that the index of the run was built
    anew since, `gone` that it was deleted; `others` counts the runs of the corpus that asked other questions. `paid`
    says that the run's reranker asks a model, so that nothing is replayed: that would be paid for. `untried` are the
    rerankers that cannot be tried, with the reason.
    """

    questions: tuple[Question, ...]
    changes: tuple[Change, ...]
    rebuilt: bool
    gone: bool
    others: int
    scene: Scene
    paid: bool = False
    untried: Mapping[str, str] = field(default_factory=dict)

    def missing(self, held: Mapping[str, object] | Collection[str], *efforts: Effort) -> list[Change]:
        """Return the changes of these efforts (default: searches) that no run and no stored replay tells of.

        `held` are the keys of the latter.
        """
        wanted = efforts or ("search",)
        return [each for each in self.changes if not each.runs and each.stored not in held and each.effort in wanted]


@dataclass(frozen=True, slots=True)
class Tried:
    """What was named to be tried for a run, beside what is always: rerankers. `round` counts what was replayed."""

    rerankers: tuple[str, ...] = ()
    round: int = 0

    @staticmethod
    def key(run: Run) -> str:
        """Return the key of this in the store's cache of replays."""
        return digest("tried", run.id)

    @staticmethod
    def of(workspace: Workspace, run: Run) -> Tried:
        """Read what was tried for a run."""
        key = Tried.key(run)
        names, count = json.loads(workspace.store.cache("replay").get_many([key]).get(key, b"[[], 0]"))
        return Tried(tuple(names), count)

    def store(self, workspace: Workspace, run: Run) -> None:
        """Keep what was tried for a run."""
        body = json.dumps([self.rerankers, self.round]).encode()
        workspace.store.cache("replay").put_many({Tried.key(run): body})


def whole_name(workspace: Workspace, name: str) -> str:
    """Return the name of a reranker with that of its model."""
    spec = rerankers.spec_of(name)
    return f"{name}:{workspace.settings.model}" if spec is not None and spec.asks and ":" not in name else name


def asked_by(workspace: Workspace, current: Run) -> Asked:
    """Return the questions of a run, to be replayed; raises as `changes_of`."""
    check(current)
    store = workspace.store
    question_set = store.sets.find(current.config.questions)
    now = {q.id: q for q in store.questions.all(question_set.id)} if question_set is not None else {}
    questions = _asked(workspace, current, now)
    return Asked(tuple(questions), questions_hash(questions))


def check(current: Run, k: int | None = None) -> None:
    """Raise UsageError for a run whose questions cannot be replayed, and for a `k` that is not within its depth."""
    if k is not None and not 1 <= k <= current.config.depth:
        raise UsageError(f"k must be from 1 to the depth of run '{current.name}', {current.config.depth}: {k} is not.")
    if unranked := measurements.unranked_words(current):
        raise UsageError(f"The questions of run '{current.name}' cannot be replayed. {unranked}")
    if current.status != "done":
        raise UsageError(f"Run '{current.name}' is not finished: resume it first.")


def changes_of(workspace: Workspace, current: Run, asked: Asked | None = None, named: Collection[str] = ()) -> Changes:
    """Return what can be tried with the questions of a run: retrievers, rerankers, indexes, chunkings, runs that exist.

    Nothing is searched; its questions are read unless `asked` holds them. Choices that a run was made with, of the same
    questions and an index in the same state, are that run's. `named` are rerankers to try, too.

    Raises:
        UsageError: the rankings of the run cannot be measured, or it is not finished; a reranker that was named does
            not exist, or cannot read the chunks of the index.

    """
    config = current.config
    asked = asked or asked_by(workspace, current)
    scene, others = _scene(workspace, current, asked)
    own, states = scene.own, scene.states
    rebuilt = own is not None and not _made_on(current, own, states)
    paid = bool(rerankers.model_of(config.reranker))
    changes: list[Change] = []
    untried: dict[str, str] = {}
    for name in offered(own.config) if own else ():
        if own and name != config.retriever:
            new = replace(config, retriever=name)
            changes.append(_change(workspace, scene, "retriever", name, new, own.config, own))
    for info in scene.indexes:
        if config.retriever in offered(info.config) and (info is not own or rebuilt):
            new = replace(config, index=info.id)
            changes.append(_change(workspace, scene, "index", info.name, new, info.config, info))
    if own is not None and not rebuilt:
        found, untried = _rerankers(workspace, scene, named)
        for name in found:
            depth = rerankers.default_depth(name)
            new = replace(config, reranker=name, rerank_depth=depth)
            changes.append(_change(workspace, scene, "reranker", name, new, own.config, own))
        cuts = [] if paid else planned(own.config)
        for kind, label, cut in cuts:
            if scene.index_of(cut) is None:
                changes.append(_change(workspace, scene, kind, label, config, cut, None))
    changes = [each for each in changes if each.runs or each.stored]
    counted = {id(run) for each in changes for run in each.runs}
    counted.update(id(run) for run in scene.same if _choices_of(run) == _choices_of(current))
    changes += _runs(scene, counted)
    return Changes(asked.questions, tuple(changes), rebuilt, own is None, others, scene, paid, untried)


def planned(config: IndexConfig) -> list[tuple[rescuing.ChangeKind, str, IndexConfig]]:
    """Return other ways to cut and to prefix what an index holds: half and twice the size, other chunkers, prefixes.

    An overlap keeps its share of the size. Kinds, names and configurations.

    >>> [name for kind, name, _ in planned(IndexConfig())]
    ['tokens 100', 'tokens 400', 'recursive 200', 'sentences 200', 'title', 'headings']
    """
    size, found = config.chunk_size, []
    sizes = [other for other in (size // 2, 2 * size) if SMALLEST <= other <= LARGEST]
    cuts = [replace(config, chunk_size=other, overlap=config.overlap * other // size) for other in sizes]
    cuts += [
        replace(config, chunker=name, chunker_options={}) for name in chunking.CHUNKERS if name != config.chunker
    ]  # fmt: skip
    for cut in cuts:
        kind: rescuing.ChangeKind = "chunking"
        found.append((kind, f"{cut.chunker} {cut.chunk_size}", cut))
    for name in prefixes.PREFIXES:
        if name != config.prefix:
            found.append(("prefix", name, replace(config, prefix=name)))
    return found


DIMENSIONS: Mapping[rescuing.ChangeKind, frozenset[str]] = {
    "retriever": frozenset({"retriever"}),
    "reranker": frozenset({"reranker"}),
    "chunking": frozenset({"chunking"}),
    "prefix": frozenset({"prefix"}),
    "index": frozenset({"chunking", "prefix"}),
}
"""What each kind of change chooses; changes go together where they choose nothing twice."""


def combined(workspace: Workspace, changes: Changes, parts: Sequence[Change]) -> Change:
    """Return several changes, of which none chooses what another does, as one."""
    scene = changes.scene
    assert scene.own is not None
    config, cut, info = scene.run.config, scene.own.config, scene.own
    for part in parts:
        if part.kind == "retriever":
            config = replace(config, retriever=part.config.retriever)
        elif part.kind == "reranker":
            config = replace(config, reranker=part.config.reranker, rerank_depth=part.config.rerank_depth)
        elif part.cut is not None:
            if part.kind == "prefix":
                cut = replace(cut, prefix=part.cut.prefix)
            elif part.kind == "chunking":
                names = ("chunker", "chunk_size", "overlap", "chunker_options")
                cut = replace(cut, **{name: getattr(part.cut, name) for name in names})
            else:
                cut = part.cut
                info = next(each for each in scene.indexes if each.id == part.config.index)
    found = info if cut == info.config else scene.index_of(cut)
    label = " + ".join(sorted(part.key for part in parts))
    new = config if found is None else replace(config, index=found.id)
    keys = tuple(part.key for part in parts)
    return replace(_change(workspace, scene, "both", label, new, cut, found), parts=keys)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What replaying changes takes: tokens embedded at most, seconds and dollars, None where they are not known."""

    changes: int
    tokens: int
    seconds: float | None
    dollars: float | None

    @property
    def words(self) -> str:
        """Say it.

        >>> Foreseen(3, 120_000, 95.0, 0.0).words
        'at most 120,000 tokens to embed, about 2 minutes'
        >>> Foreseen(1, 900, None, None).words
        'at most 900 tokens to embed, time not known, price not known'
        """
        minutes = None if self.seconds is None else max(1, round(self.seconds / 60))
        lasts = "time not known" if minutes is None else f"about {minutes:,} minute{'s' * (minutes != 1)}"
        paid = [] if self.dollars == 0 else ["price not known" if self.dollars is None else dollars(self.dollars)]
        return ", ".join([f"at most {self.tokens:,} tokens to embed", lasts, *paid])


def foresee(workspace: Workspace, changes: Changes, some: Sequence[Change]) -> Foreseen:
    """Return what replaying some changes takes at most; texts that were embedded before are not embedded again."""
    own, tokens = changes.scene.own, 0
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
            paid.append(_price(workspace, cut.embedder.removeprefix(REMOTE), round(new)))
        by_token = text if reranker is not None and reranker.embeds else 0.0
        tokens += round(new + by_token)
        speed = speed_of(workspace, cut.embedder)
        if reranker is not None and not reranker.embeds:
            seconds.append(None)
        elif new + by_token:
            seconds.append((new + by_token) / speed if speed else None)
    return Foreseen(len(some), tokens, _sum(seconds), _sum(paid))


def _sum(parts: Sequence[float | None]) -> float | None:
    """Return a sum, None where a part is not known."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _price(workspace: Workspace, model: str, tokens: int) -> float | None:
    try:
        return workspace.client(model).price(tokens, 0)
    except RagvizError:  # no endpoint: the replay itself will say so
        return None


def _scene(workspace: Workspace, current: Run, asked: Asked) -> tuple[Scene, int]:
    """Return what changes are made from, and how many runs of the corpus asked other questions."""
    store = workspace.store
    indexes = tuple(info for info in store.indexes.all(current.corpus_id) if info.build)
    documents = store.documents.all(current.corpus_id, replaced=True)
    states: dict[str, State] = {}
    for info in indexes:
        indexed = set(info.documents)
        hashed = corpus_hash(d for d in documents if d.id in indexed)
        states[info.id] = (hashed, info.config.hash(), info.embedder_identity)
    same, others = _same_questions(store.runs.all(current.corpus_id), current)
    own = next((info for info in indexes if info.id == current.config.index), None)
    now = corpus_hash(d for d in documents if d.status == "ok")
    return Scene(current, asked, own, indexes, states, tuple(same), now), others


def _change(
    workspace: Workspace,
    scene: Scene,
    kind: rescuing.ChangeKind,
    label: str,
    new: RunConfig,
    cut: IndexConfig,
    info: IndexInfo | None,
) -> Change:
    """Return a change; without runs and without `stored` where its reranker cannot read these chunks (now)."""
    state = scene.planned_state(cut) if info is None else scene.states[info.id]
    ranked = _ranked_by(new)
    reads = info or (None if scene.own is None else replace(scene.own, config=cut))
    reranking = None if reads is None else _reranking(workspace, reads, new, kind)
    made = [
        run
        for run in scene.same
        if _ranked_by(run.config) == ranked
        and (_state_of(run) == state if info is None else _made_on(run, info, scene.states))
    ]
    key = (_VERSION, *state, *ranked, str(new.depth), reranking or "", scene.asked.hash)
    stored = "" if reranking is None else digest(*key)
    effort: Effort = "search" if info is not None else "compute"
    if new.reranker != scene.run.config.reranker:
        effort = "paid" if rerankers.model_of(new.reranker) else "compute" if new.reranker != rerankers.NONE else effort
    name = "" if info is None else info.name
    return Change(f"{kind}={label}", kind, new, name, tuple(made), stored, cut, effort)


def _runs(scene: Scene, counted: set[int]) -> list[Change]:
    """Return the runs that no change tells of, each with those of the same choices."""
    rest: dict[tuple[str, ...], list[Run]] = {}
    for run in scene.same:
        if id(run) not in counted:
            rest.setdefault(_choices_of(run), []).append(run)
    changes = []
    for runs in rest.values():
        searched = next((each for each in scene.indexes if _made_on(runs[0], each, scene.states)), None)
        new = runs[0].config if searched is None else replace(runs[0].config, index=searched.id)
        name, cut = runs[0].provenance["index"], None if searched is None else searched.config
        changes.append(Change(f"run={runs[0].id}", "run", new, name, tuple(runs), cut=cut))
    return changes


def _rerankers(workspace: Workspace, scene: Scene, named: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """Return the rerankers to try, and those that cannot be tried with the reason.

    These are: without one, those that need no name and no model, those of other runs of these questions, those that
    were named before, and those that are `named`.
    """
    own = scene.own
    assert own is not None
    used = [run.config.reranker for run in scene.same]
    always = [name for name, spec in rerankers.RERANKERS.items() if spec.takes != "required" and not spec.asks]
    current = scene.run.config.reranker
    names = dict.fromkeys([current, rerankers.NONE, *always, *used, *Tried.of(workspace, scene.run).rerankers, *named])
    found, untried = list[str](), dict[str, str]()
    for name in names:
        try:
            rerankers.check_offered(own.config, name)
        except UsageError as error:
            if name in named:
                raise
            untried[name] = str(error)
            continue
        if name != current:
            found.append(name)
    return found, untried


def _asked(workspace: Workspace, current: Run, now: Mapping[str, Question]) -> list[Question]:
    """Return the questions of a run with evidence; those that are in its set `now`, by id, with the evidence there."""
    asked = [question for question in workspace.store.rankings.questions(current.id) if question.evidence]
    return [
        replace(question, evidence=new.evidence)
        if (new := now.get(question.id)) is not None and new.query == question.query and new.evidence
        else question
        for question in asked
    ]


def _same_questions(runs: Sequence[Run], current: Run) -> tuple[list[Run], int]:
    """Return the finished runs that asked exactly the questions of a run, and how many asked others."""
    ranked = [
        run for run in runs if run.status == "done" and run.id != current.id and not measurements.unranked_words(run)
    ]
    asked = current.provenance["identity"]["questions"]
    same = [run for run in ranked if run.provenance["identity"]["questions"] == asked]
    return same, len(ranked) - len(same)


def _state_of(run: Run) -> State:
    identity = run.provenance["identity"]
    return identity["corpus"], identity["index"], identity["embedder"]


def _made_on(run: Run, info: IndexInfo, states: Mapping[str, State]) -> bool:
    """Whether a run searched an index as it is now, or another of the same state."""
    unchanged = run.config.index == info.id and (info.built or 0.0) <= run.created
    return unchanged or _state_of(run) == states[info.id]


def _ranked_by(config: RunConfig) -> tuple[str, ...]:
    """Return what ranks the chunks of an index."""
    constant = str(config.rrf_constant) if config.retriever == "hybrid" else ""
    reranked = (config.reranker, str(config.rerank_depth)) if config.reranker != rerankers.NONE else ("", "")
    return (config.retriever, constant, *reranked)


def _choices_of(run: Run) -> tuple[str, ...]:
    """Return what the rankings of a run depend on beside its questions."""
    return (*_state_of(run), *_ranked_by(run.config), run.provenance["identity"].get("reranking", ""))


def _reranking(workspace: Workspace, info: IndexInfo, config: RunConfig, kind: rescuing.ChangeKind) -> str | None:
    """Return what the scores of the reranker depend on, None where it cannot read the chunks of this index (now).

    So is one that asks a model, unless it is itself the change: the others would pay for each of them.
    """
    if kind not in ("reranker", "both") and rerankers.model_of(config.reranker):
        return None
    try:
        return search.identity_of(workspace, info, config.reranker)
    except RagvizError:
        return None
