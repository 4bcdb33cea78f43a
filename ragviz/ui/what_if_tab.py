"""The tab *What if* of a run: other choices read off its stored rankings, risk and coverage."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from ragviz.analysis import risk_coverage, what_if
from ragviz.analysis.risk_coverage import Curve
from ragviz.analysis.what_if import Choices, Effect, Reading
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.fields import fields_of
from ragviz.report import what_if_plots
from ragviz.runs import measurements, searched_again, what_if_of_run
from ragviz.runs.what_if_of_run import Risk, StoredRankings
from ragviz.service import run_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, job_panel
from ragviz.ui.kit import figure, heading, notices, tiles

NAME = "What if"
BUDGETS = (50, 100, 150, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 32000)
NO_BUDGET = "no limit"
PARAMETERS = ("if-k", "if-constant", "if-threshold", "if-budget")
TITLES = {"recall": "Recall ↑", "precision": "Precision ↑", "f1": "F1 ↑", "mrr": "MRR ↑", "tokens": "Tokens read ↓"}
EXPLAINED = {
    "recall": "Share of a question's evidence groups of which an evidence chunk is kept.",
    "precision": "Evidence chunks kept ÷ (k − chunks that threshold and budget take away).",
    "f1": "Harmonic mean of a question's precision and recall.",
    "mrr": "1 ÷ rank of the first evidence chunk in the whole ranking: k and the budget do not change it.",
    "tokens": "Of the chunks given to the answerer, at most the budget, a question on average.",
}
RISK = 10
"""Per cent of wrong answers for which a threshold is chosen by default."""


def draw(run: Run, k: int) -> None:
    """Draw the sliders and what they would give; risk and coverage at the k chosen."""
    if unranked := measurements.unranked_words(run):
        st.markdown(f"Nothing can be read off the rankings of this run. {unranked}")
        return
    stored = _stored(run, _searched(run))
    if not stored.rankings.results:
        st.markdown(
            "None of the questions of this run has evidence: no ranking can be measured. Add evidence on the page "
            "Questions."
        )
    else:
        with notices.errors_shown():
            chosen = _choices(run, stored)
            k = chosen if st.query_params.get("if-k") else k
    if not run.knows.opaque or run.provenance.get("scored"):
        with notices.errors_shown():
            _risk(run, k)


def _choices(run: Run, stored: StoredRankings) -> int:
    heading.section("Other choices, on the stored rankings")
    with st.grid(4, min_column_width=190):
        depth = run.config.depth
        of_k = address.bound("if-k", run.config.k, address.number_within(1, depth), f"1 to {depth}")
        k: int = st.slider("k", 1, depth, help="Chunks kept of each ranking.", **of_k)
        constant = _constant_slider(run, stored)
        read = what_if_of_run.reading_at(stored, constant)
        threshold = _threshold_slider(run, read)
        budget = _budget_slider(run, stored)
    choices = Choices(k, threshold, budget)
    effects = _effects(run, _searched(run), choices, constant)
    cut = bool(what_if.shortened(read, choices))
    with st.grid(5, min_column_width=130):
        for name, effect in effects.items():
            digits = 0 if name == "tokens" else 2
            own, other = effect.own.mean, effect.other.mean
            note = "as the run"
            if cut and name in ("recall", "precision", "f1"):
                note = f"of what fits {choices.budget:,} tokens"
            if own is not None and own != other:
                note = f"{what_if_of_run.difference_words(effect, digits)} from {own:,.{digits}f}"
            value = "–" if other is None else f"{other:,.{digits}f}"
            tiles.tile(TITLES[name], value, note, explained=EXPLAINED[name])
    _below(run, stored, choices, constant)
    return k


def _constant_slider(run: Run, stored: StoredRankings) -> int:
    """Return the constant of the fusion; where both rankings are not known, the run's, with the button that finds them.

    A run that fuses nothing has no such choice.
    """
    own = run.config.rrf_constant
    if run.knows.opaque:
        return own
    with st.container():
        if stored.fused is None:
            if refused := searched_again.refusal(cache.workspace(), run):
                st.caption(plain(f"RRF constant: {run.config.ranked_by} has none to try."), help=plain(refused))
            else:
                st.caption("RRF constant: both rankings that are fused are needed.")
                active = job_panel.active_job("search", run.corpus_id, run=run.id)
                new = partial(run_verbs.search_again, cache.workspace(), run)
                once = "Searches the index once for the questions; no model answers or judges."
                label, going = "Search for both rankings", "Searching…"
                job_panel.button(label, "search-both", new, active=active, going=going, explained=once)
            return own
        explained = "Of reciprocal rank fusion: Σ 1 ÷ (constant + rank)."
        bound = address.bound("if-constant", own, address.number_within(0, 1000), "0 to 1,000")
        return int(st.slider("RRF constant", 0, 1000, help=explained, **bound))


def _threshold_slider(run: Run, read: Reading) -> float | None:
    """Return the least score of a chunk that is kept, None at the left end, and where scores cannot be compared."""
    comparable, words = what_if_of_run.score_words(run)
    finite = read.scores[np.isfinite(read.scores)]
    with st.container():
        if not comparable or not len(finite) or finite.min() == finite.max():
            st.caption("Score at least: no threshold means the same for all questions.", help=plain(words))
            return None
        low, high = float(finite.min()), float(finite.max())
        digits = 3 if high - low < 10 else 1
        bound = address.bound("if-threshold", low, address.share_within(low, high), f"{low:.4g} to {high:.4g}")
        value = st.slider("Score at least", low, high, step=10.0**-digits, format=f"%.{digits}f", help=words, **bound)
    return value if value > low else None


def _budget_slider(run: Run, stored: StoredRankings) -> int | None:
    if run.knows.opaque:
        return None
    own = what_if_of_run.own_choices(run).budget
    with st.container():
        if stored.own.tokens is None:
            st.caption("Context budget: the tokens of the chunks are not known. Make the run again.")
            return None
        asked = address.number_within(1, 10**7)(st.query_params.get("if-budget", ""))
        options = [*map(str, sorted({*BUDGETS, *filter(None, (own, asked))})), NO_BUDGET]
        default = NO_BUDGET if own is None else str(own)
        bound = address.bound("if-budget", default, address.one_of(options), "a number of tokens")
        explained = "Chunks are handed over, best first, as long as they fit."
        value = st.select_slider("Context budget, tokens", options, help=explained, **bound)
    return None if value == NO_BUDGET else int(value)


def _below(run: Run, stored: StoredRankings, choices: Choices, constant: int) -> None:
    own = what_if_of_run.own_choices(run)
    if stored.own.tokens is None:
        own = replace(own, budget=None)  # none can be tried
    if choices == own and constant == run.config.rrf_constant:
        st.caption("These are the run's own choices: move a slider to see others.")
        return
    said = what_if_of_run.choices_words(stored, choices, constant)
    st.caption(plain(f"{said} Differences are paired by question (95 %). Confirm it on others."))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label, back = ":blue[Back to the run's own choices]", dict.fromkeys(PARAMETERS)
        st.button(label, type="tertiary", key="if-own", on_click=address.put, kwargs=back)
        budgeted = choices.budget is not None and run.config.answerer == "none"
        if choices.threshold is None and not budgeted:  # a run takes neither
            filled: dict[str, str | int | None] = {"preset": run.name, "k": choices.k}
            filled |= {"index": run.provenance["index"], "set": run.provenance["questions"]}
            if constant != run.config.rrf_constant:
                filled["rrf_constant"] = constant
            if choices.budget != own.budget:  # no limit is the largest budget that the page takes
                filled["context_tokens"] = choices.budget or fields_of(RunConfig)["context_tokens"].high
            address.link("run", "Make this run", **filled)


def _risk(run: Run, k: int) -> None:
    heading.section("Answer only above a score: wrong answers against refusals")
    bound = address.bound("risk", RISK, address.number_within(0, 100), "0 to 100 per cent")
    most = st.slider("Wrong among the answered, at most", 0, 100, format="%d %%", width=280, **bound) / 100
    found, curve, reason = _cases(run, k)
    if curve is None:
        st.markdown(plain(reason))
        return
    picked = risk_coverage.chosen(found.cases, most, seed=run.config.seed)
    drawn = what_if_plots.risk_coverage(
        curve.thresholds, curve.coverage, curve.risk, curve.low, curve.high,
        chosen=None if picked is None else picked.threshold,
    )  # fmt: skip
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        figure.draw(drawn, f"risk-{run.id}")
    with right:
        st.markdown(plain(what_if_of_run.chosen_words(most, picked, curve)))
        st.caption(plain(what_if_of_run.curve_words(found, curve)))
        comparable, words = what_if_of_run.score_words(run)
        if not comparable or run.config.retriever == "bm25":
            st.caption(plain(words.partition(":")[0] + ": as a confidence they tell little; see the AURC."))
        st.caption(plain(found.scope))


def _behind(run: Run, *_: object) -> list[str]:
    return [run.corpus_id, run.config.index]


def _searched(run: Run) -> frozenset[str]:
    return frozenset(cache.workspace().store.cache("replay").held([_key(run)]))


@cache.kept(32, also=_behind)
def _key(run: Run) -> str:
    asked = [question for question in cache.questions(run).values() if question.evidence]
    return searched_again.key_of(cache.workspace(), run, asked)


@cache.kept(8, "Reading the rankings", also=_behind)
def _stored(run: Run, searched: frozenset[str]) -> StoredRankings:
    results = cache.retrieved(run)
    pairs = [(each, results[each.id]) for each in cache.questions(run).values() if each.id in results]
    return what_if_of_run.stored_of(cache.workspace(), run, pairs)


@cache.kept(256, also=_behind)
def _effects(run: Run, searched: frozenset[str], choices: Choices, constant: int) -> dict[str, Effect]:
    return what_if_of_run.effects(_stored(run, searched), choices, constant)


@cache.kept(16, "Measuring risk against coverage", also=_behind)
def _cases(run: Run, k: int) -> tuple[Risk, Curve | None, str]:
    found = what_if_of_run.risk_of(_stored(run, _searched(run)), cache.overview(run).judgement, k)
    try:
        return found, what_if_of_run.curve_of(run, found), ""
    except UsageError as error:
        return found, None, str(error)
