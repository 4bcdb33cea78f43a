from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES
from ragviz.core.question import SIDES, Question
from ragviz.core.question_set import QuestionSet
from ragviz.questions import without_model
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import (
    address,
    asked_tab,
    cache,
    evidence_finder,
    frame,
    generation_tab,
    import_tab,
    job_panel,
    question_editor,
    review_tab,
    split_tab,
    versions_tab,
    wording,
)
from ragviz.ui.kit import acting, heading, notices, tiles

workspace = frame.begin()
store = workspace.store


@cache.kept(16)
def figures(question_set: QuestionSet) -> tuple[dict[str, int], frozenset[str], int, str]:
    """Return of the questions that a run asks: each kind's number, documents with evidence, stale ones, makers."""
    asked = [q for q in cache.questions_in(question_set) if q.asked]
    documents = frozenset(span.document_id for q in asked for span in q.spans)
    makers = ", ".join(sorted({wording.MAKERS.get(q.generator, q.generator) for q in asked}))
    return dict(Counter(q.kind for q in asked)), documents, sum(map(review_tab.is_stale, asked)), makers


def set_tiles(question_set: QuestionSet, names: dict[str, str]) -> None:
    by_status = Counter(question_set.counts)
    kinds, covered, stale, makers = figures(question_set)
    by_kind = Counter(kinds)
    note = f"{stale} with stale evidence" if stale else makers
    if question_set.asked < question_set.total:
        note = f"{question_set.asked:,} asked · {note}"
    if question_set.split:
        by_side = [f"{question_set.sides.get(side, 0):,} {side}" for side in SIDES]
        neither = question_set.sides.get("", 0)
        note = " · ".join([*by_side, *([f"{neither:,} on neither side"] if neither else []), note])
    judged = ", ".join(
        f"{by_status[status]:,}\u00a0{status}"
        for status in ("proposed", "rejected", "quarantined")
        if by_status[status] or status != "quarantined"
    )
    counted = [f"{by_kind[kind]:,} {words}" for kind, words in KIND_TITLES.items() if by_kind[kind]]
    told = " · ".join(words.replace(" ", "\u00a0") for words in counted)
    with tiles.row():
        tiles.tile("Questions", f"{question_set.total:,}", plain(note))
        tiles.tile("Accepted", f"{by_status['accepted']:,}", judged)
        tiles.tile("Documents covered", f"{len(covered & names.keys()):,}", f"of {len(names):,}")
        tiles.tile("With evidence", f"{by_kind['single'] + by_kind['multi']:,}", told)


def free_name() -> str:
    """Return a name for another set of the corpus; to be called where one is made: it counts all questions."""
    return wording.free_name(f"{wording.short_name(corpus.name)}-questions", {s.name for s in store.sets.all()})


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


corpus = frame.need_corpus()
sets = store.sets.all(corpus.id)
names = {d.id: d.name for d in store.documents.all(corpus.id) if d.status == "ok"}
with heading.header("Questions", f"Questions about {corpus.name} with reference answers and evidence."):
    if sets:
        within = ("question", "edit")
        chosen_set = address.choose("Question set", [s.name for s in sets], "set", within=within, width=280)
        question_set = next(s for s in sets if s.name == chosen_set)
        import_tab.export(question_set)
        if st.button("Delete…", type="tertiary", key="delete-set", disabled=acting.off()):
            notices.confirm(
                f"This deletes the set “{question_set.name}” with {wording.counted(question_set.total, 'question')}. "
                "Runs keep the questions as they were asked." + job_panel.stops_jobs(),
                "Delete",
                lambda: (
                    question_verbs.delete(workspace, question_set),
                    address.put(set=None, question=None, tab=None),
                ),
            )
        built = any(info.build for info in store.indexes.all(corpus.id))
        label, page = ("Next: make a run", "run") if built else ("Next: build an index", "index")
        kind: Literal["primary", "secondary"] = "secondary" if store.runs.all(corpus.id) else "primary"
        if question_set.total and st.button(label, type=kind, key="next-step"):
            address.go_to(page, corpus=corpus.name, set=question_set.name)
if not sets:
    address.chosen("set", [], noun="question set")
import_tab.outcome(corpus, question_set.name if sets else "")
generation_tab.newest(corpus.id)
questions = cache.questions_in(question_set) if sets else []
edited = question_to_edit(question_set.id if sets else "", questions)
if edited is not None:
    with notices.errors_shown():
        question_editor.edit(corpus, question_set, question_set.name, edited)
    st.stop()
if sets:
    set_tiles(question_set, names)
    if limits := without_model.words([question.generator for question in questions if question.asked]):
        st.caption(plain(limits))
else:
    st.markdown("No questions yet. Generate some from an index, write one, or import a file.")
TABS: dict[str, Callable[[], object]] = {  # in order; those of `NEEDS_SET` need a question set
    "Review": lambda: review_tab.show(question_set, questions, store.documents.names(corpus.id)),
    "Generate": lambda: generation_tab.show(corpus, free_name()),
    "Write": lambda: question_editor.edit(
        corpus, question_set if sets else None, question_set.name if sets else free_name(), None
    ),
    "Import": lambda: import_tab.show(corpus, free_name()),
    "Find evidence": lambda: evidence_finder.show(corpus, question_set, questions, names),
    "Split": lambda: split_tab.show(question_set, questions),
    "Real questions": lambda: asked_tab.show(corpus, question_set),
    "Versions": lambda: versions_tab.show(question_set),
}
NEEDS_SET = ("Review", "Find evidence", "Split", "Real questions", "Versions")
NEEDS_QUESTIONS = ("Review", "Find evidence", "Split")
SHOW_GENERATED = ("Review", "Generate")  # what the newest generation made


def drawn(tab: str) -> None:
    if tab in SHOW_GENERATED:
        generation_tab.outcome(corpus, question_set.name if sets else None)
    if tab in NEEDS_QUESTIONS and not question_set.total:
        with notices.empty(f"{plain(question_set.name)} has no questions yet."):
            for label, name in (("Generate some", "Generate"), ("Write one", "Write"), ("Import a file", "Import")):
                address.link("questions", label, set=question_set.name, tab=name)
            address.link("questions", "Take them from what people asked", set=question_set.name, tab="Real questions")
    else:
        TABS[tab]()


shown = [name for name in TABS if sets or name not in NEEDS_SET]
notices.tabs({name: partial(drawn, name) for name in shown}, "questions-tab")
