"""What would rescue the lost questions of a run: a row for each change, which lists its questions and makes its run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis.rescue import Rescue, Row
from ragviz.core.configuration import NO_EMBEDDER, Run
from ragviz.jobs import queue
from ragviz.runs import alternatives, replays, rescue_words
from ragviz.runs.replays import Columns
from ragviz.service import run_verbs
from ragviz.text.markup import plain, sentence, without_middle
from ragviz.ui import address, cache, job_panel, presentation, question_table, wording
from ragviz.ui.kit import heading, table

EFFORTS: Mapping[alternatives.Effort, str] = {"search": "Replay", "compute": "Build and replay"}
"""What trying a change takes → the button that tries all that take it."""
LARGER = 2
"""Changes to a larger k, which only reads more, that come before the others' end."""


def draw(run: Run, k: int) -> None:
    """Draw the changes, the best first; a number lists its questions, the last column makes the run or compares it."""
    heading.section(f"What would rescue them at k = {k}")
    columns, rescue = cache.replay_columns(run), cache.rescue(run, k)
    st.markdown(plain(rescue_words.sentence(columns, rescue)))
    if not rescue.lost.any():
        return
    _not_tried(run, columns)
    if rescue.rows:
        _table(run, columns, rescue)
    if grid := replays.grid_of(columns, rescue):
        values = {f"{axis}s": ",".join(chosen) for axis, chosen in grid.items()}
        words = "Sweep the best of each kind, to be confirmed on test"
        address.link("experiment", words, experiment="*", set=run.provenance["questions"], **values)
    notes = rescue_words.notes(columns, k)
    if rescue.rows:
        notes.insert(0, "Each row was chosen on these questions: make its run, and confirm it on others.")
    st.caption(sentence(" ".join(notes)))


def _not_tried(run: Run, columns: Columns) -> None:
    job = next(iter(job_panel.jobs_of("replay", run.corpus_id, run=run.id)), None)
    failed = dict(job.result.get("failed", {})) if job is not None and job.status == "done" else {}
    active = job if job is not None and job.status in queue.ACTIVE else None
    n = wording.counted(len(columns.changes.questions), "question")
    for effort, label in EFFORTS.items():
        if not (some := columns.missing(effort)):
            continue
        names = [rescue_words.title(columns, change.key) for change in some]
        listed = ", ".join(plain(without_middle(each, 40)) for each in names[:7])
        more = f" and {len(names) - 7} more" if len(names) > 7 else ""
        cost = alternatives.foreseen_words(cache.workspace(), columns.changes, some) if effort == "compute" else ""
        with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"Not tried yet: {listed}{more}{f' ({plain(cost)})' if cost else ''}.", width="stretch")
            new = partial(run_verbs.replay, cache.workspace(), run, build=effort == "compute")
            explained = f"For {n}, once; no model answers or judges, and no index that is built for it is kept."
            job_panel.button(label, f"replay-{effort}", new, active=active, going="Replaying…", explained=explained)
        for change, name in zip(some, names, strict=True):
            if change.key in failed:
                st.caption(f":orange[▲] {plain(name)} could not be replayed: {sentence(failed[change.key])}")


