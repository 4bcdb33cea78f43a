"""What would rescue the lost questions of a run, in words, and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import rescue as rescuing
from ragviz.retrieval import rerankers
from ragviz.runs import replays
from ragviz.runs.replays import Columns
from ragviz.text.counts import counted, first

SHOWN = 3
"""Changes that are named of those that rescue one question."""


def title(columns: Columns, key: str) -> str:
    """Return what a change is called."""
    kind, _, name = key.partition("=")
    change = columns.change(key)
    if kind == "budget":
        return f"context budget = {int(name):,} tokens" if name.isdigit() else key
    if kind == "k" or change is None:
        return f"{kind} = {name}"
    if kind == "retriever":
        return f"{change.config.ranked_by} on this index"
    if kind == "reranker":
        return f"reranked by {name}" if change.config.reranker != rerankers.NONE else "without reranking"
    if kind == "index" and columns.run.knows.opaque:
        return f"{change.config.ranked_by} over your documents (index {change.index})"
    if kind == "index":
        return f"index {name}{', as built since' if change.config.index == columns.run.config.index else ''}"
    if kind == "chunking":
        return f"chunking {name}"
    if kind == "prefix":
        return "without a prefix" if name == "none" else f"{name} before each chunk"
    return f"run {change.runs[0].name}"


def detail(columns: Columns, key: str) -> str:
    """Return what a change is made of, where its title does not say it: the runs that were made so, their choices."""
    change = columns.change(key)
    if change is None or not change.runs:
        return ""
    names = ", ".join(run.name for run in change.runs)
    return f"{change.config.ranked_by} over {change.index}" if change.kind == "run" else f"run {names}"


def tokens_words(tokens: float | None, now: float | None) -> str:
    """Say how many tokens are read, and how many more than `now`.

    >>> tokens_words(612.4, 408.2), tokens_words(612.4, None), tokens_words(None, 408.2)
    ('612 (+204)', '612', '')
    """
    if tokens is None:
        return ""
    return f"{tokens:,.0f}" if now is None else f"{tokens:,.0f} ({tokens - now:+,.0f})"


def net_words(row: rescuing.Row) -> str:
    """Write the net gain of a change, and its share of the questions with the interval."""
    share, net = row.share, f"{row.net:+,}"
    return net if share.mean is None else f"{net} = {share.mean:+.1%} [{share.low:+.1%}, {share.high:+.1%}]"


def sentence(columns: Columns, rescue: rescuing.Rescue) -> str:
    """Say what rescues most of the questions lost before an answer, the best of two kinds; how many nothing rescues."""
    lost = int(rescue.lost.sum())
    place = first(rescue.k, "chunk") if columns.budget is None else f"the context at k = {rescue.k}"
    if not lost:
        return f"The evidence of every question is in {place}."
    gains = [row for row in rescue.rows if row.net > 0]
    best = [row for row in gains if row.replay.kind != "k"][:1] + [row for row in gains if row.replay.kind == "k"][:1]
    now, told = columns.tokens_now(rescue.k), []
    for row in best:
        words = f"{title(columns, row.replay.key)} rescues {row.rescues:,} and breaks {row.breaks:,}"
        times = row.replay.tokens / now if row.replay.tokens is not None and now else None
        told.append(words if times is None else f"{words}, with {times:.1f} times the tokens read")
    if not best:
        told.append("no change rescues more than it breaks" if rescue.rows else "nothing was tried")
    if unrescued := int(rescue.unrescued.sum()):
        told.append(f"none of these rescues {unrescued:,}")
    cut = replays.truncated(columns, rescue.k)
    out = f" ({cut:,} of them by the budget of {columns.budget:,} tokens)" if cut else ""
    return f"Of {counted(lost, 'question')} whose evidence is not in {place}{out}: {'; '.join(told)}."


def rescuing_one(columns: Columns, rescue: rescuing.Rescue, place: int) -> str:
    """Say which changes rescue the question at a place of the run's: the least k and budget that do, then the best."""
    rows = [row for row in rescue.rows if row.rescued[place]]
    sized = [row for row in rows if row.replay.kind in ("k", "budget")]
    sized.sort(key=lambda row: int(row.replay.key.partition("=")[2]))
    least = {row.replay.kind: row for row in reversed(sized)}
    rows = [*least.values(), *(row for row in rows if row.replay.kind not in least)]
    names = [title(columns, row.replay.key) for row in rows]
    if not names:
        return "no change that was replayed rescues it" if rescue.rows else "replay changes on the page Results"
    more = f" and {counted(len(names) - SHOWN, 'other change')}" if len(names) > SHOWN else ""
    return f"rescued by {', '.join(names[:SHOWN])}{more}"


