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
from ragviz.health.competition import Competition
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
            _found(_competition(earlier, now), now)


def _again(earlier: Run, taken: set[str]) -> None:
    active = job_panel.active_job("again", earlier.corpus_id, run=earlier.id)
    name = wording.free_name(f"{earlier.name}, again", taken)
    new = partial(run_verbs.rank_again, cache.workspace(), earlier, name)
    job_panel.button("Update the index and run again", "run-again", new, active=active, kind="primary")
    job_panel.progress(active)


@cache.kept(32, "Ranking without the new documents", also=lambda _, later: (later.config.index, later.corpus_id))
def _competition(earlier: Run, later: Run) -> Competition:
    return competition.competition(cache.workspace(), earlier, later)


def _found(found: Competition, later: Run) -> None:
    """Draw recall by document, and the lost questions; a click opens the case of the later run."""
    first, *others = health_sentences.competition(found)
    st.markdown(f"**{plain(first)}** {' '.join(map(plain, others))}")
    rows = pd.DataFrame(
        {
            "Document": row.document,
            "Questions": row.n,
            "Recall before": row.before,
            "Recall now": row.after,
            "Without the new chunks": row.without,
            "Lost": row.lost,
            "To competition": row.to_competition,
            "Gained": row.gained,
        }
        for row in found.rows
    )
    means = dict.fromkeys(("Recall before", "Recall now", "Without the new chunks"), table.bar(written="%.3f"))
    table.draw(
        rows,
        "competition",
        alt="Recall by document, and losses",
        above=wording.counted(len(rows), "document"),
        file=f"{later.name}-competition",
        columns={"Document": 300} | means,
        most=12,
    )
    if found.added:
        listed = ", ".join(plain(name) for name in found.added[:10]) + (" …" if len(found.added) > 10 else "")
        st.caption(f"New: {listed}.")
    if not found.lost:
        return
    heading.section("Questions that find less than before")
    lost = pd.DataFrame(
        {
            "Question": each.text,
            "Lost to": "competition" if each.to_competition else "other reasons",
            "Rank before": each.rank_before or None,
            "Rank now": each.rank_after or None,
            "New chunks above": each.above,
        }
        for each in found.lost
    ).astype({"Rank before": "Int64", "Rank now": "Int64"})
    table.draw(
        lost,
        "competition-lost",
        alt="Questions that were lost",
        among=[each.question_id for each in found.lost],
        goes=lambda question_id: address.go_to("inspect", run=later.name, question=question_id),
        most=12,
    )
