"""Indexes without a row: built to be searched once, in no list, and dropped at the end.

They are on the backend of their configuration, so that they rank as an index that is kept would. What a killed process
left of them is dropped when the next one is built.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from ragviz.core import processes
from ragviz.core.configuration import IndexConfig, IndexInfo
from ragviz.core.digests import new_id
from ragviz.core.errors import RagvizError
from ragviz.core.stopping import Progress, silent
from ragviz.index import damage, indexing
from ragviz.models.requests import Spending
from ragviz.store.schema import Cuts
from ragviz.workspace import Workspace

NAME = "unlisted"
"""What such an index is called on its backend, with an id behind."""
_OPEN = "open"  # key of the indexes that are there now, in the cache of this kind


@contextmanager
def unlisted(
    workspace: Workspace, corpus_id: str, config: IndexConfig, spending: Spending, progress: Progress = silent
) -> Iterator[tuple[IndexInfo, Mapping[str, Cuts]]]:
    """Build an index of the readable documents of a corpus, and yield it with its cuts; drop it at the end.

    Its texts are embedded with the cache of all indexes: what was embedded before is not embedded again, and what this
    one embeds is kept, so that building it anew (after a kill, or to keep it) costs no call.

    Raises:
        UsageError: a choice cannot be used.
        SearchError, ModelError: the index's or the embedder's server fails.

    """
    _drop_left(workspace)
    documents = tuple(workspace.store.documents.readable(corpus_id))
    embedder = workspace.embedder(config.embedder, spending, progress, config.prompts) if config.embedder else None
    identity, dims = (embedder.identity, embedder.dims) if embedder else ("", 0)
    now = time.time()
    info = IndexInfo(
        new_id(), corpus_id, NAME, config, "ready", new_id(), documents, 0, 0, dims, identity, now, now
    )  # fmt: skip
    index = workspace.index(info)
    _note(workspace, info, present=True)
    try:
        writer = index.rebuild(dims)
        try:
            cuts = indexing.cut(workspace, info, documents, progress)
            indexing.add(workspace, info, cuts, embedder, writer, progress)
            info = replace(info, chunks=sum(map(len, cuts.values())))
            writer.publish(info.chunks, damage.note_content(info, cuts))
        except BaseException:
            writer.abandon()
            raise
        yield info, cuts
    finally:
        index.drop()
        _note(workspace, info, present=False)


def _note(workspace: Workspace, info: IndexInfo, *, present: bool) -> None:
    """Record that an index is there, with the process that uses it, or that it is gone."""
    entries = [entry for entry in _entries(workspace) if entry["id"] != info.id]
    if present:
        where = {"backend": info.config.backend, "options": dict(info.config.options)}
        entries.append({"id": info.id, **where, "process": processes.this_process()})
    workspace.store.cache(NAME).put_many({_OPEN: json.dumps(entries).encode()})


def _entries(workspace: Workspace) -> list[dict[str, Any]]:
    found = workspace.store.cache(NAME).get_many([_OPEN])
    return list(json.loads(found.get(_OPEN, b"[]")))


def _drop_left(workspace: Workspace) -> None:
    """Drop the indexes of processes that have ended; one whose server cannot be reached is tried again next time."""
    left = []
    for entry in _entries(workspace):
        process = entry["process"]
        if processes.is_alive(process["host"], process["pid"], process["started"]) is not False:
            left.append(entry)
            continue
        try:
            workspace.open_index(f"{NAME}-{entry['id']}", entry["backend"], entry["options"]).drop()
        except RagvizError:
            left.append(entry)
    with suppress(RagvizError):
        workspace.store.cache(NAME).put_many({_OPEN: json.dumps(left).encode()})
