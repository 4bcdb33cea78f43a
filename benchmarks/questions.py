"""Questions a minute without a model, and model calls per kept question by kind, against the loopback model.

    python benchmarks/questions.py                       # both
    python benchmarks/questions.py speed --documents 250
    python benchmarks/questions.py calls --questions 20

Prints one line of JSON each. The corpus is that of `../shared/data/handbook_18f` where that is there, else documents
that are written for it. At most 3 calls are to be paid for a kept fact.
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
from ragviz.core.question import QuestionType  # noqa: E402
from ragviz.core.settings import Settings  # noqa: E402
from ragviz.documents import corpora  # noqa: E402
from ragviz.generation import pipeline, plan_record  # noqa: E402
from ragviz.index import indexing  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402
from tests.model_server import ModelServer  # noqa: E402

HANDBOOK = ROOT.parent / "shared" / "data" / "handbook_18f"
MOST_FOR_A_FACT = 3.0
KINDS: tuple[QuestionType, ...] = (
    "fact", "number", "definition", "list", "table", "exception", "comparison", "bridge", "version", "follow-up",
    "unanswerable",
)  # fmt: skip


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


def workspace_of(folder: Path, documents: int, environment: dict[str, str]) -> Workspace:
    """A workspace with one corpus of so many documents and its index, which has no vectors."""
    for name in ("ELASTICSEARCH_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "RAGVIZ_DATABASE_URL", "RAGVIZ_MODEL"):
        os.environ.pop(name, None)
    os.environ.update({"RAGVIZ_HOME": str(folder)} | environment)
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
        workspace = workspace_of(Path(folder), documents, {})
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


def calls(documents: int, questions: int) -> dict[str, object]:
    """Paid calls per kept question by kind, with the loopback model, each in a workspace without cached replies."""
    made = {}
    with ModelServer() as server:
        environment = {"OPENAI_BASE_URL": server.url, "RAGVIZ_MODEL": "loopback"}
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                workspace = workspace_of(Path(folder), documents, environment)
                made[kind] = pipeline.generate_questions(
                    workspace, "index", "made", kinds={kind: questions}, generator="model"
                )
    per_kept = {kind: round(each.calls / each.proposed, 2) for kind, each in made.items() if each.proposed}
    return {
        "benchmark": "model calls per kept question",
        "documents": documents,
        "planned": sum(each.limit for each in made.values()),
        "kept": sum(each.usable for each in made.values()),
        "calls": sum(each.calls for each in made.values()),
        "calls per kept": per_kept,
        "kept of made": {n: f"{each.proposed}/{each.proposed + each.rejected}" for n, each in made.items()},
        "at most 3 for a fact": per_kept.get("fact", 0.0) <= MOST_FOR_A_FACT,
    }


def main() -> None:
    """Run what is named on the command line, or everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("speed", "calls"), help="only this")
    parser.add_argument("--documents", type=int, default=250)
    parser.add_argument("--questions", type=int, help="planned in all (speed), of each kind (calls)")
    options = parser.parse_args()
    if options.what in (None, "speed"):
        print(json.dumps(speed(options.documents, options.questions or 1000), ensure_ascii=False), flush=True)
    if options.what in (None, "calls"):
        documents = min(options.documents, 40) if options.what is None else options.documents
        print(json.dumps(calls(documents, options.questions or 20), ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
