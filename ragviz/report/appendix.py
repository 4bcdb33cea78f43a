"""The appendix of a report: everything that its runs were made of, and how its doubt was computed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragviz.analysis import differing as settings
from ragviz.core.configuration import Run
from ragviz.report.page import Heading, Part, Table, date
from ragviz.runs import measurements

METHOD = (
    "Questions about the same documents are not independent: they form clusters, and every interval is a 95 % interval "
    "of the jackknife that leaves out one document at a time, with every question that touches it. From 30 documents "
    "on that share no question, whole clusters are resampled; rates have the interval of their logit. With fewer than "
    "six documents nothing can be said of others, and intervals are for further questions on these."
)
COMPARED = (
    "Differences are paired by question; their intervals and p-values are Student's t on one error. The primary metric "
    "decides, corrected over the runs (Holm), in its intervals too; all others are exploratory (Benjamini and "
    "Hochberg). A run is better or worse when its difference is significant at 5 %, equivalent when two one-sided "
    "tests place it within the smallest difference that matters, and otherwise undecided."
)


def parts(runs: Sequence[Run], names: Sequence[str] = ()) -> list[Part]:
    """Return the choices of runs, those in which they differ first, and how doubt is computed.

    `names` are what the runs are called, by default their own names.
    """
    flat = [dict(_flat(_choices(run))) for run in runs]
    keys = list(dict.fromkeys(key for choices in flat for key in choices))
    rows = [(settings.title(key), *(_written(choices.get(key)) for choices in flat)) for key in keys]
    head = ["Choice", *(names or [run.name for run in runs])]
    method: list[Part] = [Heading("How doubt is computed"), METHOD]
    if len(runs) == 1:
        return [Table(head, rows, "Every choice, and what the run rests on"), *method]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    equal = [row[:2] for row in rows if len(set(row[1:])) == 1]
    tables = [Table(head, differing, "What differs")] if differing else []
    return [*tables, Table(["Choice", "All runs"], equal, "What is the same"), *method, COMPARED]


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


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    parts: list[tuple[str, Any]] = []
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            parts += _flat(value, f"{prefix}{key}.")
        else:
            parts.append((f"{prefix}{key}", value))
    return parts


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value or "–"
    if value is None or value in ((), {}, []):
        return "–"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else json.dumps(value, ensure_ascii=False)
