"""Work that several machines do together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Noun = Literal["index", "run"]
"""What is worked on together."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a job that others may help with: an index's chunks to embed, a run's questions to retrieve for.

    `subject` is the id of the index or run; `place` is where the job is done that offers it. `facts` are what a helper
    has to know beside the shards, as JSON can hold it: there are `total` chunks or questions in shards of `size`, and
    `pid` is the process there.
    """

    id: str
    noun: Noun
    subject: str
    corpus_id: str
    title: str
    person: str
    place: str
    facts: Mapping[str, Any]
