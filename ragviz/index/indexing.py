"""Indexes of a corpus: built, brought up to date, deleted. Memory is bounded, a killed build resumes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from ragviz.backends.protocol import Writer
from ragviz.core.configuration import NO_EMBEDDER, REMOTE, IndexConfig, IndexInfo
from ragviz.core.digests import new_id
from ragviz.core.document import Chunk, Corpus, Document, DocumentInfo
from ragviz.core.errors import Deleted, UsageError
from ragviz.core.fields import checked
from ragviz.core.stopping import Progress, silent
from ragviz.index import chunking, prefixes
from ragviz.index.damage import content_of, examined
from ragviz.index.embedded_chunks import Ready, embedded, indexed, offered
from ragviz.models.requests import Spending, dollars
from ragviz.models.tokenizer import open_tokenizer, text_tokens_of
from ragviz.models.vectors import Embedder
from ragviz.store.schema import Cuts
from ragviz.text import segmentation
from ragviz.workspace import Workspace

WINDOW = 1024
"""Chunks that are embedded and stored together: bounds the memory of a build."""


@dataclass(frozen=True, slots=True)
class Built:
    """Result of a build: chunks in the index, how many of them were added and removed, how many texts were embedded.

    `longer_than_read` counts the chunks that the embedder cannot read to their end, with their prefix. `calls`
    and `dollars` are what all builds of the index have paid an endpoint's embedder, this one included.
    """

    index: str
    chunks: int
    added: int
    removed: int
    embedded: int
    longer_than_read: int
    calls: int = 0
    dollars: float = 0.0


def cost_words(calls: int, paid: float) -> str:
    """Say what all builds of an index have paid an endpoint's embedder; "" when they made no call.

    >>> cost_words(3, 0.0104)
    '3 calls for embeddings, $0.0104 paid'
    """
    return f"{calls:,} call{'s' * (calls != 1)} for embeddings, {dollars(paid)} paid" if calls else ""


def index_config(workspace: Workspace, given: Mapping[str, Any], built: IndexConfig | None = None) -> IndexConfig:
    """Return the configuration of an index of which `given` is said.

    What is not said is as in an index that is `built`, else the declared default, or the embedder and backend that are
    configured. Options of the backend stay as long as it does. A backend may have its kind of index behind a colon
    ("elasticsearch:flat"); the embedder "none" is none.

    Raises:
        UsageError: there is no such choice; a value has the wrong type, or is out of range.

    """
    values = checked(IndexConfig, given)
    default = replace(IndexConfig(), embedder=workspace.settings.embedder, backend=workspace.default_backend)
    config = built or default
    if values.get("embedder") == NO_EMBEDDER:
        values["embedder"] = ""
    if "backend" in values:
        values["backend"], _, kind = values["backend"].partition(":")
        values["options"] = ({"type": kind} if kind else {}) | dict(values.get("options", {}))
    same = values.get("backend", config.backend) == config.backend
    values["options"] = {**(config.options if same else {}), **values.get("options", {})}
    return replace(config, **values)


def splitter(config: IndexConfig) -> Callable[[Document], list[Chunk]]:
    """Return what cuts documents as `config` says, in the embedder's tokens; loads no model."""
    tokenizer = open_tokenizer(config.embedder)
    return partial(chunking.split, config=config, tokenizer=tokenizer, sentences=segmentation.each_sentence)


def behind_words(workspace: Workspace, info: IndexInfo) -> str:
    """Say how an index differs from its corpus: "2 new, 1 changed, 0 removed"; "" where it does not."""
    new, changed, gone = stale(workspace, info)
    return f"{len(new):,} new, {len(changed):,} changed, {len(gone):,} removed" if new or changed or gone else ""


def stale(workspace: Workspace, info: IndexInfo) -> tuple[list[DocumentInfo], list[DocumentInfo], list[str]]:
    """Return how an index differs from its corpus: (new documents, changed ones, ids it holds that were deleted).

    The former version of a changed document is not counted as deleted too.
    """
    documents, indexed = workspace.store.documents.all(info.corpus_id, replaced=True), set(info.documents)
    old_names = {d.id: d.name for d in documents if d.id in indexed}
    taken = set(old_names.values())
    missing = [d for d in documents if d.status == "ok" and d.id not in indexed]
    current = {d.id for d in documents if d.status == "ok"}
    changed = [d for d in missing if d.name in taken]
    names = {d.name for d in changed}
    removed = [i for i in info.documents if i not in current and old_names.get(i) not in names]
    return [d for d in missing if d.name not in taken], changed, removed


