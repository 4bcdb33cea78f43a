"""The answers of a run: tiles, coverage and the judge; distributions of their scores; and all metrics in a table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import Summary
from ragviz.core.configuration import Run
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import REGISTRY, shown_in, title_of
from ragviz.report import plots
from ragviz.runs import judgements, measurements, rescue_words
from ragviz.service import run_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, budget, cache, job_panel, question_table, wording
from ragviz.ui.kit import figure, heading, notices, table, tiles

LOOK_AT = 5
"""Questions whose scores are contradicted that are shown."""


def verdict_line(run: Run, k: int) -> None:
    """Draw the verdict on a run, with what would rescue most of what it lost; nothing where nothing is measured."""
    at = cache.at(run, k)
    said = at.verdict
    if at.summary.n and not measurements.unranked_words(run):
        best = rescue_words.suggestion(cache.replay_columns(run), cache.rescue(run, k))
        said = " ".join(filter(None, [said, escape(best)]))
    if said:
        st.html(f'<p class="rv-verdict">{said}</p>')


def answer_tiles(run: Run, judgement: judgements.Judgement, k: int) -> None:
    """Draw up to four means of the answers, each with its interval and n; said apart when made at another k."""
    if made := judgements.made_at(run, k):
        st.caption(f"**{made}**: their scores do not change with the k shown.")
    names = [name for name in shown_in("tile") if name in judgement.metrics][:4]
    with tiles.row():
        for name in names:
            scored = judgement.metrics[name]
            tiles.mean(ANSWER_METRICS[name], scored.estimate, total=scored.total)


def answer_line(run: Run, judgement: judgements.Judgement) -> None:
    """Draw coverage with the button that judges again, abstentions, who answered and judged, and the cost."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        abstains = judgement.abstention.refused or judgement.abstention.unanswerable
        abstained = judgement.abstention.words if run.knows.answers and abstains else ""
        st.markdown(" · ".join(filter(None, [coverage(run, judgement), abstained])), width="stretch")
        if judgement.failed or (judgement.controls and not judgement.controls.reliable):
            judge_again(run)
        elif not run.config.judge and not run.knows.again and cache.workspace().settings.model_configured:
            judge_again(run, "Judge", metrics=("all",))
    controls = judgement.controls.sentence.rstrip(".") if judgement.controls and judgement.controls.reliable else ""
    decided, cost = judgements.decided_words(judgement), judgements.cost_words(judgement)
    st.caption(plain(" · ".join(filter(None, [judgements.judge_words(run), decided, controls, cost]))))


def judge_again(run: Run, label: str = "Judge again", metrics: Sequence[str] = ()) -> None:
    """Draw the button that judges again what failed, with a budget where a model is asked."""
    dollars = None
    if metrics or run.config.model or run.config.judge:
        dollars = budget.field_of(run, f"again-{label}-{run.id}")
    judging = partial(run_verbs.judge, metrics=metrics) if metrics else run_verbs.judge_again
    explained = "Repeats the failed calls; all calls, when the judge was unreliable and no longer is."
    if metrics:
        explained = "Has the judge's model judge these answers; verdicts that were imported stay."
    active = job_panel.active_job("rejudge", run.corpus_id, run=run.name)
    new = partial(judging, cache.workspace(), run, budget=dollars)
    job_panel.button(label, f"judge-{label}-{run.id}", new, active=active, explained=explained)


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
    """Return how many questions have a score by the metric with fewest, and why others have none."""
    total, failed = len(cache.questions(run)), len(judgement.failed)
    unanswered = sum("answer" in steps for steps in judgement.failures.values())
    scored = min((each.statuses.get("ok", 0) for each in judgement.metrics.values()), default=None)
    said = sum(status == "answered" for status in judgement.statuses.values())
    words = [f"**{said:,} of {total:,}** answered" if scored is None else f"at least {scored:,} of {total:,} scored"]
    if unanswered:
        words.append(f":orange[▲] {wording.counted(unanswered, 'answer')} failed")
    if errors := failed - unanswered:
        words.append(f":orange[▲] {wording.counted(errors, 'judge error')}")
    if missing := total - len(judgement.statuses):
        words.append(f"{wording.counted(missing, 'question')} not reached")
    return ", ".join(words) if failed or missing else words[0]


