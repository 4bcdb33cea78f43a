from collections.abc import Sequence

import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.verdict import EvaluatedAnswer, Matrix
from ragviz.runs import moved_questions
from ragviz.text.markup import plain
from ragviz.text.names import short_names
from ragviz.ui import (
    address,
    both_sides,
    cache,
    case,
    compared_questions,
    compared_runs,
    frame,
    presentation,
    questeval_tab,
    question_table,
    wording,
)
from ragviz.ui.claim_marks import chosen_claim
from ragviz.ui.kit import heading, notices

workspace = frame.begin()
store = workspace.store


def chosen_question(runs: Sequence[Run], shown_ids: Sequence[str]) -> str:
    asked = moved_questions.shared_questions(runs, cache.SOURCES)
    if not asked:
        heading.header("Case")
        with notices.empty("These runs share no question."):
            address.link("compare", "Choose other runs", runs=st.query_params.get("runs"))
        st.stop()
    requested = st.query_params.get("question")
    if requested is not None and requested not in asked:
        st.warning(f"Not asked here: the question “{wording.quoted(requested)}”.")
    question_id = requested if requested in asked else next(iter([*shown_ids, *asked]))
    address.settle("question", question_id)
    return question_id


def top(runs: Sequence[Run], k: int, shown_ids: Sequence[str], question_id: str) -> None:
    crumbs = heading.crumbs_of(runs[0], corpus)[: 2 if len(runs) == 1 else 1]
    page, label, params = "results", runs[0].name, {"run": runs[0].name, "k": str(k)}
    if len(runs) == 1:
        params |= question_table.filter_parameters()
    else:
        page, label = "compare", "Compare " + ", ".join(run.name for run in runs)
        params = {"runs": st.query_params["runs"], "k": str(k), "tab": compared_questions.TAB}
        params |= compared_questions.list_parameters()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            heading.breadcrumb([*crumbs, (page, label, params)])
        next_question = question_table.walk(shown_ids, question_id)
        if st.button("All questions", shortcut="esc"):
            address.go_to(page, question=None, **params)
    if next_question:
        address.put(question=next_question, claim=None)
        st.rerun()


def case_tab(question_id: str) -> None:
    if len(runs) > 1:
        both_sides.body(runs, question_id, k)
        return
    evaluated = cache.evaluated_to(runs[0], question_id)
    claim = chosen_claim(evaluated.matrix if evaluated else Matrix())
    case.body(runs[0], question, retrieved, k, claim)


def of_side(question_id: str) -> tuple[EvaluatedAnswer | None, Run]:
    names = short_names([run.name for run in runs], 32)
    name = address.choose_one("Run", names, "of") if len(runs) > 1 else runs[0].name
    run = next(run for run in runs if run.name == name)
    return cache.evaluated_to(run, question_id), run


corpus = frame.need_corpus()
done = [run for run in store.runs.all(corpus.id) if run.status == "done"]
if not done:
    heading.header("Case", "One question of one run, down to the sentence.")
    notices.stop(f"No run of {plain(corpus.name)} is done yet.", ("run", "Make a run"))
runs = compared_runs.requested_runs(done)
if not runs:
    name = address.chosen("run", [run.name for run in done], noun="run")
    runs = [run for run in done if run.name == name]
depth, own = min(run.config.depth for run in runs), runs[0].config.k
of = "this run has" if len(runs) == 1 else f"{plain(runs[0].name)} has"
k = address.readable("k", address.number_within(1, depth), f"1 to {depth:,}; {of} {own:,}") or min(own, depth)
if len(runs) > 1:
    shown_ids = both_sides.listed(runs, k)
else:
    shown_ids = list(question_table.filtered(runs[0], question_table.question_rows(runs[0], k), k)["Id"])
question_id = chosen_question(runs, shown_ids)
if not presentation.on():  # ← and → are those of the presentation then
    top(runs, k, shown_ids, question_id)
question, retrieved = cache.questions(runs[0])[question_id], cache.retrieved_for(runs[0], question_id)
heading.header(question.text)
judgement = cache.overview(runs[0]).judgement
if judgement.controls is not None and not judgement.controls.reliable and question_id in judgement.statuses:
    st.warning(plain(judgement.controls.sentence))
if len(runs) == 1:
    with notices.errors_shown():
        case.cause_line(runs[0], judgement, question, retrieved, k)
notices.tabs(
    {
        "Case": lambda: case_tab(question_id),
        questeval_tab.NAME: lambda: questeval_tab.of_answer(*of_side(question_id)),
        "Judge calls": lambda: case.judge_calls(question_id, *of_side(question_id)),
    },
    "case-tab",
)
heading.scroll_to_top(question_id)
