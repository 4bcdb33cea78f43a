"""Two runs question by question on the page Compare and in the case of both: what is listed is what was chosen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from ragviz.analysis import compare, diagnose
from ragviz.core.configuration import RunConfig
from ragviz.runs import comparisons, running
from ragviz.workspace import open_workspace
from tests.conftest import CommandResult
from tests.test_pages import (  # the home that is built there, and how a page is visited
    address,
    bare,  # noqa: F401 - a fixture
    built,  # noqa: F401 - a fixture
    checked,
    home,  # noqa: F401 - a fixture
    show,
    words,
)

RUNS = "words,vectors"


def listed(app: AppTest) -> pd.DataFrame:
    """The questions in the list."""
    return next(each.value for each in app.dataframe if "Question" in each.value and "Id" in each.value)


def comparison() -> compare.Comparison:
    workspace = open_workspace()
    return comparisons.compare_runs(workspace, [workspace.store.runs.get(name) for name in RUNS.split(",")], 3)


def ranks() -> dict[str, tuple[int, int]]:
    """Question → its ranks under both runs, 0 where it is not found."""
    found = comparison()
    return {i: (int(found.ranks[0, row]), int(found.ranks[1, row])) for row, i in enumerate(found.question_ids)}


def causes() -> list[dict[str, str]]:
    """Question → its cause up to the ranking at k = 3, of both runs."""
    workspace = open_workspace()
    found = []
    for name in RUNS.split(","):
        run = workspace.store.runs.get(name)
        questions = [q for q in workspace.store.rankings.questions(run.id) if q.evidence]
        found.append(diagnose.attribute_failures(questions, workspace.store.rankings.all(run.id), 3))
    return found


def test_a_point_of_the_scatter_lists_its_questions(home: Path) -> None:  # noqa: F811
    of_each = ranks()
    (first, second), count = Counter(of_each.values()).most_common(1)[0]
    assert count > 1
    depth = comparison().depth
    point = f"{first or depth + 1},{second or depth + 1}"
    app = show("compare", runs=RUNS, k="3", point=point)
    assert set(listed(app)["Id"]) == {i for i, pair in of_each.items() if pair == (first, second)}
    [chip] = [b for b in app.button if b.key == "pair-chip-point"]
    assert chip.label.startswith("point: Rank of the evidence")
    chip.click().run()
    assert "point" not in address(checked(app))
    assert not [b for b in app.button if b.key == "pair-chip-point"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("point", "7.5,7.5", "a point of this scatter"),
        ("stream", "fine-<b>", "a stream between two causes"),
        ("slice", "document:*gone*", "a slice of these questions"),
        ("scatter", "beauty", "one of rank, recall@3"),
        ("side", "gone", "one of all, won, lost, tied"),
    ],
)
def test_what_the_address_names_and_is_not_there_is_told(home: Path, name: str, value: str, told: str) -> None:  # noqa: F811
    app = show("compare", runs=RUNS, k="3", **{name: value})
    assert any(told in box.value for box in app.warning), [box.value for box in app.warning]
    assert name not in address(app)


def test_a_stream_lists_the_questions_that_took_it(home: Path) -> None:  # noqa: F811
    before, after = causes()
    took = Counter((before[i], after[i]) for i in before)
    app = show("compare", runs=RUNS, k="3")
    table = next(each.value for each in app.dataframe if "Effect" in each.value)
    assert table["Questions"].sum() == len(before)
    assert sorted(table["Questions"], reverse=True) == sorted(took.values(), reverse=True)
    assert "Where questions moved at k = 3, retrieval only" in words(app)
    (source, target), count = next(pair for pair in took.most_common() if pair[0][0] != pair[0][1])
    app = show("compare", runs=RUNS, k="3", stream=f"{source}-{target}")
    assert set(listed(app)["Id"]) == {i for i in before if (before[i], after[i]) == (source, target)}
    assert f"{count} question" in words(app)
    [chip] = [b for b in app.button if b.key == "pair-chip-stream"]
    assert " → " in chip.label


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


def test_a_slice_says_its_size_and_lists_its_questions(home: Path) -> None:  # noqa: F811
    app = show("compare", runs=RUNS, k="3")
    table = next(each.value for each in app.dataframe if "Divided by" in each.value)
    kinds = table[table["Divided by"] == "Kind"].set_index("Slice")
    assert list(kinds["n"]) == [8, 1]
    assert kinds.loc["several passages", "Verdict"] == "too few"
    assert kinds.loc["several passages", "Difference [95 % CI]"] == "–"
    assert "looked at: at 5 % less than one would differ by chance alone" in words(app)
    paired = comparison().paired("recall@3")
    rows = [place for place, i in enumerate(paired.question_ids) if i != "two"]
    assert kinds.loc["one passage"].iloc[2] == pytest.approx(paired.values[0, rows].mean())
    app = show("compare", runs=RUNS, k="3", slice="kind:multi")
    assert list(listed(app)["Id"]) == ["two"]
    by_length = show("compare", runs=RUNS, k="3", by="kind")
    assert set(next(d.value for d in by_length.dataframe if "Divided by" in d.value)["Divided by"]) == {"Kind"}


def test_the_walk_through_the_cases_is_the_list_that_was_chosen(home: Path) -> None:  # noqa: F811
    app = show("inspect", runs=RUNS, k="3", slice="kind:single")
    assert "1 of 8" in words(app)
    assert "Filter: slice Kind one passage, vectors against words" in words(app)
    before, after = causes()
    took = Counter(f"{before[i]}-{after[i]}" for i in before)
    key, count = took.most_common(1)[0]
    assert f"1 of {count}" in words(show("inspect", runs=RUNS, k="3", stream=key))


def test_between_equal_runs_nothing_moves_and_nothing_is_said_to(home: Path) -> None:  # noqa: F811
    workspace = open_workspace()
    running.run(workspace, "again", RunConfig("small", "asked", "bm25", depth=20))
    app = show("compare", runs="words,again")
    assert "None of 9 questions moved." in words(app)
    table = next(each.value for each in app.dataframe if "Divided by" in each.value)
    assert set(table["Verdict"]) <= {"= equal", "too few"}
    assert "The first 3 chunks are the same, in the same order." in words(
        show("inspect", runs="words,again", question="q7")
    )
