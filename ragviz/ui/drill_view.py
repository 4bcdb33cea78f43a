"""The drill of a question set: the button that runs it, what it found in one sentence and one picture."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st

from ragviz.core.configuration import IndexInfo
from ragviz.core.question_set import QuestionSet
from ragviz.health import drill, health_sentences
from ragviz.report import health_plots
from ragviz.retrieval.retrievers import offered
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import cache, job_panel, presses, wording
from ragviz.ui.kit import figure, notices

WHY = (
    "A drill leaves evidence out of the rankings of an index, and counts what this set notices. "
    "The index, the documents and the runs stay as they are."
)


def show(question_set: QuestionSet, index: IndexInfo | None) -> None:
    """Draw the choices of a drill on an index, and what the last one found."""
    st.caption(WHY)
    if index is None or not index.build:
        st.markdown("Build an index first: a drill ranks its chunks.")
    elif not question_set.asked:
        st.markdown("The set asks no question: accept some first.")
    fact = _stored(question_set)
    if index is not None and index.build and question_set.asked:
        _start(question_set, index, fact or {})
    if fact is not None:
        _found(question_set, fact)


@cache.kept(32)
def _stored(question_set: QuestionSet) -> dict[str, Any] | None:
    return drill.stored(cache.workspace(), question_set)


def _start(question_set: QuestionSet, info: IndexInfo, last: Mapping[str, Any]) -> None:
    """Draw the choices, at first those of the `last` drill, and the button; one that is active is shown here too."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        retrievers = offered(info.config)
        place = retrievers.index(last["retriever"]) if last.get("retriever") in retrievers else 0
        retriever = st.selectbox("Retriever", retrievers, place, key=f"drill-retriever-{info.id}")
        k = st.number_input(
            "k", 1, 50, min(last.get("k", 3), 50), key=f"drill-k-{question_set.id}",
            help="Chunks that hold the evidence.",
        )  # fmt: skip
        repetitions = st.number_input(
            "Plantings", 1, 500, drill.REPETITIONS, key=f"drill-many-{question_set.id}",
            help="How often a loss of each size is planted, in other places each time.",
        )  # fmt: skip
        active = job_panel.active_job("drill", question_set.corpus_id, questions=question_set.name)
        label = "Drill it again" if last else "Drill this set"
        kind: Literal["primary", "secondary"] = "secondary" if last else "primary"
        if st.button(label, type=kind, key=presses.key("drill"), disabled=active is not None):
            chosen = {"retriever": retriever, "k": int(k), "repetitions": int(repetitions)}
            with notices.errors_shown():
                job_panel.submit("drill", question_verbs.drill(question_set, info, chosen))
                st.rerun()
    if active is not None:
        share, words = job_panel.job_words(active, time.time(), None)
        st.progress(share, text=words)


def _found(question_set: QuestionSet, fact: Mapping[str, Any]) -> None:
    older = question_set.version - fact["set_version"]
    most = max(found["repetitions"] for found in fact["losses"])
    since = f", {wording.counted(older, 'version')} of the set ago" if older > 0 else ""
    st.caption(
        f"Drilled {wording.ago(fact['date'])}{since}: {fact['metric']} by {fact['retriever']} on "
        f"{plain(fact['index'])}, {wording.counted(fact['questions'], 'question')} about "
        f"{wording.counted(fact['documents'], 'document')}, {wording.counted(fact['chunks'], 'chunk')}; "
        f"{wording.counted(most, 'planting')} of each size."
    )
    st.markdown(f"**{plain(health_sentences.drill(fact))}**")
    with notices.errors_shown():
        figure.draw(health_plots.noticed(fact), f"drill-{question_set.id}")
    for reason in dict.fromkeys(row["reason"] for row in fact["losses"] if row["reason"]):
        st.caption(plain(f"Not planted: {reason}."))
