"""RAGChecker's claims and verdicts on them, as a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, PlainValidator, ValidationError

from ragviz.core.verdict import Claim, ClaimVerdict, Matrix, Verdict
from ragviz.text.untrusted import first_fault

_VERDICTS: Mapping[str, Verdict] = {"entailment": "supported", "neutral": "absent", "contradiction": "contradicted"}


def _read_verdict(label: object) -> ClaimVerdict:
    verdict = _VERDICTS.get(str(label).strip().lower())
    if verdict is None:
        raise ValueError(f"there is no verdict {label!r}: there are Entailment, Neutral and Contradiction")
    return ClaimVerdict(verdict)


def _read_claim(claim: object) -> Claim:
    words = claim if isinstance(claim, list) else [claim]
    if not all(isinstance(each, str) for each in words):
        raise ValueError("a claim is a sentence, or a list of texts")
    return Claim(" ".join(map(str, words)))


_Row = tuple[Annotated[ClaimVerdict, PlainValidator(_read_verdict)], ...]
_Claims = tuple[Annotated[Claim, PlainValidator(_read_claim)], ...]


class _Verdicts(BaseModel):
    """RAGChecker's claims, as triples or sentences, and its verdicts on them; None where it did not check."""

    response_claims: _Claims | None = None
    gt_answer_claims: _Claims | None = None
    answer2response: _Row | None = None
    response2answer: _Row | None = None
    retrieved2response: tuple[_Row, ...] | None = None
    retrieved2answer: tuple[_Row, ...] | None = None


_VERDICTS_ON = {
    "answer2response": "response",
    "response2answer": "gt_answer",
    "retrieved2response": "response",
    "retrieved2answer": "gt_answer",
}
"""List of verdicts → the text whose claims they are on."""
_OF_RESPONSES = ("response_claims", "answer2response", "response2answer", "retrieved2response")


def matrix_of(row: Mapping[str, Any], passages: int, *, answered: bool) -> Matrix | None:
    """Return the verdicts of a row on that many `passages`, None where it has none; none on an answer that is not.

    Raises:
        ValueError: there are not as many verdicts as claims or passages, or there is no such verdict.

    """
    given = {name: value for name, value in row.items() if answered or name not in _OF_RESPONSES}
    if not any(given.get(name) is not None for name in _VERDICTS_ON):
        return None
    try:
        found = _Verdicts.model_validate(given)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from None
    for name, of in _VERDICTS_ON.items():
        verdicts, claims = getattr(found, name), getattr(found, f"{of}_claims")
        if verdicts is not None and len(verdicts) != len(claims or ()):
            raise ValueError(f"{name} has {len(verdicts)} verdicts for {len(claims or ())} claims")
    for name in ("retrieved2response", "retrieved2answer"):
        if any(len(each) != passages for each in getattr(found, name) or ()):
            raise ValueError(f"{name} must have a verdict for each of {passages} passages")
    by_chunk, places = found.retrieved2answer, range(passages)
    useful = None if not by_chunk else tuple(any(v[n].verdict == "supported" for v in by_chunk) for n in places)
    return Matrix(
        chunks=tuple(map(str, places)),
        answer_claims=found.response_claims,
        reference_claims=found.gt_answer_claims,
        answer_by_chunk=found.retrieved2response,
        reference_by_chunk=by_chunk,
        answer_by_reference=found.answer2response,
        reference_by_answer=found.response2answer,
        useful=useful,
    )
