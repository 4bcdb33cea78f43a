"""What can be done to corpora and their documents."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.document import Corpus
from ragviz.core.job import NewJob


def load_sample() -> NewJob:
    """Load the sample: documents, questions, indexes, an experiment, runs."""
    return NewJob("sample", "Load the sample", "", {})


def read_uploads(
    corpus: Corpus, folder: str, files: Sequence[tuple[str, str]], *, replace: bool, upload: str
) -> NewJob:
    """Read uploaded files, names with the paths of their copies in `folder`; `upload` names what was pressed."""
    arguments = {"corpus": corpus.name, "folder": folder, "files": files, "replace": replace, "upload": upload}
    what = f"{len(files):,} file{'s' * (len(files) != 1)}"
    return NewJob("documents", f"{'Replace' if replace else 'Read'} {what}", corpus.id, arguments)
