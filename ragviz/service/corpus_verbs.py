"""What can be done to corpora and their documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ragviz.core.document import Corpus
from ragviz.core.job import NewJob
from ragviz.core.stopping import Progress, silent
from ragviz.documents import corpora
from ragviz.questions import staleness
from ragviz.workspace import Workspace


def load_sample() -> NewJob:
    """Load the sample: documents, questions, indexes, an experiment, runs."""
    return NewJob("sample", "Load the sample", "", {})


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
    corpus = workspace.store.corpora.ensure(name)
    with staleness.refreshing(workspace.store, corpus, workspace.settings.person) as refreshed:
        outcomes = corpora.add_files(workspace, corpus, files, replace=replace, password=password, progress=progress)
    return corpus, outcomes, refreshed


def read_uploads(
    corpus: Corpus, folder: str, files: Sequence[tuple[str, str]], *, replace: bool, upload: str
) -> NewJob:
    """Read uploaded files, names with the paths of their copies in `folder`; `upload` names what was pressed."""
    arguments = {"corpus": corpus.name, "folder": folder, "files": files, "replace": replace, "upload": upload}
    what = f"{len(files):,} file{'s' * (len(files) != 1)}"
    return NewJob("documents", f"{'Replace' if replace else 'Read'} {what}", corpus.id, arguments)
