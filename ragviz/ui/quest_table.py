"""RAGQuestEval of one answer: its counts as tiles, and the questions of its bank as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.core.verdict import Bank, EvaluatedAnswer
from ragviz.judging.extractive_questeval import BLANK
from ragviz.metrics import questeval
from ragviz.text import language
from ragviz.text.markup import UNANSWERABLE, plain, visible
from ragviz.ui import address, widgets, wording
from ragviz.ui.kit import heading, notices, saving, tiles

VARIANTS = {"judged": "Questions in words", "extractive": "Key phrases, no model"}
ANSWERABLE_BY = {
    "both": "both", "reference": "reference only", "answer": "generated answer only", "neither": "neither",
}  # fmt: skip
"""Which text answers a question → its name on the page."""
F1 = {"all": "any F1", "0": "F1 below 0.5", "1": "F1 0.5 or more", "none": "no F1"}
"""The options of the filter by token F1."""
_REACH = 60
"""Characters that are shown on each side of the blank of an extractive question."""
_GREY = {"light": "#5F6873", "dark": "#9AA4B0"}
"""The text of unanswerable questions on both themes: AA contrast."""


def quest_tab(evaluated: EvaluatedAnswer | None, run_name: str, *, answers: bool) -> None:
    """Draw counts and questions of the bank chosen; says what to do where nothing was asked."""
    banks = questeval.banks_of(evaluated) if evaluated is not None and answers else {}
    if not banks or evaluated is None:
        with notices.empty(_why_none(evaluated, answers=answers)):
            if (
                not answers
                or evaluated is None
                or (evaluated.question.answer and evaluated.answer.status == "answered")
            ):
                address.link("run", "Make a run with RAGQuestEval")
        return
    variant = next(iter(banks))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        heading.section(bank_words(banks, variant_of(banks) or variant))
        if len(banks) > 1:
            variant = address.choose_one("Questions asked", {name: VARIANTS[name] for name in banks}, "bank")
    bank, answered = banks[variant]
    if not bank.items:
        st.caption("No questions: the reference holds no key information.")
        return
    count_tiles(questeval.measure(bank, answered))
    quest_rows(
        questeval.rows(evaluated, variants=(variant,)), f"{run_name}-{evaluated.question.id}-{variant}-questeval"
    )


def variant_of(banks: dict[str, tuple[Bank, Sequence[str | None]]]) -> str | None:
    """Return the variant in the address, None when there is none."""
    return address.readable("bank", address.one_of(banks), f"one of {', '.join(banks)}")


def _why_none(evaluated: EvaluatedAnswer | None, *, answers: bool) -> str:
    if not answers:
        return "This run has no answers, so RAGQuestEval asked nothing: it compares an answer with its reference."
    if evaluated is not None and not evaluated.question.answer:
        return "RAGQuestEval asks from the reference answer, and this question has none."
    if evaluated is not None and evaluated.answer.status != "answered":
        return "There is no answer to compare with the reference: RAGQuestEval asked nothing."
    return "RAGQuestEval was not among the metrics of this run."


def bank_words(banks: dict[str, tuple[Bank, Sequence[str | None]]], variant: str) -> str:
    """Return who asked, from which text, in which language."""
    bank = banks[variant][0]
    maker = {"extractive": "without a model", "import": "imported"}.get(bank.maker, f"by {bank.maker}")
    tongue = f", {language.NAMES[bank.language]}" if bank.language in ("en", "zh") else ""
    return f"{wording.counted(len(bank.items), 'question')} from the reference, {plain(maker)}{tongue}"


def count_tiles(scores: questeval.QuestEval) -> None:
    """Draw recall and precision as worked fractions, with both denominators, and the counts Q, A and B."""
    asked, answerable, answered = scores.questions, scores.answerable, scores.answered
    f1 = (scores.precision or 0.0) * answered
    with st.grid(5, min_column_width=115):
        tiles.tile("Recall ↑", number(scores.recall), f"|B|/|A| = {answered}/{answerable}",
                     explained="The share of what the reference states that the answer states too.")  # fmt: skip
        tiles.tile("Precision ↑", number(scores.precision), f"ΣF1/|B| = {f1:.2f}/{answered}",
                     explained="How well the answers agree where both texts answer: mean token F1 over B.")  # fmt: skip
        tiles.tile("Asked, |Q|", str(asked), "from the reference",
                     explained="All questions made from the reference. Recall and precision over |Q| count what the "
                     f"reference cannot answer as missed, the other reading of the paper: |B|/|Q| = {answered}/{asked} "
                     f"and ΣF1/|Q| = {f1:.2f}/{asked}.")  # fmt: skip
        tiles.tile("Answerable, |A|", str(answerable), f"unanswerable: {asked - answerable} of {asked}",
                     explained="Questions that the reference itself answers. The others say nothing of the answer: "
                     f"bank quality 1 − |A|/|Q| is {number(scores.quality)}; 0 is best.")  # fmt: skip
        tiles.tile("Answered by both, |B|", str(answered), f"{answerable - answered} of |A| missed",
                     explained="Questions that reference and generated answer both answer.")  # fmt: skip


def number(value: float | None) -> str:
    """Return a score as a tile shows it; – for one that is not applicable."""
    return "–" if value is None else f"{value:.2f}"


def quest_rows(rows: Sequence[questeval.Row], name: str) -> None:
    """Draw the questions as a table that can be sorted, filtered by who answers and by F1, and downloaded."""
    with widgets.above_table("quest"):
        count = st.container(width="stretch")
        with st.container(width=200):
            by = _choice("answerable", {"all": "answerable by: any", **ANSWERABLE_BY}, "Answerable by")
        with st.container(width=150):
            f1 = _choice("f1", F1, "Token F1")
        shown = [row for row in rows if (by == "all" or row.answerable_by == by) and _has_f1(row, f1)]
        table = table_of(shown)
        saving.button(table, name, "quest-csv")
    count.markdown(f"**{len(shown)} of {wording.counted(len(rows), 'question')}**")
    _draw(table, [row.reference_answer is None for row in shown])
    if any(row.reference_answer is None for row in shown):
        st.caption(f"Grey: {UNANSWERABLE.strip('<>').lower()} by the reference, so not counted in recall or precision.")


def _has_f1(row: questeval.Row, choice: str) -> bool:
    if choice == "none":
        return row.f1 is None
    return choice == "all" or (row.f1 is not None and (row.f1 >= 0.5) == (choice == "1"))


def table_of(rows: Sequence[questeval.Row]) -> pd.DataFrame:
    """Return one row a question, as the table shows it and the CSV holds it."""
    return pd.DataFrame(
        {
            "#": [row.number for row in rows],
            "Question": [question_words(row) for row in rows],
            "Answer from the reference": [_answer_words(row.reference_answer) for row in rows],
            "Answer from the generated text": [_answer_words(row.generated_answer) for row in rows],
            "F1": pd.array([row.f1 for row in rows], dtype="Float64"),
            "Answerable by": [ANSWERABLE_BY[row.answerable_by] for row in rows],
        }
    )


def _answer_words(answer: str | None) -> str:
    return UNANSWERABLE if answer is None else answer


def question_words(row: questeval.Row) -> str:
    """Return the question; of an extractive one only what is around its blank, for it repeats the reference.

    >>> from dataclasses import replace
    >>> row = questeval.Row("extractive", "q", "", "single", (), 1, "k", "a " * 90 + "____ end.", "k", None, None, "")
    >>> question_words(row) == "… " + ("a " * 30) + "____ end."
    True
    """
    if row.variant != "extractive" or BLANK not in row.asked:
        return row.asked
    before, _, after = row.asked.partition(BLANK)
    head = before if len(before) <= _REACH else "… " + before[-_REACH:].lstrip()
    tail = after if len(after) <= _REACH else after[:_REACH].rstrip() + " …"
    return f"{head}{BLANK}{tail}"


def _draw(table: pd.DataFrame, unanswerable: Sequence[bool]) -> None:
    grey = f"color: {_GREY.get(st.context.theme.type or 'light', _GREY['light'])}; font-style: italic"
    shown = table.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    styled = shown.style.apply(lambda row: [grey if unanswerable[row.name] else ""] * len(row), axis=1)
    st.dataframe(
        styled, hide_index=True, key="quest-rows", height="content" if len(table) < 12 else 430, placeholder="–",
        alt="Questions of RAGQuestEval",
        column_config={
            "#": st.column_config.NumberColumn(width=35),
            "Question": st.column_config.TextColumn(width=215),
            "Answer from the reference": st.column_config.TextColumn(width=160),
            "Answer from the generated text": st.column_config.TextColumn(width=192),
            "F1": st.column_config.NumberColumn(
                format="%.2f", width=45, help="Token F1 of the two answers; empty unless both texts answer."
            ),
            "Answerable by": st.column_config.TextColumn(width=100),
        },
    )  # fmt: skip


def _choice(name: str, titles: dict[str, str], label: str) -> str:
    read, first = address.one_of(titles), next(iter(titles))
    chosen: str = st.selectbox(
        label, list(titles), format_func=titles.__getitem__, label_visibility="collapsed",
        **address.bound(name, first, read, f"one of {', '.join(titles)}"),
    )  # fmt: skip
    return chosen