def _table(run: Run, columns: Columns, rescue: Rescue) -> None:
    larger = [row for row in rescue.rows if row.replay.kind == "k"][LARGER:]
    rows = [*(row for row in rescue.rows if row not in larger), *larger]
    now, state = columns.tokens_now(rescue.k), f"rescue-{run.id}"
    details = [rescue_words.detail(columns, row.replay.key) for row in rows]
    titles = [rescue_words.title(columns, row.replay.key) for row in rows]
    cells = {
        "Change": [f"{title} ({detail})" if detail else title for title, detail in zip(titles, details, strict=True)],
        "Rescues": [row.rescues for row in rows],
        "Breaks": [row.breaks for row in rows],
        "Net gain": [net_words(row) for row in rows],
        "Tokens read": [row.replay.tokens for row in rows],
        "× this run's": [row.replay.tokens / now if row.replay.tokens and now else None for row in rows],
        "ms": [row.replay.milliseconds if row.replay.kind != "k" else None for row in rows],
    }

    table.draw(
        pd.DataFrame(cells),
        "rescue",
        alt="What would rescue the lost questions",
        above=wording.counted(len(rows), "change"),
        file=f"{run.name}-rescue",
        columns={
            "Change": 340,
            "Rescues": 70,
            "Breaks": 70,
            "Net gain": table.text(215, help="Questions, and their share with its 95 % interval."),
            "Tokens read": table.number(90, "%.0f", help="Of the chunks given to the answerer, a question on average."),
            "× this run's": table.number(90, "%.1f"),
            "ms": table.number(60, "%.1f", help="Reranking, a question on average, with what is computed once."),
        },
        among=rows,
        opened=lambda row: st.session_state.update({state: row.replay.key}),
        most=5,
        empty="–",
    )
    chosen = next((row for row in rows if row.replay.key == st.session_state.get(state)), rows[0])
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="rescue-chosen"):
        key = chosen.replay.key
        st.markdown(f"**{plain(rescue_words.title(columns, key))}**", width="content")
        _lister(f"{chosen.rescues:,} rescued", "rescued", key, f"rescued-{key}", disabled=not chosen.rescues)
        _lister(f"{chosen.breaks:,} broken", "broken", key, f"broken-{key}", disabled=not chosen.breaks)
        _action(run, columns, chosen)
        if left := int(rescue.unrescued.sum()):
            _lister(f"{left:,} rescued by none of these", "rescued", question_table.NOTHING, "unrescued")


def net_words(row: Row) -> str:
    """Return the net gain of a change with its direction, and its share with the interval."""
    share = row.share
    if share.mean is None or share.low is None or share.high is None:
        return ""
    mark = "▲" if share.low > 0 else "▼" if share.high < 0 else "≈"
    low, mean, high = (f"{100 * value:+.0f}" for value in (share.low, share.mean, share.high))
    return f"{mark} {row.net:+,} = {mean} % [{low}, {high}]"


def _lister(label: str, name: str, value: str, key: str, *, disabled: bool = False) -> None:
    st.button(
        label if disabled else f":blue[{label}]", key=f"rescue-{key}", type="tertiary", help="Lists these questions",
        disabled=disabled, on_click=question_table.list_clicked, args=(name, value),
    )  # fmt: skip


def _action(run: Run, columns: Columns, row: Row) -> None:
    change, replay = columns.change(row.replay.key), row.replay
    if presentation.on():  # nothing is changed
        return
    if change is not None and change.runs:
        address.link("compare", "Compare", runs=f"{run.id},{change.runs[0].id}", k=replay.k)
        return
    config = run.config if change is None else change.config
    answers = run.knows.answers or config.knows.answers
    if change is None and not answers:  # rankings are known at every k
        st.button(
            f":blue[Show k = {replay.k}]", key=f"rescue-show-{replay.k}", type="tertiary",
            on_click=lambda: address.put(k=replay.k, rescued=None, broken=None),
        )  # fmt: skip
    elif change is not None and not change.index and change.cut is not None:
        cut = change.cut
        chosen: dict[str, str | int | None] = {"chunker": cut.chunker, "chunk_size": cut.chunk_size}
        chosen |= {"overlap": cut.overlap, "prefix": cut.prefix}
        embedder = cut.embedder or NO_EMBEDDER
        address.link("index", "Build index", tab="New index", **chosen, embedder=embedder, backend=cut.backend)
    else:
        index = run.provenance["index"] if change is None else change.index
        filled: dict[str, str | int | None] = {"index": index, "set": run.provenance["questions"]}
        filled |= {} if run.knows.opaque else {"preset": run.name}
        filled |= {"reranker": config.reranker} if config.reranker != run.config.reranker else {}
        filled |= {"context_tokens": replay.key.partition("=")[2]} if replay.kind == "budget" else {}
        address.link("run", "Make run", **filled, retriever=config.retriever, k=replay.k)
