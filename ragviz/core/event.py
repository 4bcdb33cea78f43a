"""What was done, by whom, when: an entry of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a person did; entries are only ever added.

    `verb` and `noun` say what was done ("delete", "corpus"), `subject` and `name` are the id and the name of what it
    was done to, "" where it has none. The end of a job has no `role`. `details` hold names, numbers and what was paid:
    no text of a document and no secret.
    """

    id: str
    time: float
    person: str
    role: str
    verb: str
    noun: str
    subject: str
    name: str
    details: Mapping[str, Any]

    @property
    def when(self) -> str:
        """Its time in UTC, as 2026-11-27T21:58:59.123Z."""
        return datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self) | {"time": self.when}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are looked for: since a time (seconds since 1970), of a person, of a verb; "" is any."""

    since: float = 0.0
    person: str = ""
    verb: str = ""
