from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES
from ragviz.judging import banks
from ragviz.models import spending
from ragviz.questions import authoring, generation
from ragviz.questions.question_types import STYLE_TITLES, TYPE_TITLES
from ragviz.questions.sets import export_questions, import_banks, import_questions
from ragviz.questions.sets import question_set as question_set_of
from ragviz.questions.synthesize import GENERATORS
from ragviz.records import SIDES, IndexInfo, Question, QuestionSet
from ragviz.store.codecs import version_of
from ragviz.text import markup
from ragviz.text.markup import plain
from ragviz.ui import (
    address,
    budget,
    cache,
    evidence_finder,
    frame,
    heading,
    job_panel,
    passages,
    question_editor,
    split_tab,
    unsaved,
    widgets,
    wording,
)

STATUSES = ("proposed", "accepted", "rejected", "quarantined")
SHOWN = ("all", *STATUSES, "stale")  # stale: with evidence whose text is gone
FORMAT = """One question a row, as CSV or JSONL: `question`, `answer`, and the location of its evidence, as one of

- `document` and `quote`: words that occur there once; line breaks, widths and kinds of quotation marks may differ
- `document`, `start` and `end`: characters of the parsed text
- `chunk_id`
- `evidence`: a JSON list of such locations, when a question needs several

A row with an answer and no evidence is reference only: its answer can be judged, its ranking cannot be measured. One
with neither is unanswerable, and so is one marked `unanswerable` or `is_impossible`. The answer may also be called
`ground_truth`, `ground_truth_answer`, `expected_answer`, `reference_answer` or `reference`. Other columns are reported
and ignored."""

BANKS = f"""The public format: `{banks.SHAPE}`

The id is a question's id. The lists have equal lengths: key information, the question about it, and its answer from
the reference ("无法推断" where the reference does not answer it). Runs judged afterwards use these questions."""

NO_EVIDENCE = {
    "reference": "Reference only: where its answer stands in the documents is not known.",
    "unanswerable": "Unanswerable: the documents do not answer it.",
}
UNASKED = "(no question could be generated from this chunk)"

unsaved.keep()
workspace = frame.begin()
store = workspace.store


# The set


def tiles(question_set: QuestionSet, questions: Sequence[Question], names: dict[str, str]) -> None:
    by_status = Counter(q.status for q in questions)
    not_rejected = [q for q in questions if q.asked]
    by_kind = Counter(q.kind for q in not_rejected)
    covered = {s.document_id for q in not_rejected for group in q.evidence for s in group}
    stale = sum(map(is_stale, questions))
    makers = ", ".join(sorted({wording.MAKERS.get(q.generator, q.generator) for q in questions}))
    note = f"{stale} with stale evidence" if stale else makers
    if question_set.split:
        by_side = [f"{question_set.sides.get(side, 0):,} {side}" for side in SIDES]
        neither = question_set.sides.get("", 0)
        note = " · ".join([*by_side, *([f"{neither:,} on neither side"] if neither else []), note])
    calls, paid = store.paid(question_set.id)
    note += f" · {calls:,} model calls, {spending.dollars(paid)} paid" if calls else ""
    judged = f"{by_status['proposed']}\u00a0proposed, {by_status['rejected']}\u00a0rejected"
    counted = [f"{by_kind[kind]:,} {words}" for kind, words in KIND_TITLES.items() if by_kind[kind]]
    kinds = " · ".join(words.replace(" ", "\u00a0") for words in counted)
    with widgets.tiles():
        widgets.tile("Questions", f"{len(questions):,}", plain(note))
        widgets.tile("Accepted", f"{by_status['accepted']:,}", judged)
        widgets.tile("Documents covered", f"{len(covered & names.keys()):,}", f"of {len(names):,}")
        widgets.tile("With evidence", f"{by_kind['single'] + by_kind['multi']:,}", kinds)


def rows_of(questions: Sequence[Question], names: dict[str, str]) -> pd.DataFrame:
    def documents(question: Question) -> str:
        spans = [s for group in question.evidence for s in group]
        return ", ".join(dict.fromkeys(names.get(s.document_id, "(deleted)") for s in spans))

    return pd.DataFrame(
        {
            "Question": [q.text or UNASKED for q in questions],
            "Status": [q.status for q in questions],
            "Kind": [KIND_TITLES[q.kind] if q.text else "" for q in questions],
            **({"Type": [TYPE_TITLES[q.type] for q in questions]} if any(q.type for q in questions) else {}),
            **({"Style": [STYLE_TITLES[q.style] for q in questions]} if any(q.style for q in questions) else {}),
            **({"Side": [q.split for q in questions]} if question_set.split else {}),
            "Document": [documents(q) for q in questions],
            "Answer": [q.answer for q in questions],
            "Reason": [q.reason for q in questions],
            "Generator": [q.generator for q in questions],
            "Id": [q.id for q in questions],
        }
    )


