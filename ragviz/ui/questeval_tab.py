"""RAGQuestEval: what generated answers miss of their references, question by question, of a run and of one answer."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES
from ragviz.core.configuration import Run
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging.similarities import BLANK
from ragviz.metrics import questeval
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs.judgements import Judgement
from ragviz.text.markup import UNANSWERABLE, plain
from ragviz.ui import address, cache, question_table, wording
from ragviz.ui.kit import filters, heading, notices, table, tiles

NAME = "RAGQuestEval"
VARIANTS = {"judged": "Questions in words", "extractive": "Key phrases, no model"}
ANSWERABLE_BY = {
    "both": "both", "reference": "reference only", "answer": "generated answer only", "neither": "neither",
}  # fmt: skip
"""Which text answers a question → its name on the page."""
METRICS = {"judged": ("questeval_recall", "questeval_precision"), "extractive": ("extractive_questeval_recall",)}
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
F1_COLUMN = table.number(45, "%.2f", help="Token F1 of the two answers; empty unless both texts answer.")
WIDTHS = {"Answerable by": 98, "RAGQuestEval question": 225, "Answer from the reference": 162, "F1": F1_COLUMN,
          "Answer from the generated text": 192, "Question": 210, "Document": 150}  # fmt: skip
RECALL = "The share of what the reference states that the answer states too."
PRECISION = "How well the answers agree where both texts answer: mean token F1 over B."
REACH = 60
"""Characters that are shown on each side of the blank of an extractive question."""


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
    head = before if len(before) <= REACH else "… " + before[-REACH:].lstrip()
    tail = after if len(after) <= REACH else after[:REACH].rstrip() + " …"
    return f"{head}{BLANK}{tail}"


@cache.kept(8, "Reading the RAGQuestEval questions", also=lambda run: (run.corpus_id,))
def _frames(run: Run) -> dict[str, pd.DataFrame]:
    evaluated, documents = cache.evaluated(run).values(), cache.documents_of(run)
    rows = {
        name: [row for each in evaluated for row in questeval.rows(each, documents.get(each.question.id, ()), (name,))]
        for name in questeval.VARIANTS
    }
    return {name: frame_of(found) for name, found in rows.items() if found}


def frame_of(rows: Sequence[questeval.Row]) -> pd.DataFrame:
    """Return rows as a table: what only the reference answers, what both do, the lowest F1 first, and then the rest."""
    frame = pd.DataFrame(
        {
            "by": [row.answerable_by for row in rows],
            "asked": [question_words(row) for row in rows],
            "reference": [row.reference_answer for row in rows],
            "generated": [row.generated_answer for row in rows],
            "f1": pd.Series([row.f1 for row in rows], dtype=float),
            "question": [row.question for row in rows],
            "documents": [row.documents for row in rows],
            "kind": [row.kind for row in rows],
            "id": [row.question_id for row in rows],
            "maker": [row.maker for row in rows],
        }
    )
    texts = zip(*(frame[name] for name in ("asked", "question", "reference", "generated")), strict=True)
    frame["searched"] = ["\n".join(cell for cell in cells if isinstance(cell, str)).casefold() for cells in texts]
    frame["place"] = frame["by"].map({name: place for place, name in enumerate(ORDER)})
    return frame.sort_values(["place", "f1"], kind="stable", ignore_index=True)


def draw(run: Run, k: int, shown_ids: pd.Series[str], key: str) -> None:
    """Draw the tab: sentence, tiles, and the questions of the questions `shown_ids`."""
    judgement = cache.overview(run).judgement
    frames = _frames(run)
    if not frames:
        computed = [
            judgement.metrics[each] for names in METRICS.values() for each in names if each in judgement.metrics
        ]
        why = (
            f"asked nothing: {computed[0].without}" if computed else "was not computed: it takes answers and references"
        )
        with notices.empty(f"RAGQuestEval {why}."):
            if not computed and not run.knows.opaque:
                address.link("run", "Make a run", index=run.provenance["index"], set=run.provenance["questions"])
        return
    variant = next(iter(frames))
    if len(frames) > 1:
        variant = address.choose_one("Questions asked", {each: VARIANTS[each] for each in frames}, "bank")
    frame = frames[variant]
    st.caption(WHAT_IT_IS[variant])
    st.markdown(plain(sentence(frame)))
    _tiles(frame, judgement, variant)
    _questions(run, k, frame, shown_ids, variant, key)


def sentence(frame: pd.DataFrame) -> str:
    """Return the outcome in words: what is answered of what the references answer."""
    counts = frame["by"].value_counts()
    both, missed = int(counts.get("both", 0)), int(counts.get("reference", 0))
    if not both + missed:
        return "No question about a reference can be answered from it: there is nothing to count."
    words = f"The generated answers answer {both:,} of the {both + missed:,} questions that their references answer"
    words += f" ({both / (both + missed):.0%})"
    if both and frame["maker"].iloc[0] != "extractive":
        words += f"; where both answer, token F1 is {frame['f1'].mean():.2f} on average"
    return f"{words}."


def _tiles(frame: pd.DataFrame, judgement: Judgement, variant: str) -> None:
    by = frame["by"].value_counts()
    asked, both, f1 = len(frame), int(by.get("both", 0)), float(frame["f1"].sum())
    answerable = both + int(by.get("reference", 0))
    with tiles.row(len(METRICS[variant]) + 3, 115):
        for name in METRICS[variant]:
            if name in judgement.metrics:
                title = "Recall" if name.endswith("recall") else "Precision"
                tiles.mean(ANSWER_METRICS[name], judgement.metrics[name].estimate, title)
        _counts(asked, answerable, both, f1, f"of {wording.counted(frame['id'].nunique(), 'answer')}")
    means = judgement.metrics.get(METRICS[variant][0])
    unasked = f" Answers not counted: {means.without}." if means and means.without else ""
    st.caption(
        "Recall and precision are means over the n answers; the sentence and the other tiles count the RAGQuestEval "
        f"questions of all answers together, so that their share differs.{unasked}"
    )


def _counts(asked: int, answerable: int, both: int, f1: float, of: str) -> None:
    """Draw the counts Q, A and B, with what both denominators give; `f1` is the sum over B."""
    tiles.tile(
        "Asked, |Q|", f"{asked:,}", of,
        explained="All questions made from the references. Those that the references cannot answer counted as missed, "
        f"the other reading of the paper, recall is {_share(both, asked)} and precision {_share(f1, asked)}.",
    )  # fmt: skip
    tiles.tile(
        "Answerable, |A|", f"{answerable:,}", f"unanswerable: {asked - answerable:,} of {asked:,}",
        explained="Questions that the reference itself answers: the denominator of recall. Bank quality, 1 − |A|/|Q|, "
        f"is {_share(asked - answerable, asked)}; 0 is best.",
    )  # fmt: skip
    tiles.tile(
        "Answered by both, |B|", f"{both:,}", f"{answerable - both:,} of {answerable:,} missed",
        explained="Questions that reference and generated answer both answer: the denominator of precision.",
    )  # fmt: skip


def _share(part: float, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "–"


def _questions(run: Run, k: int, frame: pd.DataFrame, shown_ids: pd.Series[str], variant: str, key: str) -> None:
    active = question_table.active_filters()
    of_shown = frame[frame["id"].isin(shown_ids)] if active else frame
    above = table.row_above("questeval")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = filters.find("asked", "Find in questions and answers", label="Find in RAGQuestEval", width=240)
        of_shown = of_shown[of_shown["searched"].str.contains(words, regex=False)]
        counts = of_shown["by"].value_counts()
        titles = {"all": f"all {len(of_shown):,}"}
        titles |= {name: f"{ANSWERABLE_BY[name]} {int(counts.get(name, 0)):,}" for name in ORDER}
        by = address.choose_one("Answerable by", titles, "answerable")
    rows = of_shown if by == "all" else of_shown[of_shown["by"] == by]
    count = f"**{len(rows):,} of {wording.counted(len(frame), 'RAGQuestEval question')}**, what is missed first"
    above.markdown(count, width="stretch")
    said = {name: question_table.filter_words(run, k, name, value) for name, value in active.items()}
    filters.chips(said, "Of the questions with", question_table.clear, "questeval-chip")
    first, last = table.page(len(rows), PAGE, "rows")
    page = rows.iloc[first:last]

    table.draw(
        table_of(page), "questeval", alt="RAGQuestEval questions, what the answers miss first", above=above,
        file=f"{run.name}-questeval-{variant}", turn=f"{variant}-{key}", most=14,
        columns=WIDTHS, among=list(page["id"]), empty="–",
        opened=lambda question_id: st.session_state.update({"open-question": question_id, "open-tab": NAME}),
    )  # fmt: skip


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
            "Evidence in": frame["kind"].map(KIND_TITLES),
            "Id": frame["id"],
        }
    )


# One answer


def of_answer(evaluated: EvaluatedAnswer | None, run: Run) -> None:
    """Draw counts and questions of the bank chosen of one answer; says what to do where nothing was asked."""
    answers = run.knows.answers
    banks = questeval.banks_of(evaluated) if evaluated is not None and answers else {}
    if not banks or evaluated is None:
        why = "RAGQuestEval was not among the metrics of this run."
        if not answers:
            why = "This run has no answers: RAGQuestEval compares an answer with its reference."
        elif evaluated is not None and evaluated.recording.status != "answered":
            why = "No answer was given here: there is nothing that RAGQuestEval could compare with the reference."
        elif evaluated is not None and not (evaluated.question.answer and evaluated.recording.answer):
            why = "RAGQuestEval compares an answer with its reference, and one of them is missing here."
        with notices.empty(why):
            if not run.knows.opaque and (evaluated is None or evaluated.recording.status == "answered"):
                address.link("run", "Make a run with RAGQuestEval")
        return
    variant = next(iter(banks))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        shown = address.readable("bank", address.one_of(banks), f"one of {', '.join(banks)}")
        asked = banks[shown or variant][0]
        maker = {"extractive": "without a model", "import": "imported"}.get(asked.maker, f"by {asked.maker}")
        heading.section(f"{wording.counted(len(asked.items), 'question')} from the reference, {plain(maker)}")
        if len(banks) > 1:
            variant = address.choose_one("Questions asked", {name: VARIANTS[name] for name in banks}, "bank")
    bank, answered = banks[variant]
    if not bank.items:
        st.caption("No questions: the reference holds no key information.")
        return
    scores = questeval.measure(bank, answered)
    f1 = (scores.precision or 0.0) * scores.answered
    with tiles.row(5, 115):
        recall, precision = _share(scores.answered, scores.answerable), _share(f1, scores.answered)
        tiles.tile("Recall ↑", recall, f"|B|/|A| = {scores.answered}/{scores.answerable}", explained=RECALL)
        tiles.tile("Precision ↑", precision, f"ΣF1/|B| = {f1:.2f}/{scores.answered}", explained=PRECISION)
        _counts(scores.questions, scores.answerable, scores.answered, f1, "from the reference")
    frame = frame_of(questeval.rows(evaluated, variants=(variant,)))
    grey = frame["reference"].isna().tolist()
    table.draw(
        table_of(frame).drop(columns=["Question", "Document", "Evidence in", "Id"]),
        "quest",
        alt="Questions of RAGQuestEval",
        above=wording.counted(len(frame), "question"),
        file=f"{run.name}-{evaluated.question.id}-{variant}-questeval",
        columns=WIDTHS,
        most=11,
        grey=grey,
        empty="–",
    )
    if any(grey):
        st.caption(f"Grey: {UNANSWERABLE.strip('<>').lower()} by the reference, so not counted in recall or precision.")
