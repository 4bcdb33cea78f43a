"""The runs in the store: what they are, how they are called, what is measured of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ragviz.core.chunk import Chunk
from ragviz.core.configuration import RunConfig
from ragviz.core.digests import new_id
from ragviz.core.errors import UsageError
from ragviz.core.run_info import Run
from ragviz.store import schema, stored_rankings
from ragviz.store.codecs import columns
from ragviz.store.database import repeated
from ragviz.store.named_records import NamedRecords, is_text, plain_name, taken
from ragviz.store.stored_evidence import StoredEvidence
from ragviz.store.transactions import batches, count_change, drop_count, require, upsert
from ragviz.text.untrusted import storable

LONGEST_TAG, MOST_TAGS, LONGEST_NOTE = 50, 20, 2_000
"""Characters of a tag, tags of a run, characters of its note, at most."""


class StoredRuns(NamedRecords[Run]):
    """Runs, with their summaries."""

    kind, record, newest_first = "run", Run, True

    def add(self, name: str, corpus_id: str, config: RunConfig, fingerprint: str, provenance: Mapping[str, Any]) -> Run:
        """Create the row of a run that is about to start; UsageError when the name is blank or taken."""
        name = self.free_name(name)
        known = _in_order(provenance)
        run = Run(new_id(), corpus_id, name, config, fingerprint, known, "running", time.time(), None)
        self._insert(columns(run, schema.runs))
        return run

    def get(self, name: str) -> Run:
        """Return the run with this name or id, else the one that was called so, or raise NotFoundError."""
        if (found := self.find(name)) is not None:
            return found
        former = schema.former_names.c
        called = former.name == plain_name(name) if is_text(name) else sa.false()
        renamed = sa.select(schema.runs).join(schema.former_names, former.run_id == schema.runs.c.id)
        return next(iter(self._records(self._rows(renamed.where(called)))), None) or self._unknown(name)

    def names(self, given: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return id and present name of the runs with these names, ids or former names, by what was given.

        What is no run's is left out. A name goes before an id, both before a former name.
        """
        asked = list(dict.fromkeys(plain_name(name) for name in given if is_text(name)))
        runs, former = schema.runs.c, schema.former_names.c

        def found_by(column: sa.Column[str], place: int) -> sa.Select[Any]:
            chosen = sa.select(runs.id, runs.name, column.label("given"), sa.literal(place).label("place"))
            return chosen.where(column.in_(asked))

        formerly = found_by(former.name, 2).join_from(schema.former_names, schema.runs, former.run_id == runs.id)
        query = sa.union_all(found_by(runs.name, 0), found_by(runs.id, 1), formerly)
        rows = sorted(self._rows(query), key=lambda row: -row.place) if asked else []
        found = {row.given: (row.id, row.name) for row in rows}
        return {name: found[plain_name(name)] for name in given if plain_name(name) in found}

    @repeated
    def set_status(self, run_id: str, status: Literal["done", "failed", "running"]) -> None:
        """Set the status of a run ("running" resumes it)."""
        finished = None if status == "running" else time.time()
        with self._transactions.changing(run_id, "run") as connection:
            connection.execute(self._update(run_id).values(status=status, finished=finished))

    @repeated
    def note(self, run_id: str, **facts: Any) -> None:
        """Add facts that became known during a run to its provenance; its fingerprint stays."""
        runs = schema.runs.c
        with self._transactions.changing(run_id, "run") as connection:
            known = connection.execute(sa.select(runs.provenance).where(runs.id == run_id)).scalar_one()
            connection.execute(self._update(run_id).values(provenance=_in_order({**known, **facts})))

    @repeated
    def configure(self, run_id: str, config: RunConfig, fingerprint: str) -> Run:
        """Replace the choices of a run that is measured anew, and its fingerprint; return it."""
        with self._transactions.changing(run_id, "run") as connection:
            connection.execute(self._update(run_id).values(config=config, fingerprint=fingerprint))
        return self.get(run_id)

    @repeated
    def rename(self, run_id: str, name: str) -> None:
        """Give a finished run another name; `get` finds it by its former names too, until others take them.

        Raises:
            UsageError: the name is blank or taken, or the run is not finished: its job knows it by its name.
            Deleted: there is no such run (any more).

        """
        runs, former = schema.runs, schema.former_names
        mine = sa.select(runs.c.name, runs.c.status).where(runs.c.id == run_id)
        if plain_name(name) in [row.name for row in self._rows(mine)]:
            return
        name = self.free_name(name)
        try:
            with self._transactions.changing(run_id, "run") as connection:
                before = connection.execute(mine).one()
                if before.status == "running":
                    raise UsageError(f"Run '{before.name}' is not finished: rename it when it is.")
                # The new name is no former one; the old one was perhaps another's.
                connection.execute(former.delete().where(former.c.name.in_([name, before.name])))
                connection.execute(former.insert().values(name=before.name, run_id=run_id))
                connection.execute(self._update(run_id).values(name=name))
                _keep_summary(connection, run_id)
        except sa.exc.IntegrityError:
            raise taken("run", name) from None

    @repeated
    def label(self, run_id: str, *, note: str | None = None, tags: Sequence[str] | None = None) -> None:
        """Replace the note or the tags of a run; None leaves them.

        Raises:
            UsageError: the note is longer than `LONGEST_NOTE`; a tag is blank, has a comma or line end, or is
                longer than `LONGEST_TAG`.
            Deleted: there is no such run (any more).

        """
        if note is not None and len(note.strip()) > LONGEST_NOTE:
            raise UsageError(f"The note has {len(note.strip()):,} characters; it can have {LONGEST_NOTE:,}.")
        values: dict[str, Any] = {} if note is None else {"note": str(storable(note.strip()))}
        values |= {} if tags is None else {"tags": checked_tags(tags)}
        if values:
            with self._transactions.changing(run_id, "run") as connection:
                connection.execute(self._update(run_id).values(**values))
                _keep_summary(connection, run_id)

    def _update(self, run_id: str) -> sa.Update:
        return schema.runs.update().where(schema.runs.c.id == run_id)

    def summaries(self, run_ids: Sequence[str], version: str) -> dict[str, Any]:
        """Return the stored summaries of this version that are up to date, by run id; one query for 500 runs."""
        query = self._up_to_date(schema.summaries.c.body, version)
        return {row.run_id: row.body for row in self._transactions.rows_of(query, schema.summaries.c.run_id, run_ids)}

    def overview(self, run_id: str, version: str) -> Any:
        """Return what `put_summary` stored as the overview of a run, None where that is of an earlier state."""
        query = self._up_to_date(schema.summaries.c.overview, version).where(schema.summaries.c.run_id == run_id)
        return next((row.overview for row in self._rows(query)), None)

    def _up_to_date(self, column: sa.Column[str], version: str) -> sa.Select[Any]:
        table, revisions = schema.summaries, schema.revisions
        query = sa.select(table.c.run_id, column).join(revisions, revisions.c.owner_id == table.c.run_id)
        return query.where(table.c.version == version, table.c.revision == revisions.c.number)

    @repeated
    def put_summary(self, run_id: str, revision: int, version: str, body: Any, overview: Any) -> None:
        """Store the summary and the overview of a run as of this count of its changes, in place of older ones.

        Raises:
            Deleted: there is no such run (any more).

        """
        row = {"run_id": run_id, "revision": revision, "version": version, "body": body, "overview": overview}
        with self._transactions.writing() as connection:
            require(connection, run_id, "run")
            upsert(connection, schema.summaries, [row])

    def delete(self, run_id: str) -> None:
        """Delete a run with its results, the passages of an imported one, and replaced texts that only it names."""
        for corpus_id in self._corpus_of(run_id):
            self._delete(run_id)
            StoredEvidence(self._transactions).settle(corpus_id)

    @repeated
    def _delete(self, run_id: str) -> None:
        with self._transactions.writing() as connection:
            delete_rows(connection, run_id)


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Return tags without blanks at their ends and without repetitions, in order.

    Raises:
        UsageError: one is blank, holds a comma or a line end, or is longer than `LONGEST_TAG`; more than `MOST_TAGS`.

    >>> checked_tags([" baseline", "v2", "baseline"])
    ['baseline', 'v2']
    """
    checked = list(dict.fromkeys(tag.strip() for tag in tags))
    for tag in checked:
        if not tag or len(tag) > LONGEST_TAG or "," in tag or not tag.isprintable():
            raise UsageError(
                f"'{tag[:60]}' cannot be a tag: give 1 to {LONGEST_TAG} printable characters without a comma."
            )
    if len(checked) > MOST_TAGS:
        raise UsageError(f"{len(checked)} tags are too many: a run has at most {MOST_TAGS}.")
    return checked


def _in_order(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run rests on as JSON holds it, in the order of the names, at every depth."""
    ordered: dict[str, Any] = json.loads(json.dumps(provenance, sort_keys=True))
    return ordered


