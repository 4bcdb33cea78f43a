"""A BEIR folder imported, indexed and run, against the time of embedding its documents and queries alone.

    python benchmarks/beir_import.py            11,000 documents and 1,000 queries, some minutes
    python benchmarks/beir_import.py 500 100    a small one

Prints one JSON line: the seconds of each part, and the ratio of all of them to those of embedding; of the processor's
time, too, which other programs disturb less.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.settings import Settings
from ragviz.index import indexing
from ragviz.questions import exchange
from ragviz.questions.formats import input_file
from ragviz.runs import overviews, running
from ragviz.workspace import Workspace

WORDS = [
    "harbour",
    "ferry",
    "pump",
    "valve",
    "bridge",
    "tunnel",
    "report",
    "station",
    "winter",
    "summer",
    "engineer",
    "inspector",
    "window",
    "kitchen",
    "garden",
    "market",
    "teacher",
    "student",
    "library",
    "ticket",
    "signal",
    "engine",
    "barrel",
    "ladder",
    "mirror",
    "candle",
    "basket",
    "bottle",
    "carpet",
    "hammer",
]
EMBEDDER = "all-MiniLM-L6-v2"


def folder(root: Path, documents: int, queries: int) -> tuple[Path, list[str], list[str]]:
    """Write a BEIR folder of short documents, each with a number of its own; return it with all texts."""
    drawn = random.Random(0)
    made = root / "beir"
    (made / "qrels").mkdir(parents=True)
    texts = [f"Record {n} of the {' '.join(drawn.choices(WORDS, k=24))}." for n in range(documents)]
    judged = [drawn.randrange(documents) for _ in range(queries)]
    asked = [f"What does record {n} say about the {texts[n].split()[4]}?" for n in judged]
    entries = ({"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(texts))
    rows = ({"_id": f"q{n}", "text": text} for n, text in enumerate(asked))
    for name, lines in (("corpus.jsonl", entries), ("queries.jsonl", rows)):
        (made / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    qrels = "".join(f"q{n}\td{document}\t1\n" for n, document in enumerate(judged))
    (made / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels, encoding="utf-8")
    return made, texts, asked


class Clock:
    """Seconds of named parts, by the wall and of the processor."""

    def __init__(self) -> None:
        """Start with no part."""
        self.wall: dict[str, float] = {}
        self.processor: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure what is done inside."""
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall[name] = time.perf_counter() - wall
        self.processor[name] = time.process_time() - processor


def measured(root: Path, documents: int, queries: int) -> dict[str, float]:
    """Import, build and run; then embed the same texts with the same embedder and no cache of vectors."""
    made, texts, asked = folder(root, documents, queries)
    workspace, clock = Workspace(Settings(home=root / "home")), Clock()
    workspace.embedder(EMBEDDER).embed(["loading the model counts in neither"], "query")
    corpus = workspace.store.corpora.add("beir")
    with clock.part("import"):
        exchange.import_files(workspace, corpus, input_file.from_paths([("beir", made)]), "beir")
    with clock.part("build"):
        indexing.build_index(workspace, corpus, "beir", IndexConfig(embedder=EMBEDDER))
    with clock.part("run"):
        run = running.run(workspace, "beir", RunConfig(index="beir", questions="beir", retriever="knn", k=10))
    recall = overviews.overview(workspace, run).summary.metrics["recall@10"].mean or 0.0
    alone = Workspace(Settings(home=root / "alone")).embedder(EMBEDDER)
    alone.embed(["loading the model counts in neither"], "query")
    with clock.part("embedding alone"):
        alone.embed(texts, "passage")
        alone.embed(asked, "query")
    ratios = {
        name: round(sum(seconds[part] for part in ("import", "build", "run")) / seconds["embedding alone"], 3)
        for name, seconds in (("ratio", clock.wall), ("processor ratio", clock.processor))
    }
    return {name: round(value, 2) for name, value in clock.wall.items()} | ratios | {"recall@10": round(recall, 3)}


def main() -> None:
    """Measure with the sizes of the command line."""
    documents, queries = [*map(int, sys.argv[1:3]), *(11_000, 1_000)[len(sys.argv[1:3]) :]]
    with tempfile.TemporaryDirectory() as root:
        result = measured(Path(root), documents, queries)
    print(json.dumps({"documents": documents, "queries": queries} | result))


if __name__ == "__main__":
    main()
