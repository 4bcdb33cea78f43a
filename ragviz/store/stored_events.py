"""The audit: what was done, by whom, when. It is only ever added to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from ragviz.core.event import Event, Wanted
from ragviz.store import schema
from ragviz.store.schema import record
from ragviz.store.transactions import BATCH, Repository, is_text

_EVENTS = schema.events.c


class StoredEvents(Repository):
    """Events, by their time."""

    def count(self, wanted: Wanted) -> int:
        """Return how many there are."""
        return int(self._rows(_of(wanted, sa.func.count()))[0][0])

    def newest(self, wanted: Wanted, start: int, end: int) -> list[Event]:
        """Return those from place `start` to before `end`, the newest first."""
        query = _of(wanted, *_EVENTS).order_by(_EVENTS.time.desc(), _EVENTS.id.desc())
        return [record(Event, row) for row in self._rows(query.offset(start).limit(end - start))]

    def all(self, wanted: Wanted) -> Iterator[Event]:
        """Yield them, the oldest first; a part is read at a time."""
        last = ""  # id of the last one that was read, at the time `wanted.since`
        while True:
            later = sa.or_(_EVENTS.time > wanted.since, _EVENTS.id > last)
            query = _of(wanted, *_EVENTS).where(later).order_by(_EVENTS.time, _EVENTS.id)
            rows = self._rows(query.limit(BATCH))
            yield from (record(Event, row) for row in rows)
            if len(rows) < BATCH:
                return
            wanted, last = replace(wanted, since=rows[-1].time), rows[-1].id


def _of(wanted: Wanted, *columns: Any) -> sa.Select[Any]:
    query: sa.Select[Any] = sa.select(*columns).select_from(schema.events).where(_EVENTS.time >= wanted.since)
    for column, value in ((_EVENTS.person, wanted.person), (_EVENTS.verb, wanted.verb)):
        if value:
            query = query.where(column == value if is_text(value) else sa.false())
    return query
