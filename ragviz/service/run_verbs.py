"""What can be done to runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragviz.core.configuration import IndexInfo, RetrieverName, Run, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.fields import fields_of
from ragviz.core.job import NewJob
from ragviz.core.question_set import QuestionSet
from ragviz.retrieval import retrievers
from ragviz.runs import choices, imports, listening, recorded, running, searched_again
from ragviz.service.access import verb
from ragviz.targets import fitting, logged_file
from ragviz.targets.logged_item import Log
from ragviz.workspace import Workspace

INSTRUCTIONS = 500
"""Tokens of a judge's instructions, about."""


@verb("viewer", "configure a run")
def configured(
    workspace: Workspace, index: IndexInfo, question_set: QuestionSet, given: Mapping[str, Any]
) -> RunConfig:
    """Return the choices of a run of which `given` is said, with its models and metrics named, and checked.

    The retriever is by default the one that `proposed` names.

    Raises:
        UsageError: there is no such choice; one cannot be used with the others, or makes no difference to them; the
            side of the split has no question; no model is configured.

    """
    by_default = {"retriever": proposed(workspace, index)[0]}
    config = choices.run_config(index.config, by_default | {**given, "index": index.id, "questions": question_set.id})
    for name, value in given.items():
        field = fields_of(RunConfig)[name]
        if value != field.default and not field.counts(asdict(config)):
            raise UsageError(f"{field.label} makes no difference to this run: leave it out, or choose what uses it.")
    choices.check_run(config)
    if config.split:
        choices.check_split(question_set, config.split, question_set.sides.get(config.split, 0))
    resolved = choices.resolved(workspace, config)
    if {*config.metrics} - {"none"} and not resolved.metrics:
        raise UsageError("Metrics of answers make no difference to this run: choose an answerer, or leave them out.")
    return resolved


@verb("viewer", "configure a run")
def proposed(workspace: Workspace, index: IndexInfo) -> tuple[RetrieverName, str]:
    """Return the retriever that suits an index, and why it is not the usual one; raises nothing, asks no model."""
    return retrievers.proposed(index.config.embedder, workspace.store.documents.all(index.corpus_id))


@verb("editor", "make a run")
def make(workspace: Workspace, name: str, config: RunConfig, budget: float | None = None) -> NewJob:
    """Make a run with choices that are `configured`, or resume one that was interrupted, for at most `budget` dollars.

    Raises:
        UsageError: the run has no name; a budget over a model without a price.

    """
    if not name.strip():
        raise UsageError("Give the run a name: --name NAME.")
    choices.check_budget(workspace, config, budget)
    index = workspace.store.indexes.get(config.index)
    return NewJob("run", f"Run {name}", index.corpus_id, {"name": name, "config": asdict(config), "budget": budget})


@verb("editor", "import a run")
def import_run(
    workspace: Workspace,
    file: tuple[str, str],
    name: str,
    *,
    corpus: str = "",
    questions: str = "",
    file_format: str = logged_file.AUTO,
    roles: Mapping[str, str] | None = None,
    system: str = "",
    folder: str = "",
    upload: str = "",
) -> NewJob:
    """Import what other systems said from a file, by its name and path; `roles` as `logged_file.read` takes them.

    It goes to `corpus`, else to that of the question set, else to one of the run's name, which is made where it is not.
    An uploaded file is a copy in `folder`, which is deleted at the end; `upload` names what was pressed.

    Raises:
        UsageError: the run has no name.
        NotFoundError: there is no such question set.

    """
    if not name.strip():
        raise UsageError("Give the run a name: --name NAME.")
    question_set = workspace.store.sets.get(questions) if questions else None
    if question_set is not None and not corpus:
        corpus = next(each.name for each in workspace.store.corpora.all() if each.id == question_set.corpus_id)
    known = workspace.store.corpora.find(corpus or name)
    arguments: dict[str, Any] = {"files": [file], "name": name, "corpus": corpus or name, "questions": questions}
    arguments |= {"format": file_format, "roles": dict(roles or {}), "system": system}
    arguments |= {"folder": folder, "upload": upload} if folder else {}
    return NewJob("import-run", f"Import {name}", known.id if known else "", arguments)


