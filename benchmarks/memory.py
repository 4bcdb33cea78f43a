"""Peak memory of indexing 100,000 chunks: vectors + model + at most 300 MB, however many documents they are in.

Each side is a process of its own, in which a small random model of 384 dimensions (real weights' speed does not matter
here) embeds the chunks. `model` is that process' peak after the model has embedded one window of texts. Prints one JSON
line: peaks with the chunks in few and in many documents, and what is left beside the model and the vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = [f"word{n}" for n in range(5000)]
TOKENS = 16  # a chunk: short, so that 100,000 are embedded in minutes
WORD_TOKENS = 3.58  # the packaged tokenizer makes of one of the words
DIMS = 384
LIMIT_MB = 300


def peak_mb() -> float:
    """Peak resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_model(folder: Path) -> None:
    """Write a SentenceTransformer of one small layer with the packaged tokenizer."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    from ragviz import embedding

    tokenizer = AutoTokenizer.from_pretrained(embedding.packaged())
    shape = {"hidden_size": DIMS, "num_hidden_layers": 1, "num_attention_heads": 6, "intermediate_size": 384}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"), max_seq_length=64)
    SentenceTransformer(modules=[transformer, Pooling(DIMS)]).save(str(folder / "model"))


def index(folder: Path, chunks: int, documents: int) -> dict[str, float]:
    """Build one index in this process and tell its peaks."""
    from ragviz import indexing
    from ragviz.config import Settings
    from ragviz.records import Document, IndexConfig
    from ragviz.workspace import Workspace

    workspace = Workspace(Settings(_env_file=None, home=folder / f"home-{documents}"))  # type: ignore[call-arg]
    corpus = workspace.store.create_corpus("benchmark")
    choose = random.Random(documents)
    for number in range(documents):
        text = " ".join(choose.choices(WORDS, k=round(chunks / documents * TOKENS / WORD_TOKENS)))
        name = f"{number}.txt"
        made = Document(Document.make_id(name, text), name, text, (), "en", "text/plain", name, len(text))
        workspace.store.add_document(corpus.id, made)
    model = str(folder / "model")
    texts = [" ".join(choose.choices(WORDS, k=TOKENS // 2)) for _ in range(indexing.WINDOW)]
    workspace.embedder(model).embed(texts, "passage")
    before = peak_mb()
    built = indexing.build_index(workspace, corpus, "benchmark", IndexConfig(chunk_size=TOKENS, embedder=model))
    return {"chunks": built.chunks, "documents": documents, "model": before, "peak": peak_mb()}


def measured(folder: Path, chunks: int, documents: int) -> dict[str, float]:
    """Run one side in a process of its own."""
    command = [sys.executable, __file__, "--side", str(folder), str(documents), "--chunks", str(chunks)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--side", nargs=2, metavar=("FOLDER", "DOCUMENTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(index(Path(options.side[0]), options.chunks, int(options.side[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder)
        few, many = measured(folder, options.chunks, 100), measured(folder, options.chunks, 5000)
    vectors = max(few["chunks"], many["chunks"]) * DIMS * 4 / 2**20
    extra = [side["peak"] - side["model"] - vectors for side in (few, many)]
    result = {
        "benchmark": "memory",
        "few_documents": few,
        "many_documents": many,
        "vectors_mb": round(vectors, 1),
        "beside_model_and_vectors_mb": [round(mb, 1) for mb in extra],
        "limit_mb": LIMIT_MB,
        "growth_with_documents_mb": round(extra[1] - extra[0], 1),
        "ratio": round(max(extra) / LIMIT_MB, 3),
    }
    print(json.dumps(result))
    sys.exit(max(extra) > LIMIT_MB)


if __name__ == "__main__":
    main()
