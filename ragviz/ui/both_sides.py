"""One question in two of the compared runs: answers with the words that differ, scores, rankings."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.verdict import Matrix
from ragviz.metrics import registry
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs import moved_questions
from ragviz.text.markup import legend, plain
from ragviz.text.names import short_names
from ragviz.text.word_changes import Range, differing
from ragviz.ui import address, cache, case, compared_questions, passages
from ragviz.ui.compared_runs import Compared
from ragviz.ui.kit import heading, notices, table


def listed(runs: Sequence[Run], k: int) -> list[str]:
    """Return the questions to walk through: those that Compare lists, else all that the runs share."""
    if not any(st.query_params.get(name) for name in ("side", *compared_questions.CHOSEN)):
        return moved_questions.shared_questions(runs, cache.SOURCES)
    of = cache.state(*(run.id for run in runs))
    comparison = cache.comparison(of, k)
    others, metrics = comparison.runs[1:], list(comparison.rows)
    other = address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    metric = address.readable("metric", address.one_of(metrics), f"one of {', '.join(metrics)}")
    shown = Compared(tuple(runs), comparison, metric or comparison.rule.primary, other, of)
    return list(compared_questions.listed(shown).ids)


def k_of(run: Run, k: int) -> int:
    """Return the k at which a run is shown: its own where questions are listed by a metric at each run's own k."""
    return registry.k_read(st.query_params.get("metric", ""), run.config.k, k)


def body(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw reference and evidence, then a column for each of two runs: cause, answer; their rankings; all scores."""
    question = cache.questions(runs[0])[question_id]
    st.html(case.STYLE)
    pair = runs[0], runs[1]
    if len(runs) > 2:
        names, short = [run.name for run in runs[1:]], short_names([run.name for run in runs], 40)
        name = address.choose("Run beside the baseline", names, "other", format_func=short.__getitem__)
        pair = runs[0], next(run for run in runs if run.name == name)
    known = bool(question.evidence) and pair[0].knows.ranking
    entries = [("gold", "evidence")] if known else []
    evaluated = [cache.evaluated_to(run, question_id) if run.knows.answers else None for run in pair]
    answers = [each.recording.answer if each else "" for each in evaluated]
    marks: tuple[Sequence[Range], Sequence[Range]] = ([], [])
    if all(answers):
        marks = differing(answers[0], answers[1])
        entries += [("differs", "words that the other answer does not have there")] if any(marks) else []
    if entries:
        st.html(legend(entries))
    for column, run, mark in zip(st.columns(2, gap="medium"), pair, marks, strict=True):
        with column, notices.errors_shown():
            _side(run, question_id, k_of(run, k), mark)
    with st.container(key="case-texts"):
        left, right = st.columns(2, gap="medium")
        with left, notices.errors_shown():
            case.reference_text(question, Matrix(), None, ranked=pair[0].knows.ranking)
        with right, notices.errors_shown():
            heading.section("Evidence")
            with st.container(key="case-evidence", gap="small"):
                if known or not question.evidence:
                    passages.evidence_groups(runs[0].corpus_id, question, fold=case.EVIDENCE_FOLD)
                else:
                    st.caption("Where the documents hold the answer is not known.")
    with notices.errors_shown():
        score_table(runs, question_id, k)
    for column, run in zip(st.columns(2, gap="medium"), pair, strict=True):
        with column, notices.errors_shown():
            st.markdown(f"**{plain(run.name)}**")
            retrieved = cache.retrieved_for(run, question_id)
            case.ranking(run, question, retrieved, cache.evaluated_to(run, question_id), k_of(run, k), None)


def _side(run: Run, question_id: str, k: int, marks: Sequence[Range]) -> None:
    question, retrieved = cache.questions(run)[question_id], cache.retrieved_for(run, question_id)
    heading.section(plain(run.name))
    if found := case.cause_of(run, question.id, k):
        mark = ":blue[●]" if found[0] == "fine" else ":orange[▲]"
        where = case.rank_line(run, question, retrieved, k)
        st.markdown(f"{mark} **{found[1].title}**{f' · {where}' if where else ''}", help=found[1].explanation)
    if run.knows.answers:
        case.answer_body(cache.evaluated_to(run, question_id), marks=marks)
    else:
        st.caption("This run has no answers.")
    address.link("inspect", f"Only {run.name}", run=run.name, question=question_id, k=k)


def score_table(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw every score that one of the runs has, one row each; with two runs, their difference too."""
    names, scores = [run.name for run in runs], [scores_of(run, question_id, k) for run in runs]
    titles = list(dict.fromkeys(title for each in scores for title in each))
    if not titles:
        return
    rows = pd.DataFrame({"Metric": titles})
    for name, each in zip(names, scores, strict=True):
        rows[name] = pd.array([each.get(title) for title in titles], dtype="Float64")
    if len(runs) == 2:
        rows["Difference"] = rows[names[1]] - rows[names[0]]
    above = table.row_above("both", title="Scores")
    columns = {name: table.number(written="%.2f", label=short) for name, short in short_names(names, 24).items()}
    columns["Difference"] = table.number(written="%+.2f")
    table.draw(
        rows, "both", alt="Scores of the question in each run", above=above, file=f"{question_id}-scores",
        columns=columns, most=11, empty="–",
    )  # fmt: skip


def scores_of(run: Run, question_id: str, k: int) -> dict[str, float | None]:
    """Return the scores of a question in a run by title, ranking metrics at `k_of` first; None: not scored."""
    own = st.query_params.get("metric", "").endswith(f"@{registry.OWN}")
    summary = cache.summary(run, k_of(run, k))
    values: dict[str, float | None] = {}
    if question_id in summary.question_ids:
        row = summary.question_ids.index(question_id)
        for name in ("recall", "precision", "mrr"):
            title = registry.title_of(registry.label(name, registry.OWN if own else k))
            values[title] = float(summary.scores[registry.label(name, summary.k)][row])
    return values | {
        ANSWER_METRICS[name].title: score.value for name, score in cache.scores_of(run, question_id).items()
    }
