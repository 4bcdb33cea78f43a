from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis import evaluate, outcomes
from ragviz.analysis.evaluate import Summary
from ragviz.core.configuration import Run
from ragviz.index import chunking
from ragviz.metrics.registry import METRICS, label, shown_in
from ragviz.questions import without_model
from ragviz.runs import choices, judgements, measurements, overviews
from ragviz.stats import intervals
from ragviz.targets.targets import TARGETS
from ragviz.text.markup import plain, sentence
from ragviz.ui import (
    address,
    cache,
    downloads,
    frame,
    questeval_tab,
    question_table,
    rescue_table,
    run_rankings,
    run_scores,
    what_if_tab,
    wording,
)
from ragviz.ui.kit import figure, heading, notices, tiles

MISSES_EXPLAINED = (
    "Questions that need a passage of which no chunk is anywhere in the ranking. A larger k does not help: change the "
    "chunking, the embedder or the retriever."
)

workspace = frame.begin()
store = workspace.store


# The answer


def ranking_tiles(summary: Summary) -> None:
    missed = intervals.estimate(np.asarray(summary.ranks == 0), summary.clusters)
    interval = "[{:.0%}, {:.0%}]".format(*missed.interval) if missed.interval else "no interval"
    note = f"{missed.mean:.0%} {interval} of {summary.n}"
    with tiles.row():
        recall, *others = [name for name in shown_in("tile") if name in METRICS]
        for name in (recall, "precision", *others):
            title = METRICS[name].title.replace("@k", f"@{summary.k}")
            tiles.mean(METRICS[name], summary.metrics[label(name, summary.k)], title)
        tiles.tile(f"Not in top {summary.depth} ↓", f"{summary.misses:,}", note, explained=MISSES_EXPLAINED)


def sum_line(run: Run, summary: Summary) -> None:
    k, counts = summary.k, outcomes.count(summary.ranks, summary.k)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="sum-line"):
        side = f"{run.config.split}: " if run.config.split else ""
        st.markdown(f"**{side}{wording.counted(counts.total, 'question')} with evidence** =", width="content")
        for place, (outcome, count) in enumerate(counts.by_outcome.items()):
            if place:
                st.markdown("\\+", width="content")
            st.button(
                f":blue[{count:,} {outcomes.title(outcome, k, summary.depth).lower()}]",
                type="tertiary",
                key=f"sum-{outcome}",
                help="List these questions",
                disabled=not count,
                on_click=address.put,
                kwargs=dict.fromkeys(question_table.FILTERS) | {"outcome": outcome},
            )
    run_rankings.outcome_bar(counts, k, summary.depth)
    by_id = {
        question_id: outcomes.outcome_of(int(rank), k)
        for question_id, rank in zip(summary.question_ids, summary.ranks, strict=True)
    }
    more = outcomes.beyond(by_id, cache.causes(run, k), judgements.answered_at(run, k))
    apart = outcomes.not_ranked_words(summary.unanswerable, summary.reference_only)
    several = "Evidence is found when a chunk of every passage that the question needs has come."
    apart = f"{apart[:1].upper()}{apart[1:]}." if apart else ""
    limits = without_model.words(cache.overview(run).asked.generators)
    st.caption(" ".join(filter(None, [several, more, apart, plain(evaluate.doubt_words(summary)), plain(limits)])))


# The page


def settings_line(run: Run) -> str:
    config, of = run.config, measurements.version_words(run)
    if run.knows.opaque:
        read = f"reads up to {wording.counted(config.depth, 'context')}" if run.knows.contexts else "contexts unknown"
        words = [run.answered_by.capitalize() or "Another system", read]
    else:
        reranked = measurements.reranking_words(run)
        cut = run.provenance["index_config"]
        words = [config.ranked_by + (f" ({reranked})" if reranked else "") + f" over {chunking.in_words(cut)}"]
        words += [f"overlap {cut['overlap']}", cut["embedder"] or "no embedder", f"depth {config.depth}"]
        if run.knows.answers:
            basis = "" if run.knows.first_k else f" from {TARGETS[config.context].basis}"
            words.append(f"answers: {run.answered_by}{basis}")
    asked = f"questions {of}"
    if config.split:
        asked = f"{measurements.asked_words(run)} of {of}, split {run.provenance['split']['kind']}"
    return " · ".join([*words, asked, wording.made(run.created, run.person)])


