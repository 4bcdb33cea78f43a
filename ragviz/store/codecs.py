"""Records to rows and JSON, and back."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Document, DocumentInfo, Page
from ragviz.core.experiment import Cell, Confirmation, Experiment, ExperimentRule, Guardrail
from ragviz.core.index_info import IndexInfo
from ragviz.core.job import Job
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.run_info import Run
from ragviz.core.span import Evidence, Span
from ragviz.core.split import Side, Split
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.store import schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter


Cuts: TypeAlias = "NDArray[np.int32]"
"""The chunks of one document: shape (n, 3), columns start, end, tokens, in document order."""

T = TypeVar("T")
log = logging.getLogger("ragviz")


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
    values = {name: value for name in _stored_fields() if (value := getattr(question, name)) != _UNSET.get(name, _SET)}
    return json.dumps(values | {"evidence": _evidence_rows(question.evidence)}, ensure_ascii=False)


_UNSET: Mapping[str, Any] = {
    "unanswerable": False, "type": "", "style": "", "parts": (), "history": (), "weight": 1.0, "verified_by": "",
}  # fmt: skip
"""Fields that are left out of a stored question, and the value that they then have."""
_SET = object()  # what no field is equal to


@cache
def _stored_fields() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Question) if field.name != "split")


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


def split_to_json(split: Split | None) -> str:
    """Encode the split of a question set, None as ""."""
    return json.dumps(asdict(split)) if split else ""


_SIDE = re.compile(r', "side": \["([a-z]+)", "([0-9a-f]+)"\]\}\Z')


def with_side(body: str, side: str, split: str) -> str:
    """Return the body of a question that leaves its set, with its `side` of the set's `split`, as in their columns.

    Without a side it is the body itself.
    """
    return f'{body[:-1]}, "side": ["{side}", "{digest(split)}"]}}' if side else body


def without_side(body: str) -> str:
    """Return the body that `with_side` was given."""
    return _SIDE.sub("}", body)


def side_in(body: str, split: str) -> str:
    """Return the side that `with_side` recorded for this same `split` of the set; "" for another one, or none."""
    found = _SIDE.search(body)
    return found[1] if found and found[2] == digest(split) else ""


def split_from_json(body: str) -> Split | None:
    """Decode what `split_to_json` wrote."""
    return Split(**json.loads(body)) if body else None


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
    values["source_chunks"] = tuple(values["source_chunks"])
    if "parts" in values:
        values["parts"] = tuple(values["parts"])
    if "history" in values:
        values["history"] = tuple([(asked, answered) for asked, answered in values["history"]])
    return values


@cache
def _evaluated_type() -> TypeAdapter[EvaluatedAnswer]:
    from pydantic import TypeAdapter

    return TypeAdapter(EvaluatedAnswer)


_NO_QUESTION = '{"question":{"id":"","text":"","answer":"","evidence":[],"generator":""},'


def evaluated_to_json(evaluated: EvaluatedAnswer) -> str:
    """Encode an evaluated answer without its question, for `evaluated_from_json`."""
    return _evaluated_type().dump_json(evaluated, exclude={"question"}).decode()


def evaluated_from_json(body: str, question: Question) -> EvaluatedAnswer:
    """Decode what `evaluated_to_json` wrote about `question`."""
    try:  # twice as fast as by Python's objects
        decoded = _evaluated_type().validate_json(_NO_QUESTION + body[1:])
    except ValueError:  # JSON that Python alone reads: lone surrogates, deeply nested
        return _evaluated_type().validate_python(json.loads(body) | {"question": question})
    return replace(decoded, question=question)


def _evidence_rows(evidence: Evidence) -> list[list[list[Any]]]:
    return [[_span_row(span) for span in group] for group in evidence]


def _span_row(span: Span) -> list[Any]:
    """Return a span as stored; a grade of 1 is left out."""
    row = [span.document_id, span.start, span.end, span.text, span.stale]
    return row if span.grade == 1 else [*row, span.grade]


def question_row(question: Question) -> dict[str, str]:
    """Return the columns of a question."""
    return {"id": question.id, "status": question.status, "body": question_to_json(question)}


def as_json(config: IndexConfig | RunConfig) -> str:
    """Encode a configuration as stored."""
    return json.dumps(asdict(config), ensure_ascii=False)


def document_row(corpus_id: str, document: Document, status: str) -> dict[str, Any]:
    """Return the columns of a document."""
    return {
        "corpus_id": corpus_id,
        "id": document.id,
        "name": document.name,
        "status": status,
        "characters": len(document.text),
        "language": document.language,
        "media_type": document.media_type,
        "content_hash": document.content_hash,
        "size": document.size,
        "pages": json.dumps([[p.number, p.start, p.end] for p in document.pages]),
        "page_count": len(document.pages),
        "warnings": json.dumps(document.warnings, ensure_ascii=False),
        "error": "",
        "added": time.time(),
        "text": document.text,
    }


def info_query(corpus_id: str) -> sa.Select[Any]:
    """Return the query for all documents of a corpus without their text."""
    columns = [c for c in schema.documents.c if c.name not in ("text", "pages")]
    return sa.select(*columns).where(schema.documents.c.corpus_id == corpus_id)


def document(row: Row[Any]) -> Document:
    """Return the document of a row, with its text."""
    return Document(
        id=row.id,
        name=row.name,
        text=row.text,
        pages=tuple(Page(*page) for page in json.loads(row.pages)),
        language=row.language,
        media_type=row.media_type,
        content_hash=row.content_hash,
        size=row.size,
        warnings=tuple(json.loads(row.warnings)),
    )


def document_info(row: Row[Any]) -> DocumentInfo:
    """Return the document of a row, without its text."""
    values = row._asdict()
    pages = values.pop("page_count")
    return DocumentInfo(**values | {"pages": pages, "warnings": tuple(json.loads(row.warnings))})


def index_info(row: Row[Any]) -> IndexInfo:
    """Return the index of a row."""
    config = IndexConfig(**json.loads(row.config))
    return IndexInfo(**row._asdict() | {"config": config, "documents": tuple(json.loads(row.documents))})


def run(row: Row[Any]) -> Run:
    """Return the run of a row."""
    config = RunConfig(**json.loads(row.config))
    decoded = {"config": config, "provenance": json.loads(row.provenance), "tags": tuple(json.loads(row.tags))}
    return Run(**row._asdict() | decoded)


def retrieved(row: Row[Any]) -> Retrieved:
    """Return the ranking of a row, with its gold chunks and their grades."""
    ids, scores = json.loads(row.ranking)
    gold = json.loads(row.gold)  # groups alone where no chunk has a grade
    groups, grades = (gold["groups"], gold["grades"]) if isinstance(gold, dict) else (gold, {})
    return Retrieved(row.question_id, Ranking(tuple(ids), tuple(scores)), tuple(map(tuple, groups)), grades)


def job(row: Row[Any]) -> Job:
    """Return the job of a row."""
    return Job(**row._asdict() | {"arguments": json.loads(row.arguments), "result": json.loads(row.result)})


def experiment_row(experiment: Experiment) -> dict[str, Any]:
    """Return the columns of an experiment, without its cells."""
    return {
        "id": experiment.id,
        "corpus_id": experiment.corpus_id,
        "name": experiment.name,
        "set_id": experiment.questions,
        "split": experiment.split,
        "rule": json.dumps(asdict(experiment.rule), ensure_ascii=False),
        "left_out": json.dumps(experiment.left_out, ensure_ascii=False),
        "created": experiment.created,
        "seen": experiment.seen,
        "confirmation": confirmation_to_json(experiment.confirmation),
    }


def confirmation_to_json(confirmation: Confirmation | None) -> str:
    """Encode a confirmation, None as ""."""
    return json.dumps(asdict(confirmation), ensure_ascii=False) if confirmation else ""


def cell_rows(experiment_id: str, cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return the columns of the cells of an experiment, in their order."""
    return [
        {
            "experiment_id": experiment_id,
            "number": number,
            "name": cell.name,
            "index_config": as_json(cell.index),
            "run_config": as_json(cell.run),
            "state": cell.state,
            "reason": cell.reason,
            "index_id": cell.index_id,
            "run_id": cell.run_id,
        }
        for number, cell in enumerate(cells)
    ]


def experiment(row: Row[Any], cells: Iterable[Row[Any]]) -> Experiment:
    """Return the experiment of a row, with those of its cells."""
    rule = json.loads(row.rule)
    guardrails = tuple(Guardrail(**each) for each in rule["guardrails"])
    confirmation = Confirmation(**json.loads(row.confirmation)) if row.confirmation else None
    return Experiment(
        id=row.id,
        corpus_id=row.corpus_id,
        name=row.name,
        questions=row.set_id,
        split=row.split,
        rule=ExperimentRule(**rule | {"guardrails": guardrails}),
        cells=tuple(_cell(cell) for cell in cells),
        left_out=json.loads(row.left_out),
        created=row.created,
        seen=row.seen,
        confirmation=confirmation,
    )


def _cell(row: Row[Any]) -> Cell:
    index = IndexConfig(**json.loads(row.index_config))
    run = RunConfig(**json.loads(row.run_config))
    return Cell(row.name, index, run, row.state, row.reason, row.index_id, row.run_id)
