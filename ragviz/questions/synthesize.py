"""Generators of questions: groups of chunks → questions with answers and evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from ragviz.errors import ModelError, UsageError
from ragviz.models.chat import ModelClient
from ragviz.questions import by_model, drafts, from_sentences, rejection
from ragviz.questions.by_model import FAILED
from ragviz.questions.chosen_chunks import Group
from ragviz.questions.drafts import Ask
from ragviz.records import Chunk, Question

FAILURES = 10
"""Failed calls in a row after which a generation stops, where no `ask` decides that."""
USEFUL_SHARE, DOUBT = 0.05, 0.01
"""A generation stops when a model with a usable question of every twentieth chunk would do so badly once in a hundred
times: after 90 chunks without a question, 130 with one, 398 with ten. Checked after every chunk, this stops a model
with one in twenty in 8 % of long generations, and one with one in ten in none of 1,500 simulated ones."""

USABLE: dict[str, Callable[[Chunk], bool]] = {"extractive": from_sentences.askable, "model": lambda _: True}
"""Whether a generator can make a question of a chunk: `related` groups only those."""
Make = Callable[[Iterable[Group], set[str], ModelClient | None, int, Ask | None], Iterator[Question]]

GENERATORS: dict[str, Make] = {"extractive": from_sentences.extractive, "model": by_model.by_model}


def generate(
    groups: Iterable[Group],
    generator: str,
    *,
    client: ModelClient | None = None,
    ask: Ask | None = None,
    seed: int = 0,
    limit: int | None = None,
    done: Container[str] = frozenset(),
    existing: Iterable[str] = (),
) -> Generator[Question]:
    """Yield one question for each group of chunks, in order, as they are made; each needs all chunks of its group.

    It ends with the groups, or when `limit` questions were not rejected; a model is never asked for more than are
    missing. `done` are ids (`question_id`) of existing questions: their groups are skipped, so that a stopped
    generation continues. `existing` are the texts of existing questions, which are not repeated. The generator "model"
    needs `client`, called by `ask` where there is one.

    Raises:
        UsageError: no such generator, or "model" without a client.
        ModelError: the model endpoint is down, too busy or refuses the key, or fails repeatedly; or hardly any of its
            questions are usable (`hopeless`).
        BudgetReached: `ask` raised it.

    """
    if generator not in GENERATORS:
        raise UsageError(f"There is no generator '{generator}'; there are {', '.join(GENERATORS)}.")
    maker = client.model if generator == "model" and client else generator
    waiting = waiting_groups(groups, maker, seed, done)
    known = {rejection.normal(text) for text in existing}
    tally = _Tally()
    while limit is None or tally.kept < limit:
        before, missing = tally.total, None if limit is None else limit - tally.kept
        for question in GENERATORS[generator](islice(waiting, missing), known, client, seed, ask):
            yield question
            tally.count(question)
            if tally.failures == FAILURES and ask is None:
                raise ModelError(f"{FAILURES} questions in a row failed, the last because the {question.reason}")
            if client is not None and hopeless(tally.total, tally.kept):
                raise ModelError(_why_hopeless(client.model, tally.kept, tally.reasons))
        if tally.total == before or limit is None:
            return


@dataclass(slots=True)
class _Tally:
    """Questions of a generation so far: `kept` ones, reasons of rejected ones, and failed calls in a row."""

    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    failures: int = 0

    @property
    def total(self) -> int:
        return self.kept + self.reasons.total()

    def count(self, question: Question) -> None:
        self.failures = self.failures + 1 if question.reason.startswith(FAILED) else 0
        if question.status == "rejected":
            self.reasons[question.reason] += 1
        else:
            self.kept += 1


def waiting_groups(
    groups: Iterable[Group], maker: str, seed: int = 0, done: Container[str] = frozenset()
) -> Iterator[Group]:
    """Return the groups of which `maker` has made no question yet; `done` are ids of existing questions."""
    return (group for group in groups if drafts.question_id((chunk.id for chunk in group), maker, seed) not in done)


def hopeless(chunks: int, kept: int) -> bool:
    """Return whether `kept` questions of so many chunks are too few to continue (see `USEFUL_SHARE`).

    >>> hopeless(89, 0), hopeless(90, 0), hopeless(90, 1), hopeless(0, 0)
    (False, True, False, False)
    """
    from scipy.special import bdtr

    return chunks > 0 and bool(bdtr(kept, chunks, USEFUL_SHARE) <= DOUBT)


def _why_hopeless(model: str, kept: int, reasons: Counter[str]) -> str:
    [(reason, times)] = reasons.most_common(1)
    share = f"{times} of {reasons.total()}" if times < reasons.total() else f"all {times}"
    return (
        f"{kept + reasons.total()} chunks asked, {kept or 'none'} kept: the questions of '{model}' fail because "
        f"{reason} ({share}). Look at the rejected ones, and choose another model or other chunks."
    )
