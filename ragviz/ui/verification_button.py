"""Verifying the questions of a set, those too that are verified: by a model, with its estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.generation import verification, verifying
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import budget, cache, job_panel, presses
from ragviz.ui.kit import acting, notices, tiles


def show(question_set: QuestionSet, questions: Sequence[Question]) -> None:
    """Draw the popover with the choices of a verification; nothing where no question is asked, or no model is there."""
    waiting, asked = verification.waiting(questions), verification.waiting(questions, again=True)
    workspace = cache.workspace()
    indexes = [info.name for info in workspace.store.indexes.all(question_set.corpus_id) if info.build]
    if not (asked and indexes and workspace.settings.model_configured):
        return
    label = f"Verify {len(waiting):,}…" if waiting else "Verify again…"
    with st.popover(label, key="verify-choices", on_change="rerun"):
        index = st.selectbox("Index", indexes, key="verify-index")
        arguments: dict[str, Any] = {"questions": question_set.name, "index": index, "again": not waiting}
        dollars = budget.field("For everything that the set's questions have cost.", "verify-budget")
        going = job_panel.active_job("verify", question_set.corpus_id, questions=question_set.name) is not None
        with st.container(horizontal=True):
            pressed = st.button(
                "Verifying…" if going else "Verify", type="primary", key=presses.key("verify-questions"),
                disabled=going or acting.off(),
                on_click=lambda: st.session_state.update({"verify-choices": False}),  # it would lie over the questions
            )  # fmt: skip
            estimated = st.button("Estimate calls and cost", key="verify-estimate")
        if estimated:
            with notices.errors_shown(), st.spinner("Counting calls"):
                tiles.forecast(verifying.foresee_verification(workspace, **arguments))
                st.caption(verifying.NOT_COUNTED)
        if pressed:
            job_panel.submit("verify-questions", question_verbs.verify(workspace, arguments, dollars))
            st.rerun()


def outcome(question_set: QuestionSet) -> None:
    """Draw what became of the newest verification of a set, until it is closed."""
    job = job_panel.finished_job("verify", question_set.corpus_id)
    if job is None or job.result.get("questions") != question_set.name:
        return
    with notices.closable("close-verified", lambda: job_panel.dismiss(job)):
        st.markdown(plain(verifying.summary(job.result)))
