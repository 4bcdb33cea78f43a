"""The downloads of a run: its files, and the tables of everything it holds, as CSV, JSON Lines or Parquet."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from ragviz.analysis.rules import Rule
from ragviz.core.experiment import Experiment
from ragviz.core.run_info import Run
from ragviz.report import reports
from ragviz.runs import cases, exports, tables
from ragviz.ui import cache

_FORMAT_NAMES = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}
_MEDIA_TYPES = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "zip": "application/zip",
}


def popover(run: Run) -> None:
    """Draw the button whose popover offers a run's files; a file is made when its button is pressed."""

    def made(name: str) -> bytes:
        return exports.export_run(cache.workspace(), run, files=[name])[name]

    with st.popover("Download", icon=":material/download:"):
        st.markdown("**Report** · one HTML file that opens offline and prints")
        report_button([run])
        st.markdown("**Tables** · everything the run holds, a row for each thing")
        titles = {name: name.replace("_", " ") for name in tables.TABLES}
        explained = "  \n".join(f"**{titles[name]}**: {each.explanation}" for name, each in tables.TABLES.items())
        names = st.multiselect(
            "Tables", list(tables.TABLES), default=list(tables.TABLES), key="export-tables",
            format_func=titles.__getitem__, help=explained,
        )  # fmt: skip
        file_format = st.segmented_control(
            "Format", list(exports.FORMATS), default="csv", key="export-format", required=True,
            format_func=_FORMAT_NAMES.__getitem__,
        )  # fmt: skip
        _tables_button(run, names, str(file_format))
        st.markdown("**Files** · for spreadsheets and imports")
        with st.container(horizontal=True, gap="small"):
            for name in cases.FILES:
                _button(run, name, partial(made, name), name)
        _button(
            run, "All files and tables (zip)",
            lambda: zipped(exports.export_run(cache.workspace(), run, list(tables.TABLES), str(file_format))),
            "all.zip",
        )  # fmt: skip


def report_button(runs: Sequence[Run], k: int | None = None, rule: Rule | None = None) -> None:
    """Draw the button that makes and downloads the report of a run, or of several compared by a rule."""
    primary = rule.primary if rule is not None and rule.declared else ""
    effect = None if rule is None else rule.minimum_effect
    name = runs[0].name if len(runs) == 1 else f"{len(runs)}-runs"
    _report_button(name, lambda: reports.of_runs(cache.workspace(), runs, k, primary=primary, minimum_effect=effect))


def experiment_report_button(experiment: Experiment) -> None:
    """Draw the button that makes and downloads the report of an experiment."""
    _report_button(experiment.name, lambda: reports.made(cache.workspace(), [experiment.id]))


def _report_button(name: str, made: Callable[[], bytes]) -> None:
    st.download_button(
        "Report (HTML)",
        made,
        f"{name}-report.html",
        "text/html",
        key="download-report",
        icon=":material/summarize:",
        on_click="ignore",
    )


def _tables_button(run: Run, names: Sequence[str], file_format: str) -> None:
    """Draw the button of the chosen tables: one as it is, several in a zip."""
    names = list(names)
    if len(names) == 1:
        file = f"{names[0]}.{file_format}"
        _button(run, file, lambda: exports.export_tables(cache.workspace(), run, names, file_format)[file], file)
        return
    label = f"{len(names)} tables (zip)" if names else "Choose a table"
    _button(
        run, label,
        lambda: zipped(exports.export_tables(cache.workspace(), run, names, file_format)),
        f"tables-{file_format}.zip", disabled=not names,
    )  # fmt: skip


def _button(run: Run, label: str, made: Callable[[], bytes], file: str, *, disabled: bool = False) -> None:
    media_type = _MEDIA_TYPES[file.rpartition(".")[2]]
    st.download_button(
        label, made, f"{run.name}-{file}", media_type, key=f"download-{file}", on_click="ignore", disabled=disabled
    )


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return files by name in one zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()
