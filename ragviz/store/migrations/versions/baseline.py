"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

_TYPES: dict[str, type[sa.types.TypeEngine]] = {  # type: ignore[type-arg]
    "text": sa.Text, "whole": sa.BigInteger, "real": sa.Float, "data": sa.LargeBinary, "flag": sa.Boolean,
}  # fmt: skip


def _table(name: str, keys: str, /, *indexes: str, unique: str = "", null: str = "", **columns: str) -> sa.Table:
    """Create a table with a primary key, indexes, and columns by their types; names are separated by blanks.

    A key without a type is an identifier. Columns of `null` may be NULL. SQLite keeps short rows by their key alone.
    """
    kinds = {column: _TYPES[kind]() for kind, names in columns.items() for column in names.split()}
    kinds = {key: sa.String(64) for key in keys.split() if key not in kinds} | kinds
    parts = [sa.Column(column, kind, nullable=column in null.split()) for column, kind in kinds.items()]
    only = [sa.UniqueConstraint(unique)] if unique else []
    key, with_rowid = sa.PrimaryKeyConstraint(*keys.split()), name not in ("cache", "mentions", "scores", "verdicts")
    table = op.create_table(name, *parts, key, *only, sqlite_with_rowid=with_rowid)
    for words in indexes:
        op.create_index(f"ix_{name}_{words.replace(' ', '_')}", name, words.split())
    return table


def upgrade() -> None:
    """Create all tables."""
    _table("cache", "kind key", data="value")
    _table("cells", "experiment_id number", text="name index run state reason index_id run_id", whole="number")
    _table("corpora", "id", unique="name", text="name", real="created")
    _table("cuts", "build document_id", data="spans")
    _table(
        "documents",
        "corpus_id id",
        "corpus_id name",
        text="status error name text pages language media_type content_hash warnings",
        whole="characters page_count size",
        real="added",
    )
    _table("events", "id", "time", text="person role verb noun subject name details", real="time")
    _table(
        "experiments",
        "id",
        "corpus_id",
        unique="name",
        text="corpus_id name questions split rule left_out confirmation person",
        real="created seen",
        null="seen confirmation",
    )
    _table("former_documents", "corpus_id id", text="name")
    _table("former_names", "name", "run_id", text="name run_id")
    _table(
        "indexes",
        "id",
        "corpus_id",
        unique="name",
        text="corpus_id name config status build documents embedder_identity",
        whole="chunks tokens dims",
        real="created built",
        null="built",
    )
    _table(
        "jobs",
        "id",
        "created",
        "press",
        text="kind title corpus_id arguments status unit message host result error press person home folder",
        whole="done total pid",
        real="created started heartbeat finished pid_started",
        flag="cancel",
        null="total started heartbeat finished pid pid_started",
    )
    _table("judgements", "run_id question_id", data="body", flag="failed")
    _table("mentions", "owner_id document_id", "document_id")
    _table("moves", "corpus_id document_id")
    _table("payments", "owner_id", whole="calls prompt_tokens completion_tokens", real="dollars")
    prices = _table("prices", "model", text="model", real="input output")
    # Two common models, when this was written: they change, and a person corrects them.
    common = [{"model": "gpt-4o", "input": 2.5, "output": 10.0}, {"model": "gpt-4o-mini", "input": 0.15, "output": 0.6}]
    op.bulk_insert(prices, common)
    _table("question_changes", "set_id question_id number", text="before side split", whole="number", null="split")
    _table("question_sets", "id", "corpus_id", unique="name", text="corpus_id name split", real="created", null="split")
    _table("questions", "set_id id", "set_id position", text="status body split", whole="position")
    _table("receipts", "writer", whole="number", real="written")
    _table("results", "run_id question_id", text="gold", whole="position", data="question chunks scores")
    _table("revisions", "owner_id", whole="number")
    _table("run_chunks", "run_id first", whole="first", data="ids")
    _table(
        "runs",
        "id",
        "corpus_id",
        unique="name",
        text="corpus_id name config fingerprint provenance status note tags person",
        real="created finished",
        null="finished",
    )
    _table("scores", "run_id question_id metric", text="status reason version", real="value", null="value")
    _table("set_facts", "set_id name", text="body")
    _table("set_versions", "set_id number", text="author action edit_key", whole="number", real="created")
    _table("spent", "person month", text="person month", whole="calls prompt_tokens completion_tokens", real="dollars")
    _table("shards", "share_id number", whole="number done", data="body", null="done")
    _table("shares", "id", text="noun subject corpus_id title person place facts")
    _table("summaries", "run_id", text="version body overview", whole="revision")
    _table("targets", "id", unique="name", text="name endpoint", real="created")
    _table("verdicts", "subject judge chunk", data="body")
