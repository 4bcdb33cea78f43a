"""Processor time of a run ÷ that of the libraries beneath it and a write to SQLite, and the bytes it stores.

As many questions as documents, each one chunk, ranked to depth 50: by BM25 with Tantivy, and by exact kNN with NumPy on
made-up vectors, which cost nothing to embed. The other side searches the same files with the same libraries, and writes
each question's ids and scores to a table of SQLite in one transaction. Both sides run in this process, in turns. Prints
one JSON line with both sides and the ratio for each of `--sizes`, and the growth between them; exit code 1 when a ratio
of the largest size is above `--most`.
"""

from __future__ import annotations

import argparse
import gc
import json
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import large_run
import numpy as np
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
    ids, rows = live.ids.astype(str), []
    if retriever == "bm25":
        for question in questions:
            terms = normal_form.terms(question.text)
            clauses = [tantivy.Query.term_query(live.schema, "terms", term, "freq") for term in terms]
            query = tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in clauses])
            hits = live.searcher.search(query, DEPTH, count=False).hits
            found = cast("list[int]", live.searcher.fast_field_values("row", [address for _, address in hits]))
            rows.append((question.id, json.dumps(ids[found].tolist()), np.array([hit[0] for hit in hits]).tobytes()))
    else:
        vectors = embedder.embed([question.text for question in questions], "query")
        for start in range(0, len(questions), 256):
            scores = vectors[start : start + 256] @ live.rows.vectors.T
            best = np.argpartition(scores, -DEPTH, axis=1)[:, -DEPTH:]
            for question, row, own in zip(questions[start : start + 256], best, scores, strict=True):
                row = row[np.argsort(-own[row])]
                rows.append((question.id, json.dumps(ids[row].tolist()), own[row].tobytes()))
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE rankings (question TEXT PRIMARY KEY, ids TEXT, scores BLOB)")
        connection.executemany("INSERT INTO rankings VALUES (?, ?, ?)", rows)


def measured(folder: Path, count: int, rounds: int) -> dict[str, Any]:
    """Return both sides, their ratio and the bytes of a question for one size."""
    workspace, embedder = large_run.empty(folder), MadeUp()
    Workspace.embedder = lambda *_, **__: embedder  # type: ignore[method-assign,assignment]
    questions = filled(workspace, count)
    embedder.embed([question.text for question in questions])
    info = workspace.store.indexes.get("cuts")
    index, taken = cast(LocalIndex, workspace.index(info)), dict[str, Any]()
    for retriever in ("bm25", "knn"):
        config = RunConfig(info.id, "asked", retriever, k=3, depth=DEPTH)
        ours, theirs, before = list[float](), list[float](), (folder / "ragviz.db").stat().st_size
        for number in range(rounds):
            name = f"{retriever} {number}"
            ours.append(seconds(partial(running.run, workspace, name, config)))
            theirs.append(seconds(partial(libraries, index, retriever, questions, embedder, folder / f"{name}.db")))
        grown = (folder / "ragviz.db").stat().st_size - before
        taken[retriever] = {
            "ours": round(min(ours), 2),
            "libraries": round(min(theirs), 2),
            "ratio": round(min(ours) / min(theirs), 2),
            "bytes_a_question": round(grown / rounds / count),
        }
    return taken


def main() -> None:
    """Measure every size, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--most", type=float, default=2.0)
    arguments = parser.parse_args()
    taken = {}
    for count in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            taken[count] = measured(Path(folder), count, arguments.rounds)
    first, last = taken[arguments.sizes[0]], taken[arguments.sizes[-1]]
    growth = {name: round(last[name]["ours"] / max(first[name]["ours"], 0.01), 1) for name in last}
    print(json.dumps({"benchmark": "runs", "depth": DEPTH, "sizes": taken, "growth": growth}))
    sys.exit(any(each["ratio"] > arguments.most for each in last.values()))


if __name__ == "__main__":
    main()
