"""Where questions moved between the causes of loss, from a baseline to another run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragviz.analysis.diagnose import CAUSES
from ragviz.text.counts import agreed, counted

Effect = Literal["rescued", "broken", "moved", "stayed"]
"""Lost before and no longer; lost only now; lost elsewhere; of the same cause in both."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The questions that have one cause in the baseline and one in the other run (keys of `CAUSES`), in their order."""

    source: str
    target: str
    question_ids: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many questions they are."""
        return len(self.question_ids)

    @property
    def key(self) -> str:
        """Its name in an address."""
        return f"{self.source}-{self.target}"

    @property
    def effect(self) -> Effect:
        """What became of its questions."""
        if self.source == self.target:
            return "stayed"
        return "rescued" if self.target == "fine" else "broken" if self.source == "fine" else "moved"


@dataclass(frozen=True, slots=True)
class Flow:
    """All streams with questions: those that moved first, the greatest first, then those that stayed.

    `unknown` counts questions that have a cause in one of the runs only, or in neither.
    """

    streams: tuple[Stream, ...]
    unknown: int = 0

    @property
    def total(self) -> int:
        """How many questions have a cause in both runs."""
        return sum(stream.count for stream in self.streams)

    def counted(self, effect: Effect) -> int:
        """Return how many questions have an effect."""
        return sum(stream.count for stream in self.streams if stream.effect == effect)

    def stream(self, key: str) -> Stream | None:
        """Return the stream with this key, None when no question took it."""
        return next((stream for stream in self.streams if stream.key == key), None)

    def at(self, cause: str, *, before: bool) -> int:
        """Return how many questions have a cause in the baseline (`before`), or in the other run."""
        return sum(s.count for s in self.streams if (s.source if before else s.target) == cause)

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that any question has, "fine" first, then in the order of the stages."""
        present = {cause for stream in self.streams for cause in (stream.source, stream.target)}
        return tuple(cause for cause in ("fine", *(c for c in CAUSES if c != "fine")) if cause in present)


def flow(before: Mapping[str, str], after: Mapping[str, str]) -> Flow:
    """Follow every question of both runs from its cause in the baseline to that in the other run, by question id.

    >>> of = flow({"a": "below_k", "b": "fine", "c": "below_k", "d": ""}, {"a": "fine", "b": "fine", "c": "fine"})
    >>> [(stream.key, stream.question_ids) for stream in of.streams], of.unknown
    ([('below_k-fine', ('a', 'c')), ('fine-fine', ('b',))], 1)
    """
    asked = dict.fromkeys([*before, *after])
    groups: dict[tuple[str, str], list[str]] = {}
    for question_id in asked:
        source, target = before.get(question_id, ""), after.get(question_id, "")
        if source and target:
            groups.setdefault((source, target), []).append(question_id)
    stages = {cause: place for place, cause in enumerate(CAUSES)}
    streams = [Stream(source, target, tuple(ids)) for (source, target), ids in groups.items()]
    streams.sort(key=lambda s: (s.effect == "stayed", -s.count, stages[s.source], stages[s.target]))
    return Flow(tuple(streams), len(asked) - sum(stream.count for stream in streams))


def words(of: Flow) -> str:
    """Say how many questions moved.

    >>> words(flow({"a": "below_k", "b": "fine", "c": "below_k"}, {"a": "fine", "b": "fine", "c": "below_k"}))
    'Of 3 questions, 1 is lost no longer; 2 stay.'
    """
    said: dict[Effect, str] = {"rescued": "lost no longer", "broken": "lost only now", "moved": "lost at another stage"}
    parts = [f"{n:,} {agreed(n, 'is')} {what}" for effect, what in said.items() if (n := of.counted(effect))]
    if not of.total:
        return "No question has a known cause in both runs: neither their rankings nor their answers are measured."
    stayed, questions = of.counted("stayed"), counted(of.total, "question")
    if not parts:
        return f"None of {questions} moved."
    return f"Of {questions}, {', '.join(parts)}; {stayed:,} {agreed(stayed, 'stays')}."
