"""Whether an index is still what was built, as the store knows it; and how one that is not is mended."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from ragviz.errors import DamagedIndex, SearchError
from ragviz.records import IndexConfig, IndexInfo, digest
from ragviz.store import Cuts
from ragviz.workspace import Workspace

_contents: dict[str, str] = {}
"""Digest of each build that this process looked at: what a build is never changes."""


def content_of(info: IndexInfo, cuts: Mapping[str, Cuts]) -> str:
    """Digest of what an index is built of: the choices, the embedder's version, and where each document is cut."""
    parts = [part for d in sorted(cuts) if len(cuts[d]) for part in (d, cuts[d][:, :2].astype("<i4").tobytes())]
    return digest(info.config.hash(), info.embedder_identity, *parts)


def damage(workspace: Workspace, info: IndexInfo) -> str:
    """What is wrong with an index that was built; "" when nothing is, and for one that was never built.

    Compares counts and digests with the store's, and the checksums of local files: these once in a process, and again
    when a file changed.

    Raises:
        SearchError: its server cannot be asked.

    """
    if not info.build:
        return ""
    if info.build not in _contents:
        _contents[info.build] = content_of(info, workspace.store.cuts(info.build, info.documents))
    try:
        workspace.index(info).check(info.chunks, _contents[info.build])
    except DamagedIndex as error:
        return _ELSEWHERE if may_be_elsewhere(workspace, info) else error.reason
    return ""


_ELSEWHERE = "its files are not on this machine, but on that which built it, or gone"


def may_be_elsewhere(workspace: Workspace, info: IndexInfo) -> bool:
    """Whether another machine may hold the files of a local index: the database is shared, and here there are none."""
    shared = workspace.settings.database_url is not None
    return shared and info.config.backend == "local" and not workspace.index(info).exists()


def require_sound(workspace: Workspace, info: IndexInfo) -> None:
    """Raise SearchError, with how to mend it, when an index is not what was built."""
    if reason := damage(workspace, info):
        if reason == _ELSEWHERE:
            raise SearchError(
                f"Index '{info.name}' cannot be searched here: {reason}. Build it here too, which embeds nothing anew: "
                f"`{build_command(workspace, info)}`; or build one on Elasticsearch, which every machine reaches."
            )
        raise SearchError(
            f"Index '{info.name}' is damaged: {reason}. Build it again, which embeds nothing anew: "
            f"`{build_command(workspace, info)}`, or *Rebuild* on the index page."
        )


def build_command(workspace: Workspace, info: IndexInfo) -> str:
    """The command line that builds an index with its own choices."""
    words = ["ragviz", "index", "build", workspace.store.corpus(info.corpus_id).name, "--name", info.name]
    config, usual = info.config, IndexConfig()
    choices = {
        "--chunker": (config.chunker, usual.chunker),
        "--chunk-size": (config.chunk_size, usual.chunk_size),
        "--overlap": (config.overlap, usual.overlap),
        "--embedder": (config.embedder, workspace.settings.embedder),
        "--backend": (config.backend, workspace.default_backend),
        "--similarity": (config.similarity, usual.similarity),
    }
    for option, (value, default) in choices.items():
        words += [option, str(value)] if value != default else []
    for name, value in sorted(config.options.items()):
        words += ["--option", f"{name}={value}"]
    return shlex.join(words)
