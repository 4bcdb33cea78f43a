"""The drill of a question set: the button that runs it, what it found in one sentence and one picture."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from ragviz.core.index_info import IndexInfo
from ragviz.core.question_set import QuestionSet
from ragviz.health import drill, health_sentences
from ragviz.health.faults import FAULTS, POINTS
from ragviz.report import drill_plots
from ragviz.retrieval.retrievers import offered
from ragviz.service import question_verbs
from ragviz.text.markup import plain, visible
from ragviz.ui import cache, job_panel, presses, wording
from ragviz.ui.kit import figure, notices

WHY = (
    "A drill plants known faults into a copy of the index in memory, and counts what this set and `ragviz check "
    "--baseline` notice. The index, the documents and the runs stay as they are."
)


def show(question_set: QuestionSet, indexes: Sequence[IndexInfo]) -> None:
    """Draw the choices of a drill, and what the last one found; `indexes` are those that it can be made on."""
    st.caption(WHY)
    built = [info for info in indexes if info.build]
    if not built:
        st.markdown("Build an index first: a drill alters a copy of it.")
    elif not question_set.asked:
        st.markdown("The set asks no question: accept some first.")
    fact = _stored(cache.state(question_set.id))
    if built and question_set.asked:
        _start(question_set, built, fact)
    if fact is not None:
        _found(question_set, fact)


@st.cache_data(show_spinner=False, max_entries=32)
def _stored(of: cache.State) -> dict[str, Any] | None:
    return drill.stored(cache.workspace(), cache.workspace().store.sets.get(of.ids[0]))


def _start(question_set: QuestionSet, indexes: Sequence[IndexInfo], last: Mapping[str, Any] | None) -> None:
    """Draw the choices, at first those of the `last` drill, and the button; one that is active is shown here too."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = [info.name for info in indexes]
        name = names[0]
        if len(names) > 1:
            name = st.selectbox("Index", names, key=f"drill-index-{question_set.id}", format_func=visible)
        info = next(each for each in indexes if each.name == name)
        retrievers, before = offered(info.config), last or {}
        place = retrievers.index(before["retriever"]) if before.get("retriever") in retrievers else 0
        retriever = st.selectbox("Retriever", retrievers, place, key=f"drill-retriever-{info.id}")
        k = st.number_input(
            "k",
            1,
            50,
            min(before.get("k", 3), 50),
            key=f"drill-k-{question_set.id}",
            help="Chunks that hold the evidence.",
        )
        repetitions = st.number_input(
            "Plantings", 1, 500, drill.REPETITIONS, key=f"drill-many-{question_set.id}",
            help="How often each fault is planted in each size, in other places each time.",
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
    most = max((found["repetitions"] for found in fact["faults"]), default=0)
    since = f", {wording.counted(older, 'version')} of the set ago" if older > 0 else ""
    st.caption(
        f"Drilled {wording.ago(fact['date'])}{since}: {fact['metric']} by {fact['retriever']} on "
        f"{plain(fact['index'])}, {wording.counted(fact['questions'], 'question')} about "
        f"{wording.counted(fact['documents'], 'document')}, {wording.counted(fact['chunks'], 'chunk')}; "
        f"{wording.counted(most, 'planting')} of a fault and size at most."
    )
    st.markdown(f"**{plain(health_sentences.drill(fact))}**")
    with notices.errors_shown():
        titles = {name: fault.title.capitalize() for name, fault in FAULTS.items()}
        figure.draw(drill_plots.noticed(fact, titles, POINTS), f"drill-{question_set.id}")
    helps = [f"{fault.title.capitalize()}: {fault.help}" for fault in FAULTS.values()]
    reasons = dict.fromkeys(f"Not planted: {each['reason']}." for each in fact["faults"] if each["reason"])
    st.caption(plain(" ".join([*helps, *reasons])))
