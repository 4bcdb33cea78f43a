"""Migrations of the database: numbered SQL, for SQLite and PostgreSQL alike.

To change a table: run `tests/schemas/dump.py`, which keeps a filled database of the schema before; change the table in
`schema.py`; append the SQL that changes an existing one. A migration that was released is never edited.
"""

from __future__ import annotations

_FIRST = """
CREATE TABLE cache (
    kind VARCHAR(32) NOT NULL, "key" VARCHAR(64) NOT NULL, value {bytes} NOT NULL, PRIMARY KEY (kind, "key")
);
CREATE TABLE corpora (
    id VARCHAR(64) NOT NULL, name TEXT NOT NULL, created FLOAT NOT NULL, PRIMARY KEY (id), UNIQUE (name)
);
CREATE TABLE cuts (
    build VARCHAR(64) NOT NULL, document_id VARCHAR(64) NOT NULL, spans {bytes} NOT NULL,
    PRIMARY KEY (build, document_id)
);
CREATE TABLE documents (
    corpus_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, name TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    characters INTEGER NOT NULL, language VARCHAR(16) NOT NULL, media_type TEXT NOT NULL,
    content_hash VARCHAR(64) NOT NULL, size BIGINT NOT NULL, pages TEXT NOT NULL, page_count INTEGER NOT NULL,
    warnings TEXT NOT NULL, error TEXT NOT NULL, added FLOAT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (corpus_id, id)
);
CREATE TABLE indexes (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
    status VARCHAR(16) NOT NULL, build VARCHAR(64) NOT NULL, documents TEXT NOT NULL, chunks INTEGER NOT NULL,
    tokens BIGINT NOT NULL, dims INTEGER NOT NULL, embedder_identity TEXT NOT NULL, created FLOAT NOT NULL,
    built FLOAT, PRIMARY KEY (id), UNIQUE (name)
);
CREATE TABLE jobs (
    id VARCHAR(64) NOT NULL, kind VARCHAR(32) NOT NULL, title TEXT NOT NULL, corpus_id VARCHAR(64) NOT NULL,
    arguments TEXT NOT NULL, status VARCHAR(16) NOT NULL, done INTEGER NOT NULL, total INTEGER,
    unit TEXT NOT NULL, message TEXT NOT NULL, created FLOAT NOT NULL, started FLOAT, heartbeat FLOAT,
    finished FLOAT, host TEXT NOT NULL, pid INTEGER, pid_started FLOAT, cancel BOOLEAN NOT NULL,
    result TEXT NOT NULL, error TEXT NOT NULL, PRIMARY KEY (id)
);
CREATE TABLE question_sets (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, created FLOAT NOT NULL,
    PRIMARY KEY (id), UNIQUE (name)
);
CREATE TABLE questions (
    set_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, position INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL, body TEXT NOT NULL, PRIMARY KEY (set_id, id)
);
CREATE TABLE results (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, position INTEGER NOT NULL,
    question TEXT NOT NULL, ranking TEXT NOT NULL, gold TEXT NOT NULL, PRIMARY KEY (run_id, question_id)
);
CREATE TABLE runs (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
    fingerprint VARCHAR(64) NOT NULL, provenance TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    created FLOAT NOT NULL, finished FLOAT, PRIMARY KEY (id), UNIQUE (name)
);
CREATE INDEX ix_indexes_corpus_id ON indexes (corpus_id);
CREATE INDEX ix_question_sets_corpus_id ON question_sets (corpus_id);
CREATE INDEX ix_runs_corpus_id ON runs (corpus_id);
"""

_JUDGEMENTS_AND_SCORES = """
CREATE TABLE judgements (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, failed BOOLEAN NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, question_id)
);
CREATE TABLE scores (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, metric VARCHAR(64) NOT NULL, value FLOAT,
    status VARCHAR(16) NOT NULL, reason TEXT NOT NULL, version VARCHAR(64) NOT NULL,
    PRIMARY KEY (run_id, question_id, metric)
);
"""

_PAYMENTS = """
CREATE TABLE payments (
    run_id VARCHAR(64) NOT NULL, calls INTEGER NOT NULL, dollars FLOAT NOT NULL, PRIMARY KEY (run_id)
);
"""

_DOCUMENTS_BY_NAME = "CREATE INDEX ix_documents_corpus_id_name ON documents (corpus_id, name);"

_REVISIONS = """
CREATE TABLE revisions (owner_id VARCHAR(64) NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (owner_id));
"""

_IN_ORDER = """
CREATE INDEX ix_questions_set_id_position ON questions (set_id, position);
CREATE INDEX ix_jobs_created ON jobs (created);
"""

# Earlier versions, killed between two transactions, left evidence in documents that were gone, stale evidence whose
# document was there, and cuts of unfinished builds: all corpora are checked once.
_MOVES = """
CREATE TABLE moves (
    corpus_id VARCHAR(64) NOT NULL, document_id VARCHAR(64) NOT NULL, PRIMARY KEY (corpus_id, document_id)
);
INSERT INTO moves (corpus_id, document_id) SELECT id, '' FROM corpora;
DELETE FROM cuts WHERE build NOT IN (SELECT build FROM indexes);
"""

# A transaction's number does not identify it: after a crash, PostgreSQL reuses that of a lost one.
_RECEIPTS = """
CREATE TABLE receipts (
    writer VARCHAR(64) NOT NULL, number INTEGER NOT NULL, written FLOAT NOT NULL, PRIMARY KEY (writer)
);
"""

