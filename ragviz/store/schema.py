"""Tables of the database, as SQLAlchemy Core; `migrations/versions` creates them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Page
from ragviz.core.experiment import Confirmation, ExperimentRule, Guardrail
from ragviz.core.question import LONGEST_ID
from ragviz.core.split import Split
from ragviz.text.untrusted import storable


class Json(sa.TypeDecorator[Any]):
    """JSON as text, of records too; `read` makes of it what the record of the row has. None is NULL."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, read: Callable[[Any], Any] = lambda value: value, *, sort_keys: bool = False) -> None:
        """Use `read` on what is decoded."""
        super().__init__()
        self.read, self.sort_keys = read, sort_keys

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Encode a value; records in it by their fields."""
        if value is None:
            return None
        return str(storable(json.dumps(value, default=asdict, sort_keys=self.sort_keys, ensure_ascii=False)))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Decode a value."""
        return None if value is None else self.read(json.loads(value))


def _rule(values: dict[str, Any]) -> ExperimentRule:
    return ExperimentRule(**values | {"guardrails": tuple(Guardrail(**each) for each in values["guardrails"])})


metadata = sa.MetaData()
identifier = sa.String(LONGEST_ID)
index_config, run_config = Json(lambda values: IndexConfig(**values)), Json(lambda values: RunConfig(**values))
split_of_set = Json(lambda values: Split(**values))

