"""What can be seen of what was done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ragviz.core.errors import UsageError
from ragviz.core.event import Event, Wanted
from ragviz.service.access import verb
from ragviz.workspace import Workspace


def since(text: str) -> float:
    """Return the time of a day or moment in UTC, as 2026-11-27 or 2026-11-27T21:58, in seconds since 1970; "" is 0.

    Raises:
        UsageError: it is none.

    """
    if not text:
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"'{text}' is no time: write 2026-11-27 or 2026-11-27T21:58, in UTC.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@verb("admin", "read the audit", noted="never")
def events(workspace: Workspace, wanted: Wanted) -> Iterator[Event]:
    """Yield what was done, the oldest first; a part is read at a time."""
    return workspace.store.events.all(wanted)


@verb("admin", "read the audit", noted="never")
def count(workspace: Workspace, wanted: Wanted) -> int:
    """Return how many events there are."""
    return workspace.store.events.count(wanted)


@verb("admin", "read the audit", noted="never")
def newest(workspace: Workspace, wanted: Wanted, start: int, end: int) -> list[Event]:
    """Return the events from place `start` to before `end`, the newest first; no other is read."""
    return workspace.store.events.newest(wanted, start, end)
