"""Real traffic: traces that arrive become recordings of one run, measured from time to time and judged by the day."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from contextlib import suppress

from ragviz.core.document import Corpus
from ragviz.core.errors import BudgetReached, InputError
from ragviz.core.stopping import Progress, current, silent
from ragviz.runs import imports, running
from ragviz.targets import logged_file
from ragviz.targets.logged_item import LoggedItem
from ragviz.targets.traffic import Span, Traces
from ragviz.workspace import Workspace

EVERY, DAY = 60.0, 86_400.0
"""Seconds between two measurements of what has arrived, and of a day."""


def listen(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    traces: Traces,
    *,
    most: int = 10_000,
    daily: float | None = None,
    every: float = EVERY,
    progress: Progress = silent,
) -> None:
    """Store what `traces` gathers as the run `name`, until it has `most` items or this thread is stopped.

    A trace without a question and an answer or contexts is left out. What a run of this name has stays. With `daily`
    dollars, what has arrived is judged, for at most so much a day.

    Raises:
        UsageError: the name is blank, or another run's; no model is configured, or has no price.

    """
    recorder = imports.Recorder(workspace, corpus, name, "traffic", origin="traces", again=True)
    measured = time.monotonic()
    began, paid = time.time() // DAY, workspace.store.payments.of(recorder.run.id).dollars
    new = 0
    try:
        while len(recorder.done) < most:
            progress(len(recorder.done), most, "items", "Listening")
            current().pause(min(1.0, every))
            items = items_of(traces.whole(time.monotonic()))[: most - len(recorder.done)]
            recorder.put(items)
            new += len(items)
            if new and time.monotonic() - measured >= every:
                recorder.finish()
                if time.time() // DAY != began:
                    began, paid = time.time() // DAY, workspace.store.payments.of(recorder.run.id).dollars
                if daily is not None:
                    with suppress(BudgetReached):  # the rest is judged on another day
                        running.judge(workspace, workspace.store.runs.get(name), budget=paid + daily)
                measured, new = time.monotonic(), 0
    finally:
        recorder.put(items_of(traces.whole(math.inf))[: most - len(recorder.done)])
        if recorder.done:
            recorder.finish()
        else:
            recorder.delete()


def items_of(traces: Sequence[Sequence[Span]]) -> list[LoggedItem]:
    """Return the traces that hold a question with its answer or contexts as items, named by their ids."""
    if not traces:
        return []
    spans = json.dumps([span for trace in traces for span in trace]).encode()
    try:
        return [item for log in logged_file.read(spans, "traces", "spans").logs for item in log.items]
    except InputError:
        return []  # of other work than answering
