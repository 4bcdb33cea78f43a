"""What runs, question sets and indexes have paid for calls of models."""

from __future__ import annotations

import sqlalchemy as sa

from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.transactions import Repository, upsert


class StoredPayments(Repository):
    """The calls of models that were paid, by the id of what they were made for."""

    @repeated
    def add(self, owner_id: str, calls: int, dollars: float, most: float | None = None) -> float:
        """Add to the cost of model calls of a run, question set or index, by its id, and return all its dollars.

        When those would exceed `most`, nothing is added.
        """
        query = sa.select(schema.payments).where(schema.payments.c.owner_id == owner_id)
        with self._transactions.changing(owner_id, "run", "questions", "index") as connection:
            paid = connection.execute(query).first()
            total = float(dollars + (paid.dollars if paid else 0.0))
            if most is None or total <= most:
                row = {"owner_id": owner_id, "calls": calls + (paid.calls if paid else 0), "dollars": total}
                upsert(connection, schema.payments, [row])
        return total

    def of(self, owner_id: str) -> tuple[int, float]:
        """Return the model calls that a run, question set or index paid, and their dollars (0 without a price)."""
        rows = self._transactions.rows(sa.select(schema.payments).where(schema.payments.c.owner_id == owner_id))
        return (rows[0].calls, rows[0].dollars) if rows else (0, 0.0)
