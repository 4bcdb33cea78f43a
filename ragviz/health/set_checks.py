"""Every check of a question set: what it is, how it is computed, what it needs. Adding one is a line here."""

from __future__ import annotations

from collections.abc import Mapping

from ragviz.generation import rejection
from ragviz.health import duplicates, outcome_checks, word_checks
from ragviz.health.finding import Check

_ALL = (
    Check(
        "copies",
        "Copies the passage's words",
        "It can be found by its words alone: it flatters BM25, and hides what an embedder misses.",
        "Content words of the question that stand in the sentences of its evidence, weighted by how rare they are in "
        f"the index (BM25's idf): {rejection.COPIED:.0%} or more, and at least {rejection.LEAST_COPIED} of them. "
        "Words that stand in no chunk are left out, where most of the others do stand there.",
        word_checks.copies,
    ),
    Check(
        "closed-book",
        "Answerable without the documents",
        "A model knows the answer: a right answer does not show that retrieval worked.",
        "Answered rightly by a run with context “none”; verification by a model rejects such questions. Without such "
        "a run it is not known while a question is left that no model has verified.",
        outcome_checks.without_documents,
    ),
    Check(
        "answered",
        "Unanswerable, but answered",
        "Abstaining counts as right, and the documents may hold the answer.",
        "A run answered it and a judge found every claim of the answer in its passages (faithfulness 1); or the "
        "question holds an answer itself. Verification by a model rejects such questions.",
        outcome_checks.answered_after_all,
    ),
    Check(
        "elsewhere",
        "More than one chunk answers it",
        "A run that finds the other chunk is counted as a miss.",
        "A judge found the whole reference in a chunk without evidence, in any run.",
        word_checks.answered_elsewhere,
    ),
    Check(
        "duplicates",
        "Duplicate or nearly",
        "It counts one question twice, and its interval is too narrow.",
        f"The same words but for case and punctuation; or {duplicates.NEAR:.0%} of the weight of both questions' words "
        "shared and alike answers, with the same numbers. The earlier one is not listed.",
        duplicates.duplicates,
    ),
    Check(
        "unsupported",
        "Answer not supported by its evidence",
        "The right answer cannot be told from what counts as found.",
        "A number of the answer that its evidence neither states nor gives by one calculation; where a judge judged "
        "all evidence chunks, it decides.",
        word_checks.unsupported,
    ),
    Check(
        "separates-nothing",
        "Found by every run or by none",
        "It separates none of these runs from another. It stays: what others find of it is not known.",
        "The evidence is among the first k of all runs of the set, or of none: at least "
        f"{outcome_checks.LEAST_RUNS} runs that rank in different ways.",
        outcome_checks.separates_nothing,
        of_outcomes=True,
    ),
    Check(
        "stale",
        "Evidence that no longer stands in its document",
        "It can never be found.",
        "The words of a passage were not found again when its document was replaced or removed. Questions that were "
        "set aside for it, which no run asks, are listed too.",
        outcome_checks.stale,
    ),
)
CHECKS: Mapping[str, Check] = {check.key: check for check in _ALL}
"""Every check by its key, in the order in which they are shown."""
