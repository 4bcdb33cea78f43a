"""The verdict on a run in words: what it finds, with the interval, where most of the loss is, and what to try next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import outcomes
from ragviz.analysis.diagnose import would_tell
from ragviz.analysis.losses import OF_SYSTEM, PATTERN, STAGES, Losses
from ragviz.core.call import Estimate
from ragviz.core.configuration import RunConfig
from ragviz.core.recording import RETRIEVED, Knows
from ragviz.text.counts import agreed, counted, enumerated, first

FEW = 20
"""With fewer questions their numbers are given instead of a rounded share, and the doubt is said."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One or two sentences on a run, and the cause (a key of `CAUSES`) of the greatest loss, "" when none is named."""

    sentence: str
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a run: `right` of `known` are correct, `unjudged` of them have no verdict; made at `k`."""

    k: int
    right: int
    known: int
    unjudged: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a verdict is given on: a run when its first `k` chunks are kept.

    `ranks` are those by which the evidence of each ranked question is found, shape (n,), 0 for none; `found` the share
    that is found at `k`, None where nothing is ranked. `losses` are at `k`: of the answers too when these count there
    (`answers.k` is `k`), else up to the ranking. `claims` is whether claims of the answers were judged, `knows` of the
    run.
    """

    k: int
    ranks: NDArray[np.int64]
    found: Estimate | None
    losses: Losses
    answers: Answers | None = None
    claims: bool = False
    knows: Knows = RETRIEVED

    @property
    def answered(self) -> bool:
        """Whether the losses tell of the answers."""
        return self.answers is not None and self.answers.k == self.k


def answers_of(causes: Mapping[str, str], k: int) -> Answers:
    """Count the right answers; `causes` are by question id, as of the answers, which were made at `k`.

    >>> answers_of({"a": "not_judged", "b": "fine", "c": "wrong", "d": ""}, 3)
    Answers(k=3, right=1, known=3, unjudged=1)
    """
    of = Counter(filter(None, causes.values()))
    return Answers(k, of["fine"], of.total(), of["not_judged"])


def verdict(measured: Measured, config: RunConfig) -> Verdict:
    """Return the verdict on a run; an empty sentence when nothing of it was ranked or answered."""
    parts = [*filter(None, [_found_words(measured), _answered_words(measured)])]
    loss, cause = _loss_words(measured, config) if parts else ("", "")
    said = "; ".join(parts)
    said = f"{said[0].upper()}{said[1:]}." if said else ""
    sentences = [said, loss, measured.losses.without_evidence, _other_answers_words(measured)]
    return Verdict(" ".join(filter(None, sentences)), cause)


def share_words(count: int, total: int) -> str:
    """Return a share of questions as it is said aloud, with the numbers behind it.

    >>> share_words(60, 80), share_words(59, 80), share_words(15, 18), share_words(80, 80), share_words(0, 9)
    ('3 in 4 questions (60 of 80)', 'About 3 in 4 questions (59 of 80)', '15 of 18 questions', 'All 80 questions', \
'None of the 9 questions')
    >>> share_words(1, 1), share_words(1, 90), share_words(37, 80)
    ('The only question', '1 of 90 questions', '37 of 80 questions (46 %)')
    """
    if total == 1:
        return "The only question" if count else "Not even the only question"
    if count == total:
        return f"All {total:,} questions"
    if not count:
        return f"None of the {total:,} questions"
    counts = f"{count:,} of {total:,}"
    if total < FEW:
        return f"{counts} questions"
    share = count / total
    part, whole = min(((a, b) for b in (2, 3, 4, 5, 10) for a in range(1, b)), key=lambda f: abs(f[0] / f[1] - share))
    error = abs(part / whole - share)
    if error > 0.02:
        return f"{counts} questions ({share:.0%})".replace("%", " %") if share > 0.05 else f"{counts} questions"
    return f"{'' if error < 1e-9 else 'About '}{part} in {whole} questions ({counts})"


def _found_words(measured: Measured) -> str:
    n, found = len(measured.ranks), measured.found
    if not n or found is None or found.mean is None:
        return ""
    count = outcomes.count(measured.ranks, measured.k).found
    verb = "finds its" if n == 1 else "find their"
    interval = f" [{found.low:.2f}, {found.high:.2f}]"
    doubt = f", an interval as wide as {n} questions make it" if 1 < n < FEW else ""
    split = measured.losses.evidence["split"]
    parts = f", {split:,} of them in parts only" if split else ""
    return f"{share_words(count, n)} {verb} evidence in {first(measured.k, 'chunk')}{interval}{doubt}{parts}"


