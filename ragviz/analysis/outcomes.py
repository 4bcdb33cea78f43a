"""Whether the evidence of a question was found: the outcomes of a ranking, their one rule, and their words.

A question may need several passages. It is *found* at the rank by which a chunk of every one of them has come
(`rank_metrics.ranks`): found at k, when that rank is among the first k; ranked below k, when it is deeper; not in
the top N, when some passage has no chunk in the ranking down to its depth N. Histogram, tiles, waterfall, tables,
filters, exports and the command line all count by this rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ragviz.text.counts import agreed, counted

Outcome = Literal["found", "below k", "missed", "reference only", "unanswerable", "not ranked"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
RANKED: tuple[Outcome, ...] = OUTCOMES[:3]
"""Outcomes of questions with evidence, in the order of the ranks."""
UNRANKED: Mapping[str, Outcome] = {"reference": "reference only", "unanswerable": "unanswerable"}
"""Kind of a question without evidence → its outcome."""


def outcome_of(rank: int | None, k: int, kind: str = "") -> Outcome:
    """Return the outcome of a question from the rank of its evidence, 0 for none, None when it was not ranked.

    The `kind` of the question says why it was not, "" where that is not known.

    >>> [outcome_of(rank, 3) for rank in (0, 3, 4)], outcome_of(None, 3, "reference"), outcome_of(None, 3)
    (['missed', 'found', 'below k'], 'reference only', 'not ranked')
    """
    if rank is None:
        return UNRANKED.get(kind, "not ranked")
    return "missed" if not rank else "found" if rank <= k else "below k"


def title(outcome: str, k: int, depth: int) -> str:
    """Return an outcome as people read it.

    >>> [title(outcome, 3, 50) for outcome in OUTCOMES]
    ['Found at 3', 'Ranked below 3', 'Not in top 50', 'Reference only', 'Unanswerable', 'Not ranked']
    """
    ranked = {"found": f"Found at {k}", "below k": f"Ranked below {k}", "missed": f"Not in top {depth:,}"}
    return ranked.get(outcome, outcome.capitalize())


@dataclass(frozen=True, slots=True)
class Counts:
    """How many ranked questions are found at k, ranked below k, and not found to the depth; they add up to `total`."""

    found: int
    below: int
    missed: int

    @property
    def total(self) -> int:
        """All questions that were ranked."""
        return self.found + self.below + self.missed

    @property
    def by_outcome(self) -> dict[Outcome, int]:
        """The counts by outcome, in the order of the ranks."""
        return {"found": self.found, "below k": self.below, "missed": self.missed}


def count(ranks: ArrayLike, k: int) -> Counts:
    """Count outcomes from the ranks of the evidence, shape (n,), 0 for none.

    >>> count([1, 0, 3, 4, 50], 3)
    Counts(found=2, below=2, missed=1)
    """
    of_all = np.asarray(ranks)
    found = int(np.sum((of_all > 0) & (of_all <= k)))
    return Counts(found, int(np.sum(of_all > k)), int(np.sum(of_all == 0)))


def sum_words(counts: Counts, k: int, depth: int) -> str:
    """Say how the outcomes add up.

    >>> sum_words(Counts(66, 20, 4), 3, 50)
    '90 questions with evidence = 66 found at 3 + 20 ranked below 3 + 4 not in top 50'
    """
    parts = [f"{n:,} {title(outcome, k, depth).lower()}" for outcome, n in counts.by_outcome.items()]
    return f"{counted(counts.total, 'question')} with evidence = {' + '.join(parts)}"


def not_ranked_words(unanswerable: int, reference_only: int) -> str:
    """Say which questions of a run have no outcome of a ranking; "" when all have one.

    >>> not_ranked_words(10, 0), not_ranked_words(1, 2), not_ranked_words(0, 0)
    ('10 unanswerable are not ranked', '1 unanswerable and 2 reference only are not ranked', '')
    """
    parts = [f"{n:,} {words}" for n, words in ((unanswerable, "unanswerable"), (reference_only, "reference only")) if n]
    return f"{' and '.join(parts)} {agreed(unanswerable + reference_only, 'is')} not ranked" if parts else ""


def beyond(outcome_by_id: Mapping[str, str], causes: Mapping[str, str], answered: bool) -> str:
    """Say how the causes of loss go on from the outcomes of the ranking, "" where they are the same.

    `outcome_by_id` and `causes` are by question id; `answered` is whether the causes tell of answers.

    >>> beyond(dict.fromkeys("abc", "found"), {"a": "fine", "b": "split", "c": "fine"}, False)
    'Of the 3 found, 1 is split by chunking.'
    >>> beyond({"a": "found", "b": "found", "c": "missed"}, {"a": "fine", "b": "wrong", "c": "fine"}, True)
    'Of the 2 found, 1 is answered correctly; so is 1 whose evidence was not found, not counted as lost.'
    """
    found = [i for i, outcome in outcome_by_id.items() if outcome == "found" and i in causes]
    others = [i for i, outcome in outcome_by_id.items() if outcome in ("below k", "missed")]
    if not answered:
        split = _counted(causes, found, "split")
        return f"Of the {len(found):,} found, {split:,} {agreed(split, 'is')} split by chunking." if split else ""
    right, lucky = _counted(causes, found, "fine"), _counted(causes, others, "fine")
    more = f"; so {agreed(lucky, 'is')} {lucky:,} whose evidence was not found, not counted as lost" if lucky else ""
    return (
        f"Of the {len(found):,} found, {right:,} {agreed(right, 'is')} answered correctly{more}."
        if found or lucky
        else ""
    )


def _counted(causes: Mapping[str, str], ids: Iterable[str], cause: str) -> int:
    return sum(causes.get(question_id) == cause for question_id in ids)
