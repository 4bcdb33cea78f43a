"""What another system read and answered for one question, as its file, its endpoint or its function tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ragviz.core.errors import InputError
from ragviz.core.question import LONGEST_ID
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
    """The readable items of one system, a sentence on each that is not readable, and the program that wrote them.

    `system` is what the file calls the system, "" where it names none.
    """

    items: tuple[LoggedItem, ...]
    problems: tuple[str, ...]
    origin: str
    system: str = ""

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


def gathered(numbered: Iterable[tuple[str, Callable[[], LoggedItem]]], name: str, origin: str) -> Log:
    """Return a log of items, each by what it is called and a function that makes it or says by ValueError why not.

    Raises:
        InputError: none can be read.

    """
    items: dict[str, LoggedItem] = {}
    told: dict[str, str] = {}
    lacks: dict[str, list[str]] = {}
    for called, made in numbered:
        try:
            item = made()
            if len(item.id) > LONGEST_ID:
                raise ValueError(f"its id has {len(item.id):,} characters: at most {LONGEST_ID} can be kept")
            if items.setdefault(item.id, item) is not item:
                raise ValueError(f"there is one with the id '{item.id}' before it")
        except ValueError as error:
            told[called] = f"{called}: {error}."
            continue
        known = {"answer": item.answer or item.error, "reference": item.reference, "contexts": item.contexts}
        told[called], lacks[called] = "", [what for what, value in known.items() if not value]
    if not items:
        raise InputError(f"{name} holds no result that can be read. {' '.join([*told.values()][:3])}")
    some = next(iter(lacks.values()))
    common = [what for what in some if len(lacks) > 1 and all(what in lacking for lacking in lacks.values())]
    for called, lacking in lacks.items():
        if own := [what for what in lacking if what not in common]:
            told[called] = f"{called} has no {' and no '.join(own)}: what needs it is not known."
    problems = [f"Every item is without {' and '.join(common)}: what needs it is not known."] if common else []
    problems += filter(None, told.values())
    return Log(tuple(items.values()), tuple(problems), origin)
