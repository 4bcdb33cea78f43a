"""Work that is divided into shards, which several machines take, in the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from ragviz.core.share import Share
from ragviz.core.stopping import current
from ragviz.store import schema
from ragviz.store.database import Undone, repeated
from ragviz.store.schema import columns, record
from ragviz.store.transactions import Repository, insert

PAUSE = 0.2
"""Seconds between two looks at whether others have done their shards."""
_log = logging.getLogger("ragviz")
_FOR_LONG = (
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL tcp_keepalives_idle = 15",
    "SET LOCAL tcp_keepalives_interval = 5",
    "SET LOCAL tcp_keepalives_count = 3",
)
"""For a transaction that lasts as long as a shard: the server ends it half a minute after its machine is lost."""


class StoredShares(Repository):
    """Shares and their shards. A shard belongs to whoever has locked its row: it is free when that process ends."""

    @repeated
    def offer(self, share: Share, bodies: Sequence[bytes]) -> None:
        """Store a share and its shards, in place of an earlier one of the same work."""
        rows = [{"share_id": share.id, "number": n, "body": body} for n, body in enumerate(bodies)]
        with self._transactions.writing() as connection:
            connection.execute(schema.shares.delete().where(schema.shares.c.subject == share.subject))
            connection.execute(schema.shares.insert().values(**columns(share, schema.shares)))
            insert(connection, schema.shards, rows)

    def all(self) -> list[Share]:
        """Return the shares that have shards to be done."""
        table = schema.shards.c
        open_ = sa.exists().where(table.share_id == schema.shares.c.id, table.done.is_(None))
        return [record(Share, row) for row in self._rows(sa.select(schema.shares).where(open_))]

    def find(self, share_id: str) -> Share | None:
        """Return the share with this id, None when all of it is done, or its job has ended."""
        return next((share for share in self.all() if share.id == share_id), None)

    def left(self, share_id: str, before: int | None = None) -> int:
        """Count the shards that are not done, of the first `before`; 0 when the work has ended."""
        table = schema.shards.c
        wanted = [table.share_id == share_id, table.done.is_(None)]
        wanted += [] if before is None else [table.number < before]
        known = sa.exists().where(schema.shares.c.id == share_id)
        [row] = self._rows(sa.select(sa.func.count().label("left")).select_from(schema.shards).where(known, *wanted))
        return int(row.left)

    def done(self, share_id: str) -> int:
        """Return what the shards that are done have counted, in all."""
        table = schema.shards.c
        total = sa.func.coalesce(sa.func.sum(table.done), 0).label("total")
        [row] = self._rows(sa.select(total).where(table.share_id == share_id))
        return int(row.total)

    def take(self, share_id: str, work: Callable[[bytes], int]) -> bool:
        """Do the first shard that nobody is at: `work` gets its body, and returns a count; False when there is none.

        An error of `work` is raised, and the shard is free again.
        """
        table = schema.shards.c
        free = sa.select(schema.shards).where(table.share_id == share_id, table.done.is_(None)).order_by(table.number)
        try:
            with self._transactions.writing() as connection:
                for setting in _FOR_LONG:
                    connection.execute(sa.text(setting))
                row = connection.execute(free.limit(1).with_for_update(skip_locked=True)).first()
                if row is None:
                    return False
                mine = sa.and_(table.share_id == share_id, table.number == row.number)
                connection.execute(schema.shards.update().where(mine).values(done=work(row.body)))
        except Undone as error:  # the connection was lost: whoever takes it next finds what was done of it
            _log.warning("%s", error)
        return True

    def reached(self, share: Share) -> int:
        """Return how many of the `total` of a share are done, by the shards that are."""
        total, size = int(share.facts["total"]), int(share.facts["size"])
        return total - min(total, size * self.left(share.id))

    def take_all(
        self, share: Share, work: Callable[[bytes], int], waiting: Callable[[], None], before: int | None = None
    ) -> None:
        """Do shards until none is left, of the first `before`; `waiting` is called while others are at them.

        Raises as `take`.
        """
        while self.left(share.id, before):
            if not self.take(share.id, work):
                waiting()
                current().pause(PAUSE)

    @contextmanager
    def offered(self, share: Share, bodies: Sequence[bytes]) -> Iterator[None]:
        """Offer a share within a `with` block, at whose end it ends."""
        self.offer(share, bodies)
        try:
            yield
        finally:
            self.drop(share.id)

    @repeated
    def drop(self, share_id: str) -> None:
        """End a share: its shards are gone; one that somebody is at is deleted with the next share that ends."""
        shards, shares = schema.shards.c, schema.shares.c
        with self._transactions.writing() as connection:
            connection.execute(schema.shares.delete().where(shares.id == share_id))
            ended = shards.share_id.not_in(sa.select(shares.id))
            free = sa.select(shards.share_id, shards.number).where(ended).with_for_update(skip_locked=True)
            connection.execute(schema.shards.delete().where(sa.tuple_(shards.share_id, shards.number).in_(free)))