def suggestion(columns: Columns, rescue: rescuing.Rescue) -> str:
    """Return the best change that reads no more chunks, where its gain is clear (the interval excludes 0); else "".

    A change was chosen among several on these questions, so it is a suggestion to be confirmed.
    """
    rows = [row for row in rescue.rows if row.replay.kind not in ("k", "budget", "run")]
    clear = [row for row in rows if row.share.low is not None and row.share.low > 0]
    if not clear:
        return ""
    row = clear[0]
    return (
        f"Of what was tried at this k and budget, {title(columns, row.replay.key)} gains most: it rescues "
        f"{row.rescues:,} of the {int(rescue.lost.sum()):,} lost questions and breaks {row.breaks:,}."
    )


def notes(columns: Columns, k: int) -> list[str]:
    """Say what the table leaves out, and why, in sentences."""
    changes, index = columns.changes, columns.run.provenance["index"]
    shallow = [c for c in changes.changes if c.runs and max(run.config.depth for run in c.runs) < k]
    unread = columns.budget is not None and columns.own.reach is None
    both_sides = not columns.run.config.split and any(question.split == "test" for question in changes.questions)
    told = {
        f"The index {index} was deleted: other retrievers cannot be tried on it.": changes.own is None
        and not columns.run.knows.opaque,
        f"The index {index} was built anew after this run: replays search it as it is now.": changes.rebuilt,
        f"Runs of this corpus that asked other questions, or these before they were changed: {changes.others:,}, "
        "left out.": changes.others,
        f"The reranker {columns.run.config.reranker} asks a model, which costs: nothing is replayed with it, only "
        "runs that exist count.": changes.paid,
        f"Runs whose rankings are not {k} deep: {len(shallow):,}, left out.": shallow,
        "How many tokens the chunks hold is not known, so the context budget is not counted.": unread,
        "Lost is a question here whose evidence is not in the context; what becomes of its answer takes a run.": (
            columns.run.knows.answers
        ),
        "The run asked the test side of the split, too: a change that is chosen here has seen the questions that would "
        "confirm it. Replay a run of the validation side to choose what is to be confirmed on test.": both_sides,
    }
    return [words for words, applies in told.items() if applies]


def to_json(columns: Columns, rescue: rescuing.Rescue) -> dict[str, Any]:
    """Return the table as the command line prints it; numbers that are not known are null."""
    ids = np.array([question.id for question in columns.changes.questions], dtype=object)
    now = columns.tokens_now(rescue.k)
    return {
        "run": columns.run.name,
        "k": rescue.k,
        "n": len(rescue.lost),
        "lost": int(rescue.lost.sum()),
        "truncated": replays.truncated(columns, rescue.k),
        "beyond": ids[rescue.unrescued].tolist(),
        "tokens": now,
        "milliseconds": columns.own.milliseconds,
        "changes": [_row_to_json(columns, row, ids, now) for row in rescue.rows],
        "not_replayed": [change.key for change in columns.missing("search")],
        "not_built": [change.key for change in columns.missing("compute")],
        "notes": notes(columns, rescue.k),
    }


def _row_to_json(columns: Columns, row: rescuing.Row, ids: NDArray[np.object_], now: float | None) -> dict[str, Any]:
    replay, change = row.replay, columns.change(row.replay.key)
    more = None if replay.tokens is None or now is None else replay.tokens - now
    return {
        "change": replay.key,
        "title": title(columns, replay.key),
        "k": replay.k,
        "rescues": row.rescues,
        "breaks": row.breaks,
        "net": row.net,
        "share": {name: getattr(row.share, name) for name in ("mean", "low", "high", "n")},
        "tokens": replay.tokens,
        "more_tokens": more,
        "milliseconds": replay.milliseconds,
        "runs": [run.name for run in change.runs] if change is not None else [],
        "rescued": ids[row.rescued].tolist(),
        "broken": ids[row.broken].tolist(),
    }
