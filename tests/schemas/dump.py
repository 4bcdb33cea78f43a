"""Fill a database by the command line of this version, and write it beside this file: `python tests/schemas/dump.py`.

To be run before a table is changed, so that `tests/test_migrations.py` has a database of the schema before.
"""

import json
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragviz import cli  # noqa: E402
from ragviz.store.migrations import MIGRATIONS  # noqa: E402
from tests.model_server import ModelServer  # noqa: E402

PUMPS = (
    "# Pumps\n\nThe north pump was replaced in May 2023 by Ada Quill.\n\nThe south pump was repaired in June 2022.\n"
)
VALVES = "北阀门于2021年更换。检修周期为三十天。负责人是王芳。"
QUESTIONS = [
    {"question": "When was the north pump replaced?", "answer": "May 2023", "document": "pumps.md"}
    | {"quote": "The north pump was replaced in May 2023"},
    {"question": "谁负责阀门？", "answer": "王芳", "document": "阀门.txt", "quote": "负责人是王芳"},
    {"question": "Who owns the east pump?", "answer": ""},
]
BUILD = "index build notes --name small --embedder openai:loopback --chunker sentences --chunk-size 20"
RUN = "run --index small --questions asked --name first --retriever hybrid --answerer extractive"
METRICS = "rouge_l,token_f1,questeval_recall,faithfulness"


def ragviz(*words: str | Path) -> None:
    sys.argv = ["ragviz", *map(str, words)]
    try:
        cli.main()
    except SystemExit as end:
        print(f"exit {end.code}: ragviz {' '.join(sys.argv[1:])}", file=sys.stderr)


def fill(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "pumps.md").write_text(PUMPS, encoding="utf-8")
    (folder / "in" / "阀门.txt").write_text(VALVES, encoding="utf-8")
    (folder / "in" / "empty.txt").write_bytes(b"")
    (folder / "q.jsonl").write_text("\n".join(json.dumps(row) for row in QUESTIONS), encoding="utf-8")
    ragviz("corpus", "add", "notes", folder / "in")
    ragviz(*BUILD.split())
    ragviz("questions", "import", "notes", folder / "q.jsonl", "--name", "asked")
    ragviz(*RUN.split(), "--metrics", METRICS)
    (folder / "in" / "pumps.md").write_text(PUMPS.replace("Quill.", "Quill. It hums."), encoding="utf-8")
    ragviz("corpus", "add", "notes", folder / "in" / "pumps.md", "--replace")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        os.environ |= {"RAGVIZ_HOME": folder, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none-needed"}
        fill(Path(folder))
        database = sqlite3.connect(Path(folder) / "ragviz.db")
        database.execute("UPDATE jobs SET host = 'elsewhere', pid = 1")
        for kind in ("embedding", "model"):  # a few are enough
            few = "SELECT rowid FROM cache WHERE kind = ? LIMIT 2"
            database.execute(f"DELETE FROM cache WHERE kind = ? AND rowid NOT IN ({few})", (kind, kind))
        database.commit()
        dump = "\n".join(database.iterdump()).replace(folder, "/srv/dump") + "\n"
    Path(__file__).with_name(f"{len(MIGRATIONS)}.sql").write_text(dump, encoding="utf-8")


if __name__ == "__main__":
    main()
