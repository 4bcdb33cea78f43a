"""Rooms of the library as the commands name them, each loaded when a command first takes something from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragviz import answer as answer
    from ragviz import authoring as authoring
    from ragviz import cases as cases
    from ragviz import compare as compare
    from ragviz import connections as connections
    from ragviz import controls as controls
    from ragviz import corpora as corpora
    from ragviz import damage as damage
    from ragviz import embedding as embedding
    from ragviz import evaluate as evaluate
    from ragviz import forecast as forecast
    from ragviz import foreign as foreign
    from ragviz import indexing as indexing
    from ragviz import interchange as interchange
    from ragviz import jobs as jobs
    from ragviz import lost as lost
    from ragviz import pipeline as pipeline
    from ragviz import preview as preview
    from ragviz import running as running
    from ragviz import spending as spending
    from ragviz.metrics import questeval as questeval


class _Later:
    """A room that is loaded when a command first takes something from it: `ragviz --help` pays for none of them."""

    def __init__(self, room: str) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(f"ragviz.{self._room}"), name)


if not TYPE_CHECKING:
    authoring, controls = map(_Later, ("authoring", "controls"))
    damage = _Later("damage")
    answer, corpora, evaluate, forecast = map(_Later, ("answer", "corpora", "evaluate", "forecast"))
    foreign, indexing, jobs, lost = map(_Later, ("foreign", "indexing", "jobs", "lost"))
    cases, connections, preview = map(_Later, ("cases", "connections", "preview"))
    embedding, interchange = map(_Later, ("embedding", "interchange"))
    pipeline, running, compare = map(_Later, ("pipeline", "running", "compare"))
    spending = _Later("spending")
    questeval = _Later("metrics.questeval")
