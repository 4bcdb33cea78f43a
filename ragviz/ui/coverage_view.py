"""The coverage map of an index: its chunks in two dimensions, one of which is opened by a click."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.document import Corpus
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Hit
from ragviz.health import coverage_map, health_sentences
from ragviz.health.coverage_map import STATES, CoverageMap
from ragviz.report import health_plots
from ragviz.retrieval import search
from ragviz.text.markup import highlighted, plain
from ragviz.ui import address, cache, passages
from ragviz.ui.kit import figure, notices


def draw(corpus: Corpus, question_set: QuestionSet, index: IndexInfo | None, newest: Sequence[Run]) -> None:
    """Draw the map, and the chunk that the address names with the questions about it."""
    if index is None or not index.build:
        with notices.empty("A map is drawn of the chunks of an index, and there is none."):
            address.link("index", "Build an index", corpus=corpus.name)
        return
    coverage = _coverage(question_set, index, corpus, *newest)
    chosen = address.readable("chunk", address.one_of(coverage.ids), "a chunk of this index") or ""
    st.caption(plain(health_sentences.coverage(coverage)))
    left, right = st.columns([3, 2], gap="medium")

    def clicked(place: tuple[int, ...] | None) -> None:
        address.put(chunk=coverage.ids[place[0]] if place and place[0] < len(coverage.ids) else None)

    with left:
        drawn = health_plots.coverage_scatter(coverage, selected=chosen)
        figure.draw(drawn, f"coverage-{question_set.id}-{index.id}", clicked=clicked)
    with right:
        if not chosen:
            st.caption("Click a point to read its chunk.")
            return
        st.caption(STATES[int(coverage.states[coverage.ids.index(chosen)])].capitalize())
        [found] = search.with_chunks(cache.workspace(), corpus.id, [Hit(chosen, 1, 0.0)])
        if found.chunk is None:
            st.warning("The document of this chunk was deleted.")
            return
        with st.container(border=True, gap="xsmall"):
            passages.link_to(found.document_name, found.chunk)
            st.html(highlighted(found.chunk.text))


@cache.kept(4, "Placing the chunks")
def _coverage(question_set: QuestionSet, index: IndexInfo, _: Corpus, *newest: Run) -> CoverageMap:
    questions = [question for question in cache.questions_in(question_set) if question.asked]
    return coverage_map.coverage_map(cache.workspace(), index, questions, newest[0] if newest else None)
