"""Whether the misses of a run deserve to be misses: recall and MRR corrected by pooled verdicts on chunks."""

from __future__ import annotations

import streamlit as st

from ragviz.analysis.pooled import Bounds, Corrected, Found, Pooled
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.runs import verdicts
from ragviz.text.markup import plain
from ragviz.ui import cache
from ragviz.ui.kit import notices, tiles
from ragviz.ui.passages import Note

SHOWN = 5
"""Questions that are listed at first."""
BADGE = ("for", "not gold, but supports the whole reference")


def draw(run: Run, k: int) -> None:
    """Draw what the verdicts on the first k chunks say, once it is opened: it reads every ranking of the run."""
    part = st.expander(f"Did the misses deserve it? Judged at k = {k}", key="judged-misses-part", on_change="rerun")
    if part.open:
        with part, notices.errors_shown():
            _verdicts(run, k)


def _verdicts(run: Run, k: int) -> None:
    """Draw corrected means with their bounds, and the questions that another chunk answers."""
    pooled = cache.pooled(run, k)
    if pooled is None:
        st.caption(
            "No judge has said yet which chunks answer these questions. A run with a judge and Context recall among "
            "its metrics judges the chunks that it reads, for all runs of the question set."
        )
        return
    st.markdown(plain(pooled.sentence))
    with tiles.row():
        _corrected(f"Recall@{k}, corrected ↑", pooled.recall)
        _corrected("MRR, corrected ↑", pooled.mrr)
        _bounds(f"Context precision@{k} ↑", pooled.context_precision, "Precision at the rank of each useful chunk.")
        _bounds(f"Context recall@{k} ↑", pooled.context_recall, "Share of the reference's claims that follow.")
    st.caption(
        "Corrected: a chunk that supports every claim of the reference counts as gold does. At most: if every chunk "
        "that nobody judged did."
    )
    _questions(run, pooled)


def _corrected(title: str, means: Corrected) -> None:
    value, note = tiles.estimate_words(means.corrected)
    if means.raw.mean is not None and means.most.mean is not None:
        note = f"{note} · {means.raw.mean:.2f} by gold alone, at most {means.most.mean:.2f}"
    tiles.tile(title, value, note, explained="Mean over questions with evidence; a chunk that supports the whole "
                 "reference counts as gold.")  # fmt: skip


def _bounds(title: str, bounds: Bounds, explained: str) -> None:
    if bounds.least is None or bounds.most is None:
        tiles.tile(title, "–", "no question has a reference", explained=explained)
        return
    value = f"{bounds.least:.2f}" if bounds.most - bounds.least < 0.005 else f"{bounds.least:.2f} to {bounds.most:.2f}"
    known = bounds.known
    note = f"n = {bounds.n:,}"
    if known.n < bounds.n and known.mean is not None:
        note += f" · {known.mean:.2f} where all is judged, n = {known.n:,}"
    explained += " From the least to the greatest that it can be: not every chunk is judged."
    tiles.tile(title, value, note, explained=explained)


def _questions(run: Run, pooled: Pooled) -> None:
    """List the questions that another chunk answers; each opens its case."""
    questions, shown = cache.questions(run), f"judged-misses-{run.id}"
    found = pooled.found if st.session_state.get(shown) else pooled.found[:SHOWN]
    with st.container(gap="xxsmall", key="judged-misses"):
        for each in found:
            st.button(
                f":blue[{plain(questions[each.question_id].text)}] · rank {each.rank}",
                key=f"judged-miss-{each.question_id}",
                type="tertiary",
                on_click=_open,
                args=(each,),
            )
        if len(found) < len(pooled.found) and st.button(f"Show all {len(pooled.found):,}", key=f"{shown}-button"):
            st.session_state[shown] = True
            st.rerun()


def _open(found: Found) -> None:
    st.session_state["open-question"] = found.question_id


def with_supporting(run: Run, question: Question, retrieved: Retrieved, notes: dict[str, Note]) -> dict[str, Note]:
    """Return the notes on chunks, with one on each that is not gold but supports the whole reference."""
    _, judged = verdicts.of_questions(cache.workspace(), run, [question])
    if question.id not in judged:
        return notes
    gold = {chunk_id for group in retrieved.gold for chunk_id in group}
    blank = Note()
    return notes | {
        chunk_id: Note((BADGE, *notes.get(chunk_id, blank).badges), notes.get(chunk_id, blank).claim_verdict)
        for chunk_id in judged[question.id].supporting - gold
    }
