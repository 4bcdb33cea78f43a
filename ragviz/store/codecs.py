"""Records to rows and JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.core.digests import digest
from ragviz.core.document import DocumentInfo
from ragviz.core.question import Question
from ragviz.core.recording import Context
from ragviz.core.span import Evidence, Span
from ragviz.core.split import Side
from ragviz.core.verdict import EvaluatedAnswer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter


Cuts: TypeAlias = "NDArray[np.int32]"
"""The chunks of one document: shape (n, 3), columns start, end, tokens, in document order."""

T = TypeVar("T")


def record(kind: type[T], row: Row[Any], **more: Any) -> T:
    """Return a record, a dataclass, of the columns of a row that are its fields, and `more` fields."""
    values = row._mapping
    return kind(**{name: values[name] for name in _fields_of(cast(Any, kind)) if name in values}, **more)


def columns(record: Any, table: sa.Table) -> dict[str, Any]:
    """Return the fields of a record, a dataclass, that are columns of a table."""
    return {name: getattr(record, name) for name in _fields_of(cast(Any, type(record))) if name in table.c}


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def corpus_hash(documents: Iterable[DocumentInfo]) -> str:
    """Return the digest of a corpus's readable documents, in any order."""
    return digest(*sorted(d.id for d in documents if d.status == "ok"))


def questions_hash(questions: Iterable[Question]) -> str:
    """Return the digest of a run's questions: texts, answers, evidence and marks, in order."""
    return digest(
        *(
            json.dumps([q.id, q.text, q.answer, _evidence_rows(q.evidence), q.unanswerable, q.history])
            for q in questions
        )
    )


def question_to_json(question: Question) -> str:
    """Encode a question as one line of JSON, for `question_from_json`; what is not set is left out.

    Its side of a split is not part of it: its set has that in a column.
    """
    values = {each.name: value for each in _STORED if (value := getattr(question, each.name)) != each.default}
    return json.dumps(values | {"evidence": _evidence_rows(question.evidence)}, ensure_ascii=False)


_STORED = tuple(field for field in fields(Question) if field.name != "split")


class StoredQuestion(NamedTuple):
    """A question with the columns that it was decoded from."""

    body: str
    split: str
    question: Question


def question(body: str, split: Side | Literal[""]) -> Question:
    """Return the question of a row, with its side of the split of its set."""
    values = _question_values(body)
    values["split"] = split
    return Question(**values)


def version_of(question: Question) -> str:
    """Return the name of a question's version, equal for equal questions."""
    return digest(question_to_json(question))


def question_from_json(body: str) -> Question:
    """Decode what `question_to_json` wrote."""
    return Question(**_question_values(body))


def _question_values(body: str) -> dict[str, Any]:
    """Return the fields of a stored question; lists are built rather than generated: a set may have 100,000."""
    values: dict[str, Any] = json.loads(body)
    values["evidence"] = tuple([tuple([Span(*span) for span in group]) for group in values["evidence"]])
    for name in ("source_chunks", "parts"):
        if name in values:
            values[name] = tuple(values[name])
    if "history" in values:
        values["history"] = tuple([(asked, answered) for asked, answered in values["history"]])
    return values


@cache
def _evaluated_type() -> TypeAdapter[EvaluatedAnswer]:
    from pydantic import TypeAdapter

    return TypeAdapter(EvaluatedAnswer)


_NO_QUESTION = '{"question":{"id":"","text":"","answer":"","evidence":[],"generator":""},'


def evaluated_to_json(evaluated: EvaluatedAnswer) -> str:
    """Encode an evaluated answer without its question, and without the texts that were read: their ids say where.

    Those of which only a part stands in a document are kept.
    """
    texts = {"contexts": {place: _left_out(each) for place, each in enumerate(evaluated.recording.contexts)}}
    return _evaluated_type().dump_json(evaluated, exclude={"question": True, "recording": texts}).decode()


def _left_out(context: Context) -> set[str]:
    """Return the fields of a context that are not stored with it."""
    if not context.found:
        return {"text", "tokens", "found", "share"}
    return {"tokens"} if context.found == "nearly" else {"text", "tokens"}


def evaluated_from_json(body: str, question: Question) -> EvaluatedAnswer:
    """Decode what `evaluated_to_json` wrote about `question`."""
    try:  # twice as fast as by Python's objects
        decoded = _evaluated_type().validate_json(_NO_QUESTION + body[1:])
    except ValueError:  # JSON that Python alone reads: lone surrogates, deeply nested
        return _evaluated_type().validate_python(json.loads(body) | {"question": question})
    return replace(decoded, question=question)


def _evidence_rows(evidence: Evidence) -> list[list[list[Any]]]:
    return [[[s.document_id, s.start, s.end, s.text, s.stale, s.grade] for s in group] for group in evidence]
