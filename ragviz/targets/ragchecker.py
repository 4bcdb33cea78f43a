"""RAGChecker's files: what is to be checked, or its results, with claims and verdicts as a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ValidationError, model_validator

from ragviz.core.errors import InputError
from ragviz.core.verdict import Claim, ClaimVerdict, Matrix, Verdict
from ragviz.targets.logged_item import Log, LoggedItem, Passage, gathered
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable


class _Passage(BaseModel):
    """A passage; one that is a text only has no id."""

    doc_id: str | int = ""
    text: str

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, given: object) -> object:
        return {"text": given} if isinstance(given, str) else given


_VERDICTS: Mapping[str, Verdict] = {"entailment": "supported", "neutral": "absent", "contradiction": "contradicted"}


def _read_verdict(label: object) -> Verdict:
    verdict = _VERDICTS.get(str(label).strip().lower())
    if verdict is None:
        raise ValueError(f"there is no verdict {label!r}: there are Entailment, Neutral and Contradiction")
    return verdict


_Verdict = Annotated[Verdict, BeforeValidator(_read_verdict)]


class _Result(BaseModel):
    """One result of RAGChecker: claims as triples or sentences, and its verdicts on them; none before it checked."""

    query_id: str | int
    query: str
    gt_answer: str | None = None
    response: str | None = None
    retrieved_context: list[_Passage] = []
    response_claims: list[list[str] | str] | None = None
    gt_answer_claims: list[list[str] | str] | None = None
    answer2response: list[_Verdict] | None = None
    response2answer: list[_Verdict] | None = None
    retrieved2response: list[list[_Verdict]] | None = None
    retrieved2answer: list[list[_Verdict]] | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_verdicts_on_nothing(cls, given: object) -> object:
        """Take away the claims of an answer that is not there, and the verdicts on them."""
        if not isinstance(given, dict) or str(given.get("response") or "").strip():
            return given
        return {name: value for name, value in given.items() if name not in _OF_RESPONSES}

    @model_validator(mode="after")
    def _as_many_verdicts_as_claims(self) -> Self:
        passages = [(passage.doc_id, passage.text) for passage in self.retrieved_context]
        if len(set(passages)) < len(passages):
            raise ValueError("retrieved_context holds the same passage twice")
        for name, of in _VERDICTS_ON.items():
            verdicts, claims = getattr(self, name), getattr(self, f"{of}_claims")
            if verdicts is not None and len(verdicts) != len(claims or ()):
                raise ValueError(f"{name} has {len(verdicts)} verdicts for {len(claims or ())} claims")
        for name in ("retrieved2response", "retrieved2answer"):
            if any(len(row) != len(self.retrieved_context) for row in getattr(self, name) or ()):
                raise ValueError(f"{name} must have a verdict for each of {len(self.retrieved_context)} passages")
        return self


_VERDICTS_ON = {
    "answer2response": "response",
    "response2answer": "gt_answer",
    "retrieved2response": "response",
    "retrieved2answer": "gt_answer",
}
"""List of verdicts → the text whose claims they are on."""
_OF_RESPONSES = ("response_claims", "answer2response", "response2answer", "retrieved2response")


def read(data: bytes, name: str) -> Log:
    """Read RAGChecker's input or output: a JSON object with "results", in its output with claims and verdicts.

    Raises:
        InputError: the file cannot be read, or holds no readable result.

    """
    try:
        rows = list(parsed(data.decode("utf-8-sig"))["results"])
    except (ValueError, KeyError, TypeError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        raise InputError(
            f"{name} is no file of RAGChecker: a JSON object with a list of 'results' is needed{why}."
        ) from None
    made = ((f"Result {number}", partial(_item, row)) for number, row in enumerate(rows, start=1))
    return gathered(made, name, "ragchecker")


def _item(given: object) -> LoggedItem:
    """Return one result; ValueError says why it cannot be read."""
    if is_deep(given):
        raise ValueError(f"its lists or objects are nested more than {NESTED} deep")
    try:
        row = _Result.model_validate(storable(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place + ': ' if place else ''}{first['msg']}") from None
    passages = tuple(Passage(passage.text, str(passage.doc_id)) for passage in row.retrieved_context)
    judged = any(getattr(row, name) is not None for name in _VERDICTS_ON)
    matrix = _matrix(row) if judged else None
    return LoggedItem(str(row.query_id), row.query, row.gt_answer or "", row.response, passages, matrix)


def _matrix(row: _Result) -> Matrix:
    by_chunk = _rows(row.retrieved2answer)
    places = range(len(row.retrieved_context))
    useful = None if not by_chunk else tuple(any(v[n].verdict == "supported" for v in by_chunk) for n in places)
    return Matrix(
        chunks=tuple(map(str, places)),
        answer_claims=_claims(row.response_claims),
        reference_claims=_claims(row.gt_answer_claims),
        answer_by_chunk=_rows(row.retrieved2response),
        reference_by_chunk=by_chunk,
        answer_by_reference=None if row.answer2response is None else tuple(map(ClaimVerdict, row.answer2response)),
        reference_by_answer=None if row.response2answer is None else tuple(map(ClaimVerdict, row.response2answer)),
        useful=useful,
    )


def _rows(verdicts: list[list[Verdict]] | None) -> tuple[tuple[ClaimVerdict, ...], ...] | None:
    return None if verdicts is None else tuple(tuple(map(ClaimVerdict, row)) for row in verdicts)


def _claims(claims: list[list[str] | str] | None) -> tuple[Claim, ...] | None:
    if claims is None:
        return None
    return tuple(Claim(claim if isinstance(claim, str) else " ".join(claim)) for claim in claims)