def _keep_summary(connection: Connection, run_id: str) -> None:
    """Keep the summary of a run valid over a change, counted just before, that none of its numbers depend on."""
    keep = "UPDATE summaries SET revision = revision + 1 WHERE run_id = :id AND revision = "
    keep += "(SELECT number - 1 FROM revisions WHERE owner_id = :id)"
    connection.execute(sa.text(keep), {"id": run_id})


def delete_rows(connection: Connection, run_id: str) -> None:
    """Delete a run with all its rows, and the passages of an imported one."""
    count_change(connection, run_id)  # waits for other writers of it
    runs, documents = schema.runs.c, schema.documents
    run = connection.execute(sa.select(runs.corpus_id, runs.config).where(runs.id == run_id)).first()
    if run is not None and not run.config.index:
        places = map(Chunk.parse_id, stored_rankings.chunk_ids(connection, run_id))
        for batch in batches(sorted({place[0] for place in places if place})):
            mine = sa.and_(documents.c.corpus_id == run.corpus_id, documents.c.id.in_(batch))
            connection.execute(documents.delete().where(mine, documents.c.status == "passage"))
    for table in (
        schema.results, schema.run_chunks, schema.judgements, schema.scores, schema.summaries, schema.former_names,
    ):  # fmt: skip
        connection.execute(table.delete().where(table.c.run_id == run_id))
    for table in (schema.payments, schema.mentions):
        connection.execute(table.delete().where(table.c.owner_id == run_id))
    connection.execute(schema.runs.delete().where(runs.id == run_id))
    drop_count(connection, run_id)
