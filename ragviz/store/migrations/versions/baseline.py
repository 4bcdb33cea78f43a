"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "cache",
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key"),
    )
    op.create_table(
        "cells",
        sa.Column("experiment_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("index", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("index_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("experiment_id", "number"),
    )
    op.create_table(
        "comments",
        sa.Column("set_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("question_id", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("set_id", "id"),
    )
    op.create_table(
        "corpora",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "cuts",
        sa.Column("build", sa.String(length=64), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("build", "document_id"),
    )
    op.create_table(
        "documents",
        sa.Column("corpus_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("characters", sa.BigInteger(), nullable=False),
        sa.Column("page_count", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("added", sa.Float(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("pages", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("corpus_id", "id"),
    )
    op.create_index("ix_documents_corpus_id_name", "documents", ["corpus_id", "name"], unique=False)
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("corpus_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("questions", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("left_out", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=True),
        sa.Column("confirmation", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_index("ix_experiments_corpus_id", "experiments", ["corpus_id"], unique=False)
    op.create_table(
        "former_documents",
        sa.Column("corpus_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("corpus_id", "id"),
    )
    op.create_table(
        "former_names",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("ix_former_names_run_id", "former_names", ["run_id"], unique=False)
    op.create_table(
        "indexes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("corpus_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("build", sa.Text(), nullable=False),
        sa.Column("documents", sa.Text(), nullable=False),
        sa.Column("chunks", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("dims", sa.BigInteger(), nullable=False),
        sa.Column("embedder_identity", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("built", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_index("ix_indexes_corpus_id", "indexes", ["corpus_id"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("corpus_id", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("started", sa.Float(), nullable=True),
        sa.Column("heartbeat", sa.Float(), nullable=True),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=True),
        sa.Column("pid_started", sa.Float(), nullable=True),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("press", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_jobs_created", "jobs", ["created"], unique=False)
    op.create_index("ix_jobs_press", "jobs", ["press"], unique=False)
    op.create_table(
        "judgements",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("question_id", sa.String(length=64), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "question_id"),
    )
    op.create_table(
        "mentions",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "document_id"),
    )
    op.create_index("ix_mentions_document_id", "mentions", ["document_id"], unique=False)
    op.create_table(
        "moves",
        sa.Column("corpus_id", sa.String(length=64), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("corpus_id", "document_id"),
    )
    op.create_table(
        "payments",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("dollars", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id"),
    )
    prices = op.create_table(
        "prices",
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("input", sa.Float(), nullable=False),
        sa.Column("output", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("model"),
    )
    # Two common models, when this was written: they change, and a person corrects them.
    common = [{"model": "gpt-4o", "input": 2.5, "output": 10.0}, {"model": "gpt-4o-mini", "input": 0.15, "output": 0.6}]
    op.bulk_insert(prices, common)
    op.create_table(
        "question_changes",
        sa.Column("set_id", sa.String(length=64), nullable=False),
        sa.Column("question_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("side", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("set_id", "question_id", "number"),
    )
    op.create_table(
        "question_sets",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("corpus_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("split", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_index("ix_question_sets_corpus_id", "question_sets", ["corpus_id"], unique=False)
    op.create_table(
        "questions",
        sa.Column("set_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("set_id", "id"),
    )
    op.create_index("ix_questions_set_id_position", "questions", ["set_id", "position"], unique=False)
    op.create_table(
        "receipts",
        sa.Column("writer", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("written", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("writer"),
    )
    op.create_table(
        "results",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("question_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("chunks", sa.LargeBinary(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("gold", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "question_id"),
    )
    op.create_table(
        "revisions",
        sa.Column("owner_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id"),
    )
    op.create_table(
        "run_chunks",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "first"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("corpus_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_index("ix_runs_corpus_id", "runs", ["corpus_id"], unique=False)
    op.create_table(
        "scores",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("question_id", sa.String(length=64), nullable=False),
        sa.Column("metric", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "question_id", "metric"),
    )
    op.create_table(
        "set_facts",
        sa.Column("set_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("set_id", "name"),
    )
    op.create_table(
        "set_versions",
        sa.Column("set_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("edit_key", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("set_id", "number"),
    )
    op.create_table(
        "summaries",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("overview", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_table(
        "verdicts",
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("judge", sa.String(length=64), nullable=False),
        sa.Column("chunk", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "judge", "chunk"),
    )
