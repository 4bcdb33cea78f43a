"""Reviewers of a question set: samples assigned to them, what they said, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet, Review
from ragviz.questions import reviewing
from ragviz.questions.reviewing import VERDICTS, PairAgreement, Workload
from ragviz.text.markup import plain
from ragviz.ui import address, cache, person, widgets, wording
from ragviz.ui.kit import heading, inputs, notices, table

KAPPA = (
    "Cohen's kappa: (observed − expected agreement) ÷ (1 − expected agreement), from −1 to 1; 0 is agreement by chance."
)


def show(question_set: QuestionSet, questions: Sequence[Question]) -> None:
    """Draw the assignment of a random sample, the reviewers, their agreement, and where they disagree."""
    reviews = cache.workspace().store.reviews.all(question_set.id)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _assign(question_set, questions)
    with right:
        if not reviews:
            st.markdown("No reviewers yet. Assign a random sample of the questions to somebody, or to yourself.")
            return
        _reviewers(question_set, reviewing.workloads(reviews))
        _agreement(reviewing.agreements(reviews))
    _disagreed(question_set, questions, reviews)


def _assign(question_set: QuestionSet, questions: Sequence[Question]) -> None:
    person.field()
    asked = sum(question.asked for question in questions)
    with st.form("assign-sample"):
        st.markdown("**Assign a random sample**")
        reviewer = st.text_input("Reviewer", value=person.name(), max_chars=reviewing.LONGEST_NAME)
        one, two = st.columns(2)
        count = one.number_input("Questions", 1, max(1, asked), min(20, max(1, asked)))
        seed = two.number_input("Seed", 0, 2**31 - 1, 0)
        st.caption("Two reviewers given the same seed get the same questions: that is how agreement is measured.")
        if st.form_submit_button("Assign", type="primary", disabled=not asked):
            with notices.errors_shown():
                drawn = reviewing.assign(cache.workspace().store, question_set, reviewer, int(count), int(seed))
                st.toast(plain(f"{wording.counted(len(drawn), 'question')} assigned to {reviewer.strip()}"))
                st.rerun()


def _reviewers(question_set: QuestionSet, loads: Sequence[Workload]) -> None:
    heading.section("Reviewers")
    rows = reviewer_rows(loads)
    widgets.table(rows, "reviewers", height=widgets.height_of(len(rows), 6), alt="Reviewers and their verdicts")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = [load.reviewer for load in loads if load.waiting]
        if not names:
            st.caption("Every assigned question has a verdict.")
            return
        mine = person.name()
        first = names.index(mine) if mine in names else 0
        inputs.still_there("queue-of", names, "reviewer")
        chosen = st.selectbox("Waiting for", names, index=first, key="queue-of")
        if st.button("Review them", type="primary", key="review-queue"):
            address.put(tab="Review", reviewer=chosen, status=None, find=None, question=None)
            st.rerun()
        if st.button("Take back", key="unassign", help="Those without a verdict are no longer assigned."):
            reviewing.unassign(cache.workspace().store, question_set, chosen)
            st.rerun()


def reviewer_rows(loads: Sequence[Workload]) -> pd.DataFrame:
    """Return the table of reviewers: assigned, waiting, the count of each verdict, and when the newest was made."""
    return pd.DataFrame(
        {
            "Reviewer": [load.reviewer for load in loads],
            "Assigned": [load.assigned for load in loads],
            **{title.capitalize(): [load.verdicts.get(v, 0) for load in loads] for v, title in VERDICTS.items()},
            "Waiting": [load.waiting for load in loads],
            "Newest verdict": ["" if load.newest is None else wording.when(load.newest) for load in loads],
        }
    )


def _agreement(pairs: Sequence[PairAgreement]) -> None:
    if not pairs:
        return
    heading.section("Agreement")
    rows = agreement_rows(pairs)
    columns = {
        "Same verdict": st.column_config.NumberColumn(format="percent"),
        "Kappa": st.column_config.NumberColumn(format="%.2f", help=KAPPA),
    }
    widgets.table(
        rows, "agreement", columns=columns, height=widgets.height_of(len(rows), 6), empty="–",
        alt="Agreement of every two reviewers",
    )  # fmt: skip


def agreement_rows(pairs: Sequence[PairAgreement]) -> pd.DataFrame:
    """Return the table of pairs of reviewers who judged questions in common."""
    return pd.DataFrame(
        {
            "Reviewers": [f"{pair.one} · {pair.other}" for pair in pairs],
            "Judged by both": [pair.agreement.n for pair in pairs],
            "Same verdict": [None if (share := pair.agreement.share) is None else round(share, 2) for pair in pairs],
            "Kappa": pd.array([pair.agreement.kappa for pair in pairs], dtype="Float64"),
        }
    )


def _disagreed(question_set: QuestionSet, questions: Sequence[Question], reviews: Sequence[Review]) -> None:
    """Draw the questions on which reviewers disagree, or one is unsure; a row opens the question."""
    by_id = {question.id: question for question in questions}
    ids = [question_id for question_id in reviewing.disagreed(reviews) if question_id in by_id]
    if not ids:
        return
    heading.section("Undecided")
    said: dict[str, list[str]] = {}
    for review in reviews:
        if review.verdict is not None:
            said.setdefault(review.question_id, []).append(verdict_words(review))
    verdicts = [", ".join(said[i]) for i in ids]
    rows = pd.DataFrame({"Question": [by_id[i].text for i in ids], "Verdicts": verdicts, "Id": ids})
    st.caption(
        f"{wording.counted(len(ids), 'question')} on which reviewers disagree or are unsure: proposed until somebody "
        "decides. A row opens the question."
    )

    def opened() -> None:
        question_id = table.selected(st.session_state["disagreed"], ids)
        address.put(tab="Review", question=question_id, status=None, reviewer=None, find=None)

    widgets.table(
        rows, "disagreed", on_select=opened, height=widgets.height_of(len(rows), 8), alt="Questions in dispute",
        columns={"Question": st.column_config.TextColumn(width="large")},
    )  # fmt: skip


def verdict_words(review: Review) -> str:
    """Return who gave which verdict on a question, and when; "" without one."""
    if review.verdict is None:
        return ""
    at = f" · {wording.when(review.decided)}" if review.decided is not None else ""
    return f"{review.reviewer}: {VERDICTS[review.verdict]}{at}"


def comments(question_set: QuestionSet, question: Question) -> None:
    """Draw the comments on a question, and the field for another one."""
    store = cache.workspace().store
    said = store.reviews.comments(question_set.id, question.id)
    with st.expander(f"Comments ({len(said)})", expanded=bool(said)):
        for comment in said:
            with st.container(gap=None):
                who = f"**{plain(comment.author or 'unnamed')}** · {wording.when(comment.created)}"
                st.markdown(f"{who}  \n{plain(comment.text)}")
                if st.button("Delete", key=f"uncomment-{comment.id}", type="tertiary"):
                    store.reviews.delete_comment(question_set.id, comment.id)
                    st.rerun()
        with st.form(f"comment-{question.id}", clear_on_submit=True, border=False):
            text = st.text_area("Comment", label_visibility="collapsed", placeholder="Write a comment", height=68)
            if st.form_submit_button("Comment") and text.strip():
                store.reviews.comment(question_set.id, question.id, person.name(), text.strip())
                st.rerun()
