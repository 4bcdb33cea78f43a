"""All checks of a question set, made once for a state of its questions, documents, index and runs, and kept with it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.question_set import QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.health import contents, material
from ragviz.health.contents import Contents
from ragviz.health.finding import Found
from ragviz.health.set_checks import CHECKS
from ragviz.store.schema import decoded
from ragviz.workspace import Workspace

FACT = "health"
"""Name of the set fact that keeps the newest examination."""
VERSION = 16
"""Version of the checks: raise it when one of them finds other questions of the same set."""
QUICK = (500, 3_000)
"""Questions and chunks up to which all checks take a few seconds."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What all checks found of a set, by key of the check, and what the set asks of what its documents hold.

    `index` names the index whose chunks were read, "" without one; `version` is that of the set; `state` tells what all
    of it rests on.
    """

    state: str
    created: float
    version: int
    index: str
    found: Mapping[str, Found]
    contents: Contents


def index_of(workspace: Workspace, question_set: QuestionSet, name: str | None = None) -> IndexInfo | None:
    """Return the index that a set is examined on: the one named, else the newest run's, else the newest built.

    None where its corpus has none.
    """
    if name:
        return workspace.store.indexes.get(name)
    built = {info.id: info for info in workspace.store.indexes.all(question_set.corpus_id) if info.build}
    used = [run.config.index for run in material.runs_of(workspace, question_set) if run.config.index in built]
    if used:
        return built[used[0]]
    return max(built.values(), key=lambda info: info.built or 0.0, default=None)


def state_of(workspace: Workspace, question_set: QuestionSet, index: IndexInfo | None, runs: Sequence[Run]) -> str:
    """Return what an examination rests on: questions, documents, build of the index and runs, as one text."""
    owners = [question_set.corpus_id, *(run.id for run in runs)]
    revisions = zip(owners, workspace.store.revisions(*owners), strict=True)
    parts = [f"{owner}:{number}" for owner, number in revisions]
    return " ".join([str(VERSION), str(question_set.version), index.build if index else "", *parts])


def examine(
    workspace: Workspace, question_set: QuestionSet, index: IndexInfo | None = None, progress: Progress = silent
) -> Examination:
    """Make every check, and keep the result with the set; `index` None takes that of `index_of`."""
    index = index or index_of(workspace, question_set)
    runs = material.runs_of(workspace, question_set)
    state = state_of(workspace, question_set, index, runs)
    read = material.read_material(workspace, question_set, index, progress)
    found = {}
    for number, (key, check) in enumerate(CHECKS.items()):
        progress(number, len(CHECKS), "checks", check.title)
        found[key] = check.find(read)
    held = contents.contents_of(workspace, question_set, read, index, runs)
    made = Examination(state, time.time(), question_set.version, read.index, found, held)
    workspace.store.sets.put_fact(question_set.id, FACT, {"format": VERSION} | asdict(made), counted=False)
    return made


def kept(workspace: Workspace, question_set: QuestionSet) -> Examination | None:
    """Return the examination that is kept with a set, None without one of this version."""
    body = workspace.store.sets.fact(question_set.id, FACT)
    if not isinstance(body, dict) or body.pop("format", None) != VERSION:
        return None
    found: Examination = decoded(Examination, body)
    return found


def is_current(workspace: Workspace, question_set: QuestionSet, index: IndexInfo | None, made: Examination) -> bool:
    """Return whether an examination is of the present questions, documents, index and runs."""
    return made.state == state_of(workspace, question_set, index, material.runs_of(workspace, question_set))


def is_quick(question_set: QuestionSet, index: IndexInfo | None) -> bool:
    """Return whether examining takes no longer than a person waits for a page."""
    return question_set.asked <= QUICK[0] and (index is None or index.chunks <= QUICK[1])
