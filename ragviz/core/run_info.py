"""The stored row of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragviz.core.configuration import RunConfig
from ragviz.core.recording import Knows

RunStatus = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run. `provenance` holds names, hashes and versions of what it used, as they were when it started.

    `note` and `tags` are a person's; they can be changed at any time, and no number depends on them.
    """

    id: str
    corpus_id: str
    name: str
    config: RunConfig
    fingerprint: str
    provenance: Mapping[str, Any]
    status: RunStatus
    created: float
    finished: float | None
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def knows(self) -> Knows:
        """What its recordings can tell: what follows from its choices, and what was noted of those made elsewhere."""
        return replace(self.config.knows, **self.provenance.get("knows", {}))
