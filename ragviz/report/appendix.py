"""The appendix of a report: everything that its runs were made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragviz.analysis import differing as settings
from ragviz.analysis.sides import flattened
from ragviz.core.configuration import Run
from ragviz.report.page import Part, Table, date
from ragviz.runs import measurements


def parts(runs: Sequence[Run], names: Sequence[str] = ()) -> list[Part]:
    """Return the choices of runs, those in which they differ first.

    `names` are what the runs are called, by default their own names.
    """
    flat = [dict(flattened(_choices(run))) for run in runs]
    keys = list(dict.fromkeys(key for choices in flat for key in choices))
    rows = [(settings.title(key), *(settings.value_words(key, of.get(key)) for of in flat)) for key in keys]
    head = ["Choice", *(names or [run.name for run in runs])]
    if len(runs) == 1:
        return [Table(head, rows, "Every choice, and what the run rests on")]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    equal = [row[:2] for row in rows if len(set(row[1:])) == 1]
    tables = [Table(head, differing, "What differs")] if differing else []
    return [*tables, Table(["Choice", "All runs"], equal, "What is the same")]


def _choices(run: Run) -> dict[str, Any]:
    made, choices = run.provenance, run.choices
    index = choices.pop("index", None)
    return {
        "questions": run.set_name,
        "questions asked": measurements.asked_words(run),
        "index": index,
        **choices,
        "made": {"started": date(run.created), "ragviz": made["ragviz"], "fingerprint": run.fingerprint},
        "identity": {key: value for key, value in made["identity"].items() if key not in choices},
    }
