"""Work that several machines do together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a job that others may help with: an index's chunks to embed, a run's questions to retrieve for.

    `subject` is the id of the index or run; `place` is where the job is done that offers it. `facts` are what a helper
    has to know beside the shards, as JSON can hold it; `pid` is the process there.
    """

    id: str
    noun: Literal["index", "run"]
    subject: str
    corpus_id: str
    title: str
    person: str
    place: str
    facts: Mapping[str, Any]
