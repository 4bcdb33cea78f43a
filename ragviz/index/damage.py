"""Whether an index is still what was built, as the store knows it; and how one that is not is mended."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping

from ragviz.errors import DamagedIndex, SearchError
from ragviz.records import IndexConfig, IndexInfo, digest
from ragviz.store.codecs import Cuts
from ragviz.workspace import Workspace

_contents: dict[str, str] = {}
"""Digest of each build that this process looked at: what a build is never changes."""


def content_of(info: IndexInfo, cuts: Mapping[str, Cuts]) -> str:
    """Digest of what an index is built of: the choices, the embedder's version, and where each document is cut."""
    parts = [part for d in sorted(cuts) if len(cuts[d]) for part in (d, cuts[d][:, :2].astype("<i4").tobytes())]
    return digest(info.config.hash(), info.embedder_identity, *parts)


PUBLISHING_SECONDS = 5.0
"""How long a build that has published may take to write down what it built, before it is taken for killed."""


def damage(workspace: Workspace, info: IndexInfo) -> str:
    """What is wrong with an index that was built; "" when nothing is, and for one that was never built.

    Compares counts and digests with the store's, and the checksums of local files: these once in a process, and again
    when a file changed. A build that another process makes or ends meanwhile is no damage.

    Raises:
        SearchError: its server cannot be asked.

    """
    return examined(workspace, info)[1]


def examined(workspace: Workspace, info: IndexInfo) -> tuple[IndexInfo, str]:
    """The newest row of an index, and what is wrong with it, as `damage` tells it.

    What a build publishes is searched a moment before its row is written: until then the row says "building".
    """
    until = time.monotonic() + PUBLISHING_SECONDS
    while reason := _reason(workspace, info):
        now = workspace.store.index_named(info.id)
        if now is None or now.id != info.id:  # it was deleted
            break
        if now.build == info.build:
            if now.status != "building" or time.monotonic() > until:
                break
            time.sleep(0.05)
        info = now
    return info, reason


def _reason(workspace: Workspace, info: IndexInfo) -> str:
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


def sound(workspace: Workspace, info: IndexInfo) -> IndexInfo:
    """The newest row of an index that is what was built; SearchError, with how to mend it, when it is not."""
    now, reason = examined(workspace, info)
    if reason:
        if reason == _ELSEWHERE:
            raise SearchError(
                f"Index '{info.name}' cannot be searched here: {reason}. Build it here too, which embeds nothing anew: "
                f"`{build_command(workspace, info)}`; or build one on Elasticsearch, which every machine reaches."
            )
        raise SearchError(
            f"Index '{info.name}' is damaged: {reason}. Build it again, which embeds nothing anew: "
            f"`{build_command(workspace, info)}`, or *Rebuild* on the index page."
        )
    return now


def require_sound(workspace: Workspace, info: IndexInfo) -> None:
    """Raise SearchError, with how to go on, when an index is not what was built, or was built anew since."""
    if sound(workspace, info).build != info.build:
        raise SearchError(f"Index '{info.name}' was built anew meanwhile, so what was found is left: start again.")


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
