"""Questions a minute without a model. Prints one line of JSON.

The corpus is that of `../shared/data/handbook_18f` where that is there, else documents that are written for it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ragviz.core.configuration import IndexConfig  # noqa: E402
from ragviz.core.settings import Settings  # noqa: E402
from ragviz.documents import corpora  # noqa: E402
from ragviz.generation import pipeline, plan_record  # noqa: E402
from ragviz.index import indexing  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402

HANDBOOK = ROOT.parent / "shared" / "data" / "handbook_18f"


def files(count: int) -> list[tuple[str, Path | bytes]]:
    """`count` documents: those of the handbook, then written ones."""
    found: list[tuple[str, Path | bytes]] = []
    if HANDBOOK.is_dir():
        paths = sorted(path for path in HANDBOOK.rglob("*.*") if path.is_file())[:count]
        found = [(str(path.relative_to(HANDBOOK)), path) for path in paths]
    return found + [(f"written-{n}.md", written(n).encode()) for n in range(count - len(found))]


def written(number: int) -> str:
    """A document of some 600 words with headings, a table, a list, key-value lines and sentences."""
    draw = random.Random(number)
    places = ["Ardel", "Brunn", "Corvel", "Denham", "Esker", "Farnley", "Gorton", "Hexham"]
    parts = [f"# Station {number}\n"]
    for part in range(6):
        place = draw.choice(places)
        parts.append(f"## Hall {part}\n\nThe hall of {place} was opened in {draw.randint(1850, 2000)} by the county.\n")
        parts.append(
            f"Its {draw.choice(['pump', 'lamp', 'clock'])} was replaced by the firm {draw.choice(places)} & Sons"
        )
        parts.append(
            f"in {draw.randint(1900, 2020)}. The warden pays {draw.randint(10, 900)} dollars for the repair.\n"
        )
        parts.append(f"**Opening hours**: {draw.randint(6, 10)} to {draw.randint(15, 20)}\n")
        parts.append("| Room | Seats | Floor |\n|---|---|---|")
        parts += [f"| Room {n} of {place} | {draw.randint(5, 90)} | {draw.randint(0, 4)} |" for n in range(3)]
        parts.append("\nThe hall lends:\n\n- maps\n- tents\n- lamps\n")
    return "\n".join(parts)


def workspace_of(folder: Path, documents: int) -> Workspace:
    """A workspace with one corpus of so many documents and its index, which has no vectors."""
    for name in ("ELASTICSEARCH_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "RAGVIZ_DATABASE_URL", "RAGVIZ_MODEL"):
        os.environ.pop(name, None)
    os.environ["RAGVIZ_HOME"] = str(folder)
    workspace = Workspace(Settings(_env_file=None))
    corpus = workspace.store.corpora.add("corpus")
    for name, content in files(documents):
        data = content if isinstance(content, bytes) else content.read_bytes()
        corpora.add_file(workspace, corpus, name.replace("/", "-"), data)
    indexing.build_index(workspace, corpus, "index", IndexConfig(chunk_size=200, embedder=""))
    return workspace


def speed(documents: int, questions: int) -> dict[str, object]:
    """Questions a minute without a model, the loading of language models and the reading of claims included."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = workspace_of(Path(folder), documents)
        started = time.perf_counter()
        pipeline.foresee_questions(workspace, "index", "made", limit=questions)
        planned = time.perf_counter()
        made = pipeline.generate_questions(workspace, "index", "made", limit=questions)
        seconds = time.perf_counter() - planned
        shown = plan_record.shown(workspace.store, workspace.store.sets.get("made"))
        return {
            "benchmark": "questions without a model",
            "documents": documents,
            "planned": made.limit,
            "kept": made.usable,
            "rejected": made.rejected,
            "seconds": round(seconds, 1),
            "seconds of the plan": round(planned - started, 2),
            "kept a minute": round(60 * made.usable / seconds),
            "kept by kind": {row["type"]: row["kept"] for row in shown.types},
        }


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=250)
    parser.add_argument("--questions", type=int, default=1000, help="planned in all")
    options = parser.parse_args()
    print(json.dumps(speed(options.documents, options.questions), ensure_ascii=False))


if __name__ == "__main__":
    main()
