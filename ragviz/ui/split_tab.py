"""The split of a question set into validation and test: what there is, a preview of another one, and making it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES
from ragviz.core.question import Question, QuestionKind, Split
from ragviz.core.question_set import QuestionSet
from ragviz.questions import sets, splits
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, wording
from ragviz.ui.kit import acting, heading, notices, table

WHY = (
    "Configurations are chosen on **validation**, and the chosen one is reported on **test**: on the questions that it "
    "was chosen on, it looks better than it is."
)
LEAST, MOST = 0.01, 0.99
"""Shares of validation that can be chosen here."""


def show(question_set: QuestionSet, questions: Sequence[Question]) -> None:
    """Draw the split that there is, the choices of another one with its sizes, and the button that makes it."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(WHY)
        if question_set.split is None:
            st.markdown(f"{plain(question_set.name)} is not split yet.")
        else:
            st.markdown(f"Now: **{plain(splits.set_words(question_set))}**.")
            grouped = question_set.split.kind == "grouped"
            shared = splits.shared_words(question_set.split, questions) if grouped else ""
            for words in filter(None, (shared, splits.neither_words(question_set))):
                st.caption(f":orange[▲] {words}")
        kind, share, seed = _choices(question_set.split)
    with right, notices.errors_shown():
        sides = splits.sides_of(questions, kind, share, seed)
        heading.section("Preview")
        divided = [replace(question, split=sides.get(question.id, "")) for question in questions]
        parts = [part for part in splits.parts(divided) if part.side or part.questions]
        kinds = [each for each in get_args(QuestionKind) if any(each in part.kinds for part in parts)]
        rows = [
            {"Side": (part.side or "neither").capitalize(), "Questions": part.questions}
            | {KIND_TITLES[each].capitalize(): part.kinds.get(each, 0) for each in kinds}
            | {"Documents": part.documents}
            for part in parts
        ]
        table.draw(pd.DataFrame(rows), "split-sizes", alt="Questions, documents and kinds of each side")
        if count := len(splits.on_both(divided)):
            st.caption(f"{wording.counted(count, 'document', 'has')} questions on both sides.")
        same = {q.id: q.split for q in questions if q.split} == sides
        is_made = same and question_set.split is not None and question_set.split.kind == kind
        label = "Make the split" if question_set.split is None else "Make it again"
        pressed = st.button(label, type="primary", key="make-split", disabled=is_made or acting.off())
        if is_made:
            st.caption("This is the split that the set has.")
        make = partial(question_verbs.split, cache.workspace(), question_set, kind, share, seed, remake=True)
        used = sets.runs_of_split(cache.workspace(), question_set) if pressed else []
        if used:
            notices.confirm(
                f"{sets.used_words(used)} the present split of “{question_set.name}”. They keep their questions and "
                "results, but what was chosen on validation may be in test afterwards.",
                "Make it again",
                make,
            )
        elif pressed:
            make()
            st.rerun()


def _choices(present: Split | None) -> tuple[str, float, int]:
    kinds = list(splits.KINDS)
    made = present if present is not None and present.kind in kinds else Split("stratified", 0.5, 0)
    titles = {kind: kind.capitalize() for kind in dict.fromkeys([made.kind, *kinds])}
    kind = address.choose_one("Kind", titles, "split-kind")
    st.caption(splits.KINDS[kind])
    one, two = st.columns(2)
    usual = min(max(made.share or 0.5, LEAST), MOST)
    share = one.number_input(
        "Share of validation", LEAST, MOST, step=0.05, format="%.2f",
        **address.bound("split-share", usual, address.share_within(LEAST, MOST), f"a number from {LEAST} to {MOST}"),
    )  # fmt: skip
    numbers = address.number_within(0, 2**31 - 1)
    seed = two.number_input(
        "Seed", 0, 2**31 - 1, **address.bound("split-seed", made.seed or 0, numbers, "a number from 0 on")
    )
    return kind, float(share), int(seed)
