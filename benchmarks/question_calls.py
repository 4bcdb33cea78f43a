"""Model calls for each question that is kept, by type: written by the loopback model, and verified by other calls.

    python benchmarks/question_calls.py                                   the sample's documents
    python benchmarks/question_calls.py --documents ../shared/data/handbook_18f

All calls count, those for rejected questions too. Prints one JSON line; exit code 1 when a fact takes more than five
calls.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ragviz import sample  # noqa: E402
from ragviz.core.configuration import IndexConfig  # noqa: E402
from ragviz.core.question import QuestionType  # noqa: E402
from ragviz.core.settings import Settings  # noqa: E402
from ragviz.documents import corpora  # noqa: E402
from ragviz.generation import pipeline  # noqa: E402
from ragviz.index import indexing  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402
from tests import model_server  # noqa: E402

KINDS: dict[QuestionType, int | None] = {
    "fact": 60, "number": 20, "list": 10, "comparison": 10, "bridge": 30, "follow-up": 10, "unanswerable": 20,
}  # fmt: skip
MOST = 5.0


def built(home: str, url: str, documents: Path | None) -> Workspace:
    """Return a workspace in `home` with an index of the sample's documents, or of those in a folder."""
    os.environ.update({"RAGVIZ_HOME": home, "OPENAI_BASE_URL": url, "RAGVIZ_MODEL": "loopback"})
    os.environ["RAGVIZ_EMBEDDER"] = "openai:bags"
    workspace = Workspace(Settings(_env_file=None))  # type: ignore[call-arg]
    corpus = workspace.store.corpora.add("documents")
    files = [] if documents is None else [(str(p.relative_to(documents)), p) for p in documents.rglob("*.*")]
    if files:
        corpora.add_files(workspace, corpus, sorted(files))
    else:
        for name, data in sample.documents():
            corpora.add_file(workspace, corpus, name, data)
    indexing.build_index(workspace, corpus, "chunks", IndexConfig(embedder="openai:bags"))
    return workspace


def measured(url: str, documents: Path | None, passages: int) -> dict[str, Any]:
    """Generate and verify each type in a workspace of its own, without cached replies; return yields and calls."""
    started, by_type = time.monotonic(), {}
    for kind, count in KINDS.items():
        with tempfile.TemporaryDirectory() as home:
            made = pipeline.generate_questions(
                built(home, url, documents), "chunks", "q", kinds={kind: count}, generator="model", passages=passages
            )
        by_type[kind] = {
            "planned": made.limit,
            "written": made.proposed + made.rejected,
            "kept": made.proposed,
            "calls": made.calls,
            "calls_per_kept": round(made.calls / made.proposed, 2) if made.proposed else None,
        }
    return {"types": by_type, "passages": passages, "seconds": round(time.monotonic() - started, 1)}


def main() -> int:
    """Measure, print, and return 1 when a fact takes too many calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, help="a folder of documents; default: the sample's")
    parser.add_argument("--passages", type=int, default=3, help="passages of a bridge")
    options = parser.parse_args()
    with model_server.ModelServer() as server:
        result = measured(server.url, options.documents, options.passages)
    print(json.dumps(result))
    fact = result["types"].get("fact", {}).get("calls_per_kept")
    return int(fact is None or fact > MOST)


if __name__ == "__main__":
    sys.exit(main())
