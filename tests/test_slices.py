"""Differences in parts of the questions: hand-worked p-values, small parts, several documents, multiplicity."""

import numpy as np
import pytest

from ragviz.analysis import slices
from ragviz.analysis.compare import Paired
from ragviz.analysis.rules import Rule
from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.stats.clusters import clusters_of
from ragviz.stats.differences import benjamini_hochberg

RULE = Rule("mrr", 0.02, declared=True)


def question(number: int, *documents: str, language: str = "en", words: int = 4, evidence: int = 10) -> Question:
    groups = tuple((Span(document, 0, evidence),) for document in documents)
    return Question(f"q{number}", " ".join(["word"] * words), "answer", groups, "hand", language=language)


def paired(questions: list[Question], differences: list[float]) -> Paired:
    values = np.stack([np.zeros(len(questions)), np.array(differences, dtype=np.float64)])
    clusters = clusters_of([{span.document_id for group in q.evidence for span in group} for q in questions])
    return Paired(tuple(q.id for q in questions), values, clusters)


def documents(questions: list[Question]) -> dict[str, list[str]]:
    return {q.id: [span.document_id for group in q.evidence for span in group] for q in questions}


def measured(questions: list[Question], differences: list[float]) -> slices.Slices:
    parts = slices.parts_of(questions, documents(questions))
    return slices.judged(parts, paired(questions, differences), RULE, "mrr")


def test_every_part_is_tested_and_its_p_value_adjusted_for_their_number():
    questions = [question(n, "a", language="en") for n in range(6)]
    questions += [question(n, "b", language="en" if n < 8 else "zh") for n in range(6, 12)]
    found = measured(questions, [1.0] * 6 + [0.0] * 6)
    rows = {each.part.key: each for each in found.slices}
    assert list(rows) == ["document:a", "document:b", "language:en", "language:zh"]
    a, b, english, chinese = rows.values()
    assert (a.n, a.clusters, a.baseline, a.other) == (6, 1, 0.0, 1.0)
    assert a.difference is not None
    assert a.difference.p_value == pytest.approx(2 / 2**6), "six questions that all point one way"
    assert (a.difference.low, a.difference.high, a.difference.generalises) == (1.0, 1.0, False)
    assert b.difference is not None
    assert (b.difference.p_value, b.verdict) == (1.0, "equal")
    assert english.difference is not None
    assert (english.n, english.clusters, english.other) == (8, 2, 0.75)
    assert english.difference.p_value == pytest.approx(2 / 2**8), "of these two documents, nothing varies"
    assert [each.p_adjusted for each in (a, b, english)] == pytest.approx(benjamini_hochberg([1 / 32, 1.0, 1 / 128]))
    assert a.p_adjusted == pytest.approx(3 / 64), "the second smallest of three: 1/32 · 3 ÷ 2"
    assert (a.verdict, english.verdict) == ("better", "better")
    assert (chinese.n, chinese.difference, chinese.verdict, chinese.p_adjusted) == (4, None, None, None)
    assert len(found.judged) == 3
    assert slices.multiplicity_words(found) == (
        "3 slices looked at: at 5 % less than one would differ by chance alone. 2 do; 2 after the correction for their "
        "number (Benjamini-Hochberg). 1 is too small to be judged (fewer than 6 questions)."
    )


def test_a_question_that_needs_several_documents_counts_in_each_of_them():
    questions = [question(n, "a") for n in range(6)] + [question(6, "a", "b"), question(7, "b"), question(8)]
    found = measured(questions, [0.0] * 6 + [1.0, 1.0, 1.0])
    rows = {each.part.key: each for each in found.slices}
    assert (rows["document:a"].n, rows["document:b"].n) == (7, 2)
    assert rows["document:a"].part.rows.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert (rows["kind:single"].n, rows["kind:multi"].n, rows["kind:reference"].n) == (7, 1, 1)
    assert rows["document:b"].difference is None


def test_where_nothing_differs_a_slice_is_seldom_called_apart():
    random, raw, apart = np.random.default_rng(3), 0, 0
    questions = [question(n, f"d{n % 12}", language=("en", "zh", "de")[n % 3], words=3 + n % 7) for n in range(120)]
    parts = slices.parts_of(questions, documents(questions))
    for _ in range(40):
        found = slices.judged(parts, paired(questions, list(random.normal(size=120))), RULE, "mrr")
        raw += any((each.difference.p_value or 0.0) <= 0.05 for each in found.judged if each.difference)
        apart += any((each.p_adjusted or 0.0) <= 0.05 for each in found.judged)
    assert raw >= 15, "without the correction, most experiments would show a slice that differs"
    assert apart <= 6, "2 of 40 are expected"
