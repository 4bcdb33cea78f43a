"""The form of an experiment: the values of the grid, the rule, the split; and what its sweep takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from ragviz.analysis.rules import MINIMUM_EFFECT
from ragviz.core.configuration import NO_EMBEDDER, IndexConfig
from ragviz.core.document import Corpus
from ragviz.core.experiment import Cell, ExperimentRule, Quantity
from ragviz.core.fields import Field, fields_of
from ragviz.core.question_set import QuestionSet
from ragviz.experiments import declaring, estimating, grid
from ragviz.experiments.conclusion import TITLES
from ragviz.experiments.estimating import Takes
from ragviz.experiments.grid import Planned
from ragviz.metrics.registry import METRICS, OWN, label, shown_in, title_of
from ragviz.retrieval import rerankers
from ragviz.service import experiment_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, wording
from ragviz.ui.kit import heading, tiles

BASELINE = "What the others are compared with: a run that there is, repeated on these questions, or a cell of the grid."
AT_FIRST: Mapping[str, Sequence[str]] = {"chunk_size": ("100", "200"), "retriever": ("knn", "bm25", "hybrid")}
"""What is chosen at first where there is no index; else the choices of the newest index take the place of the first."""
BLOCKS = {"index": "Index", "retrieve": "Retrieve", "answer": "Answer"}
UNITS: Mapping[Quantity, str] = {"tokens": "", "dollars": " (\\$)", "seconds": " (s)", "refusals": " (share)"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the form holds: enough to declare an experiment."""

    question_set: QuestionSet
    planned: Planned
    rule: ExperimentRule
    split: str


def choose(corpus: Corpus, sets: Sequence[QuestionSet]) -> Chosen:
    """Draw the form, and return what is chosen; raises as `grid.planned` and `declaring.rule_of`."""
    name = address.choose("Question set", [each.name for each in sets], "set")
    question_set = next(each for each in sets if each.name == name)
    heading.section("Grid")
    st.caption("Several values of a choice are combined with those of all others. Type a value that is not offered.")
    values: dict[str, list[str]] = {}
    defaults, at_first = grid.defaults(cache.workspace()), AT_FIRST
    if built := [info for info in cache.workspace().store.indexes.all(corpus.id) if info.build]:
        newest = asdict(max(built, key=lambda info: info.created).config)
        own = {name: (str(newest[name]) or "none",) for name in fields_of(IndexConfig) if name in defaults}
        at_first = {name: value for name, value in own.items() if value != (defaults[name],)}
        at_first["retriever"] = AT_FIRST["retriever"]
    for group, block in BLOCKS.items():
        fields = [field for field in grid.axes().values() if field.group == group]
        opened = any(f"{field.name}s" in st.query_params for field in fields) or group != "answer"
        with st.expander(block, expanded=opened, key=f"grid-{block}"), st.grid(2, min_column_width=180):
            for field in fields:
                if field.many_lines:
                    lines = st.text_area(
                        field.label, key=f"experiment-{field.name}", placeholder="default: none", height=68,
                        disabled=not cache.workspace().settings.model_configured,
                        help=f"{field.help} One value in a line. The line “none” adds nothing.",
                    )  # fmt: skip
                    values[field.name] = [line.strip() for line in lines.splitlines() if line.strip()]
                else:
                    values[field.name] = _values(field, defaults[field.name], at_first.get(field.name, ()))
    if targets := [each.name for each in cache.workspace().store.targets.all()]:
        systems = address.choose_several(
            "Running systems", targets, "systems", noun="target", placeholder="none, beside what is built here"
        )
        values["system"] = ["none", *systems]
    split = _side(question_set)
    metrics = ("all",) if any(value != "none" for value in values["answerer"]) else ()
    picks = grid.crossed(values)
    planned = grid.planned(cache.workspace(), question_set, picks, split=split, metrics=metrics)
    return Chosen(question_set, *_rule(corpus, question_set, planned), split)


def _values(field: Field, default: str, at_first: Sequence[str]) -> list[str]:
    settings = cache.workspace().settings
    configured: dict[str, Sequence[str]] = {
        "embedder": (settings.embedder, NO_EMBEDDER),
        "model": (settings.model,) if settings.model_configured else (),
    }
    known = [each for each in field.known() if settings.model_configured or (field.name, each) != ("answerer", "model")]
    named = [part for part in st.query_params.get(f"{field.name}s", "").split(",") if part]
    closed = bool(known) and not field.colon
    offered = [*at_first, *(configured.get(field.name) or map(str, field.examples) or known)]
    return address.choose_several(
        field.label,
        known if closed else list(dict.fromkeys([*offered, *named])),
        f"{field.name}s",
        default=at_first,
        noun="value",
        accept_new_options=not closed,
        placeholder=f"default: {default}" if default else "default",
    )


def _side(question_set: QuestionSet) -> str:
    if question_set.split is None:
        st.caption(
            ":orange[▲] This set is not split: the configuration is chosen on the questions that it is reported on, "
            "and cannot be confirmed on others."
        )
        address.link("questions", "Split it into validation and test", set=question_set.name, tab="Split")
        return ""
    titles = {
        "validation": f"Validation · {question_set.sides.get('validation', 0):,}",
        "all": f"All · {sum(question_set.sides.values()):,}",
    }
    side = address.choose_one("Questions asked", titles, "side")
    if side == "all":
        st.caption(":orange[▲] Nothing is left to confirm the choice on: it is reported on the questions that made it.")
        return ""
    return "validation"


