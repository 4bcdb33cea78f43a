"""RAGChecker's results: its claims and verdicts as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ValidationError, model_validator

from ragviz.core.errors import InputError
from ragviz.core.question import LONGEST_ID
from ragviz.core.verdict import Claim, ClaimVerdict, Matrix, Verdict
from ragviz.runs.formats import ForeignAnswer, ForeignRun
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable


class _Passage(BaseModel):
    doc_id: str | int = ""
    text: str


_VERDICTS: Mapping[str, Verdict] = {"entailment": "supported", "neutral": "absent", "contradiction": "contradicted"}


def _read_verdict(label: object) -> Verdict:
    verdict = _VERDICTS.get(str(label).strip().lower())
    if verdict is None:
        raise ValueError(f"there is no verdict {label!r}: there are Entailment, Neutral and Contradiction")
    return verdict


_Verdict = Annotated[Verdict, BeforeValidator(_read_verdict)]


class _Checked(BaseModel):
    """One result of RAGChecker: claims as triples or sentences, and its verdicts on them."""

    query_id: str | int
    query: str
    gt_answer: str
    response: str
    retrieved_context: list[_Passage] = []
    response_claims: list[list[str] | str]
    gt_answer_claims: list[list[str] | str]
    answer2response: list[_Verdict]
    response2answer: list[_Verdict]
    retrieved2response: list[list[_Verdict]]
    retrieved2answer: list[list[_Verdict]]

    @model_validator(mode="after")
    def _as_many_verdicts_as_claims(self) -> Self:
        claims = {"response": len(self.response_claims), "gt_answer": len(self.gt_answer_claims)}
        lists: list[tuple[str, Sequence[object], str]] = [
            ("answer2response", self.answer2response, "response"),
            ("response2answer", self.response2answer, "gt_answer"),
            ("retrieved2response", self.retrieved2response, "response"),
            ("retrieved2answer", self.retrieved2answer, "gt_answer"),
        ]
        for name, verdicts, of in lists:
            if len(verdicts) != claims[of]:
                raise ValueError(f"{name} has {len(verdicts)} verdicts for {claims[of]} claims")
        if (size := len(str(self.query_id))) > LONGEST_ID:
            raise ValueError(f"query_id has {size:,} characters: at most {LONGEST_ID} can be kept")
        passages = [(passage.doc_id, passage.text) for passage in self.retrieved_context]
        if len(set(passages)) < len(passages):
            raise ValueError("retrieved_context holds the same passage twice")
        for name, rows in (
            ("retrieved2response", self.retrieved2response),
            ("retrieved2answer", self.retrieved2answer),
        ):
            if any(len(row) != len(self.retrieved_context) for row in rows):
                raise ValueError(f"{name} must have a verdict for each of {len(self.retrieved_context)} passages")
        return self


def read(data: bytes, name: str) -> ForeignRun:
    """Read RAGChecker's output (a JSON object with "results", claims and verdicts among them), without any model.

    Raises:
        InputError: the file cannot be read, or holds no readable result.

    """
    try:
        rows = list(parsed(data.decode("utf-8-sig"))["results"])
    except (ValueError, KeyError, TypeError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        raise InputError(
            f"{name} is no output of RAGChecker: a JSON object with a list of 'results' is needed{why}."
        ) from None
    answers: dict[str, ForeignAnswer] = {}
    problems: list[str] = []
    for number, row in enumerate(rows, start=1):
        if is_deep(row):
            problems.append(f"Result {number}: its lists or objects are nested more than {NESTED} deep.")
            continue
        try:
            answer = _checked(_Checked.model_validate(storable(row)))
            if answers.setdefault(answer.id, answer) is not answer:
                problems.append(f"Result {number}: there is a result with the id '{answer.id}' before it.")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            problems.append(f"Result {number}: {place + ': ' if place else ''}{first['msg']}.")
    if not answers:
        raise InputError(f"{name} holds no result that can be read. {' '.join(problems[:3])}")
    return ForeignRun(tuple(answers.values()), tuple(problems))


def _checked(row: _Checked) -> ForeignAnswer:
    by_chunk = [tuple(map(ClaimVerdict, verdicts)) for verdicts in row.retrieved2answer]
    useful = tuple(
        any(verdicts[place].verdict == "supported" for verdicts in by_chunk)
        for place in range(len(row.retrieved_context))
    )
    matrix = Matrix(
        chunks=tuple(map(str, range(len(row.retrieved_context)))),
        answer_claims=tuple(map(_claim, row.response_claims)),
        reference_claims=tuple(map(_claim, row.gt_answer_claims)),
        answer_by_chunk=tuple(tuple(map(ClaimVerdict, verdicts)) for verdicts in row.retrieved2response),
        reference_by_chunk=tuple(by_chunk),
        answer_by_reference=tuple(map(ClaimVerdict, row.answer2response)),
        reference_by_answer=tuple(map(ClaimVerdict, row.response2answer)),
        useful=useful,
    )
    passages = tuple((str(passage.doc_id), passage.text) for passage in row.retrieved_context)
    return ForeignAnswer(str(row.query_id), row.query, row.gt_answer, row.response, passages, matrix)


def _claim(claim: list[str] | str) -> Claim:
    return Claim(claim if isinstance(claim, str) else " ".join(claim))