def build_index(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    config: IndexConfig,
    *,
    fresh: bool = False,
    progress: Progress = silent,
) -> Built:
    """Build the index called `name`, or bring it up to date.

    An existing index with the same choices is updated: only what is new is cut, embedded and added, what was removed
    is deleted. Other choices, another version of the embedder, damage, or `fresh` build it
    anew; searches see the old one until the new one is complete and counted. Without an embedder in `config` nothing
    is embedded.

    Raises:
        UsageError: the corpus has no text, the name belongs to another corpus, a choice cannot be used.

    """
    check_build(workspace, corpus, name, config)
    store = workspace.store
    existing = store.indexes.find(name)
    info = existing or store.indexes.add(corpus.id, name, config)
    spending = workspace.spending(info.id)
    try:
        try:
            built = _build(workspace, corpus, info, config, spending, fresh=fresh, progress=progress)
        finally:
            spending.settle()
    except BaseException:
        _end_unbegun(workspace, info, new=existing is None)
        raise
    store.evidence.settle(corpus.id)
    paid = store.payments.of(info.id)
    return replace(built, calls=paid.calls, dollars=paid.dollars)


def _end_unbegun(workspace: Workspace, info: IndexInfo, *, new: bool) -> None:
    """Leave no row "building" of a build that failed; a row made for it is deleted when nothing was paid.

    What was written since the index was deleted is deleted too, and that is raised.
    """
    current = workspace.store.indexes.find(info.id)
    if current is None:
        workspace.index(info).drop()
        raise Deleted(f"Stopped: index '{info.name}' was deleted.")
    if current.status != "building":
        return
    if new and not workspace.store.payments.of(info.id).calls:
        workspace.store.indexes.delete(info.id)
    else:
        workspace.store.indexes.update(replace(current, status="failed"))


def _build(
    workspace: Workspace,
    corpus: Corpus,
    info: IndexInfo,
    config: IndexConfig,
    spending: Spending,
    *,
    fresh: bool,
    progress: Progress,
) -> Built:
    """Build the index of a row anew, or update it where its chunks can be kept."""
    documents = workspace.store.documents.readable(corpus.id)
    embedder = workspace.embedder(config.embedder, spending, progress, config.prompts) if config.embedder else None
    info, damage = (info, "") if fresh else examined(workspace, info)
    identity = embedder.identity if embedder else ""
    same_choices = (info.config, info.embedder_identity) == (config, identity)
    kept = info.documents if same_choices and info.build and not (fresh or damage) else ()
    info = replace(info, config=config, embedder_identity=identity)
    return _fill(workspace, info, embedder, documents, kept, progress)


def check_build(workspace: Workspace, corpus: Corpus, name: str, config: IndexConfig) -> None:
    """Raise UsageError for what `build_index` cannot do, before anything is written."""
    chunking.check(config)
    if (config.query_prompt or config.passage_prompt) and config.embedder and not config.embedder.startswith(REMOTE):
        raise UsageError(f"'{config.embedder}' names its own prompts: give some only for an embedder {REMOTE}MODEL.")
    info = workspace.store.indexes.find(name)
    if info is not None and info.corpus_id != corpus.id:
        raise UsageError(f"Index '{info.name}' belongs to another corpus: choose another name.")
    if info is not None and info.config.backend != config.backend:
        where = f"is on the backend '{info.config.backend}'"
        raise UsageError(f"Index '{info.name}' {where}: delete it first, or choose another name.")
    if not any(d.characters for d in workspace.store.documents.all(corpus.id)):
        raise UsageError(f"Corpus '{corpus.name}' has no text to index: add documents first.")
    workspace.open_index(name, config.backend, config.options)


