"""Claims of an answer and of its reference: underlined where they are made, pressed to see what they rest on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from ragviz.core.verdict import Claim, ClaimVerdict, Matrix
from ragviz.judging.context import follows
from ragviz.judging.texts import sentences_of
from ragviz.text.markup import SIGNS, VERDICTS, MarkedSentence, plain
from ragviz.ui import address
from ragviz.ui.passages import Note, jumps, lit_in

Chosen = tuple[str, int]
"""Side and position of a claim: "a" of the answer, "r" of the reference; from 0."""
VERBS = {"supported": "supports", "together": "jointly supports", "contradicted": "contradicts"}
BY_OTHER = {
    "a": {
        "supported": ("✓", "in the reference"),
        "contradicted": ("✗", "contradicts the reference"),
        "absent": ("○", "not in the reference"),
    },
    "r": {
        "supported": ("✓", "in the answer"),
        "contradicted": ("≠", "the answer contradicts this"),
        "absent": ("○", "missing from the answer"),
    },
}
"""Side of a claim → verdict of the other text on it → its sign and its words.

A reference is what an answer is measured by: no sign says that it is wrong, where the answer says otherwise.
"""
SIDES = {"a": "answer", "r": "reference"}


def chosen_claim(matrix: Matrix) -> Chosen | None:
    """Return the claim in the address, None when there is no such claim."""

    def read(text: str) -> Chosen | None:
        match = re.fullmatch(r"([ar])([0-9]{1,3})", text)
        exists = match is not None and int(match[2]) < len(claims_of(matrix, match[1]))
        return (match[1], int(match[2])) if match is not None and exists else None

    return address.readable("claim", read, "a claim of this answer (a0, a1 …) or of its reference (r0, r1 …)")


def claims_of(matrix: Matrix, side: str) -> Sequence[Claim]:
    """Return the claims of a side; empty where none were extracted."""
    return (matrix.answer_claims if side == "a" else matrix.reference_claims) or ()


def by_passages(matrix: Matrix, side: str, place: int) -> str | None:
    """Return the verdict of all passages on a claim: supported when one supports it, or several do jointly."""
    if not (rows := _by_chunk(matrix, side)):
        return None
    if follows(rows[place]):
        return "supported"
    return "contradicted" if any(claim_verdict.verdict == "contradicted" for claim_verdict in rows[place]) else "absent"


def by_other(matrix: Matrix, side: str, place: int) -> ClaimVerdict | None:
    """Return the reference's verdict on a claim of the answer, or the answer's on one of the reference."""
    row = matrix.answer_by_reference if side == "a" else matrix.reference_by_answer
    return None if row is None else row[place]


def verdict_of(matrix: Matrix, side: str, place: int) -> str | None:
    """Return the verdict that underlines a claim: the passages' on the answer's, the answer's on the reference's."""
    other = by_other(matrix, side, place)
    verdicts = (by_passages(matrix, side, place), other.verdict if other else None)
    return next((v for v in (verdicts if side == "a" else verdicts[::-1]) if v), None)


def verdict_words(matrix: Matrix, side: str) -> dict[str, tuple[str, str]]:
    """Return the signs and the words of the verdicts that underline the claims of a side, by who gave them."""
    if side == "a":
        return BY_OTHER["a"] if matrix.answer_by_chunk is None else VERDICTS
    return VERDICTS if matrix.reference_by_answer is None else BY_OTHER["r"]


def said_in(text: str, matrix: Matrix, side: str, claim: Chosen | None) -> list[MarkedSentence]:
    """Return the sentences of answer or reference with their claims; those on the chosen claim are highlighted."""
    claims, marks = claims_of(matrix, side), []
    claim_verdict = by_other(matrix, *claim) if claim and claim[0] != side else None
    for place, (start, end) in enumerate(sentences_of(text)):
        own_claims = [n for n, each in enumerate(claims) if each.sentence == place]
        own = bool(claim) and claim is not None and claim[0] == side and claim[1] in own_claims
        lit = next((name for s, _, name in lit_in(text, claim_verdict) if s == start), "")
        verdicts = tuple((n + 1, verdict_of(matrix, side, n)) for n in own_claims)
        marks.append(MarkedSentence(start, end, verdicts, own, lit))
    return marks


def claim_buttons(matrix: Matrix, side: str, claim: Chosen | None) -> None:
    """Draw every claim with its verdicts; a press highlights what it rests on, a second press removes that."""
    claims = claims_of(matrix, side)
    if not claims:
        return
    st.caption(f"Claims of the {SIDES[side]}: press one to see what it rests on")
    with st.container(key=f"claims-{side}", gap="xxsmall"):
        for place, each in enumerate(claims):
            is_chosen, name = claim == (side, place), f"{side}{place}"
            if st.button(
                f"{place + 1} {plain(each.text)}", key=f"claim-{name}", width="stretch",
                type="primary" if is_chosen else "secondary", wrap=True,
            ):  # fmt: skip
                address.put(claim=None if is_chosen else name)
                st.session_state[_PRESSED] = None if is_chosen else (st.query_params.get("question"), name)
                st.rerun()
            st.caption(claim_words(matrix, side, place))
            if is_chosen:
                row = rows[place] if (rows := _by_chunk(matrix, side)) else ()
                of = [n for n, verdict in enumerate(row) if verdict.verdict != "absent"]
                if of:  # links to the card of every passage that supports or contradicts it
                    st.html(jumps([(matrix.chunks[n], f"passage {n + 1}") for n in of]))


def pressed(claim: Chosen) -> bool:
    """Return whether a claim was pressed on this page, and not opened by a link."""
    name = f"{claim[0]}{claim[1]}"
    return bool(st.session_state.get(_PRESSED) == (st.query_params.get("question"), name))


_PRESSED = "pressed-claim"


def claim_words(matrix: Matrix, side: str, place: int) -> str:
    """Return the verdicts on a claim in words, each with who gave it: first the one that underlines the claim."""
    other, verdict = by_other(matrix, side, place), by_passages(matrix, side, place)
    passages = "" if verdict is None else f"{SIGNS[verdict]} not supported by the passages"
    if verdict not in (None, "absent"):
        kinds = ("supported", "together") if verdict == "supported" else ("contradicted",)
        verdicts = [each.verdict for each in _by_chunk(matrix, side)[place]]
        numbers = [n for n, each in enumerate(verdicts, start=1) if each in kinds]
        jointly = "jointly " if verdict == "supported" and len(numbers) > 1 and "supported" not in verdicts else ""
        noun = "passage" if len(numbers) == 1 else "passages"
        passages = f"{SIGNS[verdict]} {jointly}{verdict} by {noun} {', '.join(map(str, numbers))}"
    words = [passages, " ".join(BY_OTHER[side][other.verdict]) if other else ""]
    return " · ".join(filter(None, words if side == "a" else words[::-1])) or "Not judged"


def _by_chunk(matrix: Matrix, side: str) -> Sequence[Sequence[ClaimVerdict]]:
    return (matrix.answer_by_chunk if side == "a" else matrix.reference_by_chunk) or ()


def passage_note(matrix: Matrix, place: int, claim: Chosen | None, badges: tuple[tuple[str, str], ...]) -> Note:
    """Return the judge's verdicts on a passage: useful or not, and its verdict on the chosen claim."""
    if matrix.useful is not None:
        badges = (("for", "✓ useful") if matrix.useful[place] else ("", "○ not useful"), *badges)
    if claim is None:
        return Note(badges)
    rows = _by_chunk(matrix, claim[0])
    claim_verdict = rows[claim[1]][place] if rows else None
    if claim_verdict and claim_verdict.verdict != "absent":
        verb = VERBS[claim_verdict.verdict]
        where = "" if claim_verdict.sentence is None else f", sentence {claim_verdict.sentence + 1}"
        name = "against" if claim_verdict.verdict == "contradicted" else "for"
        badges = (*badges, (name, f"{SIGNS[claim_verdict.verdict]} {verb} claim {claim[1] + 1}{where}"))
    return Note(badges, claim_verdict)
