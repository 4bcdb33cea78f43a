"""One question in two of the compared runs: their answers with the words that differ, scores and rankings."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.answers.abstention import STATUSES
from ragviz.core.answer import Answer
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.verdict import Matrix
from ragviz.metrics import registry
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs import moved_questions
from ragviz.text import differences
from ragviz.text.differences import Range, differing
from ragviz.text.markup import highlighted, legend, plain
from ragviz.text.names import short_names
from ragviz.ui import (
    address,
    both_rankings,
    cache,
    case,
    compared_questions,
    passages,
    question_table,
    widgets,
)
from ragviz.ui.compared_runs import Compared
from ragviz.ui.kit import heading, notices, saving

_SHOWN = ("recall", "precision", "mrr")


def pair_of(runs: Sequence[Run], k: int) -> Compared:
    """Return the pair of runs whose questions the page Compare lists: the first, and the one of the address."""
    of = cache.state(*(run.id for run in runs))
    comparison = cache.comparison(of, k)
    others, metrics = comparison.runs[1:], list(comparison.rows)
    other = address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    metric = address.readable("metric", address.one_of(metrics), f"one of {', '.join(metrics)}")
    return Compared(tuple(runs), comparison, metric or comparison.rule.primary, other, of)


def listed(runs: Sequence[Run], k: int) -> list[str]:
    """Return the questions to walk through: those that Compare lists, else all that the runs share."""
    if not any(st.query_params.get(name) for name in ("side", *compared_questions.CHOSEN)):
        return moved_questions.shared_questions(runs, cache.SOURCES)
    return list(compared_questions.listed(pair_of(runs, k)).ids)


def chosen_side(runs: Sequence[Run]) -> Run:
    """Draw the choice of the run whose details are shown."""
    names = [run.name for run in runs]
    name = st.segmented_control(
        "Run", names, required=True, label_visibility="collapsed",
        format_func=short_names(names, 32).__getitem__,
        **address.bound("of", names[0], address.one_of(names), "one of the runs shown"),
    )  # fmt: skip
    return next(run for run in runs if run.name == name)


def list_words(runs: Sequence[Run], k: int) -> str:
    """Return what the list is chosen by, in words; "" where it is all questions."""
    side = st.query_params.get("side", "")
    if not any(st.query_params.get(name) for name in ("side", *compared_questions.CHOSEN)):
        return ""
    pair = pair_of(runs, k)
    words = [f"{name} {chip}" for name, chip in compared_questions.listed(pair).chips.items()]
    if side in compared_questions.SIDES:
        words.append(f"{side} by {registry.title_of(pair.metric)}")
    return f"{', '.join(words)}, {pair.other} against {runs[0].name}" if words else ""


def shown_pair(runs: Sequence[Run]) -> tuple[Run, Run]:
    """Return the two runs that are shown side by side: the baseline, and the one chosen among more than two."""
    if len(runs) == 2:
        return runs[0], runs[1]
    names = [run.name for run in runs[1:]]
    short = short_names([run.name for run in runs], 40)
    name = address.choose("Run beside the baseline", names, "other", format_func=short.__getitem__)
    return runs[0], next(run for run in runs if run.name == name)


def body(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw reference and evidence, then a column for each of two runs: cause, answer; their rankings; all scores."""
    question = cache.questions(runs[0])[question_id]
    st.html(case.STYLE)
    pair = shown_pair(runs)
    entries = [("gold", "evidence")] if question.evidence else []
    answers = [_answer(run, question_id) for run in pair]
    marks: tuple[Sequence[Range], Sequence[Range]] = ([], [])
    if all(answers):
        marks = differing(answers[0], answers[1])
        entries += [("differs", "words that the other answer does not have there")] if any(marks) else []
    if entries:
        st.html(legend(entries))
    for column, run, mark in zip(st.columns(2, gap="medium"), pair, marks, strict=True):
        with column, notices.errors_shown():
            _side(run, question_id, k, mark)
    if said := alike_words(answers, marks):
        st.caption(said)
    with st.container(key="case-texts"):
        left, right = st.columns(2, gap="medium")
        with left, notices.errors_shown():
            case.reference_text(question, Matrix(), None)
        with right, notices.errors_shown():
            heading.section("Evidence")
            with st.container(key="case-evidence", gap="small"):
                if question.evidence:
                    passages.evidence_groups(runs[0].corpus_id, question, titled=False, fold=case.EVIDENCE_FOLD)
                else:
                    st.caption(case.WITHOUT_EVIDENCE[question.kind])
    with notices.errors_shown():
        both_rankings.draw(pair, question, k)
    with notices.errors_shown():
        score_table(runs, question_id, k)
    with notices.errors_shown():
        both_rankings.in_full(pair, question, k)