# Review


def review(question_set: QuestionSet, questions: Sequence[Question], names: dict[str, str]) -> None:
    filtered_questions = filtered(question_set, questions)
    address.readable("question", address.one_of({q.id for q in questions}), "a question of this set")
    rows = rows_of(filtered_questions, names)
    with widgets.above_table("questions"):
        filters = [st.query_params.get(name, "") for name in ("status", "side", "type", "style", "find")]
        filters = [part for part in filters if part not in ("", "all")]
        words = f"{len(filtered_questions)} of {wording.counted(len(questions), 'question')}"
        st.markdown(plain(words + (f" · filter: {', '.join(filters)}" if filters else "")), width="stretch")
        switched = address.bound("in-table", False, {"true": True, "false": False}.get, "true or false")
        in_table = st.toggle("Edit in the table", **switched)
        widgets.table_button(rows, question_set.name, "questions-shown")
    editing = unsaved.being_edited(question_set)
    if not filtered_questions and not (in_table and editing):
        st.caption("No questions match the filter.")
        return
    if in_table:
        edit_table(question_set, filtered_questions)
        return
    if editing:
        st.caption(":orange[▲] Your changes in the table are not saved yet: they are kept there.")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        pick(filtered_questions, rows)
    with right:
        detail(question_set, filtered_questions)


def filtered(question_set: QuestionSet, questions: Sequence[Question]) -> list[Question]:
    """Return the questions that pass the filters of the address: status, side of the split, words; rejected ones last.

    The side is asked for where the set has a split.
    """
    widths = [6, 2, 2] if question_set.split else [3, 2]  # five statuses are whole at 1024
    left, *sides, right = st.columns(widths, vertical_alignment="bottom")
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
    words = find.casefold()
    matches = [q for q in questions if words in q.text.casefold() or words in q.answer.casefold()]
    if sides:
        with sides[0]:
            side = split_tab.choose_filter()
        matches = [q for q in matches if split_tab.passes(q, side)]
    matches = of_type_and_style(questions, matches)
    kept = [q for q in matches if status in ("all", q.status) or (status == "stale" and is_stale(q))]
    return sorted(kept, key=lambda q: not q.asked)


def of_type_and_style(questions: Sequence[Question], matches: list[Question]) -> list[Question]:
    """Return the matches of the type and style chosen; each is asked for where questions of the set have one."""
    named = {"type": ("Any type", TYPE_TITLES), "style": ("Any style", STYLE_TITLES)}
    said = {name: {getattr(q, name) for q in questions} for name in named}
    offered = {name: [key for key in named[name][1] if key and key in said[name]] for name in named}
    offered = {name: keys for name, keys in offered.items() if keys}
    if not offered:
        return matches
    for column, (name, keys) in zip(st.columns([2, 2, 6]), offered.items(), strict=False):
        with column:
            titles = {"": named[name][0]} | {key: named[name][1][key].capitalize() for key in keys}
            chosen = address.bound(name, "", address.one_of(keys), f"one of {', '.join(keys)}")
            value = st.selectbox(
                name.capitalize(), list(titles), format_func=titles.__getitem__, label_visibility="collapsed", **chosen
            )
        matches = [q for q in matches if value in ("", getattr(q, name))]
    return matches


def is_stale(question: Question) -> bool:
    return any(span.stale for group in question.evidence for span in group)


def pick(filtered_questions: Sequence[Question], rows: pd.DataFrame) -> None:
    def opened() -> None:
        address.put(question=widgets.selected(st.session_state["questions"], [q.id for q in filtered_questions]))

    widths = {"Question": 285, "Status": 78, "Kind": 108, "Document": 165, "Answer": 290, "Reason": 200}
    columns = {name: st.column_config.TextColumn(width=width) for name, width in widths.items()}  # status too at 1024
    height = widgets.height_of(len(rows), 8, widgets.TWO_LINES)
    widgets.table(
        rows, "questions", columns=columns, on_select=opened, height=height, row_height=widgets.TWO_LINES,
        alt="Questions",
    )  # fmt: skip


