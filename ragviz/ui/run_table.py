"""The table of runs: its columns, rows and filters; dialogs that rename, label and delete runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.core.configuration import Run
from ragviz.index import chunking
from ragviz.metrics.registry import METRICS, REGISTRY, shown_in
from ragviz.runs.overviews import RunSummary
from ragviz.service import run_verbs
from ragviz.store import stored_runs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, job_panel, wording
from ragviz.ui.kit import notices, table

MOST_COMPARED = 12
"""Runs that are compared at once: from the eighth on, colours come again with an open mark or a dashed line."""

NOT_FOUND = "Not found to depth"


def chosen_filter(runs: Sequence[Run]) -> tuple[list[Run], str, list[str]]:
    """Draw the filters; return the runs that pass, the filter in words ("" for none), and the tags that are chosen."""
    tags = sorted({tag for run in runs for tag in run.tags})
    with st.grid(2, min_column_width=150):
        words = st.text_input("Find", **address.bound("find", "", str, "a text"), placeholder="name, note, set …")
        has_tags = tags or "tags" in st.query_params
        tagged = address.choose_several("Tags", tags, "tags", noun="tag", placeholder="all") if has_tags else []

    def passes(run: Run) -> bool:
        said = " ".join((run.name, run.note, *run.tags, run.set_name, run.ranked_by)).casefold()
        return all(word in said for word in words.casefold().split()) and (not tagged or bool({*tagged} & {*run.tags}))

    parts = [f"“{words}”" if words.strip() else "", ", ".join(tagged)]
    return [run for run in runs if passes(run)], " · ".join(filter(None, parts)), tagged


def metrics_of(summaries: Collection[RunSummary]) -> dict[str, str]:
    """Return title → name of the metrics that any of the runs has, those of rankings first."""
    measured = {name.split("@")[0] for summary in summaries for name in summary.estimates}
    return {REGISTRY[name].title: name for name in REGISTRY if name in measured}


def columns_of(metrics: Mapping[str, str]) -> list[str]:
    """Return the columns beside the name: the headline metrics of rankings and answers, cost, configuration, labels."""
    by_name = {name: title for title, name in metrics.items()}
    headline = [by_name[name] for name in shown_in("row") if name in by_name]
    ranking = [title for title in headline if metrics[title] in METRICS]
    answers = [title for title in headline if metrics[title] not in METRICS][:3]
    found = [NOT_FOUND] if ranking else []
    made_of = ["Cost", "Question set", "Retriever", "Chunking", "k"]
    return [*ranking, *found, "Answerer", *answers, *made_of, "Status", "Made (UTC)", "By", "Tags", "Note"]


def rows(
    runs: Sequence[Run],
    summaries: Mapping[str, RunSummary],
    status: Mapping[str, str],
    columns: Sequence[str],
    metrics: Mapping[str, str],
) -> pd.DataFrame:
    """Return a row for each run, its name first, then `columns`; a mean is written with its 95 % interval."""
    cells = []
    for run in runs:
        index, knows = run.provenance["index_config"], run.knows
        row = {
            "Run": run.name,
            "Question set": run.set_name,
            "Retriever": run.ranked_by or None,
            "Chunking": chunking.in_words(index) if index else "",
            "k": run.config.k if knows.ranking else None,
            "Answerer": run.answered_by or None,
            "Status": status[run.id],
            "Made (UTC)": pd.Timestamp(run.created, unit="s").floor("s"),
            "By": run.person,
            "Tags": list(run.tags),
            "Note": run.note,
        }
        cells.append(row | (_measured(run, summaries[run.id], metrics) if run.id in summaries else {}))
    return pd.DataFrame(cells, columns=["Run", *columns])


def _measured(run: Run, summary: RunSummary, metrics: Mapping[str, str]) -> dict[str, Any]:
    estimates = {title: summary.at_k(name, run.config.k) for title, name in metrics.items()}
    cells: dict[str, Any] = {
        title: f"{e.mean:.2f} {e.interval_words()}"
        for title, e in estimates.items()
        if e is not None and e.mean is not None
    }
    return cells | {"Cost": summary.dollars or None} | ({NOT_FOUND: summary.not_found} if summary.ranked else {})


def column_configs(metrics: Mapping[str, str]) -> dict[str, Any]:
    """Return how the columns are drawn."""
    note = "At the run's own k, with its 95 % interval."
    of_metrics = {
        title: table.text(135, alignment="right", help=f"{REGISTRY[name].explanation} {note}")
        for title, name in metrics.items()
    }
    return of_metrics | {
        "Run": table.text(210, pinned=True),
        NOT_FOUND: table.number(135, help="Questions whose evidence is not, or not all, in the run's depth."),
        "Cost": table.number(80, "$%.4f", help="What the run paid for model calls; – where no price is known."),
        "k": 45,
        "Made (UTC)": st.column_config.DatetimeColumn(width=130, format="YYYY-MM-DD HH:mm"),
        "By": 100,
        "Answerer": 110,
        "Tags": st.column_config.ListColumn(width=140),
        "Note": 220,
    }


def cannot_compare(runs: Sequence[Run], common: int) -> str:
    """Say what is missing to compare the runs that are ticked, which share `common` questions; "" when nothing is."""
    if not 2 <= len(runs) <= MOST_COMPARED:
        return f"Tick 2 to {MOST_COMPARED} runs to compare them."
    if unfinished := [run.name for run in runs if run.status != "done"]:
        return f"{', '.join(unfinished)}: not finished. Only finished runs are compared."
    return "" if common else "These runs share no question: only runs on the same questions are compared."


@st.dialog("Edit the run")
def edit(run: Run, known: Sequence[str]) -> None:
    """Ask for name, note and tags of a run; the `known` tags can be chosen."""
    name = st.text_input(
        "Name", run.name, max_chars=200, key="run-name-now", help="Links by the old name lead to it too."
    )
    tags = st.multiselect(
        "Tags", list(dict.fromkeys([*known, *run.tags])), default=run.tags, accept_new_options=True, key="run-tags",
        placeholder="Choose, or type new ones",
    )  # fmt: skip
    note = st.text_area("Note", run.note, max_chars=stored_runs.LONGEST_NOTE, key="note")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Save", type="primary", key="edit-do"):
            with notices.errors_shown():
                if name.strip() != run.name:
                    run_verbs.rename(cache.workspace(), run, name)
                run_verbs.label(cache.workspace(), run, note=note, tags=tags)
                st.rerun()


def delete(runs: Sequence[Run]) -> None:
    """Delete runs after a confirmation that says what goes with them."""
    names, questions = ", ".join(run.name for run in runs), sum(run.provenance["n"] for run in runs)
    which, them = ("the run", "it") if len(runs) == 1 else (wording.counted(len(runs), "run"), "them")
    ids, experiments = {run.id for run in runs}, cache.workspace().store.experiments.all(runs[0].corpus_id)
    reopened = ", ".join(f"“{each.name}”" for each in experiments if not ids.isdisjoint(cache.runs_of(each)))
    sentence = (
        f"This deletes {which} {names}. Rankings, answers and judgements of {wording.counted(questions, 'question')} "
        f"go with {them}; indexes and question sets stay."
    )
    sentence += f" It reopens the experiment {reopened}, which lacks {them} then." if reopened else ""

    def deleted() -> None:
        for run in runs:
            run_verbs.delete(cache.workspace(), run)
        st.toast(plain(f"Deleted: {which}{f' {names}' if len(runs) == 1 else ''}."))

    notices.confirm(sentence + job_panel.stops_jobs(), "Delete", deleted)
