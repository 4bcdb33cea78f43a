"""RAGQuestEval over a run: what the generated answers miss of their references, question by question."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES, Slice, part_title
from ragviz.core.run_info import Run
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.metrics import questeval
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs.judgements import Judgement
from ragviz.text.markup import UNANSWERABLE, plain
from ragviz.ui import address, cache, question_table, widgets, wording
from ragviz.ui.cache import State
from ragviz.ui.kit import heading, notices, saving, table, tiles
from ragviz.ui.quest_table import ANSWERABLE_BY, VARIANTS, question_words

NAME = "RAGQuestEval"
"""The name of the tab, here and on the page of a case."""
METRICS = {
    "judged": ("questeval_recall", "questeval_precision"),
    "extractive": ("extractive_questeval_recall",),
}
"""Variant → its metrics, recall first; the extractive precision is 1 by construction, so no metric."""
WHAT_IT_IS = {
    "judged": "Questions are asked that the reference answers, and are answered once from the reference and once from "
    "the generated answer: what the generated answer cannot answer is missing from it.",
    "extractive": "Key phrases of the reference are blanked out, and looked up in the generated answer, without a "
    "model: what does not occur in the generated answer is missing from it.",
}
"""What RAGQuestEval does, by variant, in a plain sentence."""
ORDER = ("reference", "both", "answer", "neither")
"""Which texts answer a question, in the order of the table: what the answers miss first."""
PAGE = 2000
"""Rows that the table holds at once."""


@st.cache_resource(show_spinner="Reading the RAGQuestEval questions", max_entries=8)
def _rows(of: State, variant: questeval.Variant) -> pd.DataFrame:
    """Return the rows of a run, what the answers miss most first; shared by all sessions, so never to be changed."""
    run = cache.workspace().store.run(of.ids[0])
    evaluated = cache.evaluated(run).values()
    return frame_of(questeval.rows_of_run(evaluated, cache.documents_of(run), (variant,)))


@st.cache_resource(show_spinner=False, max_entries=32)
def _counts(of: State, variant: questeval.Variant) -> dict[str, pd.DataFrame]:
    """Return the counts by kind and by document, of all rows; shared by all sessions, so never to be changed."""
    frame = _rows(of, variant)
    return {"kind": counts_by(frame, "kind"), "document": counts_by(frame, "documents")}


@st.cache_resource(show_spinner=False, max_entries=64)
def _variants(of: State) -> list[questeval.Variant]:
    return variants_of(cache.evaluated(cache.workspace().store.run(of.ids[0])).values())


def variants_of(evaluated_answers: Iterable[EvaluatedAnswer]) -> list[questeval.Variant]:
    """Return the variants of which evaluated answers have rows."""
    banks = [questeval.banks_of(evaluated) for evaluated in evaluated_answers]
    have = {name for by_variant in banks for name, (bank, _) in by_variant.items() if bank.items}
    return [name for name in questeval.VARIANTS if name in have]


def frame_of(rows: Sequence[questeval.Row]) -> pd.DataFrame:
    """Return rows as a table: first what only the reference answers, of the answers that miss the largest share.

    Then what both answer, the lowest F1 first, then what the reference does not answer; within these as asked.
    """
    frame = pd.DataFrame(
        {
            "by": [row.answerable_by for row in rows],
            "asked": [question_words(row) for row in rows],
            "reference": [row.reference_answer for row in rows],
            "generated": [row.generated_answer for row in rows],
            "f1": np.array([np.nan if row.f1 is None else row.f1 for row in rows]),
            "question": [row.question for row in rows],
            "documents": [row.documents for row in rows],
            "kind": [row.kind for row in rows],
            "id": [row.question_id for row in rows],
            "maker": [row.maker for row in rows],
        }
    )
    texts = zip(frame["asked"], frame["question"], frame["reference"], frame["generated"], strict=True)
    frame["searched"] = ["\n".join([*cells[:2], *filter(_is_text, cells[2:])]).casefold() for cells in texts]
    is_answered, is_missed = frame["by"] == "both", frame["by"] == "reference"
    counts = pd.DataFrame({"id": frame["id"], "both": is_answered, "all": is_answered | is_missed})
    counts = counts.groupby("id", sort=False).transform("sum")
    recall = (counts["both"] / counts["all"]).fillna(0)
    within = np.where(is_missed, recall, np.where(is_answered, frame["f1"], 0))
    order = np.lexsort((within, frame["by"].map({name: place for place, name in enumerate(ORDER)})))
    return frame.iloc[order].reset_index(drop=True)


def _is_text(cell: object) -> bool:
    return isinstance(cell, str)


def draw(run: Run, k: int, shown_ids: Collection[str], key: str) -> None:
    """Draw the tab: sentence, tiles, tables by kind and document, and the questions of the questions `shown_ids`."""
    judgement = cache.judgement(run)
    variants = _variants(cache.state(run.id))
    if not variants:
        _nothing(run, judgement)
        return
    variant = _variant(variants)
    of = cache.state(run.id, run.corpus_id)
    frame, counts = _rows(of, variant), _counts(of, variant)
    st.caption(WHAT_IT_IS[variant])
    st.markdown(plain(sentence(frame, counts["document"])))
    _tiles(frame, judgement, variant)
    _slices(run, k, counts, variant, key)
    _questions(run, k, frame, shown_ids, variant, key)


def _nothing(run: Run, judgement: Judgement) -> None:
    """Draw why there are no rows, and the step that makes some."""
    metrics = [name for names in METRICS.values() for name in names if name in judgement.metrics]
    if metrics:  # computed, and nothing to ask or to compare
        statuses = judgement.metrics[metrics[0]].without
        with notices.empty(f"RAGQuestEval asked nothing: {statuses}."):
            address.link("results", "Look at the scores", run=run.name, tab="Scores")
        return
    why = "" if question_table.answers(run) else ": this run has no answers to compare with their references"
    made_of = run.provenance
    command = [
        *("ragviz", "run", "--index", made_of["index"], "--questions", made_of["questions"], "--name", "NAME"),
        *("--answerer", "extractive", "--metrics", "extractive_questeval_recall"),
    ]
    with notices.empty(
        f"RAGQuestEval was not computed{why}. Make a run with an answerer and the metric **RAGQuestEval recall**, "
        "which a model judges, or **RAGQuestEval recall, extractive**, which needs no model:"
    ):
        address.link("run", "Make a run", index=made_of["index"], set=made_of["questions"])
    if made_of["index_config"]:  # not of an imported run
        st.code(" ".join(map(shlex.quote, command)), language="bash", wrap_lines=True)


def _variant(names: list[questeval.Variant]) -> questeval.Variant:
    """Return the variant shown, after drawing the choice where there are two."""
    if len(names) == 1:
        return names[0]
    name = address.choose_one("Questions asked", {each: VARIANTS[each] for each in names}, "bank")
    return next(each for each in names if each == name)


def sentence(frame: pd.DataFrame, by_document: pd.DataFrame) -> str:
    """Return the outcome in words: what is answered of what the references answer, and where most is missed.

    `by_document` are the counts of the rows by document, as `counts_by` returns them.
    """
    counts = frame["by"].value_counts()
    both, missed = int(counts.get("both", 0)), int(counts.get("reference", 0))
    if not both + missed:
        return "No question about a reference can be answered from it: there is nothing to count."
    words = f"The generated answers answer {both:,} of the {both + missed:,} questions that their references answer"
    words += f" ({both / (both + missed):.0%})"
    if both and frame["maker"].iloc[0] != "extractive":
        words += f"; where both answer, token F1 is {frame['f1'].mean():.2f} on average"
    most_missed = by_document[by_document["missed"] == by_document["missed"].max()]
    if missed and len(by_document) > 1 == len(most_missed):
        worst = most_missed.iloc[0]
        words += f". Most is missed of {worst.name}: {int(worst['missed']):,} of {int(worst['answerable']):,}"
    return f"{words}."


def counts_by(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return |Q| `asked`, |A| `answerable`, |B| `both` and `missed` for each kind, or for each document, by name.

    A question with evidence in two documents counts in both.
    """
    parts = frame[[column, "by"]].explode(column).dropna()
    of = parts[column]
    return pd.DataFrame(
        {
            "asked": parts["by"].groupby(of).size(),
            "answerable": parts["by"].isin(["both", "reference"]).groupby(of).sum(),
            "both": (parts["by"] == "both").groupby(of).sum(),
            "missed": (parts["by"] == "reference").groupby(of).sum(),
        }
    )


