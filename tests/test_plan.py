"""Plans of question sets: quotas worked by hand, and what holds of every plan."""

import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.generation.plan import (
    MIX,
    Cell,
    Outline,
    apportioned,
    kinds_of,
    plan,
    spread,
    styles_of,
)
from ragviz.questions.question_types import TYPES


def outline(name: str, *lengths: int, **offers: list[str]) -> Outline:
    """A document whose sections are called s0, s1 … and have these lengths."""
    return Outline(name, {f"s{n}": length for n, length in enumerate(lengths)}, offers)


def of(cells: list[Cell], what: str) -> Counter:
    counts = Counter()
    for cell in cells:
        counts[getattr(cell, what)] += cell.planned
    return counts


# How many of each


def test_kinds_without_a_number_share_what_is_left_by_the_mix():
    # By hand: 100 - 40 = 60; shares of number and list are 12 and 8: 36 and 24.
    assert kinds_of(100, {"fact": 40, "number": None, "list": None}) == {"fact": 40, "number": 36, "list": 24}
    assert sum(kinds_of(None, {}).values()) == 50
    assert sum(kinds_of(1000, {}).values()) == 1000
    assert kinds_of(100, {})["fact"] == round(100 * MIX["fact"] / sum(MIX.values()))


# Documents and sections


def test_documents_share_by_the_square_root_of_their_length():
    # By hand: roots 10, 20, 30, 40; 20 questions: 2, 4, 6, 8.
    assert spread({"a": 100, "b": 400, "c": 900, "d": 1600}, 20, 0) == {"a": 2, "b": 4, "c": 6, "d": 8}
    # By hand: 21 questions: 2.1, 4.2, 6.3, 8.4: the greatest remainder is that of d.
    assert spread({"a": 100, "b": 400, "c": 900, "d": 1600}, 21, 0) == {"a": 2, "b": 4, "c": 6, "d": 9}


def test_a_plan_worked_by_hand():
    """Two documents with roots 30 and 10, of 8 questions 6 and 2; the sections of the first have roots 20 and 10."""
    cells = plan([outline("a", 400, 100), outline("b", 139)], {"fact": 6, "number": 2}, {"colleague": 4, "keywords": 4})
    # 22.36 and 11.79 of 34.15: 8 questions are 5.24 and 2.76.
    assert of(cells, "document_id") == {"a": 5, "b": 3}
    # 5 questions at 2:1 are 3.33 and 1.67.
    assert of([c for c in cells if c.document_id == "a"], "section") == {"s0": 3, "s1": 2}
    assert of(cells, "type") == {"fact": 6, "number": 2}
    assert of(cells, "style") == {"colleague": 4, "keywords": 4}
    assert of([c for c in cells if c.type == "fact"], "style") == {"colleague": 3, "keywords": 3}


kinds_drawn = st.dictionaries(st.sampled_from(list(TYPES)), st.integers(1, 40), min_size=1)
documents_drawn = st.dictionaries(
    st.integers(0, 30).map(lambda n: f"d{n}"), st.lists(st.integers(0, 5000), min_size=1, max_size=5), min_size=1
)


@settings(max_examples=150, deadline=None)
@given(documents_drawn, kinds_drawn, st.integers(0, 3), st.floats(0, 1))
def test_every_plan_keeps_its_quotas(documents, kinds, seed, share):
    outlines = [
        Outline(name, {f"s{n}": size for n, size in enumerate(sizes)}, {"s0": ["table"]} if len(sizes) > 2 else {})
        for name, sizes in documents.items()
    ]
    total = sum(kinds.values())
    styles = styles_of({"colleague": 1 - share, "keywords": share}, total)
    cells = plan(outlines, kinds, styles, seed=seed, known=["table", "list"])
    assert plan(list(reversed(outlines)), kinds, styles, seed=seed, known=["list", "table"]) == cells
    lengths = {name: sum(sizes) for name, sizes in documents.items() if sum(sizes)}
    if not lengths:
        assert cells == []
        return
    assert of(cells, "type") == kinds
    assert of(cells, "style") == styles
    assert len(set(cells)) == len({(c.place, c.type, c.style) for c in cells}) == len(cells)
    assert all(cell.planned > 0 for cell in cells)
    quotas = of(cells, "document_id")
    assert len(quotas) == min(total, len(lengths)), "each document has one, as far as the total reaches"
    assert all(documents[c.document_id][int(c.section[1:])] for c in cells if c.type != "table")
    if total > len(lengths):
        more = {name: size for name, size in lengths.items() if quotas[name] > 1}
        each = (total - (len(lengths) - len(more))) / (sum(map(math.sqrt, more.values())) or 1)
        alone = [name for name in lengths if quotas[name] == 1]
        assert all(abs(quotas[name] - each * math.sqrt(size)) < 1 + 1e-6 for name, size in more.items())
        assert all(each * math.sqrt(lengths[name]) < 2 for name in alone)
    for name in more if total > len(lengths) else ():
        by_section = of([c for c in cells if c.document_id == name and c.type != "table"], "section")
        assert len(by_section) <= quotas[name]
    for kind, count in kinds.items():
        of_kind = of([c for c in cells if c.type == kind], "style")
        for style, in_all in styles.items():
            assert abs(of_kind[style] - count * in_all / total) <= 1 + 1e-9, "every type has the styles in proportion"


@given(st.dictionaries(st.text(max_size=3), st.floats(0.001, 1000), min_size=1, max_size=9), st.integers(0, 300))
def test_what_is_apportioned_sums_up_and_is_near_its_share(weights, total):
    counts = apportioned(weights, total)
    assert sum(counts.values()) == total
    whole_weight = sum(weights.values())
    assert all(abs(counts[name] - total * weight / whole_weight) < 1 + 1e-6 for name, weight in weights.items())
    assert apportioned(dict(reversed(weights.items())), total) == counts
