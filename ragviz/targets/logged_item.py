"""What another system read and answered for one question, as its file, its endpoint or its function tells it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ragviz.core.errors import InputError
from ragviz.core.verdict import Matrix


@dataclass(frozen=True, slots=True)
class Passage:
    """A context that the system read: its `text`, with what is known of it; "" and None stand for what is not.

    `id` is the system's name for it, `document` that of the document it is from; a higher `score` is better.
    """

    text: str
    id: str = ""
    document: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class LoggedItem:
    """A question that another system answered: its contexts in the order in which they were read.

    `answer` is None where none is told; `error` says why a system that was to answer did not; `abstained` is whether it
    said that there is no answer, None where only its words tell. `reference_contexts` are texts that answer the
    question, `history` the earlier turns of its conversation, question and answer, the oldest first. The `matrix`,
    where there are verdicts, names its chunks by their place: "0", "1" … `scores` are those of the program that judged
    it, by its names. `seconds`, tokens and dollars are of the answer, None where they are not told.
    """

    id: str
    question: str
    reference: str
    answer: str | None
    contexts: tuple[Passage, ...] = ()
    matrix: Matrix | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    reference_contexts: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    seconds: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    error: str = ""
    abstained: bool | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """The readable items of one system, and the program that wrote them.

    `problems` is a sentence on each item that is incomplete or not readable, `lacks` what no item has ("answer",
    "reference", "contexts"). `system` is what the file calls the system, "" where it names none.
    """

    items: tuple[LoggedItem, ...]
    problems: tuple[str, ...]
    origin: str
    system: str = ""
    lacks: frozenset[str] = frozenset()

    @property
    def told(self) -> tuple[str, ...]:
        """A sentence on what all items lack, where they lack something, and the problems."""
        return (*((_lacking("Every item", self.lacks),) if self.lacks else ()), *self.problems)

    @property
    def counts(self) -> dict[str, int]:
        """How many items there are, and how many of them have what can be known, by what it is."""
        has: Mapping[str, Callable[[LoggedItem], object]] = {
            "answers": lambda each: each.answer,
            "errors": lambda each: each.error,
            "contexts": lambda each: each.contexts,
            "references": lambda each: each.reference,
            "contexts of references": lambda each: each.reference_contexts,
            "conversations": lambda each: each.history,
            "scores": lambda each: each.scores,
            "verdicts": lambda each: each.matrix,
            "latencies": lambda each: each.seconds is not None,
            "tokens": lambda each: each.prompt_tokens is not None or each.completion_tokens is not None,
            "costs": lambda each: each.cost is not None,
        }
        return {"items": len(self.items)} | {
            name: sum(bool(is_known(each)) for each in self.items) for name, is_known in has.items()
        }


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: its format and columns, those that have a role, and a log of each system.

    Columns of objects within objects are joined by dots: "metadata.k". A format that has no columns has no roles.
    """

    format: str
    columns: tuple[str, ...]
    roles: Mapping[str, str]
    logs: tuple[Log, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all its logs together; see `Log.counts`."""
        of_logs = [log.counts for log in self.logs]
        return {name: sum(each[name] for each in of_logs) for name in of_logs[0]}


def gathered(rows: Iterable[tuple[str, LoggedItem | str]], name: str, origin: str, system: str = "") -> Log:
    """Return a log of items with ids of their own, each by what it is called, or why there is none.

    Raises:
        InputError: none can be read.

    """
    rows = list(rows)
    items = [item for _, item in rows if isinstance(item, LoggedItem)]
    if not items:
        told = " ".join(f"{called}: {why}." for called, why in rows[:3])
        raise InputError(f"{name} holds no result that can be read. {told}")
    common = set.intersection(*(_lacks(item) for item in items)) if len(items) > 1 else set()
    problems = []
    for called, item in rows:
        if isinstance(item, str):
            problems.append(f"{called}: {item}.")
        elif own := _lacks(item) - common:
            problems.append(_lacking(called, own))
    return Log(tuple(items), tuple(problems), origin, system, frozenset(common))


def _lacks(item: LoggedItem) -> set[str]:
    known = {"answer": item.answer or item.error, "reference": item.reference, "contexts": item.contexts}
    return {what for what, value in known.items() if not value}


def _lacking(who: str, parts: Collection[str]) -> str:
    return f"{who} has no {' and no '.join(sorted(parts))}: what needs it is not known."
