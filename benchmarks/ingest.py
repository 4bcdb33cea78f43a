"""Adding files to a corpus ÷ importing the same texts as one BEIR folder, processor seconds; a row for each size.

A third row for each size but the first is the growth: seconds a document ÷ those of the size before. The files are
texts of some 25 words, those of `beir_import.py`; its folder has a question for every tenth of them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from beir_import import folder
from rows import processor_seconds, row

from ragviz.core.document import Corpus
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.questions import exchange
from ragviz.questions.formats import input_file
from ragviz.workspace import Workspace


def seconds(home: Path, documents: int, fill: Callable[[Workspace, Corpus], object]) -> float:
    """Fill a new corpus; return the processor seconds of it."""
    workspace = Workspace(Settings(_env_file=None, home=home))  # type: ignore[call-arg]
    corpus = workspace.store.corpora.add("benchmark")
    start = processor_seconds()
    fill(workspace, corpus)
    taken = processor_seconds() - start
    assert len(workspace.store.documents.all(corpus.id)) == documents
    return taken


def measured(root: Path, documents: int) -> tuple[float, float]:
    """Return the seconds of adding files, and of the import."""
    made, texts, _ = folder(root, documents, max(1, documents // 10))
    (root / "files").mkdir()
    for number, text in enumerate(texts):
        (root / "files" / f"{number:06}.txt").write_text(text, encoding="utf-8")

    def add(workspace: Workspace, corpus: Corpus) -> None:
        corpora.add_files(workspace, corpus, corpora.files_under([root / "files"]))

    def load(workspace: Workspace, corpus: Corpus) -> None:
        exchange.import_files(workspace, corpus, input_file.from_paths([("beir", made)]), "beir")

    imported = seconds(root / "imported", documents, load)
    return seconds(root / "added", documents, add), imported


def main() -> None:
    """Measure each size, after a small one that loads what both sides import."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000], help="documents, rising")
    sizes = parser.parse_args().sizes
    before: float | None = None
    for size in (10, *sizes):
        with tempfile.TemporaryDirectory() as root:
            added, imported = measured(Path(root), size)
        if size == 10:
            continue
        row(f"adding {size:,} files ÷ importing them as BEIR", added, imported, "s CPU", 2)
        if before is not None:
            row(f"adding {size:,} files, a file ÷ the size before", added / size * 1e3, before * 1e3, "ms CPU", 1.3)
        before = added / size


if __name__ == "__main__":
    main()
