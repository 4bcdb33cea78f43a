"""Character metrics by hand, and against a second implementation over sets of characters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.errors import InputError
from ragviz.metrics import METRICS, scores
from ragviz.metrics.characters import (
    character_iou,
    character_precision,
    character_recall,
    measure_characters,
)
from ragviz.metrics.ranking import measure
from ragviz.records import Chunk, Ranking, Retrieved, Span

FUNCTIONS = (character_recall, character_precision, character_iou)


def retrieved(question_id, *cuts):
    """A ranking of (document, start, end)."""
    ids = tuple(Chunk.make_id(*cut) for cut in cuts)
    return Retrieved(question_id, Ranking(ids, tuple(range(len(ids), 0, -1))), (("gold",),))


def values(results, evidence, depth):
    """Recall, precision and IoU, (n, depth) each."""
    table = measure_characters(results, evidence, depth)
    return [function(table) for function in FUNCTIONS]


def test_by_hand():
    """Evidence 100 … 200. A chunk beside it, one that holds half, one that overlaps that and holds the rest."""
    results = [retrieved("q", ("d", 300, 400), ("d", 50, 150), ("d", 130, 230))]
    recall, precision, iou = values(results, {"q": ((Span("d", 100, 200),),)}, depth=4)
    assert recall[0].tolist() == [0, 0.5, 1, 1]
    assert precision[0] == pytest.approx([0, 50 / 200, 100 / 280, 100 / 280])
    assert iou[0] == pytest.approx([0, 50 / 250, 100 / 280, 100 / 280])


def test_groups_add_up_and_of_alternatives_the_best_held_counts():
    """Group one has two places that say the same, group two one; both places are useful, one of them is wanted."""
    evidence = {"q": ((Span("d", 0, 10), Span("e", 0, 20)), (Span("d", 50, 80),))}
    results = [retrieved("q", ("e", 0, 15), ("d", 50, 65), ("d", 0, 10), ("e", 15, 20))]
    recall, precision, iou = values(results, evidence, depth=4)
    assert recall[0] == pytest.approx([15 / 50, 30 / 50, 25 / 40, 25 / 40])  # at 3 and 4 the first place is whole
    assert precision[0].tolist() == [1, 1, 1, 1]
    assert iou[0] == pytest.approx([15 / 50, 30 / 50, 25 / (40 + 40 - 25), 25 / (45 + 40 - 25)])


def test_stale_evidence_is_wanted_and_not_found():
    evidence = {"q": ((Span("d", 0, 10),), (Span("d", 0, 30, stale=True),))}
    recall, precision, _ = values([retrieved("q", ("d", 0, 10))], evidence, depth=1)
    assert (recall[0, 0], precision[0, 0]) == (0.25, 1)


def test_rows_are_those_of_the_rank_table():
    unanswerable = Retrieved("none", retrieved("", ("d", 0, 9)).ranking, ())
    results = [unanswerable, retrieved("a", ("d", 0, 10)), retrieved("b")]
    evidence = {"a": ((Span("d", 0, 5),),), "b": ((Span("d", 0, 5),),)}
    table = measure_characters(results, evidence, 2)
    assert table.question_ids == measure(results, 2).question_ids == ("a", "b")
    assert [function(table).tolist() for function in FUNCTIONS] == [[[1, 1], [0, 0]], *[[[0.5, 0.5], [0, 0]]] * 2]
    found = scores(measure(results, 2), 2, characters=table)
    assert found["character_iou@2"].tolist() == [0.5, 0]
    assert {name.split("@")[0] for name in found} == set(METRICS)


def test_no_questions():
    assert [array.shape for array in values([], {}, depth=3)] == [(0, 3)] * 3


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match=r"1 questions .* 'q' first"):
        measure_characters([retrieved("q", ("d", 0, 1))], {}, 1)
    foreign = Retrieved("q", Ranking(("MARCO_1",), (1.0,)), (("MARCO_1",),))
    with pytest.raises(InputError, match="'MARCO_1'"):
        measure_characters([foreign], {"q": ((Span("d", 0, 1),),)}, 1)


def test_more_questions_than_one_block_are_the_same_as_one_by_one():
    generator = np.random.default_rng(0)
    results, evidence = [], {}
    for number in range(1101):
        starts = generator.choice(30, size=generator.integers(1, 6), replace=False)
        results.append(retrieved(f"q{number}", *(("d", int(start) * 8, int(start) * 8 + 10) for start in starts)))
        place = int(generator.integers(0, 200))
        evidence[f"q{number}"] = ((Span("d", place, place + 25),),)
    together = values(results, evidence, 5)
    for row in (0, 499, 500, 1000, 1100):
        for whole, alone in zip(together, values(results[row : row + 1], evidence, 5), strict=True):
            np.testing.assert_array_equal(whole[row], alone[0])


def brute_force(cuts, groups, k):
    """Recall, precision and IoU from sets of (document, character)."""

    def characters(pieces):
        return {(document, place) for document, start, end in pieces for place in range(start, end)}

    held = characters(cuts[:k])
    wanted = set()
    for group in groups:
        members = [characters([member]) for member in group]
        wanted |= max(members, key=lambda member: len(member & held) / max(len(member), 1))
    useful = characters([member for group in groups for member in group]) & held
    return (
        len(wanted & held) / len(wanted) if wanted else 0,
        len(useful) / len(held) if held else 0,
        len(wanted & held) / len(wanted | held) if wanted | held else 0,
    )


pieces = st.tuples(st.sampled_from("de"), st.integers(0, 30), st.integers(1, 15)).map(
    lambda p: (p[0], p[1], p[1] + p[2])
)
spans = st.tuples(st.sampled_from("def"), st.integers(0, 30), st.integers(0, 15)).map(
    lambda p: (p[0], p[1], p[1] + p[2])
)
question = st.tuples(
    st.lists(pieces, max_size=6, unique=True),
    st.lists(st.lists(spans, min_size=1, max_size=3), min_size=1, max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(question, min_size=1, max_size=3))
def test_equals_brute_force(questions):
    results = [retrieved(f"q{number}", *cuts) for number, (cuts, _) in enumerate(questions)]
    evidence = {
        f"q{number}": tuple(tuple(Span(*member) for member in group) for group in groups)
        for number, (_, groups) in enumerate(questions)
    }
    found = values(results, evidence, 7)
    for row, (cuts, groups) in enumerate(questions):
        for k in range(1, 8):
            assert [array[row, k - 1] for array in found] == pytest.approx(brute_force(cuts, groups, k)), (row, k)
