"""The arrows go one way: a room imports only rooms of smaller layers, and only `ui` imports streamlit."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "ragviz"

LAYERS = {
    0: ["__init__", "errors", "records", "sample/__init__"],
    1: ["config"],
    2: ["ingest", "chunking", "embedding", "llm", "language", "store", "stats", "index/__init__", "index/local"]
    + ["index/elastic", "phrasing", "prose"],
    3: ["gold", "retrieve", "synthesize", "workspace", "metrics/__init__", "metrics/ranking", "metrics/characters"],
    4: ["evaluate", "compare"],
    5: ["corpora", "indexing", "pipeline", "plots", "interchange"],
    6: ["jobs"],
    7: ["cli", "ui", "__main__"],
}
LAYER_OF = {room: layer for layer, rooms in LAYERS.items() for room in rooms}
INWARD = {  # inside a package, and between a room and the records it was split from
    ("index/__init__", "index/local"), ("index/__init__", "index/elastic"),
    ("index/local", "index/__init__"), ("index/elastic", "index/__init__"),
    ("metrics/__init__", "metrics/ranking"), ("metrics/__init__", "metrics/characters"),
    ("metrics/characters", "metrics/ranking"),
    ("embedding", "index/__init__"),
    ("pipeline", "corpora"), ("pipeline", "indexing"), ("pipeline", "interchange"),
    ("__main__", "cli"),
}  # fmt: skip


def rooms() -> list[str]:
    return sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.rglob("*.py"))


def imported(room: str) -> set[str]:
    """Top-level names, and rooms of ragviz, that a room imports anywhere in its file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / f"{room}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{room} uses a relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def room_of(name: str) -> str | None:
    """The room that an imported name belongs to, None when it is not ours."""
    parts = name.split(".")
    if parts[0] != "ragviz":
        return None
    for length in range(len(parts), 0, -1):
        place = "/".join(parts[1:length])
        for candidate in (place, f"{place}/__init__".lstrip("/")):
            if candidate in LAYER_OF:
                return candidate
    raise AssertionError(f"no room is called {name}")


def test_every_room_has_a_layer():
    assert rooms() == sorted(LAYER_OF)


@pytest.mark.parametrize("room", sorted(LAYER_OF))
def test_arrows_go_down(room):
    targets = {room_of(name) for name in imported(room)} - {None, room}
    upward = {t for t in targets if LAYER_OF[t] >= LAYER_OF[room] and (room, t) not in INWARD}
    assert not upward, f"{room} (layer {LAYER_OF[room]}) imports {upward}"


@pytest.mark.parametrize("room", sorted(set(LAYER_OF) - {"ui"}))
def test_only_ui_imports_streamlit(room):
    assert not {name for name in imported(room) if name.split(".")[0] == "streamlit"}


def test_importing_the_command_line_loads_nothing_heavy():
    heavy = "torch sentence_transformers transformers spacy jieba tantivy elasticsearch openai kreuzberg scipy pandas"
    code = f"import sys, ragviz.cli; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "[]"
