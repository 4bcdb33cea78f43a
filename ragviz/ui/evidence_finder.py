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
from ragviz.text.markup import plain, shortened
from ragviz.ui import address, cache, passages, person, wording
from ragviz.ui.kit import heading, notices, table

FOUND = {"exact": "exact", "near": "near", "ambiguous": "ambiguous", "none": "not found"}
"""What was found → its name on the page."""
_SHOWN = 5  # places of a question at first
_HEAD = "rv-evidence-question"
_DECISIONS = "evidence-decisions"  # session state: how many; after each, the next question is brought into view


def show(corpus: Corpus, question_set: QuestionSet, questions: Sequence[Question], names: dict[str, str]) -> None:
    """Draw the questions of a set of which only the reference is known, with where their answers stand."""
    _outcome(question_set)
    pending = occurrences.reference_only(questions)
    if not pending:
        st.caption(
            "No question of this set is reference only: there is nothing to look for. The answers of questions that "
            "are imported without a quote are looked up here; evidence is marked by hand where a question is written."
        )
        address.link("questions", "Write a question and mark its evidence", tab="Write")
        return
    count = wording.counted(len(pending), "question")
    if not names:
        with notices.empty(f"{count} without evidence, and no document to look in."):
            address.link("documents", "Add documents")
        return
    texts_key = cache.state(corpus.id)
    known = st.session_state.setdefault("looked-up", {}).get(texts_key)
    if known is None:
        are = "question is" if len(pending) == 1 else "questions are"
        st.markdown(
            f"**{len(pending):,} {are} reference only**: no evidence is known. Their answers can be looked up in "
            f"{wording.counted(len(names), 'document')}: word for word, else in sentences with nearly the same words. "
            "You accept each place, or all that are certain."
        )
        if st.button("Look up the answers", type="primary", key="look-up"):
            st.session_state["looked-up"] = {texts_key: {}}
            st.rerun()
        return
    proposals = _proposals(corpus, texts_key, pending)
    _head(question_set, proposals, _rows(proposals, names))


def _proposals(corpus: Corpus, of: cache.State, pending: Sequence[Question]) -> list[Proposal]:
    """Return what was found for each question; those that were looked up before are not looked up again."""
    st.session_state["looked-up"] = {of: st.session_state["looked-up"].get(of, {})}  # of changed documents: forgotten
    known: dict[Question, Proposal] = st.session_state["looked-up"][of]
    fresh = [question for question in pending if question not in known]
    if fresh:
        with st.spinner("Looking up the answers"):
            documents = occurrences.texts_of(cache.workspace().store, corpus.id)
            known |= {found.question: found for found in occurrences.find(fresh, documents)}
    return occurrences.undeclined(cache.workspace().store, [known[question] for question in pending])


def _rows(proposals: Sequence[Proposal], names: dict[str, str]) -> pd.DataFrame:
    firsts = [proposal.places[0] if proposal.places else None for proposal in proposals]
    return pd.DataFrame(
        {
            "Question": [proposal.question.text for proposal in proposals],
            "Answer": [proposal.question.answer for proposal in proposals],
            "Found": [FOUND[proposal.outcome] for proposal in proposals],
            "Similarity": [first.alike if first else None for first in firsts],
            "Places": [proposal.count for proposal in proposals],
            "Document": [names.get(first.span.document_id, "") if first else "" for first in firsts],
            "Text": [markup.shortened(first.span.text, 200) if first else "" for first in firsts],
            "Doubt": [proposal.doubt for proposal in proposals],
            "Id": [proposal.question.id for proposal in proposals],
        }
    )


def _head(question_set: QuestionSet, proposals: Sequence[Proposal], rows: pd.DataFrame) -> None:
    """Draw the counts, what can be accepted together, the filter, the table, and one question beside it."""
    counts: Counter[str] = Counter(proposal.outcome for proposal in proposals)
    found = " · ".join(f"{counts[outcome]:,} {name}" for outcome, name in FOUND.items())
    are = "question is" if len(proposals) == 1 else "questions are"
    above = table.row_above("found-places", f"**{len(proposals):,} {are} reference only**: {found}")
    with above:
        certain = occurrences.certain(proposals, "exact")
        if certain and st.button(f"Accept all {len(certain):,} exact", type="primary", key="accept-exact"):
            _accept(question_set, [(p.question, p.places[:1]) for p in certain], None)
    outcome = address.choose_one("Found", {"all": "all", **FOUND}, "found")
    shown = [proposal for proposal in proposals if outcome in ("all", proposal.outcome)]
    if not shown:
        st.caption("No questions match the filter.")
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        shown_rows = rows[rows["Id"].isin({proposal.question.id for proposal in shown})]
        table.draw(
            shown_rows[["Question", "Found", *(name for name in rows if name not in ("Question", "Found"))]],
            "found-places",
            alt="Evidence found",
            above=above,
            file=f"{question_set.name}-evidence",
            saved=lambda: rows,
            columns={
                "Question": 270,
                "Found": 85,
                "Answer": 200,
                "Document": 150,
                "Text": 290,
                "Similarity": table.number(
                    written="%.2f",
                    help="Share of the answer's words that stand there, rare ones counting more; 1: all of them.",
                ),
            },
            among=list(shown_rows["Id"]),
            opened=lambda question_id: address.put(question=question_id),
            most=8,
            lines=2,
        )
    with right:
        _detail(question_set, shown)


