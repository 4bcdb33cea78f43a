"""What new documents did to the questions about earlier ones: the step that runs again, and the table by document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

import pandas as pd
import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.question_set import QuestionSet
from ragviz.health import competition, health_sentences
from ragviz.health.competition import Competition, Row
from ragviz.runs import measurements
from ragviz.service import run_verbs
from ragviz.text.markup import plain, visible
from ragviz.ui import address, cache, job_panel, wording
from ragviz.ui.kit import heading, notices, table

WHY = (
    "New chunks compete with those that were found before. One step updates the index of a run and ranks its questions "
    "again; what is found only without the chunks of the new documents was lost to their competition."
)


def show(question_set: QuestionSet, runs: Sequence[Run]) -> None:
    """Draw the choice of an earlier run, the step that runs it again, and what became of its questions by document.

    `runs` are those of the set's corpus, the newest first; others' are left out.
    """
    st.caption(WHY)
    mine = [
        run for run in runs
        if run.config.questions == question_set.id and run.status == "done" and not measurements.unranked_words(run)
    ]  # fmt: skip
    if not mine:
        with notices.empty("No run has asked this set yet: there is nothing that new documents could have changed."):
            address.link("run", "Make a run", set=question_set.name)
        return
    names = [run.name for run in mine]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = address.choose(
            "Earlier run", names, "earlier", default=names[-1], within=("later",), format_func=visible
        )
        earlier = next(run for run in mine if run.name == name)
        ranks = attrgetter("index", "retriever", "rrf_constant", "reranker", "rerank_depth")
        later = [r for r in mine if r.created > earlier.created and ranks(r.config) == ranks(earlier.config)]
        chosen = (
            address.choose("Later run", [run.name for run in later], "later", format_func=visible) if later else None
        )
        _again(earlier, {run.name for run in runs})
    if chosen is not None:
        with notices.errors_shown():
            now = next(run for run in later if run.name == chosen)
            _found(_competition(earlier, now), earlier, now)


def _again(earlier: Run, taken: set[str]) -> None:
    active = job_panel.active_job("again", earlier.corpus_id, run=earlier.id)
    new = partial(run_verbs.rank_again, earlier, wording.free_name(f"{earlier.name}, again", taken))
    job_panel.button("Update the index and run again", "run-again", new, active=active, kind="primary")
    job_panel.progress(active)


@cache.kept(32, "Ranking without the new documents", also=lambda _, later: (later.config.index, later.corpus_id))
def _competition(earlier: Run, later: Run) -> Competition:
    return competition.competition(cache.workspace(), earlier, later)


def _found(found: Competition, earlier: Run, later: Run) -> None:
    first, *others = health_sentences.competition(found)
    st.markdown(f"**{plain(first)}** {' '.join(map(plain, others))}")
    rows = pd.DataFrame([_row(row) for row in found.rows])
    above = table.row_above("competition")
    with above:
        heading.section("By document")
    table.draw(
        rows,
        "competition",
        alt="Recall by document, and losses",
        above=above,
        file=f"{later.name}-competition",
        columns={"Document": 300} | {name: table.bar(written="%.3f") for name in _MEANS},
        most=12,
    )
    if found.added:
        listed = ", ".join(plain(name) for name in found.added[:10]) + (" …" if len(found.added) > 10 else "")
        st.caption(f"New: {listed}.")
    if found.lost:
        _lost(found, earlier, later)


_MEANS = ("Recall before", "Recall now", "Without the new chunks")


def _row(row: Row) -> dict[str, object]:
    means = dict(zip(_MEANS, (row.before, row.after, row.without), strict=True))
    counts = {"Lost": row.lost, "To competition": row.to_competition, "Gained": row.gained}
    return {"Document": row.document, "Questions": row.n, **means, **counts}


def _lost(found: Competition, earlier: Run, later: Run) -> None:
    """Draw the lost questions; a click opens the case of the later run."""
    heading.section("Questions that find less than before")
    rows = pd.DataFrame(
        {
            "Question": [each.text for each in found.lost],
            "Lost to": ["competition" if each.to_competition else "other reasons" for each in found.lost],
            f"Rank in {visible(earlier.name)}": pd.array([each.rank_before or None for each in found.lost], "Int64"),
            f"Rank in {visible(later.name)}": pd.array([each.rank_after or None for each in found.lost], "Int64"),
            "New chunks above": [each.above for each in found.lost],
        }
    )

    def opened(question_id: str) -> None:
        st.session_state["open-competition"] = question_id

    table.draw(
        rows,
        "competition-lost",
        alt="Questions that were lost",
        among=[each.question_id for each in found.lost],
        opened=opened,
        most=12,
    )
    if (question_id := st.session_state.pop("open-competition", None)) is not None:
        address.go_to("inspect", run=later.name, question=question_id)
