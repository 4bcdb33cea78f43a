"""The downloads of a run: its report and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from ragviz.analysis.rules import Rule
from ragviz.core.configuration import Run
from ragviz.report import reports
from ragviz.runs import exports
from ragviz.ui import cache

_MEDIA_TYPES = {"json": "application/json", "csv": "text/csv", "jsonl": "application/jsonl"}


def popover(run: Run) -> None:
    """Draw the button whose popover offers a run's files; a file is made when its button is pressed."""

    def one(name: str) -> bytes:
        [data] = exports.export_run(cache.workspace(), run, files=[name]).values()
        return data

    with st.popover("Download", icon=":material/download:"):
        st.markdown("**Report** · one HTML file that opens offline and prints")
        report_button([run])
        st.markdown("**Files** · for spreadsheets and imports")
        with st.container(horizontal=True, gap="small"):
            for name in exports.FILES:
                media_type = _MEDIA_TYPES.get(name.rpartition(".")[2], "text/plain")
                st.download_button(
                    name, partial(one, name), f"{run.name}-{name}", media_type, key=f"download-{name}",
                    on_click="ignore",
                )  # fmt: skip
        st.caption("The command `ragviz export` writes a table for each thing that the run holds.")


def report_button(runs: Sequence[Run], k: int | None = None, rule: Rule | None = None) -> None:
    """Draw the button that makes and downloads the report of a run, or of several compared by a rule."""
    primary = rule.primary if rule is not None and rule.declared else ""
    effect = None if rule is None else rule.minimum_effect
    name = runs[0].name if len(runs) == 1 else f"{len(runs)}-runs"
    report(name, lambda: reports.of_runs(cache.workspace(), runs, k, primary=primary, minimum_effect=effect))


def report(name: str, made: Callable[[], bytes]) -> None:
    """Draw the button that makes and downloads a report."""
    st.download_button(
        "Report (HTML)",
        made,
        f"{name}-report.html",
        "text/html",
        key="download-report",
        icon=":material/summarize:",
        on_click="ignore",
    )
