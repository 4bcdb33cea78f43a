"""Modules of the library, each imported when a command first uses it, so that `ragviz --help` imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragviz import connections as connections
    from ragviz import jobs as jobs
    from ragviz.analysis import abstention as abstention
    from ragviz.analysis import compare as compare
    from ragviz.analysis import comparison_words as comparison_words
    from ragviz.analysis import diagnose as diagnose
    from ragviz.analysis import evaluate as evaluate
    from ragviz.analysis import leaderboards as leaderboards
    from ragviz.analysis import outcomes as outcomes
    from ragviz.analysis import pareto as pareto
    from ragviz.analysis import pooled as pooled
    from ragviz.analysis import requirements as requirements
    from ragviz.analysis import risk_coverage as risk_coverage
    from ragviz.analysis import settings as settings
    from ragviz.analysis import slices as slices
    from ragviz.analysis import ties as ties
    from ragviz.documents import corpora as corpora
    from ragviz.experiments import confirming as confirming
    from ragviz.experiments import declaring as declaring
    from ragviz.experiments import estimating as estimating
    from ragviz.experiments import findings as findings
    from ragviz.experiments import grid as grid
    from ragviz.generation import pipeline as pipeline
    from ragviz.generation import plan as plan
    from ragviz.generation import plan_record as plan_record
    from ragviz.generation import verifying as verifying
    from ragviz.health import checks as checks
    from ragviz.health import competition as competition
    from ragviz.health import contents as contents
    from ragviz.health import demand as demand
    from ragviz.health import drill as drill
    from ragviz.health import effects as effects
    from ragviz.health import examination as examination
    from ragviz.health import faults as faults
    from ragviz.health import health_sentences as health_sentences
    from ragviz.health import material as material
    from ragviz.health import quarantine as quarantine
    from ragviz.health import synthetic as synthetic
    from ragviz.index import damage as damage
    from ragviz.index import deletion as deletion
    from ragviz.index import indexing as indexing
    from ragviz.index import preview as preview
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
    from ragviz.runs import what_if as what_if
    from ragviz.runs import what_if_words as what_if_words
    from ragviz.store import codecs as codecs
    from ragviz.targets import targets as targets
    from ragviz.text import counts as counts
    from ragviz.text import former_documents as former_documents


class _Lazy:
    """A module that is imported when an attribute of it is first read."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(f"ragviz.{self._module}"), name)


if not TYPE_CHECKING:
    acceptance = _Lazy("runs.acceptance")
    authoring = _Lazy("questions.authoring")
    cases = _Lazy("runs.cases")
    choices = _Lazy("runs.choices")
    codecs = _Lazy("store.codecs")
    abstention = _Lazy("analysis.abstention")
    compare = _Lazy("analysis.compare")
    comparison_words = _Lazy("analysis.comparison_words")
    comparisons = _Lazy("runs.comparisons")
    confirming = _Lazy("experiments.confirming")
    connections = _Lazy("connections")
    counts = _Lazy("text.counts")
    targets = _Lazy("targets.targets")
    controls = _Lazy("judging.controls")
    corpora = _Lazy("documents.corpora")
    damage = _Lazy("index.damage")
    declaring = _Lazy("experiments.declaring")
    deletion = _Lazy("index.deletion")
    competition = _Lazy("health.competition")
    drill = _Lazy("health.drill")
    faults = _Lazy("health.faults")
    health_sentences = _Lazy("health.health_sentences")
    synthetic = _Lazy("health.synthetic")
    demand = _Lazy("health.demand")
    diagnose = _Lazy("analysis.diagnose")
    estimating = _Lazy("experiments.estimating")
    contents = _Lazy("health.contents")
    effects = _Lazy("health.effects")
    examination = _Lazy("health.examination")
    checks = _Lazy("health.checks")
    material = _Lazy("health.material")
    quarantine = _Lazy("health.quarantine")
    evaluate = _Lazy("analysis.evaluate")
    findings = _Lazy("experiments.findings")
    exports = _Lazy("runs.exports")
    forecast = _Lazy("judging.forecast")
    imports = _Lazy("runs.imports")
    former_documents = _Lazy("text.former_documents")
    exchange = _Lazy("questions.exchange")
    pipeline = _Lazy("generation.pipeline")
    grid = _Lazy("experiments.grid")
    indexing = _Lazy("index.indexing")
    interchange = _Lazy("questions.interchange")
    jobs = _Lazy("jobs")
    junit = _Lazy("report.junit")
    judgements = _Lazy("runs.judgements")
    measurements = _Lazy("runs.measurements")
    moved_questions = _Lazy("runs.moved_questions")
    leaderboards = _Lazy("analysis.leaderboards")
    outcomes = _Lazy("analysis.outcomes")
    pareto = _Lazy("analysis.pareto")
    settings = _Lazy("analysis.settings")
    slices = _Lazy("analysis.slices")
    ties = _Lazy("analysis.ties")
    occurrences = _Lazy("questions.occurrences")
    plan = _Lazy("generation.plan")
    plan_record = _Lazy("generation.plan_record")
    pooled = _Lazy("analysis.pooled")
    preview = _Lazy("index.preview")
    questeval = _Lazy("metrics.questeval")
    question_types = _Lazy("questions.question_types")
    registry = _Lazy("metrics.registry")
    risk_coverage = _Lazy("analysis.risk_coverage")
    alternatives = _Lazy("runs.alternatives")
    replays = _Lazy("runs.replays")
    reports = _Lazy("report.reports")
    rescue_words = _Lazy("runs.rescue_words")
    requirements = _Lazy("analysis.requirements")
    running = _Lazy("runs.running")
    search = _Lazy("retrieval.search")
    searched_again = _Lazy("runs.searched_again")
    sets = _Lazy("questions.sets")
    spending = _Lazy("models.spending")
    splits = _Lazy("questions.splits")
    without_model = _Lazy("questions.without_model")
    staleness = _Lazy("questions.staleness")
    summaries = _Lazy("runs.summaries")
    tables = _Lazy("runs.tables")
    tokenizer = _Lazy("models.tokenizer")
    verdicts = _Lazy("runs.verdicts")
    verifying = _Lazy("generation.verifying")
    versions = _Lazy("questions.versions")
    what_if = _Lazy("runs.what_if")
    what_if_words = _Lazy("runs.what_if_words")
