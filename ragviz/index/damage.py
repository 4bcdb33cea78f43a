"""Damaged indexes: whether an index still is what was built, and how to repair one that is not."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping

from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import digest
from ragviz.core.errors import DamagedIndex, SearchError
from ragviz.store.schema import Cuts
from ragviz.workspace import Workspace

_contents: dict[str, str] = {}
"""Content digest by build, of those that this process checked: the content of a build never changes."""


def content_of(info: IndexInfo, cuts: Mapping[str, Cuts]) -> str:
    """Return a digest of what an index holds: its configuration, the embedder's identity, and each document's chunks.

    `cuts` are the chunk boundaries by document id; documents without chunks do not count.
    """
    parts = [part for d in sorted(cuts) if len(cuts[d]) for part in (d, cuts[d][:, :2].astype("<i4").tobytes())]
    return digest(info.config.hash(), info.embedder_identity, *parts)


def note_content(info: IndexInfo, cuts: Mapping[str, Cuts]) -> str:
    """Remember, and return, the digest of what an index without a row holds: the store does not have its cuts."""
    return _contents.setdefault(info.build, content_of(info, cuts))


PUBLISHING_SECONDS = 5.0
"""How long a build may take from publishing to writing its row, before it is assumed to have been killed."""


def damage(workspace: Workspace, info: IndexInfo) -> str:
    """Return what is wrong with an index that was built; "" when nothing is, and for one that was never built.

    Compares counts and digests with the store's, and the checksums of local files: these once in a process, and again
    when a file changed. A build that another process begins or finishes meanwhile is no damage.

    Raises:
        SearchError: its server cannot be reached.

    """
    return examined(workspace, info)[1]


def examined(workspace: Workspace, info: IndexInfo) -> tuple[IndexInfo, str]:
    """Return the newest row of an index, and what is wrong with it, as `damage` does.

    A build is searched from a moment before its row is written: until then the row says "building".
    """
    deadline = time.monotonic() + PUBLISHING_SECONDS
    while reason := _reason(workspace, info):
        newest = workspace.store.indexes.find(info.id)
        if newest is None or newest.id != info.id:  # it was deleted
            break
        if newest.build == info.build:
            if newest.status != "building" or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        info = newest
    return info, reason


def _reason(workspace: Workspace, info: IndexInfo) -> str:
    if not info.build:
        return ""
    if info.build not in _contents:
        _contents[info.build] = content_of(info, workspace.store.indexes.cuts(info.build, info.documents))
    try:
        workspace.index(info).check(info.chunks, _contents[info.build])
    except DamagedIndex as error:
        return _ELSEWHERE if may_be_elsewhere(workspace, info) else error.reason
    return ""


_ELSEWHERE = "its files are not on this machine, but on that which built it, or removed"


def may_be_elsewhere(workspace: Workspace, info: IndexInfo) -> bool:
    """Return whether another machine may hold a local index's files: the database is shared, and none are here."""
    shared = workspace.settings.database_url is not None
    return shared and info.config.backend == "local" and not workspace.index(info).exists()


def sound(workspace: Workspace, info: IndexInfo) -> IndexInfo:
    """Return the newest row of an undamaged index; raise SearchError, with how to repair it, of a damaged one."""
    newest, reason = examined(workspace, info)
    if reason:
        if reason == _ELSEWHERE:
            raise SearchError(
                f"Index '{info.name}' cannot be searched here: {reason}. Build it here too, which embeds nothing "
                f"again: `{build_command(workspace, info)}`; or build one on Elasticsearch, which all machines reach."
            )
        raise SearchError(
            f"Index '{info.name}' is damaged: {reason}. Rebuild it, which embeds nothing again: "
            f"`{build_command(workspace, info)}`, or *Rebuild* on the index page."
        )
    return newest


def require_sound(workspace: Workspace, info: IndexInfo) -> None:
    """Raise SearchError, with the next step, when an index is damaged, or was rebuilt since."""
    if sound(workspace, info).build != info.build:
        raise SearchError(f"Index '{info.name}' was rebuilt meanwhile, so the results are discarded: start again.")


def build_command(workspace: Workspace, info: IndexInfo) -> str:
    """Return the command line that builds an index again, with the choices by which it was built."""
    return shlex.join(
        ["ragviz", "index", "build", workspace.store.corpora.get(info.corpus_id).name, "--name", info.name]
    )
