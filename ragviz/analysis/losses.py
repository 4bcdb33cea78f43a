"""What a run lost: its questions with evidence by the stage that lost them, those without evidence apart from them.

The stages of the flow can only be blamed for questions whose evidence is known. An unanswerable question is lost when
it is answered, one of which only the reference is known when its answer is not right, whatever stage failed. Verdict,
waterfall and command line take their words from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragviz.analysis.diagnose import CAUSES
from ragviz.core.recording import RETRIEVED, Knows
from ragviz.text.counts import agreed

STAGES = {
    "not_indexed": "an index that is behind its documents", "not_parsed": "parsing", "not_retrieved": "retrieval",
    "below_k": "ranking", "split": "chunking",
    "cut_by_budget": "the context budget", "not_answered": "abstention", "unused": "what was retrieved and not used",
    "unsupported": "unsupported answers", "wrong": "incorrect answers",
}  # fmt: skip
"""Cause → the stage that is to be changed."""
OF_SYSTEM = {
    "not_retrieved": "Its contexts lack what {} need: look at retrieval first",
    "unused": "Its contexts hold what the answers to {} lack: look at the prompt or the model first",
    "unsupported": "The answers to {} say what its contexts do not: look at the prompt or the model first",
    "not_answered": "{} were not answered: look at what it is told of abstaining",
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


_UNTOLD = "where nothing tells whether the contexts hold the answer"
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

    def split(self, cause: str) -> str:
        """Say how many of the questions with a cause have evidence; "" when all or none of them have.

        >>> Losses(Counter(wrong=3), Counter(wrong=1), Counter(wrong=1)).split("wrong")
        'Of these 5, 3 have evidence, 1 is unanswerable, 1 is reference only.'
        """
        of = [self.evidence[cause], self.unanswerable[cause], self.reference[cause]]
        if not of[0] or not any(of[1:]):
            return ""
        words = [f"{of[0]:,} {agreed(of[0], 'has')} evidence"]
        named = zip(of[1:], ("unanswerable", "reference only"), strict=True)
        words += [f"{n:,} {agreed(n, 'is')} {name}" for n, name in named if n]
        return f"Of these {sum(of):,}, {', '.join(words)}."


def count(causes: Mapping[str, str], kinds: Mapping[str, str]) -> Losses:
    """Count the causes of questions; both by question id, `kinds` as `Question.kind` says."""
    evidence, reference, unanswerable = Counter[str](), Counter[str](), Counter[str]()
    apart = {"reference": reference, "unanswerable": unanswerable}
    for question_id, cause in causes.items():
        if cause:
            apart.get(kinds[question_id], evidence)[cause] += 1
    return Losses(evidence, reference, unanswerable)


def abstained_words(abstained: Iterable[tuple[str, str]], knows: Knows = RETRIEVED) -> str:
    """Say how many questions a run abstained on, and where these were lost.

    `abstained` holds the kind and the cause of each of these questions, `knows` is of the run.

    >>> abstained_words([("unanswerable", "fine"), ("single", "below_k"), ("single", "not_answered")])
    '3 abstained: 1 rightly (unanswerable), 1 already lost in ranking, 1 with the evidence in the context'
    >>> abstained_words([("single", "not_answered")], Knows(contexts=False)), abstained_words([])
    ('1 abstained: 1 without any context', '0 abstained')

    Of a system that one cannot look into, "reference" are those of which nothing tells whether the contexts hold the
    answer.

    >>> abstained_words([("single", "not_answered"), ("reference", "not_answered")], Knows(opaque=True))
    '2 abstained: 1 with the answer in the contexts, 1 where nothing tells whether the contexts hold the answer'
    """
    counts = Counter(abstained)
    rightly = sum(n for (kind, _), n in counts.items() if kind == "unanswerable")
    reference = sum(n for (kind, _), n in counts.items() if kind == "reference")
    lost = Counter[str]()
    for (kind, cause), n in counts.items():
        lost[cause] += n if kind not in ("unanswerable", "reference") else 0
    where = "without any context" if knows.closed_book else "with the evidence in the context"
    where = "with the answer in the contexts" if knows.opaque else where
    parts = [(rightly, "rightly (unanswerable)")]
    parts += [(lost[c], where if c == "not_answered" else f"already lost in {STAGES[c]}") for c in STAGES]
    parts += [(reference, _UNTOLD if knows.opaque else "reference only")]
    said = ", ".join(f"{n:,} {words}" for n, words in parts if n)
    return f"{counts.total():,} abstained{f': {said}' if said else ''}"
