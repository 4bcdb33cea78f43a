"""Two runs question by question: points of a scatter, streams between causes."""

from __future__ import annotations

import pytest

from ragviz.analysis import flows, points

TITLES = {"fine": "Found at 3", "below_k": "Ranked below 3", "not_retrieved": "Not in top 50", "split": "Split"}


def test_questions_with_equal_values_are_one_point_with_their_count():
    found = points.points_of([[0.0, 1.0, 1.0, 0.5, 0.1 + 0.2], [0.0, 1.0, 1.0, 1.0, 0.3]])
    assert not found.gathered
    assert found.keys == ("0,0", "0.3,0.3", "0.5,1", "1,1")
    assert found.counts.tolist() == [1, 1, 1, 2]
    assert found.higher.tolist() == [0, 0, 1, 0], "0.1 + 0.2 is 0.3"
    assert found.places.tolist() == [[0, 0], [pytest.approx(0.3), 0.3], [0.5, 1], [1, 1]]
    members = found.members("1,1")
    assert members is not None
    assert members.tolist() == [1, 2]
    assert found.members("2,2") is None


def test_every_question_is_in_one_stream_and_the_greatest_come_first():
    before = {"a": "below_k", "b": "below_k", "c": "fine", "d": "not_retrieved", "e": "fine", "f": "fine", "g": ""}
    after = {"a": "fine", "b": "fine", "c": "split", "d": "below_k", "e": "fine", "f": "fine", "g": "fine", "h": "fine"}
    of = flows.flow(before, after)
    assert [(s.key, s.question_ids, s.effect) for s in of.streams] == [
        ("below_k-fine", ("a", "b"), "rescued"),
        ("not_retrieved-below_k", ("d",), "moved"),
        ("fine-split", ("c",), "broken"),
        ("fine-fine", ("e", "f"), "stayed"),
    ]
    assert (of.total, of.unknown) == (6, 2)
    assert of.causes == ("fine", "not_retrieved", "below_k", "split")
    assert [of.at(cause, before=True) for cause in of.causes] == [3, 1, 2, 0]
    assert [of.at(cause, before=False) for cause in of.causes] == [4, 0, 1, 1]
    assert flows.words(of, TITLES) == (
        "Of 6 questions, 2 are lost no longer (from Ranked below 3), 1 is lost only now (to Split), 1 is lost at "
        "another stage (from Not in top 50 to Ranked below 3); 2 are where they were."
    )
    stream = of.stream("fine-split")
    assert stream is not None
    assert stream.question_ids == ("c",)
    assert of.stream("split-fine") is None
