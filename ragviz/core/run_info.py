"""The stored row of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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

    @property
    def answered_by(self) -> str:
        """Who answered its questions; "" where nobody did."""
        if not self.knows.answers:
            return ""
        return "another system" if self.knows.opaque else self.config.model or self.config.answerer

    @property
    def ranked_by(self) -> str:
        """Its retriever and reranker; "" where they are not known."""
        return "" if self.knows.opaque else self.config.ranked_by

    @property
    def choices(self) -> dict[str, Any]:
        """Its choices by name, its index under "index"; of another system's run only those of judging."""
        choices = {key: value for key, value in asdict(self.config).items() if key not in ("index", "questions")}
        if self.knows.opaque:
            return {key: choices[key] for key in ("metrics", "judge")}
        return choices | {"index": {"name": self.provenance["index"], **(self.provenance["index_config"] or {})}}

    @property
    def index_name(self) -> str:
        """The name of its index; "" where it has none."""
        return "" if self.knows.opaque else str(self.provenance["index"])