def _tiles(frame: pd.DataFrame, judgement: Judgement, variant: str) -> None:
    """Draw recall and precision as means over the answers, and the counts with what both denominators give."""
    by = frame["by"].value_counts()
    asked, both, missed = len(frame), int(by.get("both", 0)), int(by.get("reference", 0))
    answerable, f1 = both + missed, float(frame["f1"].sum())
    with st.grid(len(METRICS[variant]) + 3, min_column_width=115):
        for name in METRICS[variant]:
            if name in judgement.metrics:
                title = "Recall" if name.endswith("recall") else "Precision"
                explained = ANSWER_METRICS[name].explanation
                tiles.mean(title, judgement.metrics[name].estimate, explained=explained)
        tiles.tile(
            "Asked, |Q|", f"{asked:,}", f"of {wording.counted(frame['id'].nunique(), 'answer')}",
            explained="All questions made from the references. Over all of them together, those that the references "
            f"cannot answer counted as missed, recall is {_share(both, asked)} and precision {_share(f1, asked)}: the "
            "other reading of the paper. The tiles Recall and Precision are means over the answers instead, so that "
            "each answer counts alike.",
        )  # fmt: skip
        tiles.tile(
            "Answerable, |A|", f"{answerable:,}", f"unanswerable: {asked - answerable:,} of {asked:,}",
            explained="Questions that the reference itself answers: the denominator of recall. Bank quality, 1 − "
            f"|A|/|Q|, is {_share(asked - answerable, asked)}; 0 is best.",
        )  # fmt: skip
        tiles.tile(
            "Answered by both, |B|", f"{both:,}", f"{missed:,} of {answerable:,} missed",
            explained="Questions that reference and generated answer both answer: the denominator of precision. Missed "
            "are those that only the reference answers.",
        )  # fmt: skip
    means = judgement.metrics.get(METRICS[variant][0])
    without = means.without if means else ""
    unasked = f" Answers not counted: {without}." if without else ""
    pooled = (
        "Recall and precision are means over the n answers, each of which counts alike; the sentence and the other "
        "tiles count the RAGQuestEval questions of all answers together, so that their share differs."
    )
    extractive = " The extractive precision is 1 by construction: both texts hold the same phrase."
    st.caption(f"{pooled}{unasked}{extractive if variant == 'extractive' else ''}")


