"""A choice is declared once: every surface offers it, and all fill in what is not given by one rule."""

import inspect

import pytest

import ragviz
from ragviz.core.configuration import IndexConfig, RunConfig, choices_of, identity_of
from ragviz.core.errors import UsageError
from ragviz.core.fields import Field, fields_of
from ragviz.library.project import Project


@pytest.mark.parametrize(
    ("record", "command", "verb"),
    [(IndexConfig, ("index", "build"), Project.build_index), (RunConfig, ("run",), Project.run)],
)
def test_every_choice_is_an_option_of_the_command_line_and_an_argument_of_the_library(
    record, command, verb, command_line, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    fields = {name: field for name, field in fields_of(record).items() if field.group}
    assert fields.keys() <= inspect.signature(verb).parameters.keys()
    helped, of_sweep = (command_line(*words, "--help")[1] for words in (command, ("sweep",)))
    assert [name for name, field in fields.items() if field.option not in helped] == []
    assert [name for name, field in fields.items() if field.swept and field.option not in of_sweep] == []


def test_what_is_not_given_stays_as_an_index_was_built_whoever_builds_it(tmp_path, monkeypatch, command_line):
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    (tmp_path / "notes.md").write_text("The pump room is locked at night. " * 40, encoding="utf-8")
    project = ragviz.open(tmp_path / "home")
    project.add_documents("notes", tmp_path / "notes.md")
    store = project.workspace.store
    assert command_line("index", "build", "notes", "--name", "k", "--embedder", "none", "--chunk-size", "60")[0] == 0
    code, _, told = command_line("index", "build", "notes", "--name", "k", "--overlap", "5")
    said = "Index 'k' is built anew, with another overlap."
    assert (code, told.strip()) == (0, said)
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
