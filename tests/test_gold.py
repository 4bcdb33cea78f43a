"""Gold chunks by hand, against a second implementation over sets of characters, and on spans of real questions."""

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.core.document import Document, Span
from ragviz.core.question import Question
from ragviz.retrieval.gold import gold_chunks
from ragviz.store.stored_documents import reanchored

FOUR = [("a", 0, 100), ("b", 100, 200), ("c", 200, 300), ("d", 300, 400)]


def gold(*spans, cuts=FOUR):
    """Gold chunks of one group of (start, end) members."""
    group = tuple(Span("doc", start, end) for start, end in spans)
    return gold_chunks((group,), {"doc": cuts}.__getitem__)[0]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (100, 200, ("b",)),  # the source chunk itself
        (120, 130, ("b",)),  # a quote inside a chunk
        (0, 400, ("a", "b", "c", "d")),  # the whole document
        (99, 200, ("b",)),  # one character of a is not half of it
        (50, 150, ("a", "b")),  # exactly half of both
        (51, 150, ("b",)),  # 49 of a's 99: under half; 50 of b's 99: over
        (0, 1, ("a",)),
        (400, 500, ()),  # a touch at the end
        (450, 500, ()),
        (200, 200, ()),  # an empty span overlaps nothing
        (160, 340, ("c",)),  # 40 of 100 on both sides, and c inside
        (190, 220, ("c",)),
    ],
)
def test_rule(start, end, expected):
    assert gold((start, end)) == expected


def test_greatest_overlap_when_none_reaches_half_ties_earliest():
    gaps = [("a", 0, 100), ("b", 130, 230)]
    assert gold((80, 150), cuts=gaps) == ("a",)  # 20 and 20 of 70
    assert gold((80, 151), cuts=gaps) == ("b",)  # 20 and 21 of 71
    assert gold((100, 130), cuts=gaps) == ()  # only blanks were there: both are touched, none overlaps


def test_groups_stay_in_order_and_apart():
    evidence = ((Span("doc", 210, 220),), (Span("doc", 10, 20), Span("other", 0, 5)))
    cuts = {"doc": FOUR, "other": [("x", 0, 50)]}
    assert gold_chunks(evidence, cuts.__getitem__) == (("c",), ("a", "x"))


def test_stale_spans_and_missing_documents_give_nothing():
    evidence = ((Span("doc", 10, 20, "gone", stale=True),), (Span("missing", 0, 5),))
    assert gold_chunks(evidence, lambda document: {"doc": FOUR}.get(document, [])) == ((), ())


def brute_force(span, cuts):
    """The rule again, on sets of characters."""
    span_characters = set(range(*span))
    shared = [
        (len(span_characters & set(range(start, end))), min(len(span_characters), end - start), name)
        for name, start, end in cuts
    ]
    reached = [name for overlap, shorter, name in shared if overlap and overlap / shorter >= 0.5]
    best = max((overlap for overlap, _, _ in shared), default=0)
    return reached or [name for overlap, _, name in shared if overlap == best and best][:1]


@st.composite
def chunkings(draw):
    """Cuts with gaps, overlaps and equal starts or ends; neither starts nor ends decrease."""
    starts = sorted(draw(st.lists(st.integers(0, 60), max_size=12)))
    ends = sorted(start + draw(st.integers(1, 25)) for start in starts)
    return [(f"c{n}", start, end) for n, (start, end) in enumerate(zip(starts, ends, strict=True))]


@given(chunkings(), st.integers(0, 80), st.integers(0, 40))
def test_equals_brute_force(cuts, start, length):
    assert list(gold((start, start + length), cuts=cuts)) == brute_force((start, start + length), cuts)


def test_source_chunk_is_its_own_gold_and_thousands_are_fast():
    cuts = [(f"c{n}", n * 80, n * 80 + 100) for n in range(5000)]
    gc.disable()
    began = time.process_time()
    for n, (name, start, end) in enumerate(cuts):
        assert name in gold((start, end), cuts=cuts)
        assert gold((start + 20, end - 20), cuts=cuts) == (name,), n
    assert time.process_time() - began < 2


def document(identity, text):
    return Document(identity, "a.txt", text, (), "en", "text/plain", "", len(text))


def moved(text, *spans):
    """The one group of a question with these spans, after document "old" was replaced by one with this text."""
    new = None if text is None else document("new", text)
    successors = {"old": None if new is None else "new"}
    return reanchored(Question("q", "?", "!", (spans,), "hand"), successors, {"new": new}.__getitem__).evidence[0]


def test_replaced_documents_keep_the_spans_whose_text_still_occurs():
    span = Span("old", 4, 9, "seven")
    assert moved("now seven days", span) == (Span("new", 4, 9, "seven"),)
    assert moved("中文 é 🙂 seven days", span) == (Span("new", 7, 12, "seven"),)
    assert moved("seven, and then seven, and seven", span) == (Span("new", 0, 5, "seven"),)  # the nearest


@given(st.text("ab", min_size=1, max_size=3), st.text("ab", max_size=30), st.integers(0, 40))
def test_the_nearest_occurrence_is_found_as_by_an_exhaustive_search(words, text, start):
    places = [at for at in range(len(text)) if text.startswith(words, at)]
    [span] = moved(text, Span("old", start, start + len(words), words))
    assert span.stale == (not places)
    if places:
        assert span.start == min(places, key=lambda at: abs(at - start))


def test_spans_whose_text_is_deleted_are_stale_and_others_unchanged():
    span, other = Span("old", 4, 9, "seven"), Span("other", 4, 9, "seven")
    lost = Span("new", 4, 9, "seven", stale=True)
    assert moved("now eight days", span, other) == (lost, other)
    assert moved(None, span) == (Span("old", 4, 9, "seven", stale=True),)
    assert moved("no text was kept", Span("old", 4, 9)) == (Span("new", 4, 9, stale=True),)


def test_a_stale_span_is_found_again_when_its_words_come_back():
    lost = Question("q", "?", "!", ((Span("old", 4, 9, "seven", stale=True),),), "hand")
    moved_question = reanchored(lost, {"old": "new"}, {"new": document("new", "seven")}.__getitem__)
    assert moved_question.evidence == ((Span("new", 0, 5, "seven"),),)
