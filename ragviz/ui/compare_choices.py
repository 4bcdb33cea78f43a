"""What the page Compare is asked to show: runs, baseline, rule, metric, and the run compared with the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from ragviz.analysis import compare
from ragviz.analysis.compare import Comparison, Delta
from ragviz.core.run_info import Run
from ragviz.metrics.registry import title_of
from ragviz.text.names import short_names
from ragviz.ui import address, both_sides, cache
from ragviz.ui.run_table import MOST_COMPARED


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page shows: runs, the first of which is the baseline, compared by `metric`.

    `other` is the run that is compared with the baseline in detail; `of` is the state of the runs, by which what is
    computed of them is cached.
    """

    runs: tuple[Run, ...]
    comparison: Comparison
    metric: str
    other: str
    of: cache.State

    @property
    def pair(self) -> tuple[Run, Run]:
        """The baseline and the run that is compared with it in detail."""
        return self.runs[0], next(run for run in self.runs if run.name == self.other)

    def delta(self, metric: str = "") -> Delta:
        """Return the difference of that run in a metric, by default the one shown."""
        deltas = self.comparison.rows[metric or self.metric].deltas
        return next(delta for delta in deltas if delta.run == self.other)


def chosen_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the address, the first of them the baseline; by default the run last seen and another one."""
    by_name = {run.name: run for run in runs}
    known = [run.name for run in both_sides.requested_runs(runs)]
    emptied = st.query_params.get("runs") == ""  # by a person
    st.session_state["runs-shown"] = known or ([] if emptied else default_names(runs, address.last_value("run")))
    names = st.multiselect(
        "Runs", [run.name for run in runs], key="runs-shown", max_selections=MOST_COMPARED,
        on_change=lambda: address.put(runs=written(st.session_state["runs-shown"], by_name), question=None),
    )  # fmt: skip
    address.settle("runs", written(names, by_name) or None)
    return [by_name[name] for name in names]


def default_names(runs: Sequence[Run], seen: str | None) -> list[str]:
    """Return the run `seen` last, else the newest, and the newest other one on the same questions; the older one first.

    `runs` come with the newest first.
    """
    if not runs:
        return []
    shown = next((run for run in runs if run.name == seen), runs[0])
    asked = (shown.config.questions, shown.config.split)
    other = next((run for run in runs if run != shown and (run.config.questions, run.config.split) == asked), None)
    return [run.name for run in reversed(runs) if run in (shown, other)]


def written(names: Sequence[str], by_name: Mapping[str, Run]) -> str:
    """Return the names separated by commas; a run with a comma in its name is written by its id."""
    return ",".join(by_name[name].id if "," in name else name for name in names)


def choose_pair(runs: Sequence[Run], baseline: str, other: str) -> None:
    """Put a pair into the address: the baseline is the first of the runs."""
    names = [baseline, *(run.name for run in runs if run.name != baseline)]
    address.put(runs=written(names, {run.name: run for run in runs}), other=other)


def choose_baseline(runs: Sequence[Run]) -> None:
    """Draw the choice of the baseline, which is the first of the runs."""
    st.session_state["baseline"] = runs[0].name
    names = [run.name for run in runs]
    st.selectbox(
        "Baseline", names, key="baseline", format_func=short_names(names, 40).__getitem__,
        on_change=lambda: choose_pair(runs, st.session_state["baseline"], runs[0].name),
    )  # fmt: skip


def choose_k(runs: Sequence[Run]) -> int:
    """Draw the choice of k, up to the least depth of the runs."""
    depth = min((run.config.depth for run in runs), default=1)
    k = address.chosen_number("k", 1, depth, runs[0].config.k if runs else 1)
    st.session_state["k-compared"] = k
    st.number_input("k", 1, depth, key="k-compared", on_change=lambda: address.put(k=st.session_state["k-compared"]))
    return k


def choose_other(comparison: Comparison) -> str:
    """Draw the choice of the run that is compared with the baseline in detail."""
    others = comparison.runs[1:]
    if len(others) == 1:
        return address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    short = short_names(comparison.runs, 40)
    shown = address.choose("Compared with it", others, "other", format_func=short.__getitem__)
    return shown or others[0]


def choose_rule(comparison: Comparison) -> Comparison:
    """Return the comparison by the rule of the address: what decides, and the smallest difference that matters."""
    effect = address.readable("effect", _share, "a share from 0.001 to 0.5, as 0.02")
    names = list(comparison.rows)
    primary = address.readable("primary", address.one_of(names), f"one of {', '.join(names)}") or ""
    ruled = compare.with_rule(comparison, primary, effect) if primary or effect else comparison
    st.session_state["primary-chosen"], st.session_state["effect-chosen"] = (
        ruled.rule.primary,
        ruled.rule.minimum_effect,
    )
    with st.popover("Rule", icon=":material/gavel:", width="stretch"):
        st.selectbox(
            "Primary metric", names, key="primary-chosen", format_func=title_of,
            on_change=lambda: address.put(primary=st.session_state["primary-chosen"], metric=None),
            help="The one metric that decides. All others are exploratory. Name it before you see a result.",
        )  # fmt: skip
        st.number_input(
            "Smallest difference that matters", 0.001, 0.5, step=0.01, format="%.3f", key="effect-chosen",
            on_change=lambda: address.put(effect=f"{st.session_state['effect-chosen']:g}"),
            help="As a share of the metric's range. Runs that are closer than this are equivalent.",
        )  # fmt: skip
    return ruled


def _share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.001 <= value <= 0.5 else None


def choose_metric(comparison: Comparison) -> str:
    """Draw the choice of the metric shown, at first the primary one."""
    default = comparison.rule.primary
    names = list(comparison.rows)
    return address.choose("Metric", names, "metric", default=default, format_func=title_of) or default
