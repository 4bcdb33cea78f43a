"""The drill of a question set: the button that runs it, what it found in one sentence and one picture."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from ragviz.core.configuration import IndexInfo
from ragviz.core.question_set import QuestionSet
from ragviz.health import drill, health_sentences
from ragviz.report import health_plots
from ragviz.retrieval.retrievers import offered
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, job_panel, wording
from ragviz.ui.kit import figure, notices

WHY = (
    "A drill leaves evidence out of the rankings of an index, and counts what this set notices. "
    "The index, the documents and the runs stay as they are."
)


def show(question_set: QuestionSet, index: IndexInfo | None) -> None:
    """Draw the choices of a drill on an index, and what the last one found."""
    st.caption(WHY)
    fact = _stored(question_set)
    if index is None or not index.build:
        with notices.empty("A drill ranks the chunks of an index, and there is none."):
            address.link("index", "Build an index")
    elif not question_set.asked:
        st.markdown("The set asks no question: accept some first.")
    else:
        active = job_panel.active_job("drill", question_set.corpus_id, questions=question_set.name)
        last, retrievers = fact or {}, offered(index.config)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            place = retrievers.index(last["retriever"]) if last.get("retriever") in retrievers else 0
            retriever = st.selectbox("Retriever", retrievers, place, key=f"drill-retriever-{index.id}")
            k = st.number_input("k", 1, 50, min(last.get("k", 3), 50), key=f"drill-k-{question_set.id}")
            chosen = {"retriever": retriever, "k": int(k)}
            new = partial(question_verbs.drill, cache.workspace(), question_set, index, chosen)
            label = "Drill it again" if last else "Drill this set"
            job_panel.button(label, "drill", new, active=active, kind="secondary" if last else "primary")
    if fact is None:
        return
    older = question_set.version - fact["set_version"]
    since = f", {wording.counted(older, 'version')} of the set ago" if older > 0 else ""
    st.markdown(f"**{plain(health_sentences.drill(fact))}**")
    figure.draw(health_plots.noticed(fact), f"drill-{question_set.id}")
    st.caption(
        f"Drilled {wording.ago(fact['date'])}{since}: {fact['metric']} by {fact['retriever']} on "
        f"{plain(fact['index'])}, {wording.counted(fact['questions'], 'question')} about "
        f"{wording.counted(fact['documents'], 'document')}, {wording.counted(fact['chunks'], 'chunk')}."
    )
    for reason in dict.fromkeys(row["reason"] for row in fact["losses"] if row["reason"]):
        st.caption(plain(f"Not planted: {reason}."))


@cache.kept(32)
def _stored(question_set: QuestionSet) -> dict[str, Any] | None:
    return drill.stored(cache.workspace(), question_set)