def _rule(corpus: Corpus, question_set: QuestionSet, planned: Planned) -> tuple[Planned, ExperimentRule]:
    heading.section("Rule")
    st.caption("Declared before the first result, and not changed after it.")
    runs = experiment_verbs.repeatable(cache.workspace(), corpus.id)[:20]  # the newest
    cells = [cell.name for cell in planned.cells]
    offered = list(dict.fromkeys([*(run.name for run in runs), *cells]))
    picked = address.choose("Baseline", offered, "baseline", help=BASELINE) or ""
    planned, baseline = experiment_verbs.with_baseline(cache.workspace(), "", question_set, planned, picked)
    ks: list[int | str] = sorted({cell.run.k for cell in planned.cells})
    ks = [OWN, *ks] if len(ks) > 1 else ks
    named = [name for name in planned.cells[0].run.metrics if name != "none"]
    measured = [name for name in named if all(name in c.run.metrics for c in planned.cells)]
    ranking = [label(name, k) for k in ks for name in [*shown_in("row"), *METRICS] if name in METRICS]
    metrics = list(dict.fromkeys([*ranking, *measured]))
    with st.grid(3, min_column_width=180):
        default = label("recall", ks[0])
        primary = address.choose("Primary metric", metrics, "primary", default=default, format_func=title_of)
        effect = st.number_input(
            "Smallest difference", 0.001, 0.5, MINIMUM_EFFECT, step=0.01, format="%.3f", key="experiment-effect",
            help="The smallest one that matters, as a share of the metric's range: what is smaller is as good as none.",
        )  # fmt: skip
    if len(ks) > 1 and primary in ranking and not primary.endswith(f"@{OWN}"):
        st.caption(
            f":orange[▲] k varies, and {plain(title_of(primary))} does not depend on it: cells that differ in k alone "
            "come out equal. A metric at own k tells them apart."
        )
    guardrails = []
    with st.expander("Guardrails", key="guardrails"):
        st.caption("The most a configuration may take for a question: a number, or a multiple of the baseline's: 1.5x.")
        with st.grid(4, min_column_width=120):
            for quantity in TITLES:
                most = st.text_input(
                    f"{TITLES[quantity].capitalize()}{UNITS[quantity]}",
                    key=f"guardrail-{quantity}",
                    placeholder="none",
                    max_chars=20,
                )
                if most.strip():
                    guardrails.append(declaring.read_guardrail(f"{quantity}={most}"))
    return planned, declaring.rule_of(
        planned, primary=primary or "", minimum_effect=float(effect), baseline=baseline, guardrails=guardrails
    )


@st.cache_data(show_spinner="Estimating", max_entries=32)
def _takes(of: cache.State, key: str, _corpus: Corpus, _chosen: Chosen, *, calls: bool) -> Takes:
    return estimating.estimated(cache.workspace(), _corpus, _chosen.question_set, _chosen.planned.cells, calls=calls)


def asks_models(cells: Sequence[Cell]) -> bool:
    """Whether the runs of these cells may call models that are paid for."""
    return any(c.run.knows.answers or c.run.metrics or rerankers.model_of(c.run.reranker) for c in cells)


def cost(corpus: Corpus, chosen: Chosen) -> None:
    """Draw what the sweep takes, and what is there already."""
    heading.section("What it takes")
    cells = chosen.planned.cells
    key = json.dumps([[cell.index.hash(), cell.run.hash()] for cell in cells])
    infos = cache.workspace().store.indexes.all(corpus.id)
    of = cache.state(corpus.id, chosen.question_set.id, *(info.id for info in infos))
    asks = asks_models(cells)
    counted = asks and st.session_state.get("calls-counted") == key
    estimate = _takes(of, key, corpus, chosen, calls=counted or not asks)
    there = len(estimate.indexes) - len(estimate.to_build)
    seconds = estimate.embedding_seconds if estimate.seconds is None else estimate.seconds
    parts = "to embed; retrieving: no speed known yet" if estimate.seconds is None else "in all"
    lasts = "no speed of embedding known yet" if seconds is None else f"{wording.duration(seconds)} {parts}"
    with tiles.row():
        tiles.tile("Cells", f"{estimate.cells:,}", f"{estimate.questions:,} questions each")
        tiles.tile("Rankings", f"{estimate.rankings:,}", "cells that differ in k share one")
        tiles.tile("Indexes to build", f"{len(estimate.to_build):,}", f"{there:,} built already")
        tiles.tile("Chunks to embed", f"{estimate.chunks:,}", lasts)
        if estimate.forecast is not None and counted:
            tiles.forecast(estimate.forecast)
    for index in estimate.to_build:
        if index.reason:
            st.warning(plain(index.reason))
    if not asks:
        st.caption("No model is asked: nothing to pay.")
    elif not counted:
        if st.button("Count the calls of models", key="count-calls"):
            st.session_state["calls-counted"] = key
            st.rerun()
    elif estimate.forecast is None:
        st.caption("The calls of models are counted on a built index; this corpus has none that can serve.")
    for words in declaring.left_out_words(chosen.planned.left_out):
        st.caption(plain(words))
