"""What documents that were added did to the questions about the earlier ones: what is lost to their competition.

A run is made again on the updated index, and ranked a third time with the chunks of the new documents left out. What
was lost and is found then was lost to competition; what stays lost has other reasons: documents replaced or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ragviz.core.configuration import Run
from ragviz.core.document import Chunk
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.core.stopping import Progress, silent
from ragviz.index import indexing
from ragviz.metrics import rank_metrics
from ragviz.questions.interchange import documents_of
from ragviz.runs import measurements, running, searched_again
from ragviz.workspace import Workspace

Floats = NDArray[np.float64]
INDEXED = "indexed:"
"""Beginning of the set's fact that holds the names of the documents of a run's index, before the run's id."""


@dataclass(frozen=True, slots=True)
class Row:
    """Questions about a document, or all: means of recall at k before, after, and after without the new chunks.

    `lost` counts questions that find less than before, `to_competition` those of them that find as much as before
    without the new chunks.
    """

    document: str
    n: int
    before: float
    after: float
    without: float
    lost: int
    to_competition: int


@dataclass(frozen=True, slots=True)
class Lost:
    """A question that finds less than before: ranks by which all its evidence came (0: not to the depth)."""

    question_id: str
    text: str
    rank_before: int
    rank_after: int
    to_competition: bool


@dataclass(frozen=True, slots=True)
class Competition:
    """Two runs of the same questions at `k`, before and after documents were added; `rows` are by earlier document.

    `added` are the names of the new documents, `chunks` counts theirs, which are left out of the stored rankings.
    """

    earlier: str
    later: str
    k: int
    added: tuple[str, ...]
    chunks: int
    total: Row
    rows: tuple[Row, ...]
    lost: tuple[Lost, ...]


def run_again(workspace: Workspace, earlier: Run, name: str, progress: Progress = silent) -> Run:
    """Bring the index of a run up to date, and rank its questions on it again, as run `name`; nothing is answered.

    Interrupted, it resumes.

    Raises:
        UsageError: the run was imported, its index is gone, or the name is another run's.

    """
    store = workspace.store
    if measurements.unranked_words(earlier):
        raise UsageError(f"Run '{earlier.name}' was ranked by another program: it cannot be made again.")
    info = next((each for each in store.indexes.all(earlier.corpus_id) if each.id == earlier.config.index), None)
    if info is None:
        raise UsageError(f"The index of run '{earlier.name}' was deleted: make a run on another one.")
    fact, set_id, indexed = f"{INDEXED}{earlier.id}", earlier.config.questions, {*info.documents}
    if store.sets.fact(set_id, fact) is None and searched_again.index_of(workspace, earlier) is not None:
        documents = store.documents.all(info.corpus_id, replaced=True)
        store.sets.put_fact(set_id, fact, [each.name for each in documents if each.id in indexed], counted=False)
    indexing.build_index(workspace, store.corpora.get(earlier.corpus_id), info.name, info.config, progress=progress)
    config = replace(earlier.config, answerer="none", model="", judge="", metrics=(), instructions="")
    return running.run(workspace, name, config, progress=progress)


def competition(workspace: Workspace, earlier: Run, later: Run, k: int | None = None) -> Competition:
    """Compare a run with a later one of the same questions on an index with more documents.

    New documents are those of the later index of whose name the earlier one held none; where that is not known, those
    added since the earlier run under a name that none had then.

    Raises:
        UsageError: the runs share no question with evidence, `k` is past their depth, or the later index was built
            anew since.

    """
    store, k = workspace.store, earlier.config.k if k is None else k
    depth = min(earlier.config.depth, later.config.depth)
    if not 1 <= k <= depth:
        raise UsageError(f"k is {k}, and the runs rank {depth} chunks: give a k from 1 to {depth}.")
    info = searched_again.index_of(workspace, later)
    if info is None:
        raise UsageError(f"The index of run '{later.name}' was built anew or deleted since: make that run again.")
    before, after = ({r.question_id: r for r in store.rankings.all(run.id) if r.gold} for run in (earlier, later))
    questions = [each for each in store.rankings.questions(later.id) if each.id in before and each.id in after]
    if not questions:
        raise UsageError(f"Runs '{earlier.name}' and '{later.name}' share no question with evidence.")
    documents = store.documents.all(info.corpus_id, replaced=True)
    known = store.sets.fact(earlier.config.questions, f"{INDEXED}{earlier.id}")
    known = {each.name for each in documents if each.added <= earlier.created} if known is None else {*known}
    held = {*info.documents}
    new = {each.id: each.name for each in documents if each.id in held and each.name not in known}
    old_results, new_results = ([each[q.id] for q in questions] for each in (before, after))
    kept = [tuple(i for i in each.ranking.ids if _document(i) not in new) for each in new_results]
    without = [
        replace(each, ranking=Ranking(ids, (0.0,) * len(ids))) for each, ids in zip(new_results, kept, strict=True)
    ]
    tables = [
        rank_metrics.measure(rank_metrics.read(results, depth)) for results in (old_results, new_results, without)
    ]
    recall = rank_metrics.RANKING["recall"].function
    measured = [np.asarray(recall(each)[:, k - 1], dtype=np.float64) for each in tables]
    was, now, alone = measured
    ranks = [rank_metrics.ranks(each).tolist() for each in tables]
    names = store.documents.names(later.corpus_id)
    about = [documents_of(question, names) for question in questions]
    rows = [
        _row(name, measured, [place for place, of in enumerate(about) if name in of])
        for name in dict.fromkeys(name for of in about for name in of)
    ]
    lost = [
        Lost(question.id, question.text, ranks[0][place], ranks[1][place], bool(alone[place] >= was[place]))
        for place, question in enumerate(questions)
        if now[place] < was[place]
    ]
    return Competition(
        earlier.name,
        later.name,
        k,
        tuple(sorted(new.values())),
        sum(map(len, store.indexes.cuts(info.build, sorted(new)).values())),
        _row("", measured, range(len(questions))),
        tuple(sorted(rows, key=lambda row: (-row.lost, row.document))),
        tuple(sorted(lost, key=lambda each: not each.to_competition)),
    )


def _document(chunk_id: str) -> str:
    parts = Chunk.parse_id(chunk_id)
    return parts[0] if parts else ""


def _row(name: str, measured: Sequence[Floats], places: Sequence[int]) -> Row:
    before, after, without = (values[list(places)] for values in measured)
    lost = after < before
    means = float(before.mean()), float(after.mean()), float(without.mean())
    return Row(name, len(places), *means, int(lost.sum()), int((lost & (without >= before)).sum()))