def detail(question_set: QuestionSet, filtered_questions: Sequence[Question]) -> None:
    """Draw one question with its evidence, and the buttons to accept, reject or edit it."""
    ids = [q.id for q in filtered_questions]
    requested = st.query_params.get("question")
    place = ids.index(requested) if requested in ids else 0
    question = filtered_questions[place]
    warn_if_replaced(question)
    version = version_of(question)
    following = ids[place + 1] if place + 1 < len(ids) else ids[place]
    with st.container(border=True):
        st.caption(
            f"{place + 1} of {len(ids)} · {question.status} · {KIND_TITLES[question.kind]} · "
            f"{f'{question.split} · ' if question.split else ''}"
            f"{plain(wording.MAKERS.get(question.generator, question.generator))}"
        )
        st.markdown(f"**{plain(question.text or UNASKED)}**")
        st.html(markup.highlighted(question.answer or "(no answer given)", language=question.language))
        if question.reason:
            st.caption(f"Rejected: {plain(question.reason)}")
        with st.container(horizontal=True, gap="small"):
            # Keyed by question and version: a click on what was on the screen never applies to what replaced it.
            done, key = question.status == "accepted" or not question.text, f"{question.id}-{version}"
            if st.button("Accept", shortcut="a", key=f"accept-{key}", disabled=done):
                decide(question_set, replace(question, status="accepted", reason=""), following, version)
            if st.button("Reject", shortcut="x", key=f"reject-{key}", disabled=question.status == "rejected"):
                decide(
                    question_set, replace(question, status="rejected", reason="rejected by hand"), following, version
                )
            if st.button("Fix evidence" if is_stale(question) else "Edit", shortcut="e", key="edit"):
                address.put(edit=question.id)
                st.rerun()
            if st.button("Next", shortcut="n", key="next", disabled=following == question.id):
                address.put(question=following)
                st.rerun()
        if question.evidence:
            st.html(markup.legend([("gold", "evidence")]))
            with st.container(height=300, border=False):
                passages.evidence_groups(question_set.corpus_id, question)
        else:
            st.caption(NO_EVIDENCE[question.kind] if question.text else "Source chunk:")
            passages.source_chunks(question_set.corpus_id, question)


def warn_if_replaced(question: Question) -> None:
    """Warn when a decision was pressed for a question that is no longer shown, or has changed."""
    key = f"{question.id}-{version_of(question)}"
    before, st.session_state["shown-question"] = st.session_state.get("shown-question", key), key
    if before == key or not any(st.session_state.get(f"{verb}-{before}") for verb in ("accept", "reject")):
        return
    changed = before.startswith(f"{question.id}-")
    what = "The question was changed by somebody else since it was shown" if changed else "Another question is shown"
    st.warning(f"{what}: nothing was saved. Review it, and decide again.")


def decide(question_set: QuestionSet, question: Question, following: str, version: str) -> None:
    """Save a decision on the question that was shown, unless it has changed."""
    try:
        authoring.save(store, question_set, question, version)
    except authoring.Conflict as conflict:
        st.warning(plain(f"{conflict} Review it, and decide again."))
        return
    address.put(question=following)
    st.rerun()


def edit_table(question_set: QuestionSet, filtered_questions: Sequence[Question]) -> None:
    """Draw questions, answers and statuses as a table to edit; nothing is written until *Save* is pressed."""
    columns = {
        "Question": st.column_config.TextColumn(width=335, required=True),
        "Answer": st.column_config.TextColumn(width=290),
        "Status": st.column_config.SelectboxColumn(options=STATUSES, required=True),
    }
    table = unsaved.table_of(question_set, filtered_questions, names)
    rows = rows_of(table.rows, names)
    editable = ["Question", "Answer", "Status", "Reason"]
    fixed = [name for name in rows.columns if name not in editable]
    st.data_editor(
        rows.map(lambda cell: markup.visible(cell)), key=table.key, hide_index=True, disabled=fixed,
        column_config=columns, column_order=[*editable, *fixed], height=widgets.height_of(len(rows), 14),
    )  # fmt: skip
    unsaved.keep()
    changed = table.changed
    with st.container(horizontal=True):
        if st.button(f"Save {wording.counted(len(changed), 'change')}", type="primary", disabled=not changed):
            unsaved.save(store, table)
            st.rerun()
        if changed and st.button("Discard changes", key="discard-edits"):
            unsaved.discard(question_set)
            st.rerun()
    unsaved.show_refused(question_set)


