"""Two runs question by question on the page Compare and in the case of both: what is listed is what was chosen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ragviz.analysis import compare, diagnose
from ragviz.runs import comparisons
from ragviz.workspace import open_workspace
from tests.conftest import CommandResult
from tests.test_pages import (  # the home that is built there, and how a page is visited
    built,  # noqa: F401 - a fixture
    home,  # noqa: F401 - a fixture
)

RUNS = "words,vectors"


def comparison() -> compare.Comparison:
    workspace = open_workspace()
    return comparisons.compare_runs(workspace, [workspace.store.runs.get(name) for name in RUNS.split(",")], 3)


def causes() -> list[dict[str, str]]:
    """Question → its cause up to the ranking at k = 3, of both runs."""
    workspace = open_workspace()
    found = []
    for name in RUNS.split(","):
        run = workspace.store.runs.get(name)
        questions = [q for q in workspace.store.rankings.questions(run.id) if q.evidence]
        found.append(diagnose.attribute_failures(questions, workspace.store.rankings.all(run.id), 3))
    return found


def test_the_command_line_has_the_streams_and_slices_of_the_page(
    home: Path,  # noqa: F811
    command_line: Callable[..., CommandResult],
) -> None:
    before, after = causes()
    took = Counter((before[i], after[i]) for i in before)
    body = json.loads(command_line("compare", *RUNS.split(","), "-k", "3", "--json")[1])
    flow = body["flows"]["vectors"]
    assert {(s["source"], s["target"]): len(s["question_ids"]) for s in flow["streams"]} == took
    assert not flow["answered"]
    assert flow["unknown"] == 0
    effects = {s["effect"] for s in flow["streams"] if s["target"] == "fine"}
    assert effects <= {"rescued", "stayed"}
    of = body["slices"]["vectors"]
    assert of["metric"] == "recall@3"
    kinds = {each["name"]: each for each in of["slices"] if each["by"] == "kind"}
    assert (kinds["single"]["n"], kinds["multi"]["n"]) == (8, 1)
    assert kinds["multi"]["difference"] is None
    paired = comparison().paired("recall@3")
    rows = [place for place, i in enumerate(paired.question_ids) if i != "two"]
    gain = (paired.values[1, rows] - paired.values[0, rows]).mean()
    assert kinds["single"]["difference"]["mean"] == pytest.approx(gain)
    by_mrr = json.loads(command_line("compare", *RUNS.split(","), "--metric", "mrr", "--json")[1])
    assert by_mrr["slices"]["vectors"]["metric"] == "mrr"
    code, out, _ = command_line("compare", *RUNS.split(","), "-k", "3")
    assert code == 0
    assert f"words → vectors: {flow['sentence']}" in " ".join(out.split())
