"""The arrows go one way: a room imports only rooms of smaller layers, and only three of them import streamlit."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from ragviz import foreign, synthesize
from ragviz.records import GeneratorName, RunFormat

ROOT = Path(__file__).resolve().parent.parent / "ragviz"

LAYERS = {
    0: "__init__ addresses errors keys records sample",
    1: "config disk database migrations gold repair spending stopping",
    2: "breaker crew ingest language prose phrasing chunking embedding llm index store stats markup guard",
    3: "retrieve synthesize answer workspace metrics",
    4: "damage evaluate compare judging forecast lost connections controls doubts",
    5: "authoring corpora indexing running foreign pipeline plots interchange cases preview",
    6: "jobs",
    7: "cli ui marking unsaved __main__",
}
LAYER_OF = {room: layer for layer, rooms in LAYERS.items() for room in rooms.split()}
BESIDE = {  # the few arrows inside a layer
    ("database", "disk"),  # what a disk refuses, in words
    ("keys", "addresses"),  # what stands for a secret
    ("repair", "stopping"),  # what is waited for
    ("embedding", "index"),  # the type of vectors
    ("pipeline", "corpora"), ("pipeline", "indexing"), ("pipeline", "interchange"),  # the sample: all of it
    ("pipeline", "running"),
    ("running", "indexing"), ("running", "interchange"), ("running", "cases"),  # an index's chunks; files
    ("preview", "indexing"),  # what cuts
    ("cases", "interchange"),  # questions as rows, CSV
    ("authoring", "interchange"),  # evidence as an import names it
    ("forecast", "judging"),  # the same steps, without a model
    ("marking", "ui"), ("unsaved", "ui"),  # what pages share
    ("unsaved", "marking"),  # drafts of questions
    ("__main__", "cli"),
}  # fmt: skip


def files_of(room: str) -> list[Path]:
    """A room is a file, or a folder whose files may import one another."""
    return sorted((ROOT / room).glob("*.py")) if (ROOT / room).is_dir() else [ROOT / f"{room}.py"]


def imported(room: str) -> set[str]:
    """Names that the files of a room import, anywhere in them, packages and what is taken from them joined by dots."""
    names: set[str] = set()
    for file in files_of(room):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file} uses a relative import"
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def room_of(name: str) -> str | None:
    """The room that an imported name belongs to, None when it is not ours."""
    package, _, rest = name.partition(".")
    if package != "ragviz":
        return None
    room = rest.split(".")[0]
    return room if room in LAYER_OF else "__init__"


def test_every_room_has_a_layer():
    there = {path.stem if path.suffix else path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert there == set(LAYER_OF)


@pytest.mark.parametrize("room", sorted(LAYER_OF))
def test_arrows_go_down(room):
    targets = {room_of(name) for name in imported(room)} - {None, room}
    upward = {t for t in targets if LAYER_OF[t] >= LAYER_OF[room] and (room, t) not in BESIDE}
    assert not upward, f"{room} (layer {LAYER_OF[room]}) imports {upward}"


@pytest.mark.parametrize("room", sorted(set(LAYER_OF) - {"ui", "marking", "unsaved"}))
def test_only_ui_imports_streamlit(room):
    assert not {name for name in imported(room) if name.split(".")[0] == "streamlit"}


def run_python(*words: str, **more: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True, env=os.environ | more)
    return done.stdout


def test_help_loads_no_library_but_what_draws_it():
    heavy = (
        "torch sentence_transformers transformers spacy jieba tantivy elasticsearch openai httpx kreuzberg scipy "
        "pandas numpy sqlalchemy pydantic pydantic_settings psutil platformdirs streamlit plotly"
    )
    light = ("cli", "records", "errors", "chunking", "retrieve")
    rooms = " ".join(f"ragviz.{room}" for room in LAYER_OF if room not in light)
    code = (
        "import contextlib, sys, ragviz.cli; sys.argv = ['ragviz', '--help']\n"
        "with contextlib.suppress(SystemExit): ragviz.cli.main()\n"
        f"print('loaded:', [m for m in '{heavy} {rooms}'.split() if m in sys.modules])"
    )
    printed = run_python("-c", code)
    assert "runs" in printed
    assert printed.splitlines()[-1] == "loaded: []"


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("corpus list", ""),
        ("corpus show notes", ""),
        ("questions list", ""),
        ("index list", "numpy embedding index indexing language damage"),
        ("runs list", "psutil corpora ingest jobs language"),
        ("jobs", "psutil corpora ingest jobs language"),
    ],
)
def test_a_list_loads_the_store_and_not_what_fills_it(words, needed, tmp_path):
    """That is quick where the store is read only; a second of processor time went into imports that nobody used."""
    rooms = set(LAYER_OF) - {"errors", "records", "addresses", "keys", "config", "disk", "database", "migrations"}
    rooms -= {"gold", "store", "workspace", "cli", "chunking", "retrieve", "sample", "stopping"}
    libraries = (
        "torch sentence_transformers transformers tokenizers spacy jieba tantivy elasticsearch openai httpx kreuzberg "
        "scipy json_repair pandas numpy psutil streamlit plotly psycopg"
    )
    code = (
        "import contextlib, sys, ragviz.cli; from ragviz.workspace import open_workspace\n"
        "open_workspace().store.create_corpus('notes')\n"
        f"sys.argv = {['ragviz', *words.split()]!r}\n"
        "with contextlib.suppress(SystemExit): ragviz.cli.main()\n"
        f"watched = {[f'ragviz.{room}' for room in rooms] + libraries.split()!r}\n"
        "print('loaded:', *(name.removeprefix('ragviz.') for name in watched if name in sys.modules))"
    )
    done = run_python("-c", code, RAGVIZ_HOME=str(tmp_path))
    assert set(done.splitlines()[-1].split()[1:]) - set(needed.split()) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="no `resource`")
def test_help_takes_half_a_second_of_processor_time_at_most():
    import resource

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_python("-m", "ragviz", "--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5


def test_names_that_help_tells_are_those_there_are():
    assert set(get_args(GeneratorName)) == set(synthesize.GENERATORS)
    assert set(get_args(RunFormat)) == set(foreign.FORMATS)
