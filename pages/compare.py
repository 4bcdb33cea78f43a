from functools import partial

import streamlit as st

from ragviz.health import synthetic
from ragviz.metrics.registry import title_of
from ragviz.text.markup import plain
from ragviz.text.names import short_names
from ragviz.ui import address, cache, compared_questions, compared_runs, downloads, frame, wording
from ragviz.ui.compared_runs import Compared
from ragviz.ui.kit import figure, heading, notices

workspace = frame.begin()


def answer(shown: Compared) -> None:
    compared_runs.in_words(shown)
    figure.draw_so_far("compare")

    def right() -> None:
        compared_runs.differences(shown)
        if len(shown.runs) == 2:
            compared_runs.settings_table(shown.comparison)

    notices.beside("answer", partial(compared_runs.leaderboard, shown), right)


def takes(shown: Compared) -> None:
    tokens = [partial(compared_runs.recall_by_tokens, shown)] if shown.comparison.metrics else []
    notices.beside("expenses", *tokens, partial(compared_runs.quality_by_expense, shown))
    if len(shown.runs) > 2:
        compared_runs.pairs_table(shown)


def questions(shown: Compared) -> None:
    for part in (compared_questions.flow, compared_questions.each_question):
        with notices.errors_shown():
            part(shown)


def metrics(shown: Compared) -> None:
    for name, measured in (("comparison", shown.comparison.metrics), ("answers", shown.comparison.answers)):
        if measured:
            compared_runs.metrics_table(shown, measured, name)


TABS = {
    "What it takes": takes,
    compared_questions.TAB: questions,
    "Slices": compared_questions.in_slices,
    "Over k": lambda shown: (compared_runs.curves(shown), compared_runs.histograms(shown)),
    "All metrics": metrics,
    "Configuration": lambda shown: compared_runs.settings_table(shown.comparison),
}

corpus = frame.need_corpus()
done = [run for run in workspace.store.runs.all(corpus.id) if run.status == "done"]
pickers = heading.header("Compare", "Which runs are really apart, and what each takes.")
if len(done) < 2:
    has = f"{plain(corpus.name)} has {wording.counted(len(done), 'run')}"
    notices.stop(f"Comparing takes two runs on the same questions; {has}.", ("run", "Make a run"))
runs = compared_runs.chosen_runs(done)
if len(runs) < 2:
    st.markdown("Choose two runs or more.")
    st.stop()
warnings = st.container()
with st.grid(5 if len(runs) > 2 else 4, min_column_width=140):
    names = [run.name for run in runs]
    st.selectbox(
        "Baseline", names, format_func=short_names(names, 40).__getitem__,
        **address.shows("baseline", names[0], lambda name: compared_runs.pair_parameters(runs, name, names[0])),
    )  # fmt: skip
    of_other = st.container() if len(runs) > 2 else warnings
    of_metric = st.container()
    depth = min(run.config.depth for run in runs)
    k = address.chosen_number("k", 1, depth, min(runs[0].config.k, depth))
    with st.container():
        if any(run.knows.ranking for run in runs):
            st.number_input("k", 1, depth, **address.shows("k-compared", k, lambda k: {"k": k}))
    of_rule = st.container(vertical_alignment="bottom", height="stretch")
compared_questions.open_case(runs, k)
of = cache.state(*(run.id for run in runs))
with notices.errors_shown():
    with of_rule:
        comparison = compared_runs.choose_rule(of, k)
    with of_other:
        other = compared_runs.choose_other(comparison)
    with of_metric:
        metrics_offered, primary = list(comparison.rows), comparison.rule.primary
        metric = address.choose("Metric", metrics_offered, "metric", default=primary, format_func=title_of) or primary
    shown = Compared(tuple(runs), comparison, metric, other, of)
    with pickers:
        downloads.report_button(runs, k, comparison.rule)
    if note := synthetic.banner([run.config for run in runs], cache.overview(runs[0]).asked.generators):
        st.warning(plain(note))
    with notices.errors_shown():
        answer(shown)
    left_out = {"Over k"} if not comparison.metrics else set()
    left_out |= {"Configuration"} if len(runs) == 2 else set()
    tabs = {name: partial(part, shown) for name, part in TABS.items() if name not in left_out}
    notices.tabs(tabs, "compare-tab")
