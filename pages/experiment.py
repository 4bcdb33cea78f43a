from functools import partial
from itertools import count

import streamlit as st

from ragviz.core.errors import RagvizError
from ragviz.core.job import NewJob
from ragviz.health import synthetic
from ragviz.report import reports
from ragviz.service import experiment_verbs
from ragviz.text.markup import plain, sentence
from ragviz.ui import address, budget, downloads, experiment_form, experiment_view, frame, job_panel, presses
from ragviz.ui.kit import form, heading, notices

NEW = "*"
"""The value of the parameter `experiment` that stands for a new one."""

workspace = frame.begin()
store = workspace.store
corpus = frame.need_corpus()
experiments = store.experiments.all(corpus.id)
names = [NEW, *(experiment.name for experiment in experiments)]
pickers = heading.header(
    "Experiment", "Configurations tried on the same questions, decided by a rule declared before the first result."
)
with pickers:
    shown = address.choose(
        "Experiment", names, "experiment", label_visibility="collapsed", width=320,
        format_func=lambda name: "New experiment" if name == NEW else name,
    )  # fmt: skip


def start(chosen: experiment_form.Chosen, name: str, dollars: float | None) -> NewJob:
    new = experiment_verbs.sweep(
        workspace, name, chosen.question_set, chosen.planned, chosen.rule, chosen.split, dollars
    )
    st.session_state.pop("experiment-name-suggested", None)
    address.put(experiment=name)
    return new


def new_experiment() -> None:
    sets = [each for each in store.sets.all(corpus.id) if each.asked]
    if not sets:
        notices.stop(
            f"An experiment asks a question set; {plain(corpus.name)} has none yet.",
            ("questions", "Generate or import questions"),
        )
    if not any(document.characters for document in store.documents.all(corpus.id)):
        notices.stop(f"{plain(corpus.name)} has no text to index.", ("documents", "Add documents"))
    left, right = st.columns([3, 2], gap="large")
    chosen = None
    with left, st.container():
        try:
            chosen = experiment_form.choose(corpus, sets)
        except RagvizError as error:
            st.warning(sentence(str(error)))
    with right, notices.errors_shown():
        if chosen is None:
            st.caption("What it takes is shown when the choices can be used.")
            return
        free = next(name for n in count(1) if (name := f"experiment-{n}") not in names)
        name = form.suggested_name("Name", "experiment-name", free, used_by=presses.key("start-sweep"))
        alone = len(chosen.planned.cells) < 2
        if alone:
            st.caption("Choose a second value for one of the choices: there is one cell.")
        dollars = None
        if experiment_form.asks_models(chosen.planned.cells):
            dollars = budget.field("For all runs of the experiment together.", "experiment-budget")
        new = partial(start, chosen, name, dollars)
        job_panel.button("Start", "start-sweep", new, disabled=alone or not name, kind="primary")
        experiment_form.cost(corpus, chosen)


if shown == NEW or shown is None:
    new_experiment()
else:
    experiment = store.experiments.get(shown)
    with pickers:
        downloads.report(experiment.name, lambda: reports.made(workspace, [experiment.id]))
    configs = [cell.run for cell in experiment.cells]
    if len(synthetic.answerers(configs)) > 1 and (
        note := synthetic.banner(configs, [q.generator for q in store.questions.all(experiment.questions) if q.asked])
    ):
        st.warning(plain(note))
    experiment_view.draw(experiment)
