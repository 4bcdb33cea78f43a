"""`import ragviz`: the guide's quick start as it stands there, checked by the command line and the parts below it."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ragviz
from ragviz import sample
from ragviz.questions import authoring, sets
from tests.builders import ROOT
from tests.builders import ragviz as run_ragviz

HOSTILE = "<img src=x onerror=alert(1)>"
ESCAPE = "\x1b[31m"


def quick_start() -> str:
    section = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8").split("\n## From Python\n")[1]
    return "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, loaded_sample: Callable[[Path], str]) -> Iterator[dict[str, Any]]:
    """The names that the quick start leaves, on the sample's documents in a home that has embedded them before."""
    folder = tmp_path_factory.mktemp("quick_start")
    shutil.copytree(Path(sample.__file__).parent / "documents", folder / "documents")
    loaded_sample(folder / "home")
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RAGVIZ_HOME", str(folder / "home"))
        exec(compile(quick_start(), "guide.md", "exec"), names)
        yield names


def command(made: dict[str, Any], *words: str) -> Any:
    return json.loads(run_ragviz(made["project"].workspace.settings.home, *words, "--json").stdout)


def test_metrics_are_those_of_the_command_line_and_of_the_questions(made):
    table = made["second"].metrics()
    printed = command(made, "results", "second")["metrics"]
    assert set(table.index) == set(printed)
    for name, row in table.iterrows():
        shown = [printed[name][key] for key in ("mean", "low", "high", "n")]
        assert [row["mean"], row["low"], row["high"], row["n"]] == pytest.approx(shown, rel=1e-12)
        assert made["table"][name].mean() == pytest.approx(row["mean"])
        assert made["table"][name].count() == row["n"]
    ragviz.check("second", f"recall@3>={table.loc['recall@3', 'mean'] - 0.01}", baseline="first", no_worse_than=0.9)


def test_the_comparison_is_the_command_lines(made):
    comparison = made["project"].compare("first", made["second"])
    printed = command(made, "compare", "first", "second")
    assert (comparison.sentence, list(comparison.notes)) == (printed["sentence"], printed["notes"])
    table = comparison.to_pandas()
    for name, row in printed["metrics"].items():
        delta, mine = row["deltas"][0], table.loc[(name, "second")]
        assert mine["mean"] == row["estimates"][1]["mean"]
        assert mine["mean"] - table.loc[(name, "first"), "mean"] == pytest.approx(mine["difference"])
        assert [mine["difference"], mine["difference_low"], mine["difference_high"], mine["p_adjusted"]] == [
            *(delta["difference"][key] for key in ("mean", "low", "high")),
            delta["p_adjusted"],
        ]
        assert [mine["won"], mine["tied"], mine["lost"]] == [
            delta["difference"][key] for key in ("wins", "ties", "losses")
        ]
    assert table.loc[("mrr", "first"), ["difference", "won"]].isna().all()


def test_names_and_texts_of_others_are_no_markup(made, tmp_path):
    project, name = made["project"], f"hostile {HOSTILE}"
    (tmp_path / f"{HOSTILE.replace('/', '')}.md").write_text("A page about <b>pumps</b>.\n", encoding="utf-8")
    results = [project.add_documents(name, tmp_path)]
    results.append(project.build_index(name, name))
    corpus = project.workspace.store.corpora.get(name)
    question_set = sets.question_set(project.workspace, corpus, name)
    authoring.add(project.workspace, question_set, authoring.written(f"{HOSTILE} {ESCAPE}?", "pumps", ()))
    results += [project.open_questions(name), project.run(name, name, name, retriever="bm25")]
    results += [
        project.run(name, name, f"{name} 2", retriever="bm25", answerer="extractive", metrics=["token_f1"]),
        project,
    ]
    for result in results:
        assert "<img" not in result._repr_html_()
        assert "&lt;img" in result._repr_html_()
        assert "\x1b" not in result._repr_html_() + repr(result)
    assert f"{HOSTILE} {ESCAPE}?" in set(project.open_questions(name).to_pandas()["question"])


def test_errors_are_sentences_and_leave_nothing(tmp_path):
    units: list[str] = []
    project = ragviz.open(tmp_path / "home", progress=lambda done, total, unit, message="": units.append(unit))
    (tmp_path / "notes.md").write_text("The pump room is locked at night.\n", encoding="utf-8")
    added = project.add_documents("notes", tmp_path / "notes.md")
    assert list(added.to_pandas()["status"]) == ["added"]
    assert units[-1] == "files"
    (tmp_path / "questions.csv").write_text("question,document,quote\nWhy?,notes.md,no such words\n", encoding="utf-8")
    for wrong, why in (
        (lambda: project.build_index("nothing", "a"), "no corpus called 'nothing'"),
        (lambda: project.build_index("notes", "a", chunker="x"), "no chunker 'x'"),
        (lambda: project.build_index("notes", "a", chunk_size=0), "Chunk size is from 1 to 100,000: 0 is not"),
        (lambda: project.compare(["first", "second"]), "Give the runs one by one"),
        (lambda: project.run("a", "b", "c"), "no index called 'a'"),
        (lambda: project.compare(), "0 run was given"),
        (lambda: project.import_questions("notes", "q", tmp_path / "gone.csv"), "cannot be opened"),
        (lambda: project.import_questions("notes", "q", tmp_path / "questions.csv"), "questions.csv, row 2: "),
    ):
        with pytest.raises(ragviz.RagvizError, match=why):
            wrong()
    store = project.workspace.store
    assert (store.jobs.all(), store.indexes.all(), store.sets.all(), store.runs.all()) == ([], [], [], [])
    assert (tmp_path / "home" / "ragviz.db").exists()
