"""Modules of the library, each imported when a command first uses it, so that `ragviz --help` imports none of them."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragviz import connections as connections
    from ragviz.analysis import abstention as abstention
    from ragviz.analysis import approximation as approximation
    from ragviz.analysis import compare as compare
    from ragviz.analysis import comparison_words as comparison_words
    from ragviz.analysis import diagnose as diagnose
    from ragviz.analysis import differing as differing
    from ragviz.analysis import evaluate as evaluate
    from ragviz.analysis import leaderboards as leaderboards
    from ragviz.analysis import outcomes as outcomes
    from ragviz.analysis import pareto as pareto
    from ragviz.analysis import pooled as pooled
    from ragviz.analysis import requirements as requirements
    from ragviz.analysis import rescue as rescue
    from ragviz.analysis import risk_coverage as risk_coverage
    from ragviz.analysis import slices as slices
    from ragviz.analysis import ties as ties
    from ragviz.documents import corpora as corpora
    from ragviz.experiments import conclusion as conclusion
    from ragviz.experiments import confirming as confirming
    from ragviz.experiments import declaring as declaring
    from ragviz.experiments import estimating as estimating
    from ragviz.experiments import findings as findings
    from ragviz.experiments import grid as grid
    from ragviz.generation import makers as makers
    from ragviz.generation import pipeline as pipeline
    from ragviz.generation import plan as plan
    from ragviz.generation import plan_record as plan_record
    from ragviz.generation import verifying as verifying
    from ragviz.health import competition as competition
    from ragviz.health import contents as contents
    from ragviz.health import demand as demand
    from ragviz.health import drill as drill
    from ragviz.health import effects as effects
    from ragviz.health import examination as examination
    from ragviz.health import health_sentences as health_sentences
    from ragviz.health import material as material
    from ragviz.health import quarantine as quarantine
    from ragviz.health import set_checks as set_checks
    from ragviz.health import synthetic as synthetic
    from ragviz.index import chunking as chunking
    from ragviz.index import damage as damage
    from ragviz.index import deletion as deletion
    from ragviz.index import indexing as indexing
    from ragviz.index import preview as preview
    from ragviz.jobs import queue as queue
    from ragviz.jobs import state as state
    from ragviz.jobs import worker as worker
    from ragviz.judging import controls as controls
    from ragviz.judging import forecast as forecast
    from ragviz.metrics import questeval as questeval
    from ragviz.metrics import registry as registry
    from ragviz.models import spending as spending
    from ragviz.models import tokenizer as tokenizer
    from ragviz.questions import authoring as authoring
    from ragviz.questions import exchange as exchange
    from ragviz.questions import interchange as interchange
    from ragviz.questions import occurrences as occurrences
    from ragviz.questions import question_types as question_types
    from ragviz.questions import sets as sets
    from ragviz.questions import splits as splits
    from ragviz.questions import staleness as staleness
    from ragviz.questions import versions as versions
    from ragviz.questions import without_model as without_model
    from ragviz.report import junit as junit
    from ragviz.report import reports as reports
    from ragviz.retrieval import rerankers as rerankers
    from ragviz.retrieval import retrievers as retrievers
    from ragviz.retrieval import search as search
    from ragviz.runs import acceptance as acceptance
    from ragviz.runs import alternatives as alternatives
    from ragviz.runs import cases as cases
    from ragviz.runs import choices as choices
    from ragviz.runs import comparisons as comparisons
    from ragviz.runs import exports as exports
    from ragviz.runs import imports as imports
    from ragviz.runs import judgements as judgements
    from ragviz.runs import measurements as measurements
    from ragviz.runs import moved_questions as moved_questions
    from ragviz.runs import replays as replays
    from ragviz.runs import rescue_words as rescue_words
    from ragviz.runs import running as running
    from ragviz.runs import searched_again as searched_again
    from ragviz.runs import summaries as summaries
    from ragviz.runs import tables as tables
    from ragviz.runs import verdicts as verdicts
    from ragviz.runs import what_if_of_run as what_if_of_run
    from ragviz.service import corpus_verbs as corpus_verbs
    from ragviz.service import experiment_verbs as experiment_verbs
    from ragviz.service import index_verbs as index_verbs
    from ragviz.service import question_verbs as question_verbs
    from ragviz.service import run_verbs as run_verbs
    from ragviz.stats import differences as differences
    from ragviz.store import codecs as codecs
    from ragviz.targets import targets as targets
    from ragviz.text import counts as counts
    from ragviz.text import former_documents as former_documents


class _Lazy:
    """A module that is imported when an attribute of it is first read."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


if not TYPE_CHECKING:  # the list stands once, above
    for _node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8"))):
        if isinstance(_node, ast.ImportFrom) and _node.module.startswith("ragviz"):
            globals()[_node.names[0].name] = _Lazy(f"{_node.module}.{_node.names[0].name}")
