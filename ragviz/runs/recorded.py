"""Runs recorded of a running system: each question of a set is asked once, and stored as its answer comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any, Protocol

from ragviz.core.configuration import Run, RunConfig
from ragviz.core.digests import digest
from ragviz.core.errors import ServiceError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.judging.work import Scheduler
from ragviz.metrics import text as text_metrics
from ragviz.runs import choices, contexts, running
from ragviz.runs.imports import Recorder
from ragviz.store.schema import questions_hash
from ragviz.targets import callables
from ragviz.targets.callables import Called
from ragviz.targets.endpoint import Asker
from ragviz.targets.logged_item import LoggedItem
from ragviz.text.normal_form import normal_form
from ragviz.workspace import Workspace

HOPELESS = 20
"""Questions in a row that may fail before no more are asked."""
TOGETHER = 0.25
"""Seconds to wait for the next answer before progress is reported."""
CHOICES = ("split", "limit", "seed", "metrics", "judge")
"""Choices of a run that one of a running system has too."""


class System(Protocol):
    """What can be asked, in `concurrency` threads at most: `identity` are its choices, by name, as JSON can hold."""

    label: str
    identity: Mapping[str, Any]
    concurrency: int

    def open(self) -> None:
        """Load what asking needs."""

    def ask(self, question: Question) -> LoggedItem:
        """Return what it says; the `error` of the item why it says nothing."""


def system_of(workspace: Workspace, target: str) -> System:
    """Return a stored target by name or id; in a person's own process also a function by `module:name`.

    Raises:
        UsageError: it cannot be asked, or imported; NotFoundError: no target is called so.

    """
    stored = workspace.store.targets.find(target)
    if stored is None and ":" in target and workspace.calls_functions:
        return Called(callables.loaded(target), target)
    return Asker(stored or workspace.store.targets.get(target), workspace.settings.ca_file)


def record(
    workspace: Workspace,
    question_set: QuestionSet,
    name: str,
    system: System,
    config: RunConfig | None = None,
    *,
    repeats: int = 1,
    budget: float | None = None,
    progress: Progress = silent,
) -> Run:
    """Ask a system the questions of a set that are not rejected, and store what it says as the run `name`.

    Of `config` count side, limit and seed, and what its answers are judged by. Given again, it asks what is missing or
    failed, nothing else. `repeats` of more than 1 ask all again, as runs with the same tag, and note how far they
    agree. `budget` is in dollars, for judging each run.

    Raises:
        UsageError: the name is taken by another run, or there is no question to ask.
        ServiceError: `HOPELESS` questions in a row failed: what was answered is kept.

    """
    config = replace(config or RunConfig("", ""), questions=question_set.id)
    names = [name, *(f"{name}, repeat {number}" for number in range(2, repeats + 1))]
    runs = [_recorded(workspace, question_set, each, system, config, progress) for each in names]
    if repeats > 1:
        tag = f"repeats of {name}".replace(",", " ")[:50]
        for run in runs:
            workspace.store.runs.label(run.id, tags=[*run.tags, tag])
        workspace.store.runs.note(runs[0].id, agreement=agreement(workspace, runs))
    for run in runs if config.metrics else ():
        running.judge(workspace, run, config.metrics, config.judge, budget=budget, progress=progress)
    return workspace.store.runs.get(runs[0].id)


def _recorded(
    workspace: Workspace, question_set: QuestionSet, name: str, system: System, config: RunConfig, progress: Progress
) -> Run:
    store, questions = workspace.store, choices.asked(workspace, question_set, config, lambda question: True)
    system.open()
    parts = (str(dict(system.identity)), questions_hash(questions), config.split, str(config.limit), str(config.seed))
    recorder = Recorder(
        workspace,
        store.corpora.get(question_set.corpus_id),
        name,
        digest("system", name, *parts),
        origin=system.label,
        target="system",
        question_set=question_set,
        asked=questions,
        again=True,
        progress=progress,
    )
    recorder.done -= unanswered(workspace, recorder.run).keys()
    chosen = replace(recorder.run.config, split=config.split, limit=config.limit, seed=config.seed)
    recorder.run = store.runs.configure(recorder.run.id, chosen, recorder.run.fingerprint)
    store.runs.note(recorder.run.id, asked={"target": system.label, "choices": dict(system.identity)})
    try:
        _ask(system, questions, recorder, progress)
    except BaseException:
        if len(unanswered(workspace, recorder.run)) == len(store.judgements.failed(recorder.run.id)):
            recorder.delete()  # it did not begin
        raise
    return recorder.finish(progress)


def _ask(system: System, questions: Sequence[Question], recorder: Recorder, progress: Progress) -> None:
    """Ask what is not recorded yet, and store each answer as it comes; all that came are stored when it raises."""
    wanted = [question for question in questions if question.id not in recorder.done]
    came: dict[int, LoggedItem] = {}
    failed = in_a_row = 0

    def report() -> None:
        done = len(questions) - len(wanted) + stored
        progress(done, len(questions), "questions", f"Asking {system.label}" + (f", {failed} failed" if failed else ""))

    def do(place: int, _step: str) -> None:
        came[place] = system.ask(wanted[place])

    stored = 0
    report()
    try:
        workers = min(system.concurrency, len(wanted))
        with Scheduler(len(wanted), {"ask": ()}, do, workers=workers) as scheduler:
            for place in scheduler.finished(TOGETHER):
                if place is not None:
                    item = came.pop(place)
                    recorder.put([item])
                    stored += 1
                    failed, in_a_row = failed + bool(item.error), in_a_row + 1 if item.error else 0
                    if in_a_row >= HOPELESS:
                        raise ServiceError(
                            f"{in_a_row} questions in a row failed, the last so: {item.error} What was answered is "
                            "kept: put that right, and give the command again, which asks the others."
                        )
                report()
    finally:
        with suppress(KeyError):
            while came:
                recorder.put([came.popitem()[1]])


def unanswered(workspace: Workspace, run: Run) -> dict[str, str]:
    """Return why questions of a run have no answer, by id: asking them failed."""
    evaluated = workspace.store.judgements.all(run.id)
    return {i: each.recording.reason for i, each in evaluated.items() if each.recording.status == "failed"}


def agreement(workspace: Workspace, runs: Sequence[Run]) -> dict[str, Any]:
    """Return how far runs of the same questions agree, over the `n` questions that all of them answered.

    `differ` is the share whose answers are not all the same in normal form, `token_f1` the mean over all pairs of a
    question's answers, `jaccard` that of the sets of their contexts' texts; None without a question, or contexts.
    """
    store = workspace.store
    read = [
        {item.question.id: item for item in contexts.to_judge(workspace, run, [*store.judgements.all(run.id).values()])}
        for run in runs
    ]
    ids = [
        i for i in read[0] if all(i in each and each[i].recording.status in ("answered", "refused") for each in read)
    ]
    sets = [[{normal_form(c.text) for c in each[i].recording.contexts} for each in read] for i in ids]
    said = [[each[i].recording.answer for each in read] for i in ids]
    differ = [len({normal_form(" ".join(answer.split())) for answer in answers}) > 1 for answers in said]
    f1 = [
        text_metrics.token_f1(*pair, read[0][i].question.language)
        for i, answers in zip(ids, said, strict=True)
        for pair in combinations(answers, 2)
    ]
    shared = [len(a & b) / len(a | b) for each in sets for a, b in combinations(each, 2) if a | b]
    return {
        "runs": len(runs),
        "n": len(ids),
        "differ": sum(differ) / len(ids) if ids else None,
        "token_f1": sum(f1) / len(f1) if f1 else None,
        "jaccard": sum(shared) / len(shared) if shared else None,
    }
