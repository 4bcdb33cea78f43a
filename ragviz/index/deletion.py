"""Indexes and corpora deleted, with everything that belongs to them."""

from __future__ import annotations

from contextlib import suppress

from ragviz.core import addresses
from ragviz.core.configuration import IndexInfo
from ragviz.core.document import Corpus
from ragviz.core.errors import SearchError, UsageError
from ragviz.workspace import Workspace


def delete_index(workspace: Workspace, info: IndexInfo, *, leave_remote: bool = False) -> str:
    """Delete an index from its backend and the store; runs on it stay readable.

    `leave_remote` deletes it here also when its server cannot be asked; returns what then stays on it, else "".

    Raises:
        SearchError: the backend fails, and nothing was deleted.

    """
    left = ""
    try:
        workspace.index(info).drop()
    except (SearchError, UsageError) as error:
        left = remote(workspace, info)
        if not leave_remote or not left:
            raise SearchError(
                f"Index '{info.name}' was not deleted. {error} {_ANYWAY if left else ''}".strip()
            ) from error
    workspace.store.indexes.delete(info.id)
    workspace.store.evidence.settle(info.corpus_id)
    return left


_ANYWAY = (
    "To delete it here all the same, and leave it on the server: `--leave-remote` on the command line, or the box "
    "beside *Delete* on the page."
)


def remote(workspace: Workspace, info: IndexInfo) -> str:
    """Name what of an index is on a server: "the indices ragviz-….* on Elasticsearch at …"; "" for a local index."""
    if info.config.backend != "elasticsearch":
        return ""
    from ragviz.backends import elastic_requests

    url = workspace.settings.elasticsearch_url
    where = f" at {addresses.shown(url)}" if url else ", whose address is not set,"
    alias = elastic_requests.alias_of(workspace.index_name(info), workspace.settings.elasticsearch_prefix)
    return f"the indices {alias}.* on Elasticsearch{where}"


def goes_with_corpus(workspace: Workspace, corpus: Corpus) -> str:
    """Say what deleting a corpus deletes: "3 documents, 1 index, 0 question sets, 0 runs"."""
    single = {"documents": "document", "indexes": "index", "question sets": "question set", "runs": "run"}
    counts = workspace.store.corpora.holdings(corpus.id).items()
    return ", ".join(f"{count} {single[kind] if count == 1 else kind}" for kind, count in counts)


def delete_corpus(workspace: Workspace, corpus: Corpus, *, leave_remote: bool = False) -> list[str]:
    """Delete a corpus with its documents, indexes, question sets, runs and jobs, and the logs of these.

    `leave_remote` is as for `delete_index`; returns what stays on servers.

    Raises:
        SearchError: an index cannot be deleted; the corpus stays. Those on a server are tried first.

    """
    indexes = sorted(workspace.store.indexes.all(corpus.id), key=lambda info: info.config.backend == "local")
    left = [delete_index(workspace, info, leave_remote=leave_remote) for info in indexes]
    for job_id in workspace.store.corpora.delete(corpus.id):
        with suppress(OSError):  # the corpus is gone all the same
            workspace.log_of(job_id).unlink(missing_ok=True)
    return [each for each in left if each]
