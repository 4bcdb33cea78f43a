"""Records to rows and JSON, and back: what an earlier version wrote still opens."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.records import (
    Document,
    DocumentInfo,
    EvaluatedAnswer,
    Evidence,
    IndexConfig,
    IndexInfo,
    Job,
    Page,
    Question,
    Ranking,
    Retrieved,
    Run,
    RunConfig,
    Span,
    choices_of,
    digest,
)
from ragviz.store import schema
from ragviz.text import addresses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter


Cuts: TypeAlias = "NDArray[np.int32]"
"""The chunks of one document: shape (n, 3), columns start, end, tokens, in document order."""

T = TypeVar("T")
log = logging.getLogger("ragviz")


def corpus_hash(documents: Iterable[DocumentInfo]) -> str:
    """Digest of which readable documents there are, in any order."""
    return digest(*sorted(d.id for d in documents if d.status == "ok"))


def questions_hash(questions: Iterable[Question]) -> str:
    """Digest of what a run is asked: texts, answers and evidence of the questions, in order."""
    return digest(*(json.dumps([q.id, q.text, q.answer, _evidence_rows(q.evidence)]) for q in questions))


def question_to_json(question: Question) -> str:
    """One line of JSON; `question_from_json` reads it back."""
    return json.dumps(asdict(question) | {"evidence": _evidence_rows(question.evidence)}, ensure_ascii=False)


def version_of(question: Question) -> str:
    """What a question's version is called: equal where nothing of it differs."""
    return digest(question_to_json(question))


def question_from_json(body: str) -> Question:
    """Read what `question_to_json` wrote."""
    values = json.loads(body)
    values["evidence"] = tuple(tuple(Span(*span) for span in group) for group in values["evidence"])
    return known(Question, values | {"source_chunks": tuple(values["source_chunks"])}, "Question")


def known(record: type[T], values: Mapping[str, Any], what: str) -> T:
    """Make a `record` of what was stored, without the fields that this version does not know: those are logged."""
    names = {field.name for field in fields(cast(Any, record))}
    if unknown := sorted(values.keys() - names):
        _tell_unknown(what, tuple(unknown))
    return record(**{name: value for name, value in values.items() if name in names})


@cache  # once is enough
def _tell_unknown(what: str, unknown: tuple[str, ...]) -> None:
    log.warning("%s was stored with %s, which this ragviz does not know: read without.", what, ", ".join(unknown))


@cache
def _judged_type() -> TypeAdapter[EvaluatedAnswer]:
    from pydantic import TypeAdapter

    return TypeAdapter(EvaluatedAnswer)


def judged_to_json(judged: EvaluatedAnswer) -> str:
    """All of `judged` but its question; `judged_from_json` reads it back."""
    return _judged_type().dump_json(judged, exclude={"question"}).decode()


def judged_from_json(body: str, question: Question) -> EvaluatedAnswer:
    """Read what `judged_to_json` wrote about `question`."""
    return _judged_type().validate_python(json.loads(body) | {"question": question})


def _evidence_rows(evidence: Evidence) -> list[list[list[Any]]]:
    return [[_span_row(span) for span in group] for group in evidence]


def _span_row(span: Span) -> list[Any]:
    """What is kept of a span; a grade of 1 is left out, so that ungraded questions are digested as they always were."""
    row = [span.document_id, span.start, span.end, span.text, span.stale]
    return row if span.grade == 1 else [*row, span.grade]


def question_row(question: Question) -> dict[str, str]:
    """Columns of a question."""
    return {"id": question.id, "status": question.status, "body": question_to_json(question)}


def as_json(config: IndexConfig | RunConfig) -> str:
    """Configuration as it is stored."""
    return json.dumps(choices_of(config), ensure_ascii=False)


def document_row(corpus_id: str, document: Document, status: str) -> dict[str, Any]:
    """Columns of a document."""
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
    """Selects all documents of a corpus without their text."""
    columns = [c for c in schema.documents.c if c.name not in ("text", "pages")]
    return sa.select(*columns).where(schema.documents.c.corpus_id == corpus_id)


def document(row: Row[Any]) -> Document:
    """Document of a row, with its text."""
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
    """Document of a row, without its text."""
    values = row._asdict()
    pages = values.pop("page_count")
    return DocumentInfo(**values | {"pages": pages, "warnings": tuple(json.loads(row.warnings))})


def index_info(row: Row[Any]) -> IndexInfo:
    """Index of a row."""
    config = known(IndexConfig, json.loads(row.config), f"Index '{row.name}'")
    return IndexInfo(**row._asdict() | {"config": config, "documents": tuple(json.loads(row.documents))})


def run(row: Row[Any]) -> Run:
    """Run of a row."""
    config = known(RunConfig, json.loads(row.config), f"Run '{row.name}'")
    return Run(**row._asdict() | {"config": config, "provenance": _provenance(row.provenance)})


def _provenance(body: str) -> dict[str, Any]:
    """Where a run's numbers come from; earlier versions kept a password that an endpoint's address may hold."""
    kept: dict[str, Any] = json.loads(body)
    for name in {"embedder", "metric embedder"} & kept.get("identity", {}).keys():
        kept["identity"][name] = addresses.within(kept["identity"][name])
    if "metric_embedders" in kept:
        kept["metric_embedders"] = [*map(addresses.within, kept["metric_embedders"])]
    return kept


def retrieved(row: Row[Any]) -> Retrieved:
    """Ranking of a row, with its gold chunks and their grades."""
    ids, scores = json.loads(row.ranking)
    kept = json.loads(row.gold)  # groups alone where no chunk has a grade
    groups, grades = (kept["groups"], kept["grades"]) if isinstance(kept, dict) else (kept, {})
    return Retrieved(row.question_id, Ranking(tuple(ids), tuple(scores)), tuple(map(tuple, groups)), grades)


def job(row: Row[Any]) -> Job:
    """Job of a row."""
    return Job(**row._asdict() | {"arguments": json.loads(row.arguments), "result": json.loads(row.result)})
