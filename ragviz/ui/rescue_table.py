"""What would rescue the lost questions of a run: a row for each change, which lists its questions and makes its run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from ragviz import jobs
from ragviz.analysis.rescue import Rescue, Row
from ragviz.records import Run
from ragviz.report import style
from ragviz.runs import replays
from ragviz.runs.replays import Columns
from ragviz.text.markup import plain, sentence, without_middle
from ragviz.ui import address, cache, heading, job_panel, question_table, wording

SHOWN = 8
"""Rows that are shown at first."""
WIDTHS = (3.1, 0.95, 0.85, 2.5, 1.35, 1.35)
"""Widths of the columns, in relation to each other."""
_ALL = "rescue-all"  # session state: all rows are shown


def draw(run: Run, k: int) -> None:
    """Draw the changes, the best first; a number lists its questions, the last column makes the run or compares it."""
    heading.section(f"What would rescue them at k = {k}")
    columns = cache.replay_columns(run)
    rescue = cache.rescue(run, k)
    st.markdown(_coloured(columns, rescue))
    if not rescue.lost.any():
        return
    _replaying(run, columns)
    if rescue.rows:
        _table(run, columns, rescue)
    notes = replays.notes(columns, k)
    if rescue.rows:
        notes.insert(0, "Each row was chosen on these questions: make its run, and confirm it on others.")
    st.caption(plain(" ".join(notes)))


def _coloured(columns: Columns, rescue: Rescue) -> str:
    return plain(replays.sentence(columns, rescue))


# What is not replayed yet


def _replaying(run: Run, columns: Columns) -> None:
    """Draw the button that replays what is neither a run nor replayed, or how far that is."""
    job = job_panel.newest_job("replay", run.corpus_id, run=run.id)
    failed = dict(job.result.get("failed", {})) if job is not None and job.status == "done" else {}
    missing = columns.missing
    if not missing:
        return
    names = [replays.title(columns, change.key) for change in missing]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", border=True):
        listed = ", ".join(plain(without_middle(name, 40)) for name in names[:6])
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        if job is not None and job.status in jobs.ACTIVE:
            st.markdown(f"Being replayed (see the sidebar): {listed}{more}.", width="stretch")
        else:
            n = wording.counted(len(columns.changes.questions), "question")
            st.markdown(f"Not tried yet: {listed}{more}.", width="stretch")
            if st.button(
                f"Replay {n}", key="replay-missing",
                help="Searches these for the questions of this run, once; no model answers or judges.",
            ):  # fmt: skip
                job_panel.submit("replay", f"Replay {run.name}", run.corpus_id, {"run": run.id})
                st.rerun()
    for change in missing:
        if change.key in failed:
            name = plain(replays.title(columns, change.key))
            st.caption(f":orange[▲] {name} could not be replayed: {sentence(failed[change.key])}")


# The table


def _table(run: Run, columns: Columns, rescue: Rescue) -> None:
    shown = rescue.rows if st.session_state.get(_ALL) else rescue.rows[:SHOWN]
    reach = _reach(shown)
    with st.container(key="rescue-table", gap="xxsmall"):
        for column, words in zip(
            st.columns(WIDTHS, gap="small", vertical_alignment="bottom"),
            ("Change", "Rescues", "Breaks", "Net gain, 95 % CI", "Tokens read", ""),
            strict=True,
        ):
            column.caption(words)
        for row in shown:
            _draw_row(run, columns, rescue, row, reach)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if len(rescue.rows) > SHOWN:
            everything = f":blue[{'Show fewer' if len(shown) > SHOWN else f'Show all {len(rescue.rows)}'}]"
            st.button(everything, key="rescue-more", type="tertiary", on_click=_toggle)
        if beyond := int(rescue.beyond.sum()):
            _lister(f"{beyond:,} beyond all of these", "rescued", question_table.NOTHING, "beyond")


def _toggle() -> None:
    st.session_state[_ALL] = not st.session_state.get(_ALL)


def _draw_row(run: Run, columns: Columns, rescue: Rescue, row: Row, reach: float) -> None:
    replay = row.replay
    name, rescued, broken, net, tokens, action = st.columns(WIDTHS, gap="small", vertical_alignment="center")
    with name:
        st.html(_name_html(columns, replay.key))
    with rescued:
        _lister(f"{row.rescues:,}", "rescued", replay.key, f"rescued-{replay.key}", disabled=not row.rescues)
    with broken:
        _lister(f"{row.breaks:,}", "broken", replay.key, f"broken-{replay.key}", disabled=not row.breaks)
    with net:
        st.html(net_html(row, reach))
    with tokens:
        st.html(_cost_html(columns, rescue, row))
    with action:
        _action(run, columns, row)


def _lister(label: str, name: str, value: str, key: str, *, disabled: bool = False) -> None:
    """Draw a number that lists its questions."""
    words = "Lists the questions that it rescues" if name == "rescued" else "Lists the questions that it breaks"
    st.button(
        label if disabled else f":blue[{label}]",
        key=f"rescue-{key}",
        type="tertiary",
        help="Lists these questions" if value == question_table.NOTHING else words,
        disabled=disabled,
        on_click=question_table.list_clicked,
        args=(name, value),
    )


def _name_html(columns: Columns, key: str) -> str:
    title, detail = replays.title(columns, key), replays.detail(columns, key)
    below = f'<br><span class="rv-detail">{escape(without_middle(detail, 48))}</span>' if detail else ""
    return f'<div class="rv-change" title="{escape(title)}">{escape(without_middle(title, 44))}{below}</div>'


def _reach(rows: Sequence[Row]) -> float:
    """Return the share at both ends of the axis that all rows have in common."""
    ends = [abs(end) for row in rows for end in (row.share.low, row.share.high) if end is not None]
    return max(ends, default=0.0) or 1.0


def net_html(row: Row, reach: float) -> str:
    """Return the net gain as a number with its direction, and its interval drawn on an axis from -reach to reach."""
    share = row.share
    if share.mean is None or share.low is None or share.high is None:
        return ""
    place = [50 + 48 * end / reach for end in (share.low, share.mean, share.high)]
    sure = share.low > 0 or share.high < 0
    colour = (style.BETTER if share.mean > 0 else style.WORSE) if sure else style.CONTEXT
    mark = ("▲" if share.mean > 0 else "▼") if sure else "≈"
    words = f"{row.net:+,} questions, {share.mean:+.1%} [{share.low:+.1%}, {share.high:+.1%}] of {share.n:,}"
    drawing = (
        '<span class="rv-axis"><i></i>'
        f'<b style="left: {place[0]:.1f}%; width: {max(1.0, place[2] - place[0]):.1f}%; background: {colour}"></b>'
        f'<u style="left: {place[1]:.1f}%; background: {colour}"></u></span>'
    )
    low, mean, high = (f"{100 * value:+.0f}" for value in (share.low, share.mean, share.high))
    numbers = f"{mark} {row.net:+,} <span class='rv-detail'>= {mean} % [{low}, {high}]</span>"
    return f'<div class="rv-net" title="{words}"><span>{numbers}</span>{drawing}</div>'


def _cost_html(columns: Columns, rescue: Rescue, row: Row) -> str:
    """Return the tokens read, against those of the run, and what a search takes where it is not the run's own."""
    now, replay = replays.tokens_at(columns.own, rescue.k), row.replay
    tokens = "–" if replay.tokens is None else f"{replay.tokens:,.0f}"
    parts = [f"{replay.tokens / now:.1f}×"] if replay.tokens is not None and now else []
    if replay.milliseconds is not None and replay.kind != "k":
        parts.append(f"{replay.milliseconds:.1f} ms")
    own = columns.own.milliseconds
    told = "Tokens of the chunks given to the answerer, a question on average, and how many times those of this run."
    if own is not None and replay.milliseconds is not None:
        told += f" Search: {replay.milliseconds:.1f} ms a question, of this run {own:.1f} ms."
    return f'<div class="rv-cost" title="{told}">{tokens} <span class="rv-detail">{" · ".join(parts)}</span></div>'


def _show(k: int) -> None:
    """Show the run at another k, at which other changes are tried."""
    address.put(k=k, rescued=None, broken=None)


def _action(run: Run, columns: Columns, row: Row) -> None:
    """Draw the link that makes the run, with the change filled in; that compares it, when there is one."""
    change = columns.change(row.replay.key)
    if change is not None and change.runs:
        other = change.runs[0]
        pair = [each.id if "," in each.name else each.name for each in (run, other)]
        address.link("compare", "Compare", runs=",".join(pair), k=row.replay.k)
        return
    config = run.config
    if change is None and not question_table.answers(run):  # rankings are known at every k
        more = row.replay.k
        st.button(
            f":blue[Show k = {more}]", key=f"rescue-show-{more}", type="tertiary", on_click=_show, args=(more,),
        )  # fmt: skip
        return
    index = run.provenance["index"] if change is None else change.index
    retriever = config.retriever if change is None else change.config.retriever
    filled = {"index": index, "set": run.provenance["questions"], "preset": run.name}
    address.link("run", "Make run", **filled, retriever=retriever, k=row.replay.k)