def _fill(
    workspace: Workspace,
    info: IndexInfo,
    embedder: Embedder | None,
    documents: Sequence[str],
    kept: Sequence[str],
    progress: Progress,
) -> Built:
    """Cut and embed what is not `kept`, publish, and write the row: the index of exactly `documents`."""
    store, index = workspace.store, workspace.index(info)
    old = store.indexes.cuts(info.build, kept)
    current_ids, kept_ids = set(documents), set(kept)
    gone = {d: cuts for d, cuts in old.items() if d not in current_ids}
    same = {d: cuts for d, cuts in old.items() if d in current_ids}
    missing = [d for d in documents if d not in kept_ids]
    embedded_before = embedder.embedded if embedder else 0
    dims = embedder.dims if embedder else 0
    writer = index.update() if kept else index.rebuild(dims)
    try:
        new = cut(workspace, info, missing, progress)
        writer.delete([chunk_id for d, cuts in gone.items() for chunk_id in chunk_ids(d, cuts)])
        with offered(workspace, info, new, embedder, progress) as ready:
            add(workspace, info, new, embedder, writer, progress, ready)
        cuts = same | new
        progress(_count(cuts), _count(cuts), "chunks", "Publishing")
        store.indexes.set_status(info.id, "building")  # until its row is written too
        writer.publish(_count(cuts), content_of(info, cuts))
    except BaseException:
        writer.abandon()
        store.indexes.set_status(info.id, info.status if info.build else "failed")
        raise
    info = replace(info, build=new_id(), documents=tuple(documents), chunks=_count(cuts), dims=dims)
    tokens = int(sum(c[:, 2].sum() for c in cuts.values()))
    store.indexes.update(replace(info, status="ready", tokens=tokens, built=time.time()), cuts)
    return Built(
        index=info.name,
        chunks=info.chunks,
        added=_count(new),
        removed=_count(gone),
        embedded=(embedder.embedded if embedder else 0) - embedded_before,
        longer_than_read=_over_limit(workspace, info, cuts),
    )


def cut(workspace: Workspace, info: IndexInfo, documents: Sequence[str], progress: Progress) -> dict[str, Cuts]:
    """Return the cuts of documents, without their texts."""
    cuts: dict[str, Cuts] = {}
    tokenizer = open_tokenizer(info.config.embedder)
    texts = workspace.store.documents.texts(info.corpus_id, documents)
    for number, document in enumerate(texts):
        progress(number, len(documents), "documents", f"Chunking {document.name}")
        rows = chunking.cuts(document, info.config, tokenizer, segmentation.each_sentence)
        cuts[document.id] = np.fromiter(chain.from_iterable(rows), np.int32).reshape(-1, 3)
    return cuts


def add(
    workspace: Workspace,
    info: IndexInfo,
    cuts: Mapping[str, Cuts],
    embedder: Embedder | None,
    writer: Writer,
    progress: Progress,
    ready: Ready = lambda _: None,
) -> None:
    """Add the cuts of documents to the index window by window, embedded where there is an embedder.

    `ready` is called with the number of chunks that are needed next.
    """
    total, done, chunks = _count(cuts), 0, indexed(workspace, info, cuts)

    def report(before: int, embedded: int) -> None:
        progress(before + embedded, total, "chunks", "Embedding" if embedder else "Adding")

    while window := list(islice(chunks, WINDOW)):
        if embedder:
            ready(done + len(window))
            vectors = embedded(workspace, info, embedder, window, partial(report, done))
        else:
            vectors = np.empty((len(window), 0), np.float32)
            report(done, len(window))
        writer.add(window, vectors)
        done += len(window)


def _count(cuts: Mapping[str, Cuts]) -> int:
    return sum(map(len, cuts.values()))


def chunk_ids(document_id: str, cuts: Cuts) -> list[str]:
    """Return the ids of the chunks of a document, in order."""
    return [Chunk.make_id(document_id, start, end) for start, end, _ in cuts.tolist()]


def _over_limit(workspace: Workspace, info: IndexInfo, cuts: Mapping[str, Cuts]) -> int:
    """Count the chunks of an index that are longer than its embedder reads, with what is put before them."""
    limit, prefix = text_tokens_of(info.config.embedder), info.config.prefix
    if limit is None:
        return 0
    if prefix == prefixes.NONE:
        return int(sum((rows[:, 2] > limit).sum() for rows in cuts.values()))
    tokenizer, longer = open_tokenizer(info.config.embedder), 0
    most = 4 * prefixes.LONGEST  # tokens of a prefix: no tokenizer makes more of its characters
    near = [d for d, rows in cuts.items() if (rows[:, 2] > limit - most).any()]
    for document in workspace.store.documents.texts(info.corpus_id, near):
        rows = cuts[document.id]
        added = prefixes.tokens_of(document, rows[:, 0].tolist(), prefix, tokenizer)
        longer += int((rows[:, 2] + np.array(added) > limit).sum())
    return longer


def check_ready(info: IndexInfo) -> None:
    """Raise UsageError when an index cannot be searched yet."""
    if not info.build:
        raise UsageError(f"Index '{info.name}' is not built ({info.status}): build it first.")
