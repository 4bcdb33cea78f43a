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
    from ragviz.answers import contexts as contexts
    from ragviz.documents import corpora as corpora
    from ragviz.index import damage as damage
    from ragviz.index import indexing as indexing
    from ragviz.index import preview as preview
    from ragviz.judging import controls as controls
    from ragviz.judging import forecast as forecast
    from ragviz.metrics import questeval as questeval
    from ragviz.metrics import registry as registry
    from ragviz.models import spending as spending
    from ragviz.models import tokenizer as tokenizer
    from ragviz.questions import authoring as authoring
    from ragviz.questions import generation as generation
    from ragviz.questions import interchange as interchange
    from ragviz.questions import sets as sets
    from ragviz.retrieval import search as search
    from ragviz.runs import cases as cases
    from ragviz.runs import choices as choices
    from ragviz.runs import exports as exports
    from ragviz.runs import foreign as foreign
    from ragviz.runs import judgements as judgements
    from ragviz.runs import measurements as measurements
    from ragviz.runs import running as running
    from ragviz.store import codecs as codecs


class _Later:
    """A room that is loaded when a command first takes something from it: `ragviz --help` pays for none of them."""

    def __init__(self, room: str) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(f"ragviz.{self._room}"), name)


if not TYPE_CHECKING:
    authoring = _Later("questions.authoring")
    cases = _Later("runs.cases")
    choices = _Later("runs.choices")
    codecs = _Later("store.codecs")
    compare = _Later("analysis.compare")
    connections = _Later("connections")
    contexts = _Later("answers.contexts")
    controls = _Later("judging.controls")
    corpora = _Later("documents.corpora")
    damage = _Later("index.damage")
    diagnose = _Later("analysis.diagnose")
    evaluate = _Later("analysis.evaluate")
    exports = _Later("runs.exports")
    forecast = _Later("judging.forecast")
    foreign = _Later("runs.foreign")
    generation = _Later("questions.generation")
    indexing = _Later("index.indexing")
    interchange = _Later("questions.interchange")
    jobs = _Later("jobs")
    judgements = _Later("runs.judgements")
    measurements = _Later("runs.measurements")
    preview = _Later("index.preview")
    questeval = _Later("metrics.questeval")
    registry = _Later("metrics.registry")
    running = _Later("runs.running")
    search = _Later("retrieval.search")
    sets = _Later("questions.sets")
    spending = _Later("models.spending")
    tokenizer = _Later("models.tokenizer")
