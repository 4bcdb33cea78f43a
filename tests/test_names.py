"""Names of several runs shortened together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.text.names import distinct

NAMES = st.lists(st.text(alphabet="ab-1手册", min_size=1, max_size=30), min_size=1, max_size=8)


@given(NAMES, st.integers(4, 20))
def test_different_names_stay_different_and_fit(names: list[str], most: int) -> None:
    shown = distinct(names, most)
    assert all(len(text) <= most for text in shown)
    assert len(set(shown)) == len(set(names))


@pytest.mark.parametrize(
    ("names", "most", "parts"),
    [
        (["tts-tokens-200-knn-extractive", "tts-tokens-200-hybrid-extractive"], 14, ["knn", "hybrid"]),
        (["左岸供水系统运行手册混合检索第一次", "左岸供水系统运行手册向量检索第一次"], 9, ["混合", "向量"]),
    ],
)
def test_what_differs_remains(names: list[str], most: int, parts: list[str]) -> None:
    shown = distinct(names, most)
    assert len(set(shown)) == len(names)
    for text, part in zip(shown, parts, strict=False):
        assert part in text