def alike_words(answers: Sequence[str], marks: tuple[Sequence[Range], Sequence[Range]]) -> str:
    """Say of two answers that they have the same words, or that they were compared in part; "" otherwise.

    >>> alike_words(["Yes.", "yes"], ([], [])), alike_words(["Yes", "No"], ([(0, 3)], [(0, 2)]))
    ('Both answers have the same words.', '')
    """
    if not all(answers):
        return ""
    if any(differences.word_count(answer) > differences.MOST for answer in answers):
        return f"Only the first {differences.MOST:,} words of each answer are compared."
    return "" if any(marks) else "Both answers have the same words."


def _answer(run: Run, question_id: str) -> str:
    evaluated = cache.evaluated_to(run, question_id) if question_table.answers(run) else None
    return evaluated.answer.text if evaluated else ""


def _side(run: Run, question_id: str, k: int, marks: Sequence[Range]) -> None:
    """Draw the cause of a run, where the evidence stands in it, and its answer."""
    question, retrieved = cache.questions(run)[question_id], cache.retrieved_for(run, question_id)
    heading.section(plain(run.name))
    _cause(run, question, retrieved, k)
    evaluated = cache.evaluated_to(run, question_id)
    if not question_table.answers(run):
        st.caption("This run has no answers.")
    elif evaluated is None:
        st.caption("Not answered yet: the run was interrupted before this question.")
    else:
        _answer_text(evaluated.answer, marks)
    more = "claims and verdicts" if case.has_claims(run, question_id) else "ranking and scores"
    address.link("inspect", f"Only {run.name}: {more}", run=run.name, question=question_id, k=k)


def _answer_text(answer: Answer, marks: Sequence[Range]) -> None:
    """Draw an answer with the words that differ, its status where it is none, and what it cites."""
    if answer.status != "answered":
        st.markdown(f"**{STATUSES[answer.status].capitalize()}**")
    if answer.text:
        st.html(highlighted(answer.text, differing=marks, fold=None))
    elif answer.status == "answered":
        st.caption("The answer is empty.")
    if answer.reason:
        st.caption(plain(f"Why: {answer.reason}"))
    if citations := case.citation_words(answer):
        st.caption(citations)


def _cause(run: Run, question: Question, retrieved: Retrieved, k: int) -> None:
    if found := case.cause_of(run, question.id, k):
        name, cause = found
        mark = ":blue[●]" if name == "fine" else ":orange[▲]"
        where = case.rank_line(run, question, retrieved, k)
        st.markdown(f"{mark} **{cause.title}**{f' · {where}' if where else ''}", help=cause.explanation)


def score_table(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw every score that one of the runs has, one row each; with two runs, their difference too."""
    rows: dict[str, dict[str, float | None]] = {}
    for run in runs:
        for title, value in scores_of(run, question_id, k).items():
            rows.setdefault(title, {})[run.name] = value
    if not rows:
        return
    table = pd.DataFrame([{"Metric": title, **{run.name: rows[title].get(run.name) for run in runs}} for title in rows])
    names = [run.name for run in runs]
    table[names] = table[names].astype("Float64")
    if len(runs) == 2:
        table["Difference"] = table[names[1]] - table[names[0]]
    with widgets.above_table("both"):
        heading.section("Scores")
        saving.button(table, f"{question_id}-scores", "both-csv")
    columns = {
        name: st.column_config.NumberColumn(short, format="%.2f") for name, short in short_names(names, 24).items()
    }
    columns["Difference"] = st.column_config.NumberColumn(format="%+.2f")
    widgets.table(
        table, "both-scores", columns=columns, height="content" if len(table) < 12 else 430,
        alt="Scores of the question in each run", empty="–",
    )  # fmt: skip


def scores_of(run: Run, question_id: str, k: int) -> dict[str, float | None]:
    """Return the scores of a question in a run by title, ranking metrics at `k` first; None: not scored."""
    summary = cache.summary(run, k)
    values: dict[str, float | None] = {}
    if question_id in summary.question_ids:
        row = summary.question_ids.index(question_id)
        for name in _SHOWN:
            values[registry.title(name, k)] = float(summary.scores[registry.label(name, k)][row])
    return values | {
        ANSWER_METRICS[name].title: score.value for name, score in cache.scores_of(run, question_id).items()
    }
