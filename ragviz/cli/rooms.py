"""Rooms of the library as the commands name them, each loaded when a command first takes something from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragviz import connections as connections
    from ragviz import jobs as jobs
    from ragviz.analysis import compare as compare
    from ragviz.analysis import diagnose as diagnose
    from ragviz.analysis import evaluate as evaluate
    from ragviz.answers import answering as answering
    from ragviz.documents import corpora as corpora
    from ragviz.index import damage as damage
    from ragviz.index import indexing as indexing
    from ragviz.index import preview as preview
    from ragviz.judging import controls as controls
    from ragviz.judging import quest_prompts as quest_prompts
    from ragviz.models import embedding as embedding
    from ragviz.models import spending as spending
    from ragviz.questions import authoring as authoring
    from ragviz.questions import generation as generation
    from ragviz.questions import interchange as interchange
    from ragviz.runs import cases as cases
    from ragviz.runs import foreign as foreign
    from ragviz.runs import running as running
    from ragviz.scheduler import forecast as forecast
    from ragviz.store import store as store


class _Later:
    """A room that is loaded when a command first takes something from it: `ragviz --help` pays for none of them."""

    def __init__(self, room: str) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(f"ragviz.{self._room}"), name)


if not TYPE_CHECKING:
    answering = _Later("answers.answering")
    authoring = _Later("questions.authoring")
    cases = _Later("runs.cases")
    compare = _Later("analysis.compare")
    connections = _Later("connections")
    controls = _Later("judging.controls")
    corpora = _Later("documents.corpora")
    damage = _Later("index.damage")
    diagnose = _Later("analysis.diagnose")
    embedding = _Later("models.embedding")
    evaluate = _Later("analysis.evaluate")
    forecast = _Later("scheduler.forecast")
    foreign = _Later("runs.foreign")
    generation = _Later("questions.generation")
    indexing = _Later("index.indexing")
    interchange = _Later("questions.interchange")
    jobs = _Later("jobs")
    preview = _Later("index.preview")
    quest_prompts = _Later("judging.quest_prompts")
    running = _Later("runs.running")
    spending = _Later("models.spending")
    store = _Later("store.store")
