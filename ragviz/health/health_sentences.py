"""What is said of a question set's health, made of the records where they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz.health.competition import Competition
from ragviz.health.coverage_map import CoverageMap
from ragviz.text.counts import counted

HEADLINE = 0.05
"""The size of the loss, in points of recall, of which the sentence of a drill speaks."""
MOSTLY = 0.8
"""The share of plantings from which on a loss counts as noticed."""


def drill(fact: Mapping[str, Any]) -> str:
    """Say what a drill found: how much of evidence that is left out is noticed, at which rate of false alarms."""
    headline = next(row for row in fact["losses"] if row["loss"] == HEADLINE)
    alarms, of = fact["false_alarms"], headline["repetitions"]
    if headline["reason"]:
        return f"No loss of {points(HEADLINE)} can be planted: {headline['reason']}."
    missed = [
        row["loss"] for row in fact["losses"] if not row["repetitions"] or row["worse"] < MOSTLY * row["repetitions"]
    ]
    larger = [row["loss"] for row in fact["losses"] if row["loss"] > max(missed, default=0.0)]
    from_on = (
        f"losses are mostly noticed from {points(larger[0])} on"
        if larger
        else f"not even losses of {points(missed[-1])} are mostly noticed, which takes more questions about more "
        "documents"
    )
    return (
        f"This set notices {percent(headline['worse'], of)} of planted losses of {points(HEADLINE)} of "
        f"{fact['metric']} at a false-alarm rate of {percent(alarms['worse'], alarms['repetitions'])}, and "
        f"{from_on}; what is answered wrongly from evidence that is found, no recall can notice."
    )


def points(share: float) -> str:
    """Write a share of recall in points.

    >>> points(0.05), points(0.01)
    ('5 points', '1 point')
    """
    return counted(round(100 * share), "point")


def percent(count: int, of: int) -> str:
    """Write a share in percent, below 10 with a decimal where it has one.

    >>> percent(18, 20), percent(3, 400), percent(0, 400), percent(0, 0)
    ('90 %', '0.8 %', '0 %', 'none')
    """
    if not of:
        return "none"
    share = 100 * count / of
    return f"{share:.1f} %" if 0 < share < 10 and round(share, 1) != round(share) else f"{share:.0f} %"


def competition(found: Competition) -> list[str]:
    """Say what new documents did to the questions about the earlier ones."""
    total, chunks = found.total, counted(found.chunks, "chunk")
    asked = f"{counted(total.n, 'question')} about the earlier documents"
    lines = [
        f"Recall@{found.k} of the {asked} was {total.before:.3f} in {found.earlier}, and is {total.after:.3f} in "
        f"{found.later}."
    ]
    if not found.added:
        return [*lines, "No document was added since: nothing is lost to competition."]
    verb = "is" if found.chunks == 1 else "are"
    new = f"{chunks} of {counted(len(found.added), 'new document')}"
    lines.append(f"It is {total.without:.3f} when the {new} {verb} left out.")
    if not total.lost:
        return [*lines, "No question finds less than before."]
    lines.append(
        f"{counted(total.lost, 'question', 'finds')} less than before: {total.to_competition:,} lost to the "
        f"competition of the new chunks, {total.lost - total.to_competition:,} for other reasons."
    )
    return lines


def coverage(shown: CoverageMap) -> str:
    """Say what a coverage map shows, and what it leaves out."""
    never, found, missed = shown.total
    misses = f", {missed:,} of them not in the first {shown.k} of {shown.run}" if shown.run else ""
    said = f"{found + missed:,} of {sum(shown.total):,} chunks are asked about{misses}; {never:,} are not."
    if len(shown.ids) < sum(shown.total):
        said += f" Drawn are {len(shown.ids):,}, the others left out by chance, those asked about last."
    near = "texts that mean the same" if shown.basis == "embeddings" else "texts that share rare words"
    return f"{said} Near each other are {near}, as far as two dimensions show ({shown.explained:.0%} of the variance)."