def distributions(run: Run, judgement: judgements.Judgement, key: str) -> None:
    """Draw the distribution of one metric, and completeness against conciseness where both were measured."""
    pairs = ((name, ANSWER_METRICS[name].drawn_against) for name in judgement.metrics)
    pair = next((pair for pair in pairs if pair[1] in judgement.metrics), None)
    parts = [partial(score_distribution, run, judgement, key)]
    if pair is not None:
        parts.append(partial(completeness_against_conciseness, run, pair, key))
    notices.beside("scores", *parts)


def score_distribution(run: Run, judgement: judgements.Judgement, key: str) -> None:
    """Draw the scores of the answers by one metric, in tenths; the questions are listed in its order."""
    with st.container(horizontal=True, vertical_alignment="center", key="scores-head"):
        heading.section("Score distribution")
        name = question_table.metric_of(run)
        st.selectbox(
            "Metric", list(judgement.metrics), label_visibility="collapsed", width=270,
            format_func=lambda name: ANSWER_METRICS[name].title,
            **address.shows("metric-shown", name, lambda name: {"metric": name}),
        )  # fmt: skip
    values = np.array([*cache.overview(run).answers[name].known.values()])
    if len(values):
        figure.draw(plots.score_histogram(values, title=ANSWER_METRICS[name].title), f"spread-{name}-{key}")
    else:
        st.markdown("No answer is scored by this metric.")
    without = judgement.metrics[name].without
    count = f"{len(values)} of {judgement.metrics[name].total} scored{f', {without}' if without else ''}"
    st.caption(f"{ANSWER_METRICS[name].explanation} {count}. A click on the head of its column sorts the questions.")


def completeness_against_conciseness(run: Run, pair: tuple[str, str], key: str) -> None:
    """Each answer by its completeness and conciseness (factual precision); a click opens the question."""
    heading.section("Completeness against conciseness")
    first, second = (cache.overview(run).answers[name].known for name in pair)
    ids = [i for i in first if i in second]

    x, y = (np.array([scores[i] for i in ids], dtype=float) for scores in (first, second))
    questions = cache.questions(run)
    figure.draw(
        plots.quarters(x, y, [questions[i].text for i in ids]), f"quadrants-{key}",
        clicked=lambda place: st.session_state.update({"open-question": ids[place[0]]} if place else {}),
    )  # fmt: skip
    st.caption(
        "Low completeness: evidence was not retrieved, or was ignored. Low conciseness: too much was retrieved or "
        "said. Low on both: the answer is off topic. Click a point to open its question."
    )


def metrics_table(run: Run, summary: Summary) -> None:
    """Draw every metric, over all questions."""
    [whole] = cache.breakdown(run, summary.k, ("all",)).slices()
    of_maker = cache.overview(run).judgement.of_maker
    made = judgements.made_at(run, summary.k)
    means = {name: each for name, each in whole.metrics.items() if name in ANSWER_METRICS}
    means |= {name: each for name, each in whole.metrics.items() if run.knows.ranking and name not in means}
    cells = []
    for name, each in (means | dict(of_maker)).items():
        is_answers = name in ANSWER_METRICS
        described = f"Not measured here: {run.name} came with it, on its own scale."
        cells.append(
            {
                "Metric": f"{title_of(name)}{f', at k = {run.config.k}' if made and is_answers else ''}",
                "Mean": each.estimate.mean,
                "95 % CI": tiles.interval_words(each.estimate),
                "n": each.estimate.n,
                "Unscored": each.without if is_answers else "",
                "Description": described if name in of_maker else REGISTRY[name.split("@")[0]].explanation,
            }
        )
    rows = pd.DataFrame(cells).astype({"Mean": "Float64"})
    if not any(rows["Unscored"]):
        rows = rows.drop(columns="Unscored")
    above = table.row_above("metrics", title=f"All metrics{f' at k = {summary.k}' if run.knows.ranking else ''}")
    if made:
        above.caption(f"{made}", width="content")
    columns = {"Mean": table.bar(110, "%.3f"), "Description": table.text("large")}
    table.draw(rows, "metrics", alt="All metrics", above=above, file=f"{run.name}-metrics", columns=columns, most=8)