# New questions


def generate(suggested: str) -> None:
    indexes = [i for i in store.indexes(corpus.id) if i.build]
    if not indexes:
        with widgets.nothing("Questions are generated from the chunks of an index, and there is none yet."):
            address.link("index", "Build an index")
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:  # outside the form: the number of questions depends on it
        names = [i.name for i in indexes]
        widgets.still_there("generate-from", names, "index")
        first = names.index(address.chosen("index", names) or names[0])
        source = indexes[names.index(st.selectbox("Source index", names, index=first, key="generate-from"))]
    with left, st.form("generate"):
        arguments, dollars = generation_choices(source, suggested)
        name, by_model = arguments["name"], arguments["generator"] == "model"
        with st.container(horizontal=True):
            chosen = {key: value for key, value in arguments.items() if key != "name"}
            going = job_panel.active_job("questions", corpus.id, **chosen) is not None
            pressed = st.form_submit_button(
                "Generating…" if going else "Generate", type="primary", disabled=going, key="generate-questions"
            )
            estimate_pressed = by_model and st.form_submit_button("Estimate calls and cost")
        if pressed and name:
            question_set_of(workspace, corpus, name)  # the page shows it while its questions are written
            title = f"Generate {wording.counted(arguments['limit'], 'question')}"
            job_panel.submit("questions", title, corpus.id, arguments | {"budget": dollars})
            address.put(set=name)
            st.rerun()
    with right:
        if estimate_pressed and name:
            estimate(arguments)
        explain_generators()


def generation_choices(source: IndexInfo, suggested: str) -> tuple[dict[str, Any], float | None]:
    """Draw the choices of a generation, and return the arguments of its job and the budget."""
    generators = [g for g in GENERATORS if g == "extractive" or workspace.settings.model_configured]
    generator = st.selectbox("Generator", generators, index=len(generators) - 1)
    one, two, three = st.columns(3, vertical_alignment="bottom")
    most = max(1, source.chunks)
    limit = one.number_input("Number of questions", 1, 100_000, min(50, most), 10, key=f"generate-limit-{most}")
    passages = two.selectbox("Passages per question", [1, 3])
    seed = three.number_input("Seed", 0, 2**31 - 1, 0)
    st.caption(f"At most one question is made from each chunk; {plain(source.name)} has {source.chunks:,}.")
    one, two = st.columns([2, 1])
    with one:
        name = widgets.suggested_name(
            "Set name", "generate-name", suggested, "A new name, or an existing set to add to.",
            used_by="generate-questions",
        )  # fmt: skip
    dollars = None
    if workspace.settings.model_configured:
        with two:
            dollars = budget.field(
                "Of the generator “model”, for all questions ever generated into the set. It stops before a call "
                "that could exceed it, and keeps its questions."
            )
    arguments: dict[str, Any] = {"index": source.name, "name": name, "limit": int(limit), "generator": generator}
    return arguments | {"passages": int(passages), "seed": int(seed)}, dollars


def explain_generators() -> None:
    st.markdown("**Extractive** questions are made of key phrases and sentences of the text, without a model.")
    if workspace.settings.model_configured:
        st.markdown(f"**Model**: {plain(workspace.settings.model)} writes question and answer, about one call each.")
    else:
        st.caption("Set OPENAI_API_KEY or OPENAI_BASE_URL to have a model write them.")
    st.caption("Sampled evenly over the documents. Unsuitable questions are rejected, with the reason.")


def estimate(arguments: Mapping[str, Any]) -> None:
    """Draw the estimate of a generation by the model."""
    with st.spinner("Counting calls"):
        forecast = generation.foresee_questions(workspace, **arguments)
    with st.grid(2, min_column_width=140):
        widgets.tile("Questions to generate", f"{forecast.questions:,}", "those of the set are kept")
        widgets.forecast_tiles(forecast)
    st.caption("A chunk that yields no question costs one more call.")


@st.fragment(run_every=2)
def newest(corpus_id: str) -> None:
    """Draw the newest questions while they are being generated."""
    job = next((j for j in job_panel.active_jobs() if j.kind == "questions" and j.corpus_id == corpus_id), None)
    name = job.arguments["name"] if job else None
    question_set = next((s for s in store.question_sets(corpus_id) if s.name == name), None)
    if job is None or question_set is None:
        return
    with st.container(border=True):
        st.markdown(f"**{plain(job.title)}**, the newest first")
        written = store.questions(question_set.id)[-4:]
        for question in reversed(written):
            st.caption(f"{question.status}: {plain(question.text or UNASKED)}")
        if not written:
            st.caption("The first questions appear here as they are written.")


