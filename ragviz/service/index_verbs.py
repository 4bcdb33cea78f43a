"""What can be done to indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Corpus
from ragviz.core.job import NewJob
from ragviz.index import deletion, indexing
from ragviz.service.access import verb
from ragviz.workspace import Workspace


@verb("viewer", "configure an index")
def configured(workspace: Workspace, name: str, given: Mapping[str, Any]) -> IndexConfig:
    """Return the choices of the index `name` of which `given` is said: of one that exists, all else stays as built.

    Raises:
        UsageError: there is no such choice; a value has the wrong type, or is out of range.

    """
    existing = workspace.store.indexes.find(name)
    return indexing.index_config(workspace, given, existing.config if existing else None)


@verb("editor", "build an index")
def build(
    workspace: Workspace, corpus: Corpus, name: str, given: Mapping[str, Any] | None = None, *, fresh: bool = False
) -> NewJob:
    """Build an index of a corpus, or bring the one of this name up to date: what is not `given` stays as it was built.

    `fresh` builds it anew where nothing changed.

    Raises:
        UsageError: a choice cannot be used; no text in the corpus; the name belongs to another corpus.

    """
    config = configured(workspace, name, given or {})
    indexing.check_build(workspace, corpus, name, config)
    arguments = {"corpus": corpus.name, "name": name, "config": asdict(config), "fresh": fresh}
    return NewJob("index", f"Build {name}", corpus.id, arguments)


delete = verb("editor", "delete an index")(deletion.delete_index)
