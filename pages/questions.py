from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from ragviz import jobs
from ragviz.judging import banks
from ragviz.models import spending
from ragviz.questions import authoring, generation
from ragviz.questions.sets import export_questions, import_banks, import_questions
from ragviz.questions.synthesize import GENERATORS
from ragviz.records import Question, QuestionSet
from ragviz.store.codecs import version_of
from ragviz.text import markup
from ragviz.text.markup import plain
from ragviz.ui import address, budget, frame, heading, job_panel, passages, question_editor, unsaved, widgets, wording

STATUSES = ("proposed", "accepted", "rejected")
SHOWN = ("all", *STATUSES, "stale")  # stale: with evidence whose text is gone
FORMAT = """One question a row, as CSV or JSONL: `question`, `answer`, and where the answer stands, as any of

- `document` and `quote`: the exact text, which must stand there once
- `document`, `start` and `end`: characters of the parsed text
- `chunk_id`
- `evidence`: a JSON list of such places, when a question needs several

A row without evidence is a question that the documents do not answer. The answer may also be called `ground_truth`,
`ground_truth_answer`, `expected_answer`, `reference_answer` or `reference`. Other columns are told, and not kept."""

BANKS = f"""The public format: `{banks.SHAPE}`

The id is a question's id. The lists are of equal length: what a question is about, the question, and its answer from
the reference ("无法推断" where the reference does not tell). A run that is judged afterwards asks these."""

UNASKED = "(no question could be made of a chunk)"

unsaved.keep()
workspace = frame.begin()
store = workspace.store


# What there is


def tiles(asked: QuestionSet, questions: Sequence[Question], names: dict[str, str]) -> None:
    by_status = Counter(q.status for q in questions)
    kept = [q for q in questions if q.status != "rejected"]
    by_kind = Counter(q.kind for q in kept)
    covered = {s.document_id for q in kept for group in q.evidence for s in group}
    stale = sum(map(is_stale, questions))
    generators = ", ".join(sorted({q.generator for q in questions}))
    note = f"{stale} with stale evidence" if stale else f"made by {generators}"
    calls, paid = store.paid(asked.id)
    note += f" · {calls:,} model calls, {spending.dollars(paid)} paid" if calls else ""
    judged = f"{by_status['proposed']} proposed, {by_status['rejected']} rejected"
    kinds = " · ".join(f"{by_kind[kind]:,}" for kind in ("single", "multi", "unanswerable"))
    with widgets.tiles():
        widgets.tile("Questions", f"{len(questions):,}", plain(note))
        widgets.tile("Accepted", f"{by_status['accepted']:,}", judged)
        widgets.tile("Documents covered", f"{len(covered & names.keys()):,}", f"of {len(names):,}")
        widgets.tile("Passages each needs", kinds, "one · several · none")


def rows_of(questions: Sequence[Question], names: dict[str, str]) -> pd.DataFrame:
    def documents(question: Question) -> str:
        spans = [s for group in question.evidence for s in group]
        return ", ".join(dict.fromkeys(names.get(s.document_id, "(deleted)") for s in spans))

    return pd.DataFrame(
        {
            "Question": [q.text or UNASKED for q in questions],
            "Status": [q.status for q in questions],
            "Kind": [q.kind if q.text else "" for q in questions],
            "Document": [documents(q) for q in questions],
            "Answer": [q.answer for q in questions],
            "Reason": [q.reason for q in questions],
            "Generator": [q.generator for q in questions],
            "Id": [q.id for q in questions],
        }
    )


# Review


