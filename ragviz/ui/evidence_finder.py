"""The search for the evidence of questions that name none: what was found for each, to be accepted or rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.core.document import Corpus
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.questions import occurrences
from ragviz.questions.occurrences import Place, Proposal
from ragviz.service import question_verbs
from ragviz.text import markup
from ragviz.text.markup import plain
from ragviz.ui import address, cache, passages, wording
from ragviz.ui.kit import acting, heading, notices, table

FOUND = {"exact": "exact", "near": "near", "ambiguous": "ambiguous", "none": "not found"}
_HEAD = "rv-evidence-question"
_DECISIONS = "evidence-decisions"  # session state: how many; after each, the next question is brought into view
_LOOKED_UP = "looked-up"  # session state: what was found for questions, by the state of the documents


def show(corpus: Corpus, question_set: QuestionSet, questions: Sequence[Question], names: dict[str, str]) -> None:
    """Draw the questions of a set of which only the reference is known, with where their answers stand."""
    pending = occurrences.reference_only(questions)
    count = wording.counted(len(pending), "question")
    if not pending:
        st.caption("No question of this set is reference only: there is nothing to look for.")
        address.link("questions", "Write a question and mark its evidence", tab="Write")
        return
    if not names:
        with notices.empty(f"{count} without evidence, and no document to look in."):
            address.link("documents", "Add documents")
        return
    st.caption(
        "Answers are looked up in the documents: word for word, else in sentences with nearly the same words. You "
        "accept each place, or all that are certain."
    )
    of, looked_up = cache.state(corpus.id), st.session_state.get(_LOOKED_UP, {})
    known: dict[Question, Proposal] = looked_up.get(of, {})
    st.session_state[_LOOKED_UP] = {of: known}
    if fresh := [question for question in pending if question not in known]:
        with st.spinner("Looking up the answers"):
            documents = occurrences.texts_of(cache.workspace().store, corpus.id)
            known |= {found.question: found for found in occurrences.find(fresh, documents)}
    _list(question_set, [known[question] for question in pending], names)


def _list(question_set: QuestionSet, proposals: Sequence[Proposal], names: dict[str, str]) -> None:
    counts: Counter[str] = Counter(proposal.outcome for proposal in proposals)
    found = " · ".join(f"{counts[outcome]:,} {name}" for outcome, name in FOUND.items())
    above = table.row_above("found-places", f"**{wording.counted(len(proposals), 'question')}**: {found}")
    with above:
        certain = occurrences.certain(proposals, "exact")
        if certain and st.button(
            f"Accept all {len(certain):,} exact", type="primary", key="accept-exact", disabled=acting.off()
        ):
            _accept(question_set, [(p.question, p.places[:1]) for p in certain], None)
    outcome = address.choose_one("Found", {"all": "all", **FOUND}, "found")
    shown = [proposal for proposal in proposals if outcome in ("all", proposal.outcome)]
    if not shown:
        st.caption("No questions match the filter.")
        return
    firsts = [proposal.places[0] if proposal.places else None for proposal in shown]
    rows = pd.DataFrame(
        {
            "Question": [proposal.question.text for proposal in shown],
            "Found": [FOUND[proposal.outcome] for proposal in shown],
            "Answer": [proposal.question.answer for proposal in shown],
            "Document": [names.get(first.span.document_id, "") if first else "" for first in firsts],
            "Text": [markup.shortened(first.span.text, 200) if first else "" for first in firsts],
            "Places": [len(proposal.places) for proposal in shown],
            "Doubt": [proposal.doubt for proposal in shown],
            "Id": [proposal.question.id for proposal in shown],
        }
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        table.draw(
            rows,
            "found-places",
            alt="Evidence found",
            above=above,
            file=f"{question_set.name}-evidence",
            columns={"Question": 270, "Found": 85, "Answer": 200, "Document": 150, "Text": 290},
            among=list(rows["Id"]),
            opened=lambda question_id: address.put(question=question_id),
            most=8,
            lines=2,
        )
    with right, st.container(border=True):
        _detail(question_set, shown)


def _detail(question_set: QuestionSet, proposals: Sequence[Proposal]) -> None:
    ids = [proposal.question.id for proposal in proposals]
    requested = st.query_params.get("question")
    at = ids.index(requested) if requested in ids else 0
    proposal, following = proposals[at], ids[at + 1] if at + 1 < len(ids) else None
    question, places = proposal.question, proposal.places
    st.html(f'<div id="{_HEAD}"></div>')
    if decisions := st.session_state.get(_DECISIONS):
        heading.scroll_into_view(_HEAD, str(decisions))
    doubt = f" · {plain(proposal.doubt)}" if proposal.doubt else ""
    st.caption(f"{at + 1} of {len(ids)} · {FOUND[proposal.outcome]}{doubt}")
    st.markdown(f"**{plain(question.text)}**")
    st.html(markup.highlighted(question.answer, language=question.language))
    with st.container(horizontal=True, gap="small"):
        if len(places) > 1 and places[0].how == "exact":
            label, explained = f"Accept all {len(places):,} as alternatives", "Any one of them suffices."
            if st.button(label, key=f"alternatives-{question.id}", help=explained):
                _accept(question_set, [(question, places)], following)
        if st.button("Mark the evidence", shortcut="e", key=f"mark-{question.id}"):
            address.put(edit=question.id)
            st.rerun()
        if st.button("Next", shortcut="n", key="next-found", disabled=following is None):
            _go_on(following)
    if not places:
        st.caption(
            "The answer stands in no document, not even nearly. Mark its evidence by hand, or leave it reference only: "
            "its answer can still be judged."
        )
        return
    _places(question_set, proposal, following)


def _places(question_set: QuestionSet, proposal: Proposal, following: str | None) -> None:
    question, places = proposal.question, proposal.places
    documents = {each.span.document_id for each in places}
    texts = {d.id: d for d in cache.workspace().store.documents.texts(question_set.corpus_id, [*documents])}
    for number, place in enumerate(places):
        span = place.span
        if span.document_id in texts:
            with st.container(border=True, gap="xsmall"):
                how = "word for word" if place.how == "exact" else f"{place.alike:.2f} of the answer's words"
                name = texts[span.document_id].name
                label = f"{markup.shortened(name, 60)} · {how}"
                address.link("documents", label, document=name, at=f"{span.start}-{span.end}")
                st.html(passages.in_document(texts[span.document_id], span))
                shortcut = "a" if number == 0 else None
                if st.button(
                    "Accept", key=f"accept-place-{question.id}-{number}", shortcut=shortcut, disabled=acting.off()
                ):
                    _accept(question_set, [(question, [place])], following)


def _accept(
    question_set: QuestionSet, chosen: Sequence[tuple[Question, Sequence[Place]]], following: str | None
) -> None:
    refused = question_verbs.accept_evidence(cache.workspace(), question_set, chosen)
    st.toast(f"Evidence accepted for {wording.counted(len(chosen) - refused, 'question')}.")
    if refused:
        st.toast(f"{wording.counted(refused, 'question')} changed by somebody else since shown: not saved.")
    _go_on(following)


def _go_on(following: str | None) -> None:
    """Show the next question from its head on, so that nothing is accepted unseen."""
    st.session_state[_DECISIONS] = st.session_state.get(_DECISIONS, 0) + 1
    address.put(question=following)
    st.rerun()
