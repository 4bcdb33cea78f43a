import streamlit as st

from ragviz.health import synthetic
from ragviz.text.markup import plain
from ragviz.ui import (
    address,
    cache,
    compare_answer,
    compare_choices,
    compare_pictures,
    compare_tables,
    downloads,
    frame,
    pair_flow,
    pair_questions,
    pair_slices,
    wording,
)
from ragviz.ui.compare_choices import Shown
from ragviz.ui.kit import figure, heading, notices
from ragviz.ui.pairs import Pair

workspace = frame.begin()


def answer(shown: Shown) -> None:
    """The verdict in a sentence; leaderboard and differences; from three runs on, all pairs."""
    compare_answer.in_words(shown)
    figure.draw_so_far("compare")
    with st.container(key="beside-answer"):
        left, right = st.columns([1, 1], gap="medium")
        with left, notices.errors_shown():
            compare_answer.leaderboard(shown)
        with right, notices.errors_shown():
            compare_answer.differences(shown)
            if len(shown.runs) == 2:
                compare_tables.settings_table(shown.comparison)
    if len(shown.runs) > 2:
        with notices.errors_shown():
            compare_tables.settings_table(shown.comparison)


def expenses(shown: Shown) -> None:
    """Recall against tokens read; quality against cost and latency."""
    with st.container(key="beside-expenses"):
        left, right = st.columns([1, 1], gap="medium")
        with left, notices.errors_shown():
            if shown.comparison.metrics:
                compare_pictures.recall_by_tokens(shown)
        with right, notices.errors_shown():
            compare_pictures.quality_by_expense(shown)


def losses(shown: Shown) -> None:
    """From three runs on, where questions are lost, beside all pairs; those of one pair are followed below."""
    if len(shown.runs) == 2:
        return
    with st.container(key="beside-losses"):
        left, right = st.columns([1, 1], gap="medium")
        with left, notices.errors_shown():
            compare_answer.pairs_table(shown)
        with right, notices.errors_shown():
            compare_tables.stages_table(shown)


def questions(shown: Shown) -> None:
    """Where the questions of the pair moved, in which slices it differs, and each question under both runs."""
    pair = Pair(shown.runs, shown.comparison, shown.other, shown.metric)
    for part in (pair_flow, pair_slices, pair_questions):
        with notices.errors_shown():
            part.draw(pair)


def over_k(shown: Shown) -> None:
    """Curves and ranks of every run."""
    if shown.comparison.metrics:
        with notices.errors_shown():
            compare_pictures.curves(shown)
        with notices.errors_shown():
            compare_pictures.histograms(shown)


def metrics(shown: Shown) -> None:
    """Every metric of the pair, of rankings and of answers."""
    comparison = shown.comparison
    if comparison.metrics:
        with notices.errors_shown():
            compare_tables.metrics_part(shown, comparison.metrics, "comparison")
    if comparison.answers:
        with notices.errors_shown():
            compare_tables.metrics_part(shown, comparison.answers, "answers")


SECTIONS = (answer, expenses, losses, questions, over_k, metrics)
"""The parts of the page, from the top."""

corpus = frame.need_corpus()
done = [run for run in workspace.store.runs(corpus.id) if run.status == "done"]
beside = heading.header("Compare", "Which runs are really apart, and what each takes.")
if len(done) < 2:
    with notices.empty(
        f"Comparing takes two runs on the same questions; {plain(corpus.name)} has {wording.counted(len(done), 'run')}."
    ):
        address.link("run", "Make a run")
    st.stop()
runs = compare_choices.chosen_runs(done)
if len(runs) < 2:
    st.markdown("Choose two runs or more.")
    st.stop()
warnings = st.container()
with st.grid(5 if len(runs) > 2 else 4, min_column_width=140):
    with st.container():
        compare_choices.choose_baseline(runs)
    of_other = st.container() if len(runs) > 2 else warnings
    of_metric = st.container()
    with st.container():
        k = compare_choices.choose_k(runs)
    of_rule = st.container(vertical_alignment="bottom", height="stretch")
of = cache.state(*(run.id for run in runs))
pair_questions.open_case(runs, k)
with notices.errors_shown():
    with of_rule:
        comparison = compare_choices.choose_rule(cache.comparison(of, k))
    with of_other:
        other = compare_choices.choose_other(comparison)
    with of_metric:
        metric = compare_choices.choose_metric(comparison)
    shown = Shown(tuple(runs), comparison, metric, other, of)
    with beside:
        downloads.report_button(runs, k, comparison.rule)
    if note := synthetic.banner([run.config for run in runs], list(cache.questions(runs[0]).values())):
        st.warning(plain(note))
    for section in SECTIONS:
        with notices.errors_shown():
            section(shown)
