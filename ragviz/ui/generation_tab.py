"""The tab Generate: quotas of questions by kind and style, the plan before anything is made, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.core.configuration import IndexInfo
from ragviz.core.document import Corpus
from ragviz.core.question_set import QuestionSet
from ragviz.generation import pipeline, plan, plan_record
from ragviz.questions.question_types import STYLES, STYLES_OF, TYPE_TITLES, TYPES, TYPES_OF
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, budget, cache, job_panel, presses, review_tab, wording
from ragviz.ui.kit import acting, form, heading, notices, table, tiles

GENERATORS = {"extractive": "Without a model", "model": "A model"}
EXPLAINED = (
    "Without a model, headings, tables, lists, definitions and sentences with a number or a name are asked for: fewer "
    "questions than wanted rather than many of one template. A model, connected in Settings, writes questions and "
    "verifies them in three or four more calls."
)


def show(corpus: Corpus, suggested: str) -> None:
    """Draw the choices of a generation, and its plan when that is asked for."""
    workspace = cache.workspace()
    indexes = [i for i in workspace.store.indexes.all(corpus.id) if i.build]
    if not indexes:
        with notices.empty("Questions are generated from the chunks of an index, and there is none yet."):
            address.link("index", "Build an index")
        return
    names = [i.name for i in indexes]
    generators = [g for g in pipeline.GENERATORS if g == "extractive" or workspace.settings.model_configured]
    with st.grid(2, min_column_width=150):
        source = indexes[names.index(address.choose("Source index", names, "index") or names[0])]
        generator: str = st.selectbox(
            "Generator", generators, index=len(generators) - 1, format_func=GENERATORS.__getitem__, help=EXPLAINED
        )
    with st.form("generate", enter_to_submit=False):  # Enter takes a number; it would start what is paid for
        arguments, dollars = _choices(source, generator, suggested)
        asked = {key: value for key, value in arguments.items() if key != "name"}
        going = job_panel.active_job("questions", corpus.id, **asked) is not None
        with st.container(horizontal=True):
            pressed = st.form_submit_button(
                "Generating…" if going else "Generate",
                type="primary",
                disabled=going or acting.off(),
                key=presses.key("generate-questions"),
            )
            plan_pressed = st.form_submit_button("Show the plan")
    if pressed and arguments["name"]:
        question_verbs.open_set(workspace, corpus, arguments["name"])  # shown while its questions are written
        job_panel.submit("generate-questions", question_verbs.generate(workspace, arguments, dollars))
        address.put(set=arguments["name"], tab="Generate")  # a first set brings more tabs: this one stays
        st.rerun()
    if plan_pressed and arguments["name"]:
        _preview(corpus, arguments)


def _choices(source: IndexInfo, generator: str, suggested: str) -> tuple[dict[str, Any], float | None]:
    able = TYPES_OF[generator]
    number = st.number_input("Number of questions", 1, 100_000, plan.LIMIT, 10, key="generate-limit")
    kinds = st.pills(
        "Types", able, selection_mode="multi", default=able, format_func=lambda name: TYPES[name].title,
        key=f"generate-kinds-{generator}", help=" ".join(f"{TYPES[name].title}: {TYPES[name].help}" for name in able),
    )  # fmt: skip
    pressed = presses.key("generate-questions")
    name = form.suggested_name("Set name, new or to add to", "generate-name", suggested, used_by=pressed)
    with st.expander("More"):
        more, dollars = _more(generator)
    arguments: dict[str, Any] = {"index": source.name, "name": name, "generator": generator}
    chosen = dict.fromkeys(kinds) if len(kinds) < len(able) else {}
    return arguments | {"limit": int(number), "kinds": chosen} | more, dollars


def _more(generator: str) -> tuple[dict[str, Any], float | None]:
    styles = st.pills(
        "Styles", STYLES_OF[generator], selection_mode="multi", default=["colleague"],
        format_func=lambda name: STYLES[name].title, key=f"generate-styles-{generator}",
        help="As many of each. " + " ".join(STYLES[name].help for name in STYLES_OF[generator]),
    )  # fmt: skip
    chosen: dict[str, Any] = {"styles": dict.fromkeys(styles, 1)}
    with st.grid(3, min_column_width=150):
        chosen["seed"] = int(st.number_input("Seed", 0, 2**31 - 1, 0))
        if generator != "model":
            return chosen | {"passages": pipeline.PASSAGES, "verify": False}, None
        bridge = TYPES["bridge"]
        passages = st.number_input("Passages of a bridge", bridge.fewest, bridge.most, pipeline.PASSAGES)
        dollars = budget.field("For all questions ever generated into the set. It stops before it could exceed it.")
    verify = st.checkbox(
        "Verify", value=True, key="generate-verify",
        help="By other calls than those that write: answered by the evidence, understood alone, every passage needed, "
        "no chunk answers an unanswerable one.",
    )  # fmt: skip
    return chosen | {"passages": int(passages), "verify": verify}, dollars


def _preview(corpus: Corpus, arguments: Mapping[str, Any]) -> None:
    with st.spinner("Drawing the plan"):
        preview = pipeline.foresee_questions(cache.workspace(), **arguments)
    record, shown = preview.record, preview.shown
    heading.section("The plan")
    if record.planned < record.wanted:
        st.markdown(f"**{record.planned:,} of the {record.wanted:,}** that are asked for can be made.")
    with tiles.row():
        tiles.tile("Questions planned", f"{record.planned:,}", f"{shown.exist:,} of them exist")
        readable = sum(each.status == "ok" for each in cache.workspace().store.documents.all(corpus.id))
        tiles.tile("Documents asked about", f"{len(shown.documents):,}", f"of {readable:,}")
        if arguments["generator"] == "model":
            tiles.forecast(preview.forecast)
    if preview.forecast.calls:
        st.caption(pipeline.ASSUMED)
    kinds = [name for name in TYPES if any(name in row for row in shown.documents.values())]
    rows = pd.DataFrame(
        {"Document": document, "Planned": sum(planned for planned, _ in row.values())}
        | {TYPE_TITLES[kind].capitalize(): row[kind][0] if kind in row else None for kind in kinds}
        for document, row in shown.documents.items()
    )
    table.draw(
        rows, "plan", alt="Questions planned by document and type", above=wording.counted(len(rows), "document"),
        file="plan", columns={"Document": table.text(210, pinned=True)}, most=12,
    )  # fmt: skip


@cache.kept(8, also=lambda question_set: (question_set.corpus_id,))
def _shown(question_set: QuestionSet) -> plan_record.Shown:
    return plan_record.shown(cache.workspace().store, question_set)


def planned_and_made(question_set: QuestionSet) -> None:
    """Draw planned against made of a set by type, and the documents without a question."""
    made = _shown(question_set)
    if not made.cells:
        with notices.empty("This set was made without a plan: nothing says what it was to ask."):
            address.link("questions", "Generate by a plan", set=question_set.name, tab="Generate")
        return
    heading.section("Planned and made")
    st.markdown(made.words)
    if made.nothing:
        count = wording.counted(len(made.nothing), "document")
        with st.expander(f":orange[▲] {count} without a question: why"):
            st.markdown("\n".join(f"- {plain(line)}" for line in pipeline.unasked_words(made.nothing)))
    names = {"Planned": "planned", "Missing": "missing", "Written": "made", "Kept": "kept", "Rejected": "rejected"}
    names |= {"Not verified": "unverified"} if any(row["unverified"] for row in made.types) else {}
    rows = pd.DataFrame(
        {
            "Type": [TYPE_TITLES[row["type"]] for row in made.types],
            **{title: [row[name] for row in made.types] for title, name in names.items()},
            "Rejected because": [row["reasons"] for row in made.types],
        }
    )
    columns = {
        "Written": table.number(help="All that were written of the type, rejected ones too."),
        "Rejected because": table.text("large"),
    }
    table.draw(rows, "plan-types", columns=columns, alt="What each type yielded")


@st.fragment(run_every=2)
def newest(corpus_id: str) -> None:
    """Draw the newest questions while they are being generated."""
    store = cache.workspace().store
    job = next((j for j in job_panel.active_jobs() if j.kind == "questions" and j.corpus_id == corpus_id), None)
    question_set = store.sets.find(job.arguments["name"]) if job else None
    if job is None or question_set is None:
        return
    with st.container(border=True):
        st.markdown(f"**{plain(job.title)}**, the newest first")
        written = store.questions.all(question_set.id)[-4:]
        for question in reversed(written):
            st.caption(f"{question.status}: {plain(question.text or review_tab.UNASKED)}")
        if not written:
            st.caption("The first questions appear here as they are written.")


def outcome(corpus: Corpus, set_name: str | None) -> None:
    """Draw the outcome of the newest generation, if it is into the set that is shown."""
    job = job_panel.finished_job("questions", corpus.id)
    if job is None or "proposed" not in job.result or job.result["questions"] != set_name:
        return
    result = job.result
    made = f"**{wording.counted(result['proposed'], 'question')} generated into {plain(result['questions'])}**"
    rejected = f", {result['rejected']:,} rejected" if result["rejected"] else ""
    notes = pipeline.notes(result, 3)
    with notices.closable("close-generated", lambda: job_panel.dismiss(job)):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{made}{rejected}. They can be reviewed, or run as they are.", width="stretch")
            if st.query_params.get("tab") == "Generate":
                address.link("questions", "Review the questions", set=result["questions"], tab="Review")
            address.link("health", "Planned and made", set=result["questions"], tab="Planned and made")
        if notes:
            with st.expander(f":orange[▲] {plain(notes[0].partition(';')[0].rstrip('.'))}."):
                st.markdown("\n".join(f"- {plain(note)}" for note in notes))
