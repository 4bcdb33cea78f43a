"""What can be done to corpora and their documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ragviz.core.document import Corpus
from ragviz.core.errors import UsageError
from ragviz.core.job import NewJob
from ragviz.core.stopping import Progress, silent
from ragviz.documents import corpora
from ragviz.index import deletion
from ragviz.questions import exchange, staleness
from ragviz.service.access import verb
from ragviz.text.counts import counted
from ragviz.workspace import Workspace


@verb("editor", "load the sample")
def load_sample(workspace: Workspace) -> NewJob:
    """Load the sample: documents, questions, indexes, an experiment, runs."""
    return NewJob("sample", "Load the sample", "", {})


@verb("editor", "create a corpus")
def create(workspace: Workspace, name: str) -> Corpus:
    """Create a corpus; UsageError when the name cannot be used, or is taken."""
    return workspace.store.corpora.add(name)


ensured = verb("editor", "add to a corpus")(exchange.ensured)


def _ensured(workspace: Workspace, name: str) -> Corpus:
    """Return the corpus of this name; one that has to be created leaves an event of its own."""
    with suppress(UsageError):  # another process has created it meanwhile, or `ensure` says what is wrong
        if workspace.store.corpora.find(name) is None:
            create(workspace, name)
    return workspace.store.corpora.ensure(name)


@verb("editor", "add documents")
def add_documents(
    workspace: Workspace,
    name: str,
    paths: Iterable[Path],
    *,
    replace: bool = False,
    password: str | None = None,
    progress: Progress = silent,
) -> tuple[Corpus, list[corpora.FileOutcome], list[staleness.Refreshed]]:
    """Add files and folders to the corpus `name`, which is created where it does not exist.

    Returns it, what became of each file, and which question sets lost questions or have them back.

    Raises:
        InputError: a path does not exist, or cannot be opened.

    """
    files = corpora.files_under(paths)
    corpus = _ensured(workspace, name)
    with staleness.refreshing(workspace, corpus) as refreshed:
        outcomes = corpora.add_files(workspace, corpus, files, replace=replace, password=password, progress=progress)
    return corpus, outcomes, refreshed


@verb("editor", "add a document")
def add_file(
    workspace: Workspace, corpus: Corpus, name: str, data: bytes, *, replace: bool, password: str
) -> corpora.FileOutcome:
    """Add one encrypted file to a corpus. As `corpora.add_file`."""
    with staleness.refreshing(workspace, corpus):
        return corpora.add_file(workspace, corpus, name, data, replace=replace, password=password)


@verb("editor", "delete documents")
def delete_documents(workspace: Workspace, corpus: Corpus, names: Collection[str]) -> list[staleness.Refreshed]:
    """Delete documents by their names; returns which question sets lost questions.

    Raises:
        UsageError: the corpus has not all of them; what an interrupted deletion left is done all the same.

    """
    with staleness.refreshing(workspace, corpus) as refreshed:
        ids = [each.id for each in workspace.store.documents.all(corpus.id) if each.name in names]
        if len(ids) < (named := len(set(names))):
            raise UsageError(f"Corpus '{corpus.name}' has only {len(ids)} of these {counted(named, 'document')}.")
        corpora.delete_documents(workspace, corpus, ids)
    return refreshed


delete = verb("admin", "delete a corpus")(deletion.delete_corpus)
stage = verb("editor", "upload files")(corpora.stage)
stage_again = verb("editor", "upload files")(corpora.stage_again)
discard_staged = verb("editor", "discard uploads")(corpora.discard_staged)


@verb("editor", "add documents")
def read_uploads(
    workspace: Workspace,
    corpus: Corpus,
    folder: str,
    files: Sequence[tuple[str, str]],
    *,
    replace: bool,
    upload: str,
) -> NewJob:
    """Read uploaded files, names with the paths of their copies in `folder`; `upload` names what was pressed."""
    arguments = {"corpus": corpus.name, "folder": folder, "files": files, "replace": replace, "upload": upload}
    what = f"{len(files):,} file{'s' * (len(files) != 1)}"
    return NewJob("documents", f"{'Replace' if replace else 'Read'} {what}", corpus.id, arguments)