def _share(part: float, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "–"


def _slices(run: Run, k: int, counts: Mapping[str, pd.DataFrame], variant: str, key: str) -> None:
    """Draw the means with intervals and the counts by kind and by document; a row filters by it."""
    parts = cache.breakdown(run, k, ("kind", "document"), METRICS[variant])
    parts = [part for part in parts if part.name in counts[part.by].index]
    if not parts:
        return
    missed = counts["document"]["missed"].to_dict()
    parts.sort(key=lambda part: (1, -missed[part.name]) if part.by == "document" else (0, 0))
    rows = slice_rows(parts, counts, METRICS[variant])
    with widgets.above_table("questeval-by"):
        heading.section("By kind and document")
        saving.button(rows, f"{run.name}-questeval-by-document", "questeval-by-csv")
    state = f"questeval-by-{variant}-{key}"

    def opened() -> None:
        question_table.list_part(table.selected(st.session_state[state], parts))

    bar = partial(st.column_config.ProgressColumn, min_value=0, max_value=1, format="%.2f", width=110)
    widgets.table(
        rows, state, columns={"Recall": bar(), "Precision": bar()}, on_select=opened, height=_height(len(rows), 6),
        alt="RAGQuestEval by kind and document",
    )  # fmt: skip
    asked = int(counts["kind"]["asked"].sum())
    if int(counts["document"]["asked"].sum()) > asked:
        st.caption(
            "A question with evidence in several documents counts in each of them: the documents together exceed the "
            f"{asked:,} asked."
        )


def slice_rows(parts: Sequence[Slice], counts: Mapping[str, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Return one row a kind or document: means of the metrics `names` with intervals and n, then the counts."""
    columns: dict[str, Any] = {"Kind or document": [part_title(part) for part in parts]}
    cells = [counts[part.by].loc[part.name].to_dict() for part in parts]
    for title, name in (("Missed", "missed"), ("Answerable", "answerable"), ("Asked", "asked")):
        columns[title] = [cell[name] for cell in cells]
    for title, name in zip(("Recall", "Precision"), names, strict=False):
        if name in parts[0].metrics:
            estimates = [part.metrics[name].estimate for part in parts]
            columns[title] = pd.array([each.mean for each in estimates], dtype="Float64")
            columns[f"{title}, 95 % CI"] = [tiles.interval_words(each) for each in estimates]
            columns[f"{title}, n"] = [each.n for each in estimates]
    return pd.DataFrame(columns)


def _height(rows: int, most: int) -> int:
    """Return the height of a table with up to `most` rows in view, in pixels."""
    return 36 * (min(rows, most) + 1) + 2


def _questions(run: Run, k: int, frame: pd.DataFrame, shown_ids: Collection[str], variant: str, key: str) -> None:
    """Draw the questions that pass the filters, those of the page's questions and their own."""
    filters = question_table.active_filters()
    of_shown = frame[frame["id"].isin(set(shown_ids))] if filters else frame
    of_shown = _found(of_shown)
    with widgets.above_table("questeval"):
        count = st.container(width="stretch")
        button = st.container(width="content")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        by = _answerable_by(of_shown)
        with st.container(width=240):
            _find()
    rows = of_shown if by == "all" else of_shown[of_shown["by"] == by]
    count.markdown(f"**{len(rows):,} of {wording.counted(len(frame), 'RAGQuestEval question')}**, what is missed first")
    with button:
        saving.button(lambda: table_of(rows), f"{run.name}-questeval-{variant}", "questeval-csv")
    if filters:
        _filter_line(run, k, filters)
    page = _page_of(rows)
    state = f"questeval-{variant}-{key}"

    def opened() -> None:
        if question_id := table.selected(st.session_state[state], list(page["id"])):
            st.session_state["open-question"], st.session_state["open-tab"] = question_id, NAME

    widgets.table(
        table_of(page), state, columns=_columns(), on_select=opened, height=_height(max(len(page), 1), 14),
        alt="RAGQuestEval questions, what the answers miss first", empty="–",
    )  # fmt: skip


def _filter_line(run: Run, k: int, filters: Mapping[str, str]) -> None:
    """Draw which filters of the page's questions apply, with the button that removes them."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = ", ".join(
            f"{name}: {question_table.filter_words(run, k, name, value)}" for name, value in filters.items()
        )
        st.caption(f"Of the questions with {plain(words)}", width="content")
        if st.button("Remove the filter", icon=":material/close:", type="tertiary", key="questeval-all"):
            address.put(**dict.fromkeys(filters))
            st.rerun()


def _answerable_by(frame: pd.DataFrame) -> str:
    """Draw the filter by who answers, with counts, and return its choice."""
    counts = frame["by"].value_counts()
    titles = {"all": f"all {len(frame):,}"}
    titles |= {name: f"{ANSWERABLE_BY[name]} {int(counts.get(name, 0)):,}" for name in ORDER}
    return address.choose_one("Answerable by", titles, "answerable")


def _find() -> None:
    st.session_state["asked-filter"] = st.query_params.get("asked", "")
    st.text_input(
        "Find in RAGQuestEval", key="asked-filter", placeholder="Find in questions and answers",
        label_visibility="collapsed", on_change=lambda: address.put(asked=st.session_state["asked-filter"] or None),
    )  # fmt: skip


def _found(frame: pd.DataFrame) -> pd.DataFrame:
    words = st.query_params.get("asked", "").casefold()
    return frame[frame["searched"].str.contains(words, regex=False)] if words else frame


def _page_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that the table shows, after drawing the choice of them where there are more than `PAGE`."""
    pages = -(-len(rows) // PAGE)
    if pages < 2:
        return rows
    with st.container(width=220):
        arguments = address.bound("rows", 1, address.number_within(1, pages), f"1 to {pages}")
        page = int(st.number_input(f"Page of {pages}, {PAGE:,} rows each", 1, pages, **arguments))
    return rows.iloc[(page - 1) * PAGE : page * PAGE]


def table_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the table shows them and the CSV holds them."""
    return pd.DataFrame(
        {
            "Answerable by": frame["by"].map(ANSWERABLE_BY),
            "RAGQuestEval question": frame["asked"],
            "Answer from the reference": frame["reference"].fillna(UNANSWERABLE),
            "Answer from the generated text": frame["generated"].fillna(UNANSWERABLE),
            "F1": frame["f1"].astype("Float64"),
            "Question": frame["question"],
            "Document": frame["documents"].map(", ".join),
            "Kind": frame["kind"].map(KIND_TITLES),
            "Id": frame["id"],
        }
    )


def _columns() -> dict[str, Any]:
    text = st.column_config.TextColumn
    return {
        "Answerable by": text(width=98),
        "RAGQuestEval question": text(width=225),
        "Answer from the reference": text(width=162),
        "Answer from the generated text": text(width=192),
        "F1": st.column_config.NumberColumn(
            format="%.2f", width=45, help="Token F1 of the two answers; empty unless both texts answer."
        ),
        "Question": text(width=210),
        "Document": text(width=150),
    }
