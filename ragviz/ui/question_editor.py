"""The editor of a question: its words, and its evidence, which is marked or quoted in the documents' text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from ragviz.core.document import Corpus, Document, DocumentInfo, Span
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.question_set import QuestionSet
from ragviz.questions import authoring, occurrences, sets
from ragviz.questions.question_types import STYLE_TITLES, TYPE_TITLES
from ragviz.service import question_verbs
from ragviz.store.schema import version_of
from ragviz.text import markup
from ragviz.text.former_documents import UNKNOWN
from ragviz.text.markup import plain, shortened
from ragviz.ui import address, cache
from ragviz.ui.kit import acting, heading, notices
from ragviz.ui.marking import text_to_mark
from ragviz.ui.unsaved import Draft, discard, draft_of, put_in, targets_of

PART = 12_000
"""Characters of a document that are shown at once."""


def edit(corpus: Corpus, question_set: QuestionSet | None, set_name: str, question: Question | None) -> None:
    """Draw the editor of `question`, or of a new one; saving returns to the list of questions."""
    name = f"draft-{question_set.id}-{question.id}" if question_set and question else f"draft-{corpus.id}-new"
    draft = draft_of(name, question)
    infos = [info for info in cache.workspace().store.documents.all(corpus.id) if info.status == "ok"]
    names = {info.id: info.name for info in infos}
    left, right = st.columns([2, 3], gap="medium")
    with right:
        _documents(corpus, draft, infos, name)
    with left:
        draft.text = st.text_area("Question", draft.text, key=f"{name}/text", height=80, persist_state="session")
        draft.answer = st.text_area("Answer", draft.answer, key=f"{name}/answer", height=100, persist_state="session")
        one, two = st.columns(2)
        types: tuple[QuestionType, ...] = get_args(QuestionType)
        styles: tuple[QuestionStyle, ...] = get_args(QuestionStyle)
        draft.type = one.selectbox(
            "Type", types, types.index(draft.type), key=f"{name}/type", format_func=TYPE_TITLES.__getitem__,
            persist_state="session",
        )  # fmt: skip
        draft.style = two.selectbox(
            "Style", styles, styles.index(draft.style), key=f"{name}/style", format_func=STYLE_TITLES.__getitem__,
            persist_state="session",
        )  # fmt: skip
        _evidence(corpus, draft, names, name)
        if question is None:
            created = "" if question_set else ", which will be created"
            st.caption(f"It will be saved into the set “{plain(set_name)}”{created}.")
        with st.container(horizontal=True):
            save = st.button("Save", type="primary", key=f"{name}/save", disabled=acting.off())
            if st.button("Discard question" if question is None else "Cancel", key=f"{name}/leave"):
                discard(name)
                address.put(edit=None)
                st.rerun()
        if save:
            with notices.errors_shown():
                _save(corpus, question_set, draft, set_name, name)


def _evidence(corpus: Corpus, draft: Draft, names: dict[str, str], name: str) -> None:
    heading.section("Evidence")
    if not draft.groups:
        st.caption(
            "None yet: mark it in the document with the mouse, or quote it; a question may need several passages, of "
            "several documents. Without evidence its ranking is not measured."
        )
        draft.unanswerable = st.checkbox(
            "The documents do not answer it", draft.unanswerable, key=f"{name}/unanswerable",
            help="An answer other than a refusal is wrong then. Without a reference answer this is assumed.",
            persist_state="session",
        )  # fmt: skip
    for g, group in enumerate(draft.groups, start=1):
        with st.container(border=True, gap="xsmall"):
            several = f" of {len(draft.groups)}, all needed" if len(draft.groups) > 1 else ""
            st.caption(f"Passage {g}{several}" + (" · any one of these alternatives" if len(group) > 1 else ""))
            for m, span in enumerate(group, start=1):
                _piece(corpus, draft, names, name, (g, m), span)
    if draft.groups:
        st.caption("Where the question needs another passage, of this document or another one, mark that too.")


def _piece(corpus: Corpus, draft: Draft, names: dict[str, str], name: str, place: tuple[int, int], span: Span) -> None:
    (g, m), store = place, cache.workspace().store
    with st.container(horizontal=True, vertical_alignment="center"):
        former = {} if span.document_id in names else store.documents.names(corpus.id, [span.document_id])
        where = (names | former).get(span.document_id, UNKNOWN)
        st.caption(f":orange[▲ Stale]: was in {plain(where)}" if span.stale else plain(where), width="stretch")
        help_text = "Shows it in the document."
        if not span.stale and st.button("Show", type="tertiary", key=f"{name}/show-{g}-{m}", help=help_text):
            draft.focus = span
            st.rerun()
        if st.button("Remove", type="tertiary", key=f"{name}/remove-{g}-{m}"):
            draft.groups[g - 1].remove(span)
            draft.groups = [group for group in draft.groups if group]
            st.rerun()
    st.html(markup.highlighted(span.text, [] if span.stale else [(0, len(span.text))], fold=200))
    if span.stale and span.document_id in names:
        [document] = store.documents.texts(corpus.id, [span.document_id])
        _offer(draft, occurrences.proposals(document, span.text), f"for {g}.{m}", f"{name}/offer-{g}-{m}")
    elif span.stale:
        _offer(draft, _anywhere(corpus, span.text), f"for {g}.{m}", f"{name}/offer-{g}-{m}", names)


@cache.kept(64, "Searching the documents")
def _anywhere(corpus: Corpus, text: str) -> list[occurrences.Place]:
    return occurrences.proposals_anywhere(cache.workspace().store, corpus.id, text)


def _offer(
    draft: Draft, proposals: Sequence[occurrences.Place], target: str, key: str, names: Mapping[str, str] | None = None
) -> None:
    for number, proposal in enumerate(proposals):
        how = "Exact match" if proposal.how == "exact" else f"Similar: {proposal.alike:.0%} of the words"
        if names is not None:
            how += f" in {plain(names.get(proposal.span.document_id, 'another document'))}"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{how}: “{plain(shortened(proposal.span.text, 160))}”", width="stretch")
            if proposal.how == "near":
                st.caption(":orange[▲] Other words: check the answer.")
            if st.button("Use", key=f"{key}-{number}"):
                put_in(draft, proposal.span, target)
                st.rerun()


def _documents(corpus: Corpus, draft: Draft, infos: Sequence[DocumentInfo], name: str) -> None:
    if not infos:
        with notices.empty("The corpus has no readable document to mark evidence in."):
            address.link("documents", "Add documents")
        return
    names, ids = [info.name for info in infos], [info.id for info in infos]
    _open_focus(draft, ids, names, name)
    one, two = st.columns(2)
    chosen = one.selectbox("Document", names, key=f"{name}/document")
    targets = targets_of(draft)
    if st.session_state.get(f"{name}/target") not in targets:
        st.session_state[f"{name}/target"] = next(iter(targets))
    target = two.selectbox(
        "Use the selection as", list(targets), key=f"{name}/target", format_func=targets.__getitem__,
        help="All passages are needed to answer the question; of a passage and its alternatives any one is enough.",
    )  # fmt: skip
    document = cache.workspace().store.documents.get(corpus.id, ids[names.index(chosen)])
    _quote(draft, document, target, name)
    _text_of(draft, document, target, name)


def _open_focus(draft: Draft, ids: Sequence[str], names: Sequence[str], name: str) -> None:
    """Switch to the document of the span that was chosen last, at first to that of the first span."""
    spans = [span for group in draft.groups for span in group if span.document_id in ids]
    first = f"{name}/document" not in st.session_state
    focus = draft.focus or (spans[0] if first and spans else None)
    if focus is None or focus == st.session_state.get(f"{name}/seen") or focus.document_id not in ids:
        return
    draft.focus = None if focus.stale else focus
    st.session_state[f"{name}/seen"] = focus
    st.session_state[f"{name}/document"] = names[ids.index(focus.document_id)]
    st.session_state.pop(f"{name}/part", None)


def _quote(draft: Draft, document: Document, target: str, name: str) -> None:
    with st.form(f"{name}/quote", border=False, enter_to_submit=True):
        one, two = st.columns([5, 1], vertical_alignment="bottom")
        quote = one.text_input(
            "Quote", key=f"{name}/quoted", placeholder="Select text below with the mouse, or paste a quote"
        )
        find = two.form_submit_button("Find")
    if not quote.strip():
        return
    proposals = occurrences.proposals(document, quote)
    if find and len(proposals) == 1 and proposals[0].how == "exact":
        put_in(draft, proposals[0].span, target)
        st.rerun()
    if not proposals:
        st.caption(f":orange[▲] No exact or similar match in {plain(document.name)}.")
    elif len(proposals) > 1 or proposals[0].how == "near":
        _offer(draft, proposals, target, f"{name}/found")


def _text_of(draft: Draft, document: Document, target: str, name: str) -> None:
    parts = markup.parts(document.text, PART)
    focus = draft.focus if draft.focus and draft.focus.document_id == document.id else None
    at = next((n for n, (s, e) in enumerate(parts, start=1) if focus and s <= focus.start < e), 1)
    part = 1
    if len(parts) > 1:
        part = st.pagination(
            len(parts), default=at, key=f"{name}/part-{document.id}-{at}-{focus.start if focus else 0}"
        )
    spans = [span for group in draft.groups for span in group if span.document_id == document.id and not span.stale]
    marks = [(span.start, span.end, "gold") for span in spans]
    marks += [(focus.start, focus.end, "focus")] if focus else []
    place = text_to_mark(document, parts[part - 1], marks, f"{name}/text-of")
    if place is not None:
        with notices.errors_shown():
            put_in(draft, authoring.marked(document, *place), target)
            st.rerun()


def _save(corpus: Corpus, question_set: QuestionSet | None, draft: Draft, set_name: str, name: str) -> None:
    """Save the draft; a question that somebody else changed meanwhile is replaced when it is saved again."""
    try:
        more: dict[str, Any] = {"unanswerable": draft.unanswerable, "question_type": draft.type, "style": draft.style}
        if draft.question is None or question_set is None:
            saved = authoring.written(draft.text, draft.answer, draft.evidence, **more)
            question_set = question_set or sets.question_set(cache.workspace(), corpus, set_name)
            question_verbs.add(cache.workspace(), question_set, saved)
        else:
            words: dict[str, Any] = {"text": draft.text, "answer": draft.answer, "evidence": draft.evidence}
            saved = authoring.changed(draft.question, **words, **more)
            question_verbs.save(cache.workspace(), question_set, saved, draft.version, "edited a question")
    except authoring.Conflict as conflict:
        st.error(plain(f"{conflict} Your version is kept: save again to replace theirs, or cancel."))
        if conflict.current is not None:
            draft.question, draft.version = conflict.current, version_of(conflict.current)
        return
    discard(name)
    address.put(edit=None, set=question_set.name, question=saved.id, tab="Review")
    st.toast("Saved")
    st.rerun()
