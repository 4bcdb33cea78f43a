"""What a run lost, and the verdict on it in words: what it finds, where most of the loss is, and what to try next.

The stages of the flow can only be blamed for questions whose evidence is known. An unanswerable question is lost when
it is answered, one of which only the reference is known when its answer is not right, whatever stage failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import outcomes
from ragviz.analysis.diagnose import CAUSES, would_tell
from ragviz.core.call import Estimate
from ragviz.core.configuration import RunConfig
from ragviz.core.recording import RETRIEVED, Knows
from ragviz.text.counts import agreed, counted, enumerated, first

STAGES = {
    "not_parsed": "parsing, or an index behind its documents", "not_retrieved": "retrieval", "below_k": "ranking",
    "split": "chunking",
    "cut_by_budget": "the context budget", "not_answered": "abstention", "unused": "what was retrieved and not used",
    "unsupported": "unsupported answers", "wrong": "incorrect answers",
}  # fmt: skip
"""Cause → the stage that is to be changed."""
OF_SYSTEM = {
    "not_retrieved": "Its contexts lack what {} need: look at retrieval first",
    "unused": "Its contexts hold what the answers to {} lack: look at the prompt or the model first",
    "unsupported": "The answers to {} say what its contexts do not: look at the prompt or the model first",
    "not_answered": "{} were not answered: look at why it fails or abstains",
}
"""Cause → what is said of a system that one cannot look into; "{}" stands for the questions."""
_APART = {
    ("unanswerable", "wrong"): "unanswerable answered",
    ("unanswerable", "not_answered"): "unanswerable with an empty or failed answer",
    ("reference", "wrong"): "reference only answered incorrectly",
    ("reference", "not_answered"): "reference only not answered",
    ("reference", "not_judged"): "reference only without a verdict",
}  # fmt: skip
"""Kind of a question without evidence, cause → what became of it."""


NOT_LOST = ("fine", "not_judged")
PATTERN = 5
"""With fewer questions lost, no stage is blamed: they are to be looked at one by one."""


@dataclass(frozen=True, slots=True)
class Losses:
    """How many questions have each cause (a key of `CAUSES`, "fine" included), by whether their evidence is known.

    Questions without a cause are in none of the three.
    """

    evidence: Counter[str]
    reference: Counter[str]
    unanswerable: Counter[str]

    @property
    def blamed(self) -> Counter[str]:
        """The lost questions that stages are blamed for, by cause: with evidence; where none has any, with a reference.

        >>> count({"a": "fine", "b": "wrong", "c": "wrong"}, {"a": "single", "b": "single", "c": "unanswerable"}).blamed
        Counter({'wrong': 1})
        """
        of = self.evidence if self.evidence else self.reference
        return Counter({cause: of[cause] for cause in CAUSES if cause not in NOT_LOST and of[cause]})

    @property
    def total(self) -> int:
        """How many questions are lost, with evidence or without."""
        return sum(
            n for of in (self.evidence, self.reference, self.unanswerable) for c, n in of.items() if c not in NOT_LOST
        )

    @property
    def greatest(self) -> list[str]:
        """The causes of most of the `blamed`, in the order of the flow; [] when nothing was lost."""
        most = max(self.blamed.values(), default=0)
        return [cause for cause, n in self.blamed.items() if n == most]

    @property
    def blames(self) -> str:
        """The one cause of most of the `blamed`; "" when there are several, and with fewer than `PATTERN` lost."""
        return self.greatest[0] if self.blamed.total() >= PATTERN and len(self.greatest) == 1 else ""

    @property
    def without_evidence(self) -> str:
        """A sentence on the lost questions that no stage is blamed for; "" without any."""
        counts = [("unanswerable", self.unanswerable), *([("reference", self.reference)] if self.evidence else [])]
        parts = [
            f"{of[cause]:,} {_APART[kind, cause]}"
            for kind, of in counts
            for cause in CAUSES
            if (kind, cause) in _APART and of[cause]
        ]
        return f"Without evidence: {', '.join(parts)}." if parts else ""


def count(causes: Mapping[str, str], kinds: Mapping[str, str]) -> Losses:
    """Count the causes of questions; both by question id, `kinds` as `Question.kind` says."""
    evidence, reference, unanswerable = Counter[str](), Counter[str](), Counter[str]()
    apart = {"reference": reference, "unanswerable": unanswerable}
    for question_id, cause in causes.items():
        if cause:
            apart.get(kinds[question_id], evidence)[cause] += 1
    return Losses(evidence, reference, unanswerable)


FEW = 20
"""With fewer questions their numbers are given instead of a rounded share, and the doubt is said."""


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


def verdict(measured: Measured, config: RunConfig) -> str:
    """Return the verdict on a run in one or two sentences; "" when nothing of it was ranked or answered."""
    parts = [*filter(None, [_found_words(measured), _answered_words(measured)])]
    loss = _loss_words(measured, config) if parts else ""
    said = "; ".join(parts)
    said = f"{said[0].upper()}{said[1:]}." if said else ""
    sentences = [said, loss, measured.losses.without_evidence, _other_answers_words(measured)]
    return " ".join(filter(None, sentences))


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
    parts = f", {split:,} of them in parts only, which count as lost" if split else ""
    noun = "context" if measured.knows.opaque else "chunk"
    return f"{share_words(count, n)} {verb} evidence in {first(measured.k, noun)}{interval}{doubt}{parts}"


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
    words = f"{answers.right:,} of {answers.known:,}{questions} {agreed(answers.right, 'is')} answered correctly"
    unjudged = "cannot be told" if measured.knows.opaque else "are not judged"
    return words + (f", {answers.unjudged:,} {unjudged}" if answers.unjudged else "")


def _other_answers_words(measured: Measured) -> str:
    answers = measured.answers
    if answers is None or measured.answered or not answers.known:
        return ""
    made = f"The answers were made at k = {answers.k}"
    if answers.unjudged == answers.known:
        return f"{made} and are not judged."
    unjudged = f", {answers.unjudged:,} not judged" if answers.unjudged else ""
    return f"{made}: {answers.right:,} of {answers.known:,} are correct{unjudged}."


def _loss_words(measured: Measured, config: RunConfig) -> str:
    losses = measured.losses
    total, worst = losses.total, losses.greatest
    unjudged = measured.answers is not None and measured.answers.unjudged
    if not total:
        if not measured.answered:
            return f"Nothing is lost in retrieval at k = {measured.k}."
        return "" if unjudged else "Nothing was lost."
    if total < PATTERN:
        known = "known to be " if unjudged else ""
        lost = f"{counted(total, 'question')} {agreed(total, 'is')} {known}lost"
        return f"Only {lost}, too few to blame one stage: look at each."
    cause = worst[0]
    most, advice = losses.blamed[cause], _advice(cause, measured, config)
    if measured.knows.opaque and len(worst) == 1 and (said := OF_SYSTEM.get(cause)):
        lost = f"all {total:,} lost questions" if most == total else f"{most:,} of {total:,} lost questions"
        sentence = said.format(lost)
        return f"{sentence[0].upper()}{sentence[1:]}."
    loss = "" if measured.answered or measured.answers is None else " in retrieval"
    if len(worst) > 1:
        names = enumerated([STAGES[each] for each in worst])
        return f"The greatest losses{loss} are {names}, {most:,} each of {total:,}{advice}."
    lead = "All" if most == total else "Most" if most > total / 2 else ""
    stage = f"{lead} of the loss{loss} is {STAGES[cause]}" if lead else f"The greatest loss{loss} is {STAGES[cause]}"
    return f"{stage} ({most:,} of {total:,} lost){advice}."


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
        "not_parsed": "update the index and make the run again, or see on the documents page how the files were read",
        "split": "try larger chunks, or an overlap",
        "not_answered": f"look at the questions it abstained on; {better} may see the evidence",
        "wrong": f"{look}, or {model}",
    }.get(cause, "")
    return f": {step}" if step else ""
