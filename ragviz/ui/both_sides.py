"""One question in two or more runs: their answers with the words that differ, ranks, scores and rankings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from ragviz.analysis import compare
from ragviz.metrics import registry
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.records import Matrix, Question, Retrieved, Run
from ragviz.runs import measurements
from ragviz.text.differences import Range, differing
from ragviz.text.markup import highlighted, legend, plain
from ragviz.text.names import short_names
from ragviz.ui import address, cache, case, heading, passages, question_table, widgets, wording

SIDES = ("won", "lost", "tied")
LIST = ("metric", "other", "side")
"""Parameters of the address that choose the list of questions on the page Compare."""
_SHOWN = ("recall", "precision", "mrr")


def requested_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that the parameter `runs` names, by name or id."""
    requested = [name for name in st.query_params.get("runs", "").split(",") if name]
    by_name = {run.name: run for run in runs} | {run.id: run for run in runs}
    for name in requested:
        if name not in by_name:
            st.warning(f"There is no run called “{wording.quoted(name)}” here.")
    return list({by_name[name].id: by_name[name] for name in requested if name in by_name}.values())


def list_parameters() -> dict[str, str]:
    """Return the parameters by which the page Compare lists its questions."""
    return {name: st.query_params[name] for name in LIST if st.query_params.get(name)}


def shared_questions(runs: Sequence[Run]) -> list[str]:
    """Return the questions that all of the runs asked, in the order of the first."""
    first, *others = [cache.questions(run) for run in runs]
    return [i for i in first if all(i in other for other in others)]


def listed(runs: Sequence[Run], k: int) -> list[str]:
    """Return the questions to walk through: those that Compare lists, else all that the runs share."""
    shared = shared_questions(runs)
    side, metric = st.query_params.get("side", ""), st.query_params.get("metric", "")
    names = [run.name for run in runs]
    other = st.query_params.get("other", names[1])
    if side not in SIDES or other not in names[1:]:
        return shared
    comparison = cache.comparison(cache.state(*(run.id for run in runs)), k)
    if metric not in comparison.rows:
        return shared
    return list(getattr(compare.outcomes(comparison, metric, names.index(other)), side))


def chosen_side(runs: Sequence[Run]) -> Run:
    """Draw the choice of the run whose details are shown."""
    names = [run.name for run in runs]
    name = st.segmented_control(
        "Run", names, required=True, label_visibility="collapsed",
        format_func=short_names(names, 32).__getitem__,
        **address.bound("of", names[0], address.one_of(names), "one of the runs shown"),
    )  # fmt: skip
    return next(run for run in runs if run.name == name)


def body(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw reference and evidence, then a column for each run: cause, answer, ranking; and the scores side by side."""
    question = cache.questions(runs[0])[question_id]
    st.html(case.STYLE)
    entries = [("gold", "evidence")] if question.evidence else []
    answers = [_answer(run, question_id) for run in runs]
    marks: list[tuple[Sequence[Range], Sequence[Range]]] = [([], []) for _ in runs]
    if answers[0] and any(answers[1:]):
        entries.append(("differs", f"words that differ from the answer of {runs[0].name}"))
        marks = [differing(answers[0], answer) if answer else ([], []) for answer in answers]
    if entries:
        st.html(legend(entries))
    first = marks[1][0] if len(runs) == 2 else []
    _columns(runs, lambda place, run: _side(run, question_id, k, marks[place][1] if place else first))
    with st.container(key="case-texts"):
        left, right = st.columns(2, gap="medium")
        with left, widgets.errors_shown():
            case.reference_text(question, Matrix(), None)
        with right, widgets.errors_shown():
            heading.section("Evidence")
            with st.container(key="case-evidence", gap="small"):
                if question.evidence:
                    passages.evidence_groups(runs[0].corpus_id, question, titled=False)
                else:
                    st.caption(case.WITHOUT_EVIDENCE[question.kind])
    with widgets.errors_shown():
        score_table(runs, question_id, k)
    _columns(runs, lambda _, run: _ranking(run, question_id, k))


def _columns(runs: Sequence[Run], draw: Callable[[int, Run], None]) -> None:
    """Draw a column for each run, three side by side at most."""
    for start in range(0, len(runs), 3):
        part = runs[start : start + 3]
        for place, (column, run) in enumerate(zip(st.columns(len(part), gap="medium"), part, strict=True), start):
            with column, widgets.errors_shown():
                draw(place, run)


def _answer(run: Run, question_id: str) -> str:
    evaluated = cache.evaluated_to(run, question_id) if question_table.answers(run) else None
    return evaluated.answer.text if evaluated else ""


def _side(run: Run, question_id: str, k: int, differences: Sequence[Range]) -> None:
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
        st.html(highlighted(evaluated.answer.text or "(no answer)", differing=differences, fold=None))
    more = "claims and verdicts" if case.has_claims(run, question_id) else "ranking and scores"
    address.link("inspect", f"Only {run.name}: {more}", run=run.name, question=question_id, k=k)


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
        widgets.csv_button(table, f"{question_id}-scores.csv", "both-csv")
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


def _ranking(run: Run, question_id: str, k: int) -> None:
    question, retrieved = cache.questions(run)[question_id], cache.retrieved_for(run, question_id)
    heading.section(f"{plain(run.name)}: ranking by {plain(run.config.ranked_by)}")
    if unranked := measurements.unranked_words(run):
        st.caption(unranked)
    passages.ranked_chunks(run.corpus_id, question, retrieved, k=min(k, run.config.depth), first=5, key=run.id)
