"""Plans of question sets: quotas worked by hand, and what holds of every plan."""

import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.generation.plan import MIX, Cell, Outline, apportioned, kinds_of, plan, spread, styles_of
from ragviz.questions.question_types import TYPES


def of(cells: list[Cell], what: str) -> Counter:
    counts = Counter()
    for cell in cells:
        counts[getattr(cell, what)] += cell.planned
    return counts


def test_kinds_without_a_number_share_what_is_left_by_the_mix():
    # By hand: 100 - 40 = 60; shares of number and list are 12 and 8: 36 and 24.
    assert kinds_of(100, {"fact": 40, "number": None, "list": None}) == {"fact": 40, "number": 36, "list": 24}
    assert sum(kinds_of(None, {}).values()) == 50
    assert sum(kinds_of(1000, {}).values()) == 1000
    assert kinds_of(100, {})["fact"] == round(100 * MIX["fact"] / sum(MIX.values()))


def test_documents_share_by_the_square_root_of_their_length():
    # By hand: roots 10, 20, 30, 40; 20 questions: 2, 4, 6, 8.
    assert spread({"a": 100, "b": 400, "c": 900, "d": 1600}, 20, 0) == {"a": 2, "b": 4, "c": 6, "d": 8}
    # By hand: 21 questions: 2.1, 4.2, 6.3, 8.4: the greatest remainder is that of d.
    assert spread({"a": 100, "b": 400, "c": 900, "d": 1600}, 21, 0) == {"a": 2, "b": 4, "c": 6, "d": 9}


def test_a_plan_worked_by_hand():
    cells = plan([Outline("a", 500), Outline("b", 139)], {"fact": 6, "number": 2}, {"colleague": 4, "keywords": 4})
    # 22.36 and 11.79 of 34.15: 8 questions are 5.24 and 2.76.
    assert of(cells, "document_id") == {"a": 5, "b": 3}
    assert of(cells, "type") == {"fact": 6, "number": 2}
    assert of(cells, "style") == {"colleague": 4, "keywords": 4}
    assert of([c for c in cells if c.type == "fact"], "style") == {"colleague": 3, "keywords": 3}


kinds_drawn = st.dictionaries(st.sampled_from(list(TYPES)), st.integers(1, 40), min_size=1)
documents_drawn = st.dictionaries(st.integers(0, 30).map(lambda n: f"d{n}"), st.integers(0, 20_000), min_size=1)


@settings(max_examples=150, deadline=None)
@given(documents_drawn, kinds_drawn, st.integers(0, 3), st.floats(0, 1))
def test_every_plan_keeps_its_quotas(documents, kinds, seed, share):
    outlines = [Outline(name, size, ["table"] if size > 2000 else []) for name, size in documents.items()]
    total = sum(kinds.values())
    styles = styles_of({"colleague": 1 - share, "keywords": share}, total)
    cells = plan(outlines, kinds, styles, seed=seed)
    assert plan(list(reversed(outlines)), kinds, styles, seed=seed) == cells
    lengths = {name: size for name, size in documents.items() if size}
    if not lengths:
        assert cells == []
        return
    assert of(cells, "type") == kinds
    assert of(cells, "style") == styles
    assert len({(c.document_id, c.type, c.style) for c in cells}) == len(cells)
    assert all(cell.planned > 0 for cell in cells)
    quotas = of(cells, "document_id")
    assert len(quotas) == min(total, len(lengths)), "each document has one, as far as the total reaches"
    able = sum(quotas[name] for name in lengths if lengths[name] > 2000)
    tables = sum(c.planned for c in cells if c.type == "table" and documents[c.document_id] > 2000)
    assert tables == min(kinds.get("table", 0), able) or "list" in kinds, "tables are planned where there are some"
    if total > len(lengths):
        more = {name: size for name, size in lengths.items() if quotas[name] > 1}
        each = (total - (len(lengths) - len(more))) / (sum(map(math.sqrt, more.values())) or 1)
        alone = [name for name in lengths if quotas[name] == 1]
        assert all(abs(quotas[name] - each * math.sqrt(size)) < 1 + 1e-6 for name, size in more.items())
        assert all(each * math.sqrt(lengths[name]) <= 2 + 1e-6 for name in alone)
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
