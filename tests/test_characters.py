"""Character metrics by hand, and against a second implementation over sets of characters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.core.document import Chunk, Span
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.metrics.characters import (
    CHARACTERS,
    measure_characters,
)
from ragviz.metrics.rank_metrics import read

FUNCTIONS = [metric.function for metric in CHARACTERS.values()]


def retrieved(question_id, *cuts):
    """A ranking of (document, start, end)."""
    ids = tuple(Chunk.make_id(*cut) for cut in cuts)
    return Retrieved(question_id, Ranking(ids, tuple(range(len(ids), 0, -1))), (("gold",),))


def values(results, evidence, depth):
    """Recall, precision and IoU, and Chroma's of the last two, (n, depth) each."""
    tables = [measure_characters(read(results, depth), evidence, k) for k in range(1, depth + 1)]
    return [np.column_stack([function(table) for table in tables]) for function in FUNCTIONS]


def test_by_hand():
    """Evidence 100 … 200. A chunk beside it, one that holds half, one that overlaps that and holds the rest."""
    results = [retrieved("q", ("d", 300, 400), ("d", 50, 150), ("d", 130, 230))]
    recall, precision, iou, chroma, chroma_union = values(results, {"q": ((Span("d", 100, 200),),)}, depth=4)
    assert recall[0].tolist() == [0, 0.5, 1, 1]
    assert precision[0] == pytest.approx([0, 50 / 200, 100 / 280, 100 / 280])
    assert iou[0] == pytest.approx([0, 50 / 250, 100 / 280, 100 / 280])
    assert chroma[0] == pytest.approx([0, 50 / 200, 100 / 300, 100 / 300])  # 130 … 150 counts twice
    assert chroma_union[0] == pytest.approx([0, 50 / 250, 100 / 300, 100 / 300])


def test_stale_evidence_counts_and_is_not_found():
    evidence = {"q": ((Span("d", 0, 10),), (Span("d", 0, 30, stale=True),))}
    recall, precision, *_ = values([retrieved("q", ("d", 0, 10))], evidence, depth=1)
    assert (recall[0, 0], precision[0, 0]) == (0.25, 1)


def brute_force(cuts, groups, k):
    """Recall, precision and IoU from sets of (document, character), Chroma's with the lengths of the chunks."""

    def characters(pieces):
        return {(document, place) for document, start, end in pieces for place in range(start, end)}

    in_chunks = characters(cuts[:k])
    in_evidence = set()
    for group in groups:
        members = [characters([member]) for member in group]
        in_evidence |= max(members, key=lambda member: len(member & in_chunks) / max(len(member), 1))
    chunk_lengths = sum(end - start for _, start, end in cuts[:k])
    useful = characters([member for group in groups for member in group]) & in_chunks
    return (
        len(in_evidence & in_chunks) / len(in_evidence) if in_evidence else 0,
        len(useful) / len(in_chunks) if in_chunks else 0,
        len(in_evidence & in_chunks) / len(in_evidence | in_chunks) if in_evidence | in_chunks else 0,
        len(useful) / chunk_lengths if chunk_lengths else 0,
        len(in_evidence & in_chunks) / (chunk_lengths + len(in_evidence - in_chunks))
        if chunk_lengths or in_evidence - in_chunks
        else 0,
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


@settings(max_examples=100)
@given(st.lists(question, min_size=1, max_size=3))
def test_equals_brute_force(questions):
    results = [retrieved(f"q{number}", *cuts) for number, (cuts, _) in enumerate(questions)]
    evidence = {
        f"q{number}": tuple(tuple(Span(*member) for member in group) for group in groups)
        for number, (_, groups) in enumerate(questions)
    }
    measured = values(results, evidence, 7)
    for row, (cuts, groups) in enumerate(questions):
        for k in range(1, 8):
            assert [array[row, k - 1] for array in measured] == pytest.approx(brute_force(cuts, groups, k)), (row, k)