def review(asked: QuestionSet, questions: Sequence[Question], names: dict[str, str]) -> None:
    shown = filtered(questions)
    address.readable("question", address.one_of({q.id for q in questions}), "a question of this set")
    rows = rows_of(shown, names)
    with widgets.above_table("questions"):
        filters = [st.query_params.get("status", "all"), st.query_params.get("find", "")]
        filters = [part for part in filters if part not in ("", "all")]
        words = f"{len(shown)} of {wording.counted(len(questions), 'question')}"
        st.markdown(plain(words + (f" · filter: {', '.join(filters)}" if filters else "")), width="stretch")
        switched = address.bound("in-table", False, {"true": True, "false": False}.get, "true or false")
        in_table = st.toggle("Edit in the table", **switched)
        widgets.csv_button(rows, f"{asked.name}.csv", "questions-shown", "CSV of these")
    editing = unsaved.being_edited(asked)
    if not shown and not (in_table and editing):
        st.caption("No question passes the filter.")
        return
    if in_table:
        edit_table(asked, shown)
        return
    if editing:
        st.caption(":orange[▲] What you typed into the table is not saved yet: it is kept there.")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        pick(shown, rows)
    with right:
        detail(asked, shown)


def filtered(questions: Sequence[Question]) -> list[Question]:
    """The questions that pass the filter of the address: status, and words in them; rejected ones last."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")  # five statuses are whole at 1024
    with left:
        status = st.session_state["status-filter"] = address.chosen("status", SHOWN, "all") or "all"
        st.segmented_control(
            "Status", SHOWN, key="status-filter", required=True, label_visibility="collapsed",
            on_change=lambda: address.put(status=st.session_state["status-filter"]),
        )  # fmt: skip
    st.session_state["find-filter"] = find = st.query_params.get("find", "")
    right.text_input(
        "Find", key="find-filter", placeholder="Find in questions and answers", label_visibility="collapsed",
        on_change=lambda: address.put(find=st.session_state["find-filter"] or None),
    )  # fmt: skip
    wanted = find.casefold()
    found = [q for q in questions if wanted in q.text.casefold() or wanted in q.answer.casefold()]
    fits = [q for q in found if status in ("all", q.status) or (status == "stale" and is_stale(q))]
    return sorted(fits, key=lambda q: q.status == "rejected")


def is_stale(question: Question) -> bool:
    return any(span.stale for group in question.evidence for span in group)


def pick(shown: Sequence[Question], rows: pd.DataFrame) -> None:
    def opened() -> None:
        address.put(question=widgets.selected(st.session_state["questions"], [q.id for q in shown]))

    columns = {"Question": st.column_config.TextColumn(width="large")}
    widgets.table(rows, "questions", columns=columns, on_select=opened, height=520, alt="Questions")


def detail(asked: QuestionSet, shown: Sequence[Question]) -> None:
    """One question with its source, and the keys to judge it."""
    ids = [q.id for q in shown]
    wanted = st.query_params.get("question")
    place = ids.index(wanted) if wanted in ids else 0
    question = shown[place]
    told_another(question)
    version = version_of(question)
    following = ids[place + 1] if place + 1 < len(ids) else ids[place]
    with st.container(border=True):
        st.caption(f"{place + 1} of {len(ids)} · {question.status} · {question.kind} · {plain(question.generator)}")
        st.markdown(f"**{plain(question.text or UNASKED)}**")
        st.html(markup.highlighted(question.answer or "(no answer given)", language=question.language))
        if question.reason:
            st.caption(f"Rejected: {plain(question.reason)}")
        with st.container(horizontal=True, gap="small"):
            # Keys of the question and its version: a click on what was on the screen is never one on what came there.
            done, key = question.status == "accepted" or not question.text, f"{question.id}-{version}"
            if st.button("Accept", shortcut="a", key=f"accept-{key}", disabled=done):
                decide(asked, replace(question, status="accepted", reason=""), following, version)
            if st.button("Reject", shortcut="x", key=f"reject-{key}", disabled=question.status == "rejected"):
                decide(asked, replace(question, status="rejected", reason="rejected by hand"), following, version)
            if st.button("Mend" if is_stale(question) else "Edit", shortcut="e", key="edit"):
                address.put(edit=question.id)
                st.rerun()
            if st.button("Next", shortcut="n", key="next", disabled=following == question.id):
                address.put(question=following)
                st.rerun()
        if question.evidence:
            st.html(markup.legend([("gold", "evidence")]))
            with st.container(height=300, border=False):
                passages.evidence_groups(asked.corpus_id, question)
        else:
            st.caption("No evidence: the documents do not answer it." if question.text else "The chunk it came from:")
            passages.source_chunks(asked.corpus_id, question)


def told_another(question: Question) -> None:
    """Say so when a decision was pressed for a question that is not shown any more, or not as it was."""
    key = f"{question.id}-{version_of(question)}"
    before, st.session_state["seen-question"] = st.session_state.get("seen-question", key), key
    if before == key or not any(st.session_state.get(f"{verb}-{before}") for verb in ("accept", "reject")):
        return
    changed = before.startswith(f"{question.id}-")
    what = "The question was changed by somebody else since it was shown" if changed else "Another question stands here"
    st.warning(f"{what}: nothing was saved. Look at it, and decide again.")


def decide(asked: QuestionSet, question: Question, following: str, version: str) -> None:
    """Write a decision on the question that was shown, when it is still as it was."""
    try:
        authoring.save(store, asked, question, version)
    except authoring.Conflict as conflict:
        st.warning(plain(f"{conflict} Look at it, and decide again."))
        return
    address.put(question=following)
    st.rerun()


def edit_table(asked: QuestionSet, shown: Sequence[Question]) -> None:
    """Questions, answers and statuses in a table; nothing is written before it is saved."""
    columns = {
        "Question": st.column_config.TextColumn(width="large", required=True),
        "Answer": st.column_config.TextColumn(width="large"),
        "Status": st.column_config.SelectboxColumn(options=STATUSES, required=True),
    }
    table = unsaved.table_of(asked, shown, names)
    rows = rows_of(table.rows, names)
    editable = ["Question", "Answer", "Status", "Reason"]
    fixed = [name for name in rows.columns if name not in editable]
    st.data_editor(
        rows.map(lambda cell: markup.visible(cell)), key=table.key, hide_index=True, disabled=fixed,
        column_config=columns, column_order=[*editable, *fixed], height=520,
    )  # fmt: skip
    unsaved.keep()
    changed = table.changed
    with st.container(horizontal=True):
        if st.button(f"Save {wording.counted(len(changed), 'change')}", type="primary", disabled=not changed):
            unsaved.save(store, table)
            st.rerun()
        if changed and st.button("Drop them", key="drop-edits"):
            unsaved.discard(asked)
            st.rerun()
    unsaved.show_refused(asked)


# Getting some


def generate(suggested: str) -> None:
    indexes = [i for i in store.indexes(corpus.id) if i.build]
    if not indexes:
        with widgets.nothing("Questions are made from the chunks of an index, and there is none yet."):
            address.link("index", "Build an index")
        return
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("generate"):
        names = [i.name for i in indexes]
        widgets.still_there("generate-from", names, "index")
        index = st.selectbox(
            "From the chunks of",
            names,
            index=names.index(address.chosen("index", names) or names[0]),
            key="generate-from",
        )
        generators = [g for g in GENERATORS if g == "extractive" or workspace.settings.model_configured]
        generator = st.selectbox("Generator", generators, index=len(generators) - 1)
        one, two, three = st.columns(3)
        limit = one.number_input("How many", 1, 100_000, 50, 10)
        passages = two.selectbox("Passages each needs", [1, 3])
        seed = three.number_input("Seed", 0, 2**31 - 1, 0)
        one, two = st.columns([2, 1])
        with one:
            name = widgets.suggested_name("Into the set", "generate-name", suggested, "A new name, or a set to add to.")
        dollars = None
        if workspace.settings.model_configured:
            with two:
                dollars = budget.field(
                    "Of the generator “model”, for all questions ever generated into the set. It stops before a call "
                    "that could exceed it, and keeps its questions."
                )
        arguments: dict[str, Any] = {"index": index, "name": name, "limit": int(limit), "generator": generator}
        arguments |= {"passages": int(passages), "seed": int(seed)}
        with st.container(horizontal=True):
            wanted = st.form_submit_button("Generate", type="primary")
            estimated = generator == "model" and st.form_submit_button("Estimate calls and cost")
        if wanted and name:
            title = f"Generate {wording.counted(int(limit), 'question')}"
            job_panel.watch(jobs.submit(workspace, "questions", title, corpus.id, arguments | {"budget": dollars}))
            address.put(set=name)
            st.rerun()
    with right:
        if estimated and name:
            estimate(arguments)
        st.markdown("**Extractive** questions are made of key phrases and sentences of the text, without a model.")
        if workspace.settings.model_configured:
            st.markdown(
                f"**Model**: {plain(workspace.settings.model)} writes question and answer, about one call each."
            )
        else:
            st.caption("Set OPENAI_API_KEY or OPENAI_BASE_URL to have a model write them.")
        st.caption("Sampled evenly over the documents. What a question must not be is rejected, with the reason.")


def estimate(arguments: Mapping[str, Any]) -> None:
    """What a generation by the model would take."""
    with st.spinner("Looking which calls are paid for already"):
        told = generation.foresee_questions(workspace, **arguments)
    with st.grid(2, min_column_width=140):
        widgets.tile("Questions wanted", f"{told.questions:,}", "what the set has is not made again")
        widgets.forecast_tiles(told)
    st.caption("A chunk that gives no question costs one more call.")


@st.fragment(run_every=2)
def newest(corpus_id: str) -> None:
    """While questions are being made: the newest of them."""
    job = next((j for j in job_panel.active_jobs() if j.kind == "questions" and j.corpus_id == corpus_id), None)
    name = job.arguments["name"] if job else None
    asked = next((s for s in store.question_sets(corpus_id) if s.name == name), None)
    if job is None or asked is None:
        return
    with st.container(border=True):
        st.markdown(f"**{plain(job.title)}**, the newest first")
        for question in reversed(store.questions(asked.id)[-4:]):
            st.caption(f"{question.status}: {plain(question.text)}")


def bring_in(suggested: str) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("import", clear_on_submit=False):
        file = st.file_uploader("CSV, TSV or JSONL", type=["csv", "tsv", "jsonl", "ndjson", "json"])
        name = widgets.suggested_name("Into the set", "import-name", suggested)
        if st.form_submit_button("Import", type="primary") and file and name:
            with widgets.errors_shown():
                imported = import_questions(workspace, corpus, file.getvalue(), file.name, name)
                st.session_state["imported"] = (name, len(imported.questions), imported.problems, imported.notes)
                if imported.questions:
                    address.put(set=name, question=None)
                st.rerun()
    with right:
        st.markdown(FORMAT)


def bring_banks(asked: QuestionSet) -> None:
    """RAGQuestEval banks for the questions of a set: a judge asks those instead of making its own."""
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("import-banks", clear_on_submit=False):
        st.markdown(f"**RAGQuestEval banks** for {plain(asked.name)}")
        file = st.file_uploader("JSON", type=["json"], key="banks-file")
        if st.form_submit_button("Import banks") and file:
            with widgets.errors_shown():
                done = import_banks(workspace, asked, file.getvalue())
                st.session_state["imported-banks"] = (asked.name, len(done.banks), done.problems)
                st.rerun()
    with right:
        st.markdown(BANKS)


def banks_outcome() -> None:
    """What became of the last import of banks: how many, and why which were not taken."""
    if "imported-banks" not in st.session_state:
        return
    name, count, problems = st.session_state["imported-banks"]
    with st.container(border=True):
        st.markdown(f"**{wording.counted(count, 'bank')} kept for the questions of {plain(name)}**")
        if problems:
            st.markdown(f":orange[▲] {wording.counted(len(problems), 'item')} not taken")
            shown = pd.DataFrame({"Reason": problems})
            widgets.table(
                shown, "bank-problems", columns={"Reason": st.column_config.TextColumn(width="large")}, height=200
            )
        if st.button("Close", key="close-banks"):
            del st.session_state["imported-banks"]
            st.rerun()


def import_outcome() -> None:
    """What became of the last import: how many rows, and why which were not taken."""
    if "imported" not in st.session_state:
        return
    name, count, problems, notes = st.session_state["imported"]
    with st.container(border=True):
        st.markdown(f"**{wording.counted(count, 'question')} imported into {plain(name)}**")
        for note in notes:
            st.caption(plain(note))
        if problems:
            st.markdown(f":orange[▲] {wording.counted(len(problems), 'row')} not taken")
            shown = pd.DataFrame({"Row": list(problems), "Reason": list(problems.values())})
            widgets.table(shown, "problems", columns={"Reason": st.column_config.TextColumn(width="large")}, height=200)
        if st.button("Close", key="close-import"):
            del st.session_state["imported"]
            st.rerun()


def manage(asked: QuestionSet) -> None:
    with st.popover("Export…"):
        for ending, mime in (("csv", "text/csv"), ("jsonl", "application/x-ndjson")):
            st.download_button(
                ending.upper(), lambda ending=ending: export_questions(workspace, asked, ending),
                f"{asked.name}.{ending}", mime, key=f"export-{ending}", on_click="ignore",
            )  # fmt: skip
        st.caption("Importing the file gives the same questions.")
    if st.button("Delete…", type="tertiary", key="delete-set"):
        widgets.confirm(
            f"This deletes the set “{asked.name}” with {wording.counted(asked.total, 'question')}. Runs keep the "
            f"questions "
            "as they were asked." + job_panel.stops_jobs(),
            "Delete",
            lambda: (store.delete_question_set(asked.id), address.put(set=None, question=None, tab=None)),
        )


def question_to_edit(set_id: str, questions: Sequence[Question]) -> Question | None:
    """The question that the address says is being edited.

    When its set was deleted another came in its place, in which the address may name one too: that was not meant.
    """
    by_id = {q.id: q for q in questions}
    edited = address.readable("edit", by_id.get, "a question of this set")
    if edited is None:
        st.session_state.pop("edited-in", None)
    elif st.session_state.setdefault("edited-in", set_id) != set_id:
        address.put(edit=None)
        return None
    return edited


if frame.current_corpus() is None:
    unsaved.show_orphaned(store)
corpus = frame.need_corpus()
sets = store.question_sets(corpus.id)
names = {d.id: d.name for d in store.documents(corpus.id) if d.status == "ok"}
with heading.header("Questions", f"What is asked about {corpus.name}, with the answers and where they stand."):
    if sets:
        with st.container(width=280):
            chosen_set = address.choose("Question set", [s.name for s in sets], "set", within=("question", "edit"))
        asked = next(s for s in sets if s.name == chosen_set)
        manage(asked)
if not sets:
    address.chosen("set", [], noun="question set")
unsaved.show_orphaned(store)
import_outcome()
banks_outcome()
newest(corpus.id)
suggested = wording.free_name(f"{wording.short_name(corpus.name)}-questions", {s.name for s in store.question_sets()})
questions = store.questions(asked.id) if sets else []
edited = question_to_edit(asked.id if sets else "", questions)
if edited is not None:
    with widgets.errors_shown():
        question_editor.edit(corpus, asked, asked.name, edited)
    st.stop()
if sets:
    tiles(asked, questions, names)
    reviewing, making, writing, importing = address.choose_tab(
        ["Review", "Generate", "Write", "Import"], "questions-tab"
    )
    if reviewing.open:
        with reviewing, widgets.errors_shown():
            review(asked, questions, names)
else:
    st.markdown("No questions yet. Generate some from an index, write one, or import a file.")
    making, writing, importing = address.choose_tab(["Generate", "Write", "Import"], "questions-tab")
if making.open:
    with making, widgets.errors_shown():
        generate(suggested)
if writing.open:
    with writing, widgets.errors_shown():
        question_editor.edit(corpus, asked if sets else None, asked.name if sets else suggested, None)
if importing.open:
    with importing, widgets.errors_shown():
        bring_in(suggested)
        if sets:
            bring_banks(asked)
