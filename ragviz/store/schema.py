"""Tables of the database: those of records have a column for each field; `migrations/versions` creates them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache as cached
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import sqlalchemy as sa

from ragviz.core.document import Corpus, Document
from ragviz.core.endpoint_choices import Endpoint
from ragviz.core.experiment import Cell, Experiment
from ragviz.core.index_info import IndexInfo
from ragviz.core.job import Job
from ragviz.core.question import LONGEST_ID
from ragviz.core.question_set import Comment
from ragviz.core.run_info import Run
from ragviz.core.score import Score
from ragviz.core.split import Split
from ragviz.text.untrusted import storable

metadata = sa.MetaData()


class Json(sa.TypeDecorator[Any]):
    """JSON as text, of values of a type: records, tuples of them, what JSON can hold. None is NULL."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, kind: Any = None) -> None:
        """Decode values of this type."""
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Encode a value."""
        return None if value is None else str(storable(json.dumps(value, default=plain, ensure_ascii=False)))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Decode a value."""
        return None if value is None else decoded(self.kind, json.loads(value))


def plain(value: Any) -> Any:
    """Return a record, or an array, as JSON has it."""
    return {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else value.tolist()


def decoded(kind: Any, value: Any) -> Any:
    """Return a value of a type (a record, an array, tuples or mappings of them) from what JSON holds of it."""
    origin, of = get_origin(kind), get_args(kind)
    if value is None or kind is str:
        return value
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _fields_of(kind)
        return kind(**{name: decoded(hints[name], each) for name, each in value.items()})
    if origin in (Union, UnionType):
        return decoded(next(each for each in of if each is not NoneType), value)
    if origin is tuple:
        kinds = repeat(of[0]) if of[-1] is Ellipsis else of
        return tuple(decoded(each_kind, each) for each_kind, each in zip(kinds, value, strict=False))
    if origin in (dict, Mapping):
        return {name: decoded(of[1], each) for name, each in value.items()}
    if getattr(origin, "__name__", "") == "ndarray":
        import numpy as np

        return np.array(value, dtype=get_args(of[1])[0])
    return value


@cached
def _fields_of(record: Any) -> dict[str, Any]:
    return get_type_hints(record)


_TYPES = {str: sa.Text, int: sa.BigInteger, float: sa.Float, bool: sa.Boolean, bytes: sa.LargeBinary}


def _column(name: str, kind: Any, *, key: bool, unique: bool) -> sa.Column[Any]:
    """Return a column for values of a type: `X | None` is NULL or X, and what the database has no type for is JSON."""
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = [part for part in parts if part is not NoneType]
    is_text = all(get_origin(each) is Literal for each in kinds)
    of = sa.Text() if is_text else _TYPES[kinds[0]]() if kinds[0] in _TYPES else Json(kinds[0])
    return sa.Column(name, of, primary_key=key, unique=unique or None, nullable=NoneType in parts)


def _table(
    name: str, keys: str, /, *indexes: str, record: Any = None, unique: str = "", without: str = "", **columns: Any
) -> sa.Table:
    """Return a table with these keys and, by their types, other columns and the fields of a `record`.

    A key without a type is an identifier. An index is named by its columns; words are separated by blanks.
    """
    kinds = columns | {
        field: kind for field, kind in (_fields_of(record) if record else {}).items() if field != without
    }
    ids = [sa.Column(key, sa.String(LONGEST_ID), primary_key=True) for key in keys.split() if key not in columns]
    rest = [
        _column(each, kind, key=each in keys.split(), unique=each == unique)
        for each, kind in kinds.items()
        if each in columns or each not in keys.split()
    ]
    found = [sa.Index(f"ix_{name}_{words.replace(' ', '_')}", *words.split()) for words in indexes]
    return sa.Table(name, metadata, *ids, *rest, *found)


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
comments = _table("comments", "set_id id", record=Comment)
runs = _table("runs", "id", "corpus_id", record=Run, unique="name")
# Of renamed runs: links by an old name still find them.
former_names = _table("former_names", "name", "run_id", name=str, run_id=str)
# The means of a run, and what its first screen shows, as of a count of its changes.
summaries = _table("summaries", "run_id", revision=int, version=str, body=Any, overview=Any)
# `chunks` are their numbers in the run, uint32; `scores` are float64.
results = _table("results", "run_id question_id", position=int, question=str, chunks=bytes, scores=bytes, gold=Any)
# The ids of a run's chunks, in blocks: of the chunks from the number `first` on.
run_chunks = _table("run_chunks", "run_id first", first=int, ids=bytes)
judgements = _table("judgements", "run_id question_id", failed=bool, body=str)
scores = _table("scores", "run_id question_id metric", record=Score)
payments = _table("payments", "owner_id", calls=int, dollars=float)
prices = _table("prices", "model", model=str, input=float, output=float)
experiments = _table("experiments", "id", "corpus_id", record=Experiment, unique="name", without="cells")
cells = _table("cells", "experiment_id number", record=Cell, number=int)
targets = _table("targets", "id", unique="name", name=str, created=float, endpoint=Endpoint)
jobs = _table("jobs", "id", "created", "press", record=Job)
revisions = _table("revisions", "owner_id", number=int)
# For `database.writing`, to know whether PostgreSQL committed a transaction.
receipts = _table("receipts", "writer", number=int, written=float)
cache = _table("cache", "kind key", value=bytes)
# Of judges on chunks: paid once for all runs; see `judging.pool`.
verdicts = _table("verdicts", "subject judge chunk", body=str)
