"""A choice is declared once: one more declaration is seen everywhere, and all surfaces fill in choices by one rule."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ragviz
from ragviz.core.configuration import IndexConfig, RunConfig, choices_of, identity_of
from ragviz.core.errors import UsageError
from ragviz.core.fields import Field, fields_of

ROOT = Path(ragviz.__file__).parent
ADDED = """    patience: int = choice(
        7, "Patience", "Seconds of patience.", "retrieve", low=1, high=9, examples=(2, 3), named=lambda n: f"waits {n}"
    )
"""
SEEN = """
import contextlib, inspect, io, json, sys
from dataclasses import asdict, replace
from pathlib import Path
import ragviz
from ragviz import cli
from ragviz.core.configuration import RunConfig
from ragviz.core.fields import fields_of
from ragviz.runs import comparisons
from streamlit.testing.v1 import AppTest

home = Path(sys.argv[1])
project = ragviz.open(home)
files = home.parent
(files / "notes.md").write_text("The pump room is locked at night. The valve is checked by day.")
(files / "q.csv").write_text("question,answer,document,quote\\nWhen?,at night,notes.md,locked at night\\n")
project.add_documents("notes", files / "notes.md")
project.build_index("notes", "words", embedder="none")
project.import_questions("notes", "asked", files / "q.csv")
project.run("words", "asked", "usual")
project.run("words", "asked", "other", patience=5)
store = project.workspace.store
usual, other = store.runs.get("usual"), store.runs.get("other")


