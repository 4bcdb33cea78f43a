"""Prices of models, for every process at the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from ragviz.core.errors import UsageError
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.transactions import Repository
from ragviz.text.untrusted import storable

if TYPE_CHECKING:
    from ragviz.models.prices import Prices


class StoredPrices(Repository):
    """Dollars per million input and output tokens, by the beginning of a model's name."""

    def all(self) -> dict[str, tuple[float, float]]:
        """Return all prices, by name."""
        rows = self._rows(sa.select(schema.prices).order_by(schema.prices.c.model))
        return {row.model: (row.input, row.output) for row in rows}

    @repeated
    def put(self, prices: Prices, before: Prices | None = None) -> None:
        """Store these prices in place of all; with `before`, those of them that differ from it.

        Raises:
            UsageError: a model has no name, a price is not a number from 0 to a million, or another process changed the
                same price since it was as in `before`.

        """
        from ragviz.models.prices import merged_prices

        for name, pair in prices.items():
            if not name.strip() or storable(name) != name or not all(0 <= price < 1e6 for price in pair):
                raise UsageError(f"{name!r} at {pair} is not a price: give a model's name, and two numbers from 0 up.")
        table = schema.prices
        with self._transactions.writing() as connection:
            now = {row.model: (row.input, row.output) for row in connection.execute(sa.select(table))}
            merged = prices if before is None else merged_prices(before, prices, now)
            connection.execute(table.delete())
            if merged:
                rows = [{"model": name, "input": pair[0], "output": pair[1]} for name, pair in merged.items()]
                connection.execute(table.insert(), rows)