def generated(set_name: str | None) -> None:
    """Draw the outcome of the newest generation, if it is into the set that is shown.

    It says how many questions were made, why not all that were asked for, and what is next.
    """
    job = job_panel.finished_job("questions", corpus.id)
    if job is None or "proposed" not in job.result or job.result["questions"] != set_name:
        return
    result = job.result
    made = f"**{wording.counted(result['proposed'], 'question')} generated into {plain(result['questions'])}**"
    with st.container(border=True):
        rejected = f", {result['rejected']:,} rejected" if result["rejected"] else ""
        st.markdown(f"{made}{rejected}. They can be reviewed, or run as they are.")
        if missing := generation.shortfall(result):
            st.markdown(f":orange[▲] {plain(missing)}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            address.link("questions", "Review the questions", set=result["questions"], tab="Review")
            if st.button("Close", key="close-generated", type="tertiary"):
                job_panel.dismiss(job)
                st.rerun()


def next_step(question_set: QuestionSet) -> None:
    """Draw what comes after questions: a run, or the index that it needs; the newest index when none was asked for."""
    if not question_set.total:
        return
    indexes = [info for info in store.indexes(corpus.id) if info.build]
    kind = "secondary" if store.runs(corpus.id) else "primary"
    label = "Next: make a run" if indexes else "Next: build an index"
    if st.button(label, type=kind, key="next-step"):  # type: ignore[arg-type]
        if not indexes:
            address.go_to("index", corpus=corpus.name)
        job = job_panel.finished_job("questions", corpus.id)
        used = job.arguments["index"] if job and job.result.get("questions") == question_set.name else None
        name = used if used in {info.name for info in indexes} else None
        address.go_to("run", corpus=corpus.name, index=name, set=question_set.name)


def bring_in(suggested: str) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("import", clear_on_submit=False):
        file = st.file_uploader("CSV, TSV or JSONL", type=["csv", "tsv", "jsonl", "ndjson", "json"])
        name = widgets.suggested_name("Set name", "import-name", suggested, used_by="import-questions")
        if st.form_submit_button("Import", type="primary", key="import-questions") and file and name:
            with widgets.errors_shown():
                imported = import_questions(workspace, corpus, file.getvalue(), file.name, name)
                st.session_state["imported"] = (name, imported)
                if imported.questions:
                    st.session_state.pop("import-name-suggested", None)
                    address.put(set=name, question=None)
                st.rerun()
    with right:
        st.markdown(FORMAT)


def bring_banks(question_set: QuestionSet) -> None:
    """Draw the import of RAGQuestEval banks for the questions of a set, which a judge uses instead of its own."""
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("import-banks", clear_on_submit=False):
        st.markdown(f"**RAGQuestEval banks** for {plain(question_set.name)}")
        file = st.file_uploader("JSON", type=["json"], key="banks-file")
        if st.form_submit_button("Import banks") and file:
            with widgets.errors_shown():
                imported = import_banks(workspace, question_set, file.getvalue())
                st.session_state["imported-banks"] = (question_set.name, len(imported.banks), imported.problems)
                st.rerun()
    with right:
        st.markdown(BANKS)


def banks_outcome() -> None:
    """Draw the outcome of the last import of banks, with the items that were skipped and why."""
    if "imported-banks" not in st.session_state:
        return
    name, count, problems = st.session_state["imported-banks"]
    with st.container(border=True):
        st.markdown(f"**{wording.counted(count, 'bank')} imported for the questions of {plain(name)}**")
        if problems:
            st.markdown(f":orange[▲] {wording.counted(len(problems), 'item')} skipped")
            rows = pd.DataFrame({"Reason": problems})
            reasons(rows, "bank-problems")
        if st.button("Close", key="close-banks"):
            del st.session_state["imported-banks"]
            st.rerun()


def reasons(rows: pd.DataFrame, key: str) -> None:
    """Draw why parts of a file were skipped, whole sentences in two lines."""
    columns = {"Row": st.column_config.NumberColumn(width=60), "Reason": st.column_config.TextColumn(width="large")}
    height = widgets.height_of(len(rows), 4, widgets.TWO_LINES)
    widgets.table(rows, key, columns=columns, height=height, row_height=widgets.TWO_LINES)


def import_outcome() -> None:
    """Draw the outcome of the last import, with the rows that were skipped and why."""
    if "imported" not in st.session_state:
        return
    name, imported = st.session_state["imported"]
    problems = imported.problems
    with st.container(border=True):
        st.markdown(f"**{wording.counted(len(imported.questions), 'question')} imported into {plain(name)}**")
        if imported.warning:
            st.markdown(f":orange[▲] {plain(imported.warning)}")
            if st.button("Find their evidence in the documents", type="primary", key="find-imported"):
                st.session_state["looked-up"] = {cache.state(corpus.id): {}}  # it was asked for
                address.put(set=name, tab="Find evidence", question=None)
                del st.session_state["imported"]
                st.rerun()
        for note in filter(None, (imported.unanswerable, *imported.notes)):
            st.caption(plain(note))
        if problems:
            st.markdown(f":orange[▲] {wording.counted(len(problems), 'row')} skipped")
            rows = pd.DataFrame({"Row": list(problems), "Reason": list(problems.values())})
            reasons(rows, "problems")
        if st.button("Close", key="close-import"):
            del st.session_state["imported"]
            st.rerun()


def manage(question_set: QuestionSet) -> None:
    with st.popover("Export…"):
        for ending, mime in (("csv", "text/csv"), ("jsonl", "application/x-ndjson")):
            st.download_button(
                ending.upper(), lambda ending=ending: export_questions(workspace, question_set, ending),
                f"{question_set.name}.{ending}", mime, key=f"export-{ending}", on_click="ignore",
            )  # fmt: skip
        st.caption("Importing the file restores the same questions.")
    if st.button("Delete…", type="tertiary", key="delete-set"):
        widgets.confirm(
            f"This deletes the set “{question_set.name}” with {wording.counted(question_set.total, 'question')}. Runs "
            "keep the questions as they were asked." + job_panel.stops_jobs(),
            "Delete",
            lambda: (store.delete_question_set(question_set.id), address.put(set=None, question=None, tab=None)),
        )


def question_to_edit(set_id: str, questions: Sequence[Question]) -> Question | None:
    """Return the question that is being edited according to the address, None when there is none.

    When its set was deleted, another set is shown in its place; a question of the same id in it was not meant.
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
with heading.header("Questions", f"Questions about {corpus.name} with reference answers and evidence."):
    if sets:
        with st.container(width=280):
            chosen_set = address.choose("Question set", [s.name for s in sets], "set", within=("question", "edit"))
        question_set = next(s for s in sets if s.name == chosen_set)
        manage(question_set)
        next_step(question_set)
if not sets:
    address.chosen("set", [], noun="question set")
unsaved.show_orphaned(store)
generated(question_set.name if sets else None)
import_outcome()
banks_outcome()
newest(corpus.id)
suggested = wording.free_name(f"{wording.short_name(corpus.name)}-questions", {s.name for s in store.question_sets()})
questions = store.questions(question_set.id) if sets else []
edited = question_to_edit(question_set.id if sets else "", questions)
if edited is not None:
    with widgets.errors_shown():
        question_editor.edit(corpus, question_set, question_set.name, edited)
    st.stop()
if sets:
    tiles(question_set, questions, names)
    reviewing, making, writing, importing, finding, splitting = address.choose_tab(
        ["Review", "Generate", "Write", "Import", "Find evidence", "Split"], "questions-tab"
    )
    if splitting.open:
        with splitting, widgets.errors_shown():
            split_tab.show(question_set, questions)
    if finding.open:
        with finding, widgets.errors_shown():
            evidence_finder.show(corpus, question_set, questions, names)
    if reviewing.open:
        with reviewing, widgets.errors_shown():
            review(question_set, questions, names)
else:
    st.markdown("No questions yet. Generate some from an index, write one, or import a file.")
    making, writing, importing = address.choose_tab(["Generate", "Write", "Import"], "questions-tab")
if making.open:
    with making, widgets.errors_shown():
        generate(suggested)
if writing.open:
    with writing, widgets.errors_shown():
        question_editor.edit(corpus, question_set if sets else None, question_set.name if sets else suggested, None)
if importing.open:
    with importing, widgets.errors_shown():
        bring_in(suggested)
        if sets:
            bring_banks(question_set)