_LABELS_AND_SUMMARIES = """
ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
CREATE TABLE former_names (name TEXT NOT NULL, run_id VARCHAR(64) NOT NULL, PRIMARY KEY (name));
CREATE INDEX ix_former_names_run_id ON former_names (run_id);
CREATE TABLE summaries (
    run_id VARCHAR(64) NOT NULL, revision INTEGER NOT NULL, version VARCHAR(64) NOT NULL, body TEXT NOT NULL,
    overview TEXT NOT NULL, PRIMARY KEY (run_id)
);
"""

_SPLITS = """
ALTER TABLE question_sets ADD COLUMN split TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN split VARCHAR(16) NOT NULL DEFAULT '';
"""

_EXPERIMENTS = """
CREATE TABLE experiments (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, set_id VARCHAR(64) NOT NULL,
    split VARCHAR(16) NOT NULL, rule TEXT NOT NULL, left_out TEXT NOT NULL, created FLOAT NOT NULL, seen FLOAT,
    confirmation TEXT NOT NULL, PRIMARY KEY (id), UNIQUE (name)
);
CREATE INDEX ix_experiments_corpus_id ON experiments (corpus_id);
CREATE TABLE cells (
    experiment_id VARCHAR(64) NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, index_config TEXT NOT NULL,
    run_config TEXT NOT NULL, state VARCHAR(16) NOT NULL, reason TEXT NOT NULL, index_id VARCHAR(64) NOT NULL,
    run_id VARCHAR(64) NOT NULL, PRIMARY KEY (experiment_id, number)
);
"""

_VERDICTS = """
CREATE TABLE verdicts (
    subject VARCHAR(64) NOT NULL, judge VARCHAR(64) NOT NULL, chunk VARCHAR(64) NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (subject, judge, chunk)
);
"""

_VERSIONS_AND_REVIEWS = """
CREATE TABLE set_facts (
    set_id VARCHAR(64) NOT NULL, name VARCHAR(32) NOT NULL, body TEXT NOT NULL, PRIMARY KEY (set_id, name)
);
CREATE TABLE set_versions (
    set_id VARCHAR(64) NOT NULL, number INTEGER NOT NULL, created FLOAT NOT NULL, author TEXT NOT NULL,
    action TEXT NOT NULL, edit_key TEXT NOT NULL, PRIMARY KEY (set_id, number)
);
CREATE TABLE question_changes (
    set_id VARCHAR(64) NOT NULL, number INTEGER NOT NULL, question_id VARCHAR(64) NOT NULL, before TEXT NOT NULL,
    PRIMARY KEY (set_id, number, question_id)
);
CREATE TABLE reviews (
    set_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, reviewer VARCHAR(200) NOT NULL,
    assigned FLOAT NOT NULL, verdict VARCHAR(16) NOT NULL, decided FLOAT, version VARCHAR(64) NOT NULL,
    PRIMARY KEY (set_id, question_id, reviewer)
);
CREATE TABLE comments (
    set_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, author TEXT NOT NULL,
    text TEXT NOT NULL, created FLOAT NOT NULL, PRIMARY KEY (set_id, id)
);
"""

_PRESSES = """
ALTER TABLE jobs ADD COLUMN press VARCHAR(64) NOT NULL DEFAULT '';
CREATE INDEX ix_jobs_press ON jobs (press);
"""

# What was stored before names no documents: each run and set may name any document of its corpus.
_FORMER_DOCUMENTS = """
CREATE TABLE former_documents (
    corpus_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, name TEXT NOT NULL, PRIMARY KEY (corpus_id, id)
);
CREATE TABLE mentions (
    owner_id VARCHAR(64) NOT NULL, document_id VARCHAR(64) NOT NULL, PRIMARY KEY (owner_id, document_id)
);
CREATE INDEX ix_mentions_document_id ON mentions (document_id);
INSERT INTO mentions (owner_id, document_id)
    SELECT runs.id, documents.id FROM runs JOIN documents ON documents.corpus_id = runs.corpus_id;
INSERT INTO mentions (owner_id, document_id)
    SELECT question_sets.id, documents.id FROM question_sets
    JOIN documents ON documents.corpus_id = question_sets.corpus_id;
"""

MIGRATIONS = (
    _FIRST,
    _JUDGEMENTS_AND_SCORES,
    _PAYMENTS,
    _DOCUMENTS_BY_NAME,
    _REVISIONS,
    _IN_ORDER,
    _MOVES,
    _RECEIPTS,
    _LABELS_AND_SUMMARIES,
    _SPLITS,
    _EXPERIMENTS,
    _VERDICTS,
    _VERSIONS_AND_REVIEWS,
    _PRESSES,
    _FORMER_DOCUMENTS,
)
"""Each brings the schema from version i to i + 1."""


def statements(migration: str, dialect: str) -> list[str]:
    r"""Return the SQL statements of a migration as the database of that name takes them.

    >>> statements("CREATE TABLE a (b {bytes});\nCREATE INDEX c ON a (b);", "postgresql")
    ['CREATE TABLE a (b BYTEA)', 'CREATE INDEX c ON a (b)']
    """
    of_bytes = {"postgresql": "BYTEA"}.get(dialect, "BLOB")
    return [part.strip() for part in migration.replace("{bytes}", of_bytes).split(";") if part.strip()]
