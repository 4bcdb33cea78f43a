"""The answers of a run in numbers: tiles, coverage, abstentions, the judge and what contradicts it."""

from __future__ import annotations

import shlex

import streamlit as st

from ragviz.analysis.evaluate import Scored
from ragviz.core.run_info import Run
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import shown_in
from ragviz.retrieval import rerankers
from ragviz.runs import choices, judgements, provenance
from ragviz.text.markup import plain, sentence
from ragviz.ui import address, budget, cache, job_panel, presses, question_table, wording
from ragviz.ui.kit import tiles

LOOK_AT = 5
"""Questions whose scores are contradicted that are shown."""


def answer_tiles(run: Run, judgement: judgements.Judgement, k: int) -> None:
    """Draw up to four means of the answers, each with its interval and n; said apart when made at another k."""
    if made := judgements.made_at(run, k):
        st.caption(f"**{made}**: their scores do not change with the k shown.")
    names = [name for name in shown_in("tile") if name in judgement.metrics][:4]
    with tiles.row():
        for name in names:
            metric, scored = ANSWER_METRICS[name], judgement.metrics[name]
            arrow = "↑" if metric.higher_is_better else "↓"
            tiles.tile(f"{metric.title} {arrow}", *scored_words(scored), explained=metric.explanation)


def scored_words(scored: Scored) -> tuple[str, str]:
    """Return value and note of a tile; the note also counts the unscored questions."""
    value, note = tiles.estimate_words(scored.estimate)
    return value, note if scored.estimate.n == scored.total else f"{note} of {scored.total:,}"


def answer_line(run: Run, judgement: judgements.Judgement) -> None:
    """Draw coverage with the button that judges again, abstentions, who answered and judged, and the cost."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.markdown(" · ".join(filter(None, [coverage(run, judgement), abstentions(run, judgement)])), width="stretch")
        if judgement.failed or (judgement.controls and not judgement.controls.reliable):
            judge_again(run)
    controls = judgement.controls.sentence.rstrip(".") if judgement.controls and judgement.controls.reliable else ""
    decided, cost = judgements.decided_words(judgement), judgements.cost_words(judgement)
    st.caption(plain(" · ".join(filter(None, [judgements.judge_words(run), decided, controls, cost]))))


def reranking_line(run: Run) -> None:
    """Say which questions were not reranked, with the button that tries them again; nothing where all were."""
    if failures := provenance.not_reranked(run):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            count, reason = wording.counted(len(failures), "question"), next(iter(failures.values()))
            words = f"Reranking failed for {count}, which kept the retriever's order: {sentence(reason)}"
            st.markdown(f":orange[▲] {plain(words)}", width="stretch")
            judge_again(run, "Rerank again")


def judge_again(run: Run, label: str = "Judge again") -> None:
    """Draw the button that reranks and judges again what failed, with a budget where a model is asked."""
    dollars = None
    if run.config.model or run.config.judge or rerankers.model_of(run.config.reranker):
        dollars = budget.field_of_run(run, f"again-{label}-{run.id}")
    if st.button(
        label,
        key=presses.key(f"judge-{label}-{run.id}"),
        help="Repeats the failed calls; all calls, when the judge was unreliable and no longer is.",
        disabled=job_panel.active_job("rejudge", run.corpus_id, run=run.name) is not None,
    ):
        choices.check_budget(cache.workspace(), run.config, dollars)
        title = f"Judge again what failed in {run.name}"
        arguments = {"run": run.name, "budget": dollars}
        job_panel.submit(f"judge-{label}-{run.id}", "rejudge", title, run.corpus_id, arguments)
        st.rerun()


def judge_panel(run: Run, judgement: judgements.Judgement) -> None:
    """Draw that a judge is unreliable, and the scores that its answers contradict."""
    if judgement.controls and not judgement.controls.reliable:
        st.warning(plain(judgement.controls.sentence))
    if not (doubts := judgement.doubts):
        return
    st.markdown("**Contradicted scores**: the words of these answers contradict their scores")
    for doubt in doubts[:LOOK_AT]:
        address.link("inspect", f"{doubt.question} – {doubt.words}", run=run.name, question=doubt.question_id)
    if len(doubts) > LOOK_AT:
        st.caption(
            plain(f"and {len(doubts) - LOOK_AT} more: `ragviz results {shlex.quote(run.name)} --json` lists all")
        )


def coverage(run: Run, judgement: judgements.Judgement) -> str:
    """Return how many questions are scored, from the metric with fewest to that with most, and why others are not."""
    total, failed = len(cache.questions(run)), len(judgement.failed)
    unanswered = sum("answer" in steps for steps in judgement.failures.values())
    coverage_words = plain(judgements.coverage_words(judgement, total))
    words = [coverage_words or f"**{len(judgement.statuses) - failed} of {total:,}** answered"]
    if unanswered:
        words.append(f":orange[▲] {wording.counted(unanswered, 'answer')} failed")
    if errors := failed - unanswered:
        words.append(f":orange[▲] {wording.counted(errors, 'judge error')}")
    if missing := total - len(judgement.statuses):
        words.append(f"{wording.counted(missing, 'question')} not reached")
    return ", ".join(words) if failed or missing else words[0]


def abstentions(run: Run, judgement: judgements.Judgement) -> str:
    """Return how many questions the run abstained on, and how these fit the causes of loss; "" when it is of none."""
    abstained = judgement.abstention
    if not question_table.answers(run) or not (abstained.refused or abstained.unanswerable):
        return ""
    return judgements.abstained_words(run, judgement, cache.kinds(run))
