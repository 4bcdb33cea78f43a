"""Chunks → questions with answers and evidence, by one of the generators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from itertools import islice

from ragviz.errors import ModelError, UsageError
from ragviz.models.chat import ModelClient
from ragviz.questions import by_model, drafts, from_sentences, rejection
from ragviz.questions.by_model import FAILED
from ragviz.questions.chosen_chunks import Group
from ragviz.questions.drafts import Ask
from ragviz.records import Chunk, Question

FAILURES = 10
"""So many in a row and the endpoint is not asked on, where no `ask` decides that."""
USEFUL_SHARE, DOUBT = 0.05, 0.01
"""A model is not asked on when one that keeps a question of every twentieth chunk would do so badly once in a hundred
times: after 90 chunks without a question, 130 with one, 398 with ten. Looked at after every chunk, this stops a model
that keeps one in twenty in 8 % of long generations, and one that keeps one in ten in none of 1,500 simulated ones."""

USABLE: dict[str, Callable[[Chunk], bool]] = {"extractive": from_sentences.askable, "model": lambda _: True}
"""Which chunks a generator can do something with: for `related`, before a question over several is tried."""
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
    seen: Iterable[str] = (),
) -> Generator[Question]:
    """One question for each group of chunks, in order, as they are made; with several chunks it needs all of them.

    It ends with the groups, or when `limit` questions were not rejected; no more are ever asked of a model than are
    still wanted. `done` are ids of questions (`question_id`) that are there already: their groups are passed over, so
    that a stopped generation goes on. `seen` are the texts of the questions there are, which are not asked again.
    `client` is needed by the generator "model"; it is asked by `ask`, where there is one.

    Raises:
        UsageError: no such generator, or "model" without a client.
        ModelError: the model endpoint is down, too busy or refuses the key, or fails again and again; or hardly any of
            its questions can stand (`hopeless`).
        BudgetReached: `ask` raised it.

    """
    if generator not in GENERATORS:
        raise UsageError(f"There is no generator '{generator}'; there are {', '.join(GENERATORS)}.")
    maker = client.model if generator == "model" and client else generator
    waiting = waiting_groups(groups, maker, seed, done)
    known = {rejection.normal(text) for text in seen}
    wanted, failures = limit, 0
    kept, reasons = 0, Counter[str]()
    while wanted is None or wanted > 0:
        asked = 0
        for question in GENERATORS[generator](islice(waiting, wanted), known, client, seed, ask):
            yield question
            asked += 1
            if wanted is not None and question.status != "rejected":
                wanted -= 1
            failures = failures + 1 if question.reason.startswith(FAILED) else 0
            if failures == FAILURES and ask is None:
                raise ModelError(f"{FAILURES} questions in a row failed, the last because the {question.reason}")
            if question.status == "rejected":
                reasons[question.reason] += 1
            else:
                kept += 1
            if client is not None and hopeless(kept + reasons.total(), kept):
                raise ModelError(_why_hopeless(client.model, kept, reasons))
        if not asked or wanted is None:
            return


def waiting_groups(
    groups: Iterable[Group], maker: str, seed: int = 0, done: Container[str] = frozenset()
) -> Iterator[Group]:
    """Those of `groups` of which `maker` has made no question yet; `done` are ids of questions there are."""
    return (group for group in groups if drafts.question_id((chunk.id for chunk in group), maker, seed) not in done)


def hopeless(asked: int, kept: int) -> bool:
    """Whether `kept` questions of `asked` chunks are too few to go on (see `USEFUL_SHARE`).

    >>> hopeless(89, 0), hopeless(90, 0), hopeless(90, 1), hopeless(0, 0)
    (False, True, False, False)
    """
    from scipy.special import bdtr

    return asked > 0 and bool(bdtr(kept, asked, USEFUL_SHARE) <= DOUBT)


def _why_hopeless(model: str, kept: int, reasons: Counter[str]) -> str:
    [(reason, times)] = reasons.most_common(1)
    share = f"{times} of {reasons.total()}" if times < reasons.total() else f"all {times}"
    return (
        f"{kept + reasons.total()} chunks asked, {kept or 'none'} kept: the questions of '{model}' fail because "
        f"{reason} ({share}). Look at the rejected ones, and choose another model or other chunks."
    )
