"""Tables of the database, and records to their rows and JSON and back.

Tables of records have a column for each field.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache as cached
from functools import lru_cache
from itertools import repeat
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.core.call import Paid
from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.digests import digest
from ragviz.core.document import Corpus, Document, Evidence, Span
from ragviz.core.endpoint_choices import Endpoint
from ragviz.core.event import Event
from ragviz.core.experiment import Cell, Experiment
from ragviz.core.job import Job
from ragviz.core.question import LONGEST_ID, Question, Side, Split
from ragviz.core.score import Score
from ragviz.core.share import Share
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.text.untrusted import storable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter


metadata = sa.MetaData()


class Text(sa.TypeDecorator[str]):
    """Text of anybody: what databases refuse in it (`storable`) is replaced when it is stored."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Encode a text."""
        return None if value is None else str(storable(value))


class Json(sa.TypeDecorator[Any]):
    """JSON as text, of values of a type: records, tuples of them, what JSON can hold. None is NULL."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, kind: Any = None) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Encode a value."""
        return None if value is None else str(storable(json.dumps(value, default=plain, ensure_ascii=False)))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Decode a value."""
        return None if value is None else decoded(self.kind, json.loads(value))


class Shared(dict[str, Any]):
    """What JSON can hold, decoded once and never changed: it is long, and read again and again."""


class SharedJson(Json):
    """JSON as text; equal texts are decoded to one object."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Decode a value."""
        return None if value is None else _decoded_once(value)


_decoded_once = lru_cache(maxsize=1_000)(json.loads)


class Long(str):
    """Text that is stored compressed: JSON with the same names again and again."""


_NAMES = (
    b'"history": [["unanswerable": true, "source_chunks": [""parts": ["type": "style": "tags": '
    b'{"id": "", "text": "", "answer": "", "generator": "", "status": "accepted", '
    b'"evidence": [[["", 0, "", false, 1.0]]]}'
)
"""What texts of few letters begin with: the names of a question's fields, those that all have last."""


