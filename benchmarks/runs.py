"""Processor time of a run ÷ that of the libraries beneath it and a write to SQLite, and the bytes it stores.

As many questions as documents, each one chunk, ranked to depth 50: by BM25 with Tantivy, and by exact kNN with NumPy on
made-up vectors, which cost nothing to embed. The other side searches the same files with the same libraries, and writes
each question's ids and scores to a table of SQLite in one transaction. Both sides run in this process, in turns, for
each of `--sizes`; a small run is mostly what a run takes by itself, so that the largest is held against the libraries,
and a question against one of the size before. Prints rows for `make bench`.
"""

from __future__ import annotations

import argparse
import gc
import json
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import large_run
import numpy as np
import rows
from retrieval import texts

from ragviz.backends.local import LocalIndex
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.index import indexing
from ragviz.models.vectors import Vectors
from ragviz.runs import running
from ragviz.text import normal_form
from ragviz.workspace import Workspace

DEPTH, DIMS = 50, 384


class MadeUp:
    """An embedder whose vectors are drawn by the text, and remembered: only searching is measured."""

    name = identity = "openai:made-up"
    dims, embedded, seconds, max_tokens = DIMS, 0, 0.0, None

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.known: dict[str, Vectors] = {}

    def load(self) -> None:
        """Do nothing."""

    def embed(self, texts: Sequence[str], *_: object) -> Vectors:
        """Return a row of length 1 for each text."""
        for text in texts:
            if text not in self.known:
                row = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMS).astype(np.float32)
                self.known[text] = row / np.linalg.norm(row)
        return np.stack([self.known[text] for text in texts])


def seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of one call."""
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def filled(workspace: Workspace, count: int) -> list[Question]:
    """Add documents of 150 words, an index of them, and a question on each: ten of its words."""
    random, corpus = np.random.default_rng(0), workspace.store.corpora.add("asked")
    passages = list(texts(count, random))
    cuts = large_run.add_documents(workspace, corpus.id, passages)
    indexing.build_index(workspace, corpus, "cuts", IndexConfig(embedder="openai:made-up", chunk_size=2_000))
    asked = [" ".join(random.choice(text.split(), 10)) for text in passages]
    questions = [
        Question(f"q{n}", words, "", ((Span(*cut, passages[n]),),), "person")
        for n, (words, cut) in enumerate(zip(asked, cuts, strict=True))
    ]
    workspace.store.questions.put(workspace.store.sets.add(corpus.id, "asked").id, questions)
    return questions


def libraries(index: LocalIndex, retriever: str, questions: Sequence[Question], embedder: MadeUp, file: Path) -> None:
    """Search the same files by Tantivy or NumPy, and write ids and scores to SQLite."""
    import tantivy

    live = index.live()
    assert live is not None
    ids, written = live.ids.astype(str), []
    if retriever == "bm25":
        for question in questions:
            terms = normal_form.terms(question.text)
            clauses = [tantivy.Query.term_query(live.schema, "terms", term, "freq") for term in terms]
            query = tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in clauses])
            hits = live.searcher.search(query, DEPTH, count=False).hits
            found = cast("list[int]", live.searcher.fast_field_values("row", [address for _, address in hits]))
            written.append((question.id, json.dumps(ids[found].tolist()), np.array([hit[0] for hit in hits]).tobytes()))
    else:
        vectors = embedder.embed([question.text for question in questions], "query")
        for start in range(0, len(questions), 256):
            scores = vectors[start : start + 256] @ live.rows.vectors.T
            best = np.argpartition(scores, -DEPTH, axis=1)[:, -DEPTH:]
            for question, row, own in zip(questions[start : start + 256], best, scores, strict=True):
                row = row[np.argsort(-own[row])]
                written.append((question.id, json.dumps(ids[row].tolist()), own[row].tobytes()))
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE rankings (question TEXT PRIMARY KEY, ids TEXT, scores BLOB)")
        connection.executemany("INSERT INTO rankings VALUES (?, ?, ?)", written)


def measured(folder: Path, count: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Print the bytes of a question; return the seconds of a run and of the libraries, by retriever."""
    workspace, embedder = large_run.empty(folder), MadeUp()
    Workspace.embedder = lambda *_, **__: embedder  # type: ignore[method-assign,assignment]
    questions = filled(workspace, count)
    embedder.embed([question.text for question in questions])
    info = workspace.store.indexes.get("cuts")
    index, least = cast(LocalIndex, workspace.index(info)), {}
    for retriever in ("bm25", "knn"):
        config = RunConfig(info.id, "asked", retriever, k=3, depth=DEPTH)
        ours, theirs = list[float](), list[float]()
        for number in range(rounds):
            name = f"{retriever} {number}"
            ours.append(seconds(partial(running.run, workspace, name, config)))
            theirs.append(seconds(partial(libraries, index, retriever, questions, embedder, folder / f"{name}.db")))
        least[retriever] = min(ours), min(theirs)
    with sqlite3.connect(folder / "ragviz.db") as connection:
        size, stored = connection.execute(
            "SELECT (SELECT sum(pgsize) FROM dbstat WHERE name IN ('results', 'run_chunks')), "
            "(SELECT count(*) FROM results)"
        ).fetchone()
    rows.row(f"a stored question of a run of {count:,}, its ranking and evidence", size / stored, None, "bytes", 1000)
    return least


def main() -> None:
    """Measure every size, and print its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    sizes, before = sorted(arguments.sizes), dict[str, float]()
    for count in sizes:
        with tempfile.TemporaryDirectory() as folder:
            least = measured(Path(folder), count, arguments.rounds)
        for retriever, (ours, theirs) in least.items():
            what, own = f"a run of {count:,} questions to depth {DEPTH} by {retriever}", ours / count * 1e3
            if count == sizes[-1]:
                rows.row(f"{what} ÷ the libraries and a write to SQLite", ours, theirs, "s CPU", 2)
            if retriever in before:
                rows.row(f"{what}, a question ÷ the size before", own, before[retriever], "ms CPU", 1.3)
            before[retriever] = own


if __name__ == "__main__":
    main()