def _detail(question_set: QuestionSet, proposals: Sequence[Proposal]) -> None:
    ids = [proposal.question.id for proposal in proposals]
    requested = st.query_params.get("question")
    place = ids.index(requested) if requested in ids else 0
    proposal, following = proposals[place], ids[place + 1] if place + 1 < len(ids) else None
    question = proposal.question
    with st.container(border=True):
        st.html(f'<div id="{_HEAD}"></div>')
        if decisions := st.session_state.get(_DECISIONS):
            heading.scroll_into_view(_HEAD, str(decisions))
        st.caption(f"{place + 1} of {len(ids)} · {FOUND[proposal.outcome]}")
        st.markdown(f"**{plain(question.text)}**")
        st.html(markup.highlighted(question.answer, language=question.language))
        if proposal.doubt:
            st.caption(f":orange[▲] Ambiguous: {plain(proposal.doubt)}.")
        with st.container(horizontal=True, gap="small"):
            several = proposal.places if proposal.places and proposal.places[0].how == "exact" else ()
            if len(several) > 1:
                label = f"Accept all {len(several):,} as alternatives"
                if st.button(label, key=f"alternatives-{question.id}", help="Any one of them suffices."):
                    _accept(question_set, [(question, several)], following)
            if proposal.places and st.button("Reject", shortcut="x", key=f"decline-{question.id}"):
                occurrences.decline(cache.workspace().store, question_set, question, proposal.places)
                _go_on(following)
            if st.button("Mark the evidence", shortcut="e", key=f"mark-{question.id}"):
                address.put(edit=question.id)
                st.rerun()
            if st.button("Next", shortcut="n", key="next-found", disabled=following is None):
                _go_on(following)
        if not proposal.places:
            st.caption(
                "The answer stands in no document, not even nearly. Mark its evidence by hand, or leave it reference "
                "only: its answer can still be judged."
            )
            return
        st.html(markup.legend([("gold", "found, to become the evidence")]))
        _places(question_set, proposal, following)


def _places(question_set: QuestionSet, proposal: Proposal, following: str | None) -> None:
    more = f"more-places-{proposal.question.id}"
    places = proposal.places if st.session_state.get(more) else proposal.places[:_SHOWN]
    for number, place in enumerate(places):
        with st.container(border=True, gap="xsmall"):
            _passage(question_set.corpus_id, place)
            shortcut = "a" if number == 0 else None
            if st.button("Accept", key=f"accept-place-{proposal.question.id}-{number}", shortcut=shortcut):
                _accept(question_set, [(proposal.question, [place])], following)
    if len(places) < len(proposal.places) and st.button(f":blue[Show all {len(proposal.places)}]", type="tertiary"):
        st.session_state[more] = True
        st.rerun()
    if proposal.count > len(proposal.places):
        st.caption(f"{proposal.count:,} places in all; the likeliest {len(proposal.places)} are listed.")


def _passage(corpus_id: str, place: Place) -> None:
    span, store = place.span, cache.workspace().store
    document = next(iter(store.documents.texts(corpus_id, [span.document_id])), None)
    if document is None:
        st.caption("This document was removed meanwhile.")
        return
    how = "word for word" if place.how == "exact" else f"{place.alike:.2f} of the answer's words"
    at = f"{span.start}-{span.end}"
    address.link("documents", f"{shortened(document.name, 60)} · {how}", document=document.name, at=at)
    st.html(passages.in_document(document, span))


def _accept(
    question_set: QuestionSet, chosen: Sequence[tuple[Question, Sequence[Place]]], following: str | None
) -> None:
    refused = question_verbs.accept_evidence(cache.workspace(), question_set, chosen, person.name())
    st.session_state["evidence-accepted"] = (question_set.id, len(chosen) - refused, refused)
    _go_on(following)


def _go_on(following: str | None) -> None:
    """Show the next question from its head on, so that nothing is accepted unseen."""
    st.session_state[_DECISIONS] = st.session_state.get(_DECISIONS, 0) + 1
    address.put(question=following)
    st.rerun()


def _outcome(question_set: QuestionSet) -> None:
    """Say once what the last press saved."""
    set_id, accepted, refused = st.session_state.pop("evidence-accepted", ("", 0, 0))
    if set_id == question_set.id and accepted:
        st.toast(f"Evidence accepted for {wording.counted(accepted, 'question')}.")
    if set_id == question_set.id and refused:
        st.warning(
            f"{wording.counted(refused, 'question')} changed by somebody else since shown: not saved. Review and "
            "accept again."
        )
