"""What a kind of job is: what it does and works on, what is kept of it when it stops, where its choices are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragviz.core.job import Job
from ragviz.core.progress import Progress
from ragviz.store.named_records import plain_name
from ragviz.store.transactions import Kind as Noun
from ragviz.workspace import Workspace

Task = Callable[[Workspace, Mapping[str, Any], Progress], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job.

    `run` does it from its arguments, and continues after what was finished; `first` is what it does first, shown until
    it reports something itself. `works_on` are nouns with the dotted name of the argument that names one of them by
    name or id, which the job may create; beside them `always`, and the job's corpus. `makes` is the noun of what it
    makes, and the argument that names it: two jobs never make the same at once.

    `kept` says what is left of one that was stopped: a sentence, or by unit of progress what became of the units that
    are done. `pauses` holds where nothing is done twice when it is resumed. `cancelled` is called for one that is
    cancelled before it began, and `done` at its end; `made_before` returns the result of one that was killed between
    the end of its work and its own. `page` is where its choices are.
    """

    run: Task
    first: str
    page: str = ""
    works_on: tuple[tuple[Noun, str], ...] = ()
    always: tuple[tuple[Noun, str], ...] = ()
    makes: tuple[Literal["index", "run", "experiment"], str] | None = None
    kept: str | Mapping[str, str] = ""
    pauses: bool = False
    resumes_cancelled: bool = True
    cancelled: Callable[[Workspace, Job], None] | None = None
    done: Callable[[Workspace, Job], None] | None = None
    made_before: Callable[[Workspace, Job], dict[str, Any] | None] | None = None

    def subjects(self, job: Job) -> list[tuple[Noun, str]]:
        """Return what a job works on, by name or id."""
        named = [(noun, _argument(job.arguments, path)) for noun, path in self.works_on]
        return [(noun, name) for noun, name in (("corpus", job.corpus_id), *named, *self.always) if name]

    def made(self, noun: str, arguments: Mapping[str, Any]) -> str:
        """Return the name or id of the `noun` that a job with these arguments makes, "" when it makes none."""
        if self.makes is None or self.makes[0] != noun:
            return ""
        return plain_name(str(arguments.get(self.makes[1], "")))


def _argument(arguments: Mapping[str, Any], path: str) -> str:
    value: Any = arguments
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return str(value or "")
