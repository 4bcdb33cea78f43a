"""Chunks per second of a whole index build (parse to searchable) against bare `SentenceTransformer.encode`, on a CPU.

Both sides embed the same chunks with the same loaded model, in turn, the build from an empty store each time. Then the
unchanged corpus is built anew. Prints one JSON line. `--documents FOLDER` builds from other files than the sample's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ragviz import corpora, embedding, indexing, sample
from ragviz.config import Settings
from ragviz.records import IndexConfig
from ragviz.workspace import Workspace


def build(home: Path, files: list[tuple[str, Path]]) -> tuple[float, Workspace]:
    """Parse, cut, embed, store and publish; seconds it took."""
    workspace = Workspace(Settings(_env_file=None, home=home))  # type: ignore[call-arg]
    start = time.perf_counter()
    corpus = workspace.store.create_corpus("benchmark")
    corpora.add_files(workspace, corpus, files)
    indexing.build_index(workspace, corpus, "benchmark", IndexConfig())
    return time.perf_counter() - start, workspace


def chunks_in(workspace: Workspace) -> list[str]:
    """Texts of the chunks that were built."""
    info = workspace.store.index("benchmark")
    cuts = workspace.store.cuts(info.build, info.documents)
    documents = workspace.store.document_texts(info.corpus_id, list(cuts))
    return [chunk.text for document in documents for chunk in indexing.chunks_of(document, cuts[document.id])]


def main() -> None:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, help="a folder of files; default: the sample corpus")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = options.documents or Path(sample.__file__).parent / "documents"
    files = corpora.files_under([folder])

    from sentence_transformers import SentenceTransformer

    bare = SentenceTransformer(str(embedding.packaged()), device="cpu")
    bare.encode(["warm up"])
    embedding.open_embedder("all-MiniLM-L6-v2").embed(["warm up"], "passage")
    ratios, rates = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as home:
            seconds, workspace = build(Path(home), files)
            texts = chunks_in(workspace)
            start = time.perf_counter()
            bare.encode(texts)
            ratios.append((time.perf_counter() - start) / seconds)
            rates.append(len(texts) / seconds)
            corpus = workspace.store.corpus("benchmark")
            again = indexing.build_index(workspace, corpus, "benchmark", IndexConfig(), fresh=True)
    result = {
        "benchmark": "indexing",
        "chunks": len(texts),
        "chunks_per_second": round(statistics.median(rates), 2),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "target": 1.0,
        "embedded_in_rebuild": again.embedded,
    }
    print(json.dumps(result))
    sys.exit(result["ratio"] < 1.0 or again.embedded != 0)


if __name__ == "__main__":
    main()