@dataclass(frozen=True, slots=True)
class Judging:
    """What a judge would take for a log, at most: calls, tokens estimated from its texts, dollars where priced."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


@verb("viewer", "estimate a run")
def foresee_log(workspace: Workspace, logs: Sequence[Log]) -> Judging:
    """Estimate what judging by all metrics takes at most, before anything is stored: what is judged already costs less.

    Of an item: the answer's claims, claims and passages, answer against reference, and the bank's questions; of a
    reference that is new: its claims, and its bank in two calls.
    """
    calls = read = written = 0
    references = set[str]()
    for item in (each for log in logs for each in log.items):
        answer, reference = fitting.estimate(item.answer or ""), fitting.estimate(item.reference)
        contexts, both = sum(fitting.estimate(each.text) for each in item.contexts), answer + reference
        new = reference if item.reference not in references else 0
        references.add(item.reference)
        parts = [answer, contexts and both and contexts + both, *[answer and reference and both] * 2, *[new] * 3]
        calls += sum(map(bool, parts))
        read += sum(size + INSTRUCTIONS for size in parts if size)
        written += 2 * both + len(item.contexts) * both // 4
    settings = workspace.settings
    model = (settings.judge or settings.model) if settings.model_configured else ""
    return Judging(calls, read, written, workspace.client(model).price(read, written) if model else None)


@verb("editor", "judge a run")
def judge_again(workspace: Workspace, run: Run, budget: float | None = None) -> NewJob:
    """Answer and judge again what failed in a run, and nothing else.

    Raises:
        UsageError: a budget over a model without a price.

    """
    choices.check_budget(workspace, run.config, budget)
    return NewJob("rejudge", f"Judge {run.name} again", run.corpus_id, {"run": run.name, "budget": budget})


@verb("editor", "judge a run")
def judge(
    workspace: Workspace, run: Run, metrics: Sequence[str], model: str = "", budget: float | None = None
) -> NewJob:
    """Judge what another program read and answered, by `metrics` that its run has not. Raises as `judging_plan`."""
    running.judging_plan(workspace, run, metrics, model)
    arguments = {"run": run.name, "metrics": list(metrics), "judge": model, "budget": budget}
    return NewJob("rejudge", f"Judge {run.name}", run.corpus_id, arguments)


@verb("editor", "make a run")
def rank_again(workspace: Workspace, earlier: Run, name: str) -> NewJob:
    """Update the index of a run, and rank its questions again as the run `name`."""
    return NewJob("again", f"Run {earlier.name} again", earlier.corpus_id, {"run": earlier.id, "name": name})


@verb("editor", "search for a run")
def search_again(workspace: Workspace, run: Run) -> NewJob:
    """Search for both rankings that a hybrid run fuses. Raises as `searched_again.check`."""
    searched_again.check(workspace, run)
    return NewJob("search", f"Search again for {run.name}", run.corpus_id, {"run": run.id})


@verb("editor", "replay a run")
def replay(workspace: Workspace, run: Run, *, build: bool = False) -> NewJob:
    """Try what would rescue the lost questions of a run; with `build` also what is computed first."""
    return NewJob("replay", f"Replay {run.name}", run.corpus_id, {"run": run.id, "build": build})


@verb("editor", "rename a run")
def rename(workspace: Workspace, run: Run, name: str) -> None:
    """Give a run another name; UsageError when it cannot be used, or is taken."""
    workspace.store.runs.rename(run.id, name)


@verb("editor", "note something on a run")
def label(workspace: Workspace, run: Run, *, note: str | None = None, tags: Sequence[str] | None = None) -> None:
    """Replace the note or the tags of a run; None leaves them. Raises as `StoredRuns.label`."""
    workspace.store.runs.label(run.id, note=note, tags=tags)


@verb("editor", "delete a run")
def delete(workspace: Workspace, run: Run) -> None:
    """Delete a run with its results."""
    workspace.store.runs.delete(run.id)


import_reading = verb("editor", "import a run")(imports.import_reading)
listen = verb("editor", "record a run")(listening.listen)
record = verb("editor", "record a run")(recorded.record)
