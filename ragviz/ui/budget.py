"""The budget of model calls: its field, and the one that a run had last."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.experiment import Experiment
from ragviz.jobs import queue
from ragviz.text.markup import plain
from ragviz.ui import cache


def field(explained: str, key: str | None = None, default: float | None = None) -> float | None:
    """Ask for the most dollars that may be paid, None is no limit; say what the person's month leaves."""
    dollars = st.number_input(
        "Budget in dollars", 0.0, None, default, step=1.0, format="%.2f", placeholder="no limit", key=key,
        help=explained, width=180,
    )  # fmt: skip
    workspace = cache.workspace()
    if (most := workspace.settings.monthly_budget) is not None:
        name = workspace.person.name
        spent = workspace.store.payments.of_month(name, f"{datetime.now(UTC):%Y-%m}").dollars
        st.caption(plain(f"{name} has ${max(0.0, most - spent):,.2f} of ${most:,.2f} left this month."))
    return None if dollars is None else float(dollars)


def field_of(continued: Run | Experiment, key: str) -> float | None:
    """Ask for the budget of a run or an experiment that is continued; the default is its last one."""
    return field("For the whole of it, including what it has paid so far.", key, last_budget(continued))


def last_budget(made_before: Run | Experiment) -> float | None:
    """Return the budget that a run or an experiment was given last, None when it had none."""
    noun, name = ("run", made_before.name) if isinstance(made_before, Run) else ("experiment", made_before.id)
    made = (job for job in queue.listed(cache.workspace()) if queue.made_by(job, noun) == name)
    newest = next(made, None)
    return None if newest is None else newest.arguments.get("budget")