corpora = sa.Table(
    "corpora",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("corpus_id", identifier, primary_key=True),
    sa.Column("id", identifier, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("language", sa.String(16), nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("content_hash", sa.String(64), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("pages", Json(lambda rows: tuple(Page(*row) for row in rows)), nullable=False),
    sa.Column("page_count", sa.Integer, nullable=False),
    sa.Column("warnings", Json(tuple), nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("added", sa.Float, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Index("ix_documents_corpus_id_name", "corpus_id", "name"),
)
moves = sa.Table(  # replaced or deleted documents that evidence may still be in
    "moves",
    metadata,
    sa.Column("corpus_id", identifier, primary_key=True),
    sa.Column("document_id", identifier, primary_key=True),
)
former_documents = sa.Table(  # documents whose texts are gone, and that a run or a version of a set names
    "former_documents",
    metadata,
    sa.Column("corpus_id", identifier, primary_key=True),
    sa.Column("id", identifier, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
)
mentions = sa.Table(  # the documents that the rankings of a run, and the questions of a run or a set, name or named
    "mentions",
    metadata,
    sa.Column("owner_id", identifier, primary_key=True),
    sa.Column("document_id", identifier, primary_key=True, index=True),
)
indexes = sa.Table(
    "indexes",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("corpus_id", identifier, nullable=False, index=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("config", index_config, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("build", identifier, nullable=False),
    sa.Column("documents", Json(tuple), nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("dims", sa.Integer, nullable=False),
    sa.Column("embedder_identity", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("built", sa.Float),
)
cuts = sa.Table(
    "cuts",
    metadata,
    sa.Column("build", identifier, primary_key=True),
    sa.Column("document_id", identifier, primary_key=True),
    sa.Column("spans", sa.LargeBinary, nullable=False),
)
question_sets = sa.Table(
    "question_sets",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("corpus_id", identifier, nullable=False, index=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("split", split_of_set),
)
questions = sa.Table(
    "questions",
    metadata,
    sa.Column("set_id", identifier, primary_key=True),
    sa.Column("id", identifier, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("split", sa.String(16), nullable=False),
    sa.Index("ix_questions_set_id_position", "set_id", "position"),
)
set_facts = sa.Table(  # what belongs to a question set as JSON, by name: its plan, the figures of its drill …
    "set_facts",
    metadata,
    sa.Column("set_id", identifier, primary_key=True),
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("body", Json(), nullable=False),
)
set_versions = sa.Table(
    "set_versions",
    metadata,
    sa.Column("set_id", identifier, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("edit_key", sa.Text, nullable=False),
)
question_changes = sa.Table(  # what a version replaced: the question as it was `before`, "" where there was none;
    # of one that left its set also its `side` of the `split` that the set had
    "question_changes",
    metadata,
    sa.Column("set_id", identifier, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("question_id", identifier, primary_key=True),
    sa.Column("before", sa.Text, nullable=False),
    sa.Column("side", sa.String(16), nullable=False),
    sa.Column("split", split_of_set),
)
comments = sa.Table(
    "comments",
    metadata,
    sa.Column("set_id", identifier, primary_key=True),
    sa.Column("id", identifier, primary_key=True),
    sa.Column("question_id", identifier, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("corpus_id", identifier, nullable=False, index=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("config", run_config, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("provenance", Json(sort_keys=True), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("tags", Json(tuple), nullable=False),
)
experiments = sa.Table(
    "experiments",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("corpus_id", identifier, nullable=False, index=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("questions", identifier, nullable=False),
    sa.Column("split", sa.String(16), nullable=False),
    sa.Column("rule", Json(_rule), nullable=False),
    sa.Column("left_out", Json(), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("seen", sa.Float),
    sa.Column("confirmation", Json(lambda values: Confirmation(**values))),
)
cells = sa.Table(
    "cells",
    metadata,
    sa.Column("experiment_id", identifier, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("index", index_config, nullable=False),
    sa.Column("run", run_config, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("index_id", identifier, nullable=False),
    sa.Column("run_id", identifier, nullable=False),
)
former_names = sa.Table(  # of renamed runs: links by an old name still find them
    "former_names",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("run_id", identifier, nullable=False, index=True),
)
summaries = sa.Table(  # the means of a run, and what its first screen shows, as of a count of its changes
    "summaries",
    metadata,
    sa.Column("run_id", identifier, primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("version", sa.String(64), nullable=False),
    sa.Column("body", Json(), nullable=False),
    sa.Column("overview", Json(), nullable=False),
)
results = sa.Table(  # `chunks` are their numbers in the run, uint32; `scores` are float64
    "results",
    metadata,
    sa.Column("run_id", identifier, primary_key=True),
    sa.Column("question_id", identifier, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("chunks", sa.LargeBinary, nullable=False),
    sa.Column("scores", sa.LargeBinary, nullable=False),
    sa.Column("gold", Json(), nullable=False),
)
run_chunks = sa.Table(  # the ids of a run's chunks, in blocks: of the chunks from the number `first` on
    "run_chunks",
    metadata,
    sa.Column("run_id", identifier, primary_key=True),
    sa.Column("first", sa.Integer, primary_key=True),
    sa.Column("ids", sa.LargeBinary, nullable=False),
)
judgements = sa.Table(
    "judgements",
    metadata,
    sa.Column("run_id", identifier, primary_key=True),
    sa.Column("question_id", identifier, primary_key=True),
    sa.Column("failed", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
scores = sa.Table(
    "scores",
    metadata,
    sa.Column("run_id", identifier, primary_key=True),
    sa.Column("question_id", identifier, primary_key=True),
    sa.Column("metric", sa.String(64), primary_key=True),
    sa.Column("value", sa.Float),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("version", sa.String(64), nullable=False),
)
payments = sa.Table(
    "payments",
    metadata,
    sa.Column("owner_id", identifier, primary_key=True),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("dollars", sa.Float, nullable=False),
)
jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("corpus_id", identifier, nullable=False),
    sa.Column("arguments", Json(), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("done", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("started", sa.Float),
    sa.Column("heartbeat", sa.Float),
    sa.Column("finished", sa.Float),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer),
    sa.Column("pid_started", sa.Float),
    sa.Column("cancel", sa.Boolean, nullable=False),
    sa.Column("result", Json(), nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("press", sa.String(64), nullable=False),
    sa.Index("ix_jobs_created", "created"),
    sa.Index("ix_jobs_press", "press"),
)
revisions = sa.Table(
    "revisions",
    metadata,
    sa.Column("owner_id", identifier, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
)
_receipts = sa.Table(  # for `database.writing`, to know whether PostgreSQL committed a transaction
    "receipts",
    metadata,
    sa.Column("writer", identifier, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("written", sa.Float, nullable=False),
)
cache = sa.Table(
    "cache",
    metadata,
    sa.Column("kind", sa.String(32), primary_key=True),
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
verdicts = sa.Table(  # of judges on chunks: paid once for all runs; see `judging.pool`
    "verdicts",
    metadata,
    sa.Column("subject", sa.String(64), primary_key=True),
    sa.Column("judge", sa.String(64), primary_key=True),
    sa.Column("chunk", sa.String(64), primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
)
