"""Vectors from an endpoint: processor time of our embedder ÷ that of the openai client, for the same texts.

    python benchmarks/vectors.py

The endpoint is a process of its own on loopback, whose vectors of 384 dimensions are drawn by the text's checksum. Both
sides send batches of 64 texts, one after another; ours scales the vectors to unit length, and keeps them in a cache in
memory. They take turns, and the least of `--rounds` rounds counts. The client asks for base64, as it does by itself.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import openai
from memory import DIMS, endpoint
from rows import row

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ragviz.models.chat import EMBED_BATCH, ModelClient  # noqa: E402
from ragviz.models.embedding import open_embedder  # noqa: E402
from tests.model_server import Memory  # noqa: E402


def serve(pipe: Connection) -> None:
    """Serve vectors in this process until a message comes."""
    with endpoint() as url:
        pipe.send(url)
        pipe.recv()


def ours(url: str, texts: list[str]) -> np.ndarray:
    """Return the vectors of our embedder, which knows none of them."""
    client = ModelClient(url, None, "drawn", concurrency=1)
    return open_embedder("openai:drawn", remote=client.embed, cache=Memory()).embed(texts, "passage")


def theirs(url: str, texts: list[str]) -> np.ndarray:
    """Return the vectors as the openai client gives them."""
    client = openai.OpenAI(base_url=url, api_key="none")
    batches = (texts[start : start + EMBED_BATCH] for start in range(0, len(texts), EMBED_BATCH))
    rows = [each.embedding for batch in batches for each in client.embeddings.create(model="drawn", input=batch).data]
    return np.array(rows, dtype=np.float32)


def main() -> None:
    """Measure, and print a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts = [f"text number {number}" for number in range(options.texts)]
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,))
    server.start()
    url, taken = here.recv(), dict.fromkeys((ours, theirs), float("inf"))
    for side in (ours, theirs):
        side(url, texts[:EMBED_BATCH])  # imports are no part of it
    for _ in range(options.rounds):
        vectors = []
        for side in taken:
            started = time.process_time()
            vectors.append(side(url, texts))
            taken[side] = min(taken[side], time.process_time() - started)
        lengths = np.linalg.norm(vectors[1], axis=1, keepdims=True)
        assert np.allclose(vectors[0], vectors[1] / lengths, atol=1e-6)
    here.send(None)
    server.join()
    what = f"{options.texts:,} vectors of {DIMS} dimensions from an endpoint ÷ the openai client's own base64"
    row(what, taken[ours], taken[theirs], "s CPU", 1.3)


if __name__ == "__main__":
    main()
