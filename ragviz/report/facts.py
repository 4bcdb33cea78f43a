"""Numbers as reports show them: with their interval and n, never a bare mean."""

from __future__ import annotations

from ragviz.core.call import Estimate
from ragviz.report.elements import Html, element


def fact(title: str, value: str, note: str = "") -> Html:
    """Return a number with its name and what it rests on."""
    return element("div", element("dt", title), element("dd", value, element("small", note) if note else None))


def estimate_fact(title: str, estimate: Estimate) -> Html:
    """Return a mean with its interval and n."""
    if estimate.mean is None:
        return fact(title, "–", "no question is scored")
    return fact(title, f"{estimate.mean:.2f}", f"{estimate.interval_words()}, n = {estimate.n:,}")


def mean_cells(estimate: Estimate) -> tuple[str, str, str]:
    """Return mean, interval and n, each a cell of a row."""
    if estimate.mean is None:
        return "–", "", f"{estimate.n:,}"
    return f"{estimate.mean:.3f}", estimate.interval_words(3), f"{estimate.n:,}"
