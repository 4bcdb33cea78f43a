"""Chunks per second of a whole index build (parse to searchable) against bare `SentenceTransformer.encode`, on a CPU.

Both sides embed the same chunks with the same loaded model, in turn, the build from an empty store each time. Then the
unchanged corpus is rebuilt. Prints one JSON line.

The corpus is a handbook of 120 Markdown pages, most of them short and some long, made of the sentences of the
sample. `--documents FOLDER` builds from other files: `ragviz/sample/documents` is the sample itself, twelve files of
five formats, in which starting the processes that read PDF and Office files weighs more.

`--without-embedder` instead builds indexes for BM25 alone, of 20 chunks a document, ÷ the libraries below: each text
tokenized, cut at every 200th token and added to Tantivy. Processor seconds, a row for each of `--sizes` (chunks) and
for the growth to the next.
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

from rows import processor_seconds, row

from ragviz import sample
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import embedded_chunks, indexing
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


def sample_sentences() -> list[str]:
    """The sentences of the sample's Markdown pages."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(SAMPLE.glob("*.md")))
    return [text[start:end] for text in texts for start, end in segmentation.sentences(text, "en")]


def handbook(folder: Path) -> Path:
    """Write different pages of about 40 to 2,000 words, the same ones each time."""
    sentences, draw = sample_sentences(), random.Random(7)
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
    return [chunk.text for document in documents for chunk in embedded_chunks.chunks_of(document, cuts[document.id])]


def main() -> None:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, help="a folder of files; default: a generated handbook")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-embedder", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 2_000, 20_000], help="chunks, rising")
    options = parser.parse_args()
    if options.without_embedder:
        words_alone(options.sizes)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(corpora.files_under([options.documents or handbook(Path(folder))]), options.rounds)


def words_alone(sizes: list[int]) -> None:
    """Print the rows of `--without-embedder`, after a small size that loads what both sides import."""
    before = 0.0
    for size in (20, *sizes):
        documents = pages(size // CHUNKS_OF_PAGE)
        with tempfile.TemporaryDirectory() as root:
            ours, chunks = built(Path(root), documents)
            theirs = by_libraries(Path(root) / "tantivy", [document.text for document in documents])
        if size == 20:
            continue
        what = f"building {chunks:,} chunks without an embedder"
        row(f"{what} ÷ tokenizers and Tantivy", ours, theirs, "s CPU", 2)
        if before:
            row(f"{what}, a chunk ÷ the size before", ours / chunks * 1e3, before * 1e3, "ms CPU", 1.3)
        before = ours / chunks


CHUNKS_OF_PAGE = 20
TOKENS = 200


def pages(count: int) -> list[Document]:
    """Return Markdown pages of six sections of some 650 tokens each."""
    sentences, draw, made = sample_sentences(), random.Random(7), []
    for number in range(count):
        parts = [f"# Page {number}"]
        for _ in range(6):
            parts.append(f"## {draw.choice(sentences)[:40]}")
            parts += [" ".join(draw.choices(sentences, k=4)) for _ in range(8)]
        text = "\n\n".join(parts)
        name = f"page-{number}.md"
        made.append(Document(Document.make_id(name, text), name, text, (), "en", "text/markdown", name, len(text)))
    return made


def built(home: Path, documents: list[Document]) -> tuple[float, int]:
    """Build an index for BM25 of stored documents; return the processor seconds, and its chunks."""
    workspace = Workspace(Settings(_env_file=None, home=home))  # type: ignore[call-arg]
    corpus = workspace.store.corpora.add("benchmark")
    workspace.store.documents.add(corpus.id, *documents)
    start = processor_seconds()
    chunks = indexing.build_index(workspace, corpus, "benchmark", IndexConfig(embedder="", chunk_size=TOKENS)).chunks
    return processor_seconds() - start, chunks


def by_libraries(folder: Path, texts: list[str]) -> float:
    """Tokenize texts, cut them and add the pieces to a new index of Tantivy; return the processor seconds."""
    import tantivy
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(next(weights.packaged().rglob("tokenizer.json"))))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("text")
    folder.mkdir()
    start = processor_seconds()
    writer = tantivy.Index(schema.build(), str(folder)).writer()
    for number, text in enumerate(texts):
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        for first in range(0, len(offsets), TOKENS):
            begin, end = offsets[first][0], offsets[min(first + TOKENS, len(offsets)) - 1][1]
            writer.add_document(tantivy.Document(id=f"{number}-{begin}", text=text[begin:end]))
    writer.commit()
    writer.wait_merging_threads()
    return processor_seconds() - start


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
