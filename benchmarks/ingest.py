"""Rate of adding 11,429 documents to a corpus, from first to last: last thousand ÷ first thousand, at most 1.3.

Then every one is replaced, at the same rate too, and the evidence of a question about each is moved, all of it after
the last document: `evidence_s`. Both sides of each ratio come from one run. Prints one JSON line, and ends with 1 when
a ratio is above 1.3; `--documents 3000` for a quick try.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from ragviz.core.document import Corpus, Span
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.workspace import Workspace

WORDS = [f"word{n}" for n in range(5000)]
LIMIT = 1.3


def write(folder: Path, documents: int, salt: int) -> list[tuple[str, Path]]:
    """Write text files of 200 words each, which differ with `salt`, and a last line that does not."""
    folder.mkdir(exist_ok=True)
    choose = random.Random(salt)
    files = []
    for number in range(documents):
        path = folder / f"{number:06}.txt"
        path.write_text(f"{' '.join(choose.choices(WORDS, k=200))}\nThis is note {number}.\n", encoding="utf-8")
        files.append((path.name, path))
    return files


def timed(workspace: Workspace, corpus: Corpus, files: list[tuple[str, Path]]) -> list[float]:
    """Add files; return the seconds until each but the last was done, and until all work was done."""
    clock: dict[int, float] = {}
    corpora.add_files(
        workspace,
        corpus,
        files,
        replace=True,
        progress=lambda done, *_: clock.setdefault(done, time.perf_counter()),
    )
    return [clock[done] - clock[0] for done in sorted(clock)]


def ask(workspace: Workspace, corpus: Corpus) -> None:
    """Create a set with a question about each document."""
    question_set = workspace.store.sets.add(corpus.id, "asked")
    questions = []
    infos = [info.id for info in workspace.store.documents.all(corpus.id)]
    for document in workspace.store.documents.texts(corpus.id, infos):
        start = document.text.index("This is note")
        span = Span(document.id, start, len(document.text.rstrip()), document.text[start:].rstrip())
        questions.append(Question(document.name, "Which note is this?", "That one.", ((span,),), "hand"))
    workspace.store.questions.put(question_set.id, questions)


def ratio(times: list[float], part: int) -> tuple[float, float, float]:
    """Return the seconds of the first and of the last `part` documents, and their ratio, without the final work."""
    first, last = times[part] - times[0], times[-2] - times[-2 - part]
    return round(first, 2), round(last, 2), round(last / first, 3)


def main() -> None:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=11_429)
    documents = parser.parse_args().documents
    part = min(1000, documents // 3)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        workspace = Workspace(Settings(_env_file=None, home=home / "home"))  # type: ignore[call-arg]
        corpus = workspace.store.corpora.add("benchmark")
        added = timed(workspace, corpus, write(home / "in", documents, salt=1))
        ask(workspace, corpus)
        replaced = timed(workspace, corpus, write(home / "in", documents, salt=2))
        [question_set] = workspace.store.sets.all(corpus.id)
        stale = sum(q.evidence[0][0].stale for q in workspace.store.questions.all(question_set.id))
    result = {"documents": documents, "part": part, "at_most": LIMIT}
    result |= dict(zip(("first_s", "last_s", "last_to_first"), ratio(added, part), strict=True))
    names = ("replaced_first_s", "replaced_last_s", "replaced_last_to_first")
    result |= dict(zip(names, ratio(replaced, part), strict=True))
    result |= {"added_s": round(added[-1], 1), "replaced_s": round(replaced[-1], 1), "stale": stale}
    print(json.dumps(result | {"evidence_s": round(replaced[-1] - replaced[-2], 1)}))
    sys.exit(max(result["last_to_first"], result["replaced_last_to_first"]) > LIMIT or stale > 0)


if __name__ == "__main__":
    main()