class Compressed(sa.TypeDecorator[str]):
    """Text as the bytes of zlib."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        """Encode a text."""
        if value is None:
            return None
        packer = zlib.compressobj(1, zdict=_NAMES)  # a fourth faster than the default, 4 % larger
        return packer.compress(str(storable(value)).encode()) + packer.flush()

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        """Decode a text."""
        return None if value is None else zlib.decompressobj(zdict=_NAMES).decompress(value).decode()


def plain(value: Any) -> Any:
    """Return a record as JSON has it, or an array of one dimension: its bytes, little-endian, in base64."""
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return base64.b64encode(value.astype(value.dtype.newbyteorder("<")).tobytes()).decode()


def decoded(kind: Any, value: Any) -> Any:
    """Return a value of a type (a record, an array, tuples or mappings of them) from what JSON holds of it."""
    return value if value is None else _decoder(kind)(value)


def _unchanged(value: Any) -> Any:
    return value


@cached
def _decoder(kind: Any) -> Callable[[Any], Any]:
    origin, of = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        decoders = {name: _decoder(hint) for name, hint in get_type_hints(kind).items()}
        changed = {name: decoder for name, decoder in decoders.items() if decoder is not _unchanged}
        if not changed:
            return lambda value: kind(**value)
        return lambda value: kind(
            **value | {name: decode(value[name]) for name, decode in changed.items() if value.get(name) is not None}
        )
    if origin in (Union, UnionType):
        return _decoder(next(each for each in of if each is not NoneType))
    if origin is tuple:
        each = [_decoder(kind) for kind in of if kind is not Ellipsis]
        if all(decode is _unchanged for decode in each):
            return tuple
        kinds: Iterable[Callable[[Any], Any]] = repeat(each[0]) if of[-1] is Ellipsis else each
        return lambda value: tuple(
            part if part is None else decode(part) for decode, part in zip(kinds, value, strict=False)
        )
    if origin in (dict, Mapping):
        values = _decoder(of[1])
        if values is _unchanged:
            return _unchanged
        return lambda value: {name: each if each is None else values(each) for name, each in value.items()}
    if getattr(origin, "__name__", "") == "ndarray":
        import numpy as np

        dtype = np.dtype(get_args(of[1])[0]).newbyteorder("<")
        return lambda value: np.frombuffer(base64.b64decode(value), dtype)
    return _unchanged


_TYPES = {
    str: Text, int: sa.BigInteger, float: sa.Float, bool: sa.Boolean, bytes: sa.LargeBinary,
    Long: Compressed, Shared: SharedJson,
}  # fmt: skip


def _table(
    name: str, keys: str, /, *indexes: str, record: Any = None, unique: str = "", without: str = "", **columns: Any
) -> sa.Table:
    """Return a table with these keys and, by their types, other columns and the fields of a `record`.

    A key without a type is an identifier, `X | None` is NULL or X, and what the database has no type for is JSON. An
    index is named by its columns; words are separated by blanks.
    """
    fields = columns | {
        field: kind for field, kind in (get_type_hints(record) if record else {}).items() if field != without
    }
    made = [sa.Column(key, sa.String(LONGEST_ID), primary_key=True) for key in keys.split() if key not in columns]
    for field, kind in fields.items():
        if field in columns or field not in keys.split():
            parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
            kinds = [part for part in parts if part is not NoneType]
            is_text = all(get_origin(each) is Literal for each in kinds)
            of = Text() if is_text else _TYPES[kinds[0]]() if kinds[0] in _TYPES else Json(kinds[0])
            key, only = field in keys.split(), field == unique or None
            made.append(sa.Column(field, of, primary_key=key, unique=only, nullable=NoneType in parts))
    found = [sa.Index(f"ix_{name}_{words.replace(' ', '_')}", *words.split()) for words in indexes]
    short = name in ("cache", "mentions", "scores", "verdicts")  # SQLite keeps their rows by the key alone
    return sa.Table(name, metadata, *made, *found, sqlite_with_rowid=not short)


corpora = _table("corpora", "id", record=Corpus, unique="name")
documents = _table(
    "documents",
    "corpus_id id",
    "corpus_id name",
    record=Document,
    status=str,
    characters=int,
    page_count=int,
    error=str,
    added=float,
)
# Replaced or deleted documents that evidence may still be in.
moves = _table("moves", "corpus_id document_id")
# Documents whose texts are gone, and that a run or a version of a set names.
former_documents = _table("former_documents", "corpus_id id", name=str)
# The documents that the rankings of a run, and the questions of a run or a set, name or named.
mentions = _table("mentions", "owner_id document_id", "document_id")
indexes = _table("indexes", "id", "corpus_id", record=IndexInfo, unique="name")
cuts = _table("cuts", "build document_id", spans=bytes)
question_sets = _table(
    "question_sets", "id", "corpus_id", unique="name", corpus_id=str, name=str, created=float, split=Split | None
)
questions = _table("questions", "set_id id", "set_id position", position=int, status=str, body=str, split=str)
# What belongs to a question set as JSON, by name: its plan, the figures of its drill …
set_facts = _table("set_facts", "set_id name", body=Any)
set_versions = _table("set_versions", "set_id number", number=int, created=float, author=str, action=str, edit_key=str)
# What a version replaced: the question as it was `before`, "" where there was none; of one that left its set also its
# side of the split that the set had.
question_changes = _table(
    "question_changes", "set_id number question_id", number=int, before=str, side=str, split=Split | None
)
runs = _table("runs", "id", "corpus_id", record=Run, unique="name", without="provenance", provenance=Shared)
# Of renamed runs: links by an old name still find them.
former_names = _table("former_names", "name", "run_id", name=str, run_id=str)
# The means of a run, and what its first screen shows, as of a count of its changes.
summaries = _table("summaries", "run_id", revision=int, version=str, body=Any, overview=Any)
# `chunks` are the bytes of a number (2 or 4), and their numbers in the run; `scores` are float32 where that changes
# none, else float64.
results = _table("results", "run_id question_id", position=int, question=Long, chunks=bytes, scores=bytes, gold=Any)
# The ids of a run's chunks, in blocks: of the chunks from the number `first` on.
run_chunks = _table("run_chunks", "run_id first", first=int, ids=bytes)
judgements = _table("judgements", "run_id question_id", failed=bool, body=Long)
scores = _table("scores", "run_id question_id metric", record=Score)
payments = _table("payments", "owner_id", record=Paid)
# What a person paid in a calendar month (UTC), as 2026-11, also for what is deleted.
spent = _table("spent", "person month", record=Paid, person=str, month=str)
prices = _table("prices", "model", model=str, input=float, output=float)
experiments = _table("experiments", "id", "corpus_id", record=Experiment, unique="name", without="cells")
cells = _table("cells", "experiment_id number", record=Cell, number=int)
targets = _table("targets", "id", unique="name", name=str, created=float, endpoint=Endpoint)
jobs = _table("jobs", "id", "created", "press", record=Job)
shares = _table("shares", "id", record=Share)
# The shards of a share: `done` is what whoever did one has counted, NULL while it is to be done.
shards = _table("shards", "share_id number", number=int, body=bytes, done=int | None)
events = _table("events", "id", "time", record=Event)
revisions = _table("revisions", "owner_id", number=int)
# For `database.writing`, to know whether PostgreSQL committed a transaction.
receipts = _table("receipts", "writer", number=int, written=float)
cache = _table("cache", "kind key", value=bytes)
# Of judges on chunks: paid once for all runs; see `judging.pool`.
verdicts = _table("verdicts", "subject judge chunk", body=Long)


Cuts: TypeAlias = "NDArray[np.int32]"
"""The chunks of one document: shape (n, 3), columns start, end, tokens, in document order."""

T = TypeVar("T")


def cuts_of(spans: bytes) -> Cuts:
    """Return the chunks of a document as a row has them."""
    import numpy as np

    return np.frombuffer(spans, dtype="<i4").reshape(-1, 3)


def record(kind: type[T], row: Row[Any], **more: Any) -> T:
    """Return a record, a dataclass, of the columns of a row that are its fields, and `more` fields."""
    values = row._mapping
    return kind(**{name: values[name] for name in _names_of(cast(Any, kind)) if name in values}, **more)


def columns(record: Any, table: sa.Table) -> dict[str, Any]:
    """Return the fields of a record, a dataclass, that are columns of a table."""
    return {name: getattr(record, name) for name in _names_of(cast(Any, type(record))) if name in table.c}


@cached
def _names_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def corpus_hash(readable: Iterable[str]) -> str:
    """Return the digest of a corpus by the ids of its readable documents, in any order."""
    return digest(*sorted(readable))


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


@cached
def _evaluated_type() -> TypeAdapter[EvaluatedAnswer]:
    from pydantic import TypeAdapter

    return TypeAdapter(EvaluatedAnswer)


_NO_QUESTION = '{"question":{"id":"","text":"","answer":"","evidence":[],"generator":""},'


def evaluated_to_json(evaluated: EvaluatedAnswer) -> str:
    """Encode an evaluated answer without its question, and without the texts that were read: their ids say where.

    Those of which only a part stands in a document are kept.
    """
    known = {"": {"text", "tokens", "found", "share"}, "nearly": {"tokens"}}
    left_out = [known.get(context.found, {"text", "tokens"}) for context in evaluated.recording.contexts]
    texts = {"contexts": dict(enumerate(left_out))}
    return _evaluated_type().dump_json(evaluated, exclude={"question": True, "recording": texts}).decode()


def evaluated_from_json(body: str, question: Question) -> EvaluatedAnswer:
    """Decode what `evaluated_to_json` wrote about `question`."""
    try:  # twice as fast as by Python's objects
        decoded = _evaluated_type().validate_json(_NO_QUESTION + body[1:])
    except ValueError:  # JSON that Python alone reads: lone surrogates, deeply nested
        return _evaluated_type().validate_python(json.loads(body) | {"question": question})
    return replace(decoded, question=question)


def _evidence_rows(evidence: Evidence) -> list[list[list[Any]]]:
    return [[[s.document_id, s.start, s.end, s.text, s.stale, s.grade] for s in group] for group in evidence]