def overview() -> None:
    parts = [partial(run_rankings.histogram, summary, key)] if summary.n else []
    parts.insert(0 if run.knows.answers else len(parts), partial(run_rankings.waterfall, run, summary, key))
    notices.beside("overview", *parts)
    if summary.n and not unranked:
        with notices.errors_shown():
            rescue_table.draw(run, k)


corpus = frame.need_corpus()
all_runs = store.runs.all(corpus.id)
runs = [run for run in all_runs if run.status == "done"]
requested_run = st.query_params.get("run")
if requested_run in {run.name for run in all_runs} - {run.name for run in runs}:
    heading.header("Results", f"Run {requested_run}")
    notices.stop(f"Run {plain(requested_run)} is not finished yet.", ("run", "See its progress, or resume it"))
if not runs:
    heading.header("Results", "Retrieval and answer quality of a run.")
    notices.stop(f"No run of {plain(corpus.name)} is done yet.", ("run", "Make a run"))
name = address.chosen("run", [run.name for run in runs], noun="run")
run = next(run for run in runs if run.name == name)
k = address.chosen_number("k", 1, run.config.depth, run.config.k)
summary = cache.summary(run, k)
judgement = cache.overview(run).judgement
rows = question_table.question_rows(run, k) if summary.n or run.knows.answers else pd.DataFrame()
filtered_rows = question_table.filtered(run, rows, k) if len(rows) else rows
key = f"{run.id}-{st.session_state.get('cleared', 0)}"
if opened := st.session_state.pop("open-question", None) or st.query_params.get("question"):
    if opened in cache.questions(run):
        question_table.open_case(run, opened, k, tab=st.session_state.pop("open-tab", None))
    st.warning(f"This run did not ask the question “{wording.quoted(opened)}”.")
with heading.header("Results", settings_line(run), crumbs=heading.crumbs_of(run, corpus)):
    address.choose("Run", [run.name for run in runs], "run", width=240)
    if run.knows.ranking:
        shown = address.shows("k-shown", k, lambda k: {"k": k})
        st.number_input("k", 1, run.config.depth, help="Chunks used. Another k needs no new run.", width=110, **shown)
    downloads.popover(run)
if not len(rows):
    st.markdown("None of the questions of this run has evidence, so there are no ranking metrics.")
    st.stop()
with notices.errors_shown():
    run_scores.verdict_line(run, k)
if summary.n:
    with notices.errors_shown():
        ranking_tiles(summary)
        with st.container(gap="xxsmall"):
            sum_line(run, summary)
if judgement.statuses:
    with notices.errors_shown():
        run_scores.answer_tiles(run, judgement, k)
        with st.container(gap="xxsmall"):
            run_scores.answer_line(run, judgement)
        run_scores.judge_panel(run, judgement)
elif judgement.paid.calls:
    st.caption(plain(judgements.cost_words(judgement)))
if failures := choices.not_reranked(run):
    reason = sentence(next(iter(failures.values())))
    words = f"Reranking failed for {wording.counted(len(failures), 'question')}, which kept the retriever's order: "
    st.markdown(f":orange[▲] {plain(f'{words}{reason}')}")
if chosen_here := measurements.chosen_words(run):
    st.caption(f":orange[▲] {plain(chosen_here)}")
unranked = measurements.unranked_words(run)
made_of = measurements.read_words(run), overviews.took_words(run, cache.overview(run))
for told in filter(None, (unranked, " ".join(made_of).strip(), measurements.agreement_words(run))):
    st.caption(plain(told))
if unranked and "reference" in cache.overview(run).asked.kind_of.values() and store.documents.all(corpus.id):
    questions = run.provenance["questions"]
    address.link("questions", "Find the evidence in the documents", set=questions, tab="Find evidence")
figure.draw_so_far("results")
by_part = [partial(run_rankings.curves, summary, key)] if summary.n else []
by_part.append(partial(run_rankings.slices_table, run, summary, key))
parts = {
    "Overview": overview,
    **({} if unranked else {"By k and document": partial(notices.beside, "by-part", *by_part)}),
    **({"Scores": partial(run_scores.distributions, run, judgement, key)} if judgement.metrics else {}),
    questeval_tab.NAME: partial(questeval_tab.draw, run, k, filtered_rows["Id"], key),
    "All metrics": partial(run_scores.metrics_table, run, summary),
    **({} if unranked else {what_if_tab.NAME: partial(what_if_tab.draw, run, k)}),
}
notices.tabs(parts, "results-tab")
left_out = "" if run.knows.answers else outcomes.not_ranked_words(summary.unanswerable, summary.reference_only)
question_table.draw(run, filtered_rows, len(rows), k, left_out, key)
