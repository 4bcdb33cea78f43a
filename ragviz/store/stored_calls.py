"""What calls of models returned and cost, and how fast a machine works."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ragviz.core.call import Exceeded, Limits, Paid
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.reply_cache import Cache
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.transactions import Repository, Transactions, batches, insert_missing, upsert
from ragviz.text.untrusted import storable

if TYPE_CHECKING:
    from ragviz.models.requests import Prices


class StoredCache(Repository):
    """A `Cache` in the store: one kind of content-addressed bytes."""

    def __init__(self, transactions: Transactions, kind: str) -> None:
        super().__init__(transactions)
        self._kind = kind

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values; absent keys are left out."""
        if len(keys) == 1:  # before each call of a model: a list in a query takes half as long again
            return dict(map(tuple, self._transactions.rows(_CACHED_ONE, {"kind": self._kind, "key": keys[0]})))
        found: dict[str, bytes] = {}
        for batch in batches(list(dict.fromkeys(keys))):
            found.update(map(tuple, self._transactions.rows(_CACHED, {"kind": self._kind, "keys": batch})))
        return found

    def held(self, keys: Sequence[str]) -> set[str]:
        """Return those of `keys` that are cached; no value is read."""
        table = schema.cache.c
        query = sa.select(table.key).where(table.kind == self._kind)
        return {row.key for row in self._transactions.rows_of(query, table.key, keys)}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`; existing keys are overwritten. A store for reading only forgets them."""
        if self._transactions.read_only:
            return
        self._transactions.upsert(schema.cache, [{"kind": self._kind, "key": k, "value": v} for k, v in items.items()])


class StoredNotes(StoredCache):
    """A `Cache` of few entries: all are read once, those that other processes add later are not seen."""

    def __init__(self, transactions: Transactions, kind: str) -> None:
        """Read the entries of `kind`."""
        super().__init__(transactions, kind)
        table = schema.cache.c
        rows = self._rows(sa.select(table.key, table.value).where(table.kind == kind))
        self._notes: dict[str, bytes] = dict(map(tuple, rows))

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values; absent keys are left out."""
        return {key: self._notes[key] for key in keys if key in self._notes}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`; existing keys are overwritten."""
        super().put_many(items)
        self._notes.update(items)


_OF_KIND = sa.select(schema.cache.c.key, schema.cache.c.value).where(schema.cache.c.kind == sa.bindparam("kind"))
_CACHED = _OF_KIND.where(schema.cache.c.key.in_(sa.bindparam("keys", expanding=True)))
_CACHED_ONE = _OF_KIND.where(schema.cache.c.key == sa.bindparam("key"))


class StoredPool(Repository):
    """A `Pool` in the store."""

    def verdicts(self, subjects: Sequence[str], judge: str = "") -> Iterator[tuple[str, str, str, str]]:
        """Yield (subject, judge, chunk, body) of every verdict on these subjects, by one judge or by all."""
        query, by = (_VERDICTS_BY, {"judge": judge}) if judge else (_VERDICTS, {})
        for batch in batches(list(dict.fromkeys(subjects))):
            yield from map(tuple, self._transactions.rows(query, {"subjects": batch} | by))

    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts of a judge: body by (subject, chunk); one that is there is replaced."""
        rows = [
            {"subject": subject, "judge": judge, "chunk": chunk, "body": body}
            for (subject, chunk), body in verdicts.items()
        ]
        self._transactions.upsert(schema.verdicts, rows)


_VERDICTS = sa.select(
    schema.verdicts.c.subject, schema.verdicts.c.judge, schema.verdicts.c.chunk, schema.verdicts.c.body
).where(schema.verdicts.c.subject.in_(sa.bindparam("subjects", expanding=True)))
_VERDICTS_BY = _VERDICTS.where(schema.verdicts.c.judge == sa.bindparam("judge"))


_NONE = Limits()