def _answered_words(measured: Measured) -> str:
    answers = measured.answers
    if answers is None or not measured.answered:
        return ""
    needed = would_tell(reference=measured.knows.reference, judged=measured.claims) if measured.knows.opaque else ""
    if measured.knows.opaque and not answers.right and (answers.unjudged or not measured.knows.reference):
        return f"whether its answers are right is not known{f': that takes {needed}' if needed else ''}"
    if answers.known and answers.unjudged == answers.known:
        return "its answers are not judged"
    questions = "" if len(measured.ranks) else " questions"
    words = f"{answers.right:,} of {answers.known:,}{questions} are answered correctly"
    unjudged = f"take {needed} to tell" if needed else "are not judged"
    return words + (f", {answers.unjudged:,} {unjudged}" if answers.unjudged else "")


def _other_answers_words(measured: Measured) -> str:
    """Say what became of answers that were not made from the chunks shown."""
    answers = measured.answers
    if answers is None or measured.answered or not answers.known:
        return ""
    made = f"The answers were made at k = {answers.k}"
    if answers.unjudged == answers.known:
        return f"{made} and are not judged."
    unjudged = f", {answers.unjudged:,} not judged" if answers.unjudged else ""
    return f"{made}: {answers.right:,} of {answers.known:,} are correct{unjudged}."


def _loss_words(measured: Measured, config: RunConfig) -> tuple[str, str]:
    """Say which stage loses most, of all questions that are lost, and return its cause."""
    losses = measured.losses
    total, worst = losses.total, losses.greatest
    if not total:
        if not measured.answered:
            return f"Nothing is lost in retrieval at k = {measured.k}.", ""
        unjudged = measured.answers is not None and measured.answers.unjudged
        return "" if unjudged else "Nothing was lost.", ""
    if total < PATTERN:
        known = "known to be " if measured.answers is not None and measured.answers.unjudged else ""
        lost = f"{counted(total, 'question')} {agreed(total, 'is')} {known}lost"
        return f"Only {lost}, too few to blame one stage: look at each.", ""
    cause = worst[0]
    most, advice = losses.blamed[cause], _advice(cause, measured, config)
    if measured.knows.opaque and len(worst) == 1 and (said := OF_SYSTEM.get(cause)):
        lost = f"all {total:,} lost questions" if most == total else f"{most:,} of {total:,} lost questions"
        sentence = said.format(lost)
        return f"{sentence[0].upper()}{sentence[1:]}.", cause
    loss = "" if measured.answered or measured.answers is None else " in retrieval"
    if len(worst) > 1:
        names = enumerated([STAGES[each] for each in worst])
        return f"The greatest losses{loss} are {names}, {most:,} each of {total:,}{advice}.", cause
    lead = "All" if most == total else "Most" if most > total / 2 else ""
    stage = f"{lead} of the loss{loss} is {STAGES[cause]}" if lead else f"The greatest loss{loss} is {STAGES[cause]}"
    return f"{stage} ({most:,} of {total:,} lost){advice}.", cause


def _advice(cause: str, measured: Measured, config: RunConfig) -> str:
    """Return the next step against a cause; "" for one that replays tell of (`analysis.rescue`)."""
    look = "look at the claims of these answers" if measured.claims else "compare these answers with their evidence"
    if measured.knows.opaque and cause == "wrong" and not measured.claims:
        return ": have a model judge whether the contexts hold what they lack"
    better = "a model" if config.by_rule else "a better model"
    model = "connect a model" if config.by_rule else "try a better model"
    if not measured.claims and not config.judge and not config.by_rule:
        model = "have a model judge them"
    step = {
        "not_indexed": "update the index, and make the run again",
        "not_parsed": "see on the documents page how the files were read, and update the index",
        "split": "try larger chunks, or an overlap",
        "not_answered": f"look at the questions it abstained on; {better} may see the evidence",
        "wrong": f"{look}, or {model}",
    }.get(cause, "")
    return f": {step}" if step else ""