def said(*words):
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["ragviz", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
        cli.main()
    return " ".join((out.getvalue() + err.getvalue()).split())


run = ("run", "--index", "words", "--questions", "asked", "--name", "third", "--patience")
sweep = ("sweep", "notes", "--questions", "asked", "--name", "waits", "--embedder", "none", "--retriever", "bm25")
page = AppTest.from_string(
    "from dataclasses import asdict\\n"
    "from ragviz.core.configuration import RunConfig\\n"
    "from ragviz.core.fields import fields_of\\n"
    "from ragviz.ui.kit import form\\n"
    "fields = [field for field in fields_of(RunConfig).values() if field.group == 'retrieve']\\n"
    "form.draw(fields, asdict(RunConfig()), 'test')\\n"
).run(timeout=60)
try:
    project.run("words", "asked", "fourth", patience=12)
    refused = ""
except ragviz.RagvizError as error:
    refused = str(error)
print(json.dumps({
    "signature": "patience" in inspect.signature(project.run).parameters,
    "doc": "patience: Seconds of patience. Default: 7." in project.run.__doc__,
    "refused by the library": refused,
    "stored": [usual.config.patience, other.config.patience],
    "fingerprints": [usual.provenance["identity"].get("patience"), other.provenance["identity"].get("patience")],
    "differ": usual.fingerprint != other.fingerprint,
    "differences": [[s.key, s.values] for s in comparisons.compare_runs(project.workspace, [usual, other]).settings],
    "help": "--patience" in said("run", "--help") and "--patience" in said("sweep", "--help"),
    "refused by the command": said(*run, "12"),
    "made by the command": said(*run, "4", "--json")[:1] == "{" and store.runs.get("third").config.patience,
    "cells": [cell["name"] for cell in json.loads(said(*sweep, "--patience", "2,3", "--json"))["cells"]],
    "form": [(each.label, each.value) for each in page.number_input if each.label == "Patience"],
}))
"""


@pytest.mark.model
def test_one_more_declaration_is_seen_everywhere(tmp_path):
    """A copy of the package in which one file differs: that of the declarations, by one choice more."""
    package = tmp_path / "copy" / "ragviz"
    (package / "core").mkdir(parents=True)
    for folder in (ROOT, ROOT / "core"):
        for each in folder.iterdir():
            if each.name not in ("core", "configuration.py", "__pycache__"):
                (package / each.relative_to(ROOT)).symlink_to(each)
    text = (ROOT / "core" / "configuration.py").read_text(encoding="utf-8")
    before = '    answerer: AnswererName | Literal["imported"] = choice('
    assert text.count(before) == 1
    (package / "core" / "configuration.py").write_text(text.replace(before, ADDED + before), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(package.parent), "RAGVIZ_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", SEEN, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    refused = "Patience is from 1 to 9: 12 is not."
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "signature": True,
        "doc": True,
        "refused by the library": refused,
        "stored": [7, 5],
        "fingerprints": [None, "5"],
        "differ": True,
        "differences": [["patience", [7, 5]]],
        "help": True,
        "refused by the command": refused,
        "made by the command": 4,
        "cells": ["as third", "waits 2", "waits 3"],
        "form": [["Patience", 7]],
    }


def test_what_is_not_given_stays_as_an_index_was_built_whoever_builds_it(tmp_path, monkeypatch, command_line):
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    (tmp_path / "notes.md").write_text("The pump room is locked at night. " * 40, encoding="utf-8")
    project = ragviz.open(tmp_path / "home")
    project.add_documents("notes", tmp_path / "notes.md")
    store = project.workspace.store
    assert command_line("index", "build", "notes", "--name", "k", "--embedder", "none", "--chunk-size", "60")[0] == 0
    assert command_line("index", "build", "notes", "--name", "k", "--overlap", "5")[0] == 0
    assert (store.indexes.get("k").config.chunk_size, store.indexes.get("k").config.overlap) == (60, 5)
    project.build_index("notes", "k", overlap=7)
    config = store.indexes.get("k").config
    assert (config.chunk_size, config.overlap, config.embedder) == (60, 7, "")
    project.build_index("notes", "fresh", overlap=7, embedder="none")
    assert store.indexes.get("fresh").config.chunk_size == 200
    with pytest.raises(ragviz.RagvizError, match="size is no choice: there are chunker, chunk_size"):
        project.build_index("notes", "k", size=7)


def test_only_what_differs_from_the_default_and_can_change_a_result_enters_a_fingerprint():
    config = RunConfig("index-id", "set-id", k=5, rerank_depth=20)
    assert identity_of(config) == {"rerank_depth": "20", "k": "5"}
    assert choices_of(config) == {"index": "index-id", "questions": "set-id", "rerank_depth": 20, "k": 5}
    assert RunConfig("i", "q").hash() == RunConfig("i", "q", depth=50).hash() != RunConfig("i", "q", depth=51).hash()
    assert IndexConfig(options={}).hash() == IndexConfig().hash() != IndexConfig(options={"m": 8}).hash()


def test_every_choice_has_a_name_and_a_default_that_it_accepts():
    for record in (IndexConfig, RunConfig):
        for name, field in fields_of(record).items():
            assert field.label, name
            assert field.checked(getattr(record(), name)) == field.default
            assert all(field.read(str(each)) == each for each in field.examples), name
            assert not field.known() or field.default in field.known(), name


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        (Field(3, "Depth (chunks)", low=1, high=9), 2.5, "Depth must be a whole number: 2.5 is not."),
        (Field(3, "Depth", low=1, high=9), True, "Depth must be a whole number: True is not."),
        (Field(3, "Depth", low=1, high=9), 10, "Depth is from 1 to 9: 10 is not."),
        (Field(0.5, "Share", low=0), float("nan"), "Share must be a number: nan is not."),
        (Field("a", "Kind", choices={"a": "", "b": ""}, name="kind"), "c", "There is no kind 'c': choose one of a, b."),
        (Field("", "Words", high=3), "four", "Words: at most 3 characters, not 4."),
        (Field("", "Words"), 4, "Words must be a text: 4 is not."),
        (Field((), "Names"), [1], r"Names is a list of names: \(1,\) is not."),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_the_reason(field, value, why):
    with pytest.raises(UsageError, match=f"^{why}$"):
        field.checked(value)


def test_numbers_and_texts_are_read_as_a_person_writes_them():
    assert Field(0.0, "Temperature", low=0).read("0.7") == 0.7
    assert Field("x", "Model").read(" none ") == ""
    assert Field("none", "Prefix", choices={"none": "", "title": ""}).read("none") == "none"
    for text, why in (("many", "'many' is not a whole number."), ("1.5", "'1.5' is not a whole number.")):
        with pytest.raises(UsageError, match=why):
            Field(3, "k").read(text)