class StoredPayments(Repository):
    """The calls of models that were paid, by the id of what they were made for."""

    @repeated
    def add(self, owner_id: str, paid: Paid, limits: Limits = _NONE, person: str = "") -> Exceeded | None:
        """Add to the cost of model calls of a run, question set or index, by its id, and to a person's month.

        When a limit does not hold the sum, nothing is added, and the limit is returned.
        """
        today = datetime.now(UTC).date()
        month, payments, spent = today.isoformat()[:7], schema.payments, schema.spent
        mine = sa.select(spent).where(spent.c.person == person, spent.c.month == month)
        with self._transactions.changing(owner_id, "run", "questions", "index") as connection:
            nothing = {"person": person, "month": month} | asdict(Paid())
            insert_missing(connection, spent, [nothing])  # there is a row to lock
            of_month = paid + _paid(connection.execute(mine.with_for_update()).first())
            total = paid + _paid(connection.execute(sa.select(payments).where(payments.c.owner_id == owner_id)).first())
            if limits.budget is not None and total.dollars > limits.budget:
                return Exceeded(total.dollars, limits.budget)
            if limits.monthly is not None and of_month.dollars > limits.monthly:
                renewed = (today.replace(day=1) + timedelta(days=31)).replace(day=1)
                return Exceeded(of_month.dollars, limits.monthly, person, renewed.isoformat())
            upsert(connection, payments, [{"owner_id": owner_id} | asdict(total)])
            upsert(connection, spent, [nothing | asdict(of_month)])
        return None

    def of_month(self, person: str, month: str) -> Paid:
        """Return what a person paid in a calendar month (UTC), as 2026-11."""
        spent = schema.spent
        rows = self._transactions.rows(sa.select(spent).where(spent.c.person == person, spent.c.month == month))
        return _paid(rows[0] if rows else None)

    def of_months(self) -> list[tuple[str, str, Paid]]:
        """Return (month, person, what they paid in it), the newest month first, by person."""
        spent = schema.spent
        rows = self._transactions.rows(sa.select(spent).order_by(spent.c.month.desc(), spent.c.person))
        return [(row.month, row.person, _paid(row)) for row in rows]

    def of(self, owner_id: str) -> Paid:
        """Return what a run, question set or index paid."""
        rows = self._transactions.rows(sa.select(schema.payments).where(schema.payments.c.owner_id == owner_id))
        return _paid(rows[0] if rows else None)

    def sum(self) -> Paid:
        """Return what all that is in the store paid."""
        columns = [sa.func.coalesce(sa.func.sum(schema.payments.c[field.name]), 0) for field in fields(Paid)]
        return Paid(*self._transactions.rows(sa.select(*columns))[0])


def _paid(row: Any) -> Paid:
    return Paid(row.calls, row.prompt_tokens, row.completion_tokens, row.dollars) if row else Paid()


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
        from ragviz.models.requests import merged_prices

        for name, pair in prices.items():
            if not name.strip() or storable(name) != name or not all(0 <= price < 1e6 for price in pair):
                raise UsageError(f"{name!r} at {pair} is not a price: give a model's name, and two numbers from 0 up.")
        table = schema.prices
        with self._transactions.writing() as connection:
            now = {row.model: (row.input, row.output) for row in connection.execute(sa.select(table))}
            merged = prices if before is None else merged_prices(before, prices, now)
            connection.execute(table.delete().where(table.c.model.in_(now.keys() - merged.keys())))
            changed = {name: pair for name, pair in merged.items() if now.get(name) != pair}
            rows = [{"model": name, "input": pair[0], "output": pair[1]} for name, pair in changed.items()]
            upsert(connection, table, rows)


HISTORY = 600.0
"""Seconds of work that count: of longer ones the earlier fade, so that a rate follows the machine's load."""


def learn(cache: Cache, work: str, units: float, seconds: float) -> None:
    """Add `units` of a kind of `work`, done in `seconds`, to what is known of it; nothing when either is not above 0.

    Of two processes that learn at the same moment, the later one is kept.
    """
    if units <= 0 or seconds <= 0:
        return
    key = _key(work)
    known_units, known_seconds = json.loads(cache.get_many([key]).get(key, b"[0, 0]"))
    kept = min(1.0, max(0.0, HISTORY - seconds) / known_seconds) if known_seconds else 0.0
    sums = (kept * known_units + units, kept * known_seconds + seconds)
    cache.put_many({key: json.dumps(sums).encode()})


def rate(cache: Cache, work: str) -> float | None:
    """Return the units a second of a kind of `work` on this machine, None before any was done."""
    key = _key(work)
    units, seconds = json.loads(cache.get_many([key]).get(key, b"[0, 0]"))
    return units / seconds if seconds else None


def duration(cache: Cache, work: str, units: float) -> float | None:
    """Return the seconds that `units` of a kind of `work` take on this machine, None before any was done."""
    learnt = rate(cache, work)
    return None if learnt is None else units / learnt


def _key(work: str) -> str:
    return digest(socket.gethostname(), work)
