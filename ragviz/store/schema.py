"""Tables of the database, as SQLAlchemy Core; `migrations/versions` creates them."""

from __future__ import annotations

import sqlalchemy as sa

from ragviz.core.question import LONGEST_ID

metadata = sa.MetaData()
identifier = sa.String(LONGEST_ID)

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
    sa.Column("pages", sa.Text, nullable=False),
    sa.Column("page_count", sa.Integer, nullable=False),
    sa.Column("warnings", sa.Text, nullable=False),
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
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("build", identifier, nullable=False),
    sa.Column("documents", sa.Text, nullable=False),
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
    sa.Column("split", sa.Text, nullable=False),
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
    sa.Column("body", sa.Text, nullable=False),
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
question_changes = sa.Table(  # what a version replaced: the question as it was `before`, "" where there was none
    "question_changes",
    metadata,
    sa.Column("set_id", identifier, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("question_id", identifier, primary_key=True),
    sa.Column("before", sa.Text, nullable=False),
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
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("provenance", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
)
experiments = sa.Table(  # `confirmation` is "" before the test side was asked, `seen` null before the first result
    "experiments",
    metadata,
    sa.Column("id", identifier, primary_key=True),
    sa.Column("corpus_id", identifier, nullable=False, index=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("set_id", identifier, nullable=False),
    sa.Column("split", sa.String(16), nullable=False),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("left_out", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("seen", sa.Float),
    sa.Column("confirmation", sa.Text, nullable=False),
)
cells = sa.Table(
    "cells",
    metadata,
    sa.Column("experiment_id", identifier, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("index_config", sa.Text, nullable=False),
    sa.Column("run_config", sa.Text, nullable=False),
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
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("overview", sa.Text, nullable=False),
)
results = sa.Table(
    "results",
    metadata,
    sa.Column("run_id", identifier, primary_key=True),
    sa.Column("question_id", identifier, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("ranking", sa.Text, nullable=False),
    sa.Column("gold", sa.Text, nullable=False),
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
    sa.Column("run_id", identifier, primary_key=True),
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
    sa.Column("arguments", sa.Text, nullable=False),
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
    sa.Column("result", sa.Text, nullable=False),
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
