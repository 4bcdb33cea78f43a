"""The runs of one name over time, as a nightly job makes them: a line, and the place where it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragviz.analysis.sides import Column, side_by_side
from ragviz.core.call import Estimate
from ragviz.core.configuration import Run
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import label
from ragviz.runs import overviews
from ragviz.runs.overviews import Overview
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters, Floats, clusters_of
from ragviz.stats.differences import ALPHA, Difference, corrected, paired_differences
from ragviz.text.counts import counted
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class History:
    """A metric of runs, the oldest first, over the `n` questions that all of them scored.

    `changed` is the place of the first run after the change, None where none is shown; `difference` is the mean of the
    runs from there on minus that of those before, its interval corrected for all places that were tried.
    """

    metric: str
    runs: tuple[Run, ...]
    means: tuple[Estimate, ...]
    n: int
    changed: int | None
    difference: Difference | None

    @property
    def sentence(self) -> str:
        """The finding in words."""
        of = f"{self.metric} of {counted(len(self.runs), 'run')}, {counted(self.n, 'common question')}"
        if self.changed is None or self.difference is None or self.difference.mean is None:
            return f"{of}: no change is shown."
        low, high = self.difference.low, self.difference.high
        ends = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
        return f"{of}: changed with '{self.runs[self.changed].name}', {self.difference.mean:+.2f}{ends}."


def history(workspace: Workspace, runs: Sequence[Run], metric: str = "") -> History:
    """Return a metric of finished runs over time, by default recall at each one's own k, else of their answers.

    At every place between two runs, the mean of each question after it minus that before is tested, clustered by
    document as differences of runs are (see `change_point`).

    Raises:
        UsageError: fewer than two runs, or no question that all of them scored.
        NotFoundError: the metric is not measured in all of them.

    """
    runs = sorted((run for run in runs if run.status == "done"), key=lambda run: run.created)
    if len(runs) < 2:
        raise UsageError(f"A history takes two finished runs: there {'is one' if runs else 'are none'}.")
    of_runs = [overviews.overview(workspace, run) for run in runs]
    known = [_columns(run, overview) for run, overview in zip(runs, of_runs, strict=True)]
    common = [name for name in ("recall", *ANSWER_METRICS) if all(name in columns for columns in known)]
    metric = metric or next(iter(common), "")
    if not all(metric in columns for columns in known):
        offered = ", ".join(common) or "none"
        raise NotFoundError(f"'{metric}' is not measured in all of these runs: common to them is {offered}.")
    shared, values, _ = side_by_side([columns[metric] for columns in known])
    rows = np.flatnonzero(np.isfinite(values).all(axis=0))
    ids, matrix = [shared[row] for row in rows], values[:, rows].T
    if not ids:
        raise UsageError(f"There is no question for which all of these runs have {metric}.")
    asked = of_runs[-1].asked
    documents = dict(zip(asked.ids, asked.documents, strict=True))
    clusters = clusters_of([documents.get(i, ()) for i in ids])
    means = intervals.estimates({run.id: matrix[:, at] for at, run in enumerate(runs)}, clusters)
    changed, difference = change_point(matrix, clusters)
    return History(metric, tuple(runs), tuple(means.values()), len(ids), changed, difference)


def change_point(scores: Floats, clusters: Clusters) -> tuple[int, Difference] | tuple[None, None]:
    """Return the place of the first run after the change in scores (questions, runs), and the difference there.

    It is where two levels fit the means of the runs best (least squares). None, None where its p-value, times
    the number of places (Bonferroni), is not below 0.05.
    """
    splits = np.arange(1, scores.shape[1])
    shifts = np.stack([scores[:, at:].mean(axis=1) - scores[:, :at].mean(axis=1) for at in splits], axis=1)
    tried = paired_differences(shifts, clusters)
    at = int(np.argmax(splits * (scores.shape[1] - splits) * shifts.mean(axis=0) ** 2))
    alone = tried[at].p_value
    p_value = min(1.0, (1.0 if alone is None else alone) * len(tried))
    return (at + 1, corrected(tried[at], p_value, len(tried))) if p_value < ALPHA else (None, None)


def _columns(run: Run, overview: Overview) -> dict[str, Column]:
    ids, recall = overview.summary.question_ids, overview.summary.scores.get(label("recall", run.config.k))
    of_rankings = {}
    if recall is not None and len(recall):
        of_rankings = {"recall": Column(ids, recall, (), np.zeros(len(ids), dtype=np.int8))}
    return of_rankings | dict(overview.answers)
