"""Chunks per second of a whole index build (parse to searchable) against bare `SentenceTransformer.encode`, on a CPU.

Both sides embed the same chunks with the same loaded model, in turn, the build from an empty store each time. Then the
unchanged corpus is rebuilt. Prints one JSON line.

The corpus is a handbook of 120 Markdown pages, most of them short and some long, made of the sentences of the
sample. `--documents FOLDER` builds from other files: `ragviz/sample/documents` is the sample itself, twelve files of
five formats, in which starting the processes that read PDF and Office files weighs more.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ragviz import sample
from ragviz.core.configuration import IndexConfig
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.models import embedding, weights
from ragviz.text import segmentation
from ragviz.workspace import Workspace

SAMPLE = Path(sample.__file__).parent / "documents"


def build(home: Path, files: list[tuple[str, Path]]) -> tuple[float, Workspace]:
    """Parse, chunk, embed, store and publish; return the seconds it took."""
    workspace = Workspace(Settings(_env_file=None, home=home))  # type: ignore[call-arg]
    start = time.perf_counter()
    corpus = workspace.store.corpora.add("benchmark")
    corpora.add_files(workspace, corpus, files)
    indexing.build_index(workspace, corpus, "benchmark", IndexConfig())
    return time.perf_counter() - start, workspace


def handbook(folder: Path) -> Path:
    """Write different pages of about 40 to 2,000 words, the same ones each time."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(SAMPLE.glob("*.md")))
    sentences = [text[start:end] for text in texts for start, end in segmentation.sentences(text, "en")]
    draw = random.Random(7)
    for number in range(120):
        paragraphs = [
            " ".join(draw.choices(sentences, k=draw.randint(2, 6)))
            for _ in range(int(draw.paretovariate(1.0)) % 30 + 1)
        ]
        page = f"# Page {number}\n\n" + "\n\n".join(paragraphs)
        (folder / f"page-{number:03}.md").write_text(page, encoding="utf-8")
    return folder


def chunks_in(workspace: Workspace) -> list[str]:
    """Return the texts of the built chunks."""
    info = workspace.store.indexes.get("benchmark")
    cuts = workspace.store.indexes.cuts(info.build, info.documents)
    documents = workspace.store.documents.texts(info.corpus_id, list(cuts))
    return [chunk.text for document in documents for chunk in indexing.chunks_of(document, cuts[document.id])]


def main() -> None:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, help="a folder of files; default: a generated handbook")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(corpora.files_under([options.documents or handbook(Path(folder))]), options.rounds)


def measure(files: list[tuple[str, Path]], rounds: int) -> None:
    """Build and embed in turn; print the figures."""
    from sentence_transformers import SentenceTransformer

    bare = SentenceTransformer(str(weights.packaged()), device="cpu")
    bare.encode(["warm up"])
    embedding.open_embedder("all-MiniLM-L6-v2").embed(["warm up"], "passage")
    ratios, rates = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as home:
            seconds, workspace = build(Path(home), files)
            texts = chunks_in(workspace)
            start = time.perf_counter()
            bare.encode(texts)
            ratios.append((time.perf_counter() - start) / seconds)
            rates.append(len(texts) / seconds)
            corpus = workspace.store.corpora.get("benchmark")
            rebuilt = indexing.build_index(workspace, corpus, "benchmark", IndexConfig(), fresh=True)
    result = {
        "benchmark": "indexing",
        "chunks": len(texts),
        "chunks_per_second": round(statistics.median(rates), 2),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "target": 1.0,
        "embedded_in_rebuild": rebuilt.embedded,
    }
    print(json.dumps(result))
    sys.exit(result["ratio"] < 1.0 or rebuilt.embedded != 0)


if __name__ == "__main__":
    main()
